"""BBScore of every shuffle from cached latents, against a loop per sentence and against reading each shuffle again.

``python benchmarks/bridge.py [--json] [--predictions data/predictions/articles/bbscore/wiki/data/paths.npz]``; one thread. Without predictions, latents are
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
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from longform.critics.bbscore.bridge import (
    WINDOWS,
    BridgeFeatures,
    LatentPath,
    path,
    units_from_predictions,
)
from longform.files.artefacts import read_predictions
from longform.statistics.random_streams import generator
from longform.text.permutations import block_orders, local_orders

BLOCKS, WINDOWS_SHUFFLED, COPIES, ROUNDS = (1, 2, 5, 10), (1, 2, 3), 20, 3
TARGET_SECONDS, TARGET_RATIO = 2.0, 80.0
SINGLE = 1e-4  # features are single precision, and a batch of other company rounds otherwise


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
    return [
        np.concatenate([block_orders(n, b, COPIES, g) for b, g in zip(BLOCKS, r, strict=True)])
        for n, r in rows
    ]


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


def alternated(**works: Callable[[], Any]) -> dict[str, list[float]]:
    """Processor seconds of each piece of work in each of three rounds, the pieces by turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            started = time.process_time()
            work()
            times[name].append(time.process_time() - started)
    return times


def scoring(paths: Sequence[LatentPath]) -> dict[str, Any]:
    """Seconds to draw and to score all shuffles, the loop's on a few documents scaled up, and their largest gap."""
    features = BridgeFeatures().fit_units(paths)
    orders = drawn_orders(paths)
    found = [features.sums(unit, order) for unit, order in zip(paths, orders, strict=True)]
    sample = list(range(0, len(paths), max(1, len(paths) // 6)))
    sigma2 = features.sigma2 or 1.0

    def loop() -> list[list[list[float]]]:
        return [
            [[looped(paths[row].latents, o, w, sigma2) for w in WINDOWS] for o in orders[row]]
            for row in sample
        ]

    gap = max(
        float(np.nanmax(np.abs(found[row] - one))) for row, one in zip(sample, loop(), strict=True)
    )
    seconds = alternated(
        draw=lambda: drawn_orders(paths),
        score=lambda: [features.sums(u, o) for u, o in zip(paths, orders, strict=True)],
        loop_of_sample=loop,
    )
    scale = sum(o.size for o in orders) / sum(orders[row].size for row in sample)
    draw, score, alone = (
        float(np.median(seconds[name])) for name in ("draw", "score", "loop_of_sample")
    )
    return {
        "permutations": sum(map(len, orders)),
        "features": len(WINDOWS),
        "rounds": seconds,
        "seconds": draw + score,
        "loop_seconds_extrapolated": alone * scale,
        "ratio_to_loop": alone * scale / score,
        "largest_difference": gap,
    }


def encoding(sentences: int = 30) -> dict[str, Any]:
    """The 140 shuffles of Tables 2 and 3 of one document, five features each: read once and permuted, or each read again.

    The encoder is a random GPT-2 of the default run's shape; either side ends with the same scores.
    """
    import torch
    from transformers import GPT2Config, GPT2Model

    from longform.critics.bbscore.read import bridge_head
    from longform.language_models.sentence_features import SentenceEncoder

    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = GPT2Model(
        GPT2Config(vocab_size=2048, n_layer=2, n_embd=96, n_head=4, n_positions=128)
    ).eval()
    head, rng = bridge_head(96), generator("benchmark", "encoding")
    texts = [
        " ".join(map(str, rng.integers(0, 2048, rng.integers(8, 40)))) for _ in range(sentences)
    ]
    blocks = [block_orders(sentences, b, COPIES, rng) for b in BLOCKS]
    orders = np.concatenate(
        blocks + [local_orders(sentences, w, COPIES, rng) for w in WINDOWS_SHUFFLED]
    )
    features, identity = BridgeFeatures(sigma2=1.0), np.arange(sentences)[None]

    def latents(pieces: Sequence[str]) -> np.ndarray:
        encoder = SentenceEncoder(
            lambda text, verbose: {"input_ids": list(map(int, text.split()))}, network
        )
        with torch.no_grad():
            return head(torch.from_numpy(encoder.encode(pieces))).numpy().astype(np.float64)

    def once() -> np.ndarray:
        return features.sums(path(latents(texts)), orders)

    def again() -> np.ndarray:
        read = (path(latents([texts[i] for i in order])) for order in orders)
        return np.concatenate([features.sums(unit, identity) for unit in read])

    gap = float(np.abs(once() - again()).max())
    seconds = alternated(encode_once=once, reencode=again)
    ratios = [
        slow / fast for slow, fast in zip(seconds["reencode"], seconds["encode_once"], strict=True)
    ]
    return {
        "shuffles": len(orders),
        "rounds": seconds,
        "ratio_to_reencoding": float(np.median(ratios)),
        "largest_difference": gap,
    }


def main() -> int:
    """Print the figures; exit 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--predictions", type=Path)
    chosen = parser.parse_args()
    paths = (
        drawn_paths()
        if chosen.predictions is None
        else units_from_predictions(read_predictions(chosen.predictions))
    )
    found = SimpleNamespace(scoring=scoring(paths), encoding=encoding())
    record = {
        "benchmark": "bridge",
        "target_seconds": TARGET_SECONDS,
        "target_ratio": TARGET_RATIO,
        **vars(found),
    }
    fast, once = (
        found.scoring["seconds"] < TARGET_SECONDS,
        found.encoding["ratio_to_reencoding"] >= TARGET_RATIO,
    )
    same = (
        found.scoring["largest_difference"] < 1e-10
        and found.encoding["largest_difference"] < SINGLE
    )
    record["met"] = fast and once and same
    print(json.dumps(record) if chosen.json else json.dumps(record, indent=2))
    return 0 if record["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
