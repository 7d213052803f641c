"""Ways to fit the HSMM of Table 1 by EM, compared on one language.

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/compare_em.py --seeds 1 2 3 \\
        --out experiments/deng2022/measured/em_ways.json.gz

Perplexities, processor seconds and Latent PPL. The language has 64 states (256 in the paper) and a
tenth of the paper's texts, the HSMM 200 states (800), so that plain EM takes a quarter of an hour.
All ways see the same texts; all but ``plain`` begin with the same passes of a few states. Fits that
are in the file already are not repeated.
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
STATES, LENGTH = 200, 11  # number of states, and the longest duration in tokens
MIN_COUNT = 1e-6  # an n-gram with a smaller expected count leaves the table
UNIFORM_WEIGHT = 1e-4  # weight of uniform tables that are mixed in for validation
FIRST_STATES, FIRST_PASSES = 25, 14  # the first passes over the texts have so few states
PASSES = 40  # passes with all states
GROWTH = [(FIRST_STATES, FIRST_PASSES)]
# found: few states find the n-grams before all states begin; coarse: with a higher minimal count.
PLANS = {
    "plain": Plan(PASSES),
    "found": Plan(FIRST_PASSES + PASSES, growth=GROWTH, min_count=MIN_COUNT),
    "found, coarse": Plan(FIRST_PASSES + PASSES, growth=GROWTH, min_count=0.01),
}
BLOCKS = 8  # blocks of texts in a pass of stepwise EM

# For each pass the expected counts, and the model after its M-step.
Passes = Iterator[tuple[Expectation, SemiMarkovLM]]
Texts = list[list[str]]


class Curve(Keeper):
    """Records the learning curve of a fit, with processor seconds that exclude the recording."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.steps: list[dict[str, Any]] = []
        self.clock = time.process_time()
        self.seconds = 0.0

    def iteration(self, fit: Fit) -> None:
        """Record and print one iteration: size, perplexities and processor seconds so far."""
        self.seconds += time.process_time() - self.clock
        last = fit.history[-1]
        nats = held_out(fit.model.mixed(UNIFORM_WEIGHT), self.texts)
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
    """Draw the language and texts of each split.

    Args:
        splits: the number of texts in each split.

    Returns:
        The language, the texts of each split, and the language's exact word PPL on each split.
    """
    world = language(seed=1234, temperatures=TEMPERATURES, **LANGUAGE)
    texts, ppl = {}, {}
    for split, count in splits.items():
        # 1. The texts.
        rngs = [generator("hsmm experiment", split, number) for number in range(count)]
        states, emitted = world.sample(rngs)
        texts[split] = [_words(row, world) for row in emitted.tolist()]
        # 2. Their log probability under the language, whose texts begin in state 0.
        previous = np.concatenate([np.zeros_like(states[:, :1]), states[:, :-1]], axis=1)
        log_transitions = np.log(world.transitions[previous, states])
        log_emissions = np.log(world.emissions[states, emitted])
        log_probabilities = (log_transitions + log_emissions).sum(axis=1)
        num_tokens = sum(map(len, texts[split]))
        ppl[split] = float(perplexity(log_probabilities.sum(), num_tokens))
    return world, texts, ppl


def _words(indices: list[int], world: SyntheticLanguage) -> list[str]:
    """The words of a text from the indices of its subsequences."""
    return " ".join([world.subsequences[index] for index in indices]).split()


def one_pass(model: SemiMarkovLM, encoded: list[np.ndarray], power: float = 1.0) -> Expectation:
    """An E-step: expected counts of transitions and of segments (n-gram, state).

    Counts of n-grams below ``MIN_COUNT`` are set to 0, so that these leave the table.

    Args:
        model: the model before the pass.
        encoded: the texts, as indices of tokens.
        power: the tables are raised to it; below 1 they are flatter and no longer sum to one, and
            the log likelihood is that of these tables.
    """
    if power < 1:
        flat_transitions = model.transitions**power
        model = replace(model, joint=model.joint**power, transitions=flat_transitions)
    counts = expectation(model, encoded, Compute(), squeeze=True)
    counts.segments[counts.segments.sum(axis=1) < MIN_COUNT] = 0
    return counts


def stepwise(model: SemiMarkovLM, encoded: list[np.ndarray], seed: int) -> Passes:
    """Stepwise EM: an M-step after each block of texts, on a running average of counts.

    The weight of a new block falls as (step + 2)^-0.7 (Liang and Klein 2009).
    """
    # 1. The running average estimates the counts of all texts: a block's times the blocks.
    model = begun_anew(model, STATES, seed)
    first = one_pass(model, encoded[::BLOCKS])
    segments, transitions = BLOCKS * first.segments, BLOCKS * first.transitions
    average = replace(first, segments=segments, transitions=transitions)
    # 2. Passes, block by block. The M-step gets a copy of the counts, which it may change.
    step = 0
    while True:
        nats = tokens = 0.0
        for block in range(BLOCKS):
            counts = one_pass(model, encoded[block::BLOCKS])
            weight = (step + 2) ** -0.7
            average.segments += weight * (BLOCKS * counts.segments - average.segments)
            average.transitions += weight * (BLOCKS * counts.transitions - average.transitions)
            copied = replace(average, segments=average.segments.copy())
            model = maximise(model, copied, frozen=False)
            nats += counts.log_likelihood
            tokens += counts.tokens
            step += 1
        yield replace(counts, log_likelihood=nats, tokens=int(tokens)), model


def annealed(model: SemiMarkovLM, encoded: list[np.ndarray], seed: int) -> Passes:
    """Annealed EM: tables to a power that rises from 0.5 to 1 over ten passes.

    Ueda and Nakano 1998.
    """
    model = begun_anew(model, STATES, seed)
    for number in itertools.count():
        counts = one_pass(model, encoded, min(1.0, 0.5 + 0.05 * number))
        model = compacted(maximise(model, counts, frozen=False))
        yield counts, model


def split(model: SemiMarkovLM, encoded: list[np.ndarray], seed: int) -> Passes:
    """EM that doubles the states every six passes: each is replaced by two noisy copies."""
    rng = generator("semi-Markov split", seed)
    for number in itertools.count():
        if number % 6 == 0 and model.num_states < STATES:
            model = _doubled(model, rng)
        counts = one_pass(model, encoded)
        model = compacted(maximise(model, counts, frozen=False))
        yield counts, model


def _doubled(model: SemiMarkovLM, rng: np.random.Generator) -> SemiMarkovLM:
    """A model with each state twice, at most ``STATES``, every probability times 0.5 to 1.5."""
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


# Other ways than the plans; each resumes from the first passes of "found", with few states.
OTHERS = {"stepwise": stepwise, "annealed": annealed, "split": split}


def measured(way: str, seed: int) -> dict[str, Any]:
    """Fit a model in one way: its learning curve, Latent PPL and parse rate.

    Args:
        way: a key of ``PLANS`` or ``OTHERS``.
        seed: of the fit.
    """
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
    """The language's exact Latent PPL, and its word PPL on the texts of each split."""
    world, _, ppl = data(DOCUMENTS)
    word_ppl = {split: round(value, 5) for split, value in ppl.items()}
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
    # 1. Fits that are in the file already.
    report: dict[str, Any] = {"true": exact_values(), "ways": {}}
    if arguments.out.exists():
        report = json.loads(gzip.decompress(arguments.out.read_bytes()))
    # 2. The others; the file is written after each.
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
