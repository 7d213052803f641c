"""Correct committed tables, claims and ledgers of scales from their records, ``PYTHONPATH=src:. python experiments/correct_pages.py``.

Run again it changes nothing. A scale's corpora are not in git, so that only what follows from its records is written anew: the
claims and their notes in every exhibit, and the ledger. Lines that need a corpus' own facts stay as the run wrote them. Exhibits
of numbers that no record can correct get the note of ``superseded.yaml``.
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

ROOT = Path(__file__).parents[1]
SCALES = ROOT / "experiments" / "scales"
NOWHERE = ROOT / "data" / "no corpora"
SUPERSEDED = "superseded"
MEASURED = (HOLDS, CONTRADICTED, UNDECIDED)


def papers() -> list[str]:
    """The papers' names."""
    return sorted(path.parent.name for path in (ROOT / "experiments").glob("*/expected.yaml"))


def claims_name(scale: str) -> str:
    """The name by which claims know a scale."""
    return str(key_of_scale(scale, ROOT, "claims", "default"))


def judged(scale: str, results: Results, old: Path) -> list[Judged]:
    """Every claim from the scale's records; one that compares with a corpus' facts from the numbers that the run wrote."""
    found = []
    for paper in papers():
        expected = read_expected(ROOT / "experiments" / paper, claims_name(scale))
        for one in expected.judged(with_derived(paper, results), NOWHERE):
            lines = [
                line
                for line in read_lines(old)
                if (line["paper"], line["claim"]) == (paper, one.claim.id)
            ]
            measured = any(line["verdict"] in MEASURED for line in lines)
            lost = needs_facts(one.claim) or one.verdict == ABSENT
            found.append(with_old_numbers(one, lines) if measured and lost else one)
    return found


def needs_facts(claim: Claim) -> bool:
    """Whether a number of a claim is a fact of a corpus."""
    return any(quantity.operation == "fact" for quantity in claim.quantities)


def with_old_numbers(one: Judged, lines: Sequence[Mapping[str, str]]) -> Judged:
    """A claim with the rows that the run wrote, since it asks for what is not in git; equality judged by its margin."""
    rows, scale = [], one.scale
    for line in lines:
        if not line["row"]:
            continue
        fields, scale = line["row"].removeprefix("-"), line["scale"]
        if not line["low"]:
            contrast = Estimate(float(line["difference"])) if line["difference"] else None
            rows.append(Row(fields, line["compared"], contrast, line["verdict"], line["why"]))
            continue
        contrast = Estimate(*(float(line[key]) for key in ("difference", "low", "high")))
        linear = contrast.log() if scale == "ratio" else contrast
        verdict, others = line["verdict"], {}
        if one.claim.within is not None:
            margin = float(one.claim.within.margin)
            border = math.log(margin) if scale == "ratio" else margin
            verdict = decide("contains", linear, border)
            others = {level: decide("contains", linear, border, level) for level in OTHER_LEVELS}
        rows.append(Row(fields, line["compared"], contrast, verdict, others=others))
    return replace(one, rows=rows, scale=scale)


def read_lines(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file; none where it is not there."""
    return table_rows(path, ()) if path.is_file() else []


def ledger_lines(scale: str, results: Results, old: Sequence[Mapping[str, str]]) -> list[Line]:
    """A line for each printed number; those that need a corpus' facts as the run wrote them."""
    kept = {(line["paper"], line["table"], line["number"]): line for line in old}
    lines = []
    for paper in papers():
        expected = read_expected(ROOT / "experiments" / paper, claims_name(scale))
        facts = {(number.table, number.name) for number in expected.numbers if by_facts(number)}
        for line in expected.ledger(with_derived(paper, results), NOWHERE):
            before = kept.get((line.paper, line.table, line.number))
            if before is not None and (line.table, line.number) in facts:
                numbers = {
                    k: float(before[k]) if before[k] else None
                    for k in ("printed", "ours", "low", "high", "units")
                }
                words = {k: before[k] for k in ("record", "verdict", "cause")}
                line = line._replace(**numbers, **words)
            lines.append(line)
    return lines


def by_facts(number: Printed) -> bool:
    """Whether a number, or whether it can be compared, is told by the facts of a corpus."""
    if number.rule is None:
        return False
    comparable = number.rule.comparable
    return number.fact is not None or (comparable is not None and bool(comparable.facts))


def correct_ledger(scale: str) -> None:
    """Claims and printed numbers of a scale, and the claims in the notes of its exhibits."""
    figures = SCALES / scale / "paper_figures"
    results = scale_results(SCALES / scale / RECORDS)
    ledger = figures / "ledger"
    claims = judged(scale, results, ledger / "claims.csv")
    for page in sorted(figures.rglob("*.md")):
        correct_notes(
            page, [one for one in claims if one.paper == page.relative_to(figures).parts[0]]
        )
    if ledger.is_dir():
        lines = ledger_lines(scale, results, read_lines(ledger / "ledger.csv"))
        write_claims(ledger / "claims.csv", claims)
        write_rows(
            ledger / "ledger.csv", Line._fields, [line for line in lines if line.ours is not None]
        )
        text = f"{claims_markdown(claims)}\n{ledger_markdown(lines)}"
        (ledger / "ledger.md").write_text(text, encoding="utf-8")


def correct_notes(page: Path, claims: Sequence[Judged]) -> None:
    """Sentences of claims among an exhibit's notes, so that an exhibit and the ledger give a claim one verdict."""
    sentences = {one.claim.says: one for one in claims}
    lines = page.read_text(encoding="utf-8").splitlines()
    for place, line in enumerate(lines):
        told = CLAIM.fullmatch(line)
        one = sentences.get(told[1]) if told else None
        if one is not None:
            lines[place] = f"- {one.sentence()}"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def mark_superseded(entries: Sequence[Mapping[str, Any]]) -> None:
    """The note of each entry in the Markdown of its exhibits, once."""
    for scale in sorted(path.name for path in SCALES.iterdir() if path.is_dir()):
        notes: dict[Path, list[str]] = {}
        for entry in entries:
            for exhibit in entry["exhibits"] if scale in entry["scales"] else ():
                page = SCALES / scale / "paper_figures" / exhibit / f"{Path(exhibit).name}.md"
                if page.is_file():
                    notes.setdefault(page, []).append(
                        f"- {SUPERSEDED}, until the scale is run again: {entry['why']}"
                    )
        for page in sorted((SCALES / scale).rglob("paper_figures/**/*.md")):
            lines = page.read_text(encoding="utf-8").splitlines()
            own = [line for line in lines if not line.startswith(f"- {SUPERSEDED}, ")]
            told = notes.get(page, [])
            if own != lines or told:
                while own and not own[-1]:
                    own.pop()
                gap = [] if own[-1].startswith("- ") else [""]
                page.write_text(
                    "\n".join([*own, *(gap if told else []), *told]) + "\n", encoding="utf-8"
                )


def main() -> int:
    """Correct every scale that has results; the status is 0."""
    for scale in sorted(path.parent.name for path in SCALES.glob(f"*/{RECORDS}")):
        correct_ledger(scale)
    mark_superseded(read_yaml(ROOT / "experiments" / "superseded.yaml"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
