"""A named artefact on disk: atomic, byte-stable writing; strict, explaining reading; safe formats only."""

import errno
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

from longform.documents import Corpus, Document, Predictions
from longform.errors import ArtefactError, InputError
from longform.files.arrays import save_arrays
from longform.files.opening import json_file, read_text, records
from longform.files.yaml_dialect import YamlReader

DEEPEST = 100  # levels of a YAML file; thousands would exhaust the C parser's stack
_UNPAIRED = re.compile("[\ud800-\udfff]")
UNREADABLE = (  # what zipfile raises on damaged archives; np.lib.format raises ValueError
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, ValueError, EOFError, OSError, OverflowError, NotImplementedError,
)  # fmt: skip
FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Say in a sentence where a disk is full. Raises ArtefactError: the block ran out of room, or of a quota."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise ArtefactError(
            f"{path}: cannot be written, the disk is full ({error.strerror}); free room and run it again"
        ) from error


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a scratch path beside ``path`` and move it there only if the block succeeds: no half-written output.

    Raises ArtefactError: the disk is full.
    """
    partial = path.with_name(f".{path.name}.partial")
    with full_disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
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
    with atomic_write(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def json_line(record: Any) -> str:
    """The same on one line without spaces."""
    plain = _plain(record)
    return json.dumps(
        plain, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False
    )


def read_json(path: Path) -> Any:
    """Parse one JSON file of our own. Raises ArtefactError: absent, not JSON, or an object that has one key twice."""
    try:
        return _numbers(json_file(_existing(path)))
    except InputError as error:
        raise ArtefactError(f"{error}, or remove it and run its stage again") from error


def read_yaml(path: Path) -> Any:
    """Parse one YAML file, by the rules of YAML 1.2 (:mod:`longform.files.yaml_dialect`).

    Raises:
        InputError: absent, not YAML in UTF-8, nested deeper than ``DEEPEST``, or a mapping that has one key twice.
    """
    text = read_text(_existing(path))
    try:
        depth = 0
        for event in yaml.parse(text, Loader=YamlReader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if depth > DEEPEST:
                raise ValueError(f"nested deeper than {DEEPEST} levels")
        loader = YamlReader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _refuse_repeated_keys(path, node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except InputError:
        raise
    except (
        yaml.YAMLError,
        ValueError,
        OverflowError,
    ) as error:  # of the parser: dates and numbers among them
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"{path}: not YAML in UTF-8 ({reason}); fix it") from error


def _refuse_repeated_keys(path: Path, root: yaml.Node) -> None:
    """Raises InputError: a mapping below the root has one key twice, of which YAML's loader would take the last."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # an anchor that is named again
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        if not isinstance(node, yaml.MappingNode):
            continue
        keys = set[tuple[str, str]]()
        for key, value in node.value:
            waiting.append(value)
            if not isinstance(key, yaml.ScalarNode):
                continue
            if (key.tag, key.value) in keys:
                line = key.start_mark.line + 1
                raise InputError(
                    f"{path}:{line}: the key {key.value!r} stands here a second time; keep one of them"
                )
            keys.add((key.tag, key.value))


def write_documents(path: Path, documents: Iterable[Document]) -> int:
    """One sorted-key JSON object a line; returns how many were written. Raises InputError: an id comes twice."""
    count, ids = 0, set[str]()
    with atomic_write(path) as partial, partial.open("w", encoding="utf-8") as lines:
        for document in documents:
            line = json.dumps(_plain(document.to_record()), sort_keys=True, ensure_ascii=False)
            if _UNPAIRED.search(line):
                raise InputError(
                    f"{path}: document {document.id!r} has half a surrogate pair; fix its source"
                )
            if document.id in ids:
                raise InputError(
                    f"{path}: two documents have the id {document.id!r}; give each an id of its own"
                )
            ids.add(document.id)
            lines.write(line + "\n")
            count += 1
    return count


def read_documents(path: Path) -> list[Document]:
    """Read documents; every line must parse. Raises InputError: naming file, line and what is wrong with it."""
    documents, places = [], dict[str, str]()
    for where, record in records(_existing(path)):
        document = Document.from_record(record, where)
        if document.id in places:
            raise InputError(
                f"{where}: the id {document.id!r} stands in {places[document.id]} too; rename one of them"
            )
        places[document.id] = where
        documents.append(document)
    if not documents:
        raise InputError(
            f"{path}: no document in it, a corpus has at least one; check the settings and the input "
            "of what wrote it"
        )
    return documents


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Compressed npz without pickle; equal arrays give equal bytes."""
    for name, array in arrays.items():
        if np.asarray(array).dtype == object:
            raise ArtefactError(
                f"{path}: array {name!r} has dtype object, which needs pickle; use numbers or strings"
            )
    with atomic_write(path) as partial:
        save_arrays(partial, arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read an npz without unpickling anything. Raises ArtefactError: absent, damaged, or holding pickled objects."""
    present = _existing(path)
    try:
        with zipfile.ZipFile(present) as archive:
            return {
                entry.filename.removesuffix(".npy"): _array(archive, entry)
                for entry in archive.infolist()
            }
    except UNREADABLE as error:
        told = (
            f"{path}: not a whole npz of plain arrays ({error}); remove it and run its stage again"
        )
        raise ArtefactError(told) from error


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """One array of an archive, after its head was checked, so that a damaged head cannot ask for terabytes.

    Raises ValueError: encrypted, no array, or one of another size than its head says.
    """
    if entry.flag_bits & 1:
        raise ValueError(f"{entry.filename} is encrypted")
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        if version not in readers:
            raise ValueError(f"{entry.filename} has format {version}")
        shape, _, kind = readers[version](file)
        size = math.prod(shape) * kind.itemsize
        if kind.hasobject:
            raise ValueError(f"{entry.filename} holds pickled objects")
        if min(shape, default=0) < 0 or file.tell() + size != entry.file_size:
            raise ValueError(
                f"{entry.filename} has {entry.file_size} bytes, its head says {file.tell() + size}"
            )
    with archive.open(entry) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def save_fitted(
    folder: Path | str, stem: str, arrays: Mapping[str, np.ndarray], record: Mapping[str, Any]
) -> None:
    """A fitted model as ``<stem>.npz`` and ``<stem>.json`` in a folder; the bytes depend on nothing else."""
    folder = Path(folder)
    text = json.dumps(record, sort_keys=True, ensure_ascii=False, indent=1)
    with full_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        save_arrays(folder / f"{stem}.npz", arrays)
        (folder / f"{stem}.json").write_text(text + "\n", encoding="utf-8")


def load_fitted(
    folder: Path | str, stem: str, what: str
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Inverse of :func:`save_fitted`. Raises ArtefactError: a file that is absent or damaged; ``what`` names the model."""
    for name in (f"{stem}.json", f"{stem}.npz"):
        if not (Path(folder) / name).is_file():
            raise ArtefactError(
                f"{folder}: no {name}; {what} is a folder with {stem}.npz and {stem}.json"
            )
    path = Path(folder) / f"{stem}.json"
    record = json_file(path)
    if not isinstance(record, dict):
        raise ArtefactError(f"{path}: not an object; {what} is trained anew by its stage")
    return read_arrays(Path(folder) / f"{stem}.npz"), record


def write_corpus(folder: Path, corpus: Corpus) -> int:
    """``documents.jsonl``, ``truth.npz`` and ``facts.json`` in one folder, all or nothing."""
    with atomic_write(folder) as partial:
        partial.mkdir()
        count = write_documents(partial / "documents.jsonl", corpus.documents)
        if not count:
            raise InputError(
                f"{folder}: no document to write, a corpus has at least one; check the settings and "
                "the input of what makes it"
            )
        write_arrays(partial / "truth.npz", corpus.truth)
        write_json(partial / "facts.json", corpus.facts)
    return count


def read_corpus(folder: Path) -> Corpus:
    """Inverse of :func:`write_corpus`; text brought from elsewhere needs only ``documents.jsonl``."""
    documents = read_documents(folder / "documents.jsonl")
    truth, facts = folder / "truth.npz", folder / "facts.json"
    return Corpus(
        documents,
        read_arrays(truth) if truth.exists() else {},
        read_json(facts) if facts.exists() else {},
    )


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Predictions as one npz; the unit ids and splits are two more arrays."""
    ids = {
        "unit_ids": np.array(predictions.unit_ids, dtype=np.str_),
        "splits": np.array(predictions.splits, dtype=np.str_),
    }
    write_arrays(path, {**predictions.arrays, **ids})


def read_predictions(path: Path) -> Predictions:
    """Inverse of :func:`write_predictions`."""
    arrays = read_arrays(path)
    if not {"unit_ids", "splits"} <= arrays.keys():
        raise ArtefactError(
            f"{path}: arrays are {sorted(arrays)}, a predictions have unit_ids and splits; read it again"
        )
    ids, splits = arrays.pop("unit_ids"), arrays.pop("splits")
    if ids.ndim != 1 or splits.ndim != 1:
        raise ArtefactError(
            f"{path}: unit_ids {ids.shape}, splits {splits.shape}, give one of each a unit; read it again"
        )
    return Predictions(tuple(ids.tolist()), tuple(splits.tolist()), arrays)


def _existing(path: Path) -> Path:
    if path.is_dir():
        raise ArtefactError(
            f"{path}: a folder stands where a file is needed; move it away and run the stage that writes it"
        )
    if not path.is_file():
        raise ArtefactError(f"{path}: no such file; run what writes it, or fix the path")
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


def _appendable(path: Path) -> Any:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab+")


def append_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Add the records of finished work to a file. A kill tears at most the last line, whose work is done again."""
    with full_disk(path), _appendable(path) as file:
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
