"""A cache with room to grow gives the bits of the one that copies."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

from longform.decoding.sampling import GrowingLayer, growing_cache

SHAPES = {
    "gpt2": {"n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 128},
    "gpt_neo": {"num_layers": 2, "num_heads": 2, "hidden_size": 16, "max_position_embeddings": 128, "window_size": 8, "attention_types": [[["global", "local"], 1]]},
    "llama": {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 16, "intermediate_size": 32},
}  # fmt: skip


def network_of(kind):
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, vocab_size=40, bos_token_id=0, eos_token_id=0, pad_token_id=0, **SHAPES[kind])
    return AutoModelForCausalLM.from_config(config).eval()


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
    assert any(isinstance(layer, GrowingLayer) for layer in ours.layers)
    for one, other in zip(
        logits(network, ours, ids), logits(network, DynamicCache(config=network.config), ids), strict=True
    ):
        assert torch.equal(one, other)


def test_single_tokens_move_nothing_that_has_room():
    network = network_of("llama")
    cache = growing_cache(network)
    with torch.no_grad():
        places = []
        for _ in range(20):
            network(input_ids=torch.tensor([[1]]), past_key_values=cache, use_cache=True)
            places.append(cache.layers[0].keys.data_ptr())
    assert len(set(places)) == 1
