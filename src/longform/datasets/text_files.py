"""Texts in plain and published forms.

JSON lines, HANNA's stories, sentences beside translations, and what people rated: GCDC's classes of
coherence, SummEval's ratings of summaries.
"""

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
    """HANNA's stories of large language models (Chhun et al. 2024).

    For each prompt there is the human story and one of every model.

    Args:
        name: of the corpus.
        seed: of the splits.
        raw: a CSV file with the columns ``HANNA``.
        shares: of prompts by split.

    Returns:
        documents ``<prompt>-human`` and ``<prompt>-<model>``, all of a prompt in one split; facts
        count prompts that lack a story.

    Raises:
        InputError: no prompt with all stories, or rows that contradict each other.
    """
    # 1. The stories of each prompt, by writer.
    stories = _stories_by_prompt(raw)
    writers = set[str]()
    for by_writer in stories.values():
        writers.update(by_writer)
    order = ["human", *sorted(writers - {"human"})]
    # 2. Prompts with all of them.
    dropped: Counter[str] = Counter()
    complete = {}
    for number, by_writer in enumerate(stories.values(), 1):
        missing = [writer for writer in order if not by_writer.get(writer)]
        if missing:
            dropped.update(f"prompt without a story of {writer}" for writer in missing)
        else:
            complete[f"prompt_{number:03d}"] = by_writer
    if not complete:
        raise InputError(
            f"{raw}: 0 of {len(stories)} prompts have all stories ({dict(dropped)}); "
            "fetch the file again"
        )
    # 3. Their documents.
    splits = split_by_seed(list(complete), shares, seed)
    documents = []
    for (prompt, by_writer), split in zip(complete.items(), splits, strict=True):
        for writer in order:
            documents.append(Document(f"{prompt}-{writer}", split, by_writer[writer]))
    facts = {"corpus": name, "prompts": len(complete), "writers": order[1:], "dropped": dropped}
    return Corpus(documents, facts=facts)


def _stories_by_prompt(path: Path) -> dict[str, dict[str, tuple[Section, ...]]]:
    """The stories of HANNA: prompt -> writer (``human`` or a model) -> untitled paragraphs.

    A row of the file has a prompt, its human story, a model's name and that model's story.
    """
    stories: dict[str, dict[str, tuple[Section, ...]]] = {}
    spelling: dict[str, str] = {}  # writer -> the model's name in the file
    for where, row in numbered_rows(path, HANNA):
        human = _paragraphs(row["Human"])
        by_writer = stories.setdefault(row["Prompt"], {"human": human})
        if by_writer["human"] != human:
            raise InputError(
                f"{where}: its human story differs from that of an earlier row with its prompt; "
                "fix one of them"
            )
        model = row["Model"]
        writer = re.sub(r"\W+", "_", model.strip().lower())
        if spelling.setdefault(writer, model) != model or writer == "human":
            raise InputError(
                f"{where}: models {spelling[writer]!r} and {model!r} have one name here, "
                f"{writer!r}; rename one of them"
            )
        if writer in by_writer:
            raise InputError(
                f"{where}: a second story of {model!r} for its prompt; keep one of them"
            )
        by_writer[writer] = _paragraphs(row["Story"])
    return stories


def _paragraphs(text: str | None) -> tuple[Section, ...]:
    """The paragraphs of a text, each on one line, as untitled sections."""
    sections = []
    for paragraph in re.split(r"\n\s*\n", text or ""):
        if paragraph.strip():
            sections.append(Section(None, " ".join(paragraph.split())))
    return tuple(sections)


# Ends in [0, 1) of train and of validation; the rest is test (deng2022 appendix C).
PARALLEL_ENDS = np.cumsum((0.8, 0.1))
TARGETS = ("de", "es", "fr")  # deng2022, appendix C


def parallel(
    *, raw: Path, name: str, seed: int, source: str = "en", targets: Sequence[str] = TARGETS
) -> Corpus:
    """Sentence pairs, one per sentence and target language.

    All pairs of a sentence lie in one split, drawn by seed and id. Empty sides are left out and
    counted.

    Args:
        raw: a JSON-lines file (``*.jsonl`` or ``*.jsonl.gz``) with one sentence a line, ``{"id":
            ..., "en": ..., "de": ...}``, or a folder of these or of aligned plain files that share
            a stem: ``talks.en``, ``talks.de``, one sentence a line.
        name: of the corpus.
        seed: of the splits.
        source: the language that is translated.
        targets: the languages into which.

    Returns:
        documents with sections ``source`` and ``target``; truth ``language``, int32 (documents,),
        counts into ``language_names``.

    Raises:
        InputError: no pair, or a file of another form.
    """
    documents: list[Document] = []
    languages: list[int] = []
    num_dropped = 0
    for key, sentence in sentences(raw, (source, *targets)):
        # 1. Draw the sentence's split.
        draw = generator("parallel split", seed, key).random()
        interval = int(np.searchsorted(PARALLEL_ENDS, draw, side="right"))
        split = ("train", "validation", "test")[interval]
        # 2. Pair it with each of its translations.
        source_text = sentence.get(source, "").strip()
        for number, language in enumerate(targets):
            target_text = sentence.get(language, "").strip()
            if not source_text or not target_text:
                num_dropped += 1
                continue
            sections = (Section("source", source_text), Section("target", target_text))
            documents.append(Document(f"{key}-{language}", split, sections))
            languages.append(number)
    if not documents:
        raise InputError(
            f"{raw}: no pair of {source} with {list(targets)}; fix the languages or the folder"
        )
    truth = {
        "language": np.array(languages, np.int32),
        "language_names": np.array(list(targets), dtype=np.str_),
    }
    facts = {"name": name, "documents": len(documents), "pairs_without_a_side": num_dropped}
    return Corpus(documents, truth, facts)


def sentences(raw: Path, languages: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Id and text by language of every sentence of a folder or of one file, by file names.

    Args:
        raw: as for :func:`parallel`.
        languages: those that are read; files of the first one name the stems.

    Raises InputError: absent, or of another form.
    """
    if not raw.exists():
        raise InputError(f"{raw}: no such file or folder of parallel text")
    paths = [raw]
    if raw.is_dir():
        paths = sorted(path for path in raw.iterdir() if path.is_file())
    for path in paths:
        stem = _stem(path.name, languages[0])
        if path.name.endswith(JSON_LINES):
            yield from _sentence_records(path, languages)
        elif stem:
            yield from _aligned(path.parent, stem, languages)


def _sentence_records(path: Path, languages: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Id and text by language of every line of a JSON-lines file."""
    for number, (where, record) in enumerate(records(path), 1):
        name = record.get("id", f"{path.name}-{number:06d}")
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise InputError(
                f"{where}: id is {short_repr(name)}, allowed is a string or a whole number"
            )
        translations = {}
        for language in languages:
            if record.get(language) is not None:
                translations[language] = field_of(record, language, str, where)
        yield str(name), translations


def _stem(name: str, language: str) -> str:
    """``talks`` of ``talks.en.gz``; empty where the file is in another language."""
    for packing in PACKINGS:
        ending = f".{language}{packing}"
        if name.endswith(ending):
            return name.removesuffix(ending)
    return ""


def _aligned(
    folder: Path, stem: str, languages: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Id and text by language of each line of aligned files (talks.en, talks.de)."""
    # 1. The lines of each language's file.
    lines: dict[str, list[str]] = {}
    for language in languages:
        candidates = [folder / f"{stem}.{language}{packing}" for packing in PACKINGS]
        present = [path for path in candidates if path.is_file()]
        if len(present) > 1:
            raise InputError(
                f"{folder}: {present[0].name} and {present[1].name} stand side by side; "
                "keep one of them"
            )
        if present:
            lines[language] = list(text_lines(present[0]))
    lengths = {language: len(side) for language, side in lines.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"{folder}: aligned files of {stem!r} have {lengths} lines; "
            "sentence i must stand on line i of each"
        )
    # 2. Line by line.
    for number, row in enumerate(zip(*lines.values(), strict=True)):
        yield f"{stem}-{number:06d}", dict(zip(lines, row, strict=True))


def gcdc(*, name: str, raw: Path, validation: float = 0.1) -> Corpus:
    """Texts rated for coherence in three classes (Lai and Tetreault 2018; sheng2024 appendix B).

    GCDC's files (Yahoo, Enron, Clinton, Yelp) are gated and no part of this repository.

    Args:
        name: of the corpus.
        raw: a folder of ``*train*.csv`` and ``*test*.csv`` with columns ``text_id``, ``text`` and
            ``labelA``, the consensus of the expert ratings: 1 low, 2 medium, 3 high.
        validation: share of the training texts that become validation: every k-th.

    Returns: texts whose lines are untitled sections; ``truth["rating"]`` is int64 (units,); facts
        count classes and what was dropped.
    Raises InputError: no usable text, or two with one id.
    """
    files = sorted(raw.glob("*.csv")) if raw.is_dir() else []
    documents, ratings, dropped = [], [], Counter[str]()
    seen = set[tuple[str, str]]()
    for file in files:
        split = "train" if "train" in file.stem.lower() else "test"
        for number, (where, row) in enumerate(numbered_rows(file, ("text_id", "text", "labelA"))):
            # 1. Drop what has no text or no rating.
            text_id, rating = row["text_id"], _number(row["labelA"])
            lines = [line.strip() for line in row["text"].split("\n")]
            sections = tuple(Section(None, line) for line in lines if line)
            if not sections:
                dropped["no text"] += 1
                continue
            if rating not in (1, 2, 3):
                dropped["no rating" if rating is None else "rating outside 1..3"] += 1
                continue
            # 2. Refuse a second text of one id.
            if (split, text_id) in seen:
                raise InputError(
                    f"{where}: a second {split} text with the id {text_id!r}; rename one of them"
                )
            seen.add((split, text_id))
            # 3. Keep it, in split validation now and then.
            own_split = split
            if split == "train" and validation > 0 and number % round(1 / validation) == 0:
                own_split = "validation"
            documents.append(Document(f"{split}-{text_id}", own_split, sections))
            ratings.append(int(rating))
    if not documents:
        raise InputError(
            f"{raw}: {len(files)} CSV files, 0 usable texts; "
            "put <domain>_train.csv and _test.csv there"
        )
    facts = {"corpus": name, "ratings": Counter(map(str, ratings)), "dropped": dropped}
    return Corpus(documents, {"rating": np.array(ratings, dtype=np.int64)}, facts)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def summeval(*, raw: Path, dimension: str = "coherence") -> Corpus:
    """SummEval (Fabbri et al. 2021): summaries by systems, and those that people wrote.

    Articles stand together, so that neighbours share their words.

    Args:
        raw: a folder with one file per system; a line has ``id`` (the article), ``model_id``,
            ``decoded`` (the summary), ``references`` (human summaries) and ``expert_annotations``,
            one record of dimensions per rater.
        dimension: which of the ratings is kept.

    Returns: system summaries as documents of split test, the references, once per article, as split
        train. Truth: ``marks`` float64 (documents, raters), nan for references; ``cluster`` the
        article; ``system`` the system, or ``reference``.
    Raises InputError: no summary, one twice, or a record of another form.
    """
    by_id: dict[str, _Rated] = {}
    for path in json_lines_in(raw):
        for rated in _rated(path, dimension):
            _add(rated, by_id)
    if not by_id:
        raise InputError(
            f"{raw}: no *.jsonl with a summary; give the folder of SummEval's *_annotations.jsonl"
        )
    # references of an article come before its first summary, so that neighbours share their words
    ordered = sorted(by_id.values(), key=lambda text: (text.article, text.first_system))
    raters = max(len(text.ratings) for text in ordered)
    ratings = np.full((len(ordered), raters), np.nan)
    for row, text in enumerate(ordered):
        ratings[row, : len(text.ratings)] = text.ratings
    truth = {
        "marks": ratings,
        "cluster": np.array([text.article for text in ordered]),
        "system": np.array([text.writer for text in ordered]),
    }
    summaries = [text for text in ordered if text.document.split == "test"]
    facts = {
        "systems": sorted({summary.writer for summary in summaries}),
        "articles": len({summary.article for summary in summaries}),
        "summaries": len(summaries),
        "dimension": dimension,
    }
    return Corpus([text.document for text in ordered], truth, facts)


@dataclass(frozen=True)
class _Rated:
    """A summary with its ratings, or a reference beside it."""

    article: str
    first_system: str  # in whose record it stands
    document: Document
    writer: str  # a system, or ``reference``
    ratings: list[float]
    where: str


def _add(rated: _Rated, by_id: dict[str, _Rated]) -> None:
    """Add a summary or a reference to a table by its id.

    Of equal references, which several systems' records have, the first system's stays.

    Raises InputError: another one has the id, or a summary comes twice.
    """
    unit = rated.document.id
    earlier = by_id.get(unit)
    if earlier is None:
        by_id[unit] = rated
    elif earlier.document != rated.document or rated.writer != "reference":
        raise InputError(f"{rated.where}: {unit!r} stands in {earlier.where} too; keep one of them")
    elif rated.first_system < earlier.first_system:
        by_id[unit] = rated


def _rated(path: Path, dimension: str) -> Iterator[_Rated]:
    """The references and the summary of each record of a file."""
    for where, record in records(path, ("id", "model_id", "decoded", "expert_annotations")):
        article = field_of(record, "id", str, where)
        system = field_of(record, "model_id", str, where)
        summary = field_of(record, "decoded", str, where)
        # 1. Its ratings.
        ratings = []
        for rater, rating in enumerate(field_of(record, "expert_annotations", list, where), 1):
            its_place = f"{where}, summary {article}/{system}, rater {rater}"
            if dimension not in typed(rating, dict, its_place):
                raise InputError(
                    f"{its_place}: no rating {dimension!r}; allowed are {sorted(rating)}"
                )
            ratings.append(float(field_of(rating, dimension, float, its_place)))
        # 2. The references, then the summary.
        references = texts(record.get("references") or [], f"{where}, references")
        for number, text in enumerate(references):
            reference = Document(f"{article}/reference-{number}", "train", (Section(None, text),))
            yield _Rated(article, system, reference, "reference", [], where)
        document = Document(f"{article}/{system}", "test", (Section(None, summary),))
        yield _Rated(article, system, document, system, ratings, where)
