"""The suites of the default run: planted sources, written in their native formats and read by the very readers of real ones."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from longform.core.documents import Corpus
from longform.datasets.test_suites import native
from longform.datasets.test_suites.planted_sources import LANGUAGE, source_files

SOURCES: Mapping[str, str | Mapping[str, str]] = {
    "stories": "cloze_test.tsv",
    "dialogues": "personachat.txt",
    "schemas": "wsc.json",
    "re_mentions": {"planted": "mentions.conll"},
    "connectives": "disco.tsv",
    "statements": "dialogue_nli.jsonl",
    "texts": {LANGUAGE: f"{LANGUAGE}.txt"},
}


def build(
    *, name: str, seed: int, counts: Mapping[str, int], metric: str = "mean", least: int = 1, match_case: bool = False
) -> Corpus:
    """All suites from ``counts`` stories, dialogues and articles of the planted world's test split.

    Args:
        metric, least, match_case: of :func:`longform.datasets.test_suites.native.build`.
    """
    with tempfile.TemporaryDirectory() as folder:
        for file, content in source_files(seed, counts).items():
            (Path(folder) / file).write_text(content, encoding="utf-8")
        return native.build(
            name=name, seed=seed, raw=Path(folder), sources=SOURCES, metric=metric, least=least, match_case=match_case
        )
