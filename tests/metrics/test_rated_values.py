"""Metrics of one reading: log probabilities and words are told apart by what the readout holds."""

import numpy as np

from longform.critics.perplexity.score import LogProbs
from longform.documents import Readout
from longform.evaluation.rated_values_metrics import units_from_readout
from longform.text.token_texts import TokenText, texts_to_readout


def test_a_readout_of_log_probabilities_and_one_of_words_are_told_apart():
    arrays = {"token_logprob": np.array([-1.0, -2.0]), "token_logprob_lengths": np.array([2])}
    assert isinstance(units_from_readout(Readout(("a",), ("test",), arrays))[0], LogProbs)
    words = TokenText("a", "test", np.array([1, 2]), np.zeros(0, dtype=np.int64))
    assert isinstance(units_from_readout(texts_to_readout([words]))[0], TokenText)
