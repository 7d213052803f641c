"""Order and repetition: quantiles among real texts of a few measures of a text, without weights.

Which measures count is in ``choice.yaml``, with the day and the rated sets on which they were
chosen (docs/decisions).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from longform.critics.base import TextCritic
from longform.documents import Document, Unit
from longform.errors import ConfigError, InputError, did_you_mean
from longform.files.artefacts import read_json, read_yaml
from longform.statistics.signatures import FITTED, READING
from longform.statistics.sufficient_statistics import SufficientStatistics

if TYPE_CHECKING:
    from longform.critics.order_and_repetition.read import SentenceCosts

MEASURES = ("own_order", "fluency", "mild_worst_sentence", "new_grams")
CHOSEN = tuple(read_yaml(Path(__file__).with_name("choice.yaml"))["measures"])
STORED_REFERENCE = Path(__file__).with_name("reference.json")
N = 4  # words of a gram, as massarelli2020 counts them
FEWEST = 10  # ours: real texts with a measure, among which a text has a quantile
MIDDLE = 0.5  # the quantile of a text that has no such measure


@dataclass(frozen=True)
class TextMeasures(Unit):
    """What was measured of one text, so that more is better; nan where it has no such measure.

    Attributes:
        own_order: nats a token that shuffles of its sentences cost more than the text.
        fluency: minus the nats a token.
        mild_worst_sentence: minus the nats a token of the dearest sentence behind the first.
        new_grams: share of word 4-grams that were not said before in the text.
    """

    own_order: float
    fluency: float
    mild_worst_sentence: float
    new_grams: float


@dataclass(frozen=True)
class OrderAndRepetition(
    TextCritic,
    better="higher",
    divided=("quantile", "texts"),
    parts="measures",
    blame=-1,
    needs="a word",
):
    """Mean quantile of texts among real ones, 0 to 1, over measures that count alike.

    Attributes:
        measures: which ones count, of :data:`MEASURES`.
        model: folder of a causal language model that reads texts.
        window: largest number of tokens that the model sees; None for all its positions.
        shuffles: other orders that a text's own is held against.
        seed: of the shuffles.
        reference: of each measure its values in real texts, ascending; set by fitting.
    """

    measures: tuple[str, ...] = CHOSEN
    model: Path | str | None = field(default=None, kw_only=True, metadata=READING)
    window: int | None = field(default=None, kw_only=True, metadata=READING)
    shuffles: int = field(default=3, kw_only=True, metadata=READING)
    seed: int = field(default=0, kw_only=True, metadata=READING)
    reference: Mapping[str, np.ndarray] = field(
        default_factory=dict, kw_only=True, repr=False, metadata=FITTED
    )

    def __post_init__(self) -> None:
        """Raises ConfigError: a measure that there is not, or none."""
        for name in self.measures:
            if name not in MEASURES:
                raise ConfigError(
                    f"measure {name!r}{did_you_mean(name, MEASURES)}; allowed are {MEASURES}"
                )
        if not self.measures:
            raise ConfigError(f"no measure is named; name some of {MEASURES}")

    def with_stored_reference(self) -> Self:
        """The critic among people's texts that SmolLM2-135M-Instruct (4 bits) read.

        They are summaries of news and short stories (``reference.json``). Where real texts of the
        same kind are at hand, ``fit`` is better; nats of another model need it.
        """
        values = read_json(STORED_REFERENCE)["values"]
        reference = {}
        for name in self.measures:
            reference[name] = np.array(values[name], dtype=np.float64)
        return replace(self, reference=reference)

    def read_texts(self, documents: Sequence[Document]) -> list[TextMeasures]:
        """Measures of texts. Raises ConfigError: no model was named."""
        if self.model is None:
            raise ConfigError(
                "OrderAndRepetition has no language model to read texts with; "
                "name its folder: OrderAndRepetition(model=FOLDER)"
            )
        # It brings torch along.
        from longform.critics.order_and_repetition.read import sentence_costs

        costs = sentence_costs(documents, Path(self.model), self.shuffles, self.seed, self.window)
        units = []
        for document, cost in zip(documents, costs, strict=True):
            units.append(measures_of_costs(document, cost))
        return units

    def fit_units(self, real: Sequence[TextMeasures]) -> Self:
        """Learn what values each measure has in real texts.

        Raises InputError: too few texts have a measure.
        """
        reference = {}
        for name in self.measures:
            values = _values(real, name)
            in_real_texts = np.sort(values[np.isfinite(values)])
            if len(in_real_texts) < FEWEST:
                raise InputError(
                    f"OrderAndRepetition: {len(in_real_texts)} real texts have {name}, "
                    f"{FEWEST} are needed; give more of them, or longer ones"
                )
            reference[name] = in_real_texts
        return replace(self, reference=reference)

    def part_values(self, units: Sequence[TextMeasures]) -> list[np.ndarray]:
        """What each measure adds to a text's score, (measures,); (0,) where none was taken.

        Raises InputError: the critic was not fitted.
        """
        if not self.reference:
            raise InputError("OrderAndRepetition: not fitted to texts yet; call fit(real texts)")
        columns = []
        for name in self.measures:
            columns.append(quantiles(_values(units, name), self.reference[name]))
        parts = list(np.column_stack(columns) / len(self.measures))
        for number, is_measured in enumerate(self._measured(units)):
            if not is_measured:
                parts[number] = np.zeros(0)
        return parts

    def _measured(self, units: Sequence[TextMeasures]) -> list[bool]:
        """Whether each text has one of the measures at least."""
        has_some = np.zeros(len(units), dtype=bool)
        for name in self.measures:
            has_some |= np.isfinite(_values(units, name))
        return has_some.tolist()

    def part_names(self, values: np.ndarray) -> Sequence[str]:
        return self.measures

    def sufficient_statistics(self, units: Sequence[TextMeasures]) -> SufficientStatistics:
        """Quantile and number of texts; one that has no measure at all is excluded."""
        rows = []
        for parts, is_scored in zip(self.part_values(units), self._measured(units), strict=True):
            rows.append((parts.sum(), is_scored, not is_scored))
        return SufficientStatistics.of(units, ("quantile", "texts", "excluded"), rows)


def measures_of_costs(document: Document, costs: "SentenceCosts") -> TextMeasures:
    """Measures of one text from what it costs a language model."""
    own_order = worst_sentence = np.nan
    if len(costs.shuffled):
        own_order = costs.shuffled.mean() - costs.original
    if np.isfinite(costs.sentences[1:]).any():
        worst_sentence = np.nanmax(costs.sentences[1:])
    return TextMeasures(
        document.id,
        document.split,
        own_order=float(own_order),
        fluency=-costs.original,
        mild_worst_sentence=-float(worst_sentence),
        new_grams=new_grams(document.text.split()),
    )


def quantiles(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The share of real texts below each value, equal ones by half, in (0, 1).

    The text itself counts as one of them. A value that is missing has the middle.

    Args:
        values: of a measure, float64 (texts,).
        reference: the same of real texts, ascending.
    """
    below = np.searchsorted(reference, values, "left")
    not_above = np.searchsorted(reference, values, "right")
    shares = (below + not_above + 1) / (2 * (len(reference) + 1))
    return np.where(np.isnan(values), MIDDLE, shares)


def _values(units: Sequence[TextMeasures], name: str) -> np.ndarray:
    """One measure of all texts, float64 (texts,)."""
    return np.array([getattr(unit, name) for unit in units], dtype=np.float64)


def new_grams(words: Sequence[str]) -> float:
    """Share of 4-grams of words that are met for the first time; nan without one."""
    num_grams = len(words) - N + 1
    if num_grams < 1:
        return np.nan
    different = set()
    for start in range(num_grams):
        different.add(tuple(words[start : start + N]))
    return len(different) / num_grams
