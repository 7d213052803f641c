"""Texts in plain and published forms: JSON lines, HANNA's stories, sentences beside translations, and what people rated: GCDC's
classes of coherence, SummEval's marks of summaries."""

import math
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
    """The documents of a file, or of ``documents.jsonl`` in a folder, as they stand."""
    return Corpus(read_documents(raw / "documents.jsonl" if raw.is_dir() else raw))


HANNA = ("Prompt", "Human", "Story", "Model")


def hanna(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES) -> Corpus:
    """HANNA's stories of large language models (Chhun et al. 2024), a CSV file: for each prompt the human story and one of every model.

    Documents ``<prompt>-human`` and ``<prompt>-<model>``; all stories of a prompt are in one split; prompts that lack one are counted.
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
    return Corpus(documents, facts={"corpus": name, "prompts": len(kept), "writers": writers, "dropped": dropped})


def _blocks(text: str | None) -> tuple[Section, ...]:
    return tuple(Section(None, " ".join(b.split())) for b in re.split(r"\n\s*\n", text or "") if b.strip())


PARALLEL_ENDS = np.cumsum((0.8, 0.1))  # of train, then validation; the rest is test (deng2022, appendix C)
TARGETS = ("de", "es", "fr")  # deng2022, appendix C


def parallel(*, raw: Path, name: str, seed: int, source: str = "en", targets: Sequence[str] = TARGETS) -> Corpus:
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
    for path in sorted(path for path in raw.iterdir() if path.is_file()) if raw.is_dir() else [raw]:
        if path.name.endswith((".jsonl", ".jsonl.gz")):
            for number, (_, record) in enumerate(records(path), 1):
                found = {name: str(record[name]) for name in languages if record.get(name)}
                yield str(record.get("id", f"{path.name}-{number:06d}")), found
        elif path.suffix == f".{languages[0]}":
            sides = {name: path.with_suffix(f".{name}") for name in languages}
            texts = {n: side.read_text(encoding="utf-8").splitlines() for n, side in sides.items() if side.is_file()}
            lengths = {name: len(lines) for name, lines in texts.items()}
            if len(set(lengths.values())) > 1:
                raise BadInput(f"{path}: aligned files have {lengths} lines; sentence i must stand on line i of each")
            for number, row in enumerate(zip(*texts.values(), strict=True)):
                yield f"{path.stem}-{number:06d}", dict(zip(texts, row, strict=True))


def gcdc(*, name: str, raw: Path, validation: float = 0.1) -> Corpus:
    """Texts rated for coherence in three classes, GCDC's own CSV (Lai and Tetreault 2018), for sheng2024 appendix B.

    ``*train*.csv`` and ``*test*.csv`` of a folder have ``text_id``, ``text`` and ``labelA``, the consensus of the expert ratings: 1 low,
    2 medium, 3 high. Every k-th training text becomes validation. The files (Yahoo, Enron, Clinton, Yelp) are gated and no part of this
    repository. Paragraphs become untitled sections; ``truth["rating"]`` is int64 (units,); facts count classes and what was dropped.
    """
    files = sorted(raw.glob("*.csv")) if raw.is_dir() else []
    documents, ratings, dropped = [], [], Counter[str]()
    for file in files:
        split = "train" if "train" in file.stem.lower() else "test"
        for number, row in enumerate(rows(file, ("text_id", "text", "labelA"))):
            sections = tuple(Section(None, line.strip()) for line in (row["text"] or "").splitlines() if line.strip())
            try:
                rating, wrong = float(row["labelA"]), "rating outside 1..3"
            except (TypeError, ValueError):
                rating, wrong = 0.0, "no rating"
            if not sections or rating not in (1, 2, 3):
                dropped[wrong if sections else "no text"] += 1
                continue
            held = split == "train" and validation > 0 and number % round(1 / validation) == 0
            documents.append(Document(f"{split}-{row['text_id']}", "validation" if held else split, sections))
            ratings.append(int(rating))
    if not documents:
        raise BadInput(f"{raw}: {len(files)} CSV files, 0 usable texts; put <domain>_train.csv and _test.csv there")
    facts = {"corpus": name, "ratings": Counter(map(str, ratings)), "dropped": dropped}
    return Corpus(documents, {"rating": np.array(ratings, dtype=np.int64)}, facts)


def summeval(*, raw: Path, dimension: str = "coherence") -> Corpus:
    """SummEval (Fabbri et al. 2021): system summaries as documents of split test, the human references, once per article, as split train.

    One file per system; a line has ``id`` (the article), ``model_id``, ``decoded`` (the summary), ``references`` (human summaries)
    and ``expert_annotations``, one record of dimensions per rater. Truth: ``marks`` float64 (documents, raters), nan for references;
    ``cluster`` the article; ``system`` the system, or ``reference``. Articles stand together, so that neighbours share their words.
    """
    found = [row for path in sorted(raw.glob("*.jsonl")) for row in _rated(path, dimension)]
    if not found:
        raise BadInput(f"{raw}: no *.jsonl with a summary; give the folder of SummEval's *_annotations.jsonl")
    summaries = sorted({row[0] for row in found})
    rows = {row[1].id: row for row in sorted(found, key=lambda row: row[0])}.values()
    raters = max(len(marks) for *_, marks in rows)
    truth = {
        "marks": np.array([marks + [math.nan] * (raters - len(marks)) for *_, marks in rows], dtype=np.float64),
        "cluster": np.array([article for (article, _), *_ in rows]),
        "system": np.array([system for *_, system, _ in rows]),
    }
    facts = {"systems": sorted({system for _, system in summaries}), "articles": len({a for a, _ in summaries})}
    facts |= {"summaries": sum(row[1].split == "test" for row in found), "dimension": dimension}
    return Corpus([row[1] for row in rows], truth, facts)


@refusing("JSON lines of SummEval in UTF-8, a summary with its ratings in each")
def _rated(path: Path, dimension: str) -> Iterator[tuple[tuple[str, str], Document, str, list[float]]]:
    """(article, system), document, system or ``reference`` and marks of each summary and of the references beside it."""
    for where, record in records(path, ("id", "model_id", "decoded", "expert_annotations")):
        key = article, system = record["id"], record["model_id"]
        if not (isinstance(article, str) and isinstance(system, str)):
            raise BadInput(f"{where}: id and model_id are {key}; allowed are strings")
        try:
            marks = [float(rating[dimension]) for rating in record["expert_annotations"]]
        except KeyError as error:
            named = sorted(record["expert_annotations"][0])
            raise BadInput(f"summary {article}/{system}: no rating {dimension!r}; allowed are {named}") from error
        texts = [
            ("train", f"reference-{n}", "reference", text) for n, text in enumerate(record.get("references") or [])
        ]
        for split, name, writer, text in [*texts, ("test", system, system, record["decoded"])]:
            if not isinstance(text, str):
                raise BadInput(f"summary {article}/{name}: got {text!r:.60}, allowed is a string; fix the line")
            document = Document(f"{article}/{name}", split, (Section(None, text),))
            yield key, document, writer, marks if split == "test" else []
