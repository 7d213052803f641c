"""Certain draws: what a float32 batch decides is what float64 would decide; the rest goes to the referee."""

import copy

import numpy as np
import pytest
import torch
from scipy import stats
from tiny import lm_folder
from transformers import AutoModelForCausalLM, GPTNeoConfig, GPTNeoForCausalLM, GPTNeoXConfig, GPTNeoXForCausalLM

from longform.decoding.certain_draws import (
    Referee,
    Truncation,
    calibrated,
    certain_draws,
    gumbel,
    in_double,
    keys,
    spread,
)
from longform.decoding.long_documents import context_start
from tests.refusals import refuses


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return AutoModelForCausalLM.from_pretrained(lm_folder(tmp_path_factory.mktemp("lm"))).eval()


def exact_draws(logits, words, rule):
    """The definition, written out: keep the k best, add noise, take the largest."""
    drawn = []
    for row, word in zip(logits.double() / rule.temperature, words, strict=True):
        allowed = row >= row.sort(descending=True).values[min(rule.top_k or len(row), len(row)) - 1]
        scores = torch.where(allowed, row + gumbel(word[None], len(row), torch.float64)[0], -torch.inf)
        drawn.append(int(scores.argmax()))
    return drawn


@pytest.mark.parametrize("rule", [Truncation(), Truncation(3), Truncation(0, 0.5), Truncation(5, 2.0), Truncation(99)])
def test_no_error_below_the_margin_changes_a_certain_draw(rule):
    rng = torch.Generator().manual_seed(0)
    exact = torch.randn(600, 12, generator=rng, dtype=torch.float64)
    words, margin = keys(range(600), 3), 0.05
    seen = (exact + (torch.rand(600, 12, generator=rng) - 0.5) * margin).float()  # spread of errors below the margin
    tokens, certain = certain_draws(seen, words, rule, margin)
    wanted = torch.tensor(exact_draws(exact, words, rule))
    assert torch.equal(tokens[certain], wanted[certain])
    assert 0.5 < certain.float().mean() < 1
    assert (tokens != wanted).any(), "the errors were too small for the test to show anything"


def test_float64_passes_leave_the_network_as_it_was_even_after_an_error(network):
    before, ids = copy.deepcopy(network.state_dict()), torch.arange(1, 20)
    found = Referee(network).logits(ids, 5)
    after = network.state_dict()
    assert all(torch.equal(before[name], after[name]) and after[name].dtype == before[name].dtype for name in before)
    with torch.no_grad():
        wanted = copy.deepcopy(network).double()(ids[None]).logits[0, -5:]
    assert found.dtype == torch.float64 and torch.allclose(found, wanted, rtol=0, atol=1e-12)
    with pytest.raises(RuntimeError, match="on purpose"), in_double(network):
        raise RuntimeError("on purpose")
    assert all(p.dtype == torch.float32 for p in network.parameters())


NEO = {"hidden_size": 16, "num_layers": 2, "num_heads": 2, "max_position_embeddings": 32, "vocab_size": 50}
NEOX = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50}


def test_the_papers_other_architectures_can_be_refereed():
    neo = GPTNeoForCausalLM(GPTNeoConfig(**NEO, attention_types=[[["global", "local"], 1]], window_size=8))
    for other in (neo, GPTNeoXForCausalLM(GPTNeoXConfig(**NEOX, max_position_embeddings=32))):
        referee = calibrated(other.eval(), list(range(40)), 32)
        assert 0 < referee.margin < 1e-3 and all(p.dtype == torch.float32 for p in other.parameters())


def test_the_margin_is_above_what_batches_do_grows_where_too_small_and_wants_numbers(network):
    referee = calibrated(network, list(range(1, 33)), 32)
    ids = torch.randint(0, 300, (50, 20), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        batch = network(ids).logits[:, -1].double()
    worst = max(spread(row - referee.logits(context)[0]) for row, context in zip(batch, ids, strict=True))
    assert 0 < worst < referee.margin
    referee, ids = Referee(network, margin=1e-9), torch.arange(5)
    off = referee.logits(ids)[0].float()
    off[3] += 0.25
    referee.decide(ids, off, keys([1], 5)[0], Truncation())
    assert referee.largest > 0.24 and referee.margin > 0.9
    broken = copy.deepcopy(network)
    broken.transformer.h[0].mlp.c_fc.weight.data[0, 0] = torch.nan
    refuses("not all numbers", calibrated, broken, [1, 2, 3], 32)


@pytest.mark.parametrize(("window", "overlap"), [(8, None), (8, 3), (8, 7), (8, 1), (5, 4)])
def test_contexts_are_those_of_the_protocol_played_by_hand(window, overlap):
    start = 0
    for length in range(1, 60):
        if overlap is None:
            start = max(0, length - window + 1)
        elif length - start > window:
            start = length - overlap
        assert context_start(length, window, overlap) == start


def test_noise_is_standard_gumbel_alone_or_in_company_in_either_precision():
    sample = gumbel(keys(range(40), 7), 5000, torch.float64).flatten().numpy()
    assert stats.kstest(sample, "gumbel_r").pvalue > 1e-3
    assert abs(sample.mean() - np.euler_gamma) < 0.02 and abs(sample.var() - np.pi**2 / 6) < 0.05
    sample = gumbel(keys(range(64), 1), 50_000).flatten()
    expected = float(len(sample) * -np.expm1(-np.exp(-10.0)))  # P(g > 10), about 145 of 3.2 million
    assert abs(int((sample > 10).sum()) - expected) < 5 * expected**0.5
    assert torch.isfinite(sample).all()
    together = gumbel(keys([11, 12, 13], 4), 100, torch.float64)
    for row, key in enumerate([11, 12, 13]):
        assert torch.equal(gumbel(keys([key], 4), 100, torch.float64)[0], together[row])
    single, double = gumbel(keys(range(8), 2), 4000), gumbel(keys(range(8), 2), 4000, torch.float64)
    assert float((single - double).abs().max()) < 4e-6  # a few float32 roundings of numbers up to 22


def test_neighbouring_tokens_positions_and_drafts_are_uncorrelated():
    one = gumbel(keys(range(30), 5), 3000, torch.float64)
    later = gumbel(keys(range(30), 6), 3000, torch.float64)
    pairs = {"token": (one[:, 1:], one[:, :-1]), "draft": (one[1:], one[:-1]), "position": (one, later)}
    for name, (left, right) in pairs.items():
        correlation = np.corrcoef(left.flatten(), right.flatten())[0, 1]
        assert abs(correlation) < 5 / left.numel() ** 0.5, name
