"""Table 9 of deng2022: Latent NLL of topic logits, for data and for what models write (section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longform.papers.critic_tables import Records, cells_of, comparison_lines, exact_cells, left_out, orderings
from longform.papers.layout import Table

COLUMNS = {
    "topics": "Latent NLL (nats), at the posterior's mean",
    "topics_expectation": "Latent NLL (nats), expectation",
}
PRINTED_CORPUS = "wiki"  # the printed block that a planted encyclopedia stands beside
WHY = "planted text, fewer topics than the paper's 100 (section 6), networks trained from scratch"
EXACT = "the exact value is that of the planted logits themselves; ours are posterior means under fitted topics"


def table_9(*, scores: Records, expected: Mapping[str, Any], data: Path) -> Table:
    """Latent NLL of topic logits in nats per document, for data and models with and without titles.

    Score rows are named ``<corpus>-<data|family-w_title|family-wo_title>-<topics|topics_expectation>``. The released
    code scores the posterior's mean, so the printed numbers, of models without titles, stand beside that.

    Raises:
        BadInput: a row of another kind.
    """
    block = expected["table_09"]["latent_nll"][PRINTED_CORPUS]
    printed = {("data", "topics"): block["data"], ("gpt2-wo_title", "topics"): block["lm1"]}
    truth = exact_cells(scores, data, "topic_latent_nll", COLUMNS["topics"])
    cells = truth + cells_of(scores, COLUMNS, printed, WHY)
    claims = orderings(scores, COLUMNS, "W/O Title < data", "gpt2-wo_title", "data", source="Table 9")
    claims += orderings(scores, COLUMNS, "W/ Title < data", "gpt2-w_title", "data", source="not in the paper")
    notes = [*claims, *comparison_lines(scores), f"printed values are not comparable: {WHY}"]
    notes += [EXACT] if truth else []
    notes.append(f"documents without a known word, at most in one row: {left_out(scores)}")
    return Table("Table 9. Latent NLL of topic logits, nats per document, with 95 % intervals", cells, notes)
