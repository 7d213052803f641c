"""A causal language model of five tokens, small enough to enumerate every text of five tokens."""

import itertools

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from longform.decoding.sampling import SentenceEnds
from longform.statistics.random_streams import generator

TOKENS, DEPTH = 5, 5
PROMPT = [1, 3, 0]


def toy(seed=0, tokens=TOKENS, window=32):
    """A random GPT-2 in float64 whose distributions are far from uniform."""
    torch.manual_seed(seed)
    shape = {
        "n_embd": 8,
        "n_layer": 2,
        "n_head": 2,
        "n_positions": window,
        "initializer_range": 1.0,
    }
    config = GPT2Config(vocab_size=tokens, bos_token_id=None, eos_token_id=None, **shape)
    return GPT2LMHeadModel(config).double().eval()


@torch.no_grad()
def step_log_probs(network, prompt=PROMPT, depth=DEPTH):
    """Every text of ``depth`` tokens after the prompt, and its log-probabilities, (texts, depth)."""
    texts = torch.tensor(list(itertools.product(range(network.config.vocab_size), repeat=depth)))
    rows = torch.cat([torch.tensor([prompt]).expand(len(texts), -1), texts], dim=1)
    log_probs = network(rows).logits.log_softmax(-1)[:, len(prompt) - 1 : -1]
    return texts, log_probs.gather(2, texts[..., None])[..., 0]


@torch.no_grad()
def next_log_probs(network, ids):
    """Log-probabilities after one row of tokens, by a plain forward pass; a list of floats."""
    return network(torch.tensor([list(ids)])).logits[0, -1].log_softmax(-1).tolist()


def ends_at(*tokens, size=TOKENS):
    """Sentences end at the named tokens and nowhere else."""
    table = torch.tensor([token in tokens for token in range(size)])
    return SentenceEnds(table, torch.zeros_like(table), torch.zeros_like(table))


def rngs(count=1, name="rows"):
    return [generator(name, row) for row in range(count)]
