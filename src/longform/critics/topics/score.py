r"""The topic critic: how probable a document's mix of topics is under a Gaussian over topic logits.

deng2022 section 6: $T(x) = -E_{q(\eta|x)} \log N(\eta; \mu, \Sigma)$ in nats per document, with the
correlated topic model's variational posterior $q = \prod_i N(\lambda_i, \nu_i)$. The released code
evaluates at the mean $\lambda$; the definition's expectation adds $\tfrac12 \sum_i \nu_i S_{ii}$
with $S = \Sigma^{-1}$. Both are counted per document.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from longform.critics.base import TextCritic
from longform.critics.topics.model import TopicModel, inverse
from longform.documents import Document, Predictions, Unit
from longform.errors import InputError, counted
from longform.statistics.arithmetic import ratio
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED, READING
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.text.rendering import unpack

EXCERPT = 600  # characters of an outlier that are kept (ours)
OUTLIERS = 10  # of a set that a record lists
TOPIC_WORDS = 3  # that name a topic
COLUMNS = ("nats_at_mean", "nats_of_spread", "documents", "tokens", "excluded")


@dataclass(frozen=True)
class TopicPosterior(Unit):
    """One document's posterior of topic logits.

    Attributes:
        logits, variances: means and variances, (topics - 1,).
        tokens: tokens inside the vocabulary.
        valid: False where the document has no known word; it is counted, never scored.
        text: of the document, where the reader kept it.
    """

    logits: np.ndarray
    variances: np.ndarray
    tokens: int
    valid: bool = True
    text: str = ""


def units_from_predictions(predictions: Predictions) -> list[TopicPosterior]:
    """The posterior of each text, from ``proportions`` of :mod:`longform.critics.topics.read`."""
    rows = predictions.rows("lambda", "nu", "tokens", "valid")
    posteriors = []
    for row, text in zip(rows, unpack(predictions), strict=True):
        unit_id, split, logits, variances, tokens, valid = row
        posteriors.append(
            TopicPosterior(unit_id, split, logits, variances, int(tokens), bool(valid), text)
        )
    return posteriors


# Class keywords and metadata: see TextCritic.
@dataclass(frozen=True)
class Topics(
    TextCritic,
    better="reference_matched",
    parts="topics",
    blame=1,
    needs="a word of the topic model",
    recorded_as="LogisticNormalCritic",
):
    """Latent NLL of topic logits, nats per document; no perplexity, as the latent is continuous.

    Attributes:
        full_expectation: over the posterior; False scores its mean, as the released code does.
        own_prior: fit to real documents; False keeps the topic model's Gaussian, as the released
            code does.
        topics: of the topic model that is fitted to plain texts; 0 for ten, or fewer of few texts.
        seed: of that model's start.
        model: the fitted topic model.
        mean, precision: of the Gaussian, (topics - 1,) and (topics - 1, topics - 1).
    """

    full_expectation: bool = False
    own_prior: bool = True
    topics: int = field(default=0, kw_only=True, metadata=READING)
    seed: int = field(default=1234, kw_only=True, metadata=READING)
    model: TopicModel | None = field(default=None, kw_only=True, repr=False, metadata=FITTED)
    mean: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    precision: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)

    def prepare(self, documents: Sequence[Document]) -> Self:
        """Fit a topic model to real texts."""
        from longform.critics.topics.own_texts import fitted_model

        return replace(self, model=fitted_model(documents, self.topics, self.seed))

    def read_texts(self, documents: Sequence[Document]) -> list[TopicPosterior]:
        """The posterior of each text's topics. Raises InputError: not fitted to real texts."""
        if self.model is None:
            raise InputError("Topics: not fitted yet; call fit(real texts), use what it returns")
        from longform.critics.topics.own_texts import topics_of

        return units_from_predictions(topics_of(documents, self.model))

    def part_names(self, values: np.ndarray) -> list[str]:
        """Each topic's most probable words."""
        if self.model is None:
            return [f"topic {number}" for number in range(1, len(values) + 1)]
        names = []
        for probabilities in self.model.beta[: len(values)]:
            top_terms = np.argsort(-probabilities, kind="stable")[:TOPIC_WORDS]
            names.append(" ".join(self.model.vocabulary[term] for term in top_terms))
        return names

    @property
    def attributed(self) -> tuple[str, ...]:
        """The columns whose sum is the score."""
        return COLUMNS[:2] if self.full_expectation else COLUMNS[:1]

    def part_values(self, units: Sequence[TopicPosterior]) -> list[np.ndarray]:
        r"""What each topic logit adds to a text's nats, float64 (topics - 1,); (0,) where invalid.

        With the deviation $d = \lambda - \mu$ it is $\tfrac12 d_i (S d)_i$, an equal share of the
        constant, and $\tfrac12 \nu_i S_{ii}$ where the spread is scored.
        """
        mean, precision = self._prior()
        constant = negative_log_density(mean, mean, precision) / len(mean)
        values = []
        for unit in self.judged(units):
            if not unit.valid:
                values.append(np.zeros(0))
                continue
            deviation = unit.logits - mean
            nats = 0.5 * deviation * (precision @ deviation) + constant
            if self.full_expectation:
                nats = nats + 0.5 * unit.variances * np.diag(precision)
            values.append(nats)
        return values

    def fit_units(self, real: Sequence[TopicPosterior]) -> Self:
        r"""The Gaussian that maximises the bound: mean of $\lambda$, $\Sigma = \bar\nu +
        \mathrm{cov}(\lambda)$.
        """
        if not self.own_prior:
            return self
        logits, variances = _posteriors(real)
        if not len(logits):
            raise InputError(
                f"topic critic: {counted(len(real), 'document')} without a known word; "
                "fit on other documents"
            )
        mean, covariance = moments(logits)
        return self.with_prior(mean, covariance + np.diag(variances.mean(axis=0)))

    def with_prior(self, mean: np.ndarray, covariance: np.ndarray) -> Self:
        """The critic with another Gaussian, such as a topic model's own.

        Args:
            mean: of the logits, (topics - 1,).
            covariance: (topics - 1, topics - 1).
        """
        return replace(self, mean=np.asarray(mean, np.float64), precision=inverse(covariance))

    def sufficient_statistics(self, units: Sequence[TopicPosterior]) -> SufficientStatistics:
        """A row a document, its columns ``COLUMNS``.

        Raises InputError: not fitted, or on documents read with another topic model.
        """
        units = self.judged(units)
        mean, precision = self._prior()
        constant = negative_log_density(mean, mean, precision)
        rows = np.zeros((len(units), len(COLUMNS)))
        for row, unit in zip(rows, units, strict=True):
            if not unit.valid:
                row[COLUMNS.index("excluded")] = 1
                continue
            if unit.logits.shape != mean.shape:
                raise InputError(
                    f"topic critic: document {unit.unit_id!r} has {len(unit.logits)} logits, the "
                    f"critic was fitted on {len(mean)}; read it with the same topic model"
                )
            nats = half_squared_distance(unit.logits, mean, precision) + constant
            spread = 0.5 * float(unit.variances @ np.diag(precision))
            row[:4] = nats, spread, 1, unit.tokens
        return SufficientStatistics.of(units, COLUMNS, rows)

    def of_sums(self, sums: Sums) -> Any:
        """Mean nats of a document; nan without one."""
        return ratio(self._nats(sums.total), sums.total("documents"))

    def _nats(self, column: Callable[[str], Any]) -> Any:
        """The nats that are scored, from the statistics."""
        if self.full_expectation:
            return column("nats_at_mean") + column("nats_of_spread")
        return column("nats_at_mean") + 0.0

    def describe(self, units: Sequence[TopicPosterior], count: int = OUTLIERS) -> dict[str, Any]:
        """Details of the score: the least probable documents, as in deng2022's Table 14.

        Args:
            units: posteriors of the documents.
            count: documents that are listed.

        Returns:
            ``outliers``, pairs of id and nats of the documents with the largest T(x), worst first,
            and their ``outlier_texts`` where predictions have texts; and ``covariance_of_means``,
            that of the posterior means, divisor n, which Figures 6, 8 and 9 show (released code):
            without a variance term it is smaller than the model's own.
        """
        units = self.judged(units)
        # 1. The covariance, where two documents or more have one.
        logits, _ = _posteriors(units)
        covariance = []
        if len(logits) > 1:
            covariance = moments(logits)[1].round(6).tolist()
        # 2. The scored documents, those with the most nats first.
        statistics = self.sufficient_statistics(units)
        nats = self._nats(statistics.column)
        scored = np.flatnonzero(statistics.column("excluded") == 0)
        worst = scored[np.argsort(-nats[scored], kind="stable")][:count]
        outliers = []
        texts = []
        for i in worst:
            outliers.append((units[i].unit_id, float(nats[i])))
            if units[i].text:
                texts.append(units[i].text[:EXCERPT])
        details: dict[str, Any] = {"outliers": outliers, "covariance_of_means": covariance}
        if any(unit.text for unit in units):
            details["outlier_texts"] = texts
        return details

    def _prior(self) -> tuple[np.ndarray, np.ndarray]:
        """The Gaussian's mean and precision. Raises InputError: not fitted."""
        if self.mean is None or self.precision is None:
            raise InputError(
                "topic critic: not fitted; "
                "call fit on real documents or with_prior on a model's Gaussian"
            )
        return self.mean, self.precision


@dataclass(frozen=True)
class RandomTopicCritic(Topics):
    """The same critic on topic logits drawn at random: the chance row of a table of Latent NLL.

    Each topic's mean and variance are those of a random training document, drawn for each topic
    anew: every topic keeps its distribution, and topics are independent.

    Attributes:
        logits, variances: of the training documents, (documents, topics - 1).
    """

    logits: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    variances: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[TopicPosterior]) -> Self:
        """Fit the prior as :class:`Topics` does, and keep the posteriors to draw from.

        Args:
            real: posteriors of training documents.
        """
        logits, variances = _posteriors(real)
        return replace(super().fit_units(real), logits=logits, variances=variances)

    def judged(self, units: Sequence[TopicPosterior]) -> list[TopicPosterior]:
        """The units with drawn logits in place of their own. Raises InputError: not fitted."""
        if self.logits is None or self.variances is None:
            raise InputError(
                "random topics: not fitted, so nothing to draw from; call fit on real documents"
            )
        documents, topics = self.logits.shape
        columns = np.arange(topics)
        drawn_units = []
        for unit in units:
            rows = generator("random topics", unit.unit_id).integers(0, documents, topics)
            logits = self.logits[rows, columns]
            variances = self.variances[rows, columns]
            drawn_units.append(replace(unit, logits=logits, variances=variances, text=""))
        return drawn_units


def released(*, real: Predictions, full_expectation: bool = False) -> Topics:
    """The released critic: the topic model's own Gaussian, as the predictions carry it.

    Fitting changes nothing.
    """
    critic = Topics(full_expectation=full_expectation, own_prior=False)
    return critic.with_prior(real.arrays["prior_mean_names"], real.arrays["prior_covariance_names"])


def negative_log_density(point: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> float:
    r"""Minus the log-density of a point under a Gaussian, nats.

    The determinant costs more than the rest: for many points of one Gaussian add the value at its
    mean to each :func:`half_squared_distance`.
    """
    log_determinant = np.linalg.slogdet(precision)[1]
    constant = 0.5 * (len(point) * np.log(2 * np.pi) - log_determinant)
    return half_squared_distance(point, mean, precision) + float(constant)


def half_squared_distance(point: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> float:
    r"""Half the squared Mahalanobis distance, $\tfrac12 (x-\mu)^\top S (x-\mu)$, nats."""
    deviation = point - mean
    return float(0.5 * deviation @ precision @ deviation)


def _posteriors(units: Sequence[TopicPosterior]) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the valid documents' logits, float64 (documents, topics - 1) each."""
    logits = []
    variances = []
    for unit in units:
        if unit.valid:
            logits.append(unit.logits)
            variances.append(unit.variances)
    return np.array(logits, np.float64), np.array(variances, np.float64)


def moments(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (topics - 1,) and covariance (topics - 1, topics - 1), divisor n, of posterior means.

    Args:
        logits: the posterior means, float64 (documents, topics - 1).
    """
    mean = logits.mean(axis=0)
    centred = logits - mean
    return mean, centred.T @ centred / len(logits)
