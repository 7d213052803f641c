"""BBScore of every shuffle from cached latents.

``python benchmarks/bridge.py [--json] [--predictions paths.npz]``; one thread. Against a loop per
sentence, and against reading each shuffle again. Predictions are a file like
``data/predictions/articles/bbscore/wiki/data/paths.npz``. Without them, latents are drawn with the
lengths of 658 WikiSection cities (mean 38.6 sentences, 7 to 160).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread on either side

import argparse
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
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
EXACT = 1e-10  # largest difference of a feature from the loop's
SINGLE = 1e-4  # features are single precision, and a batch of other company rounds otherwise


def drawn_paths(documents: int = 658) -> list[LatentPath]:
    """Random latents of width 8 with city-like lengths."""
    rng = generator("benchmark", "bridge")
    lengths = np.clip(np.round(rng.lognormal(math.log(33), 0.56, documents)), 7, 160).astype(int)
    return [path(rng.normal(size=(n, 8)), str(i)) for i, n in enumerate(lengths)]


def drawn_orders(paths: Sequence[LatentPath]) -> list[np.ndarray]:
    """80 shuffled orders of each document's sentences: 20 of each block size, (80, sentences)."""
    orders = []
    for unit in paths:
        shuffles = []
        for block in BLOCKS:
            rng = generator("benchmark", block, unit.unit_id)
            shuffles.append(block_orders(len(unit.latents), block, COPIES, rng))
        orders.append(np.concatenate(shuffles))
    return orders


def looped(latents: np.ndarray, order: np.ndarray, window: int, sigma2: float) -> float:
    """One canonical feature: the mean over sentences of their bridge terms, by a loop.

    Args:
        latents: of the sentences, (sentences, width).
        order: of the sentences.
        window: distance of a sentence from both ends of its bridge; 0 for one bridge from the first
            sentence to the last.
        sigma2: variance of the bridge per step.
    """
    z, total = latents[order], 0.0
    steps = len(z)
    count = steps - 2 * max(window, 1)
    for i in range(count):
        # Where the sentence stands on its bridge (u of its length), and the variance there.
        if window:
            u, variance = 0.5, window / 2
            first, middle, last = z[i], z[i + window], z[i + 2 * window]
        else:
            u = (i + 1) / (steps - 1)
            variance = (i + 1) * (steps - 2 - i) / (steps - 1)
            first, middle, last = z[0], z[i + 1], z[-1]
        # The paper's term: one log(2 pi variance), whatever the width of the path.
        gap = middle - first - u * (last - first)
        distance = float(gap @ gap) / (2 * variance) / sigma2
        total += math.log(2 * math.pi * variance * sigma2) + distance
    return total / count if count > 0 else math.nan


def alternated(**works: Callable[[], Any]) -> dict[str, list[float]]:
    """Processor seconds of each piece of work in each round, the pieces by turns."""
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for name, work in works.items():
            started = time.process_time()
            work()
            times[name].append(time.process_time() - started)
    return times


def scoring(paths: Sequence[LatentPath]) -> dict[str, Any]:
    """Seconds to draw and to score all shuffles, the loop's, and their largest difference.

    The loop scores a few documents; its seconds are scaled up.
    """
    features = BridgeFeatures().fit_units(paths)
    sigma2 = features.sigma2 or 1.0
    orders = drawn_orders(paths)
    sample = list(range(0, len(paths), max(1, len(paths) // 6)))

    def score() -> list[np.ndarray]:
        return [features.sums(unit, order) for unit, order in zip(paths, orders, strict=True)]

    def loop() -> list[list[list[float]]]:
        scores = []
        for row in sample:
            latents, of_document = paths[row].latents, []
            for order in orders[row]:
                of_document.append(
                    [looped(latents, order, window=window, sigma2=sigma2) for window in WINDOWS]
                )
            scores.append(of_document)
        return scores

    # Both ways give the same features.
    features_of_all = score()
    differences = []
    for row, looped_features in zip(sample, loop(), strict=True):
        gaps = np.abs(features_of_all[row] - looped_features)
        differences.append(float(np.nanmax(gaps)))
    # What they take.
    seconds = alternated(draw=lambda: drawn_orders(paths), score=score, loop_of_sample=loop)
    sizes = np.array([order.size for order in orders])
    scale = float(sizes.sum() / sizes[sample].sum())
    seconds_to_draw = float(np.median(seconds["draw"]))
    seconds_to_score = float(np.median(seconds["score"]))
    seconds_of_loop = float(np.median(seconds["loop_of_sample"])) * scale
    return {
        "permutations": sum(map(len, orders)),
        "features": len(WINDOWS),
        "rounds": seconds,
        "seconds": seconds_to_draw + seconds_to_score,
        "loop_seconds_extrapolated": seconds_of_loop,
        "ratio_to_loop": seconds_of_loop / seconds_to_score,
        "largest_difference": max(differences),
    }


def encoding(sentences: int = 30) -> dict[str, Any]:
    """Seconds to score the 140 shuffles of Tables 2 and 3 of one document in two ways.

    The document is encoded once and its latents permuted, or each shuffle is encoded again; both
    give the same scores. The encoder is a random GPT-2 of the default run's shape.
    """
    import torch
    from transformers import GPT2Config, GPT2Model

    from longform.critics.bbscore.read import bridge_head
    from longform.language_models.sentence_features import SentenceEncoder

    # The encoder, and sentences of random tokens.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=2048, n_layer=2, n_embd=96, n_head=4, n_positions=128)
    network = GPT2Model(config).eval()
    head, rng = bridge_head(96), generator("benchmark", "encoding")
    texts = []
    for _ in range(sentences):
        tokens = rng.integers(0, 2048, rng.integers(8, 40))
        texts.append(" ".join(map(str, tokens)))
    # Their shuffles.
    shuffles = [block_orders(sentences, block, COPIES, rng) for block in BLOCKS]
    shuffles += [local_orders(sentences, window, COPIES, rng) for window in WINDOWS_SHUFFLED]
    orders = np.concatenate(shuffles)
    features, identity = BridgeFeatures(sigma2=1.0), np.arange(sentences)[None]

    def tokenize(text: str, verbose: bool) -> dict[str, list[int]]:
        return {"input_ids": list(map(int, text.split()))}

    def latents(pieces: Sequence[str]) -> np.ndarray:
        encoder = SentenceEncoder(tokenize, network)
        with torch.no_grad():
            return head(torch.from_numpy(encoder.encode(pieces))).numpy().astype(np.float64)

    def encode_once() -> np.ndarray:
        """Features of all shuffles, from latents of sentences that are encoded once."""
        return features.sums(path(latents(texts)), orders)

    def reencode() -> np.ndarray:
        """The same features, each shuffle's sentences being encoded again."""
        sums = []
        for order in orders:
            unit = path(latents([texts[i] for i in order]))
            sums.append(features.sums(unit, identity))
        return np.concatenate(sums)

    difference = float(np.abs(encode_once() - reencode()).max())
    seconds = alternated(encode_once=encode_once, reencode=reencode)
    ratios = np.array(seconds["reencode"]) / np.array(seconds["encode_once"])
    return {
        "shuffles": len(orders),
        "rounds": seconds,
        "ratio_to_reencoding": float(np.median(ratios)),
        "largest_difference": difference,
    }


def main() -> int:
    """Print the figures; exit 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--predictions", type=Path)
    options = parser.parse_args()
    # Measure.
    if options.predictions is None:
        paths = drawn_paths()
    else:
        paths = units_from_predictions(read_predictions(options.predictions))
    scored, encoded = scoring(paths), encoding()
    # Are both fast, and right?
    met = (
        scored["seconds"] < TARGET_SECONDS
        and encoded["ratio_to_reencoding"] >= TARGET_RATIO
        and scored["largest_difference"] < EXACT
        and encoded["largest_difference"] < SINGLE
    )
    record = {
        "benchmark": "bridge",
        "target_seconds": TARGET_SECONDS,
        "target_ratio": TARGET_RATIO,
        "scoring": scored,
        "encoding": encoded,
        "met": met,
    }
    print(json.dumps(record, indent=None if options.json else 2))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
