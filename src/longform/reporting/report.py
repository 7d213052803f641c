"""A paper's report: its exhibits, its claims and its ledger, written from records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from longform.documents import BadInput
from longform.reporting.claims import Judged
from longform.reporting.printed import Expected, Line
from longform.reporting.table import Exhibit
from longform.results import Record, Results

Exhibits = Mapping[str, Callable[..., Exhibit]]


def exhibits_of(paper: str) -> tuple[Exhibits, Callable[[Results], Iterable[Record]]]:
    """A paper's exhibits by name, and what derives further records from the measured ones.

    Raises:
        BadInput: no such paper.
    """
    try:
        module = import_module(f"longform.reporting.papers.{paper}")
    except ModuleNotFoundError as error:
        raise BadInput(f"no reports for {paper!r}; name a module of longform/reporting/papers") from error
    return module.EXHIBITS, module.derived


def complete(paper: str, results: Results) -> Results:
    """The records with those that follow from them."""
    return Results([*results, *exhibits_of(paper)[1](results)])


def write_exhibits(
    results: Results, expected: Expected, data: Path, folder: Path, names: Sequence[str] | None = None
) -> None:
    """Each exhibit in a folder of its name.

    Args:
        results: complete (see :func:`complete`).
        names: of the exhibits; all of the paper's by default.

    Raises:
        BadInput: no such exhibit, or one lacks its records.
    """
    exhibits, _ = exhibits_of(expected.paper)
    unknown = sorted(set(names or ()) - exhibits.keys())
    if unknown:
        raise BadInput(f"{expected.paper} has no exhibit {unknown[0]!r}; allowed are {sorted(exhibits)}")
    for name in names if names is not None else exhibits:
        exhibit = exhibits[name](results, expected, data=data)
        (folder / name).mkdir(parents=True, exist_ok=True)
        exhibit.save(folder / name, name)


def claims_and_ledger(results: Results, expected: Expected, data: Path) -> tuple[list[Judged], list[Line]]:
    """Every claim judged and every printed number with ours beside it, from complete records."""
    return expected.judged(results, data), expected.ledger(results, data)
