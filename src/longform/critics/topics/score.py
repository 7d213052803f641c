r"""The topic critic: a Gaussian over topic logits judges how probable a document's mix of topics is.

deng2022 section 6: $T(x) = -E_{q(\eta|x)} \log N(\eta; \mu, \Sigma)$ in nats per document, with the correlated topic
model's variational posterior $q = \prod_i N(\lambda_i, \nu_i)$. The released code evaluates at the mean $\lambda$; the
definition's expectation adds $\tfrac12 \sum_i \nu_i S_{ii}$ with $S = \Sigma^{-1}$. Both are kept per document.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from longform.critics.topics.model import inverse
from longform.documents import Predictions, Unit
from longform.errors import BadInput
from longform.statistics.arithmetic import ratio
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored
from longform.text.rendering import unpack

EXCERPT = 600  # characters of an outlier that are kept (ours)
COLUMNS = ("nats_at_mean", "nats_of_spread", "documents", "tokens", "excluded")


@dataclass(frozen=True)
class TopicReading(Unit):
    """One document's posterior of topic logits."""

    logits: np.ndarray  # (topics - 1,) means
    variances: np.ndarray  # (topics - 1,)
    tokens: int  # tokens inside the vocabulary
    valid: bool = (
        True  # False where the document has no known word; such a document is counted, never scored
    )
    text: str = ""  # of the document, where the reader kept it


def units_from_predictions(predictions: Predictions) -> list[TopicReading]:
    """One reading per unit of what :func:`longform.critics.topics.read.read` wrote."""
    rows = predictions.rows("lambda", "nu", "tokens", "valid")
    return [
        TopicReading(unit, split, mean, wide, int(tokens), bool(valid), text)
        for (unit, split, mean, wide, tokens, valid), text in zip(
            rows, unpack(predictions), strict=True
        )
    ]


@dataclass(frozen=True)
class LogisticNormalCritic(SumScored, better="reference_matched", parts="topics", blame=1):
    """Latent NLL of topic logits, nats per document; no perplexity, as the latent is continuous."""

    full_expectation: bool = (
        False  # over the posterior; False scores its mean, as the released code does
    )
    own_prior: bool = True  # fit to real documents; False keeps the topic model's Gaussian, as the released code does
    mean: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    precision: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)

    @property
    def attributed(self) -> tuple[str, ...]:
        """The columns that ``score`` adds up."""
        return COLUMNS[:2] if self.full_expectation else COLUMNS[:1]

    def part_values(self, units: Sequence[TopicReading]) -> list[np.ndarray]:
        r"""Per topic logit $\tfrac12 d_i (S d)_i$, its share of the constant, and of the spread where that is scored."""
        mean, precision = self._prior()
        constant = negative_log_density(mean, mean, precision) / len(mean)
        found = []
        for unit in self.judged(units):
            apart = unit.logits - mean
            spread = 0.5 * unit.variances * np.diag(precision) if self.full_expectation else 0.0
            nats = 0.5 * apart * (precision @ apart) + constant + spread
            found.append(nats if unit.valid else np.zeros(0))
        return found

    def fit_units(self, real: Sequence[TopicReading]) -> Self:
        r"""The Gaussian that maximises the bound: mean of $\lambda$, $\Sigma = \bar\nu + \mathrm{cov}(\lambda)$."""
        if not self.own_prior:
            return self
        kept = [reading for reading in real if reading.valid]
        if not kept:
            raise BadInput(
                f"topic critic: none of {len(real)} documents has a known word; fit on other documents"
            )
        mean, covariance = moments(kept)
        return self.with_prior(
            mean, covariance + np.diag(np.mean([reading.variances for reading in kept], axis=0))
        )

    def with_prior(self, mean: np.ndarray, covariance: np.ndarray) -> Self:
        """The critic with a topic model's own Gaussian (released: the model's final mean and covariance)."""
        return replace(self, mean=np.asarray(mean, np.float64), precision=inverse(covariance))

    def sufficient_statistics(self, units: Sequence[TopicReading]) -> SufficientStatistics:
        """Per document: NLL at the mean, what the spread adds, 1, tokens, excluded."""
        units, (mean, precision) = self.judged(units), self._prior()
        rows = np.zeros((len(units), len(COLUMNS)))
        for row, unit in zip(rows, units, strict=True):
            if not unit.valid:
                row[-1] = 1
                continue
            if unit.logits.shape != mean.shape:
                raise BadInput(
                    f"topic critic: document {unit.unit_id!r} has {len(unit.logits)} logits, the critic was fitted on "
                    f"{len(mean)}; read it with the same topic model"
                )
            row[:4] = negative_log_density(unit.logits, mean, precision), 0, 1, unit.tokens
            row[1] = 0.5 * float(unit.variances @ np.diag(precision))
        return SufficientStatistics.of(units, COLUMNS, rows)

    def of_sums(self, sums: Sums) -> Any:
        return ratio(self._nats(sums.total), sums.total("documents"))

    def _nats(self, column: Callable[[str], Any]) -> Any:
        return column("nats_at_mean") + (column("nats_of_spread") if self.full_expectation else 0.0)

    def describe(self, units: Sequence[TopicReading], count: int = 10) -> dict[str, Any]:
        """The documents with the largest T(x), worst first (deng2022, Table 14's kind), with their texts where kept.

        Beside them the covariance of the posterior means, divisor n, which Figures 6, 8 and 9 show (released code); without
        a variance term it is smaller than the model's own.
        """
        units = self.judged(units)
        shown = [unit for unit in units if unit.valid]
        covariance = moments(shown)[1].round(6).tolist() if len(shown) > 1 else []
        statistics = self.sufficient_statistics(units)
        nats, kept = (
            self._nats(statistics.column),
            np.flatnonzero(statistics.column("excluded") == 0),
        )
        worst = kept[np.argsort(-nats[kept], kind="stable")][:count]
        found = {
            "outliers": [(units[i].unit_id, float(nats[i])) for i in worst],
            "covariance_of_means": covariance,
        }
        texts = [units[i].text[:EXCERPT] for i in worst if units[i].text]
        return {**found, "outlier_texts": texts} if any(unit.text for unit in units) else found

    def _prior(self) -> tuple[np.ndarray, np.ndarray]:
        if self.mean is None or self.precision is None:
            raise BadInput(
                "topic critic: not fitted; call fit on real documents or with_prior on a model's Gaussian"
            )
        return self.mean, self.precision


@dataclass(frozen=True)
class RandomTopicCritic(LogisticNormalCritic):
    """The same critic on topic logits drawn at random: each topic's posterior is that of a training document of its own.

    The chance row of a table of Latent NLL: every topic keeps its distribution, and no topic goes with another.
    """

    logits: np.ndarray | None = field(
        default=None, repr=False, metadata=FITTED
    )  # (training documents, topics - 1)
    variances: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[TopicReading]) -> Self:
        kept = [unit for unit in real if unit.valid]
        logits, variances = (
            np.array([getattr(unit, name) for unit in kept]) for name in ("logits", "variances")
        )
        return replace(super().fit_units(real), logits=logits, variances=variances)

    def judged(self, units: Sequence[TopicReading]) -> list[TopicReading]:
        if self.logits is None or self.variances is None:
            raise BadInput(
                "random topics: not fitted, so nothing to draw from; call fit on real documents"
            )
        documents, topics = self.logits.shape
        columns = np.arange(topics)
        drawn = []
        for unit in units:
            rows = generator("random topics", unit.unit_id).integers(0, documents, topics)
            logits, variances = self.logits[rows, columns], self.variances[rows, columns]
            drawn.append(replace(unit, logits=logits, variances=variances, text=""))
        return drawn


def released(*, real: Predictions, full_expectation: bool = False) -> LogisticNormalCritic:
    """The released critic: the topic model's own Gaussian, as the predictions carries it; fitting changes nothing."""
    critic = LogisticNormalCritic(full_expectation=full_expectation, own_prior=False)
    return critic.with_prior(real.arrays["prior_mean_names"], real.arrays["prior_covariance_names"])


def negative_log_density(point: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> float:
    r"""$\tfrac12 (x-\mu)^\top S (x-\mu) + \tfrac n2 \log 2\pi - \tfrac12 \log |S|$, nats."""
    apart = point - mean
    constant = 0.5 * (len(point) * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1])
    return float(0.5 * apart @ precision @ apart + constant)


def moments(units: Sequence[TopicReading]) -> tuple[np.ndarray, np.ndarray]:
    """Mean (topics - 1,) and covariance (topics - 1, topics - 1), divisor n, of the posterior means."""
    points = np.array([unit.logits for unit in units], np.float64)
    mean = points.mean(axis=0)
    centred = points - mean
    return mean, centred.T @ centred / len(points)
