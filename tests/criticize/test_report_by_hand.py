"""What a report says, marks, draws and writes, by hand on two critics and a few words."""

import json
from types import SimpleNamespace

import pytest

from longform.criticize import report
from longform.criticize.report import Criticism, CriticResult
from longform.critics import LatentSemanticAnalysis, SharedNouns
from longform.datasets.own_texts import Texts
from longform.documents import Document, Section
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from tests.legible import refuse_bad_letters
from tests.refusals import refuses

TEXT = Document(
    "d/1", "generated", (Section("Rise", "One two. Three."), Section(None, "Four & five."))
)


def judged(
    name="grid",
    difference=1.0,
    p=0.01,
    blame=(),
    real=(2.0, 1.0, 3.0),
    made=(4.0, 3.5, 5.0),
    **more,
):
    """A critic's word; ``real`` and ``made`` are its values with their intervals."""
    panel = SimpleNamespace(
        name=name,
        question=f"{name}?",
        spans="spans",
        critic=SimpleNamespace(parts="cells", better="lower"),
        learns="nothing",
        needs="",
        measure=more.pop("measure", "words"),
    )
    sides = [Estimate(*real, 25, 0, "s1"), Estimate(*made, 26, 2, "s2")]
    given = {"unknown": (0, 0), "p_values": (p,), "cut": (0, 0), "words": (3.0, 4.0)} | more
    blamed = {"generated/d/1": list(blame)}
    return CriticResult(panel, *sides, Comparison(difference, p, False, 9), blamed, **given)


def criticism(*critics, real=("Same text.", "Another."), generated=(TEXT,), **more):
    documents = [Document(f"r{i}", "real", (Section(None, text),)) for i, text in enumerate(real)]
    return Criticism(
        tuple(critics),
        (("b", "no model"),),
        Texts(tuple(documents)),
        Texts(tuple(generated)),
        **more,
    )


@pytest.mark.parametrize(
    ("difference", "p", "verdict"),
    [
        (float("nan"), 0.001, "not decided: a score is not finite"),
        (1.0, 0.05, "no difference found"),
        (1.0, 0.049, "higher than real text, were this the only test"),
        (1.0, 0.02, "higher than real text, were this the only test"),
        (1.0, 0.0199, "higher than real text"),
        (-1.0, 0.0199, "lower than real text"),
        (0.0, 0.0199, "lower than real text"),
    ],
)
def test_a_verdict_needs_a_p_value_below_its_level(difference, p, verdict):
    assert judged(difference=difference, p=p).verdict(0.02) == verdict
    assert judged(difference=1.0, p=0.049).verdict() == "higher than real text"


def test_a_row_has_both_sides_and_says_what_was_left_out():
    one = judged(real=(2.0, 1.0, 3.0))
    assert report._shown(one, 0.05, 30) == [
        "grid",
        "2.00 [1.00, 3.00]",
        "4.00 [3.50, 5.00], 2 left out",
        "0.0100",
        "higher than real text",
    ]
    single = SimpleNamespace(value=0.5, low=0.1, high=0.9, units=1, excluded=0)
    alone = SimpleNamespace(
        panel=one.panel,
        real=single,
        generated=single,
        difference=one.difference,
        verdict=lambda _: "v",
    )
    assert report._shown(alone, 0.05, 30)[1:3] == ["0.50 (one text)", "0.50 (one text)"]


def test_the_level_is_shared_out_and_copies_word_for_word_are_counted():
    assert criticism().level == criticism(judged()).level == 0.05
    assert criticism(judged(), judged("b")).level == 0.025
    copies = [Document(f"g{i}", "generated", (Section(None, text),))
              for i, text in enumerate(["Same text.", "Same text.", "New."])]  # fmt: skip
    assert criticism(generated=copies).shared == 2
    respaced = Document("d/2", "generated", (Section(None, "Same\n text. "),))
    assert criticism(generated=(respaced,)).shared == 1


def test_lengths_are_medians_and_cuts_are_said_by_measure():
    found = criticism(
        judged("a", cut=(0, 1), words=(10.0, 12.0)),
        judged("b"),
        judged("c", measure="sentences"),
        real=("One two three. Four.", "One two. Three. Four five six. Seven."),
    )
    told = report._lengths(found)
    assert told[0] == "median length: real 3 sentences (5.5 words), generated 3 (6)"
    (cut,) = told[1:]
    assert cut.startswith("compared at equal numbers of words (a, b): each text is cut")
    assert cut.endswith("0 real and 1 generated text to medians of 10 and 12 words")


@pytest.mark.parametrize(
    ("copies", "told"),
    [
        ((0, 0, 0), []),
        ((2, 0, 0), ["2 real texts are near copies of other real"]),
        ((0, 3, 0), ["3 generated texts are near copies of other generated"]),
        ((0, 0, 1), ["1 generated text is a near copy of a real one, 0 word for word"]),
        ((0, 1, 0), ["1 generated text is a near copy of another generated one: copies"]),
        ((0, 0, 4), ["4 generated texts are near copies of real ones, 0 word for word"]),
    ],
)
def test_copies_are_told_where_there_are_any(copies, told):
    said = report._copies(criticism(copies=copies))
    assert [sentence[: len(start)] for sentence, start in zip(said, told, strict=True)] == told


def test_marks_are_the_places_of_each_critic_in_its_number():
    first = judged("a", blame=[(0.5, (0, 8)), (0.25, (9, 15))])
    second = judged("b", blame=[(1.0, (17, 21))])
    assert report.marks(TEXT, [first, second]) == [
        (0, 8, 0, "a: 0.50"),
        (9, 15, 0, "a: 0.25"),
        (17, 21, 1, "b: 1.00"),
    ]


@pytest.mark.parametrize(
    ("span", "widened"),
    [((0, 8), (0, 8)), ((1, 3), (0, 3)), ((0, 5), (0, 7)), ((2, 10), (0, 14)), ((3, 3), (3, 3)), ((8, 14), (8, 14))],
)  # fmt: skip
def test_marks_that_cut_a_word_are_widened_to_its_borders(span, widened):
    """The words of "One two, three" stand at 0 to 3, 4 to 7 and 9 to 14."""
    text = "One two, three"
    assert report._whole_words(text, *span) == widened


def test_a_page_cuts_the_text_at_marks_and_headings():
    """Characters 0 to 8 by both critics, 19 to 28 by the second, whose first word is "Four"."""
    first = judged("a", blame=[(0.5, (0, 8))])
    second = judged("b", blame=[(1.0, (0, 8)), (2.0, (19, 29))])
    nowhere = judged("c")
    whole = report.page(TEXT, [first, second, nowhere])
    text = whole.partition("</ul>")[2]
    assert text.startswith(
        '<p></p><h2>Rise</h2><p><mark id="p0" style="border-color: #0072B2" '
        'title="a: 0.50; b: 1.00">One two.</mark> Three.\n\n'
        '<mark id="p17" style="border-color: #D55E00" title="b: 2.00">Four &amp; five.</mark></p>'
    )
    assert '<b style="color: #D55E00">b</b>: <a href="#p0">“One two.”</a>; <a href="#p17">' in whole
    assert '<b style="color: #009E73">c</b>: no part stands out</li>' in whole
    assert whole.startswith("<!doctype html>") and "<title>d/1</title>" in whole


def test_parts_that_are_no_places_are_named():
    one = judged("a", blame=[(0.5, (0, 8))])
    one.panel.spans = None
    assert '<b style="color: #0072B2">a</b>: cells are not places in the text</li>' in report.page(
        TEXT, [one]
    )


def test_the_index_lists_critics_failures_and_pages():
    found = criticism(judged("a<"), judged("b"), failed=(("c", "why"),))
    page = report.index(found, [("texts/1.html", "d/1")])
    assert (
        page.count("<tr>") == 4 and "<b>a&lt;</b><br>a&lt;?</td><td>2.00 [1.00, 3.00]</td>" in page
    )
    assert "<td><b>c</b></td><td></td><td></td><td></td><td>failed, see below</td>" in page
    assert '<li><a href="texts/1.html">d/1</a></li>' in page and "results.png" in page
    assert "results.png" not in report.index(criticism(), [])


def test_the_index_fits_a_narrow_screen_where_a_table_moves_in_its_box():
    page = report.index(criticism(judged("a")), [])
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    box = '<div style="overflow-x: auto">'
    assert f"{box}<table>" in page and f"</table></div>{box}<img" in page
    assert "img { max-width: 100%; min-width: 540px; }" in page


def test_a_table_has_a_row_for_each_critic_and_each_failure():
    lines = criticism(judged("a"), failed=(("c", "why"),)).table().split("\n")
    assert lines[:5] == [
        "| critic | real | generated | p | |",
        "|---|---|---|---|---|",
        "| a | 2.00 [1.00, 3.00] | 4.00 [3.50, 5.00], 2 left out | 0.0100 | higher than real text |",
        "| c | | | | failed, see below |",
        "",
    ]
    assert all(line.startswith("- ") for line in lines[5:-1]) and lines[-1] == ""
    assert "- failed: c: why" in lines and "- left out: b: no model" in lines


@pytest.mark.parametrize(
    ("real", "made", "half"),
    [
        ((2.0, 1.0, 3.0), (4.0, 3.5, 5.0), 1.0),
        ((2.0, 2.0, 2.0), (4.0, 3.5, 5.0), 0.75),
        ((2.0, 2.0, 2.0), (4.0, 4.0, 4.0), 1.0),
        ((1e9, 1e9, 1e9 + 2), (4.0, 3.5, 7.5), 2.0),  # a half width of 1 is but 1e-9
    ],
)
def test_half_a_width_is_that_of_the_first_side_that_varies(real, made, half):
    assert report._half_width(judged(real=real, made=made)) == half


class Axes:
    """Keeps what is drawn."""

    def __init__(self):
        self.drawn, self.locators = [], []
        self.xaxis = SimpleNamespace(
            set_major_formatter=lambda form: None, set_major_locator=self.locators.append
        )

    def plot(self, x, y, *form, **looks):
        self.drawn.append((list(x), list(y), looks["color"], looks.get("markerfacecolor")))

    def axvspan(self, low, high, **looks):
        self.band = (low, high)

    def set_yticks(self, places, names):
        self.ticks = (list(places), names)

    def set_xscale(self, kind, **more):
        self.scale = (kind, more)

    def set_ylim(self, low, high):
        self.limits = (low, high)


def test_the_figure_shows_differences_in_half_widths_from_the_top():
    """Value 4 [3.5, 5] against 2 [0, 4]: one half width of 2, from 0.75 to 1.5."""
    axes = Axes()
    wide = (2.0, 0.0, 4.0)
    alone, none = judged("b", p=0.03, real=wide), judged("c", p=0.05, real=wide)
    found = criticism(judged("a", p=0.001, real=wide), alone, none)
    labels = []
    report._draw(found, SimpleNamespace(subplots=lambda: axes, supxlabel=labels.append))
    black, grey = "black", "0.6"
    assert axes.drawn == [
        ([0.75, 1.5], [0, 0], grey, None), ([1.0], [0], grey, "white"),
        ([0.75, 1.5], [1, 1], black, None), ([1.0], [1], black, "white"),
        ([0.75, 1.5], [2, 2], black, None), ([1.0], [2], black, "black"),
    ]  # fmt: skip
    assert axes.band == (-1, 1) and axes.ticks == ([0, 1, 2], ["c", "b", "a"])
    assert axes.limits == (-0.5, 2.5)
    assert axes.scale == ("symlog", {"linthresh": 1.0})
    assert [locator.numticks for locator in axes.locators] == [7]
    assert ["filled: p < 0.017 (corrected)" in label for label in labels] == [True]


@pytest.mark.parametrize("made", [(4.0, 3.5, 5.0), (4e12, -3e12, 5e12), (-3e4, -1e5, 2.0)])
def test_letters_of_the_figure_are_legible_however_far_scores_lie(made):
    found = criticism(judged("order and repetition", made=made), judged("related nouns (LSA)"))
    refuse_bad_letters(lambda canvas: report._draw(found, canvas), (6.5, 1.9))


def test_a_saved_report_has_every_number_and_names_its_files(tmp_path, monkeypatch):
    drawings = []

    def draw(drawing, path):
        drawings.append(drawing[1])
        path.with_name(f"{path.name}.png").write_text("drawing")

    monkeypatch.setattr(report, "save_drawing", draw)
    long = Document("x" * 70 + " ä", "generated", (Section(None, "Text."),))
    found = criticism(
        judged("a"), judged("b", p=0.5), generated=(TEXT, long), failed=(("c", "why"),)
    )
    folder = tmp_path / "out"
    folder.mkdir()
    so_far = json.dumps({"made_by": report.MAKER}) + "\n"
    (folder / report.SO_FAR).write_text(so_far)
    assert found.save(folder) == folder / "index.html"
    assert drawings == [(6.5, 1.9)]
    assert (folder / "results.csv").read_text().splitlines() == [
        "critic,side,value,low,high,units,excluded,p,p_corrected,signature",
        "a,real,2,1,3,25,0,,,s1",
        "a,generated,4,3.5,5,26,2,0.01,0.02,s2",
        "b,real,2,1,3,25,0,,,s1",
        "b,generated,4,3.5,5,26,2,0.5,1,s2",
    ]
    names = ["texts/0001-d-1.html", f"texts/0002-{'x' * 60}.html"]
    results = {f"results.{kind}" for kind in ("csv", "json", "jsonl", "md", "png")}
    expected = {"index.html", *results, *names}
    assert report.files_of(folder) == expected
    assert (folder / report.SO_FAR).read_text() == so_far
    assert (folder / "results.md").read_text() == found.table()
    assert (folder / names[0]).read_text() == report.page(TEXT, found.results)
    record = json.loads((folder / report.RECORD).read_text())
    assert record["made_by"] == report.MAKER and record["files"] == sorted(expected)
    assert (record["left_out"], record["failed"]) == ([["b", "no model"]], [["c", "why"]])
    assert record["set_aside"] == {"real": [], "generated": []}
    first, second = record["critics"]
    assert first == {
        "name": "a", "question": "a?", "verdict": "higher than real text", "p_values": [0.01],
        "cut": [0, 0], "words": [3.0, 4.0],
        "real": {"value": 2.0, "low": 1.0, "high": 3.0, "units": 25, "excluded": 0, "signature": "s1"},
        "generated": {"value": 4.0, "low": 3.5, "high": 5.0, "units": 26, "excluded": 2, "signature": "s2"},
        "comparison": {"difference": 1.0, "p_value": 0.01, "paired": False, "permutations": 9},
    }  # fmt: skip
    assert second["verdict"] == "no difference found"
    found.save(folder)  # its own files do not stand in the way
    (folder / "mine").write_text("")
    refuses("holds 'mine', which no report wrote", found.save, folder)


def test_a_report_without_critics_has_no_figure(tmp_path):
    criticism().save(tmp_path / "out")
    assert not (tmp_path / "out" / "results.png").exists()
    assert not (tmp_path / "out" / report.SO_FAR).exists()


@pytest.mark.parametrize(
    ("lines", "own"),
    [
        ([{"made_by": "longform criticize"}], True),
        ([{"made_by": "longform criticize"}, {"made_by": "me"}], False),
        ([["made_by"]], False),
        ([], False),
    ],
)
def test_results_so_far_are_lines_that_criticize_wrote(lines, own, tmp_path):
    file = tmp_path / report.SO_FAR
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert report._is_results_so_far(file) is own
    assert report._foreign(tmp_path) == ("" if own else report.SO_FAR)
    file.write_text("{")
    assert not report._is_results_so_far(file)
    assert not report._is_results_so_far(tmp_path / "missing")


def test_a_folder_that_another_program_wrote_is_foreign(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.txt").write_text("")
    (tmp_path / report.RECORD).write_text('{"made_by": "x", "files": ["b/a.txt", "results.json"]}')
    assert report._foreign(tmp_path) == "b"
    made = {"made_by": report.MAKER, "files": ["results.json"]}
    (tmp_path / report.RECORD).write_text(json.dumps(made))
    assert report._foreign(tmp_path) == "b/a.txt"
    (tmp_path / report.RECORD).write_text(
        json.dumps({**made, "files": ["results.json", "b/a.txt"]})
    )
    assert report._foreign(tmp_path) == ""
    (tmp_path / report.RECORD).write_text("[1]")
    assert report._foreign(tmp_path) == "b"


def test_a_report_lies_in_no_input_and_in_no_file(tmp_path):
    (tmp_path / "file").write_text("")
    inputs = (tmp_path / "texts", "text", tmp_path / "file")
    (tmp_path / "texts").mkdir()
    report.check(tmp_path / "out" / "deep", inputs)
    refuses("lies in .*texts, whose texts are read", report.check, tmp_path / "texts", inputs)
    refuses("file is a file; name a folder", report.check, tmp_path / "file" / "out")
    (tmp_path / ".texts.attempt").mkdir()
    report.check(tmp_path / "texts")
    assert list((tmp_path / "texts").iterdir()) == []


def test_a_folder_in_which_nothing_can_be_made_is_refused(tmp_path):
    record = {"made_by": report.MAKER, "files": [report.RECORD, ".attempt"]}
    (tmp_path / report.RECORD).write_text(json.dumps(record))
    (tmp_path / ".attempt").write_text("")
    refuses("no folder can be written there .File exists.", report.check, tmp_path)


@pytest.mark.parametrize(("num_real", "taught"), [(199, "99 real texts teach"), (200, None)])
def test_a_row_warns_where_fewer_real_texts_teach_than_the_catalogue_asks(num_real, taught):
    panel = SimpleNamespace(name="related nouns", critic=LatentSemanticAnalysis())
    plain = SimpleNamespace(name="shared nouns", critic=SharedNouns())
    name, lines = "related nouns", []
    if taught:
        name = "related nouns (too few real texts)"
        lines = [f"related nouns: {taught} it, and it needs 100: its row says little"]
    assert report.row_name(panel, num_real) == name
    assert report.row_name(plain, 2) == "shared nouns"
    assert report.few_real_lines([plain, panel], num_real) == lines


@pytest.mark.parametrize(
    ("ids", "counts"),
    [
        (["a/1", "a/2", "b/1", "b/2", "c"], "4 generated texts are draws of 2 prompts"),
        (["w/1", "w/2", "w/3"], None),
        (["a/1", "b/1"], None),
        (["a/x", "a/y", "b/x"], None),
    ],
)
def test_a_note_warns_of_several_draws_of_a_prompt(ids, counts):
    texts = Texts(tuple(Document(name, "generated", ()) for name in ids))
    lines = report.draws_lines("generated", texts)
    assert [line.partition(" by their ids (a/1)")[0] for line in lines] == (
        [counts] if counts else []
    )
