"""Tokens a second of delayed beam search against transformers' own beam search of the same width.

``OMP_NUM_THREADS=1 PYTHONPATH=src:. python -m benchmarks.decoding --json`` writes
``benchmarks/measured/decoding.json``. The sides take turns, round by round, and are timed in
processor seconds, so that a busy machine slows both alike. The network is a random GPT-2; its end
tokens are what a tokenizer's full stops would be: a few in a hundred of the vocabulary.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel

from longform.decoding.beam_search import Beam, Delayed, delayed
from longform.decoding.sampling import Sampled, SentenceEnds
from longform.statistics.random_streams import generator

BEAMS, DELAY, TOP_K = 6, 1, 100  # massarelli2020, Table 3
PROMPT = 24  # tokens
PROMPTS = 8  # in a batch
SHAPES = ((2, 96, 2048), (4, 256, 8192))  # layers, width, vocabulary
RESULT = Path(__file__).parent / "measured" / "decoding.json"


def network(layers: int, width: int, vocabulary: int) -> GPT2LMHeadModel:
    """A random GPT-2 of that shape."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=vocabulary,
        n_layer=layers,
        n_embd=width,
        n_head=4,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config).eval()


def sides(
    model: GPT2LMHeadModel, prompts: torch.Tensor, num_tokens: int
) -> dict[str, Callable[[], torch.Tensor]]:
    """Both searches by name, each writing exactly ``num_tokens`` tokens a prompt.

    A search returns prompts with continuations, int64 (prompts, prompt tokens + ``num_tokens``).
    """
    vocabulary = model.config.vocab_size
    none = torch.zeros(vocabulary, dtype=torch.bool)
    one_in_forty = torch.arange(vocabulary) % 40 == 5
    ends = SentenceEnds(one_in_forty, none, none)
    settings, rows = Delayed(Sampled(TOP_K), Beam(BEAMS), DELAY), prompts.tolist()  # as in Table 3
    rngs = [generator("delayed beam search", 0, row) for row in range(len(rows))]

    def delayed_beams() -> torch.Tensor:
        """Our search; token 0, the end of text, is banned."""
        continuations = delayed(model, rows, settings, num_tokens, rngs, ends, [0])
        return torch.cat([prompts, torch.tensor(continuations)], dim=1)

    def beams() -> torch.Tensor:
        """Beam search of transformers; no prompt is padded."""
        return model.generate(
            prompts,
            attention_mask=torch.ones_like(prompts),
            max_new_tokens=num_tokens,
            min_new_tokens=num_tokens,  # an end of text stops no search
            num_beams=BEAMS,
            do_sample=False,
            pad_token_id=0,
        )

    return {"delayed": delayed_beams, "transformers beam": beams}


def forward_passes(model: GPT2LMHeadModel, search: Callable[[], torch.Tensor]) -> tuple[int, float]:
    """How often a search runs the network, and its processor seconds."""
    calls: list[None] = []
    hook = model.register_forward_hook(lambda *_: calls.append(None))
    start = time.process_time()
    search()
    seconds = time.process_time() - start
    hook.remove()
    return len(calls), seconds


def measure(*, num_tokens: int, rounds: int, shape: tuple[int, int, int]) -> dict[str, object]:
    """Tokens a second of each search in each round, in turns; its first call is not counted.

    A search that draws begins anew after every sentence, which takes it more passes of the network.

    Args:
        num_tokens: new tokens of each of the ``PROMPTS`` prompts.
        rounds: calls of each search.
        shape: layers, width and vocabulary of the network.
    """
    model = network(*shape)
    rng = generator("benchmark", "decoding")
    prompts = torch.tensor(rng.integers(1, shape[2], (PROMPTS, PROMPT)))
    searches = sides(model, prompts, num_tokens)
    # Both write as many tokens.
    for name, search in searches.items():
        shape_of_texts = tuple(search().shape)
        assert shape_of_texts == (PROMPTS, PROMPT + num_tokens), f"{name} wrote {shape_of_texts}"
    # In turns.
    speeds: dict[str, list[float]] = defaultdict(list)
    passes = {}
    for _ in range(rounds):
        for name, search in searches.items():
            passes[name], seconds = forward_passes(model, search)
            speeds[name].append(PROMPTS * num_tokens / seconds)
    ratios = np.divide(*speeds.values()).tolist()  # of the first search over the second
    return {
        "layers, width, vocabulary": list(shape),
        "prompts": PROMPTS,
        "new tokens": num_tokens,
        "beams": BEAMS,
        "tokens a second": {name: np.round(row, 1).tolist() for name, row in speeds.items()},
        "forward passes": passes,
        "delayed over transformers": {
            "rounds": np.round(ratios, 3).tolist(),
            "median": round(statistics.median(ratios), 3),
        },
    }


def main() -> None:
    """Measure two shapes of networks; ``--json`` writes the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=48)
    options = parser.parse_args()
    rows = []
    for shape in SHAPES:
        rows.append(measure(num_tokens=options.tokens, rounds=options.rounds, shape=shape))
    versions = {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "machine": platform.machine(),
    }
    record = {"clock": "processor seconds, one thread", "versions": versions, "rows": rows}
    print(json.dumps(record, indent=1))
    if options.json:
        RESULT.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
