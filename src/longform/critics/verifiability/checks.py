"""What a fact checker said of texts: verdicts on sentences, with everything that Table 4 counts.

Source: massarelli2020, sections 3 and 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.documents import Predictions, Unit, ragged
from longform.errors import InputError
from longform.text.rendering import TokenText, texts_to_predictions

LABELS = SUPPORTED, REFUTED, NEI = ("supported", "refuted", "not_enough_info")
Evidence = frozenset[tuple[str, int]]  # (page, line)
SENTENCES = 5  # k, massarelli2020 section 3
SENTENCE_COLUMNS = (
    "words",  # and marks, before replacements
    "entities",  # runs of capitalised words, and numbers
    "conjunctions",  # coordinators and the conjuncts that they join
    "linked",  # 1 parsed by Link Grammar, 0 not, nan where it is not installed
    "tfidf",  # with the prefix's page
    "nats",  # mean log-probability of its tokens under the model that wrote it
    "same_as",  # number of the first equal sentence of the generation
    "support",
    "refutation",  # highest probabilities over the judged lines
    "conflict",  # one line supports, another refutes
    "named",  # the determiner rule put the title in
    "pronouns",  # replaced ones
    "cut",  # the generation ran out inside the sentence
    "found",  # a line of the known evidence was judged; of a labelled claim all (nan without any)
)
UNIT_COLUMNS = ("prefix_perplexity", "tfidf", "repeat")


@dataclass(frozen=True)
class CheckedText(Unit):
    """The checker's verdicts on the first sentences of one generation, in order.

    Attributes:
        labels: one of ``LABELS`` per sentence; empty for an empty generation, which supports
        nothing.
        evidence: what each verdict rests on.
    """

    labels: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.evidence):
            raise InputError(
                f"{self.unit_id}: {len(self.labels)} labels and {len(self.evidence)} evidence sets"
            )
        unknown = set(self.labels) - set(LABELS)
        if unknown:
            raise InputError(
                f"{self.unit_id}: labels {sorted(unknown)}, allowed are {LABELS}; rename them"
            )

    @classmethod
    def of(cls, unit: str, split: str, rows: Sequence[tuple[str, Evidence]]) -> "CheckedText":
        """The checked text of a unit, from a label with its evidence for each sentence."""
        labels, evidence = [], []
        for label, lines in rows:
            labels.append(label)
            evidence.append(lines)
        return cls(unit, split, tuple(labels), tuple(evidence))


def checks_to_predictions(units: Sequence[CheckedText]) -> Predictions:
    """Pack verdicts as predictions, which are arrays.

    Returns:
        Ragged ``label``, an index into ``label_names``, and ``evidence``, one string a sentence: a
        line ``number TAB page`` for each line of evidence.
    """
    labels, evidence = [], []
    for unit in units:
        labels.append(list(map(LABELS.index, unit.labels)))
        evidence.append(list(map(_packed, unit.evidence)))
    arrays = ragged("label", labels, np.int8) | ragged("evidence", evidence, np.str_)
    arrays["label_names"] = np.array(LABELS, dtype=np.str_)
    return Predictions.of(units, arrays)


def _packed(evidence: Evidence) -> str:
    """Evidence as text: ``number TAB page`` for each line, sorted."""
    return "\n".join(f"{line}\t{page}" for page, line in sorted(evidence))


def _unpacked(text: str) -> Evidence:
    """The evidence of a text that :func:`_packed` wrote."""
    evidence = set()
    for row in filter(None, text.split("\n")):
        line, page = row.split("\t", 1)
        evidence.add((page, int(line)))
    return frozenset(evidence)


def units_from_predictions(predictions: Predictions, prefix: str = "") -> list[CheckedText]:
    """Inverse of :func:`checks_to_predictions`; under ``true_`` stand the known labels."""
    units = []
    for unit, split, indices, texts in predictions.rows(f"{prefix}label", f"{prefix}evidence"):
        labels = tuple(LABELS[index] for index in indices.tolist())
        evidence = tuple(map(_unpacked, texts.tolist()))
        units.append(CheckedText(unit, split, labels, evidence))
    return units


@dataclass(frozen=True)
class CheckedGeneration(Unit):
    """One generation with everything that Table 4 counts.

    Attributes:
        setting: which decoder wrote it (or which claims these are).
        page: the prefix's page; generations of one page are resampled together.
        checks: the checker's verdicts on its first sentences.
        truth: planted labels and evidence of these sentences; None where nothing is known.
        tokens: the continuation, and the human text in its place.
        sentences: float64 (sentences, SENTENCE_COLUMNS).
        about: numbers of the whole text, float64 (UNIT_COLUMNS,).
        texts: what was checked, one claim a sentence, for people who check it again.
        lines: the text of the lines that each was judged on.
    """

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
        """One column of the sentences, (sentences,)."""
        return self.sentences[:, SENTENCE_COLUMNS.index(name)]


def generations_to_predictions(units: Sequence[CheckedGeneration]) -> Predictions:
    """Pack generations as predictions, with arrays ``true_...`` if all of them have a truth."""
    # 1. Columns of all units.
    checks, tokens, truths = [], [], []
    settings, pages, about, tables, claims, lines = [], [], [], [], [], []
    for unit in units:
        checks.append(unit.checks)
        tokens.append(unit.tokens)
        if unit.truth is not None:
            truths.append(unit.truth)
        settings.append(unit.setting)
        pages.append(unit.page)
        about.append(unit.about)
        tables.append(unit.sentences)
        claims.append(unit.texts)
        lines.append(unit.lines)
    # 2. Verdicts, known labels where every unit has them, and tokens.
    arrays = {**checks_to_predictions(checks).arrays, **texts_to_predictions(tokens).arrays}
    if len(truths) == len(units):
        for name, values in checks_to_predictions(truths).arrays.items():
            arrays[f"true_{name}"] = values
    # 3. What is known of each generation and of its sentences.
    arrays["setting"] = np.array(settings, dtype=np.str_)
    arrays["page"] = np.array(pages, dtype=np.str_)
    arrays |= ragged("sentence", tables, np.float64, len(SENTENCE_COLUMNS))
    arrays |= ragged("claim", claims, np.str_)
    arrays |= ragged("line", lines, np.str_)
    shape = (len(units), len(UNIT_COLUMNS))
    arrays["about"] = np.array(about, dtype=np.float64).reshape(shape)
    return Predictions.of(units, arrays)


def generations_from_predictions(predictions: Predictions) -> list[CheckedGeneration]:
    """The generations of predictions that :func:`generations_to_predictions` packed."""
    checks = units_from_predictions(predictions)
    truths: Sequence[CheckedText | None] = [None] * len(checks)
    if "true_label" in predictions.arrays:
        truths = units_from_predictions(predictions, "true_")
    texts = predictions.rows("token", "reference")
    rows = predictions.rows("setting", "page", "sentence", "about", "claim", "line")
    units = []
    for row, check, truth, text in zip(rows, checks, truths, texts, strict=True):
        unit, split, setting, page, sentences, about, claims, lines = row
        generation = CheckedGeneration(
            unit,
            split,
            setting=str(setting),
            page=str(page),
            checks=check,
            truth=truth,
            tokens=TokenText(*text),
            sentences=sentences,
            about=about,
            texts=tuple(claims.tolist()),
            lines=tuple(lines.tolist()),
        )
        units.append(generation)
    return units
