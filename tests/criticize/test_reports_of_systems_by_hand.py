"""Tables, notes, figure and files of a comparison of systems, by hand on two critics and two systems."""

import csv
import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from longform.criticize import systems_report
from longform.criticize.systems import (
    REAL,
    CriticOnSystems,
    PairResult,
    Plan,
    Rank,
    SystemResult,
    SystemsCriticism,
)
from longform.critics import LatentSemanticAnalysis
from longform.datasets.own_texts import Texts
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from tests.legible import refuse_bad_letters


def estimate(value=2.0, low=1.0, high=3.0, units=25, excluded=0):
    return Estimate(value, low, high, units, excluded, "sig")


def system(value, p, corrected, detectable=1.0, rank=(1.5, 1.0, 2.0), **more):
    return SystemResult(
        estimate(value, value - 0.5, value + 1, **more),
        Comparison(value - 2, p, False, 9),
        corrected,
        detectable,
        Rank(*rank),
    )


def pair(corrected, difference=-0.5):
    return PairResult("m", "_n", Comparison(difference, 0.01, False, 9), -1.0, 0.25, corrected)


def critic(name, pairs=(), real=None, **systems):
    panel = SimpleNamespace(name=name, question=f"{name}?", critic=SimpleNamespace(better="lower"))
    judged = {"m": system(4.0, 0.01, 0.049, 0.5), "_n": system(2.5, 0.2, 0.05, 0.75, excluded=3)}
    return CriticOnSystems(panel, real or estimate(), judged | systems, tuple(pairs), {"m": 1})


def texts_of(name, size):
    rows = range(size)
    return Texts(tuple(SimpleNamespace(id=f"{row}", text=f"{name} {row}") for row in rows))


def found(*critics, sizes=(50, 20, 30), failed=(), paired=False, aside=0):
    sides = [texts_of(name, size) for name, size in zip((REAL, *"mn"), sizes, strict=True)]
    sides[1] = Texts(sides[1].documents, tuple((f"line {i}", "no text") for i in range(aside)))
    texts = {"m": sides[1], "_n": sides[2]}
    return SystemsCriticism(tuple(critics), (("x", "no model"),), failed, sides[0], texts, paired)


def test_scores_stand_beside_real_text_with_a_star_where_they_differ():
    one = found(critic("grid"), failed=(("y", "why"),))
    assert systems_report.scores(one) == [
        ["critic", "real text", "m", "_n", "smallest detectable difference"],
        [
            "grid",
            "2.00 [1.00, 3.00]",
            "4.00 [3.50, 5.00] *",
            "2.50 [2.00, 3.50], 3 left out",
            "0.75",
        ],
        ["y", "failed, see below", "", "", ""],
    ]
    assert systems_report._with_interval(estimate(units=1)) == "2.00 (one text)"
    assert systems_report._with_interval(estimate(units=2)) == "2.00 [1.00, 3.00]"


def test_ranks_stand_by_system_and_pairs_where_they_differ():
    first = critic("a", pairs=[pair(0.0499), pair(0.05)])
    assert systems_report.ranks(found(first)) == [
        ["critic", "m", "_n"],
        ["a", "1.5 [1, 2]", "1.5 [1, 2]"],
    ]
    assert systems_report.pairs(found(first)) == [
        ["critic", "systems", "difference", "p", "p, corrected"],
        ["a", "m minus _n", "-0.50 [-1.00, 0.25]", "0.0100", "0.0499"],
    ]


def test_each_system_has_its_p_value_and_the_corrected_one():
    assert systems_report.p_values(found(critic("a"))) == [
        ["critic", "m", "_n"],
        ["a", "0.0100 (0.0490)", "0.2000 (0.0500)"],
    ]


def test_a_smallest_difference_that_is_not_known_is_no_zero():
    still = {name: system(2.0, 1.0, 1.0, math.nan) for name in ("m", "_n")}
    rows = systems_report.scores(found(critic("a", **still), critic("b", m=still["m"])))
    unknown = "not known: real texts do not vary"
    assert [row[-1] for row in rows[1:]] == [unknown, "0.75"]
    plans = [Plan("a", 30.0, 0.0, {"m": math.nan})]
    assert systems_report.plan_rows(plans, ["m"])[1][2:] == ["0.00", unknown]


def test_a_plan_has_a_row_for_each_critic_and_says_what_is_left_out():
    plans = [
        Plan("a", 30.0, 0.5, {"_n": 0.25, "m": 1.5}),
        Plan("b", 0.0, 0.0, {}, "no model"),
        Plan("c", 30.0, 0.0, {}, "not known"),
    ]
    header, *rows = systems_report.plan_rows(plans, ["m", "_n"])
    time = systems_report.duration(30.0)
    assert header == ["critic", "time on one core", "real text", "m", "_n"]
    assert rows == [
        ["a", time, "0.50", "1.50", "0.25"],
        ["b", "left out", "no model", "", ""],
        ["c", time, "not known", "", ""],
    ]
    shown = systems_report.plan_markdown(plans, ["m", "_n"])
    assert shown.startswith("**Before the work**") and shown.count("\n| ") == 4
    assert shown.endswith(f"- {systems_report.PLAN_NOTE}\n")


def test_notes_say_how_many_texts_there_are_and_which_are_few():
    lines = systems_report.notes(found(critic("a")))
    assert lines[0].startswith("texts: real 50, m 20, _n 30;")
    assert "a (lower is better): a?" in lines
    assert not [line for line in lines if "fewer than 20" in line or "paired" in line]
    for sizes in ((39, 20, 20), (40, 19, 20), (40, 20, 19)):
        assert any("fewer than 20" in line for line in systems_report.notes(found(sizes=sizes)))
    panel = SimpleNamespace(name="lsa", question="q", critic=LatentSemanticAnalysis())
    lines = systems_report.notes(found(replace(critic("lsa"), panel=panel)))
    assert "lsa: 25 real texts teach it, and it needs 100: its row says little" in lines
    lines = systems_report.notes(found(sizes=(40, 20, 20)))
    assert not [line for line in lines if "fewer than 20" in line]


def test_a_note_counts_the_prompts_of_paired_systems():
    (line,) = systems_report._pairing(found(sizes=(40, 20, 20), paired=True))
    assert line.startswith("paired: 20 prompts, of which every system has a text: texts of one")
    assert line in systems_report.notes(found(sizes=(40, 20, 20), paired=True))
    alone = replace(found(paired=True), systems={"m": texts_of("m", 1)})
    (line,) = systems_report._pairing(alone)
    assert line.startswith("paired: m is the only system, so none of its texts has a partner")
    assert systems_report._pairing(found()) == []


def test_a_note_names_systems_that_have_the_same_texts():
    texts = [SimpleNamespace(text=word) for word in "xyz"]
    sides = {"a": texts[:2], "b": texts[1:], "c": texts[1::-1]}
    systems = {name: Texts(tuple(side)) for name, side in sides.items()}
    assert systems_report._same_texts(replace(found(), systems=systems)) == [
        "a and c have the same texts: their numbers differ by chance alone"
    ]


@pytest.mark.parametrize(
    ("differing", "more"),
    [(40, None), (41, "1 more pair differs: pairs.csv"), (42, "2 more pairs differ: pairs.csv")],
)
def test_forty_pairs_are_shown_and_the_others_counted(differing, more):
    one = found(critic("a", pairs=[*[pair(0.01)] * differing, pair(0.05)]))
    said = [line for line in systems_report.notes(one) if "more pair" in line]
    assert said == ([more] if more else [])
    assert systems_report.markdown(one).count("m minus _n") == 40


NO_DIFFERENCE = "no critic finds a difference between two systems (p < .05, corrected)"


def test_where_no_two_systems_differ_a_sentence_takes_the_tables_place():
    alike = found(critic("a", pairs=[pair(0.05)]))
    text = systems_report.markdown(alike)
    assert text.count("**") == 6 and "Systems that differ" not in text
    assert NO_DIFFERENCE in systems_report.notes(alike)
    page = systems_report._page(alike)
    assert page.count("<table>") == 3 and NO_DIFFERENCE.replace("<", "&lt;") in page
    different = systems_report.markdown(found(critic("a", pairs=[pair(0.049)])))
    assert "**Systems that differ" in different and NO_DIFFERENCE not in different


def test_one_system_or_no_critic_says_nothing_of_systems_that_differ():
    alone = replace(found(critic("a")), systems={"m": texts_of("m", 1)})
    for criticism in (alone, found()):
        assert NO_DIFFERENCE not in systems_report.markdown(criticism)


def test_what_failed_was_left_out_or_set_aside_is_named():
    lines = systems_report.notes(found(failed=(("y", "why"),), aside=21))
    assert lines[-23:-20] == [
        "failed: y: why",
        "left out: x: no model",
        "set aside (m) line 0: no text",
    ]
    assert lines[-2:] == ["set aside (m) line 19: no text", "set aside (m): 1 more"]
    assert systems_report.notes(found(aside=20))[-1] == "set aside (m) line 19: no text"


def test_notes_stand_below_the_last_table_alone():
    text = systems_report.markdown(found(critic("a", pairs=[pair(0.01)])))
    first, second, third, fourth = text.split("**")[2::2]
    assert "- texts:" not in first + second + third and "- texts: real 50" in fourth
    assert "\n| a | 1.5 [1, 2]" in third


@pytest.mark.parametrize(
    ("real", "half"),
    [((2.0, 1.0, 3.0), 1.0), ((2.0, 2.0, 2.0), 0.75), ((1e9, 1e9, 1e9 + 2), 1.5e9)],
)
def test_a_half_width_is_that_of_the_first_side_that_varies(real, half):
    wide = system(4.0, 0.1, 0.1)
    wide = SystemResult(estimate(0.0, 0.0, 3e9), wide.difference, 0.1, 1.0, wide.rank)
    systems = {"_n": wide} if real[0] == 1e9 else {}
    assert systems_report._half_width(critic("a", real=estimate(*real), **systems)) == half
    same = estimate(1.0, 1.0, 1.0)
    still = SystemResult(same, Comparison(0, 1, False, 9), 1, 1, Rank(1, 1, 1))
    assert systems_report._half_width(critic("a", real=same, m=still, _n=still)) == 1.0


class Axes:
    """Keeps what is drawn."""

    def __init__(self):
        self.drawn, self.forms, self.locators = [], [], []
        self.xaxis = SimpleNamespace(
            set_major_formatter=self.forms.append, set_major_locator=self.locators.append
        )

    def plot(self, x, y, *form, **looks):
        self.drawn.append((x, y, looks["color"], looks.get("markerfacecolor")))
        return [len(self.drawn)]

    def axvspan(self, low, high, **looks):
        self.band = low, high

    def set_yticks(self, places, names):
        self.ticks = list(places), names

    def set_xscale(self, kind, **more):
        self.scale = kind, more

    def set_ylim(self, low, high):
        self.limits = low, high


def test_systems_are_drawn_below_each_other_on_the_line_of_their_critic():
    """Of two systems one stands 0.15 above the critic's line and the other as far below it."""
    wide = estimate(2.0, 0.0, 4.0)  # a half width of two
    axes, legends, labels = Axes(), [], []
    canvas = SimpleNamespace(
        subplots=lambda: axes,
        supxlabel=labels.append,
        legend=lambda dots, names, **more: legends.append((dots, names, more)),
    )
    systems_report._drawing(found(critic("a", real=wide), critic("b", real=wide)))(canvas)
    first, second = systems_report.TEXT_COLOURS[:2]
    rows = []
    for row in (0, 1):
        rows += [
            ([0.75, 1.5], [row + 0.15] * 2, first, None), ([1.0], [row + 0.15], first, first),
            ([0.0, 0.75], [row - 0.15] * 2, second, None), ([0.25], [row - 0.15], second, "white"),
        ]  # fmt: skip
    for (x, y, *looks), (x_drawn, y_drawn, *drawn) in zip(rows, axes.drawn, strict=False):
        assert (x_drawn, y_drawn) == (pytest.approx(x), pytest.approx(y)) and drawn == looks
    assert axes.drawn[8:] == [([], [], first, None), ([], [], second, None)]
    assert axes.band == (-1, 1) and axes.ticks == ([0, 1], ["b", "a"])
    assert axes.limits == (-0.5, 1.5) and [one.numticks for one in axes.locators] == [7]
    assert ["in half widths" in label for label in labels] == [True]
    assert axes.scale == ("symlog", {"linthresh": 1.0}) and axes.forms == ["{x:g}"]
    assert legends == [([9, 10], ["m", "_n"], {"loc": "outside upper center", "ncols": 2})]


@pytest.mark.parametrize(
    ("systems", "columns", "lines"),
    [
        (["m"], 1, 1),
        (["m"] * 5, 4, 2),
        (["x" * 16] * 4, 4, 1),  # 1.62 inches each
        (["x" * 17] * 4, 3, 2),  # 1.69 inches each: four do not fit in 6.5
        (["x" * 60, "y"], 1, 2),
        (["x" * 61, "y"], 1, 4),  # a name in two lines, which the other's row has too
    ],
)
def test_a_legend_has_as_many_columns_as_fit(systems, columns, lines):
    legend = systems_report._legend(systems)
    assert (legend.columns, legend.lines) == (columns, lines)
    assert [name.replace("\n", "") for name in legend.names] == systems


def test_more_systems_than_colours_differ_by_their_marks():
    looks = [systems_report._look(number) for number in range(40)]
    assert len(set(looks)) == 40 and looks[10] == (looks[0][0], "s")


def test_letters_of_the_figure_are_legible_with_long_names_and_far_scores():
    named = {}
    for number, name in enumerate(("gpt2-medium-finetuned-on-wiki", "x" * 70, "a")):
        named[name] = system((-1e3) ** (number + 1), 0.01, 0.01)
    one = CriticOnSystems(critic("order and repetition").panel, estimate(), named, (), {})
    drawn = SimpleNamespace(results=(one, one), systems=named)
    refuse_bad_letters(systems_report._drawing(drawn), (6.5, 2.9))


def test_a_table_as_html_has_its_questions_as_titles():
    rows = [["critic", "a<"], ["grid", "1 & 2"], ["b", "3"]]
    assert systems_report._html_table(rows, {"grid": "why?"}) == (
        '<div style="overflow-x: auto"><table><tr><th scope="col">critic</th>'
        '<th scope="col">a&lt;</th></tr><tr><th scope="row" title="why?">grid</th>'
        '<td>1 &amp; 2</td></tr><tr><th scope="row" title="">b</th><td>3</td></tr></table></div>'
    )


def test_a_page_has_all_tables_notes_and_a_figure_where_there_are_critics():
    page = systems_report._page(found(critic("a", pairs=[pair(0.01)])))
    assert "<h1>2 systems against real texts</h1>" in page and 'title="a?">a</th>' in page
    assert page.count("<table>") == 4 and "<li>left out: x: no model</li>" in page
    assert "results.png" in page and "results.png" not in systems_report._page(found())


def test_a_saved_comparison_has_every_number(tmp_path, monkeypatch):
    drawn = []

    def draw(drawing, path):
        drawn.append(drawing[1])
        path.with_name(f"{path.name}.png").write_text("drawing")

    monkeypatch.setattr(systems_report, "save_drawing", draw)
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "results.jsonl").write_text(json.dumps({"made_by": "longform criticize"}))
    one = found(critic("a", pairs=[pair(0.5)]), critic("b"), failed=(("y", "why"),), aside=1)
    assert systems_report.save(one, folder) == folder / "index.html"
    assert drawn == [(6.5, pytest.approx(2.1))]
    header, *rows = (folder / "results.csv").read_text().splitlines()
    assert header == "critic,side,value,low,high,units,excluded,p,p_corrected,signature"
    assert rows == [
        f"{name},{row}"
        for name in "ab"
        for row in (
            "real,2,1,3,25,0,,,sig",
            "m,4,3.5,5,25,0,0.01,0.049,sig",
            "_n,2.5,2,3.5,25,3,0.2,0.05,sig",
        )
    ]
    with (folder / "pairs.csv").open() as file:
        header, row = csv.reader(file)
    assert header == [*systems_report.PAIR_COLUMNS]
    assert row[:3] == ["a", "m", "_n"] and [float(cell) for cell in row[3:]] == [
        -0.5,
        -1.0,
        0.25,
        0.01,
        0.5,
    ]
    assert (folder / "results.md").read_text() == systems_report.markdown(one)
    record = json.loads((folder / "results.json").read_text())
    files = [
        "index.html",
        "pairs.csv",
        "results.csv",
        "results.json",
        "results.jsonl",
        "results.md",
        "results.png",
    ]
    assert record["files"] == files and sorted(path.name for path in folder.iterdir()) == files
    assert (record["systems"], record["paired"]) == (["m", "_n"], False)
    assert (record["left_out"], record["failed"]) == ([["x", "no model"]], [["y", "why"]])
    assert record["set_aside"] == {REAL: [], "m": [["line 0", "no text"]], "_n": []}
    first = record["critics"][0]
    assert (first["name"], first["question"], first["better"], first["cut"]) == (
        "a",
        "a?",
        "lower",
        {"m": 1},
    )
    assert first["systems"]["m"]["rank"] == {"value": 1.5, "low": 1.0, "high": 2.0}
    systems_report.save(found(), folder)
    assert not (folder / "results.png").exists()
