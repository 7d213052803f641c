"""Tables of records: labels and their order, printed numbers beside ours or alone, single seeds and heads in the CSV alone."""

from pathlib import Path

import pytest

from longform.core.results import Record, Results
from longform.reporting.pivot import Given, errors
from longform.reporting.printed import Expected
from longform.reporting.table import Cell, Table

CONTENT = {
    "labels": {"critic": {"grid": "entity grid", "bb": "BBScore"}, "task": {"block_1": "blocks of 1"}},
    "table": {"columns": ["block_1", "block_2"], "bb": [80.0, 70.0], "ranker": [99.0, 98.0]},
    "records": {
        "table": [
            {"printed": "ranker.{task}", "where": {"critic": "ranker", "metric": "accuracy"}},
            {"printed": "{critic}.{task}", "where": {"metric": "accuracy"}},
        ]
    },
}
EXPECTED = Expected("paper", CONTENT)


def record(critic, task="block_1", value=0.8, **more):
    return Record(critic, "accuracy", task=task, value=value, low=value - 0.1, high=value + 0.1, units=30, **more)


RESULTS = Results([record("bb"), record("bb", variant="head_0"), record("grid", value=0.5)])
GIVEN = Given(RESULTS, EXPECTED, Path())


def test_rows_follow_the_labels_and_single_heads_and_seeds_are_left_to_the_csv(tmp_path):
    cells = GIVEN.crossed(RESULTS, "table", ("critic", "variant"), "task", 100)
    assert [c.row for c in cells] == ["entity grid", "BBScore", "BBScore, head 0"]
    assert [c.detail for c in cells] == [False, False, True]
    assert (cells[1].value, cells[1].printed) == (80, 80.0) and cells[2].printed is None
    assert "head" not in Table("t", cells).markdown()
    seeds = [record("bb", seed=seed, value=0.1 * seed) for seed in (1, 2)]
    cells = GIVEN.crossed(seeds, "table", ("critic", "variant"), "task", 100)
    assert [(c.row, c.detail) for c in cells] == [
        ("BBScore", False),
        ("BBScore, seed 1", True),
        ("BBScore, seed 2", True),
    ]
    assert cells[0].value == pytest.approx(15)
    cells = GIVEN.crossed([record("bb", value=0.2), *seeds], "table", ("critic",), "task", 100)
    assert [(c.row, c.value) for c in cells[:1]] == [("BBScore", 20)] and [c.detail for c in cells] == [
        False,
        True,
        True,
    ]


def test_printed_numbers_without_a_record_stand_alone():
    alone = GIVEN.printed_alone("table", lambda n: (n.path[0], n.path[1]) if n.path[1] == "block_2" else None)
    assert [(c.row, c.printed) for c in alone] == [("bb", 70.0), ("ranker", 98.0)]


def test_no_arm_reaches_inside_its_point():
    assert errors([Cell("r", "c", 0.5, 0.6, 0.7), Cell("r", "c", 0.5)]) == [[0.0, 0.0], [0.7 - 0.5, 0.0]]
