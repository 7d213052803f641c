"""Cases of damaged texts and what stands beside each score, with a stand-in for the critic."""

from dataclasses import dataclass

import numpy as np
import pytest

from longform.evaluation import corruption_response as response
from longform.evaluation.corruption_response import of_failure, of_severity
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from longform.statistics.sufficient_statistics import SufficientStatistics
from tests.refusals import refuses


@dataclass(frozen=True)
class Read:
    """A text with a number."""

    unit_id: str
    value: float


class Critic:
    """Scores the sum of the numbers."""

    better = "lower"

    def sufficient_statistics(self, units):
        return SufficientStatistics.of(units, ("sum",), [(unit.value,) for unit in units])

    def score_of(self, statistics):
        return statistics.total("sum")


def test_a_case_is_read_off_a_units_id():
    assert of_failure("swap@0.5/doc/1@x") == ("swap", 0.5, "doc/1@x")
    assert of_severity("doc@1@0.25") == ("", 0.25, "doc@1") and of_severity("doc@0") == (
        "sound",
        0.0,
        "doc",
    )
    refuses("unit id 'doc': 'doc' is no severity; ids are <document>@", of_severity, "doc")
    refuses(
        "'x' is no severity; ids are <corruption>@<severity>/<document>", of_failure, "swap@x/doc"
    )


@pytest.fixture
def judged(monkeypatch):
    """What was estimated, tested and resampled, by the names of the draws."""
    calls = []

    def estimate(critic, statistics, rng, resamples):
        calls.append((rng, resamples))
        value = critic.score_of(statistics)
        return Estimate(value, value - 1, value + 1, len(statistics.unit_ids), 0, "sig")

    def compare(critic, one, sound, rng, permutations):
        calls.append((rng, permutations, critic.score_of(one), critic.score_of(sound)))
        return Comparison(1.0, 0.25, True, permutations)

    def resampled(one, sound, rng, resamples):
        calls.append((rng, resamples, one[1].values[0, 0], sound[1].values[0, 0]))
        return np.array([1.0, 5.0, np.nan])

    monkeypatch.setattr(response, "generator", lambda *names: names)
    monkeypatch.setattr(response, "estimate", estimate)
    monkeypatch.setattr(response, "compare", compare)
    monkeypatch.setattr(response, "resampled_difference", resampled)
    return calls


UNITS = [Read("swap@1/a", 4.0), Read("sound@0/a", 1.0), Read("swap@1/b", 5.0), Read("sound@0/b", 2.0),
         Read("cut@0.5/a", 0.0), Read("cut@0.5/b", 0.5)]  # fmt: skip


def test_sound_texts_come_first_and_every_case_is_held_against_them(judged):
    sound, swap, cut = response.corruption_response(Critic(), UNITS, names=(5, "place"), name="c")
    assert [(one.critic, one.metric, one.task, one.severity, one.value) for one in (sound, swap, cut)] == [
        ("c", "score", "sound", 0.0, 3.0), ("c", "score", "swap", 1.0, 9.0), ("c", "score", "cut", 0.5, 0.5),
    ]  # fmt: skip
    assert (sound.reference, sound.p_value, sound.better) == (None, None, "lower")
    assert (swap.reference, swap.p_value, swap.paired, swap.low, swap.units) == (
        3.0,
        0.25,
        True,
        8.0,
        2,
    )
    assert swap.details == {"difference_low": 1.0, "difference_high": 5.0, "difference_spread": 2.0}
    assert judged[:4] == [
        ((5, "place", "sound", "estimate"), 300), ((5, "place", "swap", 1.0, "estimate"), 300),
        ((5, "place", "swap", 1.0, "permutation"), 999, 9.0, 3.0),
        ((5, "place", "swap", 1.0, "bootstrap"), 300, 4.0, 1.0),
    ]  # fmt: skip
    assert len(judged) == 7


def test_a_share_has_the_interval_of_a_difference_of_shares(judged, monkeypatch):
    given = []
    monkeypatch.setattr(response, "is_share", lambda critic: True)
    monkeypatch.setattr(
        response, "share_difference_interval", lambda *rest: given.append(rest) or (0.0, 9.0)
    )
    _, swap, _ = response.corruption_response(Critic(), UNITS)
    assert given[0] == ((1.0, 5.0), 9.0, 3.0, 2)
    assert (swap.details["difference_low"], swap.details["difference_high"]) == (0.0, 9.0)


def test_a_case_needs_the_same_documents_and_sound_ones(judged):
    refuses(
        "c: no sound text among 1 unit,",
        response.corruption_response,
        Critic(),
        UNITS[:1],
        name="c",
    )
    refuses(
        "other documents than the sound ones",
        response.corruption_response,
        Critic(),
        UNITS[:4][:3] + UNITS[3:4] + [Read("cut@1/a", 1.0)],
    )
    severities = [Read("a@0", 1.0), Read("a@0.5", 3.0)]
    found = response.corruption_response(Critic(), severities, case=of_severity)
    assert [(one.task, one.severity) for one in found] == [("sound", 0.0), ("", 0.5)]
