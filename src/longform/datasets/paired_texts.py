"""Human and machine texts from a folder: ``human/<id>.txt`` beside ``machine/<id>.txt``, one document a file.

For texts of models that this repository does not run (sheng2024 section 5.2 has six). Paragraphs are untitled sections.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.datasets.splits import SHARES, split_by_seed

SIDES = ("human", "machine")


def build(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES) -> Corpus:
    """Documents ``<id>-human`` and ``<id>-machine``, both in the split that is drawn for their id.

    Raises:
        BadInput: no id has a usable text on both sides.
    """
    found = {side: {file.stem: file for file in sorted((raw / side).glob("*.txt"))} for side in SIDES}
    texts = {side: {stem: _sections(file) for stem, file in files.items()} for side, files in found.items()}
    both = [stem for stem, sections in texts["human"].items() if sections and texts["machine"].get(stem)]
    if not both:
        counts = {side: len(files) for side, files in found.items()}
        raise BadInput(f"{raw}: 0 pairs among {counts} files; put human/<id>.txt and machine/<id>.txt there, UTF-8")
    splits = split_by_seed(both, shares, seed)
    rows = [(stem, side, split) for stem, split in zip(both, splits, strict=True) for side in SIDES]
    documents = [Document(f"{stem}-{side}", split, texts[side][stem]) for stem, side, split in rows]
    dropped = {f"{side} without its other side": len(files) - len(both) for side, files in found.items()}
    return Corpus(documents, facts={"corpus": name, "pairs": len(both), "dropped": dropped})


def _sections(file: Path) -> tuple[Section, ...]:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: not UTF-8 at byte {error.start}; save it again as UTF-8") from error
    return tuple(Section(None, block.strip()) for block in text.split("\n\n") if block.strip())
