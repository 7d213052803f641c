"""Tables of records: rows, columns, seeds, printed numbers beside ours, and the files that are written."""

import csv
from pathlib import Path

import pytest

from longform.core.documents import BadInput
from longform.core.results import Record, Results
from longform.reporting.pivot import Given, errors
from longform.reporting.printed import Expected
from longform.reporting.table import Cell, Figure, Listing, Table, cell, exact
from tests.reporting.papers.exhibits import state

EXPECTED = Expected("paper",
                    {"kinds": {"table_1": "trained"}, "table_1": {"big": 2.0},
                     "records": {"table_1": [{"printed": "{system}", "where": {"metric": "share"}, "times": 100}]},
                     "labels": {"system": {"small": "Small", "big": "Big"}, "titles": {True: "with titles"}}})  # fmt: skip


def record(system, value, metric="share", **more):
    return Record("c", metric, "wiki", system, value=value, low=value - 0.01, high=value + 0.01, units=50, **more)


def test_rows_stand_in_the_order_of_the_labels_and_others_after_them(tmp_path):
    results = Results([record("other", 0.3), record("big", 0.02), record("big", 0.5, "ppl"), record("small", 0.4)])
    columns = {"PPL": {"metric": "ppl"}, "share, %": {"metric": "share"}}
    cells = Given(results, EXPECTED, tmp_path).pivot(columns, printed="table_1", rows=("system",), factor=100)
    assert [(c.row, c.column) for c in cells] == [
        ("Small", "share, %"), ("Big", "PPL"), ("Big", "share, %"), ("other", "share, %"),
    ]  # fmt: skip
    printed = cells[2]
    assert (printed.value, printed.printed, printed.verdict) == (2.0, 2.0, "within interval")
    assert cells[0].printed is None


def test_seeds_make_one_cell_and_details_on_the_log_scale_for_perplexities(tmp_path):
    results = Results([record("big", value, seed=seed) for seed, value in enumerate((0.01, 0.05))])
    whole, *seeds = Given(results, EXPECTED, tmp_path).pivot(
        {"share": {}}, printed="table_1", rows=("system",), factor=100
    )
    assert whole.value == pytest.approx(3.0) and whole.low < 0 and whole.verdict == "within interval"
    assert [c.row for c in seeds] == ["Big, seed 0", "Big, seed 1"] and all(c.detail for c in seeds)
    with pytest.raises(BadInput, match="name more fields"):
        Given(Results([*results, results[0]]), EXPECTED, tmp_path).pivot({"share": {}}, rows=("system",))
    results = Results([record("big", value, "latent_ppl", seed=seed) for seed, value in enumerate((2.0, 8.0))])
    whole = Given(results, EXPECTED, tmp_path).pivot({"PPL": {}}, rows=("system",))[0]
    assert whole.value == pytest.approx(4.0) and 0 < whole.low < 2
    assert whole.high * whole.low == pytest.approx(16, rel=1e-2)


def test_exact_values_come_from_corpora_and_comparisons_of_too_few_units_are_not_told(tmp_path):
    state(tmp_path, "wiki", truth=2.5)
    cells = Given(Results([]), EXPECTED, tmp_path).exact_rows(["wiki", "wiki", "real"], "truth", "PPL")
    assert [(c.row, c.value) for c in cells] == [("wiki, exact", 2.5)]
    tested = record("big", 0.5, difference=0.1, p_value=0.01, titles=True)
    few = Record("c", "share", "wiki", "small", difference=0.1, p_value=0.01, units=3)
    assert Given(Results([]), EXPECTED, Path()).comparisons([tested, few]) == [
        "wiki, Big, with titles: minus real text's own score +0.10, p = 0.0100"
    ]


CONTENT = {"labels": {"critic": {"grid": "entity grid", "bb": "BBScore"}, "task": {"block_1": "blocks of 1"}},
           "table": {"columns": ["block_1", "block_2"], "bb": [80.0, 70.0], "ranker": [99.0, 98.0]},
           "records": {"table": [{"printed": "ranker.{task}", "where": {"critic": "ranker", "metric": "accuracy"}},
                                 {"printed": "{critic}.{task}", "where": {"metric": "accuracy"}}]}}  # fmt: skip
SMALL = Expected("paper", CONTENT)


def scored(critic, task="block_1", value=0.8, **more):
    return Record(critic, "accuracy", task=task, value=value, low=value - 0.1, high=value + 0.1, units=30, **more)


RESULTS = Results([scored("bb"), scored("bb", variant="head_0"), scored("grid", value=0.5)])
GIVEN = Given(RESULTS, SMALL, Path())


def test_rows_follow_the_labels_and_single_heads_and_seeds_are_left_to_the_csv(tmp_path):
    cells = GIVEN.crossed(RESULTS, "table", ("critic", "variant"), "task", 100)
    assert [c.row for c in cells] == ["entity grid", "BBScore", "BBScore, head 0"]
    assert [c.detail for c in cells] == [False, False, True]
    assert (cells[1].value, cells[1].printed) == (80, 80.0) and cells[2].printed is None
    assert "head" not in Table("t", cells).markdown()
    seeds = [scored("bb", seed=seed, value=0.1 * seed) for seed in (1, 2)]
    cells = GIVEN.crossed(seeds, "table", ("critic", "variant"), "task", 100)
    assert [c.row for c in cells] == ["BBScore", "BBScore, seed 1", "BBScore, seed 2"]
    assert [c.detail for c in cells] == [False, True, True] and cells[0].value == pytest.approx(15)
    cells = GIVEN.crossed([scored("bb", value=0.2), *seeds], "table", ("critic",), "task", 100)
    assert (cells[0].row, cells[0].value) == ("BBScore", 20) and [c.detail for c in cells] == [False, True, True]


def test_printed_numbers_without_a_record_stand_alone():
    alone = GIVEN.printed_alone("table", lambda n: (n.path[0], n.path[1]) if n.path[1] == "block_2" else None)
    assert [(c.row, c.printed) for c in alone] == [("bb", 70.0), ("ranker", 98.0)]


def test_cells_and_arms_without_enough_units_or_reaching_inside():
    assert errors([Cell("r", "c", 0.5, 0.6, 0.7), Cell("r", "c", 0.5)]) == [[0.0, 0.0], [0.7 - 0.5, 0.0]]
    few = Cell("r", "c", 1.0, 0.9, 1.1, units=19, p_value=0.001)
    assert (few.low, few.high, few.p_value) == (None, None, None)
    assert Cell("r", "c", 1.0, 0.9, 1.1, units=20, p_value=0.001).p_value == 0.001


RECORD = Record("c", "m", value=2.345, low=2.1, high=2.6, units=40, excluded=2, p_value=0.01, signature="s")


def test_the_wide_table_leaves_details_out_and_the_csv_keeps_them(tmp_path):
    cells = [cell("a", "x", RECORD, printed=2.5).times(100), exact("b", "x", 3), Cell("c", "x", None, detail=True)]
    Table("Caption", cells, ["a note"]).save(tmp_path, "t")
    text = (tmp_path / "t.md").read_text()
    assert "| a | 234.50 [210.00, 260.00] (paper 2.50) |" in text and "| b | 3 |" in text and "- a note" in text
    assert "| c |" not in text
    with (tmp_path / "t.csv").open() as file:
        assert [row["value"] for row in csv.DictReader(file)] == ["234.5", "3", ""]


def test_a_listing_keeps_bars_and_line_breaks_out_of_its_cells(tmp_path):
    Listing("Words", ["a", "b"], [["x|y\nz", 1.5]]).save(tmp_path, "l")
    assert "| x∣y z | 1.50 |" in (tmp_path / "l.md").read_text()
    assert (tmp_path / "l.csv").read_text() == "a,b\nx|y z,1.5\n"


def test_a_figure_is_drawn_twice_with_equal_bytes(tmp_path):
    drawn = [cell("a", "x", RECORD)], lambda canvas: canvas.add_subplot().plot([1, 2])
    for stem in ("f", "g"):
        Figure("Caption", *drawn, notes=["n"]).save(tmp_path, stem)
    assert (tmp_path / "f.pdf").read_bytes() == (tmp_path / "g.pdf").read_bytes()
    assert (tmp_path / "f.png").read_bytes() == (tmp_path / "g.png").read_bytes()
    assert "Caption\n\n- n\n" in (tmp_path / "f.md").read_text()
