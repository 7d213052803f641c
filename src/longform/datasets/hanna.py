"""HANNA's stories of large language models (Chhun et al. 2024): for each prompt the human story and one of every model.

A CSV file with ``Prompt``, ``Human`` (the human story), ``Story`` (a model's) and ``Model``. Paragraphs are untitled sections.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.malformed import refusing
from longform.datasets.splits import SHARES, split_by_seed

NEEDED = ("Prompt", "Human", "Story", "Model")


def build(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES) -> Corpus:
    """Documents ``<prompt>-human`` and ``<prompt>-<model>``; all stories of a prompt are in one split.

    Raises:
        BadInput: no such file, other columns, or no prompt that has a human story and one of every model.
    """
    stories: dict[str, dict[str, tuple[Section, ...]]] = {}
    dropped: Counter[str] = Counter()
    for row in _rows(raw):
        told = stories.setdefault(row["Prompt"], {"human": _sections(row["Human"])})
        told[re.sub(r"\W+", "_", row["Model"].lower())] = _sections(row["Story"])
    writers = sorted({writer for told in stories.values() for writer in told} - {"human"})
    kept = {}
    for number, told in enumerate(stories.values(), 1):
        if missing := [writer for writer in ("human", *writers) if not told.get(writer)]:
            dropped.update(f"prompt without a story of {writer}" for writer in missing)
            continue
        kept[f"prompt_{number:03d}"] = told
    if not kept:
        raise BadInput(f"{raw}: 0 of {len(stories)} prompts have all stories ({dict(dropped)}); fetch the file again")
    splits = dict(zip(kept, split_by_seed(list(kept), shares, seed), strict=True))
    documents = [
        Document(f"{prompt}-{writer}", splits[prompt], told[writer])
        for prompt, told in kept.items()
        for writer in ("human", *writers)
    ]
    facts = {"corpus": name, "prompts": len(kept), "writers": writers, "dropped": dict(sorted(dropped.items()))}
    return Corpus(documents, facts=facts)


@refusing("HANNA's CSV file in UTF-8")
def _rows(raw: Path) -> list[dict[str, str]]:
    with raw.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        if missing := [column for column in NEEDED if column not in (reader.fieldnames or ())]:
            raise BadInput(f"{raw}: header {reader.fieldnames} lacks {missing}; HANNA's stories have {list(NEEDED)}")
        return [{column: row[column] or "" for column in NEEDED} for row in reader]


def _sections(text: str) -> tuple[Section, ...]:
    return tuple(Section(None, " ".join(block.split())) for block in re.split(r"\n\s*\n", text) if block.strip())
