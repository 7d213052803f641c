"""Draws and margins on small tensors, against plain arithmetic of whole numbers."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from longform.decoding import exact_sampling as e
from longform.decoding.exact_sampling import Referee, Truncation
from longform.statistics.random_streams import derived_seed
from tests.refusals import refuses

LAST = 2**32 - 1


def mixed(bits: int) -> int:
    """lowbias32 of Wellons' search, on whole numbers."""
    bits = ((bits ^ (bits >> 16)) * 0x7FEB352D) & LAST
    bits = ((bits ^ (bits >> 15)) * 0x846CA68B) & LAST
    return bits ^ (bits >> 16)


def noise(words: list[int], vocabulary: int) -> list[float]:
    """-log(-log(1 - u)) with u the hash of a token and two words, in 32 bits."""
    numbers = []
    for token in range(vocabulary):
        bits = mixed(mixed((token * 0x9E3779B9 + words[0]) & LAST) ^ words[1])
        from_one = bits >= 2**31  # then the distance to 1 is what half a step is added to
        waiting = (
            -math.log((LAST - bits + 1.5) / 2**32)
            if from_one
            else -math.log1p(-(bits + 0.5) / 2**32)
        )
        numbers.append(-math.log(waiting))
    return numbers


def unsigned(words: Tensor) -> list[list[int]]:
    return [[value & LAST for value in row] for row in words.tolist()]


def test_keys_are_both_halves_of_a_seed_of_a_draft_and_a_position():
    seeds = [derived_seed(5, 3), derived_seed(2**60, 3)]
    expected = [[seed & LAST, seed >> 32] for seed in seeds]
    found = e.keys([5, 2**60], 3)
    assert found.dtype == torch.int32 and unsigned(found) == expected
    each = unsigned(e.keys([5, 5], [3, 4]))
    assert each[0] == expected[0] and each[1] != each[0]
    with torch.device("meta"):
        assert e.keys([5], 3, "meta").device.type == "meta"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_is_gumbels_of_the_hash_whatever_the_rows(dtype):
    words = e.keys(list(range(6)), 9)
    found = e.gumbel(words, 40, dtype)
    assert found.shape == (6, 40) and found.dtype == dtype
    expected = np.array([noise(row, 40) for row in unsigned(words)])
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-5 if dtype == torch.float32 else 1e-9,
                               atol=2e-6 if dtype == torch.float32 else 1e-9)  # fmt: skip


def drafts_won_by(token: int, scores: list[float], lead: float, count: int = 3) -> list[int]:
    """Drafts in which a token wins by more than a lead."""
    found = []
    for draft in range(10_000):
        (words,) = unsigned(e.keys([draft], 1))
        total = np.array(scores) + noise(words, len(scores))
        first, second = np.sort(total)[::-1][:2]
        if total.argmax() == token and first - second > lead:
            found.append(draft)
            if len(found) == count:
                break
    return found


@pytest.mark.parametrize("on_device", [False, True])
def test_a_hash_of_zero_draws_half_a_step_above_zero(on_device):
    """The first token hashes to 0, as the second word is the hash of the first: 33 log 2 = 22.9."""
    words = [1, mixed(1)]
    scores = torch.tensor([[noise(words, 2)[1], 21.0]])  # so that both have the second one's noise
    tokens, certain = e.exact_sampling(
        scores, torch.tensor([words], dtype=torch.int32), Truncation(), 1.5, on_device
    )
    assert (tokens.tolist(), certain.tolist()) == ([0], [True])


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_a_draw_is_certain_where_its_lead_exceeds_the_margin(on_device, temperature):
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(30, 50)).astype(np.float32) * 2
    words = e.keys(list(range(30)), 7)
    scores = (logits - logits.max(axis=1, keepdims=True)) / temperature
    total = scores + np.array([noise(row, 50) for row in unsigned(words)])
    order = np.sort(total, axis=1)
    leads = (order[:, -1] - order[:, -2]) * temperature  # in nats of the logits
    for margin in (0.0, 0.3, 1.0):
        tokens, certain = e.exact_sampling(
            torch.from_numpy(logits), words, Truncation(0, temperature), margin, on_device
        )
        assert tokens.tolist() == total.argmax(axis=1).tolist()
        clear = abs(leads - margin) > 1e-3
        assert certain[clear].tolist() == (leads > margin)[clear].tolist()
    assert 0 < (leads > 1.0).sum() < 30


@pytest.mark.parametrize("on_device", [False, True])
def test_the_border_of_a_truncation_must_be_certain_or_far(on_device):
    """Of two kept tokens the third is near: the first is far above the border, the second on it."""
    rows = [[5.0, 4.0, 3.9, 0.0], [5.0, 4.0, 3.0, 0.0]]  # the gap is .1 or 1
    first, second = drafts_won_by(0, [5, 4, 3.9], 1.0), drafts_won_by(1, [5, 4, 3.9], 1.0)

    def certain(logits, drafts, margin, top_k=2):
        tokens, found = e.exact_sampling(
            torch.tensor([logits] * len(drafts)), e.keys(drafts, 1), Truncation(top_k), margin,
            on_device,
        )  # fmt: skip
        return set(zip(tokens.tolist(), found.tolist(), strict=True))

    assert certain(rows[0], first, 0.3) == {(0, True)}  # 5 > 4 + .3
    assert certain(rows[1], second, 0.3) == {(1, True)}
    near = certain(rows[0], second, 0.3)
    assert {known for _, known in near} == {False}
    assert certain(rows[0], second, 0.05) == {(1, True)}
    assert certain([1.0, 1.0, 1.0, -90.0], drafts_won_by(0, [1, 1, 1], 1.0), 0.3, 3) == {(0, True)}
    assert certain([1.0, 0.0], drafts_won_by(0, [1, 0], 1.0), 0.3, 2) == {(0, True)}


def test_tokens_outside_a_truncation_are_impossible_within_the_slack():
    scaled = torch.tensor([[3.0, 1.0, 2.0, 0.95], [0.0, 0.0, 0.0, -1.0]])
    inf = math.inf
    assert e.truncated(scaled, 2, 0.0).tolist() == [[3, -inf, 2, -inf], [0, 0, 0, -inf]]
    assert e.truncated(scaled, 3, 0.1).tolist()[0] == pytest.approx([3, 1, 2, 0.95])
    assert e.truncated(scaled, 3, 0.01).tolist()[0] == [3, 1, 2, -inf]
    for top_k in (0, 4, 9):
        assert e.truncated(scaled, top_k, 0.0) is scaled
    assert e.spread(torch.tensor([[1.0, -2.0], [0.5, 4.0]])) == 3.5


def test_a_referee_decides_by_exact_logits_and_widens_its_margin(monkeypatch):
    exact = torch.tensor([[2.0, 1.0, 0.0, -5.0]], dtype=torch.float64)
    monkeypatch.setattr(Referee, "logits", lambda self, context: exact)
    referee = Referee(None, margin=1.0)
    words = e.keys([3], 1)[0]
    token = referee.decide(None, exact[0] + torch.tensor([0.1, 0, 0, 0]), words, Truncation())
    expected = np.array([2.0, 1.0, 0.0, -5.0]) + noise(unsigned(words[None])[0], 4)
    assert token == expected.argmax()
    assert (referee.called, referee.margin) == (1, 1.0)
    assert referee.largest == pytest.approx(0.1)
    referee.decide(None, exact[0] + torch.tensor([0.5, 0, 0, -0.25]), words, Truncation())
    assert referee.called == 2 and referee.largest == pytest.approx(0.75)
    assert referee.margin == pytest.approx(3.0)  # four times the largest
    referee.decide(None, exact[0], words, Truncation())
    assert referee.largest == pytest.approx(0.75) and referee.margin == pytest.approx(3.0)
    # The truncation and the temperature are those of the rule; at 4 the noise decides.
    for draft, temperature in itertools.product(range(12), (0.5, 4.0)):
        words = e.keys([draft], 1)[0]
        numbers = noise(unsigned(words[None])[0], 4)
        of_two = np.argmax(np.array([2.0, 1.0]) / temperature + numbers[:2])
        assert referee.decide(None, exact[0], words, Truncation(2, temperature)) == of_two


class Recorded(torch.nn.Module):
    """Logits that float32 gets wrong by so much alone, in a batch and through the cache."""

    def __init__(self, errors):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.errors = errors
        self.calls = []

    device = torch.device("cpu")

    def forward(self, input_ids, use_cache=None, logits_to_keep=0, past_key_values=None):
        cached = past_key_values is not None
        self.calls.append((input_ids.clone(), use_cache, logits_to_keep, self.weight.dtype))
        size = (len(input_ids), logits_to_keep or input_ids.shape[1], 4)
        logits = torch.zeros(size, dtype=self.weight.dtype)
        if self.weight.dtype == torch.float32:
            alone, batch, decoded = self.errors
            logits[..., 2] += decoded if cached else alone if len(input_ids) == 1 else batch
        return SimpleNamespace(logits=logits, past_key_values="cache")


@pytest.mark.parametrize("errors", [(0.5, 0.25, 0.125), (0.25, 0.5, 0.125), (0.0, 0.25, -0.5)])
def test_a_margin_is_eight_times_the_largest_error_of_any_way_to_read(errors):
    network = Recorded(errors)
    referee = e.calibrated(network, range(100, 200), window=20)
    assert referee.margin == 4.0 and referee.network is network and referee.called == 0
    ids = list(range(100, 120))
    first, alone, batch, prefix, *ones = network.calls
    assert first[0].tolist() == alone[0].tolist() == [ids]
    assert (first[2], first[3], alone[3], first[1]) == (20, torch.float64, torch.float32, False)
    assert batch[0].shape == (8, 20) and batch[0][1].tolist() == [*ids[-7:], *ids[:-7]]
    assert prefix[0].tolist() == batch[0][:, :12].tolist() and prefix[1] is True
    assert [one[0].tolist() for one in ones] == [batch[0][:, [i]].tolist() for i in range(12, 20)]
    assert network.weight.dtype == torch.float32


def test_a_pass_in_float64_widens_the_weights_of_one_layer_at_a_time():
    seen, network = [], torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    with e.in_double(network):
        for layer in network:
            layer.register_forward_pre_hook(
                lambda *_: seen.append([a.weight.dtype for a in network])
            )
        network(torch.ones(1, 1, dtype=torch.float64))
    wide, narrow = torch.float64, torch.float32
    assert seen == [[wide, narrow], [narrow, wide]]


@pytest.mark.parametrize(("tokens", "decoded"), [(8, []), (9, [8])])
def test_few_tokens_are_not_read_one_by_one(tokens, decoded):
    network = Recorded((0.25, 0.5, 4.0))
    margin = e.calibrated(network, range(100), window=tokens).margin
    assert margin == (32.0 if decoded else 4.0)
    assert [call[0].shape[1] for call in network.calls[:3]] == [tokens] * 3
    assert network.calls[0][2] == tokens  # of fewer than 64
    assert [call[0].shape[1] for call in network.calls[3:]] == ([1] * 9 if decoded else [])


def test_the_last_64_positions_of_a_window_are_compared():
    network = Recorded((0.0, 0.5, 0.0))
    e.calibrated(network, range(100), window=70)
    assert [(call[0].shape[1], call[2]) for call in network.calls[:3]] == [(70, 64)] * 3


@pytest.mark.parametrize("error", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_refused(error):
    refuses("logits are not all numbers", e.calibrated, Recorded((error, 0, 0)), range(9), 9)
