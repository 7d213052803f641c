"""Two small tokenizers, networks of four architectures and a suite of four items to read with them."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from longform.datasets.test_suites.items import Suite, pair

TEXT = "the cat sat on the mat . the naïve dog ’s ball rolled away , however the cat ran ; since then the dog ran too ."
CONTEXT = "the cat sat on the mat . the naïve dog ’s ball rolled away"
END = "<|endoftext|>"


def byte_level(**ends) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([TEXT], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **(ends or {"eos_token": END, "bos_token": END, "pad_token": END})
    )


def sentencepiece_like() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    trainer = trainers.UnigramTrainer(
        vocab_size=80, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )


TOKENIZERS = {"byte-level": byte_level(), "sentencepiece-like": sentencepiece_like()}
SHAPE = {"vocab_size": 320, "max_position_embeddings": 128, "bos_token_id": 0, "eos_token_id": 0}
NETWORKS = {
    "gpt2": lambda: GPT2LMHeadModel(
        GPT2Config(vocab_size=320, n_positions=128, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    ),
    "gpt_neox": lambda: GPTNeoXForCausalLM(
        GPTNeoXConfig(**SHAPE, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    ),
    "llama": lambda: LlamaForCausalLM(
        LlamaConfig(**SHAPE, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    ),
    "gpt_neo": lambda: GPTNeoForCausalLM(
        GPTNeoConfig(
            **SHAPE,
            hidden_size=32,
            num_layers=2,
            num_heads=2,
            attention_types=[[["global", "local"], 1]],
            window_size=4,
        )
    ),
}


def network(kind: str = "gpt2"):
    torch.manual_seed(0)
    made = NETWORKS[kind]().double().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 2:
                parameter.mul_(5.0)  # far from uniform, so that a wrong context shows
    return made


def suite(metric: str = "mean") -> Suite:
    items = [
        pair(1, {"a": [CONTEXT, ", however", "the cat ran ."], "b": [CONTEXT, ", since", "the cat ran ."]}),
        pair(2, {"a": ["", "the cat", "ran"], "b": ["the dog", "", "ran ; ran ."]}),
        pair(3, {"a": ["the naïve dog ’s ball", "sat", "."], "b": ["the naïve dog", "ran", "too ."]}),
        pair(4, {"a": [CONTEXT, ", however", "the cat ran ."], "b": [CONTEXT, ", while", "the cat ran ."]}),
    ]
    return Suite("toy", metric, ("(3;%a%) > (3;%b%)",), tuple(items), {"1": "x"})
