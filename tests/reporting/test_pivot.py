"""Tables laid out from records: order of rows and columns, printed numbers beside ours, seeds averaged."""

import json
from pathlib import Path

import pytest

from longform.core.documents import BadInput
from longform.core.results import Record, Results
from longform.reporting.pivot import Given
from longform.reporting.printed import Expected

EXPECTED = Expected(
    "paper",
    {
        "kinds": {"table_1": "trained"},
        "table_1": {"big": 2.0},
        "records": {"table_1": [{"printed": "{system}", "where": {"metric": "share"}, "times": 100}]},
        "labels": {"system": {"small": "Small", "big": "Big"}, "titles": {True: "with titles"}},
    },
)


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


def test_seeds_make_one_cell_and_details_and_a_second_record_of_one_seed_is_refused(tmp_path):
    results = Results([record("big", value, seed=seed) for seed, value in enumerate((0.01, 0.05))])
    whole, *seeds = Given(results, EXPECTED, tmp_path).pivot(
        {"share": {}}, printed="table_1", rows=("system",), factor=100
    )
    assert whole.value == pytest.approx(3.0) and whole.low < 0 and whole.verdict == "within interval"
    assert [c.row for c in seeds] == ["Big, seed 0", "Big, seed 1"] and all(c.detail for c in seeds)
    with pytest.raises(BadInput, match="name more fields"):
        Given(Results([*results, results[0]]), EXPECTED, tmp_path).pivot({"share": {}}, rows=("system",))


def test_perplexities_of_seeds_are_averaged_on_the_log_scale(tmp_path):
    results = Results([record("big", value, "latent_ppl", seed=seed) for seed, value in enumerate((2.0, 8.0))])
    whole = Given(results, EXPECTED, tmp_path).pivot({"PPL": {}}, rows=("system",))[0]
    assert (
        whole.value == pytest.approx(4.0)
        and 0 < whole.low < 2
        and whole.high * whole.low == pytest.approx(16, rel=1e-2)
    )


def test_exact_values_come_from_the_corpora_that_state_them(tmp_path):
    (tmp_path / "corpora" / "articles" / "wiki").mkdir(parents=True)
    (tmp_path / "corpora" / "articles" / "wiki" / "facts.json").write_text(json.dumps({"truth": 2.5}))
    cells = Given(Results([]), EXPECTED, tmp_path).exact_rows(["wiki", "wiki", "real"], "truth", "PPL")
    assert [(c.row, c.value) for c in cells] == [("wiki, exact", 2.5)]


def test_comparisons_of_too_few_units_are_not_told():
    tested = record("big", 0.5, difference=0.1, p_value=0.01, titles=True)
    few = Record("c", "share", "wiki", "small", difference=0.1, p_value=0.01, units=3)
    assert Given(Results([]), EXPECTED, Path()).comparisons([tested, few]) == [
        "wiki, Big, with titles: minus real text's own score +0.10, p = 0.0100"
    ]
