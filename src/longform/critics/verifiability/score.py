"""How much of a generated text an encyclopedia supports (massarelli2020, equations 2-5)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.base import Spans, TextCritic
from longform.critics.verifiability.checks import NEI, SENTENCES, SUPPORTED, CheckedText
from longform.critics.verifiability.checks import (  # every critic's module has one of this name
    units_from_predictions as units_from_predictions,
)
from longform.documents import Document
from longform.errors import ConfigError
from longform.statistics.arithmetic import ratio
from longform.statistics.signatures import READING  # of fields that signatures leave out
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.text.sentences import SPLITTERS

SPLITTER = "rules"  # how texts of one's own are split into sentences


def labels_of(unit: CheckedText, sentences: int, unique: bool) -> list[str]:
    """The labels of the first sentences of a text: supported, refuted or not enough information.

    Args:
        unit: the text's verdicts.
        sentences: how many count.
        unique: whether a sentence with the label and the evidence of an earlier one is labelled not
            enough information (``NEI``).
    """
    labels: list[str] = []
    seen = set()
    for label, evidence in zip(unit.labels[:sentences], unit.evidence, strict=False):
        repeated = unique and (label, evidence) in seen
        labels.append(NEI if repeated else label)
        seen.add((label, evidence))
    return labels


# ``share``: the score is one of yes among answers of yes or no; ``needs``: what a text must have.
@dataclass(frozen=True)
class _CheckerCritic(TextCritic, better="higher", share=True, needs="a sentence"):
    """Reads texts with a fact checker that the pipeline trained.

    Attributes:
        checker: the checker's folder.
    """

    checker: Path | str | None = field(default=None, kw_only=True, metadata=READING)

    def read_texts(self, documents: Sequence[Document]) -> list[CheckedText]:
        """Verdicts on the first sentences of each text.

        Each is a claim about the encyclopedia's page that the title of the first section names.

        Raises ConfigError: no checker was named.
        """
        if self.checker is None:
            name = type(self).__name__
            raise ConfigError(
                f"{name} has no fact checker to read texts with; "
                f"name the folder of one that verifiability trained: {name}(checker=FOLDER)"
            )
        from longform.critics.verifiability.read import check_texts  # here: it brings torch along

        return check_texts(documents, Path(self.checker), SPLITTER)


# Its parts are sentences, whose values sum to the column ``supported``; a small one is a bad sign.
@dataclass(frozen=True)
class SupportedPerGeneration(
    _CheckerCritic, parts="sentences", attributed=("supported",), blame=-1
):
    """SPG (equation 2), or USPG (equation 4): the share of the k sentences that is supported.

    Missing sentences count against a text, so that none is excluded.

    Attributes:
        unique: whether a repeated label with the same evidence counts as not enough information.
        sentences: k.
    """

    unique: bool = False
    sentences: int = SENTENCES

    def spans(self, document: Document, unit: CheckedText, values: np.ndarray) -> Spans | None:
        """The span of each checked sentence; None where one is not in the text word for word."""
        spans: Spans = []
        start = 0
        for piece in map(str.strip, SPLITTERS[SPLITTER](document.text)):
            if piece and len(spans) < len(values):
                start = document.text.find(piece, start)
                if start < 0:
                    return None
                spans.append((start, start + len(piece)))
                start += len(piece)
        return spans if len(spans) == len(values) else None

    def part_values(self, units: Sequence[CheckedText]) -> list[np.ndarray]:
        """1 for each supported sentence, else 0, (sentences,)."""
        parts = []
        for unit in units:
            labels = np.array(labels_of(unit, self.sentences, self.unique), dtype=np.str_)
            parts.append((labels == SUPPORTED).astype(np.float64))
        return parts

    def sufficient_statistics(self, units: Sequence[CheckedText]) -> SufficientStatistics:
        """A row a text: ``supported`` sentences, ``generations`` (1), ``excluded`` (always 0)."""
        rows = []
        for supported in self.part_values(units):
            rows.append((supported.sum(), 1, 0))
        return SufficientStatistics.of(units, ("supported", "generations", "excluded"), rows)

    def of_sums(self, sums: Sums) -> Any:
        """Supported sentences over k times the generations."""
        return ratio(sums.total("supported"), self.sentences * sums.total("generations"))


@dataclass(frozen=True)
class SupportedPerVerified(_CheckerCritic):
    """SPV (equation 3), or USPV (equation 5): the supported share of what is verified.

    Attributes:
        unique: whether a repeated label with the same evidence counts as not enough information.
        pooled: divide the sums over all generations instead of averaging the shares.
        sentences: k, how many sentences of a text are judged.
    """

    unique: bool = False
    pooled: bool = False
    sentences: int = SENTENCES

    def sufficient_statistics(self, units: Sequence[CheckedText]) -> SufficientStatistics:
        """Supported and verified sentences; a generation without verified ones is excluded."""
        rows = []
        for unit in units:
            labels = labels_of(unit, self.sentences, self.unique)
            supported = labels.count(SUPPORTED)
            verified = len(labels) - labels.count(NEI)
            if verified:
                rows.append((supported, verified, supported / verified, 1, 0))
            else:
                rows.append((0, 0, 0, 0, 1))
        columns = ("supported", "verified", "share", "generations", "excluded")
        return SufficientStatistics.of(units, columns, rows)

    def of_sums(self, sums: Sums) -> Any:
        """The supported share, in [0, 1]; nan where no generation has a verified sentence."""
        if self.pooled:
            return ratio(sums.total("supported"), sums.total("verified"))
        return ratio(sums.total("share"), sums.total("generations"))
