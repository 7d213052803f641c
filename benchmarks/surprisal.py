"""Items per second of the surprisal engine against minicons at its best batch size; equality of what they say.

``PYTHONPATH=src python benchmarks/surprisal.py --json out.json`` (about 8 minutes on one core). A random GPT-2 of six
layers of 512 reads seeded pairs of sentences that differ in one word, as prescribed by the repository's performance
target. minicons first tries its batch sizes on a sample; then the engines take turns on parts of the pairs, and the median of the
parts' ratios of processor time is given, with each part's.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import importlib.metadata
import json
import math
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from minicons.scorer import IncrementalLMScorer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from longform.critics.surprisal.read import Encoder, condition_bits
from longform.datasets.test_suites.items import Suite, pair
from longform.language_models.log_probs import open_reader
from longform.statistics.random_streams import generator

END = "<|endoftext|>"
VOCABULARY, WIDTH, LAYERS = 16_000, 512, 6
BATCH_SIZES = (1, 4, 10, 20, 32, 64)
Scores = list[np.ndarray]


def words(count: int) -> list[str]:
    """Pronounceable invented words, so that subword tokens behave as in English."""
    rng = generator("benchmark", "words")
    onsets, vowels, codas = (
        [
            "b",
            "c",
            "d",
            "f",
            "g",
            "h",
            "k",
            "l",
            "m",
            "n",
            "p",
            "r",
            "s",
            "t",
            "v",
            "w",
            "st",
            "tr",
            "pl",
            "sh",
        ],
        list("aeiou"),
        ["", "n", "r", "s", "t", "l"],
    )
    made: dict[str, None] = {}
    while len(made) < count:
        syllables = int(rng.integers(1, 4))
        made[
            "".join(
                rng.choice(onsets) + rng.choice(vowels) + rng.choice(codas)
                for _ in range(syllables)
            )
        ] = None
    return list(made)


def make_pairs(count: int, context: int, vocabulary: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of texts of some 20 words behind ``context`` shared ones, one of the 20 replaced."""
    rng = generator("benchmark", "pairs", context)
    weights = 1 / np.arange(1, len(vocabulary) + 1)
    weights /= weights.sum()
    pairs = []
    for _ in range(count):
        length = context + int(np.clip(rng.gamma(4, 4.5), 5, 60))
        text = list(rng.choice(vocabulary, length, p=weights))
        other = text.copy()
        place = int(rng.integers(context + 2, length))
        while other[place] == text[place]:
            other[place] = str(rng.choice(vocabulary))
        pairs.append((" ".join(text), " ".join(other)))
    return pairs


def make_tokenizer(
    texts: Sequence[str], size: int, sentencepiece: bool = False
) -> PreTrainedTokenizerFast:
    """A byte-level BPE or a sentencepiece-like unigram tokenizer of the texts."""
    tokenizer = Tokenizer(models.Unigram() if sentencepiece else models.BPE())
    if sentencepiece:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=size, special_tokens=[END, "<unk>"], unk_token="<unk>", show_progress=False
        )
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[END], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    ends = {"eos_token": END, "bos_token": END, "pad_token": END} | (
        {"unk_token": "<unk>"} if sentencepiece else {}
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends)


def make_network(vocabulary: int, width: int, layers: int) -> GPT2LMHeadModel:
    """A random GPT-2, its weights widened so that its predictions are far from uniform."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=vocabulary, n_positions=1024, n_embd=width, n_layer=layers, n_head=max(width // 64, 2),
        bos_token_id=0, eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    network = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 2:
                parameter.mul_(2.0)
    return network


def minicons_scores(scorer: IncrementalLMScorer, texts: Sequence[str], batch: int) -> Scores:
    """Token surprisals in bits, in the given order, batch after batch."""
    found: Scores = []
    for start in range(0, len(texts), batch):
        chunk = list(texts[start : start + batch])
        scored = scorer.token_score(chunk, surprisal=True, base_two=True)
        found += [np.array([value for _, value in tokens]) for tokens in scored]
    return found


def engine_scores(
    network: GPT2LMHeadModel,
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str],
    share: bool,
    budget: int,
) -> Scores:
    """The same numbers from the engine, two neighbouring texts an item."""
    pairs = zip(texts[::2], texts[1::2], strict=True)
    items = tuple(pair(i, {"first": [one], "second": [two]}) for i, (one, two) in enumerate(pairs))
    suite = Suite("benchmark", "sum", ("(1;%first%) > (1;%second%)",), items)
    encoder = Encoder(tokenizer, "legacy_none", "literal")
    return [
        np.concatenate(read)
        for read in condition_bits([suite], encoder, open_reader(network, budget, share))
    ]


def alternated(
    engines: dict[str, Callable[[Sequence[str]], Scores]], texts: Sequence[str], rounds: int
) -> tuple[dict[str, list[float]], dict[str, Scores]]:
    """Processor seconds of each engine and round (one thread, so another job on the machine does not count), and what each said.

    Every round is another part of the texts, whole pairs; within a round the engines take turns.
    """
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    said: dict[str, Scores] = {name: [] for name in engines}
    size = 2 * math.ceil(len(texts) / 2 / rounds)
    for begin in range(0, len(texts), size):
        for name, run in engines.items():
            start = time.process_time()
            said[name] += run(texts[begin : begin + size])
            seconds[name].append(time.process_time() - start)
            print(f"{name}: {seconds[name][-1]:.1f} s", flush=True)
    return seconds, said


def decisions(scores: Scores) -> np.ndarray:
    """Which text of each pair costs more bits."""
    totals = np.array([row.sum() for row in scores])
    return totals[0::2] > totals[1::2]


def best_batch(scorer: IncrementalLMScorer, texts: Sequence[str]) -> tuple[int, dict[str, float]]:
    """minicons' fastest batch size on a sample, and texts per second of each."""
    speeds = {}
    for batch in BATCH_SIZES:
        start = time.process_time()
        minicons_scores(scorer, texts, batch)
        speeds[batch] = len(texts) / (time.process_time() - start)
    return max(speeds, key=lambda size: speeds[size]), {
        str(size): round(speed, 1) for size, speed in speeds.items()
    }


def speed(
    pairs: Sequence[tuple[str, str]], tokenizer: PreTrainedTokenizerFast, rounds: int, sample: int
) -> dict[str, object]:
    """Texts per second of minicons and of two ways to run the engine, on the same pairs."""
    texts = [text for both in pairs for text in both]
    network = make_network(len(tokenizer), WIDTH, LAYERS)
    scorer = IncrementalLMScorer(network, "cpu", tokenizer=tokenizer)
    best, tried = best_batch(scorer, texts[:sample])
    engines: dict[str, Callable[[Sequence[str]], Scores]] = {
        "minicons": lambda part: minicons_scores(scorer, part, best),
        "float32": lambda part: engine_scores(network, tokenizer, part, False, 1024),
        "shared prefix": lambda part: engine_scores(network, tokenizer, part, True, 1024),
    }
    seconds, said = alternated(engines, texts, rounds)
    ratios = {
        name: [theirs / ours for theirs, ours in zip(seconds["minicons"], times, strict=True)]
        for name, times in seconds.items()
    }
    agree = {
        name: int((decisions(scores) == decisions(said["minicons"])).sum())
        for name, scores in said.items()
    }
    furthest = {
        name: max(float(np.abs(a - b).max()) for a, b in zip(scores, said["minicons"], strict=True))
        for name, scores in said.items()
    }
    gaps = {name: np.array([row.sum() for row in scores]) for name, scores in said.items()}
    gaps = {name: values[0::2] - values[1::2] for name, values in gaps.items()}
    return {
        "pairs": len(pairs), "tokens": int(sum(map(len, said["minicons"]))), "minicons batch": best, "minicons tried": tried,
        "seconds": {name: [round(t, 2) for t in times] for name, times in seconds.items()},
        "texts per second": {name: round(len(texts) / sum(times), 1) for name, times in seconds.items()},
        "ratio": {name: round(statistics.median(found), 2) for name, found in ratios.items()},
        "ratio of each round": {name: [round(one, 2) for one in found] for name, found in ratios.items()},
        "equal decisions": agree, "largest token difference, bits": furthest,
        "smallest pair gap, bits": float(np.abs(gaps["minicons"]).min()),
    }  # fmt: skip


def equality(texts: Sequence[str]) -> dict[str, float]:
    """Largest difference from minicons over all tokens of the texts, two tiny models of different tokenizers, bits."""
    found = {}
    for name, sentencepiece in (("byte-level BPE", False), ("sentencepiece unigram", True)):
        tokenizer = make_tokenizer(texts, 1000, sentencepiece)
        network = make_network(len(tokenizer), 64, 2)
        theirs = minicons_scores(
            IncrementalLMScorer(network, "cpu", tokenizer=tokenizer), texts, 10
        )
        ours = engine_scores(network, tokenizer, texts, True, 2048)
        found[name] = max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))
    return found


def main() -> None:
    """Measure, print, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument(
        "--rounds", type=int, default=4, help="parts of the pairs; the engines take turns on each"
    )
    parser.add_argument(
        "--sample", type=int, default=200, help="texts on which minicons chooses its batch size"
    )
    parser.add_argument(
        "--context", type=int, default=100, help="shared words of the long-context pairs"
    )
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    vocabulary = words(VOCABULARY)
    short = make_pairs(chosen.pairs, 0, vocabulary)
    long = make_pairs(max(chosen.pairs // 20, 10), chosen.context, vocabulary)
    tokenizer = make_tokenizer([text for both in short for text in both] + vocabulary, VOCABULARY)
    found: dict[str, object] = {
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "threads": torch.get_num_threads(),
        },
        "versions": {
            name: importlib.metadata.version(name) for name in ("torch", "transformers", "minicons")
        },
    }
    parts: dict[str, Callable[[], object]] = {
        "equality on 200 texts, bits": lambda: equality(
            [text for both in short[:100] for text in both]
        ),
        "short pairs": lambda: speed(short, tokenizer, chosen.rounds, chosen.sample),
        "long shared contexts": lambda: speed(
            long, tokenizer, chosen.rounds, min(chosen.sample, len(long))
        ),
    }
    for name, measure in parts.items():  # written after each, since the whole takes minutes
        found[name] = measure()
        text = json.dumps(found, indent=2)
        print(text, flush=True)
        if chosen.json:
            chosen.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
