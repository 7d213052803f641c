"""The neural ranker's number for each text, higher where it hangs together."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np

from longform.critics.base import TextCritic
from longform.documents import SPLITS, Document, Predictions, Unit
from longform.errors import ConfigError
from longform.statistics.signatures import READING
from longform.statistics.sufficient_statistics import SufficientStatistics

# Ours: kinds of shuffles that sheng2024 section 5.1 tests with, and a schedule for a few hundred
# texts; every fifth text validates.
SHUFFLES = (("block", 1), ("block", 2), ("block", 5), ("window", 1), ("window", 2), ("window", 3))
SCHEDULE = {"learning_rate": 1e-3, "batch": 16, "epochs": 20, "validations": 4}
VALIDATION_EVERY = 5


@dataclass(frozen=True)
class ScoredText(Unit):
    """One text and the value that a network gave it; nan where the text could not be read."""

    value: float


def units_from_predictions(predictions: Predictions) -> list[ScoredText]:
    """Each text with its value, high if it coheres: the array ``text_score``, float64 (texts,)."""
    units = []
    for unit, split, value in predictions.rows("text_score"):
        units.append(ScoredText(unit, split, float(value)))
    return units


# Class keywords and metadata: see TextCritic.
@dataclass(frozen=True)
class NeuralRanker(
    TextCritic,
    better="higher",
    divided=("value", "texts"),
    needs="two sentences",
    recorded_as="GivenScore",
):
    """Mean value of texts under a network that was trained to rank texts above their shuffles.

    Attributes:
        model: folder of a trained ranker; where ``encoder`` is named, the folder to write it to.
        encoder: folder of a causal language model or sentence encoder, on whose frozen features
            :meth:`fit` trains a ranker; None where ``model`` is trained already.
        seed: of the training.
    """

    model: Path | str | None = field(default=None, kw_only=True, metadata=READING)
    encoder: Path | str | None = field(default=None, kw_only=True, metadata=READING)
    seed: int = field(default=0, kw_only=True, metadata=READING)

    def prepare(self, documents: Sequence[Document]) -> Self:
        """Train a ranker on real texts against their shuffles and write it to the folder ``model``.

        Raises ConfigError: no folder was named, or it holds something already.
        """
        if self.encoder is None:
            return self
        folder = self._folder()
        if folder.exists() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder}: holds something already; name a new folder for the trained ranker, "
                "or leave encoder out to score with the one that lies there"
            )
        from longform.critics.neural_ranker.train import fit  # here, since it brings torch along

        split_documents = []
        for number, document in enumerate(documents):
            split = "train" if number % VALIDATION_EVERY else "validation"
            split_documents.append(replace(document, split=split))
        with TemporaryDirectory() as scratch:
            trained = fit(
                documents=split_documents,
                base=Path(self.encoder),
                name="neural_ranker",
                seed=self.seed,
                scratch=Path(scratch),
                splitter="rules",
                tasks=SHUFFLES,
                schedule=SCHEDULE,
            )
            folder.mkdir(parents=True, exist_ok=True)
            trained.save(folder)
        return replace(self, encoder=None)

    def read_texts(self, documents: Sequence[Document]) -> list[ScoredText]:
        """The network's value of each text; nan for one of fewer than two sentences."""
        folder = self._folder()
        from longform.critics.neural_ranker.train import read

        predictions = read(documents=documents, reader=folder, name="neural_ranker", splits=SPLITS)
        return units_from_predictions(predictions)

    def sufficient_statistics(self, units: Sequence[ScoredText]) -> SufficientStatistics:
        """A row a text: its ``value``, ``texts`` (1) and ``excluded`` (no value)."""
        values = np.array([unit.value for unit in units], dtype=np.float64)
        scored = ~np.isnan(values)
        return SufficientStatistics.of_columns(
            units, value=np.where(scored, values, 0.0), texts=scored, excluded=~scored
        )

    def _folder(self) -> Path:
        """The trained ranker's folder. Raises ConfigError: none was named."""
        if self.model is None:
            raise ConfigError(
                "NeuralRanker has no trained network; name its folder, NeuralRanker(model=FOLDER), "
                "or NeuralRanker(encoder=ENCODER, model=NEW_FOLDER).fit(real texts)"
            )
        return Path(self.model)
