"""A tiny Llama as a GGUF file, as llama.cpp's converter lays it out: SmolLM2's stand-in."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

HEADS, KEYS, WIDTH, LAYERS = 4, 2, 32, 2
# Tensors by the names of transformers and of llama.cpp; the output matrix is the embeddings'.
NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
}
NAMES_IN_A_BLOCK = {
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.o_proj.weight": "attn_output.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
}
TIED = "lm_head.weight"
ROTARY_HEADS = {"attn_q.weight": HEADS, "attn_k.weight": KEYS}  # number of heads
# llama.cpp's types of tokens.
NORMAL, CONTROL = 1, 3


def write_gguf(path: Path, network: Any, tokenizer: Any) -> None:
    """Write a Llama's settings, its vocabulary of byte pairs and its tensors as a GGUF file."""
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in settings_of(network.config, tokenizer).items():
        getattr(writer, f"add_{name}")(value)
    for name, tensor in network.state_dict().items():
        if name != TIED:
            writer.add_tensor(*converted(name, tensor.numpy().astype(np.float32)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def settings_of(config: LlamaConfig, tokenizer: Any) -> dict[str, Any]:
    """Settings of network and vocabulary, by the names of the writer's methods (``add_<name>``)."""
    end = tokenizer.eos_token_id
    byte_pairs = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    vocabulary = byte_pairs["vocab"]
    token_types = [NORMAL] * len(tokenizer)
    token_types[end] = CONTROL
    return {
        "context_length": config.max_position_embeddings,
        "embedding_length": WIDTH,
        "block_count": LAYERS,
        "feed_forward_length": config.intermediate_size,
        "head_count": HEADS,
        "head_count_kv": KEYS,
        "rope_dimension_count": WIDTH // HEADS,
        "rope_freq_base": 10000.0,
        "layer_norm_rms_eps": config.rms_norm_eps,
        "vocab_size": config.vocab_size,
        "tokenizer_model": "gpt2",
        "token_list": sorted(vocabulary, key=vocabulary.get),
        "token_types": token_types,
        "token_merges": [" ".join(pair) for pair in byte_pairs["merges"]],
        "bos_token_id": end,
        "eos_token_id": end,
    }


def converted(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    """llama.cpp's name of a tensor of transformers, and the tensor as llama.cpp has it.

    llama.cpp interleaves the two halves of the rows of each rotary head.
    """
    if name in NAMES:
        return NAMES[name], array
    _, _, layer, inner = name.split(".", 3)  # model.layers.0.self_attn.q_proj.weight
    part = NAMES_IN_A_BLOCK[inner]
    if part in ROTARY_HEADS:
        heads = ROTARY_HEADS[part]
        halves = array.reshape(heads, 2, len(array) // heads // 2, WIDTH)
        array = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(array.shape))
    return f"blk.{layer}.{part}", array


def tiny_llama(tokenizer: Any, positions: int = 64) -> Any:
    """A Llama with random weights and tied embeddings, for a tokenizer and ``positions`` tokens."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=48,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KEYS,
        max_position_embeddings=positions,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return LlamaForCausalLM(config).eval()
