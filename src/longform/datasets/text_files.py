"""Texts in plain and published forms: JSON lines, HANNA's stories, sentences beside translations, and what people rated: GCDC's
classes of coherence, SummEval's marks of summaries."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longform.documents import Corpus, Document, Section
from longform.errors import InputError, short_repr
from longform.files.artefacts import read_documents
from longform.files.opening import (
    JSON_LINES,
    PACKINGS,
    field_of,
    json_lines_in,
    numbered_rows,
    records,
    text_lines,
    texts,
    typed,
)
from longform.statistics.random_streams import generator
from longform.statistics.splits import SHARES, split_by_seed


def build(*, raw: Path) -> Corpus:
    """The documents of a file, or of ``documents.jsonl`` in a folder, as they stand."""
    return Corpus(read_documents(raw / "documents.jsonl" if raw.is_dir() else raw))


HANNA = ("Prompt", "Human", "Story", "Model")


def hanna(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES) -> Corpus:
    """HANNA's stories of large language models (Chhun et al. 2024), a CSV file: for each prompt the human story and one of every model.

    Documents ``<prompt>-human`` and ``<prompt>-<model>``; all stories of a prompt are in one split; prompts that lack one are counted.
    """
    stories: dict[str, dict[str, tuple[Section, ...]]] = {}
    names: dict[str, str] = {}  # a writer's name in ids -> as the file spells it
    dropped: Counter[str] = Counter()
    for where, row in numbered_rows(raw, HANNA):
        written = stories.setdefault(row["Prompt"], {"human": _blocks(row["Human"])})
        if written["human"] != _blocks(row["Human"]):
            raise InputError(
                f"{where}: another human story than an earlier row of its prompt has; fix one of them"
            )
        writer = re.sub(r"\W+", "_", row["Model"].strip().lower())
        if names.setdefault(writer, row["Model"]) != row["Model"] or writer == "human":
            spelt = f"{names[writer]!r} and {row['Model']!r}"
            raise InputError(
                f"{where}: models {spelt} have one name here, {writer!r}; rename one of them"
            )
        if writer in written:
            raise InputError(
                f"{where}: a second story of {row['Model']!r} for its prompt; keep one of them"
            )
        written[writer] = _blocks(row["Story"])
    writers = sorted({writer for written in stories.values() for writer in written} - {"human"})
    kept = {}
    for number, written in enumerate(stories.values(), 1):
        if missing := [writer for writer in ("human", *writers) if not written.get(writer)]:
            dropped.update(f"prompt without a story of {writer}" for writer in missing)
            continue
        kept[f"prompt_{number:03d}"] = written
    if not kept:
        raise InputError(
            f"{raw}: 0 of {len(stories)} prompts have all stories ({dict(dropped)}); fetch the file again"
        )
    splits = dict(zip(kept, split_by_seed(list(kept), shares, seed), strict=True))
    documents = [
        Document(f"{prompt}-{writer}", splits[prompt], written[writer])
        for prompt, written in kept.items()
        for writer in ("human", *writers)
    ]
    return Corpus(
        documents,
        facts={"corpus": name, "prompts": len(kept), "writers": writers, "dropped": dropped},
    )


def _blocks(text: str | None) -> tuple[Section, ...]:
    return tuple(
        Section(None, " ".join(b.split())) for b in re.split(r"\n\s*\n", text or "") if b.strip()
    )


PARALLEL_ENDS = np.cumsum(
    (0.8, 0.1)
)  # of train, then validation; the rest is test (deng2022, appendix C)
TARGETS = ("de", "es", "fr")  # deng2022, appendix C


def parallel(
    *, raw: Path, name: str, seed: int, source: str = "en", targets: Sequence[str] = TARGETS
) -> Corpus:
    """Sentence pairs, one per sentence and target language; all pairs of a sentence lie in one split, drawn by seed and id.

    A JSON-lines file (``*.jsonl`` or ``*.jsonl.gz``) has one sentence a line, ``{"id": ..., "en": ..., "de": ...}``; aligned plain
    files share a stem: ``talks.en``, ``talks.de``, one sentence a line. Empty sides are left out and counted. Documents have sections
    ``source`` and ``target``, and the truth ``language`` into ``language_names``.
    """
    documents: list[Document] = []
    spoken: list[int] = []
    dropped = 0
    for key, sentence in sentences(raw, (source, *targets)):
        draw = generator("parallel split", seed, key).random()
        split = ("train", "validation", "test")[
            int(np.searchsorted(PARALLEL_ENDS, draw, side="right"))
        ]
        for number, language in enumerate(targets):
            sides = sentence.get(source, "").strip(), sentence.get(language, "").strip()
            if not all(sides):
                dropped += 1
                continue
            sections = (Section("source", sides[0]), Section("target", sides[1]))
            documents.append(Document(f"{key}-{language}", split, sections))
            spoken.append(number)
    if not documents:
        raise InputError(
            f"{raw}: no pair of {source} with {list(targets)}; fix the languages or the folder"
        )
    truth = {
        "language": np.array(spoken, np.int32),
        "language_names": np.array(list(targets), dtype=np.str_),
    }
    return Corpus(
        documents,
        truth,
        {"name": name, "documents": len(documents), "pairs_without_a_side": dropped},
    )


def sentences(raw: Path, languages: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """(id, text by language) of every sentence of a folder or of one file, in order of file names."""
    if not raw.exists():
        raise InputError(f"{raw}: no such file or folder of parallel text")
    for path in sorted(path for path in raw.iterdir() if path.is_file()) if raw.is_dir() else [raw]:
        if path.name.endswith(JSON_LINES):
            for number, (where, record) in enumerate(records(path), 1):
                name = record.get("id", f"{path.name}-{number:06d}")
                if not isinstance(name, str | int) or isinstance(name, bool):
                    raise InputError(
                        f"{where}: id is {short_repr(name)}, allowed is a string or a whole number"
                    )
                spoken = [language for language in languages if record.get(language) is not None]
                yield (
                    str(name),
                    {language: field_of(record, language, str, where) for language in spoken},
                )
        elif stem := _stem(path.name, languages[0]):
            yield from _aligned(path.parent, stem, languages)


def _stem(name: str, language: str) -> str:
    """``talks`` of ``talks.en`` or ``talks.en.gz``; nothing where the file is none of that language."""
    endings = [
        f".{language}{packing}" for packing in PACKINGS if name.endswith(f".{language}{packing}")
    ]
    return name.removesuffix(endings[0]) if endings else ""


def _aligned(
    folder: Path, stem: str, languages: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Sentences of the files of a stem, one for each language, packed or not."""
    lines: dict[str, list[str]] = {}
    for language in languages:
        named = [folder / f"{stem}.{language}{packing}" for packing in PACKINGS]
        present = [path for path in named if path.is_file()]
        if len(present) > 1:
            raise InputError(
                f"{folder}: {present[0].name} and {present[1].name} stand side by side; keep one of them"
            )
        if present:
            lines[language] = list(text_lines(present[0]))
    lengths = {language: len(side) for language, side in lines.items()}
    if len(set(lengths.values())) > 1:
        told = f"aligned files of {stem!r} have {lengths} lines"
        raise InputError(f"{folder}: {told}; sentence i must stand on line i of each")
    for number, row in enumerate(zip(*lines.values(), strict=True)):
        yield f"{stem}-{number:06d}", dict(zip(lines, row, strict=True))


def gcdc(*, name: str, raw: Path, validation: float = 0.1) -> Corpus:
    """Texts rated for coherence in three classes, GCDC's own CSV (Lai and Tetreault 2018), for sheng2024 appendix B.

    ``*train*.csv`` and ``*test*.csv`` of a folder have ``text_id``, ``text`` and ``labelA``, the consensus of the expert ratings: 1 low,
    2 medium, 3 high. Every k-th training text becomes validation. The files (Yahoo, Enron, Clinton, Yelp) are gated and no part of this
    repository. Paragraphs become untitled sections; ``truth["rating"]`` is int64 (units,); facts count classes and what was dropped.
    """
    files = sorted(raw.glob("*.csv")) if raw.is_dir() else []
    documents, ratings, dropped, seen = [], [], Counter[str](), set[tuple[str, str]]()
    for file in files:
        split = "train" if "train" in file.stem.lower() else "test"
        for number, (where, row) in enumerate(numbered_rows(file, ("text_id", "text", "labelA"))):
            sections = tuple(
                Section(None, line.strip()) for line in row["text"].split("\n") if line.strip()
            )
            rating = _number(row["labelA"])
            if not sections or rating not in (1, 2, 3):
                wrong = "no rating" if rating is None else "rating outside 1..3"
                dropped[wrong if sections else "no text"] += 1
                continue
            if (split, row["text_id"]) in seen:
                raise InputError(
                    f"{where}: a second {split} text with the id {row['text_id']!r}; rename one of them"
                )
            seen.add((split, row["text_id"]))
            held = split == "train" and validation > 0 and number % round(1 / validation) == 0
            documents.append(
                Document(f"{split}-{row['text_id']}", "validation" if held else split, sections)
            )
            ratings.append(int(rating))
    if not documents:
        raise InputError(
            f"{raw}: {len(files)} CSV files, 0 usable texts; put <domain>_train.csv and _test.csv there"
        )
    facts = {"corpus": name, "ratings": Counter(map(str, ratings)), "dropped": dropped}
    return Corpus(documents, {"rating": np.array(ratings, dtype=np.int64)}, facts)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def summeval(*, raw: Path, dimension: str = "coherence") -> Corpus:
    """SummEval (Fabbri et al. 2021): system summaries as documents of split test, the human references, once per article, as split train.

    One file per system; a line has ``id`` (the article), ``model_id``, ``decoded`` (the summary), ``references`` (human summaries)
    and ``expert_annotations``, one record of dimensions per rater. Truth: ``marks`` float64 (documents, raters), nan for references;
    ``cluster`` the article; ``system`` the system, or ``reference``. Articles stand together, so that neighbours share their words.
    """
    by_id: dict[str, _Rated] = {}
    for path in json_lines_in(raw):
        for rated in _rated(path, dimension):
            _add(rated, by_id)
    if not by_id:
        raise InputError(
            f"{raw}: no *.jsonl with a summary; give the folder of SummEval's *_annotations.jsonl"
        )
    # references of an article are written before its first summary, so that neighbours share their words
    ordered = sorted(by_id.values(), key=lambda rated: (rated.article, rated.first_system))
    raters = max(len(rated.marks) for rated in ordered)
    truth = {
        "marks": np.array(
            [rated.marks + [math.nan] * (raters - len(rated.marks)) for rated in ordered]
        ),
        "cluster": np.array([rated.article for rated in ordered]),
        "system": np.array([rated.writer for rated in ordered]),
    }
    summaries = [rated for rated in ordered if rated.document.split == "test"]
    facts = {
        "systems": sorted({rated.writer for rated in summaries}),
        "articles": len({rated.article for rated in summaries}),
        "summaries": len(summaries),
        "dimension": dimension,
    }
    return Corpus([rated.document for rated in ordered], truth, facts)


@dataclass(frozen=True)
class _Rated:
    """A summary with its ratings, or a reference beside it."""

    article: str
    first_system: str  # whose record told it
    document: Document
    writer: str  # a system, or ``reference``
    marks: list[float]
    where: str


def _add(rated: _Rated, by_id: dict[str, _Rated]) -> None:
    """Keep a summary or a reference by its id. Raises InputError: another one has the id, or a summary comes twice."""
    earlier = by_id.get(rated.document.id)
    if earlier is None:
        by_id[rated.document.id] = rated
    elif earlier.document != rated.document or rated.writer != "reference":
        told = f"{rated.document.id!r} stands in {earlier.where} too"
        raise InputError(f"{rated.where}: {told}, another one or the same again; keep one of them")
    elif rated.first_system < earlier.first_system:
        by_id[rated.document.id] = rated


def _rated(path: Path, dimension: str) -> Iterator[_Rated]:
    """Each summary of a file, behind the references beside it."""
    for where, record in records(path, ("id", "model_id", "decoded", "expert_annotations")):
        article, system, summary = (
            field_of(record, name, str, where) for name in ("id", "model_id", "decoded")
        )
        marks = []
        for rater, rating in enumerate(field_of(record, "expert_annotations", list, where), 1):
            place = f"{where}, summary {article}/{system}, rater {rater}"
            if dimension not in typed(rating, dict, place):
                raise InputError(f"{place}: no rating {dimension!r}; allowed are {sorted(rating)}")
            marks.append(float(field_of(rating, dimension, float, place)))
        for number, text in enumerate(
            texts(record.get("references") or [], f"{where}, references")
        ):
            reference = Document(f"{article}/reference-{number}", "train", (Section(None, text),))
            yield _Rated(article, system, reference, "reference", [], where)
        document = Document(f"{article}/{system}", "test", (Section(None, summary),))
        yield _Rated(article, system, document, system, marks, where)
