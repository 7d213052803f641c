"""Tables 7 and 8 of deng2022: what the mentions of persons cost, in data and in what models of several sizes write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longform.documents import BadInput
from longform.reporting.critic_tables import (
    Records,
    cells_of,
    comparison_lines,
    exact_cells,
    left_out,
    orderings,
    parts,
)
from longform.reporting.layout import Cell, Table, cell
from longform.reporting.ledger import judge_ordering

COLUMNS = {
    "mentions_gold": "Latent PPL, gold chains",
    "mentions_gold_kn": "Latent PPL, gold chains, Kneser-Ney",
    "mentions_read": "Latent PPL",
    "mentions_read_kn": "Latent PPL, Kneser-Ney",
    "mentions": "Latent PPL, critic of gold chains",
    "mentions_kn": "Latent PPL, critic of gold chains, Kneser-Ney",
}
WHY = "planted text, a resolver by rules, networks trained from scratch"
READERS = (
    "gold chains: critic and text are the world's own, persons mentioned once among them, as the exact value has it (over "
    "all splits); "
    "Latent PPL: one resolver reads the critic's real text and the judged text, as in the paper; critic of gold "
    "chains: fitted on the world's own chains, so the resolver's errors count against every text, data included"
)


def table_7(*, scores: Records, expected: Mapping[str, Any], data: Path) -> Table:
    """Latent PPL of mentions of persons, for data and models with and without titles, beside the exact value.

    Score rows are named ``<corpus>-<data|family-w_title|family-wo_title>-<kind>`` with a kind of ``COLUMNS``; the
    printed numbers, of models with titles, stand beside the paper's protocol, one resolver on both sides.

    Raises:
        BadInput: a row of another kind.
    """
    block = expected["table_07"]["wiki_films"]["latent_ppl"]
    printed = {("data", "mentions_read"): block["data"], ("gpt2-w_title", "mentions_read"): block["lm1"]["w_title"]}
    printed["gpt_neo-w_title", "mentions_read"] = block["lm2"]["w_title"]
    truth = exact_cells(scores, data, "mention_latent_ppl", COLUMNS["mentions_gold"])
    aside = left_out(scores)
    persons = (
        f"up to {aside} articles set aside by the film filter"
        if aside
        else "persons of all articles, films alone in the paper"
    )
    claims = orderings(scores, COLUMNS, "data < W/ Title", "data", "gpt2-w_title", source="Table 7")
    claims += orderings(
        scores, COLUMNS, "data < LM2 < LM1", "data", "gpt_neo-w_title", "gpt2-w_title", source="Table 7"
    )
    claims += orderings(scores, COLUMNS, "data < W/O Title", "data", "gpt2-wo_title", source="not in the paper")
    notes = [*claims, *comparison_lines(scores), f"printed values are not comparable: {WHY}", READERS, persons]
    caption = "Table 7. Latent PPL of mentions of persons with 95 % intervals"
    return Table(caption, truth + cells_of(scores, COLUMNS, printed, WHY), notes)


PAPER_SIZES = ("gpt2_s", "gpt2_m", "gpt2_l", "gpt2_xl")  # Table 8, smallest first


def table_8(*, scores: Records, expected: Mapping[str, Any], sizes: Sequence[str]) -> Table:
    """Latent PPL of mentions of persons by model size, models with titles, as in Table 8.

    Score rows are named ``<corpus>-<data|family-w_title>-mentions_read``; ``sizes`` are the families, smallest first,
    in the places of the paper's S, M, L and XL.

    Raises:
        BadInput: a row of no size, or not as many sizes as the paper has.
    """
    printed = expected["table_08"]["wiki_films"]["latent_ppl"]
    records = {parts(name)[1].split("-")[0]: record for name, record in scores.items()}
    if set(records) != {"data", *sizes} or len(sizes) != len(PAPER_SIZES):
        raise BadInput(
            f"table_8: rows are of {sorted(records)}, sizes {list(sizes)}; want data and {len(PAPER_SIZES)} sizes"
        )
    beside = {
        "data": printed["data"],
        **{ours: printed[theirs] for ours, theirs in zip(sizes, PAPER_SIZES, strict=True)},
    }
    cells = [
        cell(size, "Latent PPL", record, printed=beside[size], verdict="not comparable", why=WHY)
        for size, record in records.items()
    ]
    claims = [judge_ordering(f"data < {size} (Table 8)", [records["data"], records[size]]) for size in sizes]
    notes = [f"{found.claim}: {found.verdict} ({found.why})" for found in claims]
    best = min(sizes, key=lambda size: records[size]["value"])
    verdict = "differs" if best == sizes[-1] else "ordering holds"
    notes.append(f"the largest size is not the one nearest to data (Table 8): {verdict} (nearest: {best})")
    notes += [*comparison_lines(scores), f"printed values are not comparable: {WHY}"]
    return Table("Table 8. Latent PPL of mentions of persons by model size, 95 % intervals", cells, notes)


RESOLVERS = {"gold_repeated": "gold", "read": "rules", "nearest": "nearest mention"}
PARTS = {"muc": "MUC F1", "b3": "B³ F1", "ceafe": "CEAF-e F1"}


def table_resolvers(*, scores: Records) -> Table:
    """The same chains under three readers: Latent PPL of each text, and agreement with the planted truth (ours).

    Score rows are named ``<corpus>-<system>-mentions_<reader>`` and ``<corpus>-data-agreement_<reader>`` with a reader
    of ``RESOLVERS``.
    """
    cells: list[Cell] = []
    for name, record in scores.items():
        _, system, kind = parts(name)
        measure, _, reader = kind.partition("_")
        if measure == "agreement":
            cells.append(cell(RESOLVERS[reader], "CoNLL F1", record))
            found = record["details"]
            cells += [Cell(RESOLVERS[reader], PARTS[key], found[key]["f1"], units=record["units"]) for key in PARTS]
        else:
            cells.append(cell(RESOLVERS[reader], f"Latent PPL, {system.replace('-', ' ')}", record))
    notes = _resolver_claims(scores)
    notes.append("entities mentioned once are left out by every reader; a mention counts by the place of its head word")
    notes.append(
        "each critic is fitted on training text as its reader reads it; gold chains of generated text do not exist"
    )
    return Table("Sensitivity to the resolver: agreement with planted gold, and Latent PPL of mentions", cells, notes)


def _resolver_claims(scores: Records) -> list[str]:
    lines = []
    for reader in RESOLVERS:
        rows = {parts(name)[1]: r for name, r in scores.items() if parts(name)[2] == f"mentions_{reader}"}
        for system in (name for name in rows if name != "data"):
            found = judge_ordering(f"{RESOLVERS[reader]}: data < {system}", [rows["data"], rows[system]])
            lines.append(f"{found.claim} (as Table 7 under another reader): {found.verdict} ({found.why})")
    return lines
