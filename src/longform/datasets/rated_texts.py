"""Texts that people rated, beside SummEval and GCDC (:mod:`longform.datasets.text_files`).

Here are stories and summaries of dialogues. CoheSentia's stories come in three classes
(:func:`story_classes`). Every other reader gives the machine's texts as documents of
split test, and people's own texts of the same sources, where there are any, as split train. Truth:
``marks`` float64 (documents, raters), nan where nobody rated, without raters who repeat another one
rating by rating (facts count them); ``cluster`` the source that a text was made from; ``system``
who wrote it. Texts of one source stand together.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import Corpus, Document, Section
from longform.errors import InputError, did_you_mean
from longform.files.opening import field_of, json_file, records, typed
from longform.statistics.splits import SHARES, split_by_seed

REFERENCE = "reference"  # the writer of people's own texts
MANY = 100  # ratings: two people who agree in so many do not by chance
COHESENTIA_FILES = ("TrainData.json", "TestData.json")
DIALOGUE_FIELDS = ("id", "model_id", "summary", "annotations")


@dataclass(frozen=True)
class _RatedText:
    """A text with its ratings, none where it is a person's own."""

    document: Document
    source: str
    writer: str
    ratings: list[float]


def rated_stories(*, raw: Path, dimension: str = "coherence") -> Corpus:
    """Stories of language models to an opening, with the mean of three raters.

    Source: Xie, Cohn and Lau 2023, "The Next Chapter".

    Args:
        raw: one of the files of ``HumanEvaluation``: a list of items ``{"condition", "reference",
            "generations": [{"model", "story", "scores": {dimension: number}}]}``.
        dimension: which of the ratings is kept.

    Raises InputError: another shape, or no such rating.
    """
    texts: list[_RatedText] = []
    for number, item in enumerate(typed(json_file(raw), list, str(raw)), 1):
        where, source = f"{raw}, item {number}", f"{raw.stem}-{number:03d}"
        story = _document(f"{source}/{REFERENCE}", "train", item, "reference", where)
        texts.append(_RatedText(story, source, REFERENCE, []))
        for generation in field_of(item, "generations", list, where):
            writer = field_of(generation, "model", str, where)
            scores = field_of(generation, "scores", dict, where)
            story = _document(f"{source}/{writer}", "test", generation, "story", where)
            rating = _rating(scores, dimension, f"{where}, {writer}")
            texts.append(_RatedText(story, source, writer, [rating]))
    return _corpus(texts, dimension, raw)


def dialogue_summaries(*, raw: Path, dimension: str = "coherence") -> Corpus:
    """DialSummEval: 14 writers' summaries of 100 dialogues, each rated by three people.

    Source: Gao and Wan 2022.

    Args:
        raw: ``human_judgment.jsonl``: a line has ``id`` (the dialogue), ``model_id``, ``summary``
            and ``annotations``, one record of dimensions per rater.
        dimension: which of the ratings is kept.

    Raises InputError: another shape, or no such rating.
    """
    texts: list[_RatedText] = []
    for where, record in records(raw, DIALOGUE_FIELDS):
        source = field_of(record, "id", str, where)
        writer = field_of(record, "model_id", str, where)
        ratings = []
        for rater, annotation in enumerate(field_of(record, "annotations", list, where), 1):
            scores = typed(annotation, dict, where)
            ratings.append(_rating(scores, dimension, f"{where}, rater {rater}"))
        summary = _document(f"{source}/{writer}", "test", record, "summary", where)
        texts.append(_RatedText(summary, source, writer, ratings))
    # the file goes from writer to writer
    texts.sort(key=lambda text: text.source)
    return _corpus(texts, dimension, raw)


def story_classes(
    *, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES
) -> Corpus:
    """Stories of GPT-3 in three classes of coherence, as GCDC's texts are.

    Source: Maimon and Tsarfaty 2023, CoheSentia. The classes are thirds of the training stories by
    the mean rating of the whole story; equal ratings are of one class, the lower one.

    Args:
        name: of the corpus.
        seed: of the splits. The published test split has 49 stories, too few to judge a classifier
            by, so that stories of both files are split anew.
        raw: a folder of ``TrainData.json`` and ``TestData.json``: stories by key, each with
            ``Text`` and ``HolisticData``, whose ``scores`` are the ratings, 1 to 5, by reader.
        shares: of stories by split.

    Returns: the stories; ``truth["rating"]`` is int64 (units,), 1 low to 3 high; facts count the
        classes and tell the ratings that bound them.
    Raises InputError: a missing file, another shape, or a story that nobody rated.
    """
    # 1. Texts and mean ratings.
    texts: dict[str, str] = {}
    means: list[float] = []
    for file in COHESENTIA_FILES:
        path = raw / file
        for key, story in typed(json_file(path), dict, str(path)).items():
            where = f"{path}, story {key!r}"
            if key in texts:
                raise InputError(f"{where} comes twice; keep one of them")
            texts[key] = " ".join(field_of(story, "Text", str, where).split())
            whole = field_of(story, "HolisticData", dict, where)
            scores = field_of(whole, "scores", dict, where)
            ratings = []
            for score in scores.values():
                if score == score:  # NaN stands for a reader who gave none
                    ratings.append(float(typed(score, float, where)))
            if not texts[key] or not ratings:
                raise InputError(f"{where}: no text or no rating; drop the story")
            means.append(float(np.mean(ratings)))
    if not texts:
        raise InputError(f"{raw}: no story; give the files as they are published")
    # 2. Splits, and classes by thirds of the training stories.
    units = [f"{name}-{key}" for key in texts]
    splits = split_by_seed(units, shares, seed)
    story_means = np.array(means)
    training_means = story_means[np.array(splits) == "train"]
    bounds = np.quantile(training_means, (1 / 3, 2 / 3), method="lower")
    classes = 1 + np.searchsorted(bounds, story_means)
    documents = [
        Document(unit, split, (Section(None, text),))
        for unit, split, text in zip(units, splits, texts.values(), strict=True)
    ]
    facts = {
        "corpus": name,
        "ratings": Counter(str(rating) for rating in classes),
        "splits": Counter(splits),
        "bounds": bounds.tolist(),
    }
    return Corpus(documents, {"rating": classes.astype(np.int64)}, facts)


def _document(unit: str, split: str, record: Any, name: str, where: str) -> Document:
    """A document of one section, with the text in field ``name`` of a record."""
    text = field_of(record, name, str, where).strip()
    if not text:
        raise InputError(f"{where}: {name} is empty; drop the record")
    return Document(unit, split, (Section(None, text),))


def _rating(scores: dict[str, Any], dimension: str, where: str) -> float:
    """One rating. Raises InputError: there is none of the dimension, or it is no number."""
    if dimension not in scores:
        close = did_you_mean(dimension, scores)
        raise InputError(f"{where}: no rating {dimension!r}{close}; allowed are {sorted(scores)}")
    return float(field_of(scores, dimension, float, where))


def _corpus(texts: Sequence[_RatedText], dimension: str, raw: Path) -> Corpus:
    """Documents with their sources, writers and ratings.

    Raises InputError: no text, or two of one writer for one source.
    """
    if not texts:
        raise InputError(f"{raw}: no rated text; give the file as it is published")
    seen: set[str] = set()
    for text in texts:
        if text.document.id in seen:
            raise InputError(f"{raw}: {text.document.id!r} comes twice; keep one of them")
        seen.add(text.document.id)
    # 1. Ratings as a table (texts, raters), without raters who repeat another.
    raters = max(len(text.ratings) for text in texts)
    ratings = np.full((len(texts), raters), np.nan)
    for row, text in enumerate(texts):
        ratings[row, : len(text.ratings)] = text.ratings
    copied = _copied_raters(ratings)
    truth = {
        "marks": np.delete(ratings, copied, axis=1),
        "cluster": np.array([text.source for text in texts]),
        "system": np.array([text.writer for text in texts]),
    }
    # 2. What was rated.
    rated = [text for text in texts if text.ratings]
    facts = {
        "systems": sorted({text.writer for text in rated}),
        "sources": len({text.source for text in rated}),
        "rated": len(rated),
        "dimension": dimension,
        "copied_raters": [rater + 1 for rater in copied],
    }
    return Corpus([text.document for text in texts], truth, facts)


def _copied_raters(ratings: np.ndarray) -> list[int]:
    """Columns of raters with at least ``MANY`` ratings that all equal an earlier rater's.

    Args:
        ratings: float64 (texts, raters), nan where nobody rated.
    """
    counts = np.isfinite(ratings).sum(axis=0)
    copied: list[int] = []
    for rater in range(ratings.shape[1]):
        if counts[rater] < MANY:
            continue
        for earlier in range(rater):
            same = np.array_equal(ratings[:, rater], ratings[:, earlier], equal_nan=True)
            if same and earlier not in copied:
                copied.append(rater)
                break
    return copied
