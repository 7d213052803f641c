"""What every critic can do with plain texts: fit, score, compare, attribute, save and load.

A critic gets this face in five steps:

1. Derive its class from :class:`TextCritic` in place of ``SumScored``. What learns from units is
   called ``fit_units``, what gives the parts of units ``part_values``.
2. ``read_texts(documents)`` makes units by the critic's own reader. Settings of that reader are
   keyword-only fields with ``metadata=READING``; a reader that learns from real text (a topic
   model, a trained head) is made in ``prepare(documents)``, which returns the critic that has it.
3. ``spans(document, unit, values)`` says where the parts stand in ``document.text``; a critic whose
   parts are no places names them in ``part_names(values)`` instead.
4. ``needs="two sentences"`` in the class's head says what a text must have to be scored. A class
   that was renamed keeps the name that committed records show in ``recorded_as="OldName"``.
5. A line in ``catalogue.py`` (what it asks, needs and costs), and a README whose example a test
runs.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from longform.critics.saving import identity, load_critic, save_critic
from longform.critics.scores import Attribution, Part, Score, ScoreDifference
from longform.datasets.own_texts import documents_from
from longform.documents import Document, Unit
from longform.errors import ConfigError, InputError
from longform.statistics.comparisons import compare, resampled_difference
from longform.statistics.estimates import bootstrap_scores, estimate
from longform.statistics.intervals import percentile_interval
from longform.statistics.protocols import Attributing, Grouping
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics, clustered
from longform.statistics.sum_scored import SumScored, unit_scores

RESAMPLES = 1000
PERMUTATIONS = 2000
Spans = list[tuple[int, int]]
Texts = (
    Any  # texts, documents, records with a text, a Path of a file or folder; or units of a reader
)


class TextCritic(SumScored):
    """A critic on texts, documents, or units that its reader made earlier, which it takes as they
    are.
    """

    needs: ClassVar[str] = "words"  # what a text must have to be scored

    @abstractmethod
    def read_texts(self, documents: Sequence[Document]) -> list[Any]:
        """A unit for each document, by the critic's own reader."""

    @abstractmethod
    def sufficient_statistics(self, units: Sequence[Any]) -> SufficientStatistics:
        """A row of sums and counts for each unit, a column ``excluded`` among them."""

    def prepare(self, documents: Sequence[Document]) -> Self:
        """The critic with what its reader learns from real texts: itself, where that is nothing."""
        return self

    def spans(self, document: Document, unit: Any, values: np.ndarray) -> Spans | None:
        """Where each part stands in ``document.text``; None where parts are no places in it.

        Args:
            unit: what was read of the document.
            values: of its parts, float64 (parts,); cells of a grid are added up by sentence.
        """
        return None

    def part_names(self, values: np.ndarray) -> Sequence[str]:
        """A name for each part, where parts are no places."""
        return [f"part {number}" for number in range(1, len(values) + 1)]

    def fit(self, real: Texts) -> Self:
        """Learn from real texts.

        Args:
            real: a list of texts, documents or records, a Path, or units of the critic's reader.

        Returns:
            The fitted critic; this one stays as it is.

        Raises:
            InputError: a single text in place of a list, no text, or too little to learn from.
        """
        items, documents = self._listed(real)
        if documents is None:
            return self.fit_units(items)
        critic = self.prepare(documents)
        return critic.fit_units(critic.read_texts(documents))

    def score(self, texts: Texts, *, resamples: int = RESAMPLES, seed: int = 0) -> Score:
        """The critic's number for a set of texts, with its 95 % interval.

        Args:
            texts: as for :meth:`fit`.
            resamples: of the bootstrap over texts.
            seed: of the bootstrap.

        Raises:
            InputError: as :meth:`fit`, or no text could be scored; also where it is not fitted.
        """
        return self._score(self._statistics(texts), resamples, generator(seed, "score"))

    def compare(
        self,
        first: Texts,
        second: Texts,
        *,
        paired: bool | None = None,
        permutations: int = PERMUTATIONS,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> ScoreDifference:
        """The scores of two sets of texts, their difference with a 95 % interval, and a test of it.

        Args:
            first, second: as for :meth:`fit`.
            paired: whether the texts of the same place belong together, as two answers to one
                prompt do. By default documents with the same ids do, and plain texts do not.
            permutations: of the test.
            resamples: of the bootstrap over texts.
            seed: of both.

        Raises:
            InputError: as :meth:`score`, or ``paired`` with different numbers of texts.
        """
        one = self._statistics(first)
        other = self._statistics(second)
        other = self._matched(one, other, paired, _plain(first) or _plain(second))
        first_score = self._score(one, resamples, generator(seed, "score"))
        second_score = self._score(other, resamples, generator(seed, "score"))
        test = compare(self, one, other, generator(seed, "difference"), permutations)
        rng = generator(seed, "interval")
        if test.paired:
            draws = resampled_difference((self, one), (self, other), rng, resamples)
        else:
            draws = bootstrap_scores(self, one, rng, resamples)
            draws = draws - bootstrap_scores(self, other, rng, resamples)
        low, high = percentile_interval(draws)
        return ScoreDifference(
            difference=test.difference,
            low=low,
            high=high,
            p_value=test.p_value,
            paired=test.paired,
            first=first_score,
            second=second_score,
            better=self.better,
            signature=self.identity,
        )

    def attribute(self, text: Any) -> Attribution:
        """The parts of one text with what each adds to its score.

        Args:
            text: a text, a document, or a unit of the critic's reader, of which only values are
                known.

        Raises:
            InputError: a list of texts, or a text without a word.
            ConfigError: the critic judges sets of texts, which have no parts.
        """
        if not isinstance(self, Attributing):
            raise ConfigError(f"{self._name}: it judges sets of texts and has no parts of one text")
        if isinstance(text, Sequence) and not isinstance(text, str):
            raise InputError(f"{self._name}.attribute: got a list; give one text at a time")
        items, documents = self._listed([text])
        units = items if documents is None else self.read_texts(documents)
        values = by_sentence(self.part_values(units)[0])
        spans = self.spans(documents[0], units[0], values) if documents else None
        if spans is None or documents is None:
            names = self.part_names(values)
            parts = [Part(name, value) for name, value in zip(names, values.tolist(), strict=True)]
        else:
            words = documents[0].text
            parts = []
            for (start, end), value in zip(spans, values.tolist(), strict=True):
                parts.append(Part(words[start:end], value, start, end))
        value = float(unit_scores(self, units)[0])
        bad = "large" if self.blame > 0 else "small"
        return Attribution(units[0].unit_id, value, tuple(parts), bad, self.identity)

    def save(self, path: Path | str) -> None:
        """Keep the critic in one npz file without pickled objects.

        Raises ConfigError: it holds an open model; name the model's folder instead.
        """
        save_critic(Path(path), self)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """A critic of this class from a file that :meth:`save` wrote.

        Raises ArtefactError: no such file, a damaged one, or a critic of another class.
        """
        critic = load_critic(Path(path))
        if not isinstance(critic, cls):
            raise InputError(f"{path}: holds a {type(critic).__name__}, not a {cls.__name__}")
        return critic

    @cached_property
    def identity(self) -> str:
        """Class, settings, checksum of these and all that it learnt, and version.

        Critics of equal identity give equal texts equal scores.
        """
        return identity(self)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _listed(self, texts: Texts) -> tuple[list[Any], list[Document] | None]:
        """Units with None where units were given, else documents, once more as documents."""
        given_units = isinstance(texts, list | tuple) and texts and isinstance(texts[0], Unit)
        if given_units:
            return list(texts), None
        documents = documents_from(texts, self._name)
        return list(documents), documents

    def _statistics(self, texts: Texts) -> SufficientStatistics:
        """One row for each text, or for each group of texts that are not independent."""
        items, documents = self._listed(texts)
        units = items if documents is None else self.read_texts(documents)
        statistics = self.sufficient_statistics(units)
        if statistics.total("excluded") == len(units):
            raise InputError(
                f"{self._name}: none of {len(units)} texts could be scored; "
                f"a text needs {self.needs}"
            )
        if isinstance(self, Grouping):
            return clustered(statistics, self.groups(units))
        return statistics

    def _score(
        self, statistics: SufficientStatistics, resamples: int, rng: np.random.Generator
    ) -> Score:
        found = estimate(self, statistics, rng, resamples)
        low, high = (found.low, found.high) if found.units > 1 else (np.nan, np.nan)
        return Score(
            found.value, low, high, found.units, found.excluded, self.better, self.identity
        )

    def _matched(
        self,
        one: SufficientStatistics,
        other: SufficientStatistics,
        paired: bool | None,
        plain: bool,
    ) -> SufficientStatistics:
        """The second statistics with ids that are those of the first exactly where texts are pairs."""
        if paired:
            if len(one.unit_ids) != len(other.unit_ids):
                raise InputError(
                    f"{self._name}.compare: {len(one.unit_ids)} and {len(other.unit_ids)} texts "
                    "are no pairs; give both sides the same number, or leave paired out"
                )
            return replace(other, unit_ids=one.unit_ids)
        if paired is None and not plain:
            return other
        return replace(other, unit_ids=tuple(f"second/{name}" for name in other.unit_ids))


def _plain(texts: Texts) -> bool:
    """Whether texts are plain ones, which have no ids of their own."""
    return isinstance(texts, Sequence) and any(isinstance(text, str) for text in texts)


def by_sentence(parts: np.ndarray) -> np.ndarray:
    """Parts in one dimension: cells (sentences, entities) are added up by sentence."""
    return parts if parts.ndim == 1 else np.nansum(parts, axis=1)
