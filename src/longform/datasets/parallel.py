"""Parallel text of a folder -> sentence pairs: JSON lines keyed by language, or aligned plain files.

A JSON-lines file (``*.jsonl`` or ``*.jsonl.gz``) has one sentence a line, ``{"id": ..., "en": ..., "de": ...}``; other
keys are passed over. Aligned plain files share a stem: ``talks.en``, ``talks.de``, one sentence a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.malformed import refusing
from longform.core.resampling import generator
from longform.datasets.json_lines import records

SHARES = (0.8, 0.1, 0.1)  # train, validation, test (deng2022, appendix C)
TARGETS = ("de", "es", "fr")  # deng2022, appendix C


def build(*, raw: Path, name: str, seed: int, source: str = "en", targets: Sequence[str] = TARGETS) -> Corpus:
    """One pair per sentence and target language; all pairs of a sentence lie in one split, drawn by seed and id.

    Empty sides are left out and counted.

    Returns:
        documents with sections ``source`` and ``target``, and the truth ``language`` into ``language_names``.

    Raises:
        BadInput: no sentence, a malformed line, or files of unequal length.
    """
    documents: list[Document] = []
    spoken: list[int] = []
    dropped = 0
    for key, sentence in sentences(raw, (source, *targets)):
        split = ("train", "validation", "test")[_place(seed, key)]
        for number, language in enumerate(targets):
            sides = sentence.get(source, "").strip(), sentence.get(language, "").strip()
            if not all(sides):
                dropped += 1
                continue
            sections = (Section("source", sides[0]), Section("target", sides[1]))
            documents.append(Document(f"{key}-{language}", split, sections))
            spoken.append(number)
    if not documents:
        raise BadInput(f"{raw}: no pair of {source} with {list(targets)}; fix the languages or the folder")
    truth = {"language": np.array(spoken, np.int32), "language_names": np.array(list(targets), dtype=np.str_)}
    return Corpus(documents, truth, {"name": name, "documents": len(documents), "pairs_without_a_side": dropped})


def _place(seed: int, key: str) -> int:
    return int(np.searchsorted(np.cumsum(SHARES)[:-1], generator("parallel split", seed, key).random(), side="right"))


@refusing("parallel text: JSON lines by language, or aligned files, in UTF-8")
def sentences(raw: Path, languages: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """(id, text by language) of every sentence of a folder or of one file, in order of file names."""
    if not raw.exists():
        raise BadInput(f"{raw}: no such file or folder of parallel text")
    files = sorted(path for path in raw.iterdir() if path.is_file()) if raw.is_dir() else [raw]
    for path in files:
        if path.name.endswith((".jsonl", ".jsonl.gz")):
            for number, (_, record) in enumerate(records(path), 1):
                found = {name: str(record[name]) for name in languages if record.get(name)}
                yield str(record.get("id", f"{path.name}-{number:06d}")), found
        elif path.suffix == f".{languages[0]}":
            yield from _aligned(path, languages)


def _aligned(path: Path, languages: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    texts = {}
    for name in languages:
        side = path.with_suffix(f".{name}")
        if side.is_file():
            texts[name] = side.read_text(encoding="utf-8").splitlines()
    lengths = {name: len(lines) for name, lines in texts.items()}
    if len(set(lengths.values())) > 1:
        raise BadInput(f"{path}: aligned files have {lengths} lines; sentence i must stand on line i of each")
    for number in range(lengths[languages[0]]):
        yield f"{path.stem}-{number:06d}", {name: lines[number] for name, lines in texts.items()}
