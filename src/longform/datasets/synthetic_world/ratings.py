r"""Rated summaries: versions of one text with a corruption at a known dose, and simulated raters of known noise.

A rating is $q + b_r + \epsilon$ with quality $q = 6 - 4 \cdot$ dose, a rater's own bias and independent noise; the
seven-point scale rounds and clips it. Without rounding, the leave-one-out agreement of $R$ raters over many items is
$s^2 / \sqrt{(s^2 + e^2)(s^2 + e^2/(R-1))}$, $s^2$ being the variance of quality over items and $e^2$ that of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.failures import FAILURES, corrupt
from longform.documents import Corpus, Document
from longform.resampling import generator

RATERS = 10
NOISE, BIAS = 1.0, 0.4  # standard deviations, on the seven-point scale
BEST, SLOPE = 6.0, 4.0
DOSES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # a cluster has one version of each, as six summaries a cluster (lapata2005)
SOURCE = "wikisection"
SECTIONS = 3  # a summary is the start of an article


@dataclass(frozen=True)
class Rated:
    """One version of a text: its failure and dose, and the raters' raw and rounded marks (raters,)."""

    document: Document
    cluster: int
    failure: str
    dose: float
    raw: np.ndarray
    marks: np.ndarray


def write_cluster(seed: int, index: int, split: str) -> list[Rated]:
    """Six versions of one text, rated; a function of its arguments alone."""
    rng = generator("planted", "ratings", seed, index)
    failure = tuple(FAILURES)[int(rng.integers(len(FAILURES)))]
    bias = generator("planted", "raters", seed).standard_normal(RATERS) * BIAS
    article = _shortened(write(seed, SOURCE, index))
    rated = []
    for number, dose in enumerate(DOSES):
        changed = corrupt(article, domain_name=SOURCE, failure=failure, dose=dose, seed=seed)
        document = Document(f"summaries-{index:06d}-{number}", split, changed.sections, changed.edits)
        raw = BEST - SLOPE * dose + bias + NOISE * rng.standard_normal(RATERS)
        rated.append(Rated(document, index, failure, dose, raw, np.clip(np.rint(raw), 1, 7).astype(np.int64)))
    return rated


def _shortened(article: Article) -> Article:
    sections = article.sections[:SECTIONS]
    sentences = sum(len(rows) for _, rows in sections)
    return replace(article, sections=sections, chain=article.chain[:SECTIONS], path=article.path[:sentences])


def expected_agreement() -> float:
    """Leave-one-out agreement of the raw marks over many items, in closed form."""
    signal = SLOPE**2 * float(np.var(DOSES))
    return signal / math.sqrt((signal + NOISE**2) * (signal + NOISE**2 / (RATERS - 1)))


def leave_one_out_agreement(marks: np.ndarray) -> float:
    """Mean over raters of the correlation with the mean of the others: marks (items, raters)."""
    others = (marks.sum(axis=1, keepdims=True) - marks) / (marks.shape[1] - 1)
    return float(np.mean([np.corrcoef(marks[:, r], others[:, r])[0, 1] for r in range(marks.shape[1])]))


def rating_corpus(clusters: Sequence[Sequence[Rated]], facts: dict[str, object]) -> Corpus:
    """All versions as documents; dose, failure, cluster and marks are truth."""
    rated = [version for cluster in clusters for version in cluster]
    truth = {
        "dose": np.array([r.dose for r in rated]),
        "failure": np.array([r.failure for r in rated], dtype=np.str_),
        "cluster": np.array([r.cluster for r in rated], dtype=np.int64),
        "raw_marks": np.stack([r.raw for r in rated]),
        "marks": np.stack([r.marks for r in rated]),
    }
    known = {"rater_agreement": expected_agreement(), "rater_noise": NOISE, "raters": RATERS}
    return Corpus([r.document for r in rated], truth, facts | known)
