"""The world's words, syllables, sentence frames and tables: the YAML files of ``data/``, to be read and edited there."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "data"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser reads all files in 20 ms


@cache
def table(name: str) -> Any:
    """What ``data/<name>.yaml`` holds, read once."""
    return yaml.load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), Loader=_LOADER)


def lists(rows: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Rows of words that blanks separate, as tuples."""
    return {key: tuple(words.split()) for key, words in rows.items()}
