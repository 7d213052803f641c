"""Ways to fit the HSMM of Table 1 by EM, compared on one language: perplexities, processor seconds and Latent PPL, as JSON.

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/compare_em.py --ways plain grown --seeds 0 1 2 \
        --out experiments/deng2022/measured/em_ways.json

The language has 64 states (256 in the paper) and a tenth of the paper's texts, the HSMM 200 states (800), so that plain EM takes a
quarter of an hour. Every way sees the same texts; one seed starts them all. What is in the file already is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.resampling import generator, perplexity
from longform.datasets.hsmm_language import SyntheticLanguage, language
from longform.language_models.hsmm.compiled import Expectation
from longform.language_models.hsmm.em import Compute, Fit, Keeper, Plan, expectation, fit_em, iteration_of, maximise
from longform.language_models.hsmm.growth import begun_anew, compacted
from longform.language_models.hsmm.latent import latent_reading
from longform.language_models.hsmm.model import SemiMarkovLM
from longform.language_models.hsmm.train import held_out

LANGUAGE = {"num_states": 64, "subsequences": 2500, "min_length": 4, "max_length": 11, "steps": 50}
TEMPERATURES = {"transition": 0.5, "emission": 0.3}  # deng2022 appendix D
DOCUMENTS = {"train": 5120, "validation": 200}
STATES, LENGTH = 200, 11
LEAST = 0.01
WEIGHT = 1e-4  # of the uniform tables in each validation
PLANS = {
    "plain": Plan(40),
    "pruned": Plan(40, least=LEAST),
    "found": Plan(46, growth=[(25, 6)], least=LEAST),
    "found early": Plan(43, growth=[(25, 3)], least=LEAST),
}  # pruned: rare n-grams leave the table; found: and few states find the n-grams before all states begin
BLOCKS = 8  # of stepwise EM
OTHERS = ("stepwise", "annealed")  # both go on from the first six iterations of "found"


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
        found |= {"train_ppl": round(float(last.perplexity), 5), "cpu_seconds": round(self.seconds, 1)}
        nats = held_out(smooth, self.texts)
        found["validation_ppl"] = round(float(perplexity(nats, sum(map(len, self.texts)))), 5)
        self.steps.append(found)
        print(json.dumps(found), flush=True)
        self.clock = time.process_time()


def data(splits: dict[str, int]) -> tuple[SyntheticLanguage, dict[str, list[list[str]]], dict[str, float]]:
    """The language, texts of each split, and its exact word PPL on them."""
    made, texts, ppl = language(seed=1234, temperatures=TEMPERATURES, **LANGUAGE), {}, {}
    for part, count in splits.items():
        states, emitted = made.sample([generator("hsmm experiment", part, i) for i in range(count)])
        texts[part] = [" ".join(made.subsequences[i] for i in row).split() for row in emitted.tolist()]
        ppl[part] = float(perplexity(made.log_probs(states, emitted).sum(), sum(map(len, texts[part]))))
    return made, texts, ppl


def further(way: str, fit: Fit, encoded: list[np.ndarray], seed: int, curve: Curve) -> SemiMarkovLM:
    """Forty passes with all states by stepwise EM or by annealing; returns the last model."""
    model, history = begun_anew(fit.model, STATES, seed), list(fit.history)
    for number in range(len(history), len(history) + 40):
        one_pass = stepwise if way == "stepwise" else annealed
        *_, (expected, model) = one_pass(model, encoded, number)
        seen = iteration_of(number, expected, frozen=False)
        model = compacted(model)
        curve.iteration(Fit(model, (seen,)))
    return model


def stepwise(model: SemiMarkovLM, encoded: list[np.ndarray], number: int) -> Iterator[tuple[Expectation, SemiMarkovLM]]:
    """One pass in blocks with an M-step after each (Liang and Klein 2009): counts are averaged with falling weights."""
    kept: Expectation | None = None
    for block in range(BLOCKS):
        found = expectation(model, encoded[block::BLOCKS], Compute(), squeeze=True)
        share = (block + 2 + BLOCKS * (number - 6)) ** -0.7
        if kept is None:
            kept = replace(found, segments=BLOCKS * found.segments, transitions=BLOCKS * found.transitions)
        else:
            for old, new in ((kept.segments, found.segments), (kept.transitions, found.transitions)):
                old += share * (BLOCKS * new - old)
        counts = replace(kept, segments=kept.segments.copy())
        counts.segments[counts.segments.sum(axis=1) < LEAST] = 0
        model = maximise(model, counts, frozen=False)
        yield found, model


def annealed(model: SemiMarkovLM, encoded: list[np.ndarray], number: int) -> Iterator[tuple[Expectation, SemiMarkovLM]]:
    """One pass under tables to a power that rises to one over ten passes (Ueda and Nakano 1998)."""
    power = min(1.0, 0.5 + 0.05 * (number - 6))
    found = expectation(
        replace(model, joint=model.joint**power, transitions=model.transitions**power), encoded, Compute(), squeeze=True
    )
    found.segments[found.segments.sum(axis=1) < LEAST] = 0
    yield found, maximise(model, found, frozen=False)


def measured(way: str, seed: int) -> dict[str, Any]:
    """One fit."""
    made, texts, _ = data(DOCUMENTS)
    curve = Curve(texts["validation"], made)
    sizes = {"max_duration": LENGTH, "seed": seed, "keeper": curve}
    if way in PLANS:
        model = fit_em(texts["train"], num_states=STATES, plan=PLANS[way], **sizes).model
    else:
        (states, passes), *_ = PLANS["found"].growth
        begun = fit_em(texts["train"], num_states=states, plan=Plan(passes, least=LEAST), **sizes)
        model = further(way, begun, [begun.model.ngrams.encode(text) for text in texts["train"]], seed, curve)
    latent = latent_reading(model, made)
    return {"latent_ppl": round(latent.latent_ppl, 4), "survival": round(latent.survival, 4), "iterations": curve.steps}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
                chosen.out.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
