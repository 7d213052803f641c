"""What every critic can do with plain texts: fit, score, compare, attribute, save and load.

A critic gets this face in five steps:

1. Derive its class from :class:`TextCritic` in place of ``SumScored``. What learns from units is
   called ``fit_units``, what gives the parts of units ``part_values``.
2. ``read_texts(documents)`` makes units by the critic's own reader. Settings of that reader are
   keyword-only fields with ``metadata=READING``; a reader that learns from real text (a topic
   model, a trained head) is made in ``prepare(documents)``, which returns the critic that has it.
3. ``spans(document, unit, values)`` says where the parts stand in ``document.text``; a critic whose
   parts are no places names them in ``part_names(values)`` instead.
4. Class keywords are ``needs="two sentences"``, what a text must have to be scored, and those that
   :class:`SumScored` explains.
5. An entry in ``catalogue.py`` (what it asks, needs and costs), and a README whose example a test
runs. ``docs/add_a_critic.md`` has a whole critic.
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
from longform.datasets.own_texts import documents_from, is_named_by_place
from longform.documents import Document, Unit
from longform.errors import ConfigError, InputError, counted
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
# texts, documents, records with a text, a Path of a file or folder; or units of a reader
Texts = Any


class TextCritic(SumScored):
    """A critic on texts or documents, which it reads, or on units that its reader made earlier.

    Class keywords are attributes of :class:`SumScored`. Fields marked ``READING`` say how texts are
    read, ``FITTED`` ones are set by ``fit``; no signature has them.
    """

    needs: ClassVar[str] = "words"  # what a text must have to be scored

    @abstractmethod
    def read_texts(self, documents: Sequence[Document]) -> list[Any]:
        """A unit for each document, by the critic's own reader."""

    @abstractmethod
    def sufficient_statistics(self, units: Sequence[Any]) -> SufficientStatistics:
        """A row of sums and counts for each unit, a column ``excluded`` among them."""

    def prepare(self, documents: Sequence[Document]) -> Self:
        """A critic whose reader has learnt from real texts; itself where that learns nothing."""
        return self

    def spans(self, document: Document, unit: Any, values: np.ndarray) -> Spans | None:
        """The half-open character span of each part in ``document.text``; None if it has no place.

        Args:
            unit: what was read of the document.
            values: of its parts, float64 (parts,); cells of a grid are added up by sentence.
        """
        return None

    def part_names(self, values: np.ndarray) -> Sequence[str]:
        """A name for each of the parts, for critics whose parts have no place in the text."""
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
        if _are_units(real):
            return self.fit_units(list(real))
        documents = documents_from(real, self._name)
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
        rows = self._statistics(self._units(texts))
        return self._score(rows, resamples, generator(seed, "score"))

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
                prompt do. By default documents with the same ids do, and texts without ids of
                their own do not.
            permutations: of the test.
            resamples: of the bootstrap over texts.
            seed: of both.

        Raises:
            InputError: as :meth:`score`, or ``paired`` with different numbers of texts.
        """
        # 1. Statistics of both sides, whose ids agree where texts are pairs.
        first_units = self._units(first)
        second_units = self._units(second)
        all_units = (*first_units, *second_units)
        ids_are_places = any(is_named_by_place(unit.unit_id) for unit in all_units)
        first_rows = self._statistics(first_units)
        second_rows = self._with_ids_for_pairs(
            self._statistics(second_units),
            first=first_rows,
            paired=paired,
            ids_are_places=ids_are_places,
        )
        # 2. Each side's score, and the test of their difference.
        first_score = self._score(first_rows, resamples, generator(seed, "score"))
        second_score = self._score(second_rows, resamples, generator(seed, "score"))
        test = compare(self, first_rows, second_rows, generator(seed, "difference"), permutations)
        # 3. The interval of the difference: pairs are resampled together, other texts by side.
        rng = generator(seed, "interval")
        if test.paired:
            differences = resampled_difference(
                (self, first_rows), (self, second_rows), rng, resamples
            )
        else:
            first_draws = bootstrap_scores(self, first_rows, rng, resamples)
            differences = first_draws - bootstrap_scores(self, second_rows, rng, resamples)
        low, high = percentile_interval(differences)
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
        # 1. The text's unit; a unit that came without its document has no places to show.
        document: Document | None = None
        unit = text
        if not isinstance(text, Unit):
            (document,) = documents_from([text], self._name)
            (unit,) = self.read_texts([document])
        # 2. The value of each part, with its place in the text or, without one, its name.
        values = by_sentence(self.part_values([unit])[0])
        spans = None
        if document is not None:
            spans = self.spans(document, unit, values)
        parts = []
        scored = len(values) > 0
        if scored and (document is None or spans is None):
            for name, value in zip(self.part_names(values), values.tolist(), strict=True):
                parts.append(Part(name, value))
        elif scored and document is not None and spans is not None:
            for (start, end), value in zip(spans, values.tolist(), strict=True):
                parts.append(Part(document.text[start:end], value, start, end))
        # 3. The score of the text alone.
        score = float(unit_scores(self, [unit])[0])
        bad = "large" if self.blame > 0 else "small"
        return Attribution(unit.unit_id, score, tuple(parts), bad, self.identity)

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

    def _units(self, texts: Texts) -> list[Any]:
        """The units that the critic's reader makes of texts; units are returned as they are."""
        if _are_units(texts):
            return list(texts)
        return self.read_texts(documents_from(texts, self._name))

    def _statistics(self, units: Sequence[Any]) -> SufficientStatistics:
        """Sufficient statistics with a row a unit, or a row a group of units that are dependent.

        Raises InputError: every unit is excluded, so no text could be scored.
        """
        statistics = self.sufficient_statistics(units)
        if statistics.total("excluded") == len(units):
            raise InputError(
                f"{self._name}: {counted(len(units), 'text')}, none could be scored; "
                f"a text needs {self.needs}"
            )
        if isinstance(self, Grouping):
            return clustered(statistics, self.groups(units))
        return statistics

    def _score(
        self, statistics: SufficientStatistics, resamples: int, rng: np.random.Generator
    ) -> Score:
        """The score of texts with its 95 % bootstrap interval, nan for a single text."""
        result = estimate(self, statistics, rng, resamples)
        low = high = np.nan
        if result.units > 1:
            low = result.low
            high = result.high
        return Score(
            value=result.value,
            low=low,
            high=high,
            units=result.units,
            excluded=result.excluded,
            better=self.better,
            signature=self.identity,
        )

    def _with_ids_for_pairs(
        self,
        second: SufficientStatistics,
        *,
        first: SufficientStatistics,
        paired: bool | None,
        ids_are_places: bool,
    ) -> SufficientStatistics:
        """The second side's statistics, with the first side's ids exactly where texts are pairs.

        Args:
            first, second: rows of each side's texts.
            paired: as for :meth:`compare`.
            ids_are_places: whether ids only number the texts' places in a list.

        Raises:
            InputError: pairs of different numbers of texts.
        """
        if paired:
            if len(first.unit_ids) != len(second.unit_ids):
                raise InputError(
                    f"{self._name}.compare: {len(first.unit_ids)} and {len(second.unit_ids)} texts "
                    "are no pairs; give both sides the same number, or leave paired out"
                )
            return replace(second, unit_ids=first.unit_ids)
        if paired is None and not ids_are_places:
            return second
        # no pairs: the prefix leaves no id in common
        return replace(second, unit_ids=tuple(f"second/{name}" for name in second.unit_ids))


def _are_units(texts: Texts) -> bool:
    """Whether ``texts`` is a list of units, which a critic's reader made earlier."""
    return isinstance(texts, list | tuple) and len(texts) > 0 and isinstance(texts[0], Unit)


def by_sentence(values: np.ndarray) -> np.ndarray:
    """Values of parts, (parts,): a grid's (sentences, entities) are added up by sentence, less nan.

    Other critics' values, of one dimension already, are returned as they are.
    """
    return values if values.ndim == 1 else np.nansum(values, axis=1)
