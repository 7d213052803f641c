r"""Rated summaries: versions of one text with a corruption at a known severity, and simulated raters of known noise.

A rating is $q + b_r + \epsilon$ with quality $q = 6 - 4 \cdot$ severity, a rater's own bias and independent noise; the
seven-point scale rounds and clips it. Without rounding, the leave-one-out agreement of $R$ raters over many items is
$s^2 / \sqrt{(s^2 + e^2)(s^2 + e^2/(R-1))}$, $s^2$ being the variance of quality over items and $e^2$ that of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from longform.core.documents import Corpus, Document
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corruptions import CORRUPTIONS, corrupt
from longform.datasets.synthetic_world.draws import stream

RATERS = 10
NOISE, BIAS = 1.0, 0.4  # standard deviations, on the seven-point scale
BEST, SLOPE = 6.0, 4.0
SEVERITIES = (
    0.0,
    0.2,
    0.4,
    0.6,
    0.8,
    1.0,
)  # a cluster has one version of each, as six summaries a cluster (lapata2005)
SOURCE = "wikisection"
SECTIONS = 3  # a summary is the start of an article


@dataclass(frozen=True)
class Rated:
    """One version of a text: its corruption and severity, and the raters' raw and rounded marks (raters,)."""

    document: Document
    cluster: int
    corruption: str
    severity: float
    raw: np.ndarray
    marks: np.ndarray


def write_cluster(seed: int, index: int) -> list[Rated]:
    """Six versions of one text, rated; a function of its arguments alone."""
    rng = stream("ratings", seed, index)
    corruption = tuple(CORRUPTIONS)[int(rng.integers(len(CORRUPTIONS)))]
    bias = stream("raters", seed).standard_normal(RATERS) * BIAS
    article = write(seed, SOURCE, index)
    sections = article.sections[:SECTIONS]
    sentences = sum(len(rows) for _, rows in sections)
    article = replace(article, sections=sections, chain=article.chain[:SECTIONS], path=article.path[:sentences])
    rated = []
    for severity in SEVERITIES:
        damaged = corrupt(article, domain_name=SOURCE, corruption=corruption, severity=severity, seed=seed)
        raw = BEST - SLOPE * severity + bias + NOISE * rng.standard_normal(RATERS)
        marks = np.clip(np.rint(raw), 1, 7).astype(np.int64)
        rated.append(Rated(damaged, index, corruption, severity, raw, marks))
    return rated


def expected_agreement() -> float:
    """Leave-one-out agreement of the raw marks over many items, in closed form."""
    signal = SLOPE**2 * float(np.var(SEVERITIES))
    return signal / math.sqrt((signal + NOISE**2) * (signal + NOISE**2 / (RATERS - 1)))


def rating_corpus(clusters: Sequence[Sequence[Rated]], splits: Sequence[str], facts: Mapping[str, object]) -> Corpus:
    """All versions as documents; severity, corruption, cluster and marks are truth."""
    rated = [version for cluster in clusters for version in cluster]
    documents = [
        replace(version.document, id=f"summaries-{version.cluster:06d}-{number}", split=split)
        for cluster, split in zip(clusters, splits, strict=True)
        for number, version in enumerate(cluster)
    ]
    truth = {
        "severity": np.array([r.severity for r in rated]),
        "corruption": np.array([r.corruption for r in rated], dtype=np.str_),
        "cluster": np.array([r.cluster for r in rated], dtype=np.int64),
        "raw_marks": np.stack([r.raw for r in rated]),
        "marks": np.stack([r.marks for r in rated]),
    }
    known = {"rater_agreement": expected_agreement(), "rater_noise": NOISE, "raters": RATERS}
    return Corpus(documents, truth, dict(facts) | known)
