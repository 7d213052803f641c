"""The length confound equals SciPy's correlation, is there for BBScore on true bridges and gone under the joint density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from longform.critics.bbscore.bridge import LatentPath, path
from longform.critics.bbscore.score import BridgeCritic, JointBridgeCritic
from longform.evaluation.sentence_paths import length_confound
from tests.oracles.bridge_loops import bridges

OWN = {"length": lambda unit: len(unit.latents)}


def texts(seed: int) -> list[LatentPath]:
    """True bridges of 6 to 60 sentences."""
    return [path(bridges(1, n, 4, 1.0, seed + n)[0], f"{n}") for n in range(6, 61)]


def test_length_moves_bbscore_as_scipy_says_and_not_the_joint_density():
    train, test = texts(0), texts(1000)
    own, joint = length_confound({"bbscore": BridgeCritic(), "joint": JointBridgeCritic()}, test, train=train, **OWN)
    critic = BridgeCritic().fit(train)
    values = [critic.score(critic.tally([unit])) for unit in test]
    assert own.value == pytest.approx(spearmanr(values, range(6, 61)).statistic) and own.low > 0.3
    assert joint.low < 0 < joint.high


def test_short_texts_are_excluded_and_equal_lengths_are_undefined():
    fitted = BridgeCritic().fit(texts(0))
    (found,) = length_confound({"": fitted}, [path(np.eye(2), "two"), *texts(0)[:4]], **OWN)
    assert (found.units, found.excluded) == (4, 1)
    alike = [path(np.eye(5, 4) * k, str(k)) for k in (1, 2, 3)]
    assert np.isnan(length_confound({"": fitted}, alike, **OWN)[0].value)
