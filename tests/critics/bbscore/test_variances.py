"""Which variances of a bridge are allowed."""

import pytest

from longform.critics.bbscore.bridge import BridgeFeatures
from tests.refusals import refuses


@pytest.mark.parametrize("sigma2", [1e-9, 0.5, 1.0, 30.0, None])
def test_any_positive_variance_is_allowed(sigma2):
    assert BridgeFeatures(sigma2=sigma2).sigma2 == sigma2


@pytest.mark.parametrize("sigma2", [0.0, -1.0, float("inf"), float("nan")])
def test_other_variances_are_refused(sigma2):
    refuses("a finite variance above 0", BridgeFeatures, sigma2=sigma2)
