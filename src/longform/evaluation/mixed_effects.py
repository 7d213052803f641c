r"""Systems compared with annotators and articles as crossed random effects: a logistic mixed model, by statsmodels.

$\operatorname{logit} P(y_{ai} = 1) = \beta_{s(i)} + u_a + v_i$ with $u_a \sim N(0, \sigma_u^2)$, $v_i \sim N(0, \sigma_v^2)$,
by mean-field variational Bayes. A normal prior on $\beta$ keeps it finite where a system gets one answer only. The mode of
all parameters at once is no way out: it lies at a variance of zero. Mean-field intervals leave out what the parameters
share, so they are too narrow: intervals that resample articles belong beside them, and a p-value taken from them rejects a
true null in a third of small studies, so none is given; the permutation test over articles is the test.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.core.documents import BadInput

PRIOR_SPREAD = 2.0  # statsmodels' default for a fixed effect, on the logit scale
VARIANCE_SPREAD = 1.0  # statsmodels' default for the logarithm of a standard deviation
START = 0.6  # ours: every posterior spread at the start, so that no seed is needed
STEPS = 2000  # ours: of the optimiser
Z = 1.959963984540054  # two-sided 95 %
SIGNATURE = "BinomialBayesMixedGLM.fit_vb (statsmodels), logit; mean-field intervals, too narrow"


@dataclass(frozen=True)
class Effect:
    """A fixed effect (logit scale) or a random effect's standard deviation, with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class MixedEffects:
    """Fixed effects (the first system, then the others' differences from it) and standard deviations."""

    fixed: tuple[Effect, ...]
    spreads: tuple[Effect, ...]
    judgements: int
    signature: str = SIGNATURE


def mixed_effects(
    verdicts: Sequence[int], systems: Sequence[str], annotators: Sequence[str], items: Sequence[str]
) -> MixedEffects:
    """Fit the model to judgements, one entry each; the first system that appears is what the others differ from.

    Raises:
        BadInput: lengths differ, fewer than two systems or annotators, one verdict only, or the fit did not converge.
    """
    names = list(dict.fromkeys(systems))
    if len({len(verdicts), len(systems), len(annotators), len(items)}) > 1:
        raise BadInput("mixed effects: verdicts, systems, annotators and items differ in length; give one of each")
    if len(names) < 2 or len(set(annotators)) < 2 or set(verdicts) != {0, 1}:
        raise BadInput(
            f"mixed effects: systems {names}, annotators {sorted(set(annotators))}, verdicts {sorted(set(verdicts))}; "
            "allowed are two systems and two annotators or more, and verdicts 0 and 1, both of them there"
        )
    means, spreads = _fitted(verdicts, systems, names, annotators, items)
    labels = [names[0], *(f"{name} minus {names[0]}" for name in names[1:])]
    fixed = [_fixed(*row) for row in zip(labels, means, spreads, strict=False)]
    rest = zip(("annotators", "articles"), means[len(names) :], spreads[len(names) :], strict=False)
    return MixedEffects(tuple(fixed), tuple(_spread(*row) for row in rest), len(verdicts))


def _fitted(
    verdicts: Sequence[int],
    systems: Sequence[str],
    names: Sequence[str],
    annotators: Sequence[str],
    items: Sequence[str],
) -> tuple[list[float], list[float]]:
    """Posterior means and standard deviations: fixed effects, two log standard deviations, random effects."""
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    fixed = np.array([[1.0, *(system == name for name in names[1:])] for system in systems], dtype=np.float64)
    blocks = [_indicators(annotators), _indicators(items)]
    ident = np.repeat([0, 1], [block.shape[1] for block in blocks])
    observed = np.asarray(verdicts, dtype=np.float64)
    model = BinomialBayesMixedGLM(observed, fixed, np.hstack(blocks), ident, vcp_p=VARIANCE_SPREAD, fe_p=PRIOR_SPREAD)
    start = np.full(len(names) + 2 + len(ident), START)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in ``optim_retvals``, and raised below
        found = model.fit_vb(sd=start, fit_method="L-BFGS-B", minim_opts={"maxiter": STEPS, "maxfun": 2 * STEPS})
    ended = found.optim_retvals
    spreads = np.concatenate([found.fe_sd, found.vcp_sd, found.vc_sd])
    if not ended.success or not np.isfinite(found.params).all() or not np.isfinite(spreads).all():
        raise BadInput(
            f"mixed effects of {len(verdicts)} judgements did not converge in {ended.nit} steps of {STEPS} allowed "
            f"({ended.message}); look for a system or annotator with one answer only, or gather more judgements"
        )
    return _settled(found.params), _settled(spreads)


def _settled(values: np.ndarray) -> list[float]:
    """To six significant digits: where the search for the optimum stops differs between processors beyond them."""
    return [float(f"{value:.6g}") for value in values]


def _indicators(names: Sequence[str]) -> np.ndarray:
    """(judgements, levels), 1 where the judgement is of that level."""
    levels, places = np.unique(np.asarray(names, dtype=np.str_), return_inverse=True)
    return (places[:, None] == np.arange(len(levels))[None, :]).astype(np.float64)


def _fixed(name: str, value: float, spread: float) -> Effect:
    return Effect(name, value, value - Z * spread, value + Z * spread)


def _spread(name: str, log: float, spread: float) -> Effect:
    low, middle, high = (float(np.exp(log + k * Z * spread)) for k in (-1, 0, 1))
    return Effect(name, middle, low, high)
