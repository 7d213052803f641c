"""Printed numbers beside ours, tables of records, the files that are written; and that claims follow from what was printed."""

import csv
from pathlib import Path

import pytest
from matplotlib.figure import Figure as Canvas
from PIL import Image

from longform.errors import BadInput
from longform.results import Record, Results
from longform.tables import (
    RESOLUTION,
    Cell,
    Figure,
    Listing,
    Table,
    cell,
    exact,
    save_drawing,
    write_rows,
)
from longform_lab.reporting.estimates import Facts
from longform_lab.reporting.pivot import ReportInputs, errors, mean_over_seeds, panels
from longform_lab.reporting.printed import Expected, Line, ledger_markdown, read_expected, steps_of
from longform_lab.reporting.verdicts import CONTRADICTED, HOLDS, OURS
from tests.refusals import refuses
from tests.reporting.papers.exhibits import printed, state

CONTENT = {"kinds": {"table_1": "trained", "sizes": "setting", "table_2": "lost"},
           "labels": {"system": {"gpt2": "GPT-2 small"}, "titles": {True: "with titles"}},
           "table_1": {"latent_ppl": {"wiki": {"data": 2.0, "lm1": {"w_title": 2.0}}}},
           "counts": {"wiki": {"train_k": 1.2}}, "table_2": {"first": None},
           "words": {"text": "no number", "pages": 7}, "sizes": {"layers": 6},
           "records": {"table_1": [{"printed": "latent_ppl.{corpus}.data",
                                    "where": {"metric": "latent_ppl", "system": "data"}},
                                   {"printed": "latent_ppl.{corpus}.{system}.{titles}",
                                    "where": {"metric": "latent_ppl"},
                                    "names": {"system": {"lm1": "gpt2"}, "titles": {"w_title": True}}}],
                       "counts": [{"printed": "{corpus}.{split}_k", "fact": "train", "times": 0.001},
                                  {"printed": "{corpus}.train_k", "fact": "train", "times": 0.001}],
                       "words": [{"printed": "pages", "cause": "pages of a book that nobody has"}]}}  # fmt: skip
DATA = Record("c", "latent_ppl", "wiki", "data", value=2.1, low=1.9, high=2.3, units=50)
MODEL = Record("c", "latent_ppl", "wiki", "gpt2", True, value=3.0, low=2.8, high=3.2, units=50)
RECORD = Record(
    "c", "m", value=2.345, low=2.1, high=2.6, units=40, excluded=2, p_value=0.01, signature="s"
)


@pytest.fixture
def folder(tmp_path):
    state(tmp_path, "wiki", train=1200, states=9)
    return tmp_path


def verdicts(lines):
    return {f"{line.table}.{line.number}": line.verdict for line in lines}


def test_every_printed_number_has_a_line_and_a_place_of_its_own(folder):
    lines = Expected("paper", CONTENT).ledger(Results([MODEL, DATA]), folder)
    assert verdicts(lines) == {"table_1.latent_ppl.wiki.data": "within interval",
                               "table_1.latent_ppl.wiki.lm1.w_title": "differs",
                               "counts.wiki.train_k": "within interval", "table_2.first": "lost",
                               "words.pages": "not measured here"}  # fmt: skip
    assert [line.ours for line in lines[:3]] == [2.1, 3.0, 1.2]
    assert lines[1].record == "corpus=wiki system=gpt2 titles=True metric=latent_ppl"
    assert lines[4].cause == "pages of a book that nobody has"


@pytest.mark.parametrize(("rule", "scale", "why"),
                         [({"facts": {"states": 256}}, "", "states 9 here, 256 in the paper"),
                          ({"scales": ["paper"], "why": "smaller networks"}, "", "smaller networks"),
                          ({"scales": ["paper"], "facts": {"states": 9}}, "paper", "")])  # fmt: skip
def test_what_is_comparable_is_decided_by_data(folder, rule, scale, why):
    expected = Expected("paper", {**CONTENT, "comparable": rule}, scale)
    line = expected.ledger(Results([MODEL, DATA]), folder)[0]
    assert (line.verdict, line.cause) == (
        ("not comparable at this size", why) if why else ("within interval", "")
    )


def test_cells_have_the_printed_number_and_its_verdict(folder):
    given = ReportInputs(Results([]), Expected("paper", CONTENT), folder)
    found = given.cell(given.labels(MODEL, "system", "titles"), "Latent PPL", MODEL, "table_1")
    assert (found.row, found.printed, found.verdict) == ("GPT-2 small, with titles", 2.0, "differs")
    assert given.cell("x", "y", MODEL, "table_9").printed is None
    content = {
        "table": {"columns": ["b1", "b2"], "rows": {"grid": [50.0, 60.0]}, "spare": [1.0]},
        "records": {"table": [{"printed": "rows.grid.{task}", "where": {"metric": "accuracy"}}]},
    }
    expected = Expected("paper", content)
    assert [".".join(n.path) for n in expected.numbers] == [
        "rows.grid.b1",
        "rows.grid.b2",
        "spare.0",
    ]
    record = Record("c", "accuracy", task="b2", value=0.61, low=0.58, high=0.63, units=50)
    cell = ReportInputs(Results([]), expected, folder).cell(
        "grid", "b2", record, "table", factor=100
    )
    assert (cell.value, cell.printed, cell.verdict) == (61, 60.0, "within interval")


def test_bad_input_is_named(folder):
    other = Record("another critic", "latent_ppl", "wiki", "data", value=1.0)
    refuses("name more fields", Expected("paper", CONTENT).ledger, Results([DATA, other]), folder)
    with pytest.raises(BadInput, match="has 'row'; allowed are"):
        _ = Expected(
            "paper", {**CONTENT, "records": {"table_1": [{"printed": "**", "row": "x"}]}}
        ).numbers


def test_patterns_take_one_step_any_step_or_the_rest():
    assert steps_of("a.{x}.*", ("a", "b", "c")) == {"x": "b"}
    assert steps_of("a.**", ("a", "b", "c")) == {}
    assert steps_of("a.{x}", ("a", "b", "c")) is None


def test_files_are_read_and_written(folder):
    (folder / "paper").mkdir()
    (folder / "paper" / "expected.yaml").write_text("table_1: {x: 1.5}\n")
    lines = read_expected(folder / "paper", "smoke").ledger(Results([]), folder)
    write_rows(folder / "ledger.csv", Line._fields, lines)
    assert (
        "\npaper,table_1,x,1.5,,,,,,not measured here,no rule"
        in (folder / "ledger.csv").read_text()
    )
    assert "| paper | 1 |  |  |  | 1 |  |" in ledger_markdown(lines)


def as_printed(expected):
    """A record of a great many units for each printed number that has fields; several models print the same fields once each."""
    found = {}
    for number in expected.numbers:
        if number.where and number.fact is None and number.value is not None:
            value = number.value / number.times
            ends = {"low": value - 1e-6, "high": value + 1e-6, "units": 10**6}
            record = Record(**{"critic": "", "metric": "", **number.where}, value=value, **ends)
            found.setdefault(str(number.where), record)
    return Results(found.values())


@pytest.mark.parametrize(
    ("paper", "measured"),
    [("sheng2024", 9), ("beyer2021", 5), ("massarelli2020", 12), ("lapata2005", 0)],
)
def test_the_printed_numbers_bear_the_claims_out(paper, measured, tmp_path):
    expected = printed(paper, "paper")
    own = Expected(
        paper, {**expected.content, "instruments": []}, "paper"
    )  # the numbers are of the paper's instruments
    found = own.judged(as_printed(own), tmp_path)
    judged = [one for one in found if not one.claim.source.startswith(OURS)]
    assert [j.claim.id for j in judged if j.verdict == CONTRADICTED] == []
    assert sum(j.verdict == HOLDS for j in judged) >= measured


LABELLED = Expected("paper",
                    {"kinds": {"table_1": "trained"}, "table_1": {"big": 2.0},
                     "records": {"table_1": [{"printed": "{system}", "where": {"metric": "share"}, "times": 100}]},
                     "labels": {"system": {"small": "Small", "big": "Big"}, "titles": {True: "with titles"}}})  # fmt: skip


def near(value, spread=0.01, **more):
    return Record(value=value, low=value - spread, high=value + spread, units=50, **more)


def record(system, value, metric="share", **more):
    return near(value, critic="c", metric=metric, corpus="wiki", system=system, **more)


def scored(critic, value=0.8, **more):
    return near(value, 0.1, critic=critic, metric="accuracy", task="block_1", **more)


def test_rows_stand_in_the_order_of_the_labels_and_others_after_them(tmp_path):
    results = Results(
        [record("other", 0.3), record("big", 0.02), record("big", 0.5, "ppl"), record("small", 0.4)]
    )
    columns = {"PPL": {"metric": "ppl"}, "share, %": {"metric": "share"}}
    cells = ReportInputs(results, LABELLED, tmp_path).pivot(
        columns, printed="table_1", rows=("system",), factor=100
    )
    assert [(c.row, c.column) for c in cells] == [
        ("Small", "share, %"), ("Big", "PPL"), ("Big", "share, %"), ("other", "share, %"),
    ]  # fmt: skip
    printed = cells[2]
    assert (printed.value, printed.printed, printed.verdict) == (2.0, 2.0, "within interval")
    assert cells[0].printed is None


def test_seeds_make_one_cell_and_details_on_the_log_scale_for_perplexities(tmp_path):
    results = Results([record("big", value, seed=seed) for seed, value in enumerate((0.01, 0.05))])
    asked = {"printed": "table_1", "rows": ("system",), "factor": 100}
    whole, *seeds = ReportInputs(results, LABELLED, tmp_path).pivot({"share": {}}, **asked)
    assert (
        whole.value == pytest.approx(3.0) and whole.low < 0 and whole.verdict == "within interval"
    )
    assert [c.row for c in seeds] == ["Big, seed 0", "Big, seed 1"] and all(c.detail for c in seeds)
    with pytest.raises(BadInput, match="name more fields"):
        ReportInputs(Results([*results, results[0]]), LABELLED, tmp_path).pivot(
            {"share": {}}, rows=("system",)
        )
    results = Results(
        [record("big", value, "latent_ppl", seed=seed) for seed, value in enumerate((2.0, 8.0))]
    )
    whole = ReportInputs(results, LABELLED, tmp_path).pivot({"PPL": {}}, rows=("system",))[0]
    assert whole.value == pytest.approx(4.0) and 0 < whole.low < 2
    assert whole.high * whole.low == pytest.approx(16, rel=1e-2)


def test_exact_values_come_from_corpora_and_few_units_have_none(tmp_path):
    state(tmp_path, "wiki", truth=2.5)
    cells = ReportInputs(Results([]), LABELLED, tmp_path).exact_rows(
        ["wiki", "wiki", "real"], "truth", "PPL"
    )
    assert [(c.row, c.value) for c in cells] == [("wiki, exact", 2.5)]
    tested = record("big", 0.5, difference=0.1, p_value=0.01, titles=True)
    few = Record("c", "share", "wiki", "small", difference=0.1, p_value=0.01, units=3)
    told = ["wiki, Big, with titles: minus real text's own score +0.10, p = 0.0100"]
    assert ReportInputs(Results([]), LABELLED, Path()).comparisons([tested, few]) == told


ACCURACIES = {"labels": {"critic": {"grid": "entity grid", "bb": "BBScore"}, "task": {"block_1": "blocks of 1"}},
           "table": {"columns": ["block_1", "block_2"], "bb": [80.0, 70.0], "ranker": [99.0, 98.0]},
           "records": {"table": [{"printed": "ranker.{task}", "where": {"critic": "ranker", "metric": "accuracy"}},
                                 {"printed": "{critic}.{task}", "where": {"metric": "accuracy"}}]}}  # fmt: skip
SCORED = Results([scored("bb"), scored("bb", variant="head_0"), scored("grid", value=0.5)])
GIVEN = ReportInputs(SCORED, Expected("paper", ACCURACIES), Path())


def test_rows_follow_the_labels_and_heads_and_seeds_are_in_the_csv(tmp_path):
    cells = GIVEN.crossed(SCORED, "table", ("critic", "variant"), "task", 100)
    assert [c.row for c in cells] == ["entity grid", "BBScore", "BBScore, head 0"]
    assert [c.detail for c in cells] == [False, False, True]
    assert (cells[1].value, cells[1].printed) == (80, 80.0) and cells[2].printed is None
    assert "head" not in Table("t", cells).markdown()
    seeds = [scored("bb", seed=seed, value=0.1 * seed) for seed in (1, 2)]
    cells = GIVEN.crossed(seeds, "table", ("critic", "variant"), "task", 100)
    assert [c.row for c in cells] == ["BBScore", "BBScore, seed 1", "BBScore, seed 2"]
    assert [c.detail for c in cells] == [False, True, True] and cells[0].value == pytest.approx(15)
    cells = GIVEN.crossed([scored("bb", value=0.2), *seeds], "table", ("critic",), "task", 100)
    assert (cells[0].row, cells[0].value) == ("BBScore", 20) and [c.detail for c in cells] == [
        False,
        True,
        True,
    ]
    alone = GIVEN.printed_alone(
        "table", lambda n: (n.path[0], n.path[1]) if n.path[1] == "block_2" else None
    )
    assert [(c.row, c.printed) for c in alone] == [("bb", 70.0), ("ranker", 98.0)]


def test_cells_and_arms_without_enough_units_or_reaching_inside():
    assert errors([Cell("r", "c", 0.5, 0.6, 0.7), Cell("r", "c", 0.5)]) == [
        [0.0, 0.0],
        [0.7 - 0.5, 0.0],
    ]
    few = Cell("r", "c", 1.0, 0.9, 1.1, units=19, p_value=0.001)
    assert (few.low, few.high, few.p_value) == (None, None, None)
    assert Cell("r", "c", 1.0, 0.9, 1.1, units=20, p_value=0.001).p_value == 0.001


def test_the_wide_table_leaves_details_to_the_csv_and_escapes_bars(tmp_path):
    cells = [
        cell("a", "x", RECORD, printed=2.5).times(100),
        exact("b", "x", 3),
        Cell("c", "x", None, detail=True),
    ]
    Table("Caption", cells, ["a note"]).save(tmp_path, "t")
    text = (tmp_path / "t.md").read_text()
    assert "| a | 234.50 [210.00, 260.00] (paper 2.50) |" in text
    assert "| b | 3 |" in text
    assert "- a note" in text
    assert "| c |" not in text
    with (tmp_path / "t.csv").open() as file:
        assert [row["value"] for row in csv.DictReader(file)] == ["234.5", "3", ""]
    Listing("Words", ["a", "b"], [["x|y\nz", 1.5]]).save(tmp_path, "l")
    assert "| x∣y z | 1.50 |" in (tmp_path / "l.md").read_text()
    assert (tmp_path / "l.csv").read_text() == "a,b\nx|y z,1.5\n"


def test_a_figure_is_drawn_twice_with_equal_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGFORM_PDF", "1")
    drawn = [cell("a", "x", RECORD)], lambda canvas: canvas.add_subplot().plot([1, 2])
    for stem in ("f", "g"):
        Figure("Caption", *drawn, notes=["n"]).save(tmp_path, stem)
    assert (tmp_path / "f.pdf").read_bytes() == (tmp_path / "g.pdf").read_bytes()
    assert (tmp_path / "f.png").read_bytes() == (tmp_path / "g.png").read_bytes()
    assert "Caption\n\n- n\n" in (tmp_path / "f.md").read_text()


def test_a_picture_has_32_colours_at_most_and_no_pdf_beside_it(tmp_path):
    def draw(canvas):
        axes = canvas.add_subplot()
        axes.imshow([[place / 99 for place in range(100)]], cmap="viridis", aspect="auto")

    Figure("Caption", [], draw).save(tmp_path, "f")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".md", ".png"]
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.mode == "P" and len(picture.getcolors()) <= 32


def test_looking_up_a_few_of_many_records_looks_at_few(monkeypatch):
    records = Results(Record("c", f"m{i % 100}", "wiki", f"s{i % 7}", seed=i) for i in range(2000))
    wanted = [{"metric": "m3"}, {"metric": "m3", "system": ["s1", "s2"]}, {"system": "s4", "metric": "m*"},
              {"metric": "none"}, {"critic": "c", "metric": "m5", "seed": [5, 105]}]  # fmt: skip
    for filters in wanted:
        plain = [
            r
            for r in records
            if all(_agrees(getattr(r, name), value) for name, value in filters.items())
        ]
        assert list(records.where(**filters)) == plain
    asked = []
    monkeypatch.setattr("longform.results._test", lambda value: lambda held: not asked.append(held))
    assert len(records.where(metric="m3", system="s1")) == 20 and len(asked) <= 40


def _agrees(held, value):
    """Whether a field has a wanted value, written a second time."""
    if isinstance(value, list):
        return held in value
    return held.startswith(value[:-1]) if str(value).endswith("*") else held == value


def test_a_mean_over_seeds_carries_no_test_or_details_of_one_seed():
    test = {"reference": 1.0, "p_value": 0.001, "paired": True, "signature": "s"}
    numbers = [Record("c", "m", seed=k, value=v, low=v - 1, high=v + 1, units=50, details={"only": k}, **test)
               for k, v in enumerate((2.0, 4.0))]  # fmt: skip
    mean = mean_over_seeds(Results(numbers))
    assert mean.value == 3.0 and mean.low < 2.0 and mean.high > 4.0
    assert (mean.reference, mean.difference, mean.p_value, mean.paired, mean.seed) == (None,) * 5
    assert mean.details == {} and mean.signature == "mean of 2 seeds"


def test_a_number_of_another_instrument_is_compared_at_no_scale(folder):
    instruments = [{"where": {"metric": "latent_ppl", "system": "gpt2"}, "why": "another reader"}]
    for scale in ("default", "paper"):
        lines = Expected("paper", {**CONTENT, "instruments": instruments}, scale).ledger(
            Results([DATA, MODEL]), folder
        )
        verdicts = {line.number: (line.verdict, line.cause) for line in lines}
        assert verdicts["latent_ppl.wiki.data"] == ("within interval", "")
        assert verdicts["latent_ppl.wiki.lm1.w_title"] == (
            "not comparable at this size",
            "another reader",
        )


def test_printed_numbers_by_rules_and_judged_networks_are_not_compared():
    expected = printed("deng2022", "paper")
    tables = {
        n.table
        for n in expected.numbers
        if n.where and expected.incomparable(n, Facts(Path("none")))
    }
    assert {"table_06", "table_07", "table_08", "table_15", "table_16", "table_17"} <= tables
    mauve = [n for n in expected.numbers if n.where and n.where.get("critic") == "mauve"]
    assert len(mauve) == 5 and all(expected.incomparable(n, Facts(Path("none"))) for n in mauve)
    titles = [n for n in expected.numbers if n.table == "table_02"]
    assert titles and not any(expected.incomparable(n, Facts(Path("none"))) for n in titles)


def drawn(folder, label):
    def draw(canvas):
        axes = canvas.subplots()
        axes.set_title(label)
        axes.set_yticks([0], [label])
        axes.plot([0, 1], [0, 1], label=label)
        axes.legend()

    save_drawing((draw, (4, 3)), folder / "picture")
    return (folder / "picture.png").read_bytes()


@pytest.mark.parametrize("name", ["Ba$$in", "a$b_$c^{", "US$ 5 or 6 A$"])
def test_dollar_signs_of_a_name_are_drawn_as_they_are(name, tmp_path):
    assert drawn(tmp_path, name) == drawn(tmp_path, name.replace("$", r"\$"))


@pytest.mark.parametrize(
    "formula",
    ["$10^{2}$", "$10^2$", r"$\mathdefault{10^{-3}}$", r"diffusion variance $\sigma_m^2$"],
)
def test_formulas_of_our_labels_are_drawn_as_formulas(formula, tmp_path):
    assert drawn(tmp_path, formula) != drawn(tmp_path, formula.replace("$", r"\$"))


def test_a_drawing_has_its_size_in_inches_at_the_resolution(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGFORM_PDF", "1")

    def draw(canvas):
        canvas.subplots()
        assert type(canvas.get_layout_engine()).__name__ == "ConstrainedLayoutEngine"

    save_drawing((draw, (3.0, 2.0)), tmp_path / "drawing")
    pdf = (tmp_path / "drawing.pdf").read_bytes()
    assert not any(word in pdf for word in (b"CreationDate", b"Producer", b"Creator"))
    with Image.open(tmp_path / "drawing.png") as picture:
        assert picture.size == (3 * RESOLUTION, 2 * RESOLUTION)


def test_a_panel_above_a_hidden_one_labels_the_shared_axis():
    canvas = Canvas()
    shown = panels(canvas, 5, 3, sharex=True, sharey=True)
    canvas.draw_without_rendering()
    labelled = []
    for axes in shown:
        labelled.append(any(label.get_visible() for label in axes.get_xticklabels()))
    # Two rows of three: below the third panel there is nothing, so it is the last of its column.
    assert labelled == [False, False, True, True, True]
