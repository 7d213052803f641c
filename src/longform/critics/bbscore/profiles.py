r"""What figures draw of latents: mean trajectories (sheng2024 Figure 7), and areas over the diffusion variance (Figure 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from longform.core.resampling import generator
from longform.critics.bbscore.bridge import LatentPath, diffusion
from longform.critics.bbscore.score import BridgeCritic

COMMON_STEPS = 100  # sheng2024 section 5.5 resamples paths to a common length it does not give; ours
SWEEP = tuple(
    float(s) for s in np.logspace(-4, 4, 65)
)  # of sigma^2 over its estimate; ours, the figure's grid is not stated


def text_diffusion(unit: LatentPath, index: str = "canonical") -> float:
    r"""$\hat\sigma^2(s)$ of one text, nan where it cannot be read; the texts of a source are known by it (section 5.4)."""
    return diffusion(unit.latents, index) if unit.usable else float("nan")


def shuffled(unit: LatentPath) -> LatentPath:
    """The path with its sentences in a random order that depends on the unit alone."""
    return replace(unit, latents=generator("trajectory shuffle", unit.unit_id).permutation(unit.latents))


def trajectory(units: Sequence[LatentPath], steps: int = COMMON_STEPS) -> dict[str, list[float]]:
    """Mean absolute latent over dims, each path stretched to a common length; its mean and spread over documents."""
    grid = np.linspace(0, 1, steps)
    each = [np.abs(unit.latents).mean(axis=1) for unit in units if unit.usable]
    bent = np.array([np.interp(grid, np.linspace(0, 1, len(values)), values) for values in each])
    if not len(bent):
        return {"mean": [], "spread": []}
    return {"mean": bent.mean(axis=0).tolist(), "spread": bent.std(axis=0).tolist()}


def variances(critic: BridgeCritic) -> list[BridgeCritic]:
    r"""The fitted critic with $\sigma_m^2$ over eight decades around its estimate (Figure 9), each as good a scorer of orders."""
    assert critic.sigma2 is not None
    return [replace(critic, sigma2=critic.sigma2 * factor) for factor in SWEEP]


def describe_sweep(critic: BridgeCritic, areas: Sequence[float], accuracies: Sequence[float]) -> dict[str, Any]:
    """What Figure 9 draws: area and pairwise accuracy at each variance."""
    grid = [one.sigma2 for one in variances(critic)]
    return {"sigma2": critic.sigma2, "sweep": {"sigma2": grid, "auc": list(areas), "accuracy": list(accuracies)}}
