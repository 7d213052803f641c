"""Tokens per second of long sampling against a loop over ``generate`` that recomputes.

``PYTHONPATH=src python -m benchmarks.sampling --json out.json`` (about four minutes on one core). A
random GPT-2 of six layers of 512 with a window of 256 writes documents of 1,500 tokens. The peer is
what deng2022's sampler does: one ``generate`` up to the window, then one ``generate`` of a single
token on the last 255 for every further token.

The slow sides (the peer, and slide-by-one, which must do the same work) read the same 255 positions
for every token past the window, so ``--calls`` such tokens are timed in alternating blocks and
stand for the rest; ``--calls 0`` writes the documents out. The chunked sides always write whole
documents. All sides in one process on processor time.

Floors, from rates that the run itself measures: slide-by-one cannot be faster than the
multiplications of 255 positions; chunked sampling reads 1 + overlap / (window + 1 - overlap)
positions a token, at the rate of a large product in a batch and at that of reading every weight
once a step alone.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from longform.decoding.exact_sampling import Referee, calibrated
from longform.decoding.long_documents import Draft, Sampling, context_start, sample

WINDOW, TOKENS, OVERLAP, VOCABULARY, WIDTH, LAYERS = 256, 1500, 128, 16_000, 512, 6
PREFIX = 3  # tokens with which a document begins
PROMPT = [0, 5, 0]  # as many token ids, with which a document of ours begins
BLOCK = 10  # tokens that a side writes before the other's turn
NEVER = -1  # as the id of the end token: no token has it, so that no document ends early
# Ratios to the peer, of prototypes, before this code was written.
PREDICTED = {"slide_by_one": 0.95, "chunked_1": 12, "chunked_16": 47}
REQUIRED = {"slide_by_one": 1, "chunked_1": 10, "chunked_16": 40}


def make_network(layers: int = LAYERS, width: int = WIDTH) -> GPT2LMHeadModel:
    """The network of the performance target, or a smaller one, with seeded random weights."""
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    sizes = {"n_positions": WINDOW, "n_embd": width, "n_layer": layers, "n_head": width // 64}
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, **sizes, **ends)).eval()


def seconds(act: Callable[[], Any]) -> float:
    """Processor seconds of one call."""
    started = time.process_time()
    act()
    return time.process_time() - started


def positions_read(length: int, window: int, overlap: int) -> int:
    """Number of positions that a network computes to sample a text of ``length`` tokens.

    A token costs one (the others are cached), or all of its context where that begins elsewhere
    than the last token's. The first token is a prompt.
    """
    positions = 0
    previous_start = None
    for index in range(1, length):
        start = context_start(index, window, overlap)
        positions += 1 if start == previous_start else index - start
        previous_start = start
    return positions


class Peer:
    """The loop over ``generate``, with the text so far, so that it can be timed in blocks."""

    def __init__(self, network: GPT2LMHeadModel) -> None:
        self.network = network
        self.ids = torch.zeros(1, PREFIX, dtype=torch.int64, device=network.device)
        self.rule = {
            "do_sample": True,
            "top_k": 0,
            "top_p": 1.0,
            "suppress_tokens": [0],
            "pad_token_id": 0,
        }

    def fill_window(self) -> None:
        """Write up to the window, with the cache."""
        self._extend(self.ids, WINDOW - self.ids.shape[1])

    def slide(self, tokens: int) -> None:
        """Write further tokens, each from the last window - 1."""
        for _ in range(tokens):
            self._extend(self.ids[:, -(WINDOW - 1) :], 1)

    def _extend(self, context: torch.Tensor, tokens: int) -> None:
        """Write so many tokens that follow a context, int64 (1, context tokens)."""
        exactly = {"max_new_tokens": tokens, "min_new_tokens": tokens}
        mask = torch.ones_like(context)
        generated = self.network.generate(context, attention_mask=mask, **exactly, **self.rule)
        self.ids = torch.cat([self.ids, generated[:, context.shape[1] :]], dim=1)


class Ours:
    """``sample`` on ``batch`` documents at once, continued from where it was.

    Contexts overlap by ``overlap`` tokens, or slide by one token where it is None.
    """

    def __init__(self, referee: Referee, overlap: int | None, batch: int) -> None:
        self.referee, self.overlap = referee, overlap
        self.drafts = [Draft(i, 0, 1000 + i, list(PROMPT)) for i in range(batch)]

    def write(self, upto: int) -> None:
        """Write until each document has so many tokens."""
        sample(self.referee, self.drafts, Sampling(upto, self.overlap, WINDOW), NEVER)

    def slide(self, tokens: int) -> None:
        """Write so many more tokens of each document."""
        self.write(len(self.drafts[0].ids) + tokens)


def slow_sides(network: GPT2LMHeadModel, referee: Referee, calls: int) -> dict[str, float]:
    """Tokens per second of a whole document by the peer and by slide-by-one.

    ``calls`` tokens beyond the window are timed, all of them if it is 0.
    """
    # Up to the window.
    peer, ours = Peer(network), Ours(referee, overlap=None, batch=1)
    seconds_to_window = {
        "peer": seconds(peer.fill_window),
        "slide_by_one": seconds(partial(ours.write, WINDOW)),
    }
    # Beyond it, in blocks by turns.
    tokens_beyond = TOKENS - WINDOW
    blocks: dict[str, list[float]] = {"peer": [], "slide_by_one": []}
    for _ in range((calls or tokens_beyond) // BLOCK):
        blocks["peer"].append(seconds(partial(peer.slide, BLOCK)))
        blocks["slide_by_one"].append(seconds(partial(ours.slide, BLOCK)))
    # A typical block stands for the rest; without a rest, the mean.
    average = statistics.median if calls else statistics.fmean
    speeds = {}
    for side, times in blocks.items():
        seconds_a_token = average(times) / BLOCK
        seconds_of_document = seconds_to_window[side] + tokens_beyond * seconds_a_token
        speeds[side] = (TOKENS - PREFIX) / seconds_of_document
    return speeds


def chunked(referee: Referee, batch: int, rounds: int) -> float:
    """Tokens per second of whole documents written in chunks."""
    times = []
    for _ in range(rounds):
        times.append(seconds(lambda: Ours(referee, OVERLAP, batch).write(TOKENS)))
    return batch * (TOKENS - PREFIX) / statistics.median(times)


def fastest(act: Callable[[], Any]) -> float:
    """Least processor seconds of ten calls."""
    return min(seconds(act) for _ in range(10))


def floors(network: GPT2LMHeadModel) -> dict[str, float]:
    """Tokens per second that arithmetic or memory allow, from rates measured here."""
    # Operations a second of a large product, bytes a second of weights that are read once.
    num_weights = sum(parameter.numel() for parameter in network.parameters())
    square = torch.randn(1024, 1024)
    flops = 2 * 1024**3 / fastest(lambda: square @ square)
    flat = torch.randn(num_weights // 4096, 4096)
    bandwidth = 4 * flat.numel() / fastest(lambda: flat @ torch.ones(4096))
    # Operations of a position in all layers, and of the logits of a drawn token.
    body, head = 2 * 12 * LAYERS * WIDTH**2, 2 * VOCABULARY * WIDTH
    positions = positions_read(TOKENS, WINDOW, OVERLAP) / TOKENS  # a token
    seconds_alone = 4 * num_weights / bandwidth + body * (positions - 1) / flops
    return {
        "slide_by_one": flops / (body * (WINDOW - 1) + head),
        "chunked_1": 1 / seconds_alone,
        "chunked_16": flops / (body * positions + head),
        "multiply_gflops": flops / 1e9,
        "stream_gigabytes": bandwidth / 1e9,
    }


def measure(calls: int, rounds: int, batches: Sequence[int]) -> dict[str, Any]:
    """Tokens a second of all sides, with their ratios to the peer, floors and predictions."""
    # The network, and the referee that decides draws which float32 cannot.
    network = make_network()
    rng = torch.Generator().manual_seed(1)
    ids = torch.randint(1, VOCABULARY, (WINDOW,), generator=rng).tolist()
    started = time.process_time()
    referee = calibrated(network, ids, WINDOW)
    calibration_seconds = time.process_time() - started
    # The sides.
    speeds = slow_sides(network, referee, calls)
    for batch in batches:
        speeds[f"chunked_{batch}"] = chunked(referee, batch, rounds)
    return {
        "tokens_per_second": speeds,
        "ratio_to_peer": {side: speed / speeds["peer"] for side, speed in speeds.items()},
        "predicted_ratio": PREDICTED,
        "required_ratio": REQUIRED,
        "floor_tokens_per_second": floors(network),
        "referee": {
            "margin": referee.margin,
            "draws_decided": referee.called,
            "calibration_seconds": calibration_seconds,
        },
        "settings": {
            "window": WINDOW,
            "tokens": TOKENS,
            "context_overlap": OVERLAP,
            "calls": calls,
            "rounds": rounds,
        },
        "platform": {
            "torch": torch.__version__,
            "machine": platform.machine(),
            "threads": torch.get_num_threads(),
        },
    }


def main() -> None:
    """Measure and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    calls = "timed tokens past the window on the slow sides; 0: all"
    parser.add_argument("--calls", type=int, default=200, help=calls)
    rounds = "whole documents on the chunked sides"
    parser.add_argument("--rounds", type=int, default=2, help=rounds)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    text = json.dumps(measure(options.calls, options.rounds, options.batches), indent=2)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
