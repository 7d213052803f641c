"""All records of a scale in one packed CSV file, as git keeps them.

It is ``experiments/scales/<scale>/records.csv.xz``. ``pandas.read_csv`` opens it as it is, and so
does ``xzcat``. A run changes nearly every line, so plain text would show no more.

A line is a record. ``scores`` names the score file that it stood in (``articles/section_order``),
then come the fields of :class:`longform.results.Record`; an empty cell is a field's default.
``details`` is JSON and keeps only what claims and ledgers follow from (:data:`KEPT`,
:data:`KEPT_OF_METRIC`). History keeps the rest (``experiments/restore.py``). Numbers have nine
digits, as in ``claims.csv``.
"""

import csv
import io
import json
import lzma
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longform.errors import InputError
from longform.files.artefacts import atomic_write, read_json
from longform.files.opening import numbered_rows
from longform.results import COUNTS, NAMES, NUMBERS, TRUTHS, Record, Results, fault_of

FILE = "records.csv.xz"
SCORES = "scores"
DETAILS = "details"
DIFFERENCE = "difference"
COLUMNS = (SCORES, *NAMES)
KEPT = (  # the names of details that are kept of every metric
    "trainings",
    "spread",
    "documents_low",
    "documents_high",
    "difference_low",
    "difference_high",
    "pairs",
    "unscored",
    "exact_latent_ppl",
    "annotators",
    "judgements",
    "known",
    "wilson",
)
# A detail: rows of (title, next title, how often it followed, its probability).
TRANSITIONS = "transitions"
KEPT_OF_METRIC = {
    "expected_log_prior": ("totals",),
    "latent_ppl": (TRANSITIONS,),
    "ngram_attribution": ("rare", "gap", "low", "high"),
}
Raw = dict[str, Any]  # a record as JSON has it: fields that differ from their defaults


def kept_details(record: Mapping[str, Any]) -> Raw:
    """The details of a stored record that git keeps.

    Probabilities of transitions are rounded to three digits, other numbers to nine.
    """
    names = (*KEPT, *KEPT_OF_METRIC.get(record["metric"], ()))
    details = {}
    for name, value in record.get(DETAILS, {}).items():
        if name in names:
            details[name] = _rounded(value)
    if TRANSITIONS in details:
        rows = []
        for previous, title, count, probability in details[TRANSITIONS]:
            rows.append([previous, title, int(count), float(f"{probability:.3g}")])
        details[TRANSITIONS] = rows
    return details


def write_scale_records(scores: Path, path: Path) -> None:
    """Write all score files below a folder to one packed CSV file, in alphabetical order.

    Args:
        scores: the folder of score files (JSON).
        path: the CSV file.
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for source in sorted(scores.rglob("*.json")):
        name = source.relative_to(scores).with_suffix("").as_posix()
        for record in read_json(source):
            lines.writerow([name, *_cells(record)])
    with atomic_write(path) as partial:
        partial.write_bytes(packed(text.getvalue().encode("utf-8")))


def packed(content: bytes) -> bytes:
    """Bytes packed with xz: a tenth smaller than gzip's, and equal where the content is equal."""
    return lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)


def _cells(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the cells of a stored record, in the order of ``NAMES``."""
    for name in NAMES:
        value = record.get(name)
        if name == DIFFERENCE and value is not None:
            yield _difference_cell(record)
        elif name == DETAILS:
            yield _details_cell(kept_details(record))
        elif isinstance(value, bool):
            yield str(value).lower()
        else:
            yield "" if value is None else str(_rounded(value))


def _difference_cell(record: Mapping[str, Any]) -> str:
    """A difference to twelve digits: of the rounded numbers, which ``Record`` compares it with."""
    difference = float(record[DIFFERENCE])
    if record.get("value") is not None and record.get("reference") is not None:
        difference = float(_rounded(record["value"])) - float(_rounded(record["reference"]))
    return str(float(f"{difference:.12g}"))


def _rounded(value: Any) -> Any:
    """A value of JSON whose numbers, at any depth, have nine significant digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    return value


def _details_cell(details: Raw) -> str:
    """Details as compact JSON; an empty cell where there are none."""
    if not details:
        return ""
    return json.dumps(details, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def raw_scale_records(path: Path) -> dict[str, list[Raw]]:
    """Read a scale's CSV file: its records as mappings, by the name of their score file.

    Fields with their default value are left out.

    Raises:
        InputError: there is no such file, a column is missing, or a cell has a wrong type or value.
    """
    records: dict[str, list[Raw]] = {}
    for where, line in numbered_rows(path, COLUMNS):
        try:
            record = {name: _value(name, line[name]) for name in NAMES if line[name]}
        except ValueError as error:
            raise InputError(f"{where}: {error}; keep the scale's results again") from error
        fault = fault_of(record)
        if fault:
            raise InputError(f"{where}: the record {fault}; keep the scale's results again")
        records.setdefault(line[SCORES], []).append(record)
    return records


def _value(name: str, cell: str) -> Any:
    """A cell as the type of its field. Raises ValueError: it is not of that type."""
    if name in NUMBERS:
        return float(cell)
    if name in COUNTS:
        return int(cell)
    if name in TRUTHS or name == DETAILS:
        return json.loads(cell)
    return cell


def scale_results(path: Path, *names: str) -> Results:
    """Read the records of a scale's CSV file.

    Args:
        path: the file.
        names: of score files; without any, all are read.

    Raises InputError: as :func:`raw_scale_records`, or there is no such score file.
    """
    files = raw_scale_records(path)
    absent = sorted(set(names) - files.keys())
    if absent:
        raise InputError(f"{path}: no score file {absent[0]!r}; there are {sorted(files)}")
    chosen = names or tuple(files)
    return Results(Record(**record) for name in chosen for record in files[name])
