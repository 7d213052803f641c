"""How much of a generated text an encyclopedia supports (massarelli2020, equations 2-5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longform.documents import Predictions, Unit, ragged
from longform.errors import BadInput
from longform.statistics.arithmetic import ratio
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored
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
class CheckedText(Unit):
    """The checker's verdicts on the first sentences of one generation, in order."""

    labels: tuple[
        str, ...
    ]  # one of ``LABELS`` per sentence; may be empty (an empty generation supports nothing)
    evidence: tuple[Evidence, ...]  # what the verdict rests on, one set per sentence

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.evidence):
            raise BadInput(
                f"{self.unit_id}: {len(self.labels)} labels and {len(self.evidence)} evidence sets"
            )
        if wrong := set(self.labels) - set(LABELS):
            raise BadInput(
                f"{self.unit_id}: labels {sorted(wrong)}, allowed are {LABELS}; rename them"
            )

    @classmethod
    def of(cls, unit: str, split: str, rows: Sequence[tuple[str, Evidence]]) -> "CheckedText":
        """From a label with its evidence for each sentence."""
        return cls(
            unit, split, tuple(label for label, _ in rows), tuple(evidence for _, evidence in rows)
        )


def checks_to_predictions(units: Sequence[CheckedText]) -> Predictions:
    """Pack verdicts for ``data/inference``: ``label`` indexes ``label_names``; evidence is one string a sentence."""
    arrays = ragged(
        "label", [[LABELS.index(label) for label in unit.labels] for unit in units], np.int8
    )
    evidence = [
        ["\n".join(f"{line}\t{page}" for page, line in sorted(e)) for e in unit.evidence]
        for unit in units
    ]
    arrays |= ragged("evidence", evidence, np.str_)
    return Predictions.of(units, arrays | {"label_names": np.array(LABELS, dtype=np.str_)})


def units_from_predictions(predictions: Predictions, prefix: str = "") -> list[CheckedText]:
    """Inverse of :func:`checks_to_predictions`; under the prefix ``true_`` stand the known labels."""
    units = []
    for unit, split, labels, evidence in predictions.rows(f"{prefix}label", f"{prefix}evidence"):
        lines = [
            [line.split("\t", 1) for line in text.split("\n") if line] for text in evidence.tolist()
        ]
        sets = tuple(frozenset((page, int(number)) for number, page in own) for own in lines)
        units.append(CheckedText(unit, split, tuple(LABELS[i] for i in labels.tolist()), sets))
    return units


@dataclass(frozen=True)
class CheckedGeneration(Unit):
    """One generation."""

    setting: str  # which decoder wrote it (or which claims these are)
    page: str  # the prefix's page; generations of one page are resampled together
    checks: CheckedText  # the checker's verdicts on its first sentences
    truth: CheckedText | None  # what is planted about them; None where nothing is known
    tokens: TokenText  # the continuation, and the human text in its place
    sentences: np.ndarray  # float64 (sentences, SENTENCE_COLUMNS)
    about: np.ndarray  # float64 (UNIT_COLUMNS,)
    texts: tuple[
        str, ...
    ] = ()  # what was checked, one claim a sentence; for people who check it again
    lines: tuple[str, ...] = ()  # the text of the lines that each was judged on

    def column(self, name: str) -> np.ndarray:
        """One column of the sentences."""
        return self.sentences[:, SENTENCE_COLUMNS.index(name)]


def generations_to_predictions(units: Sequence[CheckedGeneration]) -> Predictions:
    """Pack generations for ``data/inference``; either all of them have a truth or none."""
    checks = checks_to_predictions([unit.checks for unit in units]).arrays
    arrays = {**checks, **texts_to_predictions([unit.tokens for unit in units]).arrays}
    truths = [unit.truth for unit in units if unit.truth is not None]
    if len(truths) == len(units):
        arrays |= {
            f"true_{name}": values for name, values in checks_to_predictions(truths).arrays.items()
        }
    arrays |= {
        "setting": np.array([unit.setting for unit in units], dtype=np.str_),
        "page": np.array([unit.page for unit in units], dtype=np.str_),
        **ragged("sentence", [unit.sentences for unit in units], np.float64, len(SENTENCE_COLUMNS)),
        **ragged("claim", [unit.texts for unit in units], np.str_),
        **ragged("line", [unit.lines for unit in units], np.str_),
        "about": np.array([unit.about for unit in units], dtype=np.float64).reshape(
            len(units), len(UNIT_COLUMNS)
        ),
    }
    return Predictions.of(units, arrays)


def generations_from_predictions(predictions: Predictions) -> list[CheckedGeneration]:
    """Inverse of :func:`generations_to_predictions`."""
    checks, tokens = (
        units_from_predictions(predictions),
        [TokenText(*row) for row in predictions.rows("token", "reference")],
    )
    known = "true_label" in predictions.arrays
    truths: Sequence[CheckedText | None] = (
        units_from_predictions(predictions, "true_") if known else [None] * len(checks)
    )
    rows = predictions.rows("setting", "page", "sentence", "about", "claim", "line")
    units = []
    for row, check, true, text in zip(rows, checks, truths, tokens, strict=True):
        unit, split, setting, page, table, about, claims, lines = row
        said = tuple(claims.tolist()), tuple(lines.tolist())
        units.append(
            CheckedGeneration(
                unit, split, str(setting), str(page), check, true, text, table, about, *said
            )
        )
    return units


def labels_of(unit: CheckedText, sentences: int, unique: bool) -> list[str]:
    """Labels of the first so many sentences; with ``unique``, what repeats an earlier label and its evidence says nothing."""
    pairs = list(zip(unit.labels, unit.evidence, strict=True))[:sentences]
    return [
        NEI if unique and pair in pairs[:place] else pair[0] for place, pair in enumerate(pairs)
    ]


@dataclass(frozen=True)
class SupportedPerGeneration(
    SumScored, better="higher", share=True, parts="sentences", attributed=("supported",), blame=-1
):
    """SPG, or USPG with ``unique``: the share of the k sentences that is supported; missing sentences count against it."""

    unique: bool = False
    sentences: int = SENTENCES

    def part_values(self, units: Sequence[CheckedText]) -> list[np.ndarray]:
        rows = [labels_of(unit, self.sentences, self.unique) for unit in units]
        return [np.array([label == SUPPORTED for label in row], dtype=np.float64) for row in rows]

    def sufficient_statistics(self, units: Sequence[CheckedText]) -> SufficientStatistics:
        rows = [(part.sum(), 1, 0) for part in self.part_values(units)]
        return SufficientStatistics.of(units, ("supported", "generations", "excluded"), rows)

    def of_sums(self, sums: Sums) -> Any:
        return ratio(sums.total("supported"), self.sentences * sums.total("generations"))


@dataclass(frozen=True)
class SupportedPerVerified(SumScored, better="higher", share=True):
    """SPV, or USPV with ``unique``: the supported share of what is verified."""

    unique: bool = False
    pooled: bool = False  # divide the sums over all generations instead of averaging the shares
    sentences: int = SENTENCES

    def sufficient_statistics(self, units: Sequence[CheckedText]) -> SufficientStatistics:
        rows = []
        for unit in units:
            labels = labels_of(unit, self.sentences, self.unique)
            supported, verified = labels.count(SUPPORTED), len(labels) - labels.count(NEI)
            rows.append(
                (supported, verified, supported / verified, 1, 0) if verified else (0, 0, 0, 0, 1)
            )
        return SufficientStatistics.of(
            units, ("supported", "verified", "share", "generations", "excluded"), rows
        )

    def of_sums(self, sums: Sums) -> Any:
        """In [0, 1]; nan where no generation has a verified sentence."""
        top, bottom = ("supported", "verified") if self.pooled else ("share", "generations")
        return ratio(sums.total(top), sums.total(bottom))
