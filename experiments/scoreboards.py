"""One summary over all runs in git, ``PYTHONPATH=src:. python experiments/scoreboards.py``: ``docs/scoreboards.md``.

Printed numbers and claims by run, synthetic text and real text apart: a single ledger counts what its own run measured, so that what another
run compares is not in it.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from experiments.correct_pages import SCALES, ledger_lines
from longform.files.artefacts import atomic_write
from longform_lab.reporting.printed import DIFFERS, INCOMPARABLE, WITHIN, Line
from longform_lab.reporting.verdicts import BORDERLINE, HEADER, OURS, VERDICTS
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import scale_results

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "scoreboards.md"
REAL = ("real", "paper")  # how the names of runs on real text begin
COMPARED = (WITHIN, DIFFERS, INCOMPARABLE)
PRINTED = ("run", "paper", *COMPARED)
CLAIMS = ("run", "claims of papers", *VERDICTS, BORDERLINE)
REAL_CLAIMS = "all of real text ([claims](../experiments/real_claims.md))"


def runs() -> list[str]:
    """The runs whose results are in git; the empty name is the default study."""
    return ["", *sorted(path.parent.name for path in SCALES.glob(f"*/{RECORDS}"))]


def is_real(run: str) -> bool:
    """Whether a run is of published text."""
    return run.startswith(REAL)


def printed_rows(run: str) -> Iterator[list[str]]:
    """Of each paper of which a run compares a number: how many verdicts of each kind."""
    figures = SCALES / run / "paper_figures" if run else ROOT / "paper_figures"
    path = figures / "ledger" / "ledger.csv"
    lines = read_table(path) if path.is_file() else pd.DataFrame(columns=Line._fields)
    if run and lines.empty:
        results = scale_results(SCALES / run / RECORDS)
        lines = pd.DataFrame(ledger_lines(run, results, []), columns=Line._fields)
    counts = pd.crosstab(lines["paper"], lines["verdict"])
    counts = counts.reindex(columns=list(COMPARED), fill_value=0)
    for paper, numbers in counts[counts.any(axis=1)].iterrows():
        yield [shown(run), str(paper), *map(cell, numbers)]


def claim_rows(path: Path, name: str) -> Iterator[list[str]]:
    """How many claims of the papers, our own checks left out, have which verdict in a file."""
    if not path.is_file():
        return
    lines = read_table(path).reindex(columns=HEADER, fill_value="")
    claims = lines[(lines["row"] == "") & (lines["source"] != OURS)]
    if len(claims):
        counts = claims["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
        borderline = (claims[BORDERLINE] != "").sum()
        yield [name, *map(cell, [len(claims), *counts, borderline])]


def read_table(path: Path) -> pd.DataFrame:
    """A CSV file; every cell is a text."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def cell(count: int) -> str:
    """A count; nothing for none."""
    return str(count or "")


def shown(run: str) -> str:
    """A run as a page names it."""
    return f"`{run}`" if run else "the default study"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def page() -> str:
    """The whole page."""
    kinds: dict[str, Callable[[str], bool]] = {
        "Synthetic text": lambda run: not is_real(run),
        "Real text": is_real,
    }
    parts = [
        "# Scoreboards",
        "How many printed numbers and claims each run in git meets. `PYTHONPATH=src:. python experiments/scoreboards.py` writes this page. "
        "*Within interval*: the printed number lies in our 95 % interval. *Not comparable*: measured, but at another size or "
        "by another instrument than the paper's. A *borderline* verdict is another at 90 or at 99 %.",
    ]
    for title, belongs in kinds.items():
        printed: list[list[str]] = []
        claims: list[list[str]] = []
        for run in filter(belongs, runs()):
            printed += printed_rows(run)
            folder = SCALES / run if run else ROOT
            claims += claim_rows(folder / "paper_figures" / "ledger" / "claims.csv", shown(run))
        if title == "Real text":
            claims += claim_rows(ROOT / "experiments" / "real_claims.csv", REAL_CLAIMS)
        parts += [f"## {title}", table(PRINTED, printed), table(CLAIMS, claims)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with atomic_write(PAGE) as path:
        path.write_text(page(), encoding="utf-8")
