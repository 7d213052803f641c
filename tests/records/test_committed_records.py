"""Committed records say one thing: differences, means over trainings, and what a correction leaves alone."""

import json
import subprocess
from pathlib import Path

import pytest

from experiments.correct_records import (
    correct,
    correct_packed,
    is_share,
    record_files,
    trainings_of,
    with_share_intervals,
)
from experiments.correct_records import identity as same_number
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import raw_scale_records, write_scale_records

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


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("experiments/scales/")])
def test_no_share_of_several_units_is_certain(name):
    for record in FILES[name]:
        certain = record.get("low") is not None and record["low"] == record["high"]
        if certain and record["value"] in (0, 1) and is_share(record.get("signature", "")):
            assert "trainings" in record.get("details", {}), same_number(record)


def test_a_share_of_all_or_none_alone_gets_wilsons_interval():
    share = {
        "critic": "c", "metric": "SPV", "value": 1.0, "low": 1.0, "high": 1.0, "units": 30,
        "signature": "SupportedPerVerified(unique=False,pooled=False,sentences=5)",
    }  # fmt: skip
    found = with_share_intervals(share)
    assert found["low"] == pytest.approx(30 / (30 + 1.959964**2), abs=1e-6)  # n / (n + z^2)
    assert found["high"] == found["value"] == 1.0
    difference = {"reference": 0.0, "difference": 1.0, "p_value": 0.1, "paired": True}
    ends = {"difference_low": 1.0, "difference_high": 1.0}
    found = with_share_intervals({**share, **difference, "details": ends})
    arm = 1 - 30 / (30 + 1.959964**2)
    assert found["details"]["difference_low"] == pytest.approx(1 - arm * 2**0.5, abs=1e-6)
    assert found["details"]["difference_high"] == 1.0
    for other in (
        {"signature": "DistinctGrams(n=4)"},
        {"signature": "SentenceMean(column=words)"},
        {"value": 0.5, "low": 0.5, "high": 0.5},
        {"details": {"trainings": 3}},
    ):
        assert with_share_intervals({**share, **other}) == {**share, **other}
    assert is_share("SentenceMean(column=conflict)")
    assert is_share("LanguageDispersion(corners=True)")
    assert not is_share("LanguageDispersion(corners=False)")


def test_a_packed_file_is_corrected_in_place_and_once(tmp_path):
    record = {
        "critic": "c", "metric": "m", "value": 0.0, "low": 0.0, "high": 0.0, "units": 20,
        "signature": "PairAccuracy(scorer=x,task=y)",
    }  # fmt: skip
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "one.json").write_text(json.dumps([record, {**record, "value": 0.5}]))
    packed = tmp_path / RECORDS
    write_scale_records(tmp_path / "scores", packed)
    assert (correct_packed(packed), correct_packed(packed)) == (1, 0)
    first, second = raw_scale_records(packed)["one"]
    assert first["high"] == pytest.approx(0.16113, abs=1e-5) and second["high"] == 0.0


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
