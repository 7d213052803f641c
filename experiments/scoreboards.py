"""One summary over all runs in git: ``docs/scoreboards.md``.

``PYTHONPATH=src:. python experiments/scoreboards.py`` writes it. Printed numbers and claims by run,
synthetic text and real text apart: a single ledger counts what its own run measured, so that what
another run compares is not in it.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from experiments.correct_pages import SCALES, ledger_lines
from longform.files.artefacts import atomic_write
from longform_lab.reporting.printed import DIFFERS, INCOMPARABLE, WITHIN, Line
from longform_lab.reporting.verdicts import ABSENT, BORDERLINE, HEADER, OURS, VERDICTS
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import scale_results

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "scoreboards.md"
REAL = ("real", "paper", "gpu")  # how the names of runs on real text begin
COMPARED = (WITHIN, DIFFERS, INCOMPARABLE)
PRINTED = ("run", "paper", *COMPARED)
CLAIMS = ("run", "claims of papers", *VERDICTS, BORDERLINE)
REAL_CLAIMS = "all of real text ([claims](../experiments/real_claims.md))"
INTRODUCTION = (
    "How many printed numbers and claims each run in git meets."
    " `PYTHONPATH=src:. python experiments/scoreboards.py` writes this page."
    " *Within interval*: the printed number lies in our 95 % interval."
    " *Not comparable*: measured, but at another size or by another instrument than the paper's."
    " A *borderline* verdict is another at 90 or at 99 %."
    " Some *holds* on real text are superseded or come from networks that write word salad: the"
    " notes of the [claims](../experiments/real_claims.md) say how many."
)


def runs() -> list[str]:
    """The runs whose results are in git; the empty name is the default study."""
    return ["", *sorted(path.parent.name for path in SCALES.glob(f"*/{RECORDS}"))]


def is_real(run: str) -> bool:
    """Whether a run is of published text."""
    return run.startswith(REAL)


def figures_of(run: str) -> Path:
    """The folder of a run's figures and tables."""
    return (SCALES / run if run else ROOT) / "paper_figures"


def printed_rows(run: str) -> Iterator[list[str]]:
    """Yield a row for each paper of which a run compares a number: its verdicts of each kind."""
    path = figures_of(run) / "ledger" / ("ledger.csv.xz" if run else "ledger.csv")
    lines = read_table(path) if path.is_file() else pd.DataFrame(columns=Line._fields)
    if run and lines.empty:  # it has records, but no ledger in git
        results = scale_results(SCALES / run / RECORDS)
        lines = pd.DataFrame(ledger_lines(run, results, []), columns=Line._fields)
    counts = pd.crosstab(lines["paper"], lines["verdict"])
    counts = counts.reindex(columns=list(COMPARED), fill_value=0)
    for paper, numbers in counts[counts.any(axis=1)].iterrows():
        yield [shown(run), str(paper), *map(cell, numbers)]


def claim_rows(path: Path, name: str) -> Iterator[list[str]]:
    """Yield a file's row, called ``name``: numbers of the papers' claims by verdict, if any.

    Our own checks are left out. The file of a scale holds no claim that its run did not measure:
    what it lacks of the claims of the default study is counted as such.
    """
    if not path.is_file():
        return
    lines = read_table(path).reindex(columns=HEADER, fill_value="")
    claims = lines[(lines["row"] == "") & (lines["source"] != OURS)]
    if len(claims):
        counts = claims["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
        counts[ABSENT] += number_of_claims() - len(claims)
        borderline = (claims[BORDERLINE] != "").sum()
        yield [name, *map(cell, [counts.sum(), *counts, borderline])]


@cache
def number_of_claims() -> int:
    """How many claims of the papers the default study judges."""
    lines = read_table(figures_of("") / "ledger" / "claims.csv")
    return int(((lines["row"] == "") & (lines["source"] != OURS)).sum())


def read_table(path: Path) -> pd.DataFrame:
    """A CSV file as a data frame of strings."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def cell(count: int) -> str:
    """A count as text, empty for 0."""
    return str(count or "")


def shown(run: str) -> str:
    """The name of a run on the page."""
    return f"`{run}`" if run else "the default study"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for row in rows:
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def page() -> str:
    """The page's text."""
    real = [run for run in runs() if is_real(run)]
    synthetic = [run for run in runs() if not is_real(run)]
    claims_of_real_text = claim_rows(ROOT / "experiments" / "real_claims.csv", REAL_CLAIMS)
    parts = ["# Scoreboards", INTRODUCTION, "## Synthetic text"]
    parts += [table(PRINTED, all_printed_rows(synthetic)), table(CLAIMS, all_claim_rows(synthetic))]
    real_claims = [*all_claim_rows(real), *claims_of_real_text]
    parts += ["## Real text", table(PRINTED, all_printed_rows(real)), table(CLAIMS, real_claims)]
    return "\n\n".join(parts) + "\n"


def all_printed_rows(names: Sequence[str]) -> list[list[str]]:
    """Rows of several runs about printed numbers."""
    rows: list[list[str]] = []
    for run in names:
        rows += printed_rows(run)
    return rows


def all_claim_rows(names: Sequence[str]) -> list[list[str]]:
    """Rows of several runs about claims."""
    rows: list[list[str]] = []
    for run in names:
        rows += claim_rows(figures_of(run) / "ledger" / "claims.csv", shown(run))
    return rows


if __name__ == "__main__":
    with atomic_write(PAGE) as path:
        path.write_text(page(), encoding="utf-8")
