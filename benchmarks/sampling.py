"""Tokens per second of long sampling against a loop over ``generate`` that truncates and recomputes.

``PYTHONPATH=src python -m benchmarks.sampling --json out.json`` (about four minutes on one core). A random GPT-2 of six
layers of 512 with a window of 256 writes documents of 1,500 tokens. The peer is what deng2022's sampler does: one
``generate`` up to the window, then one ``generate`` of a single token on the last 255 for every further token.

The slow sides (the peer, and slide-by-one, which must do the same work) read the same 255 positions for every token past
the window, so ``--calls`` such tokens are timed in alternating blocks and stand for the rest; ``--calls 0`` writes the
documents out. The chunked sides always write whole documents. All sides in one process on processor time.

Floors, from rates that the run itself measures: slide-by-one cannot be faster than the multiplications of 255 positions;
chunked sampling reads 1 + overlap / (window + 1 - overlap) positions a token, at the rate of a large product in a batch and at
that of reading every weight once a step alone.
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
from pathlib import Path
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from longform.decoding.exact_sampling import Referee, calibrated
from longform.decoding.long_documents import Draft, Sampling, context_start, sample

WINDOW, TOKENS, OVERLAP, VOCABULARY, WIDTH, LAYERS = 256, 1500, 128, 16_000, 512, 6
BLOCK = 10  # tokens a side writes before the other's turn
NEVER = -1  # an end token that is never drawn
PREDICTED = {
    "slide_by_one": 0.95,
    "chunked_1": 12,
    "chunked_16": 47,
}  # prototypes, before this code was written


def make_network(layers: int = LAYERS, width: int = WIDTH) -> GPT2LMHeadModel:
    """The network of the performance target, or a smaller one, with seeded random weights."""
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    sizes = {"n_positions": WINDOW, "n_embd": width, "n_layer": layers, "n_head": width // 64}
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, **sizes, **ends)).eval()


def seconds(act: Callable[[], Any]) -> float:
    """Processor time of one call."""
    started = time.process_time()
    act()
    return time.process_time() - started


def positions_read(length: int, window: int, overlap: int) -> int:
    """Forward positions that sampling costs up to a length, the first token given."""
    starts = [context_start(place, window, overlap) for place in range(1, length)]
    fresh = [
        place - start
        for place, start in enumerate(starts, 1)
        if place == 1 or start != starts[place - 2]
    ]
    return sum(fresh) + length - 1 - len(fresh)


class Peer:
    """The loop over ``generate``; keeps its text, so that it can be timed token by token."""

    def __init__(self, network: GPT2LMHeadModel) -> None:
        self.network, self.ids = (
            network,
            torch.zeros(1, 3, dtype=torch.int64, device=network.device),
        )
        self.rule = {
            "do_sample": True,
            "top_k": 0,
            "top_p": 1.0,
            "suppress_tokens": [0],
            "pad_token_id": 0,
        }

    def fill_window(self) -> None:
        """Up to the window, with the cache."""
        self._extend(self.ids, WINDOW - self.ids.shape[1])

    def slide(self, tokens: int) -> None:
        """Further tokens, each from the last window - 1."""
        for _ in range(tokens):
            self._extend(self.ids[:, -(WINDOW - 1) :], 1)

    def _extend(self, context: torch.Tensor, tokens: int) -> None:
        exactly = {"max_new_tokens": tokens, "min_new_tokens": tokens}
        made = self.network.generate(
            context, attention_mask=torch.ones_like(context), **exactly, **self.rule
        )
        self.ids = torch.cat([self.ids, made[:, context.shape[1] :]], dim=1)


class Ours:
    """``sample`` on a number of documents at once, continued from where it was."""

    def __init__(self, referee: Referee, overlap: int | None, batch: int) -> None:
        self.referee, self.overlap = referee, overlap
        self.drafts = [Draft(i, 0, 1000 + i, [0, 5, 0]) for i in range(batch)]

    def write(self, upto: int) -> None:
        """Until each document has so many tokens."""
        sample(self.referee, self.drafts, Sampling(upto, self.overlap, WINDOW), NEVER)

    def slide(self, tokens: int) -> None:
        """So many more."""
        self.write(len(self.drafts[0].ids) + tokens)


def slow_sides(network: GPT2LMHeadModel, referee: Referee, calls: int) -> dict[str, float]:
    """Tokens per second of a 1,500-token document: the peer's, and slide-by-one's."""
    peer, ours, rest = Peer(network), Ours(referee, None, 1), TOKENS - WINDOW
    opening = {
        "peer": seconds(peer.fill_window),
        "slide_by_one": seconds(lambda: ours.write(WINDOW)),
    }
    blocks: dict[str, list[float]] = {"peer": [], "slide_by_one": []}
    for _ in range((calls or rest) // BLOCK):
        blocks["peer"].append(seconds(lambda: peer.slide(BLOCK)))
        blocks["slide_by_one"].append(seconds(lambda: ours.slide(BLOCK)))
    middle = {side: statistics.median(found) / BLOCK for side, found in blocks.items()}
    if not calls:
        middle = {side: sum(found) / (len(found) * BLOCK) for side, found in blocks.items()}
    return {side: (TOKENS - 3) / (opening[side] + rest * middle[side]) for side in blocks}


def chunked(referee: Referee, batch: int, rounds: int) -> float:
    """Tokens per second of whole documents written in chunks."""
    found = [seconds(lambda: Ours(referee, OVERLAP, batch).write(TOKENS)) for _ in range(rounds)]
    return batch * (TOKENS - 3) / statistics.median(found)


def floors(network: GPT2LMHeadModel) -> dict[str, float]:
    """Tokens per second that arithmetic or memory allow, from rates measured here."""
    square, weights = torch.randn(1024, 1024), sum(p.numel() for p in network.parameters())
    multiply = 2 * 1024**3 / min(seconds(lambda: square @ square) for _ in range(10))
    flat = torch.randn(weights // 4096, 4096)
    stream = 4 * flat.numel() / min(seconds(lambda: flat @ torch.ones(4096)) for _ in range(10))
    body, head = 2 * 12 * LAYERS * WIDTH**2, 2 * VOCABULARY * WIDTH
    read = positions_read(TOKENS, WINDOW, OVERLAP) / TOKENS
    return {
        "slide_by_one": multiply / (body * (WINDOW - 1) + head),
        "chunked_1": 1 / (4 * weights / stream + body * (read - 1) / multiply),
        "chunked_16": multiply / (body * read + head),
        "multiply_gflops": multiply / 1e9,
        "stream_gigabytes": stream / 1e9,
    }


def measure(calls: int, rounds: int, batches: Sequence[int]) -> dict[str, Any]:
    """All sides, their ratios to the peer, floors and predictions."""
    network = make_network()
    ids = torch.randint(
        1, VOCABULARY, (WINDOW,), generator=torch.Generator().manual_seed(1)
    ).tolist()
    found: list[Referee] = []
    calibration = seconds(lambda: found.append(calibrated(network, ids, WINDOW)))
    referee = found[0]
    speeds = slow_sides(network, referee, calls)
    speeds |= {f"chunked_{batch}": chunked(referee, batch, rounds) for batch in batches}
    return {
        "tokens_per_second": speeds,
        "ratio_to_peer": {side: speed / speeds["peer"] for side, speed in speeds.items()},
        "predicted_ratio": PREDICTED,
        "required_ratio": {"slide_by_one": 1, "chunked_1": 10, "chunked_16": 40},
        "floor_tokens_per_second": floors(network),
        "referee": {
            "margin": referee.margin,
            "draws_decided": referee.called,
            "calibration_seconds": calibration,
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
    parser.add_argument(
        "--calls",
        type=int,
        default=200,
        help="timed tokens past the window on the slow sides; 0: all",
    )
    parser.add_argument(
        "--rounds", type=int, default=2, help="whole documents on the chunked sides"
    )
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    text = json.dumps(measure(chosen.calls, chosen.rounds, chosen.batches), indent=2)
    if chosen.json:
        chosen.json.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
