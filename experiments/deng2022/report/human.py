"""Tables 4 and 18 of deng2022 and the human study's own table: PPL, MAUVE, Latent PPL and annotators side by side.

Simulated annotators, of whom captions tell, flip a known rule at known rates: they show what the analysis recovers, not people.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from longform.evaluation.agreement import correlate
from longform.evaluation.human_study import expected_share
from longform.results import Record, Results
from longform.tables import Cell, Table, cell, exact
from longform_lab.reporting.estimates import select
from longform_lab.reporting.pivot import SYSTEM, Given, beside
from longform_lab.study.tables import HUMAN, annotators, flip_rates

COLUMNS = {
    "PPL": {"critic": "perplexity", "metric": "word_ppl"},
    "MAUVE": {"critic": "mauve", "metric": "mauve"},
}
COLUMNS |= {"Latent PPL": {"critic": "section_order", "metric": "latent_ppl"}, "Human": HUMAN}
TOWARDS_GOOD = {
    "PPL": -1.0,
    "MAUVE": 1.0,
    "Latent PPL": -1.0,
}  # a low perplexity should go with a high share
FEWEST_SYSTEMS = 3  # below which no correlation is given
MOST = 30  # organisations that Table 18 shows


def table_4(given: Given) -> Table:
    """PPL, MAUVE, Latent PPL and, where annotators were asked, the share called coherent, of data and of every system; correlations with them."""
    corpus = {k: v for k, v in given.where.items() if k == "corpus"}
    correlations = select(
        given.results, {**corpus, "critic": "human_study", "metric": "correlation", "task": "*"}
    )
    cells = given.pivot(COLUMNS, "table_04")
    cells += [
        cell("r with Human, over systems, towards good", record.task, record)
        for record in correlations
    ]
    measures, rule = "PPL, MAUVE and Latent PPL", "Human: nobody was asked"
    if people := given.select(HUMAN):
        who = annotators(people)
        measures = f"PPL, MAUVE, Latent PPL and Human ({who})"
        rule = f"Human: {who}; by the rule that they err from, a chain of section types is coherent or not"
    notes = [rule, *given.notes]
    for record in given.select(COLUMNS["MAUVE"]):
        d = record.details
        notes.append(
            f"{given.labels(record, *SYSTEM)}: MAUVE as published, both sides clustered anew: {d['mauve']:.3f}, sd over "
            f"{len(d['per_seed'])} seeds {d['spread']:.3f}, smoothed {d['smoothed']:.3f}, {d['buckets']} clusters"
        )
    return Table(f"Table 4. {measures}, 95 % intervals", cells, notes)


def correlation_records(results: Results) -> Iterator[Record]:
    """Pearson's r of each measure with the human share over systems, signed so that agreement is positive, per corpus."""
    for (corpus,), people in select(results, HUMAN).groups("corpus").items():
        shares = {(r.system, r.titles, r.seed): r.value for r in people}
        for column, sign in TOWARDS_GOOD.items():
            found = select(results, {**COLUMNS[column], "corpus": corpus})
            values = {(r.system, r.titles, r.seed): r.value for r in found}
            both = [
                key for key in shares if shares[key] is not None and values.get(key) is not None
            ]
            if len(both) >= FEWEST_SYSTEMS:
                measured = np.array([sign * (values[k] or 0.0) for k in both])
                r = correlate("pearson", measured, np.array([shares[k] for k in both]))
                numbers: dict[str, Any] = {
                    name: getattr(r, name) for name in ("value", "low", "high", "p_value")
                }
                fields = {**numbers, "units": r.items, "signature": "Pearson, over systems"}
                yield Record("human_study", "correlation", corpus, task=column, **fields)


def table_18(given: Given) -> Table:
    """Organisations of the articles called incoherent, most common first, pooled over systems."""
    people = given.select(HUMAN)
    counts: Counter[tuple[str, ...]] = Counter()
    by_system: dict[tuple[str, ...], list[Cell]] = {}
    for record in people:
        system = given.labels(record, "system", "titles")
        for chain, number in record.details["incoherent"]:
            counts[tuple(chain)] += number
            by_system.setdefault(tuple(chain), []).append(
                exact(" → ".join(chain), system, number, "count")
            )
    ranked = sorted(counts.items(), key=lambda held: (-held[1], held[0]))[:MOST]
    cells = [exact(" → ".join(chain), "judgements", number, "count") for chain, number in ranked]
    cells += [one for chain, _ in ranked for one in by_system[chain]]
    printed = {tuple(row) for row in given.expected["table_18"]["rows"] if None not in row}
    notes = [
        f"labels and verdicts: {annotators(people)}",
        f"{len(counts)} organisations in {sum(counts.values())} judgements of incoherence; {len(ranked)} shown; the paper prints "
        f"{len(given.expected['table_18']['rows'])} without counts",
        f"of the paper's organisations, {sum(chain in counts for chain in printed)} of {len(printed)} occur here too",
    ]
    caption = f"Table 18. Organisations of articles called incoherent, most common first ({annotators(people)})"
    return Table(caption, cells, notes)


def expected_share_records(results: Results) -> Iterator[Record]:
    """The share that simulated annotators should call coherent, and theirs with Wilson's interval, one trial a judgement."""
    for record in select(results, HUMAN):
        found = record.details
        if rates := flip_rates(found):
            share = expected_share(found["known"]["coherent"], rates)
            low, high = found["wilson"]
            yield beside(record, "expected_share", share, low=share, high=share)
            yield beside(
                record, "judged_share", record.value, low=low, high=high, units=found["judgements"]
            )
