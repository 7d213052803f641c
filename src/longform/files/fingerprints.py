"""What a result depends on as one hash: work that was stopped is taken up where it is the same."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from longform.version import __version__

PACKAGE = Path(__file__).parents[1]
CODE = ("*.py", "*.yaml", "*.txt")  # files of the package that a result depends on


def fingerprint(parts: Iterable[Any]) -> str:
    """A hash that changes with every part of a run, the package's version and its files.

    Args:
        parts: what the result depends on, as JSON has it; their order counts.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (__version__, package_hash(), *parts):
        digest.update(json.dumps(part, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


@cache
def package_hash() -> str:
    """A hash of the package's own files, their names included."""
    paths = set[Path]()
    for kind in CODE:
        paths.update(PACKAGE.rglob(kind))
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(paths):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
