"""Ways to fit the HSMM of Table 1 by EM, compared on one language.

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/compare_em.py --seeds 1 2 3 \\
        --out experiments/deng2022/measured/em_ways.json.gz

Perplexities, processor seconds and Latent PPL. The language has 64 states (256 in the paper) and a
tenth of the paper's texts, the HSMM 200 states (800), so that plain EM takes a quarter of an hour.
Every way sees the same texts and begins with the same few states. What is in the file already is
not measured again.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from latent_reading import latent_reading

from longform.hsmm.compiled import Expectation
from longform.hsmm.em import (
    Compute,
    Fit,
    Keeper,
    Plan,
    begun_anew,
    compacted,
    expectation,
    fit_em,
    iteration_of,
    maximise,
)
from longform.hsmm.model import SemiMarkovLM
from longform.hsmm.train import held_out
from longform.statistics.arithmetic import perplexity
from longform.statistics.random_streams import generator
from synthetic_world.hsmm_language import SyntheticLanguage, language

LANGUAGE = {"num_states": 64, "subsequences": 2500, "min_length": 4, "max_length": 11, "steps": 50}
TEMPERATURES = {"transition": 0.5, "emission": 0.3}  # deng2022 appendix D
DOCUMENTS = {"train": 5120, "validation": 200}
STATES, LENGTH = 200, 11
MIN_COUNT = 1e-6  # expected, below which an n-gram leaves the table
WEIGHT = 1e-4  # of the uniform tables in each validation
FIRST_STATES, FIRST_PASSES = 25, 14  # that find the n-grams
PASSES = 40  # with all states
GROWTH = [(FIRST_STATES, FIRST_PASSES)]
# found: few states find the n-grams before all states begin; coarse: n-grams leave the table early.
PLANS = {
    "plain": Plan(PASSES),
    "found": Plan(FIRST_PASSES + PASSES, growth=GROWTH, min_count=MIN_COUNT),
    "found, coarse": Plan(FIRST_PASSES + PASSES, growth=GROWTH, min_count=0.01),
}
BLOCKS = 8  # of stepwise EM

# What each pass counted, and the model after it.
Passes = Iterator[tuple[Expectation, SemiMarkovLM]]
Texts = list[list[str]]


class Curve(Keeper):
    """Records each iteration; the clock stands still while it does."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.steps: list[dict[str, Any]] = []
        self.clock = time.process_time()
        self.seconds = 0.0

    def iteration(self, fit: Fit) -> None:
        """One line of the curve."""
        self.seconds += time.process_time() - self.clock
        last = fit.history[-1]
        nats = held_out(fit.model.mixed(WEIGHT), self.texts)
        num_tokens = sum(map(len, self.texts))
        step = {
            "states": last.states,
            "ngrams": last.ngrams,
            "lost": last.lost,
            "train_ppl": round(float(last.perplexity), 5),
            "cpu_seconds": round(self.seconds, 1),
            "validation_ppl": round(float(perplexity(nats, num_tokens)), 5),
        }
        self.steps.append(step)
        print(json.dumps(step), flush=True)
        self.clock = time.process_time()


def data(splits: dict[str, int]) -> tuple[SyntheticLanguage, dict[str, Texts], dict[str, float]]:
    """The language, texts of each split, and its exact word PPL on them.

    Args:
        splits: how many texts each has.
    """
    world = language(seed=1234, temperatures=TEMPERATURES, **LANGUAGE)
    texts, ppl = {}, {}
    for part, count in splits.items():
        # 1. The texts.
        rngs = [generator("hsmm experiment", part, number) for number in range(count)]
        states, emitted = world.sample(rngs)
        texts[part] = [_words(row, world) for row in emitted.tolist()]
        # 2. What the language that wrote them says of them; every text begins in state 0.
        previous = np.concatenate([np.zeros_like(states[:, :1]), states[:, :-1]], axis=1)
        log_transitions = np.log(world.transitions[previous, states])
        log_emissions = np.log(world.emissions[states, emitted])
        nats = (log_transitions + log_emissions).sum(axis=1)
        ppl[part] = float(perplexity(nats.sum(), sum(map(len, texts[part]))))
    return world, texts, ppl


def _words(numbers: list[int], world: SyntheticLanguage) -> list[str]:
    """The words of subsequences by their numbers."""
    return " ".join([world.subsequences[number] for number in numbers]).split()


def one_pass(model: SemiMarkovLM, encoded: list[np.ndarray], power: float = 1.0) -> Expectation:
    """Expected counts, without those of n-grams that leave the table.

    Args:
        model: whose tables count.
        encoded: the texts.
        power: to which tables are raised.
    """
    if power < 1:
        flat = model.transitions**power
        model = replace(model, joint=model.joint**power, transitions=flat)
    counts = expectation(model, encoded, Compute(), squeeze=True)
    counts.segments[counts.segments.sum(axis=1) < MIN_COUNT] = 0
    return counts


def stepwise(model: SemiMarkovLM, encoded: list[np.ndarray], seed: int) -> Passes:
    """An M-step after each block of texts, on counts averaged with falling weights.

    Liang and Klein 2009.
    """
    # 1. All texts' counts, estimated from a block's.
    model = begun_anew(model, STATES, seed)
    first = one_pass(model, encoded[::BLOCKS])
    segments, transitions = BLOCKS * first.segments, BLOCKS * first.transitions
    mean = replace(first, segments=segments, transitions=transitions)
    # 2. Passes, block by block.
    step = 0
    while True:
        nats = tokens = 0.0
        for block in range(BLOCKS):
            counts = one_pass(model, encoded[block::BLOCKS])
            weight = (step + 2) ** -0.7
            mean.segments += weight * (BLOCKS * counts.segments - mean.segments)
            mean.transitions += weight * (BLOCKS * counts.transitions - mean.transitions)
            model = maximise(model, replace(mean, segments=mean.segments.copy()), frozen=False)
            nats += counts.log_likelihood
            tokens += counts.tokens
            step += 1
        yield replace(counts, log_likelihood=nats, tokens=int(tokens)), model


def annealed(model: SemiMarkovLM, encoded: list[np.ndarray], seed: int) -> Passes:
    """Tables to a power that rises from a half to one over ten passes (Ueda and Nakano 1998)."""
    model = begun_anew(model, STATES, seed)
    for number in itertools.count():
        counts = one_pass(model, encoded, min(1.0, 0.5 + 0.05 * number))
        model = compacted(maximise(model, counts, frozen=False))
        yield counts, model


def split(model: SemiMarkovLM, encoded: list[np.ndarray], seed: int) -> Passes:
    """States double every six passes.

    Both halves are a copy of the whole that noise of up to a half makes unlike.
    """
    rng = generator("semi-Markov split", seed)
    for number in itertools.count():
        if number % 6 == 0 and model.num_states < STATES:
            model = _doubled(model, rng)
        counts = one_pass(model, encoded)
        model = compacted(maximise(model, counts, frozen=False))
        yield counts, model


def _doubled(model: SemiMarkovLM, rng: np.random.Generator) -> SemiMarkovLM:
    """Each state twice, or as many as fit, with noise."""
    parents = np.arange(min(STATES, 2 * model.num_states)) % model.num_states
    num_states = len(parents)
    noise = 1 + rng.uniform(-0.5, 0.5, (num_states, num_states))
    noise_of_joint = 1 + rng.uniform(-0.5, 0.5, (len(model.joint), num_states))
    transitions = model.transitions[np.ix_(parents, parents)] * noise
    transitions = transitions / transitions.sum(axis=1, keepdims=True)
    joint = np.ascontiguousarray(model.joint[:, parents] * noise_of_joint)
    joint = joint / joint.sum(axis=0)
    return replace(
        model, transitions=transitions.astype(np.float32), joint=joint.astype(np.float32)
    )


# All go on from the first passes of "found".
OTHERS = {"stepwise": stepwise, "annealed": annealed, "split": split}


def measured(way: str, seed: int) -> dict[str, Any]:
    """One fit."""
    world, texts, _ = data(DOCUMENTS)
    curve = Curve(texts["validation"])
    train = texts["train"]
    fit = partial(fit_em, train, max_duration=LENGTH, seed=seed, keeper=curve)
    if way in PLANS:
        model = fit(num_states=STATES, plan=PLANS[way]).model
    else:
        plan = Plan(FIRST_PASSES, min_count=MIN_COUNT)
        first = fit(num_states=FIRST_STATES, plan=plan).model
        encoded = [first.ngrams.encode(text) for text in train]
        passes = OTHERS[way](first, encoded, seed)
        for counts, model in itertools.islice(passes, PASSES):
            curve.iteration(Fit(model, (iteration_of(0, counts, frozen=False),)))
    latent = latent_reading(model, world)
    return {
        "latent_ppl": round(latent.latent_ppl, 4),
        "parse_rate": round(latent.parse_rate, 4),
        "iterations": curve.steps,
    }


def exact_values() -> dict[str, Any]:
    """What the language says of its own texts."""
    world, _, ppl = data(DOCUMENTS)
    word_ppl = {part: round(value, 5) for part, value in ppl.items()}
    return {"latent_ppl": round(world.latent_ppl(), 4), "word_ppl": word_ppl}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ways", nargs="+", choices=[*PLANS, *OTHERS], default=[*PLANS, *OTHERS])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--out", type=Path, required=True, help="JSON, under gzip")
    arguments = parser.parse_args()
    # 1. What is there already.
    report: dict[str, Any] = {"true": exact_values(), "ways": {}}
    if arguments.out.exists():
        report = json.loads(gzip.decompress(arguments.out.read_bytes()))
    # 2. The rest, written fit by fit.
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        for way in arguments.ways:
            fits = report["ways"].setdefault(way, {})
            if str(seed) not in fits:
                print(way, seed, flush=True)
                fits[str(seed)] = measured(way, seed)
                text = json.dumps(report, indent=1, sort_keys=True)
                arguments.out.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


if __name__ == "__main__":
    main()
