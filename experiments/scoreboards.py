"""One summary over all runs in git, ``PYTHONPATH=src:. python experiments/scoreboards.py``: ``docs/scoreboards.md``.

Printed numbers and claims by run, synthetic text and real text apart: a single ledger counts what its own run measured, so that what another
run compares is not in it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from experiments.correct_pages import SCALES, ledger_lines, papers, read_lines
from longform.files.artefacts import atomic_write
from longform_lab.reporting.printed import DIFFERS, INCOMPARABLE, WITHIN
from longform_lab.reporting.verdicts import OURS, VERDICTS
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import scale_results

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "scoreboards.md"
REAL = ("real", "paper")  # how the names of runs on real text begin
COMPARED = (WITHIN, DIFFERS, INCOMPARABLE)
PRINTED = ("run", "paper", *COMPARED)
CLAIMS = ("run", "claims of papers", *VERDICTS, "borderline")


def runs() -> list[str]:
    """The runs whose results are in git; the empty name is the default study."""
    return ["", *sorted(path.parent.name for path in SCALES.glob(f"*/{RECORDS}"))]


def is_real(run: str) -> bool:
    """Whether a run is of published text."""
    return run.startswith(REAL)


def printed_rows(run: str) -> Iterator[list[str]]:
    """Of each paper of which a run compares a number: how many lie in our interval, differ, or cannot be compared."""
    figures = SCALES / run / "paper_figures" if run else ROOT / "paper_figures"
    ledger = read_lines(figures / "ledger" / "ledger.csv")
    found = [(line["paper"], line["verdict"]) for line in ledger]
    if run and not ledger:
        results = scale_results(SCALES / run / RECORDS)
        found = [(line.paper, line.verdict) for line in ledger_lines(run, results, [])]
    counts = Counter(found)
    for paper in papers():
        numbers = [counts[paper, verdict] for verdict in COMPARED]
        if any(numbers):
            yield [shown(run), paper, *(str(number or "") for number in numbers)]


def claim_rows(path: Path, name: str) -> Iterator[list[str]]:
    """How many claims of the papers, our own checks left out, have which verdict in a file of claims."""
    whole_claims = [line for line in read_lines(path) if not line["row"] and line["source"] != OURS]
    if whole_claims:
        counts = Counter(line["verdict"] for line in whole_claims)
        hanging = sum(bool(line.get("borderline")) for line in whole_claims)
        numbers = [len(whole_claims), *(counts[verdict] for verdict in VERDICTS), hanging]
        yield [name, *(str(number or "") for number in numbers)]


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
    real_claims = ROOT / "experiments" / "real_claims.csv"
    for title, belongs in kinds.items():
        chosen = [run for run in runs() if belongs(run)]
        printed = [row for run in chosen for row in printed_rows(run)]
        claims = [
            row
            for run in chosen
            for row in claim_rows(
                (SCALES / run if run else ROOT) / "paper_figures/ledger/claims.csv", shown(run)
            )
        ]
        if title == "Real text":
            claims += claim_rows(
                real_claims, "all of real text ([claims](../experiments/real_claims.md))"
            )
        parts += [f"## {title}", table(PRINTED, printed), table(CLAIMS, claims)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with atomic_write(PAGE) as path:
        path.write_text(page(), encoding="utf-8")
