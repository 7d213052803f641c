"""The bases of critics' settings: what is trained, what reads texts, what scores; and what a stage gives each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from longform.settings import Settings

if TYPE_CHECKING:
    import numpy as np

    from longform.documents import Document, Predictions


class Saved(Protocol):
    """What a training gives: something that writes itself into a folder."""

    def save(self, folder: Path) -> None:
        """Write the files."""


@dataclass(frozen=True)
class TrainingInputs:
    """What a stage gives the training of a critic."""

    documents: "Sequence[Document]"
    base: Path  # what the training starts from
    name: str
    seed: int
    scratch: Path  # a folder for unfinished work


class CriticTraining(Settings):
    """What a critic learns from real text."""

    def fit(self, inputs: TrainingInputs) -> Saved:
        """Learn it."""
        raise NotImplementedError


@dataclass(frozen=True)
class PredictionInputs:
    """What a stage gives a reader of texts."""

    documents: "list[Document]"
    truth: "Mapping[str, np.ndarray]"  # what the texts' corpus says of itself
    reader: Path  # the folder of a trained critic, a model or a corpus
    reader_truth: "Mapping[str, np.ndarray]"  # what that corpus says of itself
    splits: list[str]
    titles: bool  # whether section titles are part of the texts
    name: str
    seed: int


class Reading(Settings):
    """A way to read texts: what comes out are predictions, which metrics score."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        """Read the texts."""
        raise NotImplementedError


class MetricSettings(Settings):
    """A metric: what scores predictions."""

    def metric(self, real: "Predictions") -> Any:
        """The metric before it is fitted.

        Args:
            real: predictions of the texts that it will be fitted on.
        """
        raise NotImplementedError

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        """What the metric scores, one for each text."""
        raise NotImplementedError
