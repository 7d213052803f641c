"""Printed numbers and our tables -> ``paper_figures/ledger/``: ``python -m longform.pipeline.ledger --home HOME``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from longform.artefacts import read_yaml, whole
from longform.documents import BadInput
from longform.reporting.ledger_lines import Ledger, Ours, checked, ledger

PAPERS = ("deng2022", "sheng2024", "beyer2021", "lapata2005", "massarelli2020")
SCALES = ("hsmm_medium", "wikisection")  # whose tables are in git


def collect(home: Path, root: Path = Path()) -> Ledger:
    """The ledger of a scale's tables; those of ``SCALES``, which no stage of this run makes, stand beside it."""
    papers = root / "experiments"
    expected = {p: read_yaml(papers / p / "expected.yaml") for p in PAPERS}
    rules = {p: checked(read_yaml(papers / p / "ledger.yaml") or {}, f"experiments/{p}/ledger.yaml") for p in PAPERS}
    others = {scale: root / "experiments/scales" / scale / "paper_figures" for scale in SCALES}
    figures = {scale: tables(folder) for scale, folder in {**others, "planted": home / "paper_figures"}.items()}
    return ledger(expected, rules, figures)


def tables(figures: Path) -> dict[str, Ours]:
    """``paper/table`` -> table, for every CSV that a report wrote."""
    found = sorted(f for f in figures.glob("*/*") if f.parent.name in PAPERS and (f / f"{f.name}.csv").is_file())
    return {f"{folder.parent.name}/{folder.name}": Ours.read(folder) for folder in found}


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, default=Path())
    home = parser.parse_args().home
    try:
        made = collect(home)
    except BadInput as error:
        print(f"ledger: {error}", file=sys.stderr)
        return 2
    with whole(home / "paper_figures" / "ledger") as folder:
        os.mkdir(folder)
        made.save(folder)
    print(made.markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
