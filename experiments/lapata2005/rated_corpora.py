"""Seven sets of machine texts whose coherence people rated, and people's texts to learn from.

FOLDER holds ``summeval/`` (``*_annotations.jsonl``), ``dialsummeval.jsonl``, ``cohesentia/``
(``TrainData.json``, ``TestData.json``), ``hanna_llm_stories.csv``, ``hanna_metric_scores_llm.csv``
and ``next/`` (``crowdsource``, ``inhouse``: ``roc.json``, ``wp.json``, ``cnn.json``; and
``roc_human.txt`` and so on, which TheNextChapter calls ``GeneratedStories/*/sample_human.txt``).
Nothing of them is in git; docs/data_cards/rated_texts.md says where they come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.lapata2005.stories import cohesentia, hanna
from longform.datasets.rated_texts import dialogue_summaries, rated_stories
from longform.datasets.text_files import summeval
from longform.documents import Corpus, Document, Section
from longform.statistics.random_streams import generator

POOLS = ("crowdsource", "inhouse")  # of TheNextChapter's raters; each read other stories
WRITER_OF_COHESENTIA = "gpt-3"
MOST_REAL = 300  # texts of people that critics learn from
COHESENTIA_REAL = 200  # CoheSentia's own stories that critics learn from, as it has none of people
# Sources of each set in the order of the draw that the language model reads in one round.
SOURCES_A_ROUND = {
    "SummEval": 1,
    "DialSummEval": 2,
    "ROC": 3,
    "WritingPrompts": 2,
    "CNN": 1,
    "CoheSentia": 5,
    "HANNA": 1,
}
NAMES = tuple(SOURCES_A_ROUND)
FILES_OF_THE_NEXT_CHAPTER = {"ROC": "roc", "WritingPrompts": "wp", "CNN": "cnn"}


@dataclass(frozen=True)
class RatedSet:
    """Rated texts of one collection, sources in the order of the draw.

    Attributes:
        name: of the collection.
        texts: the rated texts, those of one source together.
        marks: rating of each text by each rater, float64 (texts, raters); nan where a rater did
            not rate a text.
        rating: mean of each text's marks, float64 (texts,).
        source: id of the article, dialogue or prompt that each text was made from, (texts,).
        system: name of each text's writer, (texts,).
        real: texts that critics learn from, by people (but for CoheSentia).
        references: people's texts of the same sources; empty where there are none.
    """

    name: str
    texts: list[Document]
    marks: np.ndarray
    rating: np.ndarray
    source: np.ndarray
    system: np.ndarray
    real: list[Document]
    references: list[Document]

    def first(self, sources: int) -> RatedSet:
        """The set with the texts of its first ``sources`` sources alone; ``real`` stays whole."""
        names = list(dict.fromkeys(self.source.tolist()))[:sources]
        rows = np.flatnonzero(np.isin(self.source, names))
        return replace(
            self,
            texts=_at(self.texts, rows),
            marks=self.marks[rows],
            rating=self.rating[rows],
            source=self.source[rows],
            system=self.system[rows],
        )


def rated_set(name: str, folder: Path) -> RatedSet:
    """Open one of the seven sets, sources in the order of a draw by seed.

    Args:
        name: one of :data:`NAMES`.
        folder: of the files, as the module's docstring lists them.
    """
    if name == "SummEval":
        return _drawn(name, summeval(raw=folder / "summeval"))
    if name == "DialSummEval":
        news = summeval(raw=folder / "summeval")
        summaries = dialogue_summaries(raw=folder / "dialsummeval.jsonl")
        return replace(_drawn(name, summaries), real=_people(news)[:MOST_REAL])
    if name == "HANNA":
        texts, marks = hanna(
            stories=folder / "hanna_llm_stories.csv",
            rated=folder / "hanna_metric_scores_llm.csv",
        )
        stories = _of_one_writer(texts, marks["coherence"], writer="people")
        return replace(_drawn(name, stories), real=_human_stories("wp", folder))
    if name == "CoheSentia":
        texts, marks = cohesentia(folder / "cohesentia")
        corpus = _of_one_writer(texts, marks["coherence"], writer=WRITER_OF_COHESENTIA)
        drawn = _drawn(name, corpus)
        # People's stories are not there: critics learn from the last stories of the draw.
        real = in_split("train", drawn.texts[-COHESENTIA_REAL:])
        return replace(drawn.first(len(drawn.texts) - COHESENTIA_REAL), real=real)
    kind = FILES_OF_THE_NEXT_CHAPTER[name]
    pools = []
    for pool in POOLS:
        pools.append(rated_stories(raw=folder / "next" / pool / f"{kind}.json"))
    return replace(_drawn(name, _pooled(pools)), real=_human_stories(kind, folder))


def _at(texts: Sequence[Document], rows: Iterable[int]) -> list[Document]:
    """The texts with these indices, in their order."""
    return [texts[row] for row in rows]


def in_split(split: str, texts: Iterable[Document]) -> list[Document]:
    """Copies of texts that belong to a split."""
    return [replace(text, split=split) for text in texts]


def _of_one_writer(texts: Sequence[Document], marks: np.ndarray, writer: str) -> Corpus:
    """A corpus of stories by one writer, each a source of its own; marks are (stories, raters)."""
    sources = np.array([text.id for text in texts])
    truth = {"marks": marks, "cluster": sources, "system": np.full(len(texts), writer)}
    return Corpus(in_split("test", texts), truth, {})


def _pooled(pools: Sequence[Corpus]) -> Corpus:
    """Stories of two pools of raters as one corpus, each pool's ratings less the pool's mean."""
    documents = []
    marks = []
    sources = []
    systems = []
    for pool, corpus in zip(POOLS, pools, strict=True):
        for text in corpus.documents:
            documents.append(replace(text, id=f"{pool}/{text.id}"))
        marks.append(corpus.truth["marks"] - np.nanmean(corpus.truth["marks"]))
        sources.append(np.char.add(f"{pool}/", corpus.truth["cluster"]))
        systems.append(corpus.truth["system"])
    system = np.concatenate(systems)
    truth = {
        "marks": np.concatenate(marks),
        "cluster": np.concatenate(sources),
        "system": np.where(system == "DAVINCI", "gpt3", system),  # GPT-3 goes by two names
    }
    return Corpus(documents, truth, {})


def _people(corpus: Corpus) -> list[Document]:
    """Texts that people wrote: those of the split ``train``."""
    return [document for document in corpus.documents if document.split == "train"]


def _human_stories(kind: str, folder: Path) -> list[Document]:
    """People's stories to other openings than the rated ones, at most ``MOST_REAL`` by seed.

    Args:
        kind: ``roc``, ``wp`` or ``cnn``.
        folder: of the files; a line is ``<opening>|||<story>``.
    """
    stories = []
    lines = (folder / "next" / f"{kind}_human.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        _, _, story = line.partition("|||")
        if story.strip():
            section = Section(None, story.strip())
            stories.append(Document(f"{kind}-human-{number}", "train", (section,)))
    order = generator("rated sets", kind, "human stories").permutation(len(stories))
    return _at(stories, order[:MOST_REAL])


def _drawn(name: str, corpus: Corpus) -> RatedSet:
    """A rated set of a corpus, whose clusters are the sources, in an order drawn by seed."""
    # 1. The indices of all texts, source by source in the order of the draw.
    source = corpus.truth["cluster"]
    source_ids = np.array(list(dict.fromkeys(source.tolist())))
    rank_of = {}
    for rank, index in enumerate(generator("rated sets", name).permutation(len(source_ids))):
        rank_of[source_ids[index]] = rank
    ranks = [rank_of[source_id] for source_id in source]
    order = np.argsort(ranks, kind="stable")
    # 2. Rated texts apart from people's, which nobody rated.
    is_rated = np.isfinite(corpus.truth["marks"]).any(axis=1)
    rows = order[is_rated[order]]
    marks = corpus.truth["marks"][rows]
    references = _at(corpus.documents, order[~is_rated[order]])
    return RatedSet(
        name=name,
        texts=_at(corpus.documents, rows),
        marks=marks,
        rating=np.nanmean(marks, axis=1),
        source=source[rows],
        system=corpus.truth["system"][rows],
        real=references[-MOST_REAL:],  # of other sources than those read first
        references=references,
    )
