"""The parts that read wikitext, one by one: scripts, formulas, marks, parameters, numbers with commas."""

import pytest

from longform.datasets.wikipedia import arguments, formulas, marks, tags
from longform.datasets.wikipedia.arguments import Arguments
from longform.datasets.wikipedia.marks import GONE, Holes


@pytest.mark.parametrize(
    ("inside", "before", "shown"),
    [
        ("6", "10", "^6"), ("n+1", "x", "^(n+1)"), ("-1", "s", "^-1"), ("(a b)", "x", "^(a b)"), ("*", "x", "^*"),
        ("th", "19", "th"), ("TH", "19", "TH"), ("(tm)", "9", "(tm)"), ("a", "2", "^a"), ("e", "2", "^e"), ("er", "1", "er"),
        ("lle", "M", "lle"), ("TM", "o", "TM"), ("®", "o", "®"), ("x", "o", "^x"), ("238", "", "238"),
        ("2", " ", "2"), ("2", ")", "^2"), ("2", "]", "^2"), ("2", "'", "^2"), ("2", ".", "2"), ("2", "_", "^2"),
        (" 2 ", "m", "^2"), ("", "m", GONE), (GONE, "m", GONE), (f"2{GONE}", "m", "^2"), ("[[a|b]]", "x", "^[[a|b]]"),
        ("[[a b]]", "x", "^([[a b]])"), ("1,000.5", "x", "^1,000.5"), ("2+", "Ca", "^2+"), ("o", "5", "^o"), ("º", "5", "º"),
    ],
)  # fmt: skip
def test_a_raised_text_is_a_power_unless_it_is_an_ending(inside, before, shown):
    assert tags.raised(inside, before) == shown


@pytest.mark.parametrize(
    ("inside", "before", "shown"),
    [
        ("2", "H", "2"), ("2.5", "O", "2.5"), ("2", ")", "2"), ("2", "]", "2"), ("2", "1", "_2"), ("i", "x", "_i"),
        ("n+1", "a", "_(n+1)"), ("2", "", "2"), ("i", " ", "i"), ("i", "}", "_i"), ("2", "}", "_2"), ("i", ")", "_i"),
        (" ", "x", GONE), ("2a", "x", "_2a"),
    ],
)  # fmt: skip
def test_a_lowered_text_is_an_index_unless_it_counts_atoms(inside, before, shown):
    assert tags.lowered(inside, before) == shown


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\frac12", "1/2"), (r"\dfrac{a}{b}", "a/b"), (r"\frac{a+b}{(c)}", "(a+b)/(c)"), (r"\tfrac{-1}{2}", "-1/2"),
        (r"\sqrt x", "√x"), (r"\sqrt{x+1}", "√(x+1)"), (r"\sqrt[3]{x}", "x^(1/3)"), (r"\binom{n}{k}", "C(n, k)"),
        (r"x^{10}", "x^10"), (r"x_{i,j}", "x_(i,j)"), (r"{x}", "x"), (r"\text{a}\ b", "a b"), (r"a\quad b~c", "a b c"),
        (r"50\%", "50%"), (r"\#1 \& \$2 \_x", "#1 & $2_x"), (r"\{x\}", "{x}"), (r"\mathbf{x}\cdot y", "x· y"),
        (r"\alpha x", "α x"), (r"\sin x", "sin x"), (r"\sin(x)", "sin(x)"), (r"\log\sin x", "log sin x"),
        (r"( x )", "(x)"), (r"x ^2", "x^2"), ("", None), (r"\,", None), (r"a \\ b", None), (r"a\\text{alpha}", None), (r"{", None), (r"\foo", None),
        (r"{a \over b}", "a/b"), (r"\operatorname*{max} x", "max x"), ("-", "-"), (r"x^{-1}", "x^-1"),
    ],
)  # fmt: skip
def test_a_formula_is_one_line_or_none(tex, text):
    assert formulas.tex_text(tex) == text


@pytest.mark.parametrize(("depth", "shown"), [(12, True), (13, False), (30, False)])
def test_groups_nested_too_deeply_are_no_line_of_text(depth, shown):
    found = formulas.tex_text("x^{" * depth + "2" + "}" * depth)
    assert (found is not None) is shown


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("H2O", "H2O"), (" H_{2}O ", "H2O"), ("H_2O", "H2O"), ("SO4(2-)", "SO4^2-"), ("SO4^{2-}", "SO4^2-"), ("Na+", "Na^+"),
        ("Na+ + Cl-", "Na^+ + Cl^-"), ("A -> B", "A → B"), ("A <=> B", "A ⇌ B"), ("A <- B <-> C", "A ← B ↔ C"),
        ("", None), (r"\frac", None), ("{A}", None), ("Fe^3+", "Fe^3+"), ("[Fe(CN)6]4-", "[Fe(CN)6]4-"),
    ],
)  # fmt: skip
def test_a_chemical_formula_shows_its_charge(formula, text):
    assert formulas.chemistry_text(formula) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a &lt; b", "a < b"), ("&#65;&#x42;&#X43;", "ABC"), ("&amp;lt;", "&lt;"), ("&copy", "&copy"), ("&nosuch;", "&nosuch;"),
        ("&#12345678;", "&#12345678;"), ("&#x1234567;", "&#x1234567;"), ("&;", "&;"),
    ],
)  # fmt: skip
def test_entities_need_their_semicolon(text, shown):
    assert marks.decoded(text) == shown


def test_literal_text_comes_back_and_is_no_markup_meanwhile():
    text = "{{a|b}} [[c]] ''d'' <e> *#:;_-~! &amp;"
    hidden = marks.literal(text, entities=False)
    assert marks.plain(hidden) == text and not set("{}[]|<>'*#:;_~!&") & set(hidden)
    assert "&amp;" in marks.literal(text) and marks.plain(marks.literal(text)) == text
    assert (
        marks.plain(
            f"a{GONE}b{marks.BREAK}{marks.LINE}{marks.ASIDE}{marks.ASIDE_END}{marks.FRACTION}c"
        )
        == "abc"
    )
    assert marks.plain("plain") == "plain"
    assert marks.without_marks("a\uf000\uf8ff\uf900") == "a\ufffd\ufffd\uf900"


def test_holes_keep_the_name_of_each_template_and_the_last_one_of_too_many():
    holes = Holes()
    first, again, other = holes.mark("x"), holes.mark("x"), holes.mark("y")
    assert first == again != other and marks.hole_name(first, holes.names) == "x"
    assert marks.hole_name(holes.mark("<math>"), holes.names) == "<math>"
    assert marks.HOLE.fullmatch(first) and marks.plain(first) == first
    for number in range(3000):
        last = holes.mark(f"t{number}")
    assert marks.HOLE.fullmatch(last) and ord(last) == 0xF8FF and holes.mark("t5") != last
    shared = 2048 - len(marks.TAGS) - 3  # the last character is of the first name that has no other
    assert marks.hole_name(last, holes.names) == f"t{shared}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1234567", "1,234,567"), ("-1234.5", "-1,234.5"), ("+1000", "+1,000"), ("−1000", "−1,000"), ("0012", "12"), ("0", "0"),
        (" 999 ", "999"), ("1,000", "1,000"), ("abc", "abc"), (".5", ".5"), ("1.", "1."), ("000", "0"),
    ],
)  # fmt: skip
def test_numbers_are_grouped_by_threes(text, shown):
    assert arguments.grouped(text) == shown


def test_parameters_are_positional_or_named_and_empty_where_they_are_not():
    made = Arguments("t", ["a", "Key = v ", " b ", "2=c", "x<y=z", "5=e", ""])
    assert [made[1], made[2], made[3], made[4], made["key"], made[9]] == [
        "a",
        "c",
        "x<y=z",
        "",
        "v",
        "",
    ]
    assert made.items() == ["a", "c", "x<y=z", "e"] and made.items(3) == ["x<y=z", "e"]
    assert made.positional == ["a", " b ", "x<y=z", ""]
    assert made.first("none", 4, 1, 2) == "a" and made.first("none") == ""


@pytest.mark.parametrize(
    ("value", "on"),
    [
        ("y", True),
        ("YES", True),
        ("on", True),
        ("true", True),
        ("1", True),
        ("no", False),
        ("", False),
        ("2", False),
    ],
)
def test_a_switch_is_on_by_its_word(value, on):
    assert Arguments("t", [f"a={value}"]).yes("a") is on


def test_names_are_listed_between_bars():
    assert arguments.names_in("a | b\nc||d") == ["a", "bc", "d"]


@pytest.mark.parametrize(("others", "place"), [(0, 0), (6, 0), (7, None)])
def test_only_the_last_seven_open_tags_are_looked_at(others, place):
    assert tags._last_open([("c", 1), *[("x", 2)] * others], "c") == place
    assert tags._last_open([("c", 0), ("c", 1)], "c") == 1 and tags._last_open([], "c") is None
