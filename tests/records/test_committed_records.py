"""Committed records say one thing: differences, means over trainings, and what a correction leaves alone."""

import subprocess
from pathlib import Path

import pytest

from experiments.correct_records import correct, record_files, trainings_of
from experiments.correct_records import identity as same_number
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import raw_scale_records

ROOT = Path(__file__).parents[2]
ROUNDING = 1e-9


def committed():
    """Every file of records in git with what it holds; a scale's packed file has many."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.json"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    tracked = set(listed.stdout.split("\0"))
    found = [
        pair for folder in ("data/scores", "experiments") for pair in record_files(ROOT / folder)
    ]
    files = {
        name: held for path, held in found if (name := path.relative_to(ROOT).as_posix()) in tracked
    }
    for path in sorted((ROOT / "experiments/scales").glob(f"*/{RECORDS}")):
        for name, records in raw_scale_records(path).items():
            files[f"{path.parent.relative_to(ROOT).as_posix()}/{name}"] = records
    return files


FILES = committed()


@pytest.mark.parametrize("name", FILES)
def test_every_difference_is_value_minus_reference(name):
    for record in FILES[name]:
        if record.get("value") is None or record.get("reference") is None:
            continue
        value, reference = record["value"], record["reference"]
        size = max(1.0, abs(value), abs(reference))
        assert abs(record["difference"] - (value - reference)) <= ROUNDING * size, same_number(
            record
        )


@pytest.mark.parametrize("name", FILES)
def test_every_mean_over_trainings_has_all_of_them_in_its_interval(name):
    records = FILES[name]
    trainings = trainings_of(records)
    for record in records:
        each = trainings.get(same_number(record), [])
        if record.get("seed") is not None or len(each) < 2 or record.get("low") is None:
            continue
        values = [one["value"] for one in each]
        assert record["low"] <= min(values) and max(values) <= record["high"], same_number(record)
        assert record["value"] == pytest.approx(sum(values) / len(values), abs=ROUNDING)


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("experiments/scales/")])
def test_a_corrected_file_is_corrected_no_further(name):
    assert correct(FILES[name]) == FILES[name]


def head(seed, value, **more):
    numbers = {"value": value, "low": value - 0.04, "high": value + 0.04}
    return {
        "critic": "c",
        "metric": "pairwise_accuracy",
        "task": "t",
        "seed": seed,
        "units": 50,
        **numbers,
        **more,
    }


def copied():
    """A mean of three heads as it was once written: with the first one's test and counts."""
    details = {"wins": 60.0, "pairs": 100.0, "spread": 0.1}
    test = {"reference": 0.5, "difference": 0.1, "p_value": 0.0015, "paired": True}
    mean = head(None, 0.45, details=details, **test)
    del mean["seed"]
    return [mean, head(0, 0.6), head(1, 0.4), head(2, 0.35)]


def test_the_first_trainings_test_returns_to_its_own_record():
    mean, *each = correct(copied())
    assert [one["difference"] for one in (mean, *each)] == pytest.approx([-0.05, 0.1, -0.1, -0.15])
    assert each[0]["p_value"] == 0.0015 and "p_value" not in each[1]
    assert each[0]["details"] == {"wins": 60.0, "pairs": 100.0} and "details" not in each[1]
    assert mean["details"].keys() == {"trainings", "spread", "documents_low", "documents_high"}
    assert mean["details"]["spread"] == pytest.approx(0.1322875655)  # of .6, .4 and .35
    assert mean["low"] < 0.35 and mean["high"] > 0.6 and mean["p_value"] > 0.5


def test_a_mean_whose_test_is_not_its_first_trainings_is_refused():
    records = copied()
    records[0]["difference"] = 0.2
    with pytest.raises(ValueError, match="not that of its first training"):
        correct(records)


def test_a_difference_of_two_scorers_is_tested_over_trainings():
    one, other = copied(), [{**record, "critic": "d"} for record in copied()]
    for record, value in zip(other, (0.55, 0.70, 0.50, 0.45), strict=True):
        record["value"] = value  # each training of d is .1 above that of c
    other[0]["difference"], other[0]["value"] = 0.2, 0.55
    gap = {"critic": "d", "metric": "pairwise_accuracy_difference", "task": "t", "variant": "c"}
    numbers = {"value": 0.1, "low": 0.06, "high": 0.14, "p_value": 0.3, "units": 50}
    corrected = correct([*one, *other, {**gap, **numbers}])[-1]
    assert corrected["details"]["trainings"] == 3
    assert corrected["details"]["spread"] == pytest.approx(0, abs=1e-12)
    assert (corrected["low"], corrected["high"]) == pytest.approx((0.06, 0.14))
    assert corrected["p_value"] < 0.001  # 4.9 standard errors


def test_distances_between_writers_say_of_how_many_documents_they_are():
    top = {"critic": "b", "metric": "own_top_two", "corpus": "x", "units": 30, "value": 1.0}
    gap = {
        "critic": "b",
        "metric": "distance",
        "corpus": "x",
        "system": "human",
        "variant": "gpt2",
        "value": 0.1,
        "low": 0.0,
    }
    assert correct([top, gap])[1]["units"] == 30


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("experiments/scales/")])
def test_every_interval_has_the_number_of_its_units(name):
    for record in FILES[name]:
        assert record.get("low") is None or record.get("units") is not None, same_number(record)
