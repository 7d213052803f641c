r"""The topic critic: a Gaussian over topic logits judges how probable a document's mix of topics is.

deng2022 section 6: $T(x) = -E_{q(\eta|x)} \log N(\eta; \mu, \Sigma)$ in nats per document, with the correlated topic
model's variational posterior $q = \prod_i N(\lambda_i, \nu_i)$. The released code evaluates at the mean $\lambda$; the
definition's expectation adds $\tfrac12 \sum_i \nu_i S_{ii}$ with $S = \Sigma^{-1}$. Both are kept per document.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from longform.core.critic import FITTED, Better, Sums, SumScored, Tally
from longform.core.documents import BadInput, Readout
from longform.core.resampling import generator, ratio
from longform.core.text.rendering import unpack

EXCERPT = 600  # characters of an outlier that are kept (ours)
COLUMNS = ("nats_at_mean", "nats_of_spread", "documents", "tokens", "excluded")


@dataclass(frozen=True)
class TopicReading:
    """One document's posterior of topic logits.

    Attributes:
        unit_id, split: of the document.
        logits, variances: (topics - 1,) mean and variance of each logit.
        tokens: tokens inside the vocabulary.
        valid: False where the document has no known word; such a document is counted, never scored.
        text: of the document, where the reader kept it.
    """

    unit_id: str
    split: str
    logits: np.ndarray
    variances: np.ndarray
    tokens: int
    valid: bool = True
    text: str = ""


def units_from_readout(readout: Readout) -> list[TopicReading]:
    """One reading per unit of what :func:`longform.critics.topics.read.read` wrote."""
    names = ("lambda", "nu", "tokens", "valid")
    missing = [name for name in names if name not in readout.arrays]
    if missing:
        raise BadInput(
            f"topic critic: the readout lacks {missing}; read the documents with critics/topics/read.py first"
        )
    return [
        TopicReading(unit, split, mean, wide, int(tokens), bool(valid), text)
        for (unit, split, mean, wide, tokens, valid), text in zip(readout.rows(*names), unpack(readout), strict=True)
    ]


@dataclass(frozen=True)
class LogisticNormalCritic(SumScored):
    """Latent NLL of topic logits, nats per document; no perplexity, as the latent is continuous.

    Attributes:
        full_expectation: score the expectation over the posterior; False scores its mean, as the released code does.
        own_prior: fit to real documents; False keeps the topic model's Gaussian, as the released code does.
    """

    full_expectation: bool = False
    own_prior: bool = True
    mean: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    precision: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    better: Better = field(default="nearer_real", init=False, repr=False, metadata=FITTED)
    parts: ClassVar[str] = "topics"
    blame: ClassVar[int] = 1

    @property
    def attributed(self) -> tuple[str, ...]:
        """The columns that ``score`` adds up."""
        return COLUMNS[:2] if self.full_expectation else COLUMNS[:1]

    def attribute(self, units: Sequence[TopicReading]) -> list[np.ndarray]:
        r"""Per topic logit $\tfrac12 d_i (S d)_i$, its share of the constant, and of the spread where that is scored."""
        mean, precision = self._prior()
        constant = negative_log_density(mean, mean, precision) / len(mean)
        found = []
        for unit in units:
            apart = unit.logits - mean
            spread = 0.5 * unit.variances * np.diag(precision) if self.full_expectation else 0.0
            nats = 0.5 * apart * (precision @ apart) + constant + spread
            found.append(nats if unit.valid else np.zeros(0))
        return found

    def fit(self, real: Sequence[TopicReading]) -> Self:
        r"""The Gaussian that maximises the bound: mean of $\lambda$, $\Sigma = \bar\nu + \mathrm{cov}(\lambda)$."""
        if not self.own_prior:
            return self
        kept = [reading for reading in real if reading.valid]
        if not kept:
            raise BadInput(f"topic critic: none of {len(real)} documents has a known word; fit on other documents")
        points = np.array([reading.logits for reading in kept], np.float64)
        spread = np.mean([reading.variances for reading in kept], axis=0)
        centred = points - points.mean(axis=0)
        return self.with_prior(points.mean(axis=0), centred.T @ centred / len(kept) + np.diag(spread))

    def with_prior(self, mean: np.ndarray, covariance: np.ndarray) -> Self:
        """The critic with a topic model's own Gaussian (released: the model's final mean and covariance)."""
        low = np.linalg.eigvalsh(covariance)[0]
        if not low > 0:
            raise BadInput(
                f"topic critic: the covariance is singular (smallest eigenvalue {low:.3g}); use fewer topics or more "
                "documents"
            )
        precision = np.linalg.inv(covariance)
        return replace(self, mean=np.asarray(mean, np.float64), precision=(precision + precision.T) / 2)

    def tally(self, units: Sequence[TopicReading]) -> Tally:
        """Per document: NLL at the mean, what the spread adds, 1, tokens, excluded."""
        mean, precision = self._prior()
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
        return Tally.of(units, COLUMNS, rows)

    def of_sums(self, sums: Sums) -> Any:
        spread = sums.total("nats_of_spread") if self.full_expectation else 0.0
        return ratio(sums.total("nats_at_mean") + spread, sums.total("documents"))

    def outliers(self, tally: Tally, count: int = 10) -> list[tuple[str, float]]:
        """The documents with the largest T(x), worst first (deng2022, Table 14's kind); excluded ones are left out."""
        nats = tally.column("nats_at_mean") + (tally.column("nats_of_spread") if self.full_expectation else 0.0)
        kept = np.flatnonzero(tally.column("excluded") == 0)
        order = kept[np.argsort(-nats[kept], kind="stable")][:count]
        return [(tally.unit_ids[i], float(nats[i])) for i in order]

    def describe(self, units: Sequence[TopicReading], count: int = 10) -> dict[str, Any]:
        """The outliers, their texts where kept, and the covariance of the posterior means that Figures 6, 8, 9 show."""
        shown = [unit for unit in units if unit.valid]
        covariance = covariance_of_means(shown).round(6).tolist() if len(shown) > 1 else []
        found = self.outliers(self.tally(units), count)
        texts = {unit.unit_id: unit.text for unit in units if unit.text}
        kept = {"outlier_texts": [texts[name][:EXCERPT] for name, _ in found if name in texts]} if texts else {}
        return {"outliers": found, "covariance_of_means": covariance, **kept}

    def _prior(self) -> tuple[np.ndarray, np.ndarray]:
        if self.mean is None or self.precision is None:
            raise BadInput("topic critic: not fitted; call fit on real documents or with_prior on a model's Gaussian")
        return self.mean, self.precision


@dataclass(frozen=True)
class RandomTopicCritic(LogisticNormalCritic):
    """The same critic on topic logits drawn at random: each topic's posterior is that of a training document of its own.

    The chance row of a table of Latent NLL: every topic keeps its distribution, and no topic goes with another.

    Attributes:
        logits, variances: (documents, topics - 1) of the valid training documents, from which logits are drawn.
    """

    logits: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    variances: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)

    def fit(self, real: Sequence[TopicReading]) -> Self:
        kept = [unit for unit in real if unit.valid]
        logits, variances = (np.array([getattr(unit, name) for unit in kept]) for name in ("logits", "variances"))
        return replace(super().fit(real), logits=logits, variances=variances)

    def judged(self, units: Sequence[TopicReading]) -> list[TopicReading]:
        if self.logits is None or self.variances is None:
            raise BadInput("random topics: not fitted, so nothing to draw from; call fit on real documents")
        documents, topics = self.logits.shape
        columns = np.arange(topics)
        drawn = []
        for unit in units:
            rows = generator("random topics", unit.unit_id).integers(0, documents, topics)
            logits, variances = self.logits[rows, columns], self.variances[rows, columns]
            drawn.append(replace(unit, logits=logits, variances=variances, text=""))
        return drawn

    def attribute(self, units: Sequence[TopicReading]) -> list[np.ndarray]:
        return super().attribute(self.judged(units))

    def tally(self, units: Sequence[TopicReading]) -> Tally:
        """As its parent, of the drawn logits."""
        return super().tally(self.judged(units))

    def describe(self, units: Sequence[TopicReading], count: int = 10) -> dict[str, Any]:
        """As its parent, of the drawn logits."""
        return super().describe(self.judged(units), count)


def released(*, real: Readout, full_expectation: bool = False) -> LogisticNormalCritic:
    """The released critic: the topic model's own Gaussian, as the readout carries it; fitting changes nothing."""
    critic = LogisticNormalCritic(full_expectation=full_expectation, own_prior=False)
    return critic.with_prior(real.arrays["prior_mean_names"], real.arrays["prior_covariance_names"])


def negative_log_density(point: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> float:
    r"""$\tfrac12 (x-\mu)^\top S (x-\mu) + \tfrac n2 \log 2\pi - \tfrac12 \log |S|$, nats."""
    apart = point - mean
    constant = 0.5 * (len(point) * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1])
    return float(0.5 * apart @ precision @ apart + constant)


def covariance_of_means(units: Sequence[TopicReading]) -> np.ndarray:
    r"""(topics - 1, topics - 1) covariance of the posterior means over valid documents, divisor n, no variance term.

    Figures 6, 8 and 9 show this matrix (released code); it is smaller than the model's $\Sigma$.
    """
    points = np.array([unit.logits for unit in units if unit.valid], np.float64)
    if len(points) < 2:
        raise BadInput(f"topic covariance: {len(points)} valid document(s), 2 or more are needed")
    centred = points - points.mean(axis=0)
    return centred.T @ centred / len(points)
