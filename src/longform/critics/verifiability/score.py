"""How much of a generated text an encyclopedia supports (massarelli2020, equations 2-5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import Better, Sums, SumScored, Tally
from longform.core.documents import BadInput, Readout, ragged
from longform.core.resampling import ratio
from longform.core.text.rendering import TokenText, texts_to_readout

LABELS = ("supported", "refuted", "not_enough_info")
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
class CheckedText:
    """The checker's verdicts on the first sentences of one generation, in order.

    Attributes:
        labels: one of ``LABELS`` per sentence; may be empty (an empty generation supports nothing).
        evidence: what the verdict rests on, one set per sentence.
    """

    unit_id: str
    split: str
    labels: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.evidence):
            raise BadInput(
                f"{self.unit_id}: {len(self.labels)} labels and {len(self.evidence)} evidence sets; one each"
            )
        if wrong := set(self.labels) - set(LABELS):
            raise BadInput(f"{self.unit_id}: labels {sorted(wrong)}, allowed are {LABELS}; rename them")


def checks_to_readout(units: Sequence[CheckedText]) -> Readout:
    """Pack verdicts for ``data/inference``: ``label`` indexes ``label_names``; evidence is one string a sentence."""
    arrays = ragged("label", [[LABELS.index(label) for label in unit.labels] for unit in units], np.int8)
    evidence = [["\n".join(f"{line}\t{page}" for page, line in sorted(e)) for e in unit.evidence] for unit in units]
    arrays |= ragged("evidence", evidence, np.str_)
    return Readout.of(units, arrays | {"label_names": np.array(LABELS, dtype=np.str_)})


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
    arrays |= {
        "setting": np.array([unit.setting for unit in units], dtype=np.str_),
        "page": np.array([unit.page for unit in units], dtype=np.str_),
        **ragged("sentence", [unit.sentences for unit in units], np.float64, len(SENTENCE_COLUMNS)),
        **ragged("claim", [unit.texts for unit in units], np.str_),
        **ragged("line", [unit.lines for unit in units], np.str_),
        "about": np.array([unit.about for unit in units], dtype=np.float64).reshape(len(units), len(UNIT_COLUMNS)),
    }
    return Readout.of(units, arrays)


def generations_from_readout(readout: Readout) -> list[CheckedGeneration]:
    """Inverse of :func:`generations_to_readout`."""
    checks = checks_from_readout(readout)
    truths: Sequence[CheckedText | None] = (
        checks_from_readout(readout, "true_") if "true_label" in readout.arrays else [None] * len(checks)
    )
    tokens = [TokenText(*row) for row in readout.rows("token", "reference")]
    read = zip(checks, truths, tokens, strict=True)
    told = zip(readout.rows("setting", "page", "sentence", "about", "claim", "line"), read, strict=True)
    return [
        CheckedGeneration(
            unit, split, str(setting), str(page), *own, table, about, tuple(claims.tolist()), tuple(lines.tolist())
        )
        for (unit, split, setting, page, table, about, claims, lines), own in told
    ]


def checks_from_readout(readout: Readout, prefix: str = "") -> list[CheckedText]:
    """Inverse of :func:`checks_to_readout`; under ``true_`` stand the known labels."""
    return [
        CheckedText(unit, split, tuple(LABELS[i] for i in labels.tolist()), tuple(map(_evidence, lines.tolist())))
        for unit, split, labels, lines in readout.rows(f"{prefix}label", f"{prefix}evidence")
    ]


def _evidence(text: str) -> Evidence:
    pairs = (line.split("\t", 1) for line in text.split("\n") if line)
    return frozenset((page, int(number)) for number, page in pairs)


def verified(unit: CheckedText, sentences: int, unique: bool) -> list[str]:
    """Labels of the verified sentences among the first so many, repeats left out on request."""
    pairs = list(zip(unit.labels, unit.evidence, strict=True))[:sentences]
    kept = [pair for pair in pairs if pair[0] != "not_enough_info"]
    return [label for label, _ in (dict.fromkeys(kept) if unique else kept)]


def supported(unit: CheckedText, sentences: int, unique: bool) -> np.ndarray:
    """Per sentence among the first so many 1 where it is supported, and with ``unique`` not said before; else 0."""
    seen, found = set(), []
    for pair in list(zip(unit.labels, unit.evidence, strict=True))[:sentences]:
        found.append(pair[0] == "supported" and not (unique and pair in seen))
        seen.add(pair)
    return np.array(found, dtype=np.float64)


@dataclass(frozen=True)
class SupportedPerGeneration(SumScored):
    """SPG, or USPG with ``unique``: the share of the k sentences that is supported; missing sentences count against it."""

    unique: bool = False
    sentences: int = SENTENCES
    better: ClassVar[Better] = "higher"
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("supported",)
    blame: ClassVar[int] = -1

    def attribute(self, units: Sequence[CheckedText]) -> list[np.ndarray]:
        return [supported(unit, self.sentences, self.unique) for unit in units]

    def tally(self, units: Sequence[CheckedText]) -> Tally:
        """Columns supported, generations, excluded (never)."""
        found = [verified(unit, self.sentences, self.unique).count("supported") for unit in units]
        return Tally.of(units, ("supported", "generations", "excluded"), [(n, 1, 0) for n in found])

    def of_sums(self, sums: Sums) -> Any:
        return ratio(sums.total("supported"), self.sentences * sums.total("generations"))


@dataclass(frozen=True)
class SupportedPerVerified(SumScored):
    """SPV, or USPV with ``unique``: the supported share of what is verified.

    Attributes:
        pooled: divide the sums over all generations instead of averaging the shares.
    """

    unique: bool = False
    pooled: bool = False
    sentences: int = SENTENCES
    better: ClassVar[Better] = "higher"

    def tally(self, units: Sequence[CheckedText]) -> Tally:
        """Columns supported, verified, share, generations, excluded (nothing verified)."""
        columns = ("supported", "verified", "share", "generations", "excluded")
        return Tally.of(units, columns, [self._row(unit) for unit in units])

    def _row(self, unit: CheckedText) -> tuple[float, ...]:
        found = verified(unit, self.sentences, self.unique)
        if not found:
            return 0, 0, 0, 0, 1
        supported = found.count("supported")
        return supported, len(found), supported / len(found), 1, 0

    def of_sums(self, sums: Sums) -> Any:
        """In [0, 1]; nan where no generation has a verified sentence."""
        top, bottom = ("supported", "verified") if self.pooled else ("share", "generations")
        return ratio(sums.total(top), sums.total(bottom))


def units_from_readout(readout: Readout) -> list[CheckedText]:
    """Verdicts as they were read."""
    return checks_from_readout(readout)
