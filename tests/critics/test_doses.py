"""Dose by dose: the pooled score is the critic's own, each dose is compared with the sound text pair by pair."""

import numpy as np
import pytest
from samples.chains import pronoun_chains

from longform.critics.coreference.score import MentionCritic
from longform.documents import BadInput, Chain
from longform.evaluation.severities import by_dose, mention_doses, title_doses

REAL = pronoun_chains("real", 60)
DOSED = [Chain(f"d{i}@{dose}", "test", unit.symbols) for dose in ("0", "0.5")
         for i, unit in enumerate(pronoun_chains("dose", 25, float(dose)))]  # fmt: skip


def test_each_dose_has_the_critics_own_score_and_a_paired_difference_from_dose_zero():
    critic, plain = mention_doses().fit(REAL), MentionCritic().fit(REAL)
    assert critic.score(critic.tally(DOSED)) == plain.score(plain.tally(DOSED))
    zero, half = critic.describe(DOSED)["doses"]
    for row, chains in ((zero, DOSED[:25]), (half, DOSED[25:])):
        assert row["value"] == plain.score(plain.tally(chains))
    assert zero["comparison"] is None and half["comparison"]["paired"]
    assert half["comparison"]["difference"] == pytest.approx(half["value"] - zero["value"])
    assert half["comparison"]["p_value"] < 0.01


def test_a_critic_of_what_did_not_change_does_not_move():
    titles = [Chain(f"d{i}@{dose}", "test", ("a", "b", "ac"[i % 2])) for dose in (0, 1) for i in range(20)]
    critic = title_doses().fit([Chain(str(i), "train", ("a", "b", "a")) for i in range(9)])
    zero, one = critic.describe(titles)["doses"]
    assert one["comparison"]["difference"] == 0 and one["comparison"]["p_value"] == 1
    assert np.isclose(zero["value"], one["value"])


def test_units_without_a_dose_list_none_and_a_bad_dose_is_named():
    critic = title_doses().fit([Chain("a", "train", ("x", "y"))])
    assert critic.describe([Chain("a", "test", ("x",))]) == {}
    with pytest.raises(BadInput, match="'much' is no dose"):
        by_dose([Chain("a@much", "test", ("x",))])
