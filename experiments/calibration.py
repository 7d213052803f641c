"""How often three procedures are wrong on simulated data where the truth is known, beside what stood in their place.

    PYTHONPATH=src python experiments/calibration.py --out docs/calibration.json

Half a minute on one core. *Lost units*: two samples of one distribution, most units of the first unscored; how often the
permutation test of ``core.critic.compare`` rejects at 0.05, exchanging all units and the scored ones alone. *Pages*: decoders
that continue the same pages; how often the 95 % bootstrap interval covers, resampling generations and pages. *Mean field*: two
systems alike, judged by the same annotators; how often the mixed model's 95 % interval of their difference leaves out zero.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from longform.critics.perplexity.score import Perplexity
from longform.critics.verifiability.score import SupportedPerGeneration
from longform.evaluation.human_study import mixed_effects
from longform.statistics.comparisons import compare
from longform.statistics.estimates import estimate
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics, clustered

LEVEL = 0.05
UNITS, SCORED = 40, (1, 10, 20)  # of a side; of the first side
PAGES, DECODERS, SENTENCES = 24, 22, 5
SYSTEMS, ARTICLES, ANNOTATORS, SPREAD = ("a", "b"), 10, 5, 1.5  # of the articles, logits


def lost_units(trials: int) -> dict[str, dict[str, float]]:
    """Share of true nulls rejected, by units scored on the first side."""
    found = {}
    for scored in SCORED:
        hits = {"all units exchanged": 0, "scored units exchanged": 0}
        for trial in range(trials):
            rng = generator("lost units", scored, trial)
            first, second = (
                _perplexities(side, kept, rng) for side, kept in (("x", scored), ("y", UNITS))
            )
            everybody = [
                SufficientStatistics(t.unit_ids, t.columns[:2], t.values[:, :2])
                for t in (first, second)
            ]
            for way, sides in (
                ("all units exchanged", everybody),
                ("scored units exchanged", [first, second]),
            ):
                p = compare(
                    Perplexity(), *sides, generator("lost units test", scored, trial), 200
                ).p_value
                hits[way] += p < LEVEL
        found[str(scored)] = {way: count / trials for way, count in hits.items()}
    return found


def _perplexities(side: str, scored: int, rng: np.random.Generator) -> SufficientStatistics:
    kept = np.arange(UNITS) < scored
    logprob, tokens = -np.exp(rng.normal(2.0, 0.5, UNITS)), np.full(UNITS, 5.0)
    values = np.where(
        kept[:, None], np.column_stack([logprob, tokens, np.zeros(UNITS)]), [0.0, 0.0, 1.0]
    )
    return SufficientStatistics(
        tuple(f"{side}{i}" for i in range(UNITS)), ("logprob", "tokens", "excluded"), values
    )


def pages(trials: int) -> dict[str, float]:
    """Share of intervals that cover the true share of supported sentences."""
    critic, truth, hits = SupportedPerGeneration(), 0.4, {"generations": 0, "pages": 0}
    names = [f"page{i}" for i in range(PAGES) for _ in range(DECODERS)]
    for trial in range(trials):
        rng = generator("pages", trial)
        rates = np.repeat(rng.beta(5 * truth, 5 * (1 - truth), PAGES), DECODERS)
        supported = rng.binomial(SENTENCES, rates)
        values = np.column_stack([supported, np.ones(len(rates)), np.zeros(len(rates))])
        statistics = SufficientStatistics(
            tuple(map(str, range(len(rates)))), ("supported", "generations", "excluded"), values
        )
        for way, rows in (("generations", statistics), ("pages", clustered(statistics, names))):
            interval = estimate(critic, rows, generator("pages interval", way, trial), 300)
            hits[way] += interval.low <= truth <= interval.high
    return {way: count / trials for way, count in hits.items()}


def mean_field(trials: int) -> float:
    """Share of true nulls whose interval leaves out zero."""
    out = 0
    for trial in range(trials):
        rng = generator("mean field", trial)
        rows = [
            (
                int(rng.random() < 1 / (1 + np.exp(-article))),
                system,
                f"annotator{k}",
                f"{system}{i}",
            )
            for system in SYSTEMS
            for i, article in enumerate(rng.normal(0, SPREAD, ARTICLES))
            for k in range(ANNOTATORS)
        ]
        difference = mixed_effects(*(list(column) for column in zip(*rows, strict=True)))[0][1]
        out += not difference.low <= 0 <= difference.high
    return out / trials


def main() -> None:
    """Measure and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=200)
    given = parser.parse_args()
    found = {
        "trials": given.trials,
        "true nulls rejected at 0.05, by scored units of 40 on one side": lost_units(given.trials),
        "95 % intervals that cover, by what is resampled": pages(given.trials),
        "true nulls whose mean-field 95 % interval leaves out zero": mean_field(given.trials),
    }
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
