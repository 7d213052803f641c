"""Response to corruptions: each case is the critic's own score, compared with the sound text document by document."""

import numpy as np
import pytest

from longform.core.documents import Chain
from longform.core.markov_chain import BigramCritic
from longform.core.resampling import generator
from longform.critics.perplexity.score import LogProbs, Perplexity
from longform.evaluation.corruption_response import corruption_response, of_failure, of_severity
from tests.refusals import refuses


def units(corruption, severity, harm):
    rows = [generator("response", i).normal(-2, 0.3, 20) - harm for i in range(30)]
    return [LogProbs(f"{corruption}@{severity:g}/d{i}", "test", row) for i, row in enumerate(rows)]


CASES = [("sound", 0.0, 0.0), ("hurt", 0.2, 0.1), ("hurt", 1.0, 0.5), ("idle", 0.2, 0.0), ("idle", 1.0, 0.0)]


def test_a_response_is_the_paired_difference_with_its_interval():
    records = corruption_response(Perplexity(), [unit for case in CASES for unit in units(*case)], name="ppl")
    found = {(record.task, record.severity): record for record in records}
    sound, hurt, idle = found["sound", 0.0], found["hurt", 1.0], found["idle", 1.0]
    assert hurt.difference == pytest.approx(hurt.value - sound.value) == pytest.approx(sound.value * (np.exp(0.5) - 1))
    assert hurt.details["difference_low"] < hurt.difference < hurt.details["difference_high"] and hurt.p_value == 0.001
    assert hurt.low < hurt.value < hurt.high and hurt.reference == sound.value and hurt.critic == "ppl"
    assert found["hurt", 0.2].p_value < 0.01 and (idle.difference, idle.p_value) == (0, 1)


def test_severities_stand_in_ids_and_bad_ids_and_unlike_documents_are_refused():
    titles = [Chain(f"d{i}@{s}", "test", ("a", "b", "ac"[i % 2])) for s in (0, 1) for i in range(20)]
    critic = BigramCritic().fit([Chain(str(i), "train", ("a", "b", "a")) for i in range(9)])
    zero, one = corruption_response(critic, titles, case=of_severity)
    assert zero.value == critic.score(critic.tally(titles[:20]))
    assert one.severity == 1 and one.difference == 0 and one.p_value == 1
    for case, name in ((of_failure, "no-severity"), (of_severity, "a@much")):
        refuses("is no severity", case, name)
    refuses("nothing to compare with", corruption_response, Perplexity(), units("hurt", 0.2, 0))
    refuses("same articles", corruption_response, Perplexity(), [*units("sound", 0, 0), *units("hurt", 0.2, 0)[:9]])
