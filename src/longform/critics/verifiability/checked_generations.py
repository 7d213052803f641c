"""Generations with everything that a checker and a reader found in them, as they travel to the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.critics.verifiability.verdicts import LABELS, CheckedText, Evidence, checks_to_readout
from longform.documents import Readout
from longform.text.token_texts import TokenText, texts_to_readout

SENTENCE_COLUMNS = (
    "words",  # and marks, before replacements
    "entities",  # runs of capitalised words, and numbers
    "conjunctions",  # coordinators and the conjuncts that they join
    "linked",  # 1 parsed by Link Grammar, 0 not, nan where it is not installed
    "tfidf",  # with the prefix's page
    "nats",  # mean log-probability of its tokens under the model that wrote it
    "same_as",  # place of the first equal sentence of the generation
    "support",
    "refutation",  # highest probabilities over the judged lines
    "conflict",  # one line supports, another refutes
    "named",  # the determiner rule put the title in
    "pronouns",  # replaced ones
    "cut",  # the generation ran out inside the sentence
    "found",  # the planted evidence is among the judged lines (nan where there is none)
)
UNIT_COLUMNS = ("prefix_perplexity", "tfidf", "repeat")


@dataclass(frozen=True)
class CheckedGeneration:
    """One generation.

    Attributes:
        setting: which decoder wrote it (or which claims these are).
        page: the prefix's page; generations of one page are resampled together.
        checks: the checker's verdicts on its first sentences.
        truth: what is planted about them; None where nothing is known.
        tokens: the continuation, and the human text in its place.
        sentences: float64 (sentences, SENTENCE_COLUMNS).
        about: float64 (UNIT_COLUMNS,).
        texts: what was checked, one claim a sentence; for people who check it again.
        lines: the text of the lines that each was judged on.
    """

    unit_id: str
    split: str
    setting: str
    page: str
    checks: CheckedText
    truth: CheckedText | None
    tokens: TokenText
    sentences: np.ndarray
    about: np.ndarray
    texts: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    def column(self, name: str) -> np.ndarray:
        """One column of the sentences."""
        return self.sentences[:, SENTENCE_COLUMNS.index(name)]


def generations_to_readout(units: Sequence[CheckedGeneration]) -> Readout:
    """Pack generations for ``data/inference``; either all of them have a truth or none."""
    checks = checks_to_readout([unit.checks for unit in units]).arrays
    arrays = {**checks, **texts_to_readout([unit.tokens for unit in units]).arrays}
    truths = [unit.truth for unit in units if unit.truth is not None]
    if len(truths) == len(units):
        arrays |= {f"true_{name}": values for name, values in checks_to_readout(truths).arrays.items()}
    empty = np.zeros((0, len(SENTENCE_COLUMNS)))
    arrays |= {
        "setting": np.array([unit.setting for unit in units], dtype=np.str_),
        "page": np.array([unit.page for unit in units], dtype=np.str_),
        "sentence": np.concatenate([unit.sentences for unit in units] or [empty]),
        "sentence_lengths": np.array([len(unit.sentences) for unit in units], dtype=np.int64),
        "claim": np.array([text for unit in units for text in unit.texts], dtype=np.str_),
        "claim_lengths": np.array([len(unit.texts) for unit in units], dtype=np.int64),
        "line": np.array([text for unit in units for text in unit.lines], dtype=np.str_),
        "line_lengths": np.array([len(unit.lines) for unit in units], dtype=np.int64),
        "about": np.array([unit.about for unit in units], dtype=np.float64).reshape(len(units), len(UNIT_COLUMNS)),
    }
    return Readout(tuple(unit.unit_id for unit in units), tuple(unit.split for unit in units), arrays)


def generations_from_readout(readout: Readout) -> list[CheckedGeneration]:
    """Inverse of :func:`generations_to_readout`."""
    arrays = readout.arrays
    ids, splits = readout.unit_ids, readout.splits
    checks = checks_from_readout(readout)
    truths: Sequence[CheckedText | None] = (
        checks_from_readout(readout, "true_") if "true_label" in arrays else [None] * len(ids)
    )
    texts = zip(readout.ragged("token"), readout.ragged("reference"), strict=True)
    tokens = [TokenText(unit, split, *pair) for unit, split, pair in zip(ids, splits, texts, strict=True)]
    rows = zip(arrays["setting"].tolist(), arrays["page"].tolist(), checks, truths, tokens, strict=True)
    words = [[tuple(row.tolist()) for row in readout.ragged(name)] for name in ("claim", "line")]
    tables = zip(readout.ragged("sentence"), arrays["about"], *words, strict=True)
    return [
        CheckedGeneration(unit, split, *row, *table)
        for unit, split, row, table in zip(ids, splits, rows, tables, strict=True)
    ]


def checks_from_readout(readout: Readout, prefix: str = "") -> list[CheckedText]:
    """Inverse of :func:`longform.critics.verifiability.verdicts.checks_to_readout`; under ``true_`` stand the known labels."""
    ends = np.cumsum(readout.arrays[f"{prefix}label_lengths"])[:-1]
    labels = np.split(readout.arrays[f"{prefix}label"], ends)
    evidence = np.split(readout.arrays[f"{prefix}evidence"], ends)
    rows = zip(readout.unit_ids, readout.splits, labels, evidence, strict=True)
    return [
        CheckedText(unit, split, tuple(LABELS[i] for i in one.tolist()), tuple(map(_evidence, lines.tolist())))
        for unit, split, one, lines in rows
    ]


def _evidence(text: str) -> Evidence:
    """One sentence's evidence from its packed form, a line number, a tab and a page per line."""
    pairs = (line.split("\t", 1) for line in text.split("\n") if line)
    return frozenset((page, int(number)) for number, page in pairs)
