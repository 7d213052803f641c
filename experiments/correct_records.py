"""Correct records of an old run from what they say themselves.

``PYTHONPATH=src python experiments/correct_records.py FOLDER`` rewrites the score files below a
folder (of ``experiments/restore.py``, say) and packed files of scales (``records.csv.xz``) in
place. The records in git are corrected. Run again it changes nothing. What is corrected:

* Means over trainings (heads of an encoder) were written with the first training's test and
  details, and with an interval over documents alone. The details go to the first training's own
  record; the mean gets its own difference, and an interval and a test over trainings and documents
  (``longform.statistics.trainings``).
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

IDENTITY = NAMES[: NAMES.index("seed")]  # fields of a record before its seed: what was measured
TEST = ("reference", "difference", "p_value", "paired")
# A record as it is stored; an old one may contradict itself, which ``Record`` refuses.
Raw = dict[str, Any]
Identity = tuple[Any, ...]
# Critics that give a share of yes among answers of yes or no.
SHARES = (
    "PairAccuracy",
    "ClassAccuracy",
    "CoherentShare",
    "SuiteAccuracy",
    "TitleAccuracy",
    "SupportedPerGeneration",
    "SupportedPerVerified",
    "CheckerAccuracy",
    "DerivableShare",
    "FollowedShare",
)


def identity(record: Raw, **other: Any) -> Identity:
    """What a record measured: its fields :data:`IDENTITY`, in which all seeds agree.

    ``other`` replaces values of fields.
    """
    return tuple(other.get(name, record.get(name)) for name in IDENTITY)


def trainings_of(records: Sequence[Raw]) -> dict[Identity, list[Raw]]:
    """Records of single trainings, those with a seed, by identity; each list sorted by seed."""
    trainings: dict[Identity, list[Raw]] = {}
    for record in records:
        if record.get("seed") is not None:
            trainings.setdefault(identity(record), []).append(record)
    for group in trainings.values():
        group.sort(key=lambda record: record["seed"])
    return trainings


def correct(records: Sequence[Raw]) -> list[Raw]:
    """The records of one file in their order, corrected; those that need nothing as they are."""
    trainings = trainings_of(records)
    corrected = list(records)
    positions = {id(record): position for position, record in enumerate(records)}
    for position, record in enumerate(records):
        details = record.get("details", {})
        if record.get("seed") is not None or "trainings" in details:
            continue
        # A mean over trainings, and its trainings.
        group = trainings.get(identity(record), [])
        if len(group) > 1 and "spread" in details:
            corrected[position], members = correct_mean(mean=record, trainings=group)
            for old, new in zip(group, members, strict=True):
                corrected[positions[id(old)]] = new
        # A difference of two means.
        elif record["metric"] == "pairwise_accuracy_difference":
            scorer, other_scorer = compared(record)
            first, second = trainings.get(scorer, []), trainings.get(other_scorer, [])
            if len(first) > 1 and len(second) > 1:
                corrected[position] = correct_difference(record, first=first, second=second)
    return list(map(with_share_intervals, with_units(corrected)))


def correct_difference(record: Raw, first: Sequence[Raw], second: Sequence[Raw]) -> Raw:
    """A difference of two means over trainings, with its interval and test over trainings.

    ``first`` and ``second`` are the two scorers' trainings, a pair a seed.
    """
    differences = []
    for one, other in zip(first, second, strict=True):
        differences.append(one["value"] - other["value"])
    return difference_of_trainings(Record(**record), differences).to_json()


def is_share(signature: str) -> bool:
    """Whether a critic with this signature, ``Name(settings)``, gives a share of yes answers."""
    name, _, settings = signature.removesuffix(")").partition("(")
    if name == "SentenceMean":
        return settings.removeprefix("column=") in YES_OR_NO
    if name == "LanguageDispersion":
        return "corners=True" in settings
    return name in SHARES


def with_share_intervals(record: Raw) -> Raw:
    """A record of a share, with Wilson's and Newcombe's intervals where its own have no width.

    A record that is no share, or a mean over trainings, stays as it is.
    """
    details = record.get("details", {})
    has_interval = record.get("value") is not None and record.get("low") is not None
    if not has_interval or "trainings" in details or not is_share(record.get("signature", "")):
        return record
    # Its own interval, and that of its difference from the reference.
    units = int(record["units"])
    low, high = share_interval((record["low"], record["high"]), record["value"], units)
    corrected = {**record, "low": low, "high": high}
    if "reference" in record and "difference_low" in details:
        ends = details["difference_low"], details["difference_high"]
        below, above = share_difference_interval(ends, record["value"], record["reference"], units)
        corrected["details"] = {**details, "difference_low": below, "difference_high": above}
    return Record(**corrected).to_json() if corrected != record else record


def with_units(records: Sequence[Raw]) -> list[Raw]:
    """Records in which distances between writers have a number of units, as all others have.

    It is that of the corpus's record ``own_top_two``, which is of the same documents.
    """
    units = {}
    for record in records:
        if record["metric"] == "own_top_two":
            units[record.get("corpus")] = record.get("units")
    corrected = []
    for record in records:
        number = units.get(record.get("corpus"))
        if record["metric"] == "distance" and "units" not in record and number is not None:
            record = Record(**record, units=number).to_json()
        corrected.append(record)
    return corrected


def compared(record: Raw) -> Iterator[Identity]:
    """Identities of the two scorers whose pairwise accuracies a record's difference compares.

    The first scorer is its critic; its variant is ``<other scorer>[-<variant of both>]``.
    """
    other, _, variant = record["variant"].partition("-")
    for critic in (record["critic"], other):
        yield identity(record, critic=critic, metric="pairwise_accuracy", variant=variant or None)


def correct_mean(mean: Raw, trainings: Sequence[Raw]) -> tuple[Raw, list[Raw]]:
    """Correct a mean over trainings, which carries the first training's test and details.

    Args:
        mean: record of the mean.
        trainings: records of its trainings, in the order of their seeds.

    Returns:
        The mean with its own interval and test over trainings and documents; the trainings, the
        first of which now has the test and the details.

    Raises:
        ValueError: the mean's test is not the first training's.
    """
    details = dict(mean["details"])
    details.pop("spread", None)
    members = [dict(training) for training in trainings]
    first = members[0]
    # The test goes to the first training, the reference to all.
    if "reference" in mean:
        expected = first["value"] - mean["reference"]
        if abs(mean["difference"] - expected) > ROUNDING:
            raise ValueError(
                f"{identity(mean)}: the test of the mean is not that of its first training"
            )
        for member in members:
            member |= {"reference": mean["reference"], "paired": mean["paired"]}
        first |= {key: mean[key] for key in TEST if key in mean}
    # So do the details. The other trainings had copies of them, which go.
    for member in members:
        own_details = member.get("details", {})
        member["details"] = {key: own_details[key] for key in own_details if key not in details}
    first["details"] |= details
    # The mean has a test and an interval of its own.
    documents = dict(mean)
    for key in (*TEST, "details"):
        documents.pop(key, None)
    records = [Record(**member) for member in members]
    corrected = mean_of_trainings(Record(**documents), records).to_json()
    return corrected, [record.to_json() for record in records]


def record_files(folder: Path) -> Iterator[tuple[Path, list[Raw]]]:
    """Every file of records below a folder, with the records."""
    for path in sorted(folder.rglob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, list) and all(map(is_record, content)):
            yield path, content


def is_record(content: object) -> bool:
    """Whether an element of a JSON list is a record: an object with a critic and a metric."""
    return isinstance(content, Mapping) and {"critic", "metric"} <= content.keys()


def number_of_changes(before: Sequence[Raw], after: Sequence[Raw]) -> int:
    """How many records a correction changed."""
    return sum(old != new for old, new in zip(before, after, strict=True))


def correct_packed(path: Path) -> int:
    """Correct the packed records of a scale; returns how many changed."""
    changed = 0
    corrected = {}
    for name, records in raw_scale_records(path).items():
        corrected[name] = correct(records)
        changed += number_of_changes(records, corrected[name])
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
        changed = number_of_changes(records, corrected)
        if changed:
            write_json(path, corrected)
            print(f"{path.relative_to(folder)}: {changed} of {len(records)} records corrected")
    for path in sorted(folder.rglob(PACKED)):
        changed = correct_packed(path)
        if changed:
            print(f"{path.relative_to(folder)}: {changed} records corrected")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
