"""A critic as plain data: for a file of a fitted one, and for the checksum in its signature.

Numbers, texts, arrays, tuples, mappings, and dataclasses and named tuples of this package are
written as a tree of JSON with arrays beside it. Nothing is pickled, and reading runs no code that
the file brings along.
"""

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longform.errors import ArtefactError, ConfigError
from longform.version import __version__

RECORD = "critic"  # entry of the file that holds the tree
PACKAGE = "longform."  # classes of other packages are not loaded
DIGITS = 8  # of a checksum that a signature shows
Arrays = dict[str, np.ndarray]


def encode(value: Any, arrays: Arrays) -> Any:
    """A critic, or a value in one, as a tree that JSON can hold.

    Raises ConfigError: it holds something that is no plain data, such as an open network.
    """
    # 1. What JSON has itself; a float keeps all its bits as hexadecimal digits.
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, np.generic):
        return encode(value.item(), arrays)
    if isinstance(value, Path):
        return {"path": value.as_posix()}
    # 2. Arrays, which stand beside the tree.
    if isinstance(value, np.ndarray):
        name = f"array_{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    # 3. Mappings, classes and tuples, with what they hold.
    if isinstance(value, Mapping):
        pairs = []
        for key, item in value.items():
            pairs.append([encode(key, arrays), encode(item, arrays)])
        return {"mapping": pairs}
    if is_dataclass(value) and not isinstance(value, type):
        contents = {}
        for field in fields(value):
            if field.init and field.compare:  # what is not compared is remembered work
                contents[field.name] = getattr(value, field.name)
        return _encoded_class(value, contents, arrays)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _encoded_class(value, value._asdict(), arrays)
    if isinstance(value, tuple | list):
        return {"tuple": [encode(item, arrays) for item in value]}
    raise ConfigError(
        f"{type(value).__name__} is no plain data and cannot be saved; "
        "give the critic the folder of its model instead of the open model"
    )


def _encoded_class(value: Any, contents: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """The name of a value's class, and the fields that it holds."""
    kind = type(value)
    encoded = {}
    for name, item in contents.items():
        encoded[name] = encode(item, arrays)
    return {"class": f"{kind.__module__}:{kind.__qualname__}", "fields": encoded}


def decode(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value of a tree that :func:`encode` wrote. Raises ArtefactError: any other tree."""
    # 1. What stands for itself.
    if value is None or isinstance(value, bool | int | str):
        return value
    # 2. All else is a mapping whose first key says what it is.
    kind = next(iter(value)) if isinstance(value, dict) and value else None
    if kind == "float":
        return float.fromhex(value["float"])
    if kind == "path":
        return Path(value["path"])
    if kind == "array" and value["array"] in arrays:
        return arrays[value["array"]]
    if kind == "mapping":
        decoded = {}
        for key, item in value["mapping"]:
            decoded[decode(key, arrays)] = decode(item, arrays)
        return decoded
    if kind == "tuple":
        return tuple(decode(item, arrays) for item in value["tuple"])
    if kind == "class":
        contents = {}
        for name, item in value["fields"].items():
            contents[name] = decode(item, arrays)
        return _class_named(value["class"])(**contents)
    raise ArtefactError("a saved critic holds an entry that no critic writes; save it again")


def _class_named(name: str) -> Any:
    """A dataclass or named tuple of this package. Raises ArtefactError: anything else."""
    module, _, attribute = name.partition(":")
    candidate = None
    # the name comes from a file: no module of another package is imported
    if module.startswith(PACKAGE) and "." not in attribute:
        try:
            candidate = getattr(importlib.import_module(module), attribute, None)
        except ModuleNotFoundError as error:
            if not str(error.name).startswith(PACKAGE):
                raise
    is_class = isinstance(candidate, type)
    if is_class and (is_dataclass(candidate) or hasattr(candidate, "_fields")):
        return candidate
    raise ArtefactError(
        f"a saved critic names {name}, which this version does not have; "
        "load it with the version of longform that saved it"
    )


def checksum(value: Any) -> str:
    """Eight hexadecimal digits that change with any number, text or setting of a value."""
    arrays: Arrays = {}
    tree = encode(value, arrays)
    digest = hashlib.sha256(json.dumps(tree, sort_keys=True).encode())
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:DIGITS]


def identity(critic: Any) -> str:
    """Class, settings, checksum of these and all that a critic learnt, and version."""
    settings = []
    for field in fields(critic):
        if not field.metadata.get("fitted"):
            settings.append(f"{field.name}={getattr(critic, field.name)}")
    head = f"{type(critic).__name__}({','.join(settings)})"
    return f"{head}|checksum:{checksum(critic)}|longform:{__version__}"


def save_critic(path: Path, critic: Any) -> None:
    """Write a critic, fitted or not, to one npz file without pickled objects."""
    from longform.files.artefacts import write_arrays

    arrays: Arrays = {}
    tree = encode(critic, arrays)
    record = {"critic": tree, "checksum": checksum(critic), "version": __version__}
    arrays[RECORD] = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
    write_arrays(path, arrays)


def load_critic(path: Path) -> Any:
    """Read a critic that :func:`save_critic` wrote.

    Raises ArtefactError: no such file, none of a critic, or damaged: its checksum is another.
    """
    from longform.files.artefacts import read_arrays

    arrays = read_arrays(path)
    if RECORD not in arrays:
        raise ArtefactError(f"{path}: holds no critic; save one with critic.save(path)")
    try:
        record = json.loads(arrays[RECORD].tobytes())
    except ValueError as error:
        raise ArtefactError(f"{path}: the critic's record is damaged; save it again") from error
    critic = decode(record["critic"], arrays)
    if checksum(critic) != record["checksum"]:
        raise ArtefactError(
            f"{path}: its checksum is {checksum(critic)}, not {record['checksum']} as it was saved "
            f"by longform {record['version']}; fetch the file again, or use that version"
        )
    return critic
