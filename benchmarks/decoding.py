"""Tokens a second of delayed beam search against transformers' own beam search of the same width, in one run.

``OMP_NUM_THREADS=1 PYTHONPATH=src:. python -m benchmarks.decoding --json`` writes ``benchmarks/measured/decoding.json``. The sides
take turns, round by round, and are timed in processor seconds, so that a busy machine slows both alike. The network is a
random GPT-2; its end tokens are what a tokenizer's full stops would be: a few in a hundred of the vocabulary.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel

from longform.decoding.beam_search import Beam, Delayed, delayed
from longform.decoding.sampling import Sampled, SentenceEnds
from longform.statistics.random_streams import generator

BEAMS, DELAY, TOP_K = 6, 1, 100  # massarelli2020, Table 3
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
    model: GPT2LMHeadModel, prompts: torch.Tensor, tokens: int
) -> dict[str, Callable[[], torch.Tensor]]:
    """Both searches, each writing exactly ``tokens`` tokens a prompt."""
    vocabulary = model.config.vocab_size
    none = torch.zeros(vocabulary, dtype=torch.bool)
    ends = SentenceEnds(
        torch.arange(vocabulary) % 40 == 5, none, none
    )  # one token in forty ends a sentence
    shared = {
        "attention_mask": torch.ones_like(prompts),
        "max_new_tokens": tokens,
        "pad_token_id": 0,
    }
    settings, rows = Delayed(Sampled(TOP_K), Beam(BEAMS), DELAY), prompts.tolist()
    rngs = [generator("delayed beam search", 0, row) for row in range(len(rows))]
    beam = {"num_beams": BEAMS, "do_sample": False, "min_new_tokens": tokens}
    return {
        "delayed": lambda: torch.cat(
            [prompts, torch.tensor(delayed(model, rows, settings, tokens, rngs, ends, [0]))], dim=1
        ),
        "transformers beam": lambda: model.generate(prompts, **shared, **beam),  # type: ignore[arg-type]
    }


def measure(
    prompts: int, tokens: int, rounds: int, shape: tuple[int, int, int]
) -> dict[str, object]:
    """Tokens a second of each side in each round, in turns; the first call of each is not counted."""
    model = network(*shape)
    rng = generator("benchmark", "decoding")
    ids = torch.tensor(rng.integers(1, shape[2], (prompts, 24)))
    found = sides(model, ids, tokens)
    speeds: dict[str, list[float]] = {name: [] for name in found}
    passes = dict.fromkeys(
        found, 0
    )  # of the network, a write: a search that draws begins anew after every sentence
    for number in range(rounds + 1):
        for name, work in found.items():
            calls: list[None] = []
            hook = model.register_forward_hook(lambda *_, calls=calls: calls.append(None))
            start = time.process_time()
            made = work()
            seconds = time.process_time() - start
            hook.remove()
            passes[name] = len(calls)
            assert made.shape == (prompts, 24 + tokens), f"{name} wrote {tuple(made.shape)}"
            if number:
                speeds[name].append(prompts * tokens / seconds)
    ratios = [a / b for a, b in zip(*speeds.values(), strict=True)]
    return {
        "layers, width, vocabulary": list(shape),
        "prompts": prompts,
        "new tokens": tokens,
        "beams": BEAMS,
        "tokens a second": {
            name: [round(value, 1) for value in values] for name, values in speeds.items()
        },
        "forward passes": passes,
        "delayed over transformers": {
            "rounds": [round(r, 3) for r in ratios],
            "median": round(statistics.median(ratios), 3),
        },
    }


def main() -> None:
    """Two shapes; ``--json`` writes the result beside the other measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=48)
    options = parser.parse_args()
    rows = [
        measure(8, options.tokens, options.rounds, shape)
        for shape in ((2, 96, 2048), (4, 256, 8192))
    ]
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
