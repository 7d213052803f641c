"""Tables 4 and 18 of deng2022 and the human study's own table.

PPL, MAUVE, Latent PPL and annotators side by side. Simulated annotators, of whom captions tell,
flip a known rule's verdicts at known rates: they show what the analysis recovers, not people.
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
from longform_lab.reporting.pivot import SYSTEM, ReportInputs, beside
from longform_lab.study.tables import HUMAN, annotators, flip_rates

COLUMNS = {
    "PPL": {"critic": "perplexity", "metric": "word_ppl"},
    "MAUVE": {"critic": "mauve", "metric": "mauve"},
}
COLUMNS |= {"Latent PPL": {"critic": "section_order", "metric": "latent_ppl"}, "Human": HUMAN}
# Signs that make each measure larger for better text.
TOWARDS_GOOD = {"PPL": -1.0, "MAUVE": 1.0, "Latent PPL": -1.0}
FEWEST_SYSTEMS = 3  # below which no correlation is given
MOST = 30  # organisations (an article's sequence of section titles) that Table 18 shows


def table_4(inputs: ReportInputs) -> Table:
    """PPL, MAUVE and Latent PPL of data and of every system.

    Where annotators were asked, the share called coherent too, and correlations with it.
    """
    # 1. The measures, and how each goes with the annotators.
    where = {"critic": "human_study", "metric": "correlation", "task": "*"}
    if "corpus" in inputs.where:
        where["corpus"] = inputs.where["corpus"]
    cells = inputs.pivot(COLUMNS, "table_04")
    for record in select(inputs.results, where):
        cells.append(cell("r with Human, over systems, towards good", record.task, record))
    # 2. Who was asked, and how MAUVE comes out as it was published.
    measures, rule = "PPL, MAUVE and Latent PPL", "Human: nobody was asked"
    if people := inputs.select(HUMAN):
        who = annotators(people)
        measures = f"PPL, MAUVE, Latent PPL and Human ({who})"
        rule = (
            f"Human: {who}; by the rule that they err from, a chain of section types is coherent "
            "or not"
        )
    notes = [rule, *inputs.notes]
    for record in inputs.select(COLUMNS["MAUVE"]):
        details = record.details
        notes.append(
            f"{inputs.labels(record, *SYSTEM)}: MAUVE as published, both sides clustered anew: "
            f"{details['mauve']:.3f}, sd over {len(details['per_seed'])} seeds "
            f"{details['spread']:.3f}, smoothed {details['smoothed']:.3f}, "
            f"{details['buckets']} clusters"
        )
    return Table(f"Table 4. {measures}, 95 % intervals", cells, notes)


System = tuple[Any, Any, Any]  # name, titles (whether it saw them) and seed


def correlation_records(results: Results) -> Iterator[Record]:
    """Yield Pearson's r of each measure with the human share over systems, by corpus.

    Its sign is such that agreement is positive.
    """
    for (corpus,), people in select(results, HUMAN).groups("corpus").items():
        shares = _values_by_system(people)
        for column, sign in TOWARDS_GOOD.items():
            values = _values_by_system(select(results, {**COLUMNS[column], "corpus": corpus}))
            systems = [system for system in shares if system in values]
            if len(systems) < FEWEST_SYSTEMS:
                continue
            measured = np.array([sign * values[system] for system in systems])
            r = correlate("pearson", measured, np.array([shares[system] for system in systems]))
            yield Record(
                "human_study",
                "correlation",
                corpus,
                task=column,
                value=r.value,
                low=r.low,
                high=r.high,
                p_value=r.p_value,
                units=r.items,
                signature="Pearson, over systems",
            )


def _values_by_system(records: Results) -> dict[System, float]:
    """The value of each system that has one; the last of several."""
    values: dict[System, float | None] = {}
    for record in records:
        values[record.system, record.titles, record.seed] = record.value
    return {system: value for system, value in values.items() if value is not None}


def table_18(inputs: ReportInputs) -> Table:
    """Organisations of the articles called incoherent, most common first, pooled over systems.

    A human record's ``incoherent`` lists pairs: an article's section titles, and how many
    judgements called them incoherent.
    """
    people = inputs.select(HUMAN)
    # 1. How often each organisation was called incoherent, in all and by system.
    counts: Counter[tuple[str, ...]] = Counter()
    by_system: dict[tuple[str, ...], list[Cell]] = {}
    for record in people:
        system = inputs.labels(record, "system", "titles")
        for titles, number in record.details["incoherent"]:
            chain = tuple(titles)
            counts[chain] += number
            count = exact(" → ".join(chain), system, number, "count")
            by_system.setdefault(chain, []).append(count)
    # 2. The most common ones; equal counts in the order of their titles.
    ranked = sorted(counts, key=lambda chain: (-counts[chain], chain))[:MOST]
    cells = []
    for chain in ranked:
        cells.append(exact(" → ".join(chain), "judgements", counts[chain], "count"))
    for chain in ranked:
        cells += by_system[chain]
    # 3. Those that the paper prints whole.
    rows = inputs.expected["table_18"]["rows"]
    printed = {tuple(row) for row in rows if None not in row}
    num_shared = len(printed & counts.keys())
    who = annotators(people)
    notes = [
        f"labels and verdicts: {who}",
        f"{len(counts)} organisations in {sum(counts.values())} judgements of incoherence; "
        f"{len(ranked)} shown; the paper prints {len(rows)} without counts",
        f"of the paper's organisations, {num_shared} of {len(printed)} occur here too",
    ]
    caption = f"Table 18. Organisations of articles called incoherent, most common first ({who})"
    return Table(caption, cells, notes)


def expected_share_records(results: Results) -> Iterator[Record]:
    """Yield the share that simulated annotators should call coherent, and the share that they do.

    The latter has Wilson's interval, one trial a judgement. Of people, whose rates nobody knows,
    there is neither.
    """
    for record in select(results, HUMAN):
        details = record.details
        if rates := flip_rates(details):
            share = expected_share(details["known"]["coherent"], rates)
            yield beside(record, "expected_share", share, low=share, high=share)
            low, high = details["wilson"]
            judgements = details["judgements"]
            yield beside(record, "judged_share", record.value, low=low, high=high, units=judgements)
