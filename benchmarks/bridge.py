"""BBScore of every shuffle from cached latents, against a loop per sentence and against reading each shuffle again.

``python benchmarks/bridge.py [--json] [--readout data/inference/<row>.npz]``; one thread. Without a readout, latents are
drawn with the lengths of 658 WikiSection cities (mean 38.6 sentences, 7 to 160).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread on either side

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from longform.artefacts import read_readout
from longform.corpora.orderings import block_orders
from longform.critics.bridge import WINDOWS, LatentPath, path, units_from_readout
from longform.critics.bridge_features import BridgeFeatures
from longform.numerics import generator

BLOCKS, COPIES, ROUNDS = (1, 2, 5, 10), 20, 3
TARGET_SECONDS, TARGET_RATIO = 2.0, 80.0


def drawn_paths(documents: int = 658) -> list[LatentPath]:
    """Random latents of width 8 with city-like lengths."""
    rng = generator("benchmark", "bridge")
    lengths = np.clip(np.round(rng.lognormal(math.log(33), 0.56, documents)), 7, 160).astype(int)
    return [path(rng.normal(size=(n, 8)), str(i)) for i, n in enumerate(lengths)]


def drawn_orders(paths: Sequence[LatentPath]) -> list[np.ndarray]:
    """All 80 shuffles of each document, four block sizes."""
    rngs = ([generator("benchmark", b, unit.unit_id) for b in BLOCKS] for unit in paths)
    sizes = [len(unit.latents) for unit in paths]
    rows = zip(sizes, rngs, strict=True)
    return [np.concatenate([block_orders(n, b, COPIES, g) for b, g in zip(BLOCKS, r, strict=True)]) for n, r in rows]


def looped(latents: np.ndarray, order: np.ndarray, window: int, sigma2: float) -> float:
    """One canonical feature, one sentence at a time."""
    z, total = latents[order], 0.0
    count, steps = len(z) - 2 * max(window, 1), len(z)
    for i in range(count):
        if window:
            u, v, first, middle, last = 0.5, window / 2, z[i], z[i + window], z[i + 2 * window]
        else:
            u, v, first, middle, last = (
                (i + 1) / (steps - 1),
                (i + 1) * (steps - 2 - i) / (steps - 1),
                z[0],
                z[i + 1],
                z[-1],
            )
        gap = middle - first - u * (last - first)
        total += math.log(2 * math.pi * v * sigma2) + float(gap @ gap) / (2 * v) / sigma2
    return total / count if count > 0 else math.nan


def median_seconds(work: Any) -> float:
    """Median processor time of three calls: on one thread, the wall time of a machine that does nothing else."""
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return float(np.median(times))


def scoring(paths: Sequence[LatentPath]) -> dict[str, Any]:
    """Seconds to draw and to score all shuffles, the loop's on every 20th document scaled up, and their largest gap."""
    features = BridgeFeatures().fit(paths)
    orders = drawn_orders(paths)
    found = [features.signed(unit, order) for unit, order in zip(paths, orders, strict=True)]
    sample = range(0, len(paths), max(1, len(paths) // 6))
    started, gap, scored = time.process_time(), 0.0, 0
    for row in sample:
        for place, order in enumerate(orders[row]):
            alone = [looped(paths[row].latents, order, w, features.sigma2 or 1.0) for w in WINDOWS]
            gap = max(gap, float(np.nanmax(np.abs(found[row][place] - alone))))
            scored += len(order)
    loop = (time.process_time() - started) * sum(o.size for o in orders) / scored
    draw = median_seconds(lambda: drawn_orders(paths))
    score = median_seconds(lambda: [features.signed(u, o) for u, o in zip(paths, orders, strict=True)])
    return {
        "permutations": sum(map(len, orders)),
        "features": len(WINDOWS),
        "draw_seconds": draw,
        "score_seconds": score,
        "seconds": draw + score,
        "loop_seconds_extrapolated": loop,
        "ratio_to_loop": loop / score,
        "largest_difference": gap,
    }


def encoding(copies: int = 100, sentences: int = 24) -> dict[str, Any]:
    """One document read once and permuted, against reading each of its shuffles, by a random small GPT-2."""
    import torch
    from transformers import GPT2Config, GPT2Model

    from longform.models.sentence_features import SentenceEncoder

    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = GPT2Model(GPT2Config(vocab_size=500, n_layer=2, n_embd=64, n_head=2, n_positions=128)).eval()
    rng = generator("benchmark", "encoding")
    texts = [" ".join(map(str, rng.integers(0, 500, rng.integers(8, 40)))) for _ in range(sentences)]
    orders = block_orders(sentences, 1, copies, rng)

    def encoder() -> SentenceEncoder:
        return SentenceEncoder(lambda text, verbose: {"input_ids": list(map(int, text.split()))}, network)

    def once() -> np.ndarray:
        return encoder().encode(texts)[orders]

    def again() -> np.ndarray:
        return np.stack([encoder().encode([texts[i] for i in order]) for order in orders])

    gap = float(np.abs(once() - again()).max())
    slow, fast = median_seconds(again), median_seconds(once)
    return {
        "reencode_seconds": slow,
        "encode_once_seconds": fast,
        "ratio_to_reencoding": slow / fast,
        "largest_difference": gap,
    }


def main() -> int:
    """Print the figures; exit 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--readout", type=Path)
    chosen = parser.parse_args()
    paths = drawn_paths() if chosen.readout is None else units_from_readout(read_readout(chosen.readout))
    found = SimpleNamespace(scoring=scoring(paths), encoding=encoding())
    record = {"benchmark": "bridge", "target_seconds": TARGET_SECONDS, **vars(found)}
    fast, once = found.scoring["seconds"] < TARGET_SECONDS, found.encoding["ratio_to_reencoding"] >= TARGET_RATIO
    record["met"] = fast and once and found.scoring["largest_difference"] < 1e-10
    print(json.dumps(record) if chosen.json else json.dumps(record, indent=2))
    return 0 if record["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
