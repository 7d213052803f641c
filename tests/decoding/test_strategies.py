"""Sampling and delayed beam search: distributions, identities, batches, and input that cannot be used."""

from functools import partial

import numpy as np
import pytest
import torch
from toy_language import DEPTH, PROMPT, ends_at, next_log_probs, rngs, toy
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    DynamicCache,
    LogitsProcessorList,
    StoppingCriteriaList,
    TopPLogitsWarper,
)

from longform.core.resampling import generator
from longform.decoding import sampling
from longform.decoding.beam_search import Beam, Delayed, beam_search, delayed
from longform.decoding.sampling import PAD, Sampled, SentenceEnds, block_repeats, draws, growing_cache, nucleus, sample
from longform.decoding.strategies import KINDS, decode, is_random, settings_of
from tests.refusals import refuses

AT_TWO = ends_at(2)


def kept_by(settings, probabilities):
    """Renormalised probabilities after truncation, by sorting."""
    order = sorted(range(len(probabilities)), key=lambda token: -probabilities[token])
    kept, mass = [], 0.0
    for token in order[: settings.top_k or None]:
        kept.append(token)
        mass += probabilities[token]
        if mass >= settings.top_p:
            break
    return {token: probabilities[token] / mass for token in kept}


@pytest.mark.parametrize("settings", [Sampled(), Sampled(top_k=2), Sampled(top_p=0.6), Sampled(top_p=0.2)])
def test_samples_follow_the_truncated_distribution_of_all_texts(settings):
    """Five tokens deep: the probability of every text is the product of its renormalised steps."""
    network, drawn = toy(5), 1000
    wanted = {(): 1.0}
    for _ in range(DEPTH):
        deeper = {}
        for text, mass in wanted.items():
            probabilities = np.exp(next_log_probs(network, [*PROMPT, *text]))
            deeper |= {(*text, token): mass * p for token, p in kept_by(settings, probabilities).items()}
        wanted = deeper
    assert sum(wanted.values()) == pytest.approx(1)
    made = sample(network, [PROMPT] * drawn, settings, [DEPTH] * drawn, rngs(drawn, "distribution"))
    counts = {}
    for tokens, _ in made:
        counts[tuple(tokens)] = counts.get(tuple(tokens), 0) + 1
    assert set(counts) <= set(wanted)
    for text, mass in wanted.items():
        assert abs(counts.get(text, 0) / drawn - mass) < 5 * np.sqrt(mass * (1 - mass) / drawn) + 3 / drawn


def test_draws_invert_the_cumulative_distribution_and_pass_over_a_blocked_row():
    scores = 3 * torch.randn(200, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    scores[torch.rand(200, 40, generator=torch.Generator().manual_seed(2)) < 0.5] = -torch.inf
    scores[7] = -torch.inf
    taken = [generator("inversion", row) for row in range(200)]
    drawn, uniform = draws(scores, taken), [generator("inversion", row).random() for row in range(200)]
    assert drawn[7] == -1 and taken[7].random() == uniform[7]
    for row in np.delete(np.arange(200), 7):
        below, upto = (float(scores[row].softmax(-1)[: drawn[row] + end].sum()) for end in (0, 1))
        assert below - 1e-12 <= uniform[row] <= upto + 1e-12 and torch.isfinite(scores[row, drawn[row]])


@pytest.mark.parametrize("top_p", [0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("step", [0.0, 0.25])
def test_the_nucleus_is_that_of_transformers(top_p, step):
    scores = 3 * torch.randn(60, 300, generator=torch.Generator().manual_seed(3))
    scores = (scores / step).round() * step if step else scores  # ties, also at the nucleus's edge
    scores[:, 5] = -torch.inf
    ids = torch.zeros(60, 1, dtype=torch.int64)
    assert torch.equal(nucleus(top_p, ids, scores), TopPLogitsWarper(top_p)(ids, scores))


def test_delayed_search_is_the_beam_without_delay_sampling_with_a_long_one_and_its_steps_by_hand():
    for seed in range(4):
        network, made = toy(seed), []
        while len(made) < 20:
            made += beam_search(network, [[*PROMPT, *made]], Beam(3), [20 - len(made)], ends=AT_TWO)[0].tokens
        assert delayed(network, [PROMPT], Delayed(Sampled(2), Beam(3), 0), 20, rngs(), AT_TWO)[0] == made
        assert len(made) == 20
    network = toy(2)
    wanted = sample(network, [PROMPT], Sampled(top_k=3), [20], rngs())[0][0]
    assert delayed(network, [PROMPT], Delayed(Sampled(3), Beam(3), 256), 20, rngs(), AT_TWO)[0] == wanted
    for seed in range(3):
        network, made, rng = toy(seed), [], generator("rows", 0)
        while len(made) < 18:
            scores = np.array(next_log_probs(network, [*PROMPT, *made]))
            scores[np.argsort(-scores)[3:]] = -np.inf
            made.append(int(draws(torch.from_numpy(scores[None]), [rng])[0]))
            if made[-1] != 2 and len(made) < 18:
                made += beam_search(network, [[*PROMPT, *made]], Beam(2), [18 - len(made)], ends=AT_TWO)[0].tokens
        assert delayed(network, [PROMPT], Delayed(Sampled(3), Beam(2), 1), 18, rngs(), AT_TWO)[0] == made


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"human"}))
def test_sixteen_at_once_are_sixteen_alone(kind):
    network, rng = toy(4, tokens=9), generator("batch")
    ends, settings = ends_at(2, size=9), settings_of({"kind": kind, "blocking": 4})
    prompts = [rng.integers(0, 8, rng.integers(1, 9)).tolist() for _ in range(16)]
    together = decode(network, prompts, settings, 12, rngs(16), 8, ends=ends)
    alone = [decode(network, [p], settings, 12, [g], 8, ends)[0] for p, g in zip(prompts, rngs(16), strict=True)]
    assert together == alone


@pytest.mark.parametrize("kind", ["greedy", "top_k", "beam", "sibling_beam"])
def test_what_generate_writes_is_what_our_own_loops_write(kind):
    network = toy(3, tokens=9)
    settings, end = settings_of({"kind": kind, "blocking": 3}), 8
    prompts = [PROMPT, [4, 1], [0, 0, 5, 5, 2]]
    made = decode(network, prompts, settings, 14, rngs(3), end)
    if kind == "top_k":
        wanted = [ids for ids, _ in sample(network, prompts, settings, [14] * 3, rngs(3), [end])]
    else:
        wanted = [list(best.tokens) for best in beam_search(network, prompts, settings, [14] * 3, [end])]
    assert made == wanted


def test_a_models_own_settings_are_not_asked_and_the_rules_work_inside_generate():
    network = toy(1)
    wanted = decode(network, [PROMPT], settings_of({"kind": "greedy"}), 12, rngs(), 4)
    network.generation_config.repetition_penalty = 50.0
    assert decode(network, [PROMPT], settings_of({"kind": "greedy"}), 12, rngs(), 4) == wanted
    network = toy(2)
    given = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0, "attention_mask": torch.ones(1, 3)}
    rules = LogitsProcessorList([partial(block_repeats, 2, PAD)])
    made = network.generate(torch.tensor([PROMPT]), logits_processor=rules, **given)
    assert made[0, 3:].tolist() == list(beam_search(network, [PROMPT], Beam(1, blocking=2), [12])[0].tokens)
    made = network.generate(torch.tensor([PROMPT]), stopping_criteria=StoppingCriteriaList([AT_TWO]), **given).tolist()
    assert 2 not in made[0][3:-1] and (made[0][-1] == 2 or len(made[0]) == 15)


class Pieces:
    """A tokenizer of a few pieces."""

    texts = ("Dr", ".", " town", '."', "\n", " 3.5", " J", "?!", ")", "...")

    def __len__(self):
        return len(self.texts)

    def decode(self, ids):
        return "".join(self.texts[i] for i in ids)


def test_sentences_end_at_closing_marks_but_not_after_abbreviations():
    ends = SentenceEnds.of_tokenizer(Pieces(), 12)
    after = {text: ends.next_ends(torch.tensor([[row]]))[0].tolist() for row, text in enumerate(Pieces.texts)}
    assert [i for i, end in enumerate(after[" town"]) if end] == [1, 3, 4, 7, 9]
    assert [i for i, end in enumerate(after["Dr"]) if end] == [3, 4, 7, 9] and after["Dr"] == after[" J"]
    assert ends(torch.tensor([[0, 1], [2, 1]]), None).tolist() == [False, True]
    assert ends.guarded([0, 1, 2, 1, 6, 1]) == 2


def test_decoders_are_checked():
    random = [is_random(settings_of({"kind": kind})) for kind in ("greedy", "top_p", "delayed_beam")]
    assert random == [False, True, True]
    assert settings_of({"kind": "delayed_beam"}) == Delayed(Sampled(100), Beam(6), 1)  # Table 3
    refuses("decoder kind is", settings_of, {"kind": "diverse"})
    for kind, wrong in (("greedy", {"k": 3}), ("top_p", {"p": 0}), ("beam", {"beams": 0}), ("contrastive", {"k": 0}),
                        ("contrastive", {"alpha": 2}), ("min_p", {"p": 2}), ("typical", {"mass": 0})):  # fmt: skip
        refuses(kind.split("_")[0], settings_of, {"kind": kind, **wrong})
    refuses("where sentences end", decode, toy(0), [PROMPT], settings_of({"kind": "delayed_beam"}), 2, rngs(), 4)


SHAPES = {
    "gpt2": {"n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 128},
    "gpt_neo": {"num_layers": 2, "num_heads": 2, "hidden_size": 16, "max_position_embeddings": 128, "window_size": 8, "attention_types": [[["global", "local"], 1]]},
    "llama": {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 16, "intermediate_size": 32},
}  # fmt: skip


def network_of(kind):
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, vocab_size=40, **SHAPES[kind])).eval()


@torch.no_grad()
def logits(network, cache, ids):
    """A prompt, single tokens past the first room, rows repeated, chosen, and single tokens again."""
    made = [network(input_ids=ids[:, :5], past_key_values=cache, use_cache=True).logits]
    for place in range(5, 60):
        made.append(network(input_ids=ids[:, place : place + 1], past_key_values=cache, use_cache=True).logits)
    cache.batch_repeat_interleave(2)
    rows = torch.tensor([3, 0, 5])
    cache.batch_select_indices(rows)
    ids = ids.repeat_interleave(2, 0)[rows]
    for place in range(60, 70):
        made.append(network(input_ids=ids[:, place : place + 1], past_key_values=cache, use_cache=True).logits)
    return made


@pytest.mark.parametrize("kind", SHAPES)
def test_bits_are_those_of_the_cache_that_copies(kind):
    network, ids = network_of(kind), torch.randint(40, (3, 70), generator=torch.Generator().manual_seed(1))
    ours = growing_cache(network)
    assert any(isinstance(layer, sampling.GrowingLayer) for layer in ours.layers)
    theirs = logits(network, DynamicCache(config=network.config), ids)
    assert all(torch.equal(*pair) for pair in zip(logits(network, ours, ids), theirs, strict=True))


@torch.no_grad()
def test_single_tokens_move_nothing_that_has_room():
    network = network_of("llama")
    cache = growing_cache(network)
    places = set()
    for _ in range(20):
        network(input_ids=torch.tensor([[1]]), past_key_values=cache, use_cache=True)
        places.add(cache.layers[0].keys.data_ptr())
    assert len(places) == 1
