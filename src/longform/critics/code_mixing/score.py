r"""The code-mixing critic: a Dirichlet over a sentence's mix of languages, and how dispersed mixes are.

deng2022, appendix C: $z \sim \mathrm{Dirichlet}(\alpha)$. With the posterior $\mathrm{Dirichlet}(a)$, $a = \alpha + $
assigned words, the latent negative log-likelihood has a closed form through $E \log z_i = \psi(a_i) - \psi(\sum a)$.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from longform.documents import Predictions, Unit
from longform.errors import BadInput
from longform.statistics.arithmetic import ratio
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored

CORNER = 0.9  # a mix with this share of one language or more lies in a corner of Figure 7's simplex (ours)


@dataclass(frozen=True)
class MixtureReading(Unit):
    """One sentence's mix of languages: ``share`` (languages,), a draw from the Dirichlet of ``posterior`` (languages,).

    Not ``valid`` is a sentence without a known word, which is counted, never scored.
    """

    share: np.ndarray
    posterior: np.ndarray
    valid: bool = True


def units_from_predictions(predictions: Predictions) -> list[MixtureReading]:
    """One reading per unit of what :mod:`longform.critics.code_mixing.read` wrote."""
    rows = predictions.rows("share", "posterior", "valid")
    return [
        MixtureReading(unit, split, share, after, bool(ok))
        for unit, split, share, after, ok in rows
    ]


@dataclass(frozen=True)
class DirichletCritic(
    SumScored, better="reference_matched", divided=("nats", "documents"), parts="languages", blame=1
):
    """Latent NLL of a mix of languages, nats per sentence (a density: it can be negative)."""

    own_prior: bool = (
        True  # fit to real sentences; False keeps the mixture model's alpha, as the paper does
    )
    alpha: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    top_words: tuple[tuple[str, ...], ...] = field(default=(), repr=False, metadata=FITTED)

    def part_values(self, units: Sequence[MixtureReading]) -> list[np.ndarray]:
        alpha = self._alpha()
        fixed = gammaln(alpha) - gammaln(alpha.sum()) / len(alpha)
        return [
            fixed - (alpha - 1) * expected_logs(unit.posterior) if unit.valid else np.zeros(0)
            for unit in units
        ]

    def fit_units(self, real: Sequence[MixtureReading]) -> "DirichletCritic":
        if not self.own_prior:
            return self
        kept = [unit.posterior for unit in real if unit.valid]
        if not kept:
            raise BadInput(
                f"language critic: none of {len(real)} sentences has a known word; fit on other sentences"
            )
        return self.with_prior(dirichlet_from_logs(expected_logs(np.array(kept)).mean(axis=0)))

    def with_prior(self, alpha: np.ndarray) -> "DirichletCritic":
        """The critic with the mixture model's own Dirichlet."""
        alpha = np.asarray(alpha, np.float64)
        if len(alpha) < 2 or not np.all(alpha > 0):
            raise BadInput(
                f"language critic: alpha is {alpha.tolist()}, allowed are two or more positive numbers"
            )
        return replace(self, alpha=alpha)

    def sufficient_statistics(self, units: Sequence[MixtureReading]) -> SufficientStatistics:
        alpha, rows = self._alpha(), []
        log_normaliser = gammaln(alpha).sum() - gammaln(alpha.sum())
        for unit in units:
            if unit.valid and len(unit.posterior) != len(alpha):
                raise BadInput(
                    f"language critic: sentence {unit.unit_id!r} mixes {len(unit.posterior)} languages, the critic knows "
                    f"{len(alpha)}; read it with the same model"
                )
            nats = log_normaliser - (alpha - 1) @ expected_logs(unit.posterior) if unit.valid else 0
            rows.append((nats, unit.valid, not unit.valid))
        return SufficientStatistics.of(units, ("nats", "documents", "excluded"), rows)

    def describe(self, units: Sequence[MixtureReading]) -> dict[str, Any]:
        """The Dirichlet, and the words that each language's row of Table 10 shows."""
        return {
            "alpha": np.asarray(self.alpha).tolist(),
            "top_words": [list(words) for words in self.top_words],
        }

    def _alpha(self) -> np.ndarray:
        if self.alpha is None:
            raise BadInput(
                "language critic: not fitted; call fit on real sentences or with_prior on a model's alpha"
            )
        return np.asarray(self.alpha)


def released(*, real: Predictions) -> DirichletCritic:
    """The paper's critic: the mixture model's own alpha, as the predictions carries it; fitting changes nothing."""
    words = tuple(tuple(row) for row in real.arrays["top_word_names"].tolist())
    return replace(
        DirichletCritic(own_prior=False).with_prior(real.arrays["alpha_names"]), top_words=words
    )


@dataclass(frozen=True)
class LanguageDispersion(
    SumScored, better="reference_matched", parts="languages", attributed=("dispersion",), blame=1
):
    r"""Chance that two words drawn from a sentence's mix differ in language, $1 - \sum_i z_i^2$: 0 in Figure 7's corners.

    ``corners`` scores the share of sentences in a corner instead, as an intelligible second number.
    """

    corners: bool = False

    def is_share(self) -> bool:
        """Only corners are counted: a dispersion is no answer of yes or no."""
        return self.corners

    def part_values(self, units: Sequence[MixtureReading]) -> list[np.ndarray]:
        """Per language $z_i (1 - z_i)$: the chance that a word in it meets one in another; sums to the dispersion."""
        return [unit.share * (1 - unit.share) if unit.valid else np.zeros(0) for unit in units]

    def sufficient_statistics(self, units: Sequence[MixtureReading]) -> SufficientStatistics:
        rows = []
        for unit in units:
            found = 1 - float(unit.share @ unit.share), float(unit.share.max() >= CORNER), 1.0, 0.0
            rows.append(found if unit.valid else (0.0, 0.0, 0.0, 1.0))
        return SufficientStatistics.of(
            units, ("dispersion", "corner", "documents", "excluded"), rows
        )

    def of_sums(self, sums: Sums) -> Any:
        return ratio(
            sums.total("corner" if self.corners else "dispersion"), sums.total("documents")
        )

    def describe(self, units: Sequence[MixtureReading], count: int = 500) -> dict[str, Any]:
        """The first ``count`` valid mixes, as points for Figure 7's simplex."""
        return {"points": [unit.share.round(4).tolist() for unit in units if unit.valid][:count]}


def expected_logs(posterior: np.ndarray) -> np.ndarray:
    r"""$E \log z_i = \psi(a_i) - \psi(\sum_j a_j)$ along the last axis."""
    return digamma(posterior) - digamma(posterior.sum(axis=-1, keepdims=True))


def dirichlet_from_logs(
    mean_logs: np.ndarray, *, tolerance: float = 1e-12, steps: int = 1000
) -> np.ndarray:
    r"""Parameters with $\psi(\alpha_i) - \psi(\sum \alpha) = $ ``mean_logs`` (Minka 2000, fixed point, equation 9)."""
    if not np.all(np.isfinite(mean_logs)) or np.any(mean_logs >= 0):
        raise BadInput(
            f"Dirichlet: mean logs are {mean_logs.tolist()}, allowed are finite negative numbers"
        )
    alpha = np.full(len(mean_logs), 1.0)
    for _ in range(steps):
        wanted = digamma(alpha.sum()) + mean_logs
        near_zero = -1 / np.minimum(wanted - digamma(1.0), -1.0)
        fresh = np.where(wanted >= -2.22, np.exp(wanted) + 0.5, near_zero)
        for _ in range(
            8
        ):  # the digamma function's inverse, by Newton's method from Minka's start (2000, appendix C)
            fresh = fresh - (digamma(fresh) - wanted) / polygamma(1, fresh)
        if np.max(np.abs(fresh - alpha) / alpha) < tolerance:
            return fresh
        alpha = fresh
    return alpha
