"""Items per second of the surprisal engine against minicons at its best batch size, and equality.

``PYTHONPATH=src python benchmarks/surprisal.py --json out.json`` (about 8 minutes on one core). A
random GPT-2 of six layers of 512 reads seeded pairs of sentences that differ in one word. minicons
first tries its batch sizes on a sample; then the engines take turns on parts of the pairs. Given
are the median of the parts' ratios of processor time, and each part's.
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
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

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
MINICONS, ALONE, SHARED = "minicons", "float32", "shared prefix"  # engines; the last two are ours
BUDGET = 1024  # tokens that our engine reads at once
VOCABULARY, WIDTH, LAYERS = 16_000, 512, 6
BATCH_SIZES = (1, 4, 10, 20, 32, 64)
ONSETS = [*"bcdfghklmnprstvw", "st", "tr", "pl", "sh"]
VOWELS = [*"aeiou"]
CODAS = ["", "n", "r", "s", "t", "l"]
Scores = list[np.ndarray]  # of each text, the bits of its tokens
Engine = Callable[[Sequence[str]], Scores]


def words(count: int) -> list[str]:
    """Different pronounceable invented words, so that subword tokens behave as in English."""
    rng = generator("benchmark", "words")
    invented: dict[str, None] = {}  # an ordered set
    while len(invented) < count:
        syllables = []
        for _ in range(int(rng.integers(1, 4))):
            syllables.append(rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS))
        invented["".join(syllables)] = None
    return list(invented)


def make_pairs(count: int, context: int, vocabulary: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of texts that differ in one word, behind a beginning that both share.

    Args:
        count: number of pairs.
        context: words in which the texts of a pair agree at least. About 18 more follow, a
            sentence of 5 to 60 words, and the word that differs is its third or a later one.
        vocabulary: words in the order of their frequency, by Zipf's law. The word that differs in
            the second text is drawn evenly.
    """
    rng = generator("benchmark", "pairs", context)  # the same pairs in each run
    weights = 1 / np.arange(1, len(vocabulary) + 1)
    probabilities = weights / weights.sum()
    pairs = []
    for _ in range(count):
        length = context + int(np.clip(rng.gamma(shape=4, scale=4.5), 5, 60))
        text = list(rng.choice(vocabulary, length, p=probabilities))
        other = text.copy()
        position = int(rng.integers(context + 2, length))
        while other[position] == text[position]:
            other[position] = str(rng.choice(vocabulary))
        pairs.append((" ".join(text), " ".join(other)))
    return pairs


def texts_of(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Both texts of each pair, one after the other."""
    texts: list[str] = []
    for both in pairs:
        texts += both
    return texts


def make_tokenizer(
    texts: Sequence[str], size: int, sentencepiece: bool = False
) -> PreTrainedTokenizerFast:
    """A byte-level BPE or a sentencepiece-like unigram tokenizer of the texts."""
    ends = {"eos_token": END, "bos_token": END, "pad_token": END}
    if sentencepiece:
        ends["unk_token"] = "<unk>"
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=size, special_tokens=[END, "<unk>"], unk_token="<unk>", show_progress=False
        )
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[END], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends)


def make_network(vocabulary: int, width: int, layers: int) -> GPT2LMHeadModel:
    """A random GPT-2, its weights widened so that its predictions are far from uniform."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=vocabulary,
        n_positions=1024,
        n_embd=width,
        n_layer=layers,
        n_head=max(width // 64, 2),
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    network = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 2:
                parameter.mul_(2.0)
    return network


def minicons_scores(scorer: IncrementalLMScorer, texts: Sequence[str], batch: int) -> Scores:
    """Token surprisals in bits, in the order of the texts, batch after batch.

    Nothing is put before a text, so its first token has 0 bits.
    """
    scores: Scores = []
    for start in range(0, len(texts), batch):
        chunk = list(texts[start : start + batch])
        for tokens in scorer.token_score(chunk, surprisal=True, base_two=True):
            scores.append(np.array([bits for _, bits in tokens]))
    return scores


def engine_scores(
    network: GPT2LMHeadModel,
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str],
    share: bool,
    budget: int,
) -> Scores:
    """Token surprisals in bits by our engine, in the order of the texts; 0 for the first token.

    Args:
        network: the language model.
        tokenizer: of the network.
        texts: in pairs, one text after the other.
        share: whether the common beginning of a pair's texts is read once.
        budget: tokens that are read at once.
    """
    # 1. Each pair as an item with two conditions of one region.
    items = []
    for number, (first, second) in enumerate(zip(texts[::2], texts[1::2], strict=True)):
        items.append(pair(number, {"first": [first], "second": [second]}))
    # A suite has a prediction: here that region 1 has more bits in the first. It is not evaluated.
    prediction = "(1;%first%) > (1;%second%)"
    suite = Suite("benchmark", metric="sum", predictions=(prediction,), items=tuple(items))
    # 2. Read as minicons reads: nothing stands before or behind a text, and no mark in it is taken
    # for a change of speaker.
    encoder = Encoder(tokenizer, ends="legacy_none", separator="literal")
    reader = open_reader(network, budget=budget, share=share)
    return [np.concatenate(regions) for regions in condition_bits([suite], encoder, reader)]


def alternated(
    engines: Mapping[str, Engine], texts: Sequence[str], rounds: int
) -> tuple[dict[str, list[float]], dict[str, Scores]]:
    """Let the engines take turns; every round is another part of the texts, whole pairs.

    Returns:
        Processor seconds of each engine and round (one thread, so another job on the machine does
        not count), and the scores of each engine.
    """
    seconds: dict[str, list[float]] = defaultdict(list)
    scores: dict[str, Scores] = defaultdict(list)
    size = 2 * math.ceil(len(texts) / 2 / rounds)
    for begin in range(0, len(texts), size):
        for name, run in engines.items():
            start = time.process_time()
            scores[name] += run(texts[begin : begin + size])
            seconds[name].append(time.process_time() - start)
            print(f"{name}: {seconds[name][-1]:.1f} s", flush=True)
    return seconds, scores


def bits_of_texts(scores: Scores) -> np.ndarray:
    """The sum of each text's bits, float64 (texts,)."""
    return np.array([row.sum() for row in scores])


def decisions(scores: Scores) -> np.ndarray:
    """Whether the first text of each pair costs more bits than the second, bool (pairs,)."""
    bits = bits_of_texts(scores)
    return bits[0::2] > bits[1::2]


def largest_difference(left: Scores, right: Scores) -> float:
    """The largest difference of two engines' bits of one token."""
    differences = []
    for ours, theirs in zip(left, right, strict=True):
        differences.append(float(np.abs(ours - theirs).max()))
    return max(differences)


def batch_speeds(scorer: IncrementalLMScorer, texts: Sequence[str]) -> dict[int, float]:
    """Texts per second of minicons at each batch size."""
    speeds = {}
    for batch in BATCH_SIZES:
        start = time.process_time()
        minicons_scores(scorer, texts, batch)
        speeds[batch] = len(texts) / (time.process_time() - start)
    return speeds


def speed(
    pairs: Sequence[tuple[str, str]], tokenizer: PreTrainedTokenizerFast, rounds: int, sample: int
) -> dict[str, object]:
    """Texts per second of minicons and of two ways to run the engine, on the same pairs.

    Args:
        pairs: of texts.
        tokenizer: of the network.
        rounds: parts of the texts, on each of which the engines take turns.
        sample: number of texts on which minicons chooses its batch size.

    Returns:
        Sizes and minicons' batches; by column and engine the times, their ratios to minicons' and
        differences of bits; and the smallest difference between the texts of a pair, which shows
        that rounding decides none.
    """
    # 1. The engines: minicons at its best batch, and ours, which reads each text by itself or what
    # both texts of a pair begin with once. All compute in float32.
    texts = texts_of(pairs)
    network = make_network(len(tokenizer), WIDTH, LAYERS)
    scorer = IncrementalLMScorer(network, "cpu", tokenizer=tokenizer)
    batches = batch_speeds(scorer, texts[:sample])
    batch = max(batches, key=lambda size: batches[size])
    engines: dict[str, Engine] = {
        MINICONS: lambda part: minicons_scores(scorer, part, batch),
        ALONE: lambda part: engine_scores(network, tokenizer, part, share=False, budget=BUDGET),
        SHARED: lambda part: engine_scores(network, tokenizer, part, share=True, budget=BUDGET),
    }
    seconds, scores = alternated(engines, texts, rounds)

    # 2. Each against minicons, round by round and text by text.
    theirs = scores[MINICONS]
    bits = bits_of_texts(theirs)
    by_engine: dict[str, dict[str, Any]] = {}
    for name in engines:
        ratios = np.array(seconds[MINICONS]) / np.array(seconds[name])
        equal = decisions(scores[name]) == decisions(theirs)
        row = {
            "seconds": np.round(seconds[name], 2).tolist(),
            "texts per second": round(len(texts) / sum(seconds[name]), 1),
            "ratio": round(statistics.median(ratios.tolist()), 2),
            "ratio of each round": np.round(ratios, 2).tolist(),
            "equal decisions": int(equal.sum()),
            "largest token difference, bits": largest_difference(scores[name], theirs),
        }
        for column, value in row.items():
            by_engine.setdefault(column, {})[name] = value
    return {
        "pairs": len(pairs),
        "tokens": sum(map(len, theirs)),
        "minicons batch": batch,
        "minicons tried": {str(size): round(rate, 1) for size, rate in batches.items()},
        **by_engine,
        "smallest pair gap, bits": float(np.abs(bits[0::2] - bits[1::2]).min()),  # first, second
    }


def equality(texts: Sequence[str]) -> dict[str, float]:
    """Largest difference of our bits from minicons' over all tokens of texts in pairs.

    By the kind of tokenizer, under a tiny network with such a one.
    """
    differences = {}
    for name, sentencepiece in (("byte-level BPE", False), ("sentencepiece unigram", True)):
        tokenizer = make_tokenizer(texts, size=1000, sentencepiece=sentencepiece)
        network = make_network(len(tokenizer), width=64, layers=2)
        scorer = IncrementalLMScorer(network, "cpu", tokenizer=tokenizer)
        theirs = minicons_scores(scorer, texts, batch=10)
        ours = engine_scores(network, tokenizer, texts, share=True, budget=2048)
        differences[name] = largest_difference(ours, theirs)
    return differences


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--pairs", type=int, default=2000)
    rounds = "parts of the pairs; the engines take turns on each"
    parser.add_argument("--rounds", type=int, default=4, help=rounds)
    sample = "texts on which minicons chooses its batch size"
    parser.add_argument("--sample", type=int, default=200, help=sample)
    context = "shared words of the long-context pairs"
    parser.add_argument("--context", type=int, default=100, help=context)
    return parser


def main() -> None:
    """Measure, print, and write JSON."""
    options = arguments().parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    # Pairs of texts, and a tokenizer that knows their words.
    vocabulary = words(VOCABULARY)
    short = make_pairs(options.pairs, context=0, vocabulary=vocabulary)
    long = make_pairs(max(options.pairs // 20, 10), options.context, vocabulary)
    tokenizer = make_tokenizer(texts_of(short) + vocabulary, VOCABULARY)
    parts: dict[str, Callable[[], object]] = {
        "equality on 200 texts, bits": partial(equality, texts_of(short[:100])),
        "short pairs": partial(speed, short, tokenizer, options.rounds, options.sample),
        "long shared contexts": partial(
            speed, long, tokenizer, options.rounds, min(options.sample, len(long))
        ),
    }
    # The results are written after each part, since all take minutes.
    processor = platform.processor() or platform.machine()
    packages = ("torch", "transformers", "minicons")
    results: dict[str, object] = {
        "machine": {"processor": processor, "threads": torch.get_num_threads()},
        "versions": {name: importlib.metadata.version(name) for name in packages},
    }
    for name, measure in parts.items():
        results[name] = measure()
        text = json.dumps(results, indent=2)
        print(text, flush=True)
        if options.json:
            options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
