"""Ways to fit the HSMM of Table 1 by EM, compared on one language: perplexities, processor seconds and Latent PPL, as JSON.

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/compare_em.py --seeds 1 2 3 \
        --out experiments/deng2022/measured/em_ways.json

The language has 64 states (256 in the paper) and a tenth of the paper's texts, the HSMM 200 states (800), so that plain EM takes a
quarter of an hour. Every way sees the same texts and begins with the same few states. What is in the file already is not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import replace
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
LEAST = 1e-6
WEIGHT = 1e-4  # of the uniform tables in each validation
BEGUN, PASSES = (25, 14), 40  # states and passes that find the n-grams; passes with all states
PLANS = {
    "plain": Plan(PASSES),
    "found": Plan(BEGUN[1] + PASSES, growth=[BEGUN], least=LEAST),
    "found, coarse": Plan(BEGUN[1] + PASSES, growth=[BEGUN], least=0.01),
}  # found: few states find the n-grams before all states begin; coarse: n-grams leave the table early
BLOCKS = 8  # of stepwise EM


Passes = Iterator[
    tuple[Expectation, SemiMarkovLM]
]  # what each pass counted, and the model after it


class Curve(Keeper):
    """Records each iteration; the clock stands still while it does."""

    def __init__(self, texts: list[list[str]], made: SyntheticLanguage) -> None:
        self.texts, self.made, self.steps = texts, made, []
        self.clock = time.process_time()
        self.seconds = 0.0

    def iteration(self, fit: Fit) -> None:
        """One line of the curve."""
        self.seconds += time.process_time() - self.clock
        last, smooth = fit.history[-1], fit.model.mixed(WEIGHT)
        found: dict[str, Any] = {"states": last.states, "ngrams": last.ngrams, "lost": last.lost}
        found |= {
            "train_ppl": round(float(last.perplexity), 5),
            "cpu_seconds": round(self.seconds, 1),
        }
        nats = held_out(smooth, self.texts)
        found["validation_ppl"] = round(float(perplexity(nats, sum(map(len, self.texts)))), 5)
        self.steps.append(found)
        print(json.dumps(found), flush=True)
        self.clock = time.process_time()


def data(
    splits: dict[str, int],
) -> tuple[SyntheticLanguage, dict[str, list[list[str]]], dict[str, float]]:
    """The language, texts of each split, and its exact word PPL on them."""
    made, texts, ppl = language(seed=1234, temperatures=TEMPERATURES, **LANGUAGE), {}, {}
    for part, count in splits.items():
        states, emitted = made.sample([generator("hsmm experiment", part, i) for i in range(count)])
        texts[part] = [
            " ".join(made.subsequences[i] for i in row).split() for row in emitted.tolist()
        ]
        previous = np.concatenate([np.zeros_like(states[:, :1]), states[:, :-1]], axis=1)
        nats = (
            np.log(made.transitions[previous, states]) + np.log(made.emissions[states, emitted])
        ).sum(axis=1)
        ppl[part] = float(perplexity(nats.sum(), sum(map(len, texts[part]))))
    return made, texts, ppl


def one_pass(model: SemiMarkovLM, encoded: list[np.ndarray], power: float = 1.0) -> Expectation:
    """Expected counts under tables to a power, without those of n-grams that leave the table."""
    flat = (
        replace(model, joint=model.joint**power, transitions=model.transitions**power)
        if power < 1
        else model
    )
    found = expectation(flat, encoded, Compute(), squeeze=True)
    found.segments[found.segments.sum(axis=1) < LEAST] = 0
    return found


def stepwise(model: SemiMarkovLM, encoded: list[np.ndarray], seed: int) -> Passes:
    """An M-step after each block of texts, on counts averaged with falling weights (Liang and Klein 2009)."""
    model, step = begun_anew(model, STATES, seed), 0
    kept = one_pass(model, encoded[::BLOCKS])
    kept = replace(kept, segments=BLOCKS * kept.segments, transitions=BLOCKS * kept.transitions)
    while True:
        nats = tokens = 0.0
        for block in range(BLOCKS):
            found, share = one_pass(model, encoded[block::BLOCKS]), (step + 2) ** -0.7
            for old, new in (
                (kept.segments, found.segments),
                (kept.transitions, found.transitions),
            ):
                old += share * (BLOCKS * new - old)
            model = maximise(model, replace(kept, segments=kept.segments.copy()), frozen=False)
            nats, tokens, step = nats + found.log_likelihood, tokens + found.tokens, step + 1
        yield replace(found, log_likelihood=nats, tokens=int(tokens)), model


def annealed(model: SemiMarkovLM, encoded: list[np.ndarray], seed: int) -> Passes:
    """Tables to a power that rises from a half to one over ten passes (Ueda and Nakano 1998)."""
    model = begun_anew(model, STATES, seed)
    for number in itertools.count():
        found = one_pass(model, encoded, min(1.0, 0.5 + 0.05 * number))
        model = compacted(maximise(model, found, frozen=False))
        yield found, model


def split(model: SemiMarkovLM, encoded: list[np.ndarray], seed: int) -> Passes:
    """States double every six passes, both halves a copy of the whole that noise of up to a half makes unlike."""
    draw = generator("semi-Markov split", seed)
    for number in itertools.count():
        if number % 6 == 0 and model.num_states < STATES:
            parents = np.arange(min(STATES, 2 * model.num_states)) % model.num_states
            noise = [
                1 + draw.uniform(-0.5, 0.5, (size, len(parents)))
                for size in (len(parents), len(model.joint))
            ]
            transitions = model.transitions[np.ix_(parents, parents)] * noise[0]
            joint = np.ascontiguousarray(model.joint[:, parents] * noise[1])
            tables = transitions / transitions.sum(axis=1, keepdims=True), joint / joint.sum(axis=0)
            model = replace(
                model, transitions=tables[0].astype(np.float32), joint=tables[1].astype(np.float32)
            )
        found = one_pass(model, encoded)
        model = compacted(maximise(model, found, frozen=False))
        yield found, model


OTHERS = {
    "stepwise": stepwise,
    "annealed": annealed,
    "split": split,
}  # all go on from the first passes of "found"


def measured(way: str, seed: int) -> dict[str, Any]:
    """One fit."""
    made, texts, _ = data(DOCUMENTS)
    curve = Curve(texts["validation"], made)
    sizes = {"max_duration": LENGTH, "seed": seed, "keeper": curve}
    if way in PLANS:
        model = fit_em(texts["train"], num_states=STATES, plan=PLANS[way], **sizes).model
    else:
        begun = fit_em(
            texts["train"], num_states=BEGUN[0], plan=Plan(BEGUN[1], least=LEAST), **sizes
        )
        encoded = [begun.model.ngrams.encode(text) for text in texts["train"]]
        for found, model in itertools.islice(OTHERS[way](begun.model, encoded, seed), PASSES):
            curve.iteration(Fit(model, (iteration_of(0, found, frozen=False),)))
    latent = latent_reading(model, made)
    return {
        "latent_ppl": round(latent.latent_ppl, 4),
        "parse_rate": round(latent.parse_rate, 4),
        "iterations": curve.steps,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ways", nargs="+", choices=[*PLANS, *OTHERS], default=[*PLANS, *OTHERS])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    made, _, ppl = data(DOCUMENTS)
    true = {
        "latent_ppl": round(made.latent_ppl(), 4),
        "word_ppl": {part: round(value, 5) for part, value in ppl.items()},
    }
    report: dict[str, Any] = {"true": true, "ways": {}}
    if chosen.out.exists():
        report = json.loads(chosen.out.read_text())
    for seed in chosen.seeds:
        for way in chosen.ways:
            if str(seed) not in report["ways"].setdefault(way, {}):
                print(way, seed, flush=True)
                report["ways"][way][str(seed)] = measured(way, seed)
                chosen.out.parent.mkdir(parents=True, exist_ok=True)
                chosen.out.write_text(
                    json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8"
                )


if __name__ == "__main__":
    main()
