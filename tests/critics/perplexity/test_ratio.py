"""The ratio of two models' perplexities is paired by document."""

import numpy as np

from longform.core.documents import Readout
from longform.critics.perplexity.score import ratio
from tests.refusals import refuses


def reading(per_document, tokens=20):
    ids = tuple(f"d{i}" for i in range(len(per_document)))
    arrays = {
        "token_logprob": np.repeat(-np.asarray(per_document, float), tokens),
        "token_logprob_lengths": np.full(len(ids), tokens),
    }
    return Readout(ids, ("train",) + ("test",) * (len(ids) - 1), arrays)


def test_a_constant_factor_is_certain_however_much_documents_differ():
    nats = np.random.default_rng(0).uniform(1, 6, 60)
    noise = np.random.default_rng(1).normal(0, 0.01, 60)
    (certain,) = ratio(train=reading(nats), texts=reading(nats + np.log(1.1)), seed=1, name="t")
    np.testing.assert_allclose([certain.value, certain.low, certain.high], 1.1)
    (near,) = ratio(train=reading(nats), texts=reading(nats + np.log(1.1) + noise), seed=1, name="t")
    assert 1.09 < near.low < near.value < near.high < 1.11 and near.high - near.low > 0.002
    assert (near.units, near.metric) == (59, "word_ppl_ratio")
    refuses("the same documents", ratio, train=reading(nats), texts=reading(nats[1:]), seed=1, name="t")
