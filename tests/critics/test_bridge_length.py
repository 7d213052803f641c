"""The length confound equals SciPy's correlation, is there for BBScore on true bridges and gone under the joint density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from longform.critics.bbscore.score import BridgeCritic, LatentPath, path
from longform.documents import BadInput
from longform.evaluation.length_confound import LengthConfound, length_confound
from tests.oracles.bridge_loops import bridges


def texts(seed: int) -> list[LatentPath]:
    """True bridges of 6 to 60 sentences."""
    return [path(bridges(1, n, 4, 1.0, seed + n)[0], f"{n}") for n in range(6, 61)]


def test_it_equals_scipys_correlation():
    train, test = texts(0), texts(1000)
    found = LengthConfound().fit(train)
    critic = BridgeCritic().fit(train)
    values = [critic.score(critic.tally([unit])) for unit in test]
    assert found.score(found.tally(test)) == pytest.approx(spearmanr(values, range(6, 61)).statistic)


def test_length_moves_bbscore_and_not_the_joint_density():
    cells = length_confound().fit(texts(0)).describe(texts(1000))["cells"]
    assert cells["length-bbscore"]["low"] > 0.3
    assert cells["length-joint"]["low"] < 0 < cells["length-joint"]["high"]


def test_short_texts_are_excluded_and_equal_lengths_are_undefined():
    fitted = LengthConfound().fit(texts(0))
    assert fitted.tally([path(np.eye(2), "two")]).column("excluded").tolist() == [1]
    assert np.isnan(fitted.score(fitted.tally([path(np.eye(5, 4) * k, str(k)) for k in (1, 2)])))
    with pytest.raises(BadInput, match="judge 'raw'"):
        LengthConfound("raw")
