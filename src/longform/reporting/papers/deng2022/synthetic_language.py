"""Table 1 of deng2022: the synthetic language, where the process that writes the text is known."""

from __future__ import annotations

from pathlib import Path

from longform.core.results import Results
from longform.reporting.pivot import SYSTEM, pivot
from longform.reporting.printed import Expected
from longform.reporting.selection import Facts, select
from longform.reporting.table import Table, exact

LATENT = {"critic": "synthetic_states", "metric": "latent_ppl"}
COLUMNS = {
    "word PPL": {"critic": "perplexity", "metric": "word_ppl"},
    "Latent PPL": LATENT,
    "Latent PPL, strict rule": {**LATENT, "variant": "strict"},
    "survival": {"critic": "synthetic_states", "metric": "survival"},
}


def table_1(results: Results, expected: Expected, *, data: Path) -> Table:
    """Word PPL and Latent PPL of data, transformer and HSMMs, beside the exact values; survival is the share that the oracle reads."""
    where = expected.choice("table_1")
    cells, facts = [], Facts(data)
    for corpus in select(results, {**where, **LATENT}).values("corpus"):
        for column, fact in (("word PPL", "word_ppl"), ("Latent PPL", "latent_ppl")):
            value = facts.number(corpus, fact)
            cells += [] if value is None else [exact("exact", column, value)]
    cells += pivot(results, expected, data, COLUMNS, printed="table_01", rows=SYSTEM[1:], where=where)
    caption = "Table 1. Synthetic language: word PPL and Latent PPL with 95 % intervals"
    return Table(caption, cells, expected.notes("table_1", results, data), list(COLUMNS))
