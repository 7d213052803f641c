"""Sentence latents: documents on Brownian bridges, and the same sentences in disorder."""

from dataclasses import replace

import numpy as np

from longform.core.resampling import generator
from longform.critics.bbscore.bridge import path
from longform.critics.bbscore.score import BridgeCritic, JointBridgeCritic
from tests.oracles.bridge_loops import bridges


def paths(count=12, noise=0.1, seed=0):
    """Paths of fourteen sentences that climb, so that even neighbours have an order; the fifth is too short for any."""
    climb = np.arange(14.0)[:, None] * np.ones(3)
    drawn = climb + bridges(count, 14, 3, 0.1, seed) + noise * generator("noise", seed).normal(size=(count, 14, 3))
    return [path(z[:2] if i == 4 else z, f"d{i}") for i, z in enumerate(drawn)]


def disordered(units):
    """The sentences of each document in random order."""
    orders = [generator("disorder", unit.unit_id).permutation(len(unit.latents)) for unit in units]
    return [replace(unit, latents=unit.latents[order]) for unit, order in zip(units, orders, strict=True)]


def judged(critic):
    return lambda: (critic, paths(), disordered(paths()))


SAMPLES = {"BridgeCritic": judged(BridgeCritic()), "JointBridgeCritic": judged(JointBridgeCritic())}
