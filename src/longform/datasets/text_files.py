"""Texts in plain forms: documents as JSON lines, pairs of human and machine texts, sentences beside their translations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from longform.core.artefacts import read_documents
from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.malformed import records, refusing, rows
from longform.core.resampling import SHARES, generator, split_by_seed


def build(*, raw: Path) -> Corpus:
    """The documents of a file, or of ``documents.jsonl`` in a folder, as they stand.

    Raises BadInput: no such file, no document, or a line that is none.
    """
    return Corpus(read_documents(raw / "documents.jsonl" if raw.is_dir() else raw))


SIDES = ("human", "machine")


def paired(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES) -> Corpus:
    """Texts of people and models, ``human/<id>.txt`` beside ``machine/<id>.txt``: for models not run here (sheng2024 section 5.2 has six).

    Documents ``<id>-human`` and ``<id>-machine`` are in the split that is drawn for their id; paragraphs are untitled sections.

    Raises BadInput: no id has a usable text on both sides.
    """
    found = {side: {file.stem: file for file in sorted((raw / side).glob("*.txt"))} for side in SIDES}
    texts = {side: {stem: _paragraphs(file) for stem, file in files.items()} for side, files in found.items()}
    both = [stem for stem, sections in texts["human"].items() if sections and texts["machine"].get(stem)]
    if not both:
        counts = {side: len(files) for side, files in found.items()}
        raise BadInput(f"{raw}: 0 pairs among {counts} files; put human/<id>.txt and machine/<id>.txt there, UTF-8")
    splits = split_by_seed(both, shares, seed)
    rows = [(stem, side, split) for stem, split in zip(both, splits, strict=True) for side in SIDES]
    documents = [Document(f"{stem}-{side}", split, texts[side][stem]) for stem, side, split in rows]
    dropped = {f"{side} without its other side": len(files) - len(both) for side, files in found.items()}
    return Corpus(documents, facts={"corpus": name, "pairs": len(both), "dropped": dropped})


def _paragraphs(file: Path) -> tuple[Section, ...]:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: not UTF-8 at byte {error.start}; save it again as UTF-8") from error
    return tuple(Section(None, block.strip()) for block in text.split("\n\n") if block.strip())


HANNA = ("Prompt", "Human", "Story", "Model")


def hanna(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES) -> Corpus:
    """HANNA's stories of large language models (Chhun et al. 2024), a CSV file: for each prompt the human story and one of every model.

    Documents ``<prompt>-human`` and ``<prompt>-<model>``; all stories of a prompt are in one split.

    Raises BadInput: no such file, other columns, or no prompt that has a human story and one of every model.
    """
    stories: dict[str, dict[str, tuple[Section, ...]]] = {}
    dropped: Counter[str] = Counter()
    for row in rows(raw, HANNA):
        told = stories.setdefault(row["Prompt"], {"human": _blocks(row["Human"])})
        told[re.sub(r"\W+", "_", row["Model"].lower())] = _blocks(row["Story"])
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


def _blocks(text: str | None) -> tuple[Section, ...]:
    return tuple(Section(None, " ".join(b.split())) for b in re.split(r"\n\s*\n", text or "") if b.strip())


PARALLEL_ENDS = np.cumsum((0.8, 0.1))  # of train, then validation; the rest is test (deng2022, appendix C)
TARGETS = ("de", "es", "fr")  # deng2022, appendix C


def parallel(*, raw: Path, name: str, seed: int, source: str = "en", targets: Sequence[str] = TARGETS) -> Corpus:
    """Sentence pairs, one per sentence and target language; all pairs of a sentence lie in one split, drawn by seed and id.

    A JSON-lines file (``*.jsonl`` or ``*.jsonl.gz``) has one sentence a line, ``{"id": ..., "en": ..., "de": ...}``; aligned plain
    files share a stem: ``talks.en``, ``talks.de``, one sentence a line.

    Empty sides are left out and counted.

    Returns:
        documents with sections ``source`` and ``target``, and the truth ``language`` into ``language_names``.

    Raises BadInput: no sentence, a malformed line, or files of unequal length.
    """
    documents: list[Document] = []
    spoken: list[int] = []
    dropped = 0
    for key, sentence in sentences(raw, (source, *targets)):
        draw = generator("parallel split", seed, key).random()
        split = ("train", "validation", "test")[int(np.searchsorted(PARALLEL_ENDS, draw, side="right"))]
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
