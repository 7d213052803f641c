"""Sentence latents: documents on Brownian bridges, and the same sentences in disorder."""

from dataclasses import replace

import numpy as np

from longform.critics.bridge import BridgeCritic, path
from longform.critics.bridge_joint import JointBridgeCritic
from longform.critics.bridge_profiles import SourceProfile
from longform.critics.bridge_ratings import RatedClasses
from longform.critics.bridge_sources import MachineGeneral, MachinePairs, TextPair
from longform.critics.bridge_tasks import GlobalDiscrimination, JointGlobal, JointLocal, LocalDiscrimination, ShuffleAUC
from longform.numerics import generator
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


def sides():
    """Machines stray from their bridges; in the worse pairs people do."""
    people, machines = paths(), paths(noise=2.0, seed=1)
    rows = list(zip(people, machines, strict=True))
    named = [replace(one, unit_id=f"{one.unit_id}-human") for one in people]
    written = [replace(one, unit_id=f"{one.unit_id}-machine") for one in machines]
    real = [TextPair(h.unit_id, "test", n, w) for (h, _), n, w in zip(rows, named, written, strict=True)]
    return real, [
        replace(p, human=replace(p.human, latents=m.latents), machine=replace(p.machine, latents=h.latents))
        for p, (h, m) in zip(real, rows, strict=True)
    ]


def rated():
    clean, noisy = paths(24), paths(24, noise=2.0, seed=1)
    real = [replace((clean, noisy)[i % 2][i], rating=1 + i % 2) for i in range(24)]
    return RatedClasses(classifier="linear"), real, [replace(unit, rating=3 - unit.rating) for unit in real]


SAMPLES = {
    "BridgeCritic": judged(BridgeCritic()),
    "JointBridgeCritic": judged(JointBridgeCritic()),
    "GlobalDiscrimination": judged(GlobalDiscrimination()),
    "LocalDiscrimination": judged(LocalDiscrimination()),
    "JointGlobal": judged(JointGlobal()),
    "JointLocal": judged(JointLocal()),
    "ShuffleAUC": judged(ShuffleAUC()),
    "MachinePairs": lambda: (MachinePairs(), *sides()),
    "MachineGeneral": lambda: (MachineGeneral(classifier="linear"), *sides()),
    "SourceProfile": lambda: (SourceProfile("human"), *sides()),
    "RatedClasses": rated,
}
