"""The world's words, syllables, sentence frames and tables: the YAML files of ``data/``, to be read and edited there."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_yaml

FOLDER = Path(__file__).parent / "data"


@cache
def table(name: str) -> Any:
    """What ``data/<name>.yaml`` holds, read once."""
    return read_yaml(FOLDER / f"{name}.yaml")


def lists(rows: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Rows of words that blanks separate, as tuples."""
    return {key: tuple(words.split()) for key, words in rows.items()}
