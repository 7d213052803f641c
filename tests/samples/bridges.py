"""Sentence latents: documents on Brownian bridges, and the same sentences in disorder."""

from dataclasses import replace

import numpy as np

from longform.critics.bbscore.joint import JointBridgeCritic
from longform.critics.bbscore.profiles import SourceDetection, SourceProfile
from longform.critics.bbscore.ratings import RatedClasses
from longform.critics.bbscore.score import BridgeCritic, path
from longform.critics.bbscore.sources import MachineArea, MachineGeneral, MachinePairs, TextFamily, TextPair
from longform.critics.bbscore.tasks import (
    GlobalDiscrimination,
    JointGlobal,
    JointLocal,
    LocalDiscrimination,
    ShuffleAUC,
)
from longform.evaluation.bridge_suites import Limited, shuffle_tasks
from longform.evaluation.critic_suites import OverHeads
from longform.evaluation.length_confound import LengthConfound
from longform.resampling import generator
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


def headed(units):
    """Two views of each document: as it is, and through noise."""
    views = [
        {"own": u.latents, "noisy": u.latents + generator("head", u.unit_id).normal(size=u.latents.shape)}
        for u in units
    ]
    return [replace(unit, heads=heads) for unit, heads in zip(units, views, strict=True)]


def with_a_long_one():
    """The last document has more sentences than are allowed."""
    long = path(np.arange(30.0)[:, None] * np.ones(3), "long")
    real = [*paths(), long]
    return Limited(GlobalDiscrimination(), longest=14), real, disordered(real)


def of_many_lengths():
    """True bridges of 6 to 29 sentences; in the worse ones the noise grows with the length."""
    drawn = {n: bridges(1, n, 3, 1.0, n)[0] for n in range(6, 30)}
    noise = {n: 0.2 * n * generator("length", n).normal(size=z.shape) for n, z in drawn.items()}
    real = [path(z[:2] if n == 10 else z, f"d{n}") for n, z in drawn.items()]
    return LengthConfound("joint"), real, [path(z + noise[n], f"d{n}") for n, z in drawn.items()]


def three_sources():
    """Sources that wander to different degrees; in the worse families each has another one's texts."""
    drawn = [bridges(12, 14, 3, level, seed) for seed, level in enumerate((1.0, 3.0, 9.0))]
    real, worse = [], []
    for i, row in enumerate(zip(*drawn, strict=True)):
        human, near, far = (path(z[:2] if i == 4 else z, f"d{i}") for z in row)
        real.append(TextFamily(f"d{i}", "test", human, {"near": near, "far": far}))
        worse.append(TextFamily(f"d{i}", "test", far, {"near": human, "far": near}))
    return SourceDetection(("near", "far")), real, worse


SAMPLES = {
    "BridgeCritic": judged(BridgeCritic()),
    "JointBridgeCritic": judged(JointBridgeCritic()),
    "GlobalDiscrimination": judged(GlobalDiscrimination()),
    "LocalDiscrimination": judged(LocalDiscrimination()),
    "JointGlobal": judged(JointGlobal()),
    "JointLocal": judged(JointLocal()),
    "ShuffleAUC": judged(ShuffleAUC()),
    "MachinePairs": lambda: (MachinePairs(), *sides()),
    "MachineArea": lambda: (MachineArea(), *sides()),
    "MachineGeneral": lambda: (MachineGeneral(classifier="linear"), *sides()),
    "SourceProfile": lambda: (SourceProfile("human"), *sides()),
    "SourceDetection": three_sources,
    "RatedClasses": rated,
    "LengthConfound": of_many_lengths,
    "Limited": with_a_long_one,
    "OverHeads": lambda: (
        OverHeads(GlobalDiscrimination(), ("own", "noisy")),
        headed(paths()),
        headed(disordered(paths())),
    ),
    "Suite": judged(shuffle_tasks(judges=["bbscore", "joint"], blocks=[1], windows=[])),
}
