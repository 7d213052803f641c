"""Correct committed tables, claims and ledgers of scales from their records.

``PYTHONPATH=src:. python experiments/correct_pages.py``; run again it changes nothing. A scale's
corpora are not in git, so that only what follows from its records is written anew: the claims and
their notes in every exhibit, and the ledger. Lines that need a corpus' own facts stay as the run
wrote them. Exhibits of numbers that no record can correct get the note of ``superseded.yaml``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.site.exhibits import CLAIM
from longform.files.artefacts import read_yaml
from longform.files.opening import rows as table_rows
from longform.results import Results
from longform.tables import write_rows
from longform_lab.reporting.claims import Claim
from longform_lab.reporting.estimates import Estimate
from longform_lab.reporting.printed import Line, Printed, ledger_markdown, read_expected
from longform_lab.reporting.verdicts import (
    ABSENT,
    CONTRADICTED,
    HOLDS,
    OTHER_LEVELS,
    UNDECIDED,
    Judged,
    Row,
    claims_markdown,
    decide,
    write_claims,
)
from longform_lab.reports import with_derived
from longform_lab.scale_overrides import key_of_scale
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import scale_results
from longform_lab.scale_results import drop_unmeasured_claims, pack

ROOT = Path(__file__).parents[1]
SCALES = ROOT / "experiments" / "scales"
NOWHERE = ROOT / "data" / "no corpora"  # no such folder: the facts of corpora are not in git
SUPERSEDED = "superseded"
MEASURED = (HOLDS, CONTRADICTED, UNDECIDED)


def papers() -> list[str]:
    """The names of the papers' folders."""
    return sorted(path.parent.name for path in (ROOT / "experiments").glob("*/expected.yaml"))


def claims_name(scale: str) -> str:
    """The name of a scale in the claims' reasons."""
    return str(key_of_scale(scale, ROOT, "claims", "default"))


def judged(scale: str, results: Results, old: Path) -> list[Judged]:
    """Judge every claim by the scale's records.

    Args:
        scale: name of the scale.
        results: records of the scale.
        old: ``claims.csv`` that the run wrote; its numbers stay where a claim compares with facts
            of a corpus.
    """
    lines_of: dict[tuple[str, str], list[dict[str, str]]] = {}
    for line in read_lines(old):
        lines_of.setdefault((line["paper"], line["claim"]), []).append(line)
    claims = []
    for paper in papers():
        expected = read_expected(ROOT / "experiments" / paper, claims_name(scale))
        for judgement in expected.judged(with_derived(paper, results), NOWHERE):
            lines = lines_of.get((paper, judgement.claim.id), [])
            was_measured = any(line["verdict"] in MEASURED for line in lines)
            if was_measured and (needs_facts(judgement.claim) or judgement.verdict == ABSENT):
                judgement = with_old_numbers(judgement, lines)
            claims.append(judgement)
    return claims


def needs_facts(claim: Claim) -> bool:
    """Whether a number of a claim is a fact of a corpus."""
    return any(quantity.operation == "fact" for quantity in claim.quantities)


def with_old_numbers(judgement: Judged, lines: Sequence[Mapping[str, str]]) -> Judged:
    """A claim with the rows that the run wrote, since it needs facts that are not in git."""
    rows = []
    scale = judgement.scale
    for line in lines:
        if line["row"]:
            scale = line["scale"]
            rows.append(old_row(judgement.claim, line))
    return replace(judgement, rows=rows, scale=scale)


def old_row(claim: Claim, line: Mapping[str, str]) -> Row:
    """A row as the run wrote it; a claim of equality is judged anew, by its margin."""
    fields, compared, verdict = line["row"].removeprefix("-"), line["compared"], line["verdict"]
    if not line["low"]:
        contrast = Estimate(float(line["difference"])) if line["difference"] else None
        return Row(fields, compared, contrast, verdict, line["why"])
    contrast = Estimate(float(line["difference"]), float(line["low"]), float(line["high"]))
    if claim.within is None:  # no claim of equality
        return Row(fields, compared, contrast, verdict, others={})
    margin, linear = float(claim.within.margin), contrast
    if line["scale"] == "ratio":
        margin, linear = math.log(margin), contrast.log()
    verdict = decide("contains", linear, margin)
    others = {level: decide("contains", linear, margin, level) for level in OTHER_LEVELS}
    return Row(fields, compared, contrast, verdict, others=others)


def read_lines(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file; none where it is not there."""
    return table_rows(path, ()) if path.is_file() else []


def ledger_lines(scale: str, results: Results, old: Sequence[Mapping[str, str]]) -> list[Line]:
    """A line for each printed number; those that need a corpus' facts as the run wrote them."""
    old_lines = {(line["paper"], line["table"], line["number"]): line for line in old}
    lines = []
    for paper in papers():
        expected = read_expected(ROOT / "experiments" / paper, claims_name(scale))
        facts = {(number.table, number.name) for number in expected.numbers if by_facts(number)}
        for line in expected.ledger(with_derived(paper, results), NOWHERE):
            old_line = old_lines.get((line.paper, line.table, line.number))
            if old_line is not None and (line.table, line.number) in facts:
                line = with_old_cells(line, old_line)
            lines.append(line)
    return lines


def with_old_cells(line: Line, old: Mapping[str, str]) -> Line:
    """A line of a ledger with the numbers and words that the run wrote."""
    cells: dict[str, float | str | None] = {}
    for name in ("printed", "ours", "low", "high", "units"):
        cells[name] = float(old[name]) if old[name] else None
    for name in ("record", "verdict", "cause"):
        cells[name] = old[name]
    return line._replace(**cells)


def by_facts(number: Printed) -> bool:
    """Whether a number, or whether it can be compared, is decided by the facts of a corpus."""
    if number.rule is None:
        return False
    comparable = number.rule.comparable
    return number.fact is not None or (comparable is not None and bool(comparable.facts))


def correct_ledger(scale: str) -> None:
    """Write a scale's claims and printed numbers anew, and the claims in its exhibits' notes."""
    figures = SCALES / scale / "paper_figures"
    results = scale_results(SCALES / scale / RECORDS)
    ledger = figures / "ledger"
    claims = judged(scale, results, ledger / "claims.csv")
    # 1. The claims in the notes of tables and figures.
    for page in sorted(figures.rglob("*.md")):
        paper = page.relative_to(figures).parts[0]
        correct_notes(page, [claim for claim in claims if claim.paper == paper])
    # 2. The ledger: what the run measured as tables, and the counts of all as a page.
    if ledger.is_dir():
        lines = ledger_lines(scale, results, read_lines(ledger / "ledger.csv.xz"))
        write_claims(ledger / "claims.csv", claims)
        drop_unmeasured_claims(ledger / "claims.csv")
        measured = [line for line in lines if line.ours is not None]
        write_rows(ledger / "ledger.csv", Line._fields, measured)
        pack(ledger / "ledger.csv")
        text = f"{claims_markdown(claims)}\n{ledger_markdown(lines)}"
        (ledger / "ledger.md").write_text(text, encoding="utf-8")


def correct_notes(page: Path, claims: Sequence[Judged]) -> None:
    """Write the sentences of claims among an exhibit's notes anew, with the ledger's verdicts.

    A claim that compares with facts of a corpus keeps its line where no ledger has its numbers.
    """
    by_sentence = {}
    for judgement in claims:
        if judgement.verdict != ABSENT or not needs_facts(judgement.claim):
            by_sentence[judgement.claim.says] = judgement
    lines = []
    for line in page.read_text(encoding="utf-8").splitlines():
        match = CLAIM.fullmatch(line)
        judgement = by_sentence.get(match[1]) if match else None
        lines.append(f"- {judgement.sentence()}" if judgement else line)
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def mark_superseded(entries: Sequence[Mapping[str, Any]]) -> None:
    """Add the note of each entry of ``superseded.yaml`` to its exhibits' pages; drop all others."""
    for scale in sorted(path for path in SCALES.iterdir() if path.is_dir()):
        notes: dict[Path, list[str]] = {}
        for entry in entries:
            if scale.name in entry["scales"]:
                note = f"- {SUPERSEDED}, until the scale is run again: {entry['why']}"
                for exhibit in entry["exhibits"]:
                    page = scale / "paper_figures" / exhibit / f"{Path(exhibit).name}.md"
                    notes.setdefault(page, []).append(note)
        for page in sorted(scale.rglob("paper_figures/**/*.md")):
            set_notes(page, notes.get(page, []))


def set_notes(page: Path, notes: Sequence[str]) -> None:
    """End a page with notes that say what is superseded, and with no others of this kind."""
    old_lines = page.read_text(encoding="utf-8").splitlines()
    lines = [line for line in old_lines if not line.startswith(f"- {SUPERSEDED}, ")]
    if not notes and lines == old_lines:
        return
    while lines and not lines[-1]:
        lines.pop()
    if notes and not lines[-1].startswith("- "):
        lines.append("")
    page.write_text("\n".join([*lines, *notes]) + "\n", encoding="utf-8")


def main() -> int:
    """Correct every scale that has results; the status is 0."""
    for scale in sorted(path.parent.name for path in SCALES.glob(f"*/{RECORDS}")):
        correct_ledger(scale)
    mark_superseded(read_yaml(ROOT / "experiments" / "superseded.yaml"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
