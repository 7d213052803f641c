"""The loop of the GPU jobs: order, rates, resume, and that a recorded update is the update."""

import math

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from experiments.gpu.costs import Calls
from experiments.gpu.training import (
    ALLOWED_GAP,
    PLAIN,
    Recipe,
    Recorder,
    Rows,
    Training,
    gpt2_logits,
    mask_check,
    network_logits,
    recording_gap,
)

CPU = torch.device("cpu")
RECIPE = Recipe(batch=2, updates=12, rate=1e-2, warmup=4)
TEXTS = [[0, *([3, 1, 4, 1, 5, 9, 2, 6, 5, 3][: 3 + place] * 4), 0] for place in range(7)]


def network(dropout=0.0):
    torch.manual_seed(5)
    sizes = {"n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 64, "vocab_size": 10}
    drops = {"resid_pdrop": dropout, "embd_pdrop": dropout, "attn_pdrop": 0.0}
    return GPT2LMHeadModel(GPT2Config(**sizes, **drops, bos_token_id=0, eos_token_id=0))


def training(dropout=0.0, **given):
    return Training(network(dropout), Rows(TEXTS, CPU), RECIPE, seed=3, **given)


def weights(one):
    return torch.cat([value.flatten() for value in one.network.state_dict().values()])


class Replayed(Recorder):
    """A recorder without a GPU: what was recorded is called again."""

    def open(self):
        self.replays = 0

    def begin(self):
        pass

    def finish(self):
        pass

    def plain(self, work):
        work()

    def recorded(self, work):
        return work

    def replay(self, graph):
        self.replays += 1
        graph()


def test_blocks_alone_give_the_logits_of_the_whole_network():
    ids = torch.tensor([[0, 3, 1, 4], [0, 5, 9, 2]])
    one = network().eval()
    with torch.no_grad():
        assert torch.allclose(gpt2_logits(one, ids), one(input_ids=ids).logits, atol=1e-6)


def test_loss_is_the_networks_own_over_tokens_and_leaves_padding_out():
    one = training()
    expected, tokens = 0.0, 0
    for text in TEXTS:
        ids = torch.tensor([text])
        with torch.no_grad():
            expected += float(one.network.eval()(input_ids=ids, labels=ids).loss) * (len(text) - 1)
        tokens += len(text) - 1
    assert one.held_out_loss(one.rows) == pytest.approx(expected / tokens, rel=1e-5)


def test_every_text_comes_once_in_each_pass():
    one = training()
    order = one._texts(0, 7).flatten().tolist()  # two passes over seven texts in batches of two
    assert sorted(order[:7]) == sorted(order[7:]) == list(range(7)) and order[:7] != order[7:]
    assert np.array_equal(one._texts(2, 7), one._texts(0, 7)[2:])


def test_rates_rise_to_the_peak_and_fall_with_the_square_root():
    rates = Recipe(batch=8, updates=120_000, rate=5e-4, warmup=4_000).rates(0, 120_000)
    assert rates[3_999] == pytest.approx(5e-4) == rates.max()
    assert rates[1_999] == pytest.approx(2.5e-4) and rates[15_999] == pytest.approx(2.5e-4)
    assert rates[-1] == pytest.approx(5e-4 / math.sqrt(30))


def test_updates_are_those_of_a_plain_loop_with_adamw():
    one, other = training(), network()
    optimizer = torch.optim.AdamW(other.parameters(), lr=1.0, betas=(0.9, 0.98), weight_decay=1e-4)
    for update, chosen in enumerate(one._texts(0, 6)):
        optimizer.param_groups[0]["lr"] = float(RECIPE.rates(update, update + 1)[0])
        total, tokens = torch.zeros(()), 0
        for text in (TEXTS[place] for place in chosen):
            ids = torch.tensor([text])
            total = total + other(input_ids=ids, labels=ids).loss * (len(text) - 1)
            tokens += len(text) - 1
        optimizer.zero_grad()
        (total / tokens).backward()
        optimizer.step()
    one.advance(6)
    theirs = torch.cat([value.flatten() for value in other.state_dict().values()])
    assert float((weights(one) - theirs).abs().max()) < 2e-4
    assert float((theirs - weights(training())).abs().max()) > 1e-2


def test_a_training_that_was_cut_off_ends_with_the_same_weights(tmp_path):
    whole, cut, later = (training(dropout=0.3) for _ in range(3))
    losses = [whole.advance(5), whole.advance(7)]
    assert cut.advance(5) == losses[0]
    torch.save(cut.state(), tmp_path / "state.pt")
    later.resume(torch.load(tmp_path / "state.pt", weights_only=True))
    assert later.advance(7) == losses[1]
    assert torch.equal(weights(later), weights(whole))


def test_recorded_updates_are_counted_and_are_the_same_updates(monkeypatch):
    plain, recorded = training(), training()
    recorded.recorder = Replayed(CPU)
    for updates in (8, 4):
        assert plain.advance(updates) == recorded.advance(updates)
    widths = recorded.recorder.met
    assert sum(widths.values()) == 12 and len(widths) > 1
    assert recorded.recorder.replays == sum(max(0, count - PLAIN) for count in widths.values()) > 0
    assert torch.equal(weights(plain), weights(recorded))


def test_a_recording_that_does_not_replay_is_noticed():
    class Stale(Replayed):
        def replay(self, graph):
            pass

    assert recording_gap(CPU, Replayed) == 0
    assert recording_gap(CPU, Stale) > 2 * ALLOWED_GAP


def test_each_replay_draws_a_dropout_mask_of_its_own():
    check = mask_check(CPU, Replayed)
    assert check.passes and check.without == 0 and check.with_dropout > 1e-3


def test_replays_that_repeat_a_dropout_mask_are_noticed():
    class Frozen(Replayed):
        def replay(self, graph):
            torch.manual_seed(1)
            graph()

    assert not mask_check(CPU, Frozen).passes


def test_held_out_loss_with_dropout_differs_and_leaves_the_training_alone():
    one, other = training(dropout=0.3), training(dropout=0.3)
    plain = one.held_out_loss(one.rows)
    dropped = one.held_out_loss(one.rows, dropout=True)
    assert dropped == one.held_out_loss(one.rows, dropout=True) != plain
    assert one.held_out_loss(one.rows) == plain
    assert one.advance(3) == other.advance(3)


def test_graphs_are_dropped_where_what_they_read_has_moved():
    one = training()
    one.recorder = Replayed(CPU)
    one.advance(8)
    before = set(one.recorder.graphs)
    one.advance(2)
    assert before and before <= set(one.recorder.graphs)
    one.advance(20)  # more updates than there was room for
    assert one.order.shape == (20, 2)
    refreshed = training()
    refreshed.advance(8), refreshed.advance(2), refreshed.advance(20)
    assert torch.equal(weights(one), weights(refreshed))


def test_calls_that_compute_are_counted_and_views_are_not():
    values = torch.ones(2, 3)
    with Calls() as calls:
        values.t().reshape(-1)  # a copy, since the transpose is no view of a row
        values.view(3, 2)
        values.add_(1)
        values * 2
    assert calls.count == 3


def test_any_causal_network_can_be_trained():
    other = training(logits_of=network_logits)
    assert other.advance(2) == pytest.approx(training().advance(2), rel=1e-6)
