r"""The code-mixing critic: a Dirichlet over mixes of languages, and how dispersed mixes are.

deng2022, appendix C: $z \sim \mathrm{Dirichlet}(\alpha)$. With the posterior
$\mathrm{Dirichlet}(a)$, $a = \alpha + $ assigned words, the latent negative log-likelihood has a
closed form through $E \log z_i = \psi(a_i) - \psi(\sum a)$.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from longform.critics.base import TextCritic
from longform.critics.code_mixing.mixture import LanguageModel
from longform.documents import Document, Predictions, Unit
from longform.errors import InputError, counted
from longform.statistics.arithmetic import ratio
from longform.statistics.signatures import FITTED, READING
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums

CORNER = 0.9  # ours: a mix with this share of one language lies in a corner of Figure 7's simplex
NEWTON_STEPS = 8  # of the digamma function's inverse


@dataclass(frozen=True)
class MixtureReading(Unit):
    """One sentence's mix of languages.

    Attributes:
        share: the share of each language, a draw from the Dirichlet of ``posterior``, (languages,).
        posterior: parameters of the Dirichlet over the sentence's mixes: the mixture's alpha plus
            the words assigned to each language, (languages,).
        valid: False for a sentence without a known word, which is counted, never scored.
    """

    share: np.ndarray
    posterior: np.ndarray
    valid: bool = True


def units_from_predictions(predictions: Predictions) -> list[MixtureReading]:
    """The mix of each sentence, from predictions of :mod:`longform.critics.code_mixing.read`.

    ``share``, ``posterior`` and ``valid`` are those of :class:`MixtureReading`.
    """
    readings = []
    for unit, split, share, posterior, valid in predictions.rows("share", "posterior", "valid"):
        readings.append(MixtureReading(unit, split, share, posterior, bool(valid)))
    return readings


@dataclass(frozen=True)
class _MixtureCritic(TextCritic):
    """Reads texts by a mixture of languages that it learns from real texts.

    Attributes:
        languages: how many the mixture has.
        seed: of its fit and of reading.
        mixture: the fitted mixture.
    """

    languages: int = field(default=3, kw_only=True, metadata=READING)
    seed: int = field(default=0, kw_only=True, metadata=READING)
    mixture: LanguageModel | None = field(default=None, kw_only=True, repr=False, metadata=FITTED)

    def prepare(self, documents: Sequence[Document]) -> Self:
        """Fit the mixture of languages to real texts."""
        from longform.critics.code_mixing.read import fit  # here, since it brings tomotopy along

        training = [replace(document, split="train") for document in documents]
        return replace(self, mixture=fit(training, seed=self.seed, languages=self.languages))

    def read_texts(self, documents: Sequence[Document]) -> list[MixtureReading]:
        """The mix of each text. Raises InputError: no mixture was fitted to real texts."""
        if self.mixture is None:
            raise InputError(
                f"{type(self).__name__}: not fitted to texts yet; call fit(real texts)"
            )
        from longform.critics.code_mixing.read import read

        return units_from_predictions(read(documents, reader=self.mixture, seed=self.seed))

    def part_names(self, values: np.ndarray) -> Sequence[str]:
        """Each language by its most probable words."""
        if self.mixture is None:
            return super().part_names(values)
        return list(map(" ".join, self.mixture.top_words(5)))


# Class keywords and metadata: see TextCritic.
@dataclass(frozen=True)
class CodeMixing(
    _MixtureCritic,
    better="reference_matched",
    divided=("nats", "documents"),
    parts="languages",
    blame=1,
    needs="a word of the texts it learnt from",
    recorded_as="DirichletCritic",
):
    """Latent NLL of a mix of languages, nats per sentence (a density: it can be negative).

    Attributes:
        own_prior: whether the Dirichlet is fitted to the mixes of real sentences; False keeps the
            mixture model's alpha, as the paper does.
        alpha: parameters of the Dirichlet, (languages,).
        top_words: the words that Table 10 shows of each language.
    """

    own_prior: bool = True
    alpha: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    top_words: tuple[tuple[str, ...], ...] = field(default=(), repr=False, metadata=FITTED)

    def prepare(self, documents: Sequence[Document]) -> Self:
        """A critic with the mixture of languages fitted to real texts.

        Without ``own_prior`` the mixture's alpha is its Dirichlet; else :meth:`fit_units` fits one.
        """
        critic = super().prepare(documents)
        if self.own_prior or critic.mixture is None:
            return critic
        return critic.with_prior(critic.mixture.alpha)

    def fit_units(self, real: Sequence[MixtureReading]) -> Self:
        """Fit the Dirichlet to the mixes of real sentences, by the expected logarithms of shares.

        Raises InputError: no sentence has a known word.
        """
        if not self.own_prior:
            return self
        posteriors = [unit.posterior for unit in real if unit.valid]
        if not posteriors:
            raise InputError(
                f"language critic: {counted(len(real), 'sentence')} without a known word; "
                "fit on other sentences"
            )
        mean_logs = expected_logs(np.array(posteriors)).mean(axis=0)
        return self.with_prior(dirichlet_from_logs(mean_logs))

    def with_prior(self, alpha: np.ndarray) -> Self:
        """The critic with another Dirichlet, such as the mixture model's own."""
        alpha = np.asarray(alpha, np.float64)
        if len(alpha) < 2 or not np.all(alpha > 0):
            raise InputError(
                f"language critic: alpha is {alpha.tolist()}, "
                "allowed are two or more positive numbers"
            )
        return replace(self, alpha=alpha)

    def part_values(self, units: Sequence[MixtureReading]) -> list[np.ndarray]:
        """What each language adds to the nats, (languages,); the normaliser is shared evenly."""
        alpha = self._alpha()
        normaliser = gammaln(alpha) - gammaln(alpha.sum()) / len(alpha)
        parts = []
        for unit in units:
            if unit.valid:
                parts.append(normaliser - (alpha - 1) * expected_logs(unit.posterior))
            else:
                parts.append(np.zeros(0))
        return parts

    def sufficient_statistics(self, units: Sequence[MixtureReading]) -> SufficientStatistics:
        r"""A row a sentence: its ``nats``, expected $-\log P(z)$, ``documents`` and ``excluded``.

        $\sum_i \ln \Gamma(\alpha_i) - \ln \Gamma(\sum \alpha) - \sum_i (\alpha_i - 1) E \log z_i$.

        Raises InputError: a sentence mixes another number of languages.
        """
        alpha = self._alpha()
        log_normaliser = gammaln(alpha).sum() - gammaln(alpha.sum())
        rows = []
        for unit in units:
            if not unit.valid:
                rows.append((0.0, 0.0, 1.0))
                continue
            if len(unit.posterior) != len(alpha):
                raise InputError(
                    f"language critic: sentence {unit.unit_id!r} mixes {len(unit.posterior)} "
                    f"languages, the critic knows {len(alpha)}; read it with the same model"
                )
            nats = log_normaliser - (alpha - 1) @ expected_logs(unit.posterior)
            rows.append((nats, 1.0, 0.0))
        return SufficientStatistics.of(units, ("nats", "documents", "excluded"), rows)

    def describe(self, units: Sequence[MixtureReading]) -> dict[str, Any]:
        """The Dirichlet, and the words that each language's row of Table 10 shows."""
        return {
            "alpha": np.asarray(self.alpha).tolist(),
            "top_words": list(map(list, self.top_words)),
        }

    def _alpha(self) -> np.ndarray:
        """The Dirichlet's parameters, (languages,). Raises InputError: not fitted."""
        if self.alpha is None:
            raise InputError(
                "language critic: not fitted; call fit on real sentences "
                "or with_prior on a model's alpha"
            )
        return np.asarray(self.alpha)


def released(*, real: Predictions) -> CodeMixing:
    """The paper's critic: the mixture model's own alpha, as the predictions carry it.

    Fitting changes nothing.
    """
    top_words = tuple(map(tuple, real.arrays["top_word_names"].tolist()))
    critic = CodeMixing(own_prior=False).with_prior(real.arrays["alpha_names"])
    return replace(critic, top_words=top_words)


@dataclass(frozen=True)
class LanguageDispersion(
    _MixtureCritic,
    better="reference_matched",
    parts="languages",
    attributed=("dispersion",),
    blame=1,
    needs="a word of the texts it learnt from",
):
    r"""Chance that two words drawn from a sentence's mix differ in language, $1 - \sum_i z_i^2$.

    It is 0 in the corners of Figure 7's simplex.

    Attributes:
        corners: score the share of sentences in a corner instead, as an intelligible second number.
    """

    corners: bool = False

    def is_share(self) -> bool:
        """Whether the score is a share of yes-or-no answers: with ``corners``; a dispersion not."""
        return self.corners

    def part_values(self, units: Sequence[MixtureReading]) -> list[np.ndarray]:
        """Per language $z_i (1 - z_i)$: the chance that a word in it meets one in another.

        They sum to the dispersion.
        """
        parts = []
        for unit in units:
            parts.append(unit.share * (1 - unit.share) if unit.valid else np.zeros(0))
        return parts

    def sufficient_statistics(self, units: Sequence[MixtureReading]) -> SufficientStatistics:
        """A row a sentence: what is counted of its mix of languages.

        Columns ``dispersion`` (1 less the sum of squared shares), ``corner`` (1 where a language
        has ``CORNER`` of it or more), ``documents`` and ``excluded``.
        """
        rows = []
        for unit in units:
            if unit.valid:
                dispersion = 1 - float(unit.share @ unit.share)
                in_corner = float(unit.share.max() >= CORNER)
                rows.append((dispersion, in_corner, 1.0, 0.0))
            else:
                rows.append((0.0, 0.0, 0.0, 1.0))
        columns = ("dispersion", "corner", "documents", "excluded")
        return SufficientStatistics.of(units, columns, rows)

    def of_sums(self, sums: Sums) -> Any:
        """Mean dispersion, or the share of sentences in a corner."""
        column = "corner" if self.corners else "dispersion"
        return ratio(sums.total(column), sums.total("documents"))

    def describe(self, units: Sequence[MixtureReading], count: int = 500) -> dict[str, Any]:
        """The first ``count`` valid mixes, as points for Figure 7's simplex."""
        valid = [unit for unit in units if unit.valid]
        return {"points": [unit.share.round(4).tolist() for unit in valid[:count]]}


def expected_logs(posterior: np.ndarray) -> np.ndarray:
    r"""Expected natural logarithm of each share under a Dirichlet, of the shape of ``posterior``.

    $E \log z_i = \psi(a_i) - \psi(\sum_j a_j)$.
    """
    return digamma(posterior) - digamma(posterior.sum(axis=-1, keepdims=True))


def dirichlet_from_logs(
    mean_logs: np.ndarray, *, tolerance: float = 1e-12, steps: int = 1000
) -> np.ndarray:
    r"""The Dirichlet of maximum likelihood for mean logarithms of shares, (languages,).

    Source: Minka (2000), the fixed point of equation 9.

    Args:
        mean_logs: mean logarithm of each share, negative, (languages,).
        tolerance: relative change at which alpha has converged.
        steps: at most.

    Raises InputError: a mean that is not finite or not negative.
    """
    if not np.all(np.isfinite(mean_logs)) or np.any(mean_logs >= 0):
        raise InputError(
            f"Dirichlet: mean logs are {mean_logs.tolist()}, allowed are finite negative numbers"
        )
    alpha = np.full(len(mean_logs), 1.0)
    for _ in range(steps):
        updated = inverse_digamma(digamma(alpha.sum()) + mean_logs)
        if np.max(np.abs(updated - alpha) / alpha) < tolerance:
            return updated
        alpha = updated
    return alpha


def inverse_digamma(values: np.ndarray) -> np.ndarray:
    r"""x with $\psi(x) = $ ``values``: Newton's method from Minka's start (2000, appendix C)."""
    near_zero = -1 / np.minimum(values - digamma(1.0), -1.0)
    x = np.where(values >= -2.22, np.exp(values) + 0.5, near_zero)
    for _ in range(NEWTON_STEPS):
        x = x - (digamma(x) - values) / polygamma(1, x)
    return x
