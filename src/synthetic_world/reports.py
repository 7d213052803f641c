r"""Reports with a gold entity grid, and rated summaries.

A grid's columns are independent Markov chains (lapata2005).

A rating is $q + b_r + \epsilon$, quality $q = 6 - 4 \cdot$ severity, a rater's bias and noise,
rounded to seven points. Unrounded, leave-one-out agreement of $R$ raters is
$s^2 / \sqrt{(s^2 + e^2)(s^2 + e^2/(R-1))}$, $s^2$ and $e^2$ the variances of quality and noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from longform.documents import Corpus, Document, Section, ragged
from synthetic_world.articles import write
from synthetic_world.corpus import split_of
from synthetic_world.corruptions import CORRUPTIONS, corrupt
from synthetic_world.draws import Draws, stream, table
from synthetic_world.lexicon import vocabulary

ROLES = ("S", "O", "X", "-")
START = np.array([0.22, 0.12, 0.08, 0.58])
TRANSITIONS = np.array(
    [
        [0.40, 0.10, 0.05, 0.45],
        [0.25, 0.15, 0.10, 0.50],
        [0.15, 0.15, 0.10, 0.60],
        [0.08, 0.07, 0.06, 0.79],
    ]
)  # ours: subjects tend to stay, what is gone tends to stay away
ABSENT = ROLES.index("-")
WORDS = table("reports")
SENTENCES, ENTITIES = (8, 14), (4, 8)
# Cumulative probabilities, as :meth:`Draws.index` takes them.
_START = np.cumsum(START).tolist()
_ROWS = np.cumsum(TRANSITIONS, axis=1).tolist()


@dataclass(frozen=True)
class Report:
    """A report with its gold grid: int8, (sentences, entities), values index ``ROLES``."""

    index: int
    sentences: tuple[str, ...]
    entities: tuple[str, ...]
    grid: np.ndarray


def write_report(seed: int, index: int) -> Report:
    """Report ``index``: a function of its arguments alone."""
    rng = stream("reports", seed, index)
    draws = Draws(rng)
    # 1. Columns of roles; an entity that is absent throughout is drawn again.
    count = draws.integer(*SENTENCES)
    width = draws.integer(*ENTITIES)
    columns: list[list[int]] = []
    while len(columns) < width:
        column = [draws.index(_START)]
        while len(column) < count:
            column.append(draws.index(_ROWS[column[-1]]))
        if any(role != ABSENT for role in column):
            columns.append(column)
    grid = np.array(columns, dtype=np.int8).T
    # 2. Nouns of one topic for the entities.
    tables = draws.pick(vocabulary("everyday").topics).tables
    nouns = sorted({*tables["thing"], *tables["person"], *tables["being"]})
    entities = tuple(nouns[i] for i in rng.permutation(len(nouns))[:width])
    # 3. A sentence for each row.
    sentences = []
    for row in grid.tolist():
        sentences.append(_sentence(row, entities, draws))
    return Report(index, tuple(sentences), entities, grid)


def _sentence(row: Sequence[int], entities: Sequence[str], draws: Draws) -> str:
    """A sentence: subjects, verb, objects, then each other entity after a preposition.

    It has no other noun, so that an entity grid of it is ``row``. Where nobody has a part, a stock
    sentence without nouns is drawn.

    Args:
        row: each entity's role, an index of ``ROLES``: subject, object, other, absent.
        entities: nouns, in lower case.
        draws: chooses words.
    """
    by_role: tuple[list[str], ...] = ([], [], [], [])
    for entity, role in zip(entities, row, strict=True):
        by_role[role].append(f"the {entity}")
    subjects, objects, others, _ = by_role
    if not (subjects or objects or others):
        return draws.pick(WORDS["empty"]).capitalize() + "."
    words = [" and ".join(subjects) or draws.pick(WORDS["without_subject"])]
    if objects:
        words.append(draws.pick(WORDS["transitive"]))
        words.append(" and ".join(objects))
    else:
        words.append(draws.pick(WORDS["intransitive"]))
    for noun in others:
        words.append(f"{draws.pick(WORDS['prepositions'])} {noun}")
    return " ".join(words).capitalize() + "."


def column_log_probability(column: Sequence[int]) -> float:
    """Log probability (nats) of one column under the chain, start included, no end symbol."""
    nats = [np.log(START[column[0]])]
    for a, b in pairwise(column):
        nats.append(np.log(TRANSITIONS[a, b]))
    return float(sum(nats))


def expected_column_log_probability(sentences: int) -> float:
    r"""Expected log probability of a visible column of that height.

    $(E[\log P] - P_0 \log P_0) / (1 - P_0)$, where $P_0$ is the probability of a column that is
    absent throughout.

    Args:
        sentences: roles in a column, one or more.

    Returns:
        Nats.
    """
    # 1. Over all columns, by the chain rule: of the first role, and of each step given the one
    # before, whose distribution moves along.
    state, total = START, float((START * np.log(START)).sum())
    log_prob_of_step = (TRANSITIONS * np.log(TRANSITIONS)).sum(axis=1)
    for _ in range(sentences - 1):
        total += float((state * log_prob_of_step).sum())
        state = (state[:, None] * TRANSITIONS).sum(axis=0)
    # 2. Without the column that nobody sees.
    absent = column_log_probability([ABSENT] * sentences)
    return (total - np.exp(absent) * absent) / (1.0 - np.exp(absent))


def report_corpus(seed: int, numbers: Sequence[int], facts: dict[str, object]) -> Corpus:
    """Reports as documents with gold grids; a grid is stored by sentence, entities within."""
    # 1. Columns by report.
    documents, grids, grid_sentences, counts, expected = [], [], [], [], []
    names: list[str] = []
    for number in numbers:
        report = write_report(seed, number)
        section = Section(None, " ".join(report.sentences))
        unit = f"reports-{number:06d}"
        documents.append(Document(unit, split_of(number), (section,)))
        grids.append(report.grid.ravel())
        height = len(report.grid)
        grid_sentences.append(height)
        names.extend(report.entities)
        counts.append(len(report.entities))
        expected.append(expected_column_log_probability(height) / height)
    # 2. Truth arrays and closed forms.
    truth = {
        **ragged("grid", grids, np.int8),
        "grid_sentences": np.array(grid_sentences, dtype=np.int64),
        "entity_names": np.array(names, dtype=np.str_),
        "entity_counts": np.array(counts, dtype=np.int64),
        "role_names": np.array(ROLES, dtype=np.str_),
        "role_start": START,
        "role_transitions": TRANSITIONS,
    }
    closed_forms = {
        "grid_log_probability": float(np.mean(expected)),
        "grid_convention": (
            "mean over columns of log P(column) / sentences, order one, start included, "
            "no end symbol"
        ),
    }
    return Corpus(documents, truth, facts | closed_forms)


RATERS = 10
NOISE, BIAS = 1.0, 0.4  # standard deviations, on the seven-point scale
BEST, SLOPE = 6.0, 4.0
# of a cluster's versions, as six summaries a cluster (lapata2005)
SEVERITIES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SOURCE = "wikisection"
SECTIONS = 3  # a summary is the start of an article


@dataclass(frozen=True)
class Rated:
    """One version of a text.

    Attributes:
        document: its text.
        corruption, severity: of the version.
        raw, marks: the raters' ratings before and after rounding, (raters,).
    """

    document: Document
    corruption: str
    severity: float
    raw: np.ndarray
    marks: np.ndarray


def write_cluster(seed: int, index: int) -> list[Rated]:
    """Write a text and damage it by one corruption at each of ``SEVERITIES``, all of them rated.

    A rater's mark, 1 to 7, falls with severity and has the rater's own bias and some noise; ``raw``
    is the mark before it is rounded. All depends on the arguments alone.
    """
    rng = stream("ratings", seed, index)
    corruption = CORRUPTIONS[int(rng.integers(len(CORRUPTIONS)))]
    bias = stream("raters", seed).standard_normal(RATERS) * BIAS
    article = write(seed, SOURCE, index)
    article = replace(article, sections=article.sections[:SECTIONS], chain=article.chain[:SECTIONS])
    article = replace(article, path=article.path[: len(article.sentences)])
    versions = []
    for severity in SEVERITIES:
        damaged = corrupt(
            article, domain_name=SOURCE, corruption=corruption, severity=severity, seed=seed
        )
        quality = BEST - SLOPE * severity
        raw = quality + bias + NOISE * rng.standard_normal(RATERS)
        marks = np.clip(np.rint(raw), 1, 7).astype(np.int64)
        versions.append(Rated(damaged, corruption, severity, raw, marks))
    return versions


def expected_agreement() -> float:
    """Leave-one-out agreement of the raw marks over many items, in closed form."""
    signal = SLOPE**2 * float(np.var(SEVERITIES))
    return signal / math.sqrt((signal + NOISE**2) * (signal + NOISE**2 / (RATERS - 1)))


def rating_corpus(seed: int, numbers: Sequence[int], facts: dict[str, object]) -> Corpus:
    """All versions as documents; severity, corruption, cluster and marks are truth."""
    # Every version of every cluster is a document; columns by version.
    versions: list[Rated] = []
    documents = []
    for index in numbers:
        for number, version in enumerate(write_cluster(seed, index)):
            versions.append(version)
            unit = f"summaries-{index:06d}-{number}"
            documents.append(replace(version.document, id=unit, split=split_of(index)))
    severities, corruptions, raw, marks = [], [], [], []
    for version in versions:
        severities.append(version.severity)
        corruptions.append(version.corruption)
        raw.append(version.raw)
        marks.append(version.marks)
    truth = {
        "severity": np.array(severities),
        "corruption": np.array(corruptions, dtype=np.str_),
        "cluster": np.repeat(np.array(numbers, dtype=np.int64), len(SEVERITIES)),
        "raw_marks": np.stack(raw),
        "marks": np.stack(marks),
    }
    raters = {"rater_agreement": expected_agreement(), "rater_noise": NOISE, "raters": RATERS}
    return Corpus(documents, truth, facts | raters)
