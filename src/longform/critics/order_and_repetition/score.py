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
    """Measures of one text, each larger where the text is better; nan where it has none.

    Attributes:
        own_order: nats a token that shuffles of its sentences cost more than the text.
        fluency: minus the nats a token.
        mild_worst_sentence: minus the nats a token of the costliest sentence but the first.
        new_grams: share of word 4-grams that were not said before in the text.
    """

    own_order: float
    fluency: float
    mild_worst_sentence: float
    new_grams: float


# Class keywords and metadata: see TextCritic.
@dataclass(frozen=True)
class OrderAndRepetition(
    TextCritic,
    better="higher",
    divided=("quantile", "texts"),
    parts="measures",
    blame=-1,
    needs="a word",
):
    """Mean quantile of texts among real ones, 0 to 1, over measures of equal weight.

    Attributes:
        measures: which ones count, of :data:`MEASURES`.
        model: folder of a causal language model that reads texts.
        window: largest number of tokens that the model sees; None for all its positions.
        shuffles: other orders with which a text's own is compared.
        seed: of the shuffles.
        reference: the values of each measure in real texts, ascending, (texts,); set by fitting.
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
        """Check the measures. Raises ConfigError: an unknown measure, or none at all."""
        for name in self.measures:
            if name not in MEASURES:
                raise ConfigError(
                    f"measure {name!r}{did_you_mean(name, MEASURES)}; allowed are {MEASURES}"
                )
        if not self.measures:
            raise ConfigError(f"no measure is named; name some of {MEASURES}")

    def with_stored_reference(self) -> Self:
        """The critic with stored measures of real texts in place of fitted ones.

        SmolLM2-135M-Instruct (4 bits) read them: summaries of news and short stories. Where
        real texts of the same kind are at hand, ``fit`` is better; nats of another model need it.
        """
        values = read_json(STORED_REFERENCE)["values"]
        reference = {}
        for name in self.measures:
            reference[name] = np.array(values[name], dtype=np.float64)
        return replace(self, reference=reference)

    def read_texts(self, documents: Sequence[Document]) -> list[TextMeasures]:
        """Measure each text by the language model. Raises ConfigError: no model was named."""
        if self.model is None:
            raise ConfigError(
                "OrderAndRepetition has no language model to read texts with; "
                "name its folder: OrderAndRepetition(model=FOLDER)"
            )
        # It brings torch along.
        from longform.critics.order_and_repetition.read import sentence_costs

        costs = sentence_costs(
            documents,
            model=Path(self.model),
            shuffles=self.shuffles,
            seed=self.seed,
            window=self.window,
        )
        units = []
        for document, cost in zip(documents, costs, strict=True):
            units.append(measures_of_costs(document, cost))
        return units

    def fit_units(self, real: Sequence[TextMeasures]) -> Self:
        """Take the values of each measure in real texts as the reference.

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
        """What each measure adds to a text's score: its quantile over the number of measures.

        Returns:
            For each text float64 (measures,); (0,) where it has none of the measures.

        Raises InputError: the critic was not fitted.
        """
        if not self.reference:
            raise InputError("OrderAndRepetition: not fitted to texts yet; call fit(real texts)")
        columns = []
        for name in self.measures:
            columns.append(quantiles(_values(units, name), self.reference[name]))
        quantiles_of_texts = np.column_stack(columns)  # (texts, measures)
        parts = list(quantiles_of_texts / len(self.measures))
        for number, is_measured in enumerate(self._measured(units)):
            if not is_measured:
                parts[number] = np.zeros(0)
        return parts

    def _measured(self, units: Sequence[TextMeasures]) -> list[bool]:
        """Whether each text has at least one of the measures."""
        has_some = np.zeros(len(units), dtype=bool)
        for name in self.measures:
            has_some |= np.isfinite(_values(units, name))
        return has_some.tolist()

    def part_names(self, values: np.ndarray) -> Sequence[str]:
        """The names of the measures."""
        return self.measures

    def sufficient_statistics(self, units: Sequence[TextMeasures]) -> SufficientStatistics:
        """A row a text: mean ``quantile``, ``texts`` (1), and ``excluded`` without measures."""
        rows = []
        for parts, is_scored in zip(self.part_values(units), self._measured(units), strict=True):
            rows.append((parts.sum(), is_scored, not is_scored))
        return SufficientStatistics.of(units, ("quantile", "texts", "excluded"), rows)


def measures_of_costs(document: Document, costs: "SentenceCosts") -> TextMeasures:
    """Measures of one text from what it costs a language model, nats a token.

    The first sentence, which has no context, cannot be the worst one.
    """
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
    """The quantile of each value among real texts, float64 (texts,), in (0, 1).

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
    """Distinct 4-grams of words over all 4-grams, 1 without repetition; nan for a shorter text."""
    num_grams = len(words) - N + 1
    if num_grams < 1:
        return np.nan
    different = set()
    for start in range(num_grams):
        different.add(tuple(words[start : start + N]))
    return len(different) / num_grams
