"""A named artefact on disk: atomic, byte-stable writing; strict, explaining reading; safe formats only."""

import json
import lzma
import math
import os
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from longform.core.documents import BadInput, Corpus, Document, Readout
from longform.core.malformed import records
from longform.core.resampling import save_arrays

_YAML: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is six times faster
DEEPEST = 100  # levels of a YAML file; thousands would exhaust the C parser's stack
_UNPAIRED = re.compile("[\ud800-\udfff]")
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, ValueError, EOFError, OSError, RuntimeError, TypeError,
    AttributeError, KeyError, SyntaxError, OverflowError, MemoryError,
)  # fmt: skip # what zipfile and NumPy raise on damaged archives, among them a single array without its archive


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a scratch path beside ``path`` and move it there only if the block succeeds: no half-written output."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    _remove(partial)
    try:
        yield partial
        if path.is_dir() and not path.is_symlink():
            _remove(path)  # a folder cannot be replaced in one step, a file can
        os.replace(partial, path)
    finally:
        _remove(partial)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_json(path: Path, record: Any) -> None:
    """Sorted keys, two spaces, one newline at the end; JSON has no nan and no infinity: null and "inf" stand for them."""
    text = json.dumps(_plain(record), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with whole(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Parse one JSON file. Raises BadInput: the file is absent or is not JSON."""
    try:
        return _numbers(json.loads(_existing(path).read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON ({error}); remove it and run its stage again") from error


def read_yaml(path: Path) -> Any:
    """Parse one YAML file. Raises BadInput: it is absent, not YAML in UTF-8, or nested deeper than ``DEEPEST``."""
    depth = 0
    try:
        text = _existing(path).read_text(encoding="utf-8")
        for event in yaml.parse(text, Loader=_YAML):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise ValueError(f"nested deeper than {DEEPEST} levels")
        return _YAML(text).get_single_data()
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())[:160]
        raise BadInput(f"{path}: not YAML in UTF-8 ({reason}); fix it") from error


def write_documents(path: Path, documents: Iterable[Document]) -> int:
    """One sorted-key JSON object a line; returns how many were written."""
    count = 0
    with whole(path) as partial, partial.open("w", encoding="utf-8") as lines:
        for document in documents:
            line = json.dumps(_plain(document.to_record()), sort_keys=True, ensure_ascii=False)
            if _UNPAIRED.search(line):
                raise BadInput(f"{path}: document {document.id!r} has half a surrogate pair; fix its source")
            lines.write(line + "\n")
            count += 1
    return count


def read_documents(path: Path) -> list[Document]:
    """Read documents; every line must parse. Raises BadInput: naming file, line and what is wrong with it."""
    documents = [Document.from_record(record, where) for where, record in records(_existing(path))]
    if not documents:
        raise BadInput(f"{path}: got zero documents, one is needed; check the filters of its entry")
    return documents


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Compressed npz without pickle; equal arrays give equal bytes."""
    for name, array in arrays.items():
        if np.asarray(array).dtype == object:
            raise BadInput(f"{path}: array {name!r} has dtype object, which needs pickle; use numbers or strings")
    with whole(path) as partial:
        save_arrays(partial, arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read an npz without unpickling anything. Raises BadInput: absent, truncated, or holding pickled objects."""
    present = _existing(path)
    try:
        with np.load(present, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except UNREADABLE as error:
        told = f"{path}: not a whole npz of plain arrays ({error}); remove it and run its stage again"
        raise BadInput(told) from error


def save_fitted(folder: Path | str, stem: str, arrays: Mapping[str, np.ndarray], record: Mapping[str, Any]) -> None:
    """A fitted model as ``<stem>.npz`` and ``<stem>.json`` in a folder; the bytes depend on nothing else."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    save_arrays(folder / f"{stem}.npz", arrays)
    text = json.dumps(record, sort_keys=True, ensure_ascii=False, indent=1)
    (folder / f"{stem}.json").write_text(text + "\n", encoding="utf-8")


def load_fitted(folder: Path | str, stem: str, what: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Inverse of :func:`save_fitted`. Raises BadInput: one of the two files is not there; ``what`` names the model."""
    for name in (f"{stem}.json", f"{stem}.npz"):
        if not (Path(folder) / name).is_file():
            raise BadInput(f"{folder}: no {name}; {what} is a folder with {stem}.npz and {stem}.json")
    record = json.loads((Path(folder) / f"{stem}.json").read_text(encoding="utf-8"))
    with np.load(Path(folder) / f"{stem}.npz", allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}, record


def write_corpus(folder: Path, corpus: Corpus) -> int:
    """``documents.jsonl``, ``truth.npz`` and ``facts.json`` in one folder, all or nothing."""
    with whole(folder) as partial:
        partial.mkdir()
        count = write_documents(partial / "documents.jsonl", corpus.documents)
        if not count:
            raise BadInput(f"{folder}: got zero documents, at least one is needed; loosen the entry's filters")
        write_arrays(partial / "truth.npz", corpus.truth)
        write_json(partial / "facts.json", corpus.facts)
    return count


def read_corpus(folder: Path) -> Corpus:
    """Inverse of :func:`write_corpus`; text brought from elsewhere needs only ``documents.jsonl``."""
    documents = read_documents(folder / "documents.jsonl")
    truth, facts = folder / "truth.npz", folder / "facts.json"
    return Corpus(documents, read_arrays(truth) if truth.exists() else {}, read_json(facts) if facts.exists() else {})


def write_readout(path: Path, readout: Readout) -> None:
    """A readout as one npz; the unit ids and splits are two more arrays."""
    ids = {"unit_ids": np.array(readout.unit_ids, dtype=np.str_), "splits": np.array(readout.splits, dtype=np.str_)}
    write_arrays(path, {**readout.arrays, **ids})


def read_readout(path: Path) -> Readout:
    """Inverse of :func:`write_readout`."""
    arrays = read_arrays(path)
    if not {"unit_ids", "splits"} <= arrays.keys():
        raise BadInput(f"{path}: arrays are {sorted(arrays)}, a readout has unit_ids and splits; read it again")
    ids, splits = arrays.pop("unit_ids"), arrays.pop("splits")
    if ids.ndim != 1 or splits.ndim != 1:
        raise BadInput(f"{path}: unit_ids {ids.shape}, splits {splits.shape}, give one of each a unit; read it again")
    return Readout(tuple(ids.tolist()), tuple(splits.tolist()), arrays)


def _existing(path: Path) -> Path:
    if path.is_dir():
        raise BadInput(f"{path}: a folder stands where a file is needed; move it away and run the stage that writes it")
    if not path.is_file():
        raise BadInput(f"{path}: no such file; run the stage that writes it (dvc repro) or fix the path in params.yaml")
    return path


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _numbers(value: Any) -> Any:
    """Undo what :func:`_plain` did to infinities."""
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value


def append_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Add the records of finished work to a file. A kill tears at most the last line, whose work is done again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        torn = file.tell() and (file.seek(-1, 2), file.read(1))[1] != b"\n"
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        file.write((b"\n" if torn else b"") + lines.encode())


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole records of a file in order; none where there is no file."""
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue
