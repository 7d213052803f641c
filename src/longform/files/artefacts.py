"""A named artefact on disk.

It is written at once or not at all, equal content as equal bytes, in formats that run no code; and
read with a sentence that says what is wrong with a file.
"""

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import yaml

from longform.documents import Corpus, Document, Predictions
from longform.errors import ArtefactError, BadInput, InputError, short_repr
from longform.files.arrays import save_arrays
from longform.files.opening import json_file, read_text, records
from longform.files.yaml_dialect import YamlReader

DEEPEST = 100  # levels of a YAML file; thousands would exhaust the C parser's stack
_UNPAIRED = re.compile("[\ud800-\udfff]")
# What zipfile raises on damaged archives; np.lib.format raises ValueError.
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    ValueError,
    EOFError,
    OSError,
    OverflowError,
    NotImplementedError,
)
FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Turn the error of a full disk inside the ``with`` block into a sentence.

    Raises:
        ArtefactError: the block ran out of room, or of a quota.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise ArtefactError(
            f"{path}: cannot be written, the disk is full ({error.strerror}); "
            "free room and run it again"
        ) from error


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a scratch path beside ``path``; it replaces ``path`` only if the block succeeds.

    Raises:
        ArtefactError: the disk is full, or a file would take the place of a folder.
    """
    partial = path.with_name(f".{path.name}.partial")
    with full_disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(partial)
        try:
            yield partial
            if path.is_dir() and not partial.is_dir():
                raise ArtefactError(
                    f"{path}: a folder stands where a file would be written; name a file"
                )
            if path.is_dir() and not path.is_symlink():
                _remove(path)  # a folder cannot be replaced in one step, a file can
            os.replace(partial, path)
        finally:
            _remove(partial)


def _remove(path: Path) -> None:
    """Remove a file, a link or a folder with all in it; a path of nothing is no error."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_json(path: Path, record: Any) -> None:
    """Write JSON with sorted keys, an indent of two spaces and a newline at the end.

    JSON has no nan and no infinity: null and "inf" stand for them.
    """
    text = json.dumps(_plain(record), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def json_line(record: Any) -> str:
    """A record as :func:`write_json` writes it, on one line without spaces."""
    plain = _plain(record)
    return json.dumps(
        plain, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False
    )


def read_json(path: Path) -> Any:
    """Parse one JSON file of our own.

    Raises:
        ArtefactError: absent, not JSON, or an object that has one key twice.
    """
    try:
        return _numbers(json_file(_existing(path)))
    except InputError as error:
        raise ArtefactError(f"{error}, or remove it and run its stage again") from error


def read_yaml(path: Path) -> Any:
    """Parse one YAML file, by the rules of YAML 1.2 (:mod:`longform.files.yaml_dialect`).

    Raises:
        InputError: absent, not YAML in UTF-8, nested deeper than ``DEEPEST``, or a mapping that
            has one key twice.
    """
    text = read_text(_existing(path))
    try:
        _refuse_deep_nesting(text)
        return _yaml_content(path, text)
    except InputError:
        raise
    # Of the parser; dates and numbers out of range raise the latter two.
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"{path}: not YAML in UTF-8 ({reason}); fix it") from error


def _refuse_deep_nesting(text: str) -> None:
    """Check, without recursion, that a YAML text is not nested deeper than ``DEEPEST``.

    Raises ValueError: it is.
    """
    depth = 0
    for event in yaml.parse(text, Loader=YamlReader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise ValueError(f"nested deeper than {DEEPEST} levels")


def _yaml_content(path: Path, text: str) -> Any:
    """The plain data of a YAML text; None of an empty one."""
    loader = YamlReader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _refuse_repeated_keys(path, node)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _refuse_repeated_keys(path: Path, root: yaml.Node) -> None:
    """Check every mapping of a YAML file: the loader would take the last of two equal keys.

    Raises InputError: a mapping has a key twice.
    """
    waiting = [root]
    seen = set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue  # an alias, maybe of what it stands in
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            _refuse_repeated_keys_of(path, node)
            waiting.extend(value for _, value in node.value)


def _refuse_repeated_keys_of(path: Path, mapping: yaml.MappingNode) -> None:
    """Check one mapping, without those inside it. Raises InputError: it has a key twice."""
    keys = set[tuple[str, str]]()
    for node, _ in mapping.value:
        if not isinstance(node, yaml.ScalarNode):
            continue
        key = (node.tag, node.value)
        if key in keys:
            line = node.start_mark.line + 1
            raise InputError(
                f"{path}:{line}: the key {node.value!r} stands here a second time; keep one of them"
            )
        keys.add(key)


def write_documents(path: Path, documents: Iterable[Document]) -> int:
    """Write documents as JSON lines, keys sorted.

    Returns:
        How many were written.

    Raises:
        InputError: an id comes twice, or a text holds half a surrogate pair.
    """
    ids = set[str]()
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
    return len(ids)


def read_documents(path: Path) -> list[Document]:
    """Read documents; every line must parse.

    Raises:
        InputError: naming file, line and what is wrong with it.
    """
    documents = []
    lines_by_id: dict[str, str] = {}
    for where, record in records(_existing(path)):
        document = Document.from_record(record, where)
        earlier = lines_by_id.setdefault(document.id, where)
        if earlier != where:
            raise InputError(
                f"{where}: the id {document.id!r} stands in {earlier} too; rename one of them"
            )
        documents.append(document)
    if not documents:
        raise InputError(
            f"{path}: no document in it, a corpus has at least one; "
            "check the settings and the input of what wrote it"
        )
    return documents


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a compressed npz without pickle; equal arrays give equal bytes.

    Raises:
        ArtefactError: an array holds objects.
    """
    for name, array in arrays.items():
        if np.asarray(array).dtype == object:
            raise ArtefactError(
                f"{path}: array {name!r} has dtype object, which needs pickle; "
                "use numbers or strings"
            )
    with atomic_write(path) as partial:
        save_arrays(partial, arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read an npz without unpickling anything.

    Raises:
        ArtefactError: absent, damaged, or holding pickled objects.
    """
    archive_path = _existing(path)
    arrays = {}
    try:
        with zipfile.ZipFile(archive_path) as archive:
            for entry in archive.infolist():
                arrays[entry.filename.removesuffix(".npy")] = _array(archive, entry)
    except UNREADABLE as error:
        raise ArtefactError(
            f"{path}: not a whole npz of plain arrays ({error}); remove it and run its stage again"
        ) from error
    return arrays


# Functions that read the head of a .npy entry (shape, order, type), by its format's version.
_ARRAY_HEADS: Mapping[tuple[int, int], Callable[[Any], tuple]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """Read one array of an npz archive.

    Raises:
        ValueError: encrypted, no array, or one of another size than its head says.
    """
    if entry.flag_bits & 1:  # the bit of encryption
        raise ValueError(f"{entry.filename} is encrypted")
    # 1. Check its head, so that a damaged one cannot ask for terabytes.
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        if version not in _ARRAY_HEADS:
            raise ValueError(f"{entry.filename} has format {version}")
        shape, _, dtype = _ARRAY_HEADS[version](file)
        if dtype.hasobject:
            raise ValueError(f"{entry.filename} holds pickled objects")
        size = file.tell() + math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or size != entry.file_size:
            raise ValueError(f"{entry.filename} has {entry.file_size} bytes, its head says {size}")
    # 2. Read it from the start.
    with archive.open(entry) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def save_fitted(
    folder: Path | str, stem: str, arrays: Mapping[str, np.ndarray], record: Mapping[str, Any]
) -> None:
    """Write a fitted model as ``<stem>.npz`` and ``<stem>.json`` into a folder.

    The bytes depend on arrays and record alone.

    Args:
        folder: made where it is absent.
        stem: of both files' names.
        arrays: by name; none is pickled.
        record: plain data for the JSON file.
    """
    folder = Path(folder)
    text = json.dumps(record, sort_keys=True, ensure_ascii=False, indent=1)
    with full_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        save_arrays(folder / f"{stem}.npz", arrays)
        (folder / f"{stem}.json").write_text(text + "\n", encoding="utf-8")


def load_fitted(
    folder: Path | str, stem: str, what: str
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Inverse of :func:`save_fitted`.

    Args:
        folder: with both files.
        stem: of both files' names.
        what: names the model in errors.

    Raises:
        ArtefactError: a file that is absent or damaged.
    """
    record_path = Path(folder) / f"{stem}.json"
    arrays_path = Path(folder) / f"{stem}.npz"
    for path in (record_path, arrays_path):
        if not path.is_file():
            raise ArtefactError(
                f"{folder}: no {path.name}; {what} is a folder with {stem}.npz and {stem}.json"
            )
    record = json_file(record_path)
    if not isinstance(record, dict):
        raise ArtefactError(f"{record_path}: not an object; {what} is trained anew by its stage")
    return read_arrays(arrays_path), record


@contextmanager
def trained_files(folder: Path | str, what: str, *more: type[Exception]) -> Iterator[None]:
    """Turn what damaged files of a trained model raise in the ``with`` block into a sentence.

    The files can be cut, of another format, or of two models whose names and shapes do not fit.

    Args:
        folder: of the model.
        what: names the model in the sentence.
        more: what else the block's readers raise on such files: ``SafetensorError``, and
            ``RuntimeError`` of ``load_state_dict``.

    Raises:
        ArtefactError: the block raised one of these errors.
    """
    try:
        yield
    except BadInput:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OSError, *more) as error:
        reason = short_repr(str(error).partition("\n")[0])
        raise ArtefactError(
            f"{folder}: its files are damaged or not of one {what} ({type(error).__name__}: "
            f"{reason}); remove the folder and train it again"
        ) from error


def write_corpus(folder: Path, corpus: Corpus) -> int:
    """Write ``documents.jsonl``, ``truth.npz`` and ``facts.json`` in a folder, all or nothing.

    Returns:
        How many documents were written.

    Raises:
        InputError: there is no document, or as :func:`write_documents`.
    """
    with atomic_write(folder) as partial:
        partial.mkdir()
        count = write_documents(partial / "documents.jsonl", corpus.documents)
        if not count:
            raise InputError(
                f"{folder}: no document to write, a corpus has at least one; "
                "check the settings and the input of what makes it"
            )
        write_arrays(partial / "truth.npz", corpus.truth)
        write_json(partial / "facts.json", corpus.facts)
    return count


def read_corpus(folder: Path) -> Corpus:
    """Inverse of :func:`write_corpus`; text from elsewhere needs only ``documents.jsonl``."""
    documents = read_documents(folder / "documents.jsonl")
    truth_path = folder / "truth.npz"
    truth = read_arrays(truth_path) if truth_path.exists() else {}
    facts_path = folder / "facts.json"
    facts = read_json(facts_path) if facts_path.exists() else {}
    return Corpus(documents, truth, facts)


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Write predictions as one npz; the unit ids and splits are two more arrays."""
    ids = {
        "unit_ids": np.array(predictions.unit_ids, dtype=np.str_),
        "splits": np.array(predictions.splits, dtype=np.str_),
    }
    write_arrays(path, {**predictions.arrays, **ids})


def read_predictions(path: Path) -> Predictions:
    """Inverse of :func:`write_predictions`.

    Raises:
        ArtefactError: absent, damaged, or without unit ids and splits of one dimension.
    """
    arrays = read_arrays(path)
    if not {"unit_ids", "splits"} <= arrays.keys():
        raise ArtefactError(
            f"{path}: arrays are {sorted(arrays)}, predictions have unit_ids and splits; "
            "run the stage that writes it again"
        )
    ids = arrays.pop("unit_ids")
    splits = arrays.pop("splits")
    if ids.ndim != 1 or splits.ndim != 1:
        raise ArtefactError(
            f"{path}: unit_ids {ids.shape}, splits {splits.shape}, give one of each a unit; "
            "run the stage that writes it again"
        )
    return Predictions(tuple(ids.tolist()), tuple(splits.tolist()), arrays)


def _existing(path: Path) -> Path:
    """The path of a file. Raises ArtefactError: there is no file, or a folder."""
    if path.is_dir():
        raise ArtefactError(
            f"{path}: a folder stands where a file is needed; "
            "move it away and run the stage that writes it"
        )
    if not path.is_file():
        raise ArtefactError(f"{path}: no such file; run what writes it, or fix the path")
    return path


def _plain(value: Any) -> Any:
    """A value as JSON has it: null for nan, "inf" and "-inf" for infinities."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    return value


def _numbers(value: Any) -> Any:
    """Undo what :func:`_plain` did to infinities."""
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value


def append_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Append records of finished work to a JSON-lines file.

    A killed process leaves at most the last line torn; :func:`read_lines` skips it, so that its
    work is done again.
    """
    with full_disk(path), _appendable(path) as file:
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
        if _last_line_is_torn(file):
            lines.insert(0, "\n")
        file.write("".join(lines).encode())


def _appendable(path: Path) -> BinaryIO:
    """Open a file for appending and reading; it is made, with its folder, where it is absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab+")


def _last_line_is_torn(file: BinaryIO) -> bool:
    """Whether the last line of a file has no line end, since the process was killed."""
    if file.tell() == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of :func:`append_lines` in order, without torn ones; none of an absent file."""
    if not path.is_file():
        return
    for line in path.read_bytes().split(b"\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue
