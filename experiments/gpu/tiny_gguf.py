"""A tiny Llama as a GGUF file, laid out as llama.cpp's converter does it: SmolLM2's stand-in in tests and tiny jobs."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

HEADS, KEYS, WIDTH, LAYERS = 4, 2, 32, 2
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


def write_gguf(path: Path, network: Any, tokenizer: Any) -> None:
    """The file as llama.cpp's converter lays it out: rotary halves interleaved, one vocabulary of byte pairs."""
    writer, config = gguf.GGUFWriter(path, "llama"), network.config
    own, end = json.loads(tokenizer.backend_tokenizer.to_str())["model"], tokenizer.eos_token_id
    facts = {
        "context_length": config.max_position_embeddings, "embedding_length": WIDTH, "block_count": LAYERS,
        "feed_forward_length": config.intermediate_size, "head_count": HEADS, "head_count_kv": KEYS,
        "rope_dimension_count": WIDTH // HEADS, "rope_freq_base": 10000.0, "layer_norm_rms_eps": config.rms_norm_eps,
        "vocab_size": config.vocab_size, "tokenizer_model": "gpt2", "token_list": sorted(own["vocab"], key=own["vocab"].get),
        "token_types": [3 if token == end else 1 for token in range(len(tokenizer))],
        "token_merges": [" ".join(pair) for pair in own["merges"]], "bos_token_id": end, "eos_token_id": end,
    }  # fmt: skip
    for name, value in facts.items():
        getattr(writer, f"add_{name}")(value)
    for name, tensor in network.state_dict().items():
        array = tensor.numpy().astype(np.float32)
        if name == "lm_head.weight":
            continue  # tied
        if name in ("model.embed_tokens.weight", "model.norm.weight"):
            writer.add_tensor(
                "token_embd.weight" if "embed" in name else "output_norm.weight", array
            )
            continue
        _, _, layer, *inner, _ = name.split(".")
        part = NAMES[".".join(inner)]
        if part in ("attn_q", "attn_k"):
            heads = HEADS if part == "attn_q" else KEYS
            halves = array.reshape(heads, 2, len(array) // heads // 2, WIDTH)
            array = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(array.shape))
        writer.add_tensor(f"blk.{layer}.{part}.weight", array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tiny_llama(tokenizer: Any, positions: int = 64) -> Any:
    """A network of random weights for a tokenizer and so many positions, with tied embeddings."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=KEYS, max_position_embeddings=positions, tie_word_embeddings=True,
        bos_token_id=tokenizer.eos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()
