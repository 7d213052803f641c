"""How often three procedures are wrong on simulated data where the truth is known.

    PYTHONPATH=src python experiments/calibration.py --out docs/calibration.json

Half a minute on one core. *Lost units*: two samples of one distribution, most units of the first
unscored; how often the permutation test of ``longform.statistics.comparisons.compare`` rejects at
0.05, exchanging all units and the scored ones alone. *Pages*: decoders that continue the same
pages; how often the 95 % bootstrap interval covers, resampling generations and pages. *Mean field*:
two systems alike, judged by the same annotators; how often the mixed model's 95 % interval of their
difference leaves out zero.
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
UNITS, SCORED = 40, (1, 10, 20)  # units of each side; those of the first side that are scored
PERMUTATIONS, RESAMPLES = 200, 300
ALL, SCORED_ALONE = "all units exchanged", "scored units exchanged"
PAGES, DECODERS, SENTENCES = 24, 22, 5  # each decoder continues each page by so many sentences
SUPPORTED = 0.4  # true share of supported sentences
PAGE_CONCENTRATION = 5  # of the beta distribution of pages' shares around it
SYSTEMS, ARTICLES, ANNOTATORS = ("a", "b"), 10, 5
SPREAD = 1.5  # standard deviation of the articles' logits


def lost_units(trials: int) -> dict[str, dict[str, float]]:
    """Share of true null hypotheses rejected, by scored units of the first side and by test."""
    shares = {}
    for scored in SCORED:
        rejected = {ALL: 0, SCORED_ALONE: 0}
        for trial in range(trials):
            rng = generator("lost units", scored, trial)
            first, second = _perplexities("x", scored, rng), _perplexities("y", UNITS, rng)
            unmarked = without_exclusions(first), without_exclusions(second)
            for name, sides in ((ALL, unmarked), (SCORED_ALONE, (first, second))):
                test_rng = generator("lost units test", scored, trial)
                p_value = compare(Perplexity(), *sides, test_rng, PERMUTATIONS).p_value
                rejected[name] += p_value < LEVEL
        shares[str(scored)] = {name: count / trials for name, count in rejected.items()}
    return shares


def without_exclusions(statistics: SufficientStatistics) -> SufficientStatistics:
    """Statistics without the column of excluded units, so that all are exchanged in a test."""
    return SufficientStatistics(
        statistics.unit_ids, statistics.columns[:2], statistics.values[:, :2]
    )


def _perplexities(side: str, scored: int, rng: np.random.Generator) -> SufficientStatistics:
    """Statistics of ``UNITS`` units of five tokens, of which only the first ``scored`` count.

    A unit's log probability is minus a log-normal number of nats.
    """
    logprob = -np.exp(rng.normal(2.0, 0.5, UNITS))
    values = np.column_stack([logprob, np.full(UNITS, 5.0), np.zeros(UNITS)])
    values[scored:] = [0.0, 0.0, 1.0]
    unit_ids = tuple(f"{side}{number}" for number in range(UNITS))
    return SufficientStatistics(unit_ids, ("logprob", "tokens", "excluded"), values)


def pages(trials: int) -> dict[str, float]:
    """Share of intervals that cover the true share of supported sentences, by what is resampled."""
    # Units are generations; DECODERS in a row continue one page.
    critic = SupportedPerGeneration()
    covered = {"generations": 0, "pages": 0}
    page_of_generation = np.repeat([f"page{number}" for number in range(PAGES)], DECODERS).tolist()
    unit_ids = tuple(map(str, range(len(page_of_generation))))
    # Generations of a page are alike, since they share the page's rate.
    for trial in range(trials):
        rng = generator("pages", trial)
        rates = rng.beta(
            a=PAGE_CONCENTRATION * SUPPORTED, b=PAGE_CONCENTRATION * (1 - SUPPORTED), size=PAGES
        )
        supported = rng.binomial(SENTENCES, np.repeat(rates, DECODERS))
        generations, excluded = np.ones(len(unit_ids)), np.zeros(len(unit_ids))
        values = np.column_stack([supported, generations, excluded])
        columns = ("supported", "generations", "excluded")
        statistics = SufficientStatistics(unit_ids, columns, values)
        by_page = clustered(statistics, page_of_generation)
        for name, rows in (("generations", statistics), ("pages", by_page)):
            interval_rng = generator("pages interval", name, trial)
            interval = estimate(critic, rows, interval_rng, resamples=RESAMPLES)
            covered[name] += interval.low <= SUPPORTED <= interval.high
    return {name: count / trials for name, count in covered.items()}


def mean_field(trials: int) -> float:
    """Share of trials in which two equal systems are said to differ, by the mixed model.

    The model is fitted by a mean-field approximation, which may make intervals too narrow; about
    0.05 is right. In each trial an article has a chance of a yes, whoever wrote it, which all
    annotators share.

    Args:
        trials: simulated studies of ``ARTICLES`` of each system under ``ANNOTATORS`` annotators.
    """
    wrong = 0
    for trial in range(trials):
        # 1. The answers of one study.
        rng = generator("mean field", trial)
        answers, systems, annotators, articles = [], [], [], []
        for system in SYSTEMS:
            for number, logit in enumerate(rng.normal(0, SPREAD, ARTICLES)):
                for annotator in range(ANNOTATORS):
                    answers.append(int(rng.random() < 1 / (1 + np.exp(-logit))))
                    systems.append(system)
                    annotators.append(f"annotator{annotator}")
                    articles.append(f"{system}{number}")
        # 2. The interval of the second system's difference from the first.
        differences, *_ = mixed_effects(answers, systems, annotators, articles)
        difference = differences[1]
        wrong += not difference.low <= 0 <= difference.high
    return wrong / trials


def main() -> None:
    """Measure and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    trials = options.trials
    shares = {
        "trials": trials,
        "true nulls rejected at 0.05, by scored units of 40 on one side": lost_units(trials),
        "95 % intervals that cover, by what is resampled": pages(trials),
        "true nulls whose mean-field 95 % interval leaves out zero": mean_field(trials),
    }
    text = json.dumps(shares, indent=1)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
