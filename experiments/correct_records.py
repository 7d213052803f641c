"""Correct records of an old run from what they hold themselves, ``PYTHONPATH=src python experiments/correct_records.py FOLDER``.

Rewrites the score files below a folder (of ``experiments/restore.py``, say) and packed files of scales
(``records.csv.gz``) in place. The records in git are corrected. Run again it changes nothing. What is
corrected:

* Means over trainings (heads of an encoder) were written with the first training's test and details, and with an interval
  over documents alone. The details go to the first training's own record; the mean gets its own difference, and an
  interval and a test over trainings and documents (``longform.statistics.trainings``).
* Differences of two such means likewise.
* Distances between writers had an interval and no number of documents.
* Shares of all or of none had an interval without width, since all resamples say the same. Wilson's
  stands there (``longform.statistics.intervals``), and Newcombe's of a difference of two of them.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from longform.evaluation.measurements import difference_of_trainings, mean_of_trainings
from longform.evaluation.verified_texts import YES_OR_NO
from longform.files.artefacts import write_json
from longform.results import NAMES, ROUNDING, Record
from longform.statistics.intervals import share_difference_interval, share_interval
from longform_lab.scale_records import FILE as PACKED
from longform_lab.scale_records import raw_scale_records, write_scale_records

IDENTITY = NAMES[: NAMES.index("seed")]  # trainings of one number agree in these
TEST = ("reference", "difference", "p_value", "paired")
Raw = dict[
    str, Any
]  # a record as it is stored; an old one may contradict itself, which ``Record`` refuses


def identity(record: Raw, **other: Any) -> tuple[Any, ...]:
    """The fields in which the trainings of one number agree."""
    return tuple(other.get(name, record.get(name)) for name in IDENTITY)


def trainings_of(records: Sequence[Raw]) -> dict[tuple[Any, ...], list[Raw]]:
    """The records of single trainings by their identity, in the order of their seeds."""
    found: dict[tuple[Any, ...], list[Raw]] = {}
    for record in records:
        if record.get("seed") is not None:
            found.setdefault(identity(record), []).append(record)
    return {key: sorted(each, key=lambda one: one["seed"]) for key, each in found.items()}


def correct(records: Sequence[Raw]) -> list[Raw]:
    """The records of one file, corrected; those that need nothing as they are."""
    trainings = trainings_of(records)
    corrected: dict[int, Raw] = {}
    for place, record in enumerate(records):
        details = record.get("details", {})
        if record.get("seed") is not None or "trainings" in details:
            continue
        each = trainings.get(identity(record), [])
        if len(each) > 1 and "spread" in details:
            mean, own = correct_mean(record, each)
            corrected[place] = mean
            corrected |= {
                place_of(records, one): fixed for one, fixed in zip(each, own, strict=True)
            }
        elif record["metric"] == "pairwise_accuracy_difference":
            sides = [trainings.get(key, []) for key in compared(record)]
            if all(len(side) > 1 for side in sides):
                pairs = zip(*sides, strict=True)
                differences = [one["value"] - other["value"] for one, other in pairs]
                corrected[place] = difference_of_trainings(Record(**record), differences).to_json()
    made = [corrected.get(place, record) for place, record in enumerate(records)]
    return [with_share_intervals(record) for record in with_units(made)]


SHARES = (
    "PairAccuracy", "ClassAccuracy", "CoherentShare", "SuiteAccuracy", "TitleAccuracy",
    "SupportedPerGeneration", "SupportedPerVerified", "CheckerAccuracy", "DerivableShare", "FollowedShare",
)  # fmt: skip


def is_share(signature: str) -> bool:
    """Whether the critic of a signature gives a share of yes among answers of yes or no."""
    name, _, settings = signature.removesuffix(")").partition("(")
    if name == "SentenceMean":
        return settings.removeprefix("column=") in YES_OR_NO
    if name == "LanguageDispersion":
        return "corners=True" in settings
    return name in SHARES


def with_share_intervals(record: Raw) -> Raw:
    """A share of all or of none, of one training, with intervals that have a width; any other record as it is."""
    details = record.get("details", {})
    known = record.get("value") is not None and record.get("low") is not None
    if not known or "trainings" in details or not is_share(record.get("signature", "")):
        return record
    units = int(record["units"])
    low, high = share_interval((record["low"], record["high"]), record["value"], units)
    made = {**record, "low": low, "high": high}
    if "reference" in record and "difference_low" in details:
        ends = details["difference_low"], details["difference_high"]
        below, above = share_difference_interval(ends, record["value"], record["reference"], units)
        made["details"] = {**details, "difference_low": below, "difference_high": above}
    return Record(**made).to_json() if made != record else record


def with_units(records: Sequence[Raw]) -> list[Raw]:
    """Distances between writers with the units of ``own_top_two``, which is of the same documents; the rest as it is."""
    units = {
        record.get("corpus"): record.get("units")
        for record in records
        if record["metric"] == "own_top_two"
    }
    made = []
    for record in records:
        known = units.get(record.get("corpus"))
        lacks = record["metric"] == "distance" and "units" not in record and known is not None
        made.append(Record(**{**record, "units": known}).to_json() if lacks else record)
    return made


def place_of(records: Sequence[Raw], wanted: Raw) -> int:
    """Where a record stands, by what it is and not by what it says."""
    return next(place for place, record in enumerate(records) if record is wanted)


def compared(record: Raw) -> Iterator[tuple[Any, ...]]:
    """Identities of the two scorers of a difference, whose variant is ``<other scorer>[-<variant>]``."""
    other, _, variant = record["variant"].partition("-")
    for critic in (record["critic"], other):
        yield identity(record, critic=critic, metric="pairwise_accuracy", variant=variant or None)


def correct_mean(mean: Raw, each: Sequence[Raw]) -> tuple[Raw, list[Raw]]:
    """A mean over trainings and its trainings, from a mean that carries the first training's test and details.

    Raises ValueError: the test is not the first training's.
    """
    carried = {key: value for key, value in mean["details"].items() if key != "spread"}
    own = [dict(one) for one in each]
    if "reference" in mean:
        expected = own[0]["value"] - mean["reference"]
        if abs(mean["difference"] - expected) > ROUNDING:
            raise ValueError(
                f"{identity(mean)}: the test of the mean is not that of its first training"
            )
        for one in own:
            one |= {"reference": mean["reference"], "paired": mean["paired"]}
        own[0] |= {key: mean[key] for key in TEST if key in mean}
    for one in own:  # what was counted under the first training stood on all of them
        one["details"] = {
            key: value for key, value in one.get("details", {}).items() if key not in carried
        }
    own[0]["details"] |= carried
    documents = {key: value for key, value in mean.items() if key not in (*TEST, "details")}
    trainings = [Record(**one) for one in own]
    return mean_of_trainings(Record(**documents), trainings).to_json(), [
        one.to_json() for one in trainings
    ]


def record_files(folder: Path) -> Iterator[tuple[Path, list[Raw]]]:
    """Every file of records below a folder with what it holds."""
    for path in sorted(folder.rglob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(held, list) and all(
            isinstance(one, Mapping) and {"critic", "metric"} <= one.keys() for one in held
        ):
            yield path, held


def correct_packed(path: Path) -> int:
    """Correct the packed records of a scale; returns how many changed."""
    files = raw_scale_records(path)
    corrected = {name: correct(records) for name, records in files.items()}
    changed = 0
    for name, records in files.items():
        pairs = zip(records, corrected[name], strict=True)
        changed += sum(before != after for before, after in pairs)
    if changed:
        with tempfile.TemporaryDirectory() as folder:
            for name, records in corrected.items():
                write_json(Path(folder) / f"{name}.json", records)
            write_scale_records(Path(folder), path)
    return changed


def main(folder: Path) -> int:
    """Correct every file of records below a folder; the status is 0."""
    for path, records in record_files(folder):
        corrected = correct(records)
        changed = sum(before != after for before, after in zip(records, corrected, strict=True))
        if changed:
            write_json(path, corrected)
            print(f"{path.relative_to(folder)}: {changed} of {len(records)} records corrected")
    for path in sorted(folder.rglob(PACKED)):
        if changed := correct_packed(path):
            print(f"{path.relative_to(folder)}: {changed} records corrected")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
