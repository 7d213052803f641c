"""A paper's report: its exhibits, its claims and its ledger, written from records.

An exhibit is a function of a paper's module, ``(results, expected, *, data) -> Exhibit``; what ``exhibits`` of ``expected.yaml`` says of
it restricts its records, or sets its further arguments where it names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Parameter, isfunction, signature
from pathlib import Path
from types import ModuleType

from longform.documents import BadInput
from longform.reporting.claims import Judged
from longform.reporting.printed import Expected, Line
from longform.reporting.table import Exhibit
from longform.results import Results

PAPERS = "longform.reporting.papers"


def paper_module(paper: str) -> ModuleType:
    """The module of a paper's exhibits.

    Raises:
        BadInput: no such paper.
    """
    try:
        return import_module(f"{PAPERS}.{paper}")
    except ModuleNotFoundError as error:
        raise BadInput(f"no reports for {paper!r}; name a module of longform/reporting/papers") from error


def exhibits_of(paper: str) -> dict[str, Callable[..., Exhibit]]:
    """A paper's exhibits by name: the public functions of its module that take results, expected numbers and data."""
    found = {name: value for name, value in vars(paper_module(paper)).items() if isfunction(value) and name[0] != "_"}
    wanted = ["results", "expected", "data"]
    return {name: value for name, value in found.items() if list(signature(value).parameters)[:3] == wanted}


def complete(paper: str, results: Results) -> Results:
    """The records with those that the paper's module derives from them (its function ``derived``)."""
    derived = getattr(paper_module(paper), "derived", None)
    return Results([*results, *derived(results)]) if derived else results


def write_exhibit(name: str, results: Results, expected: Expected, data: Path, folder: Path) -> None:
    """An exhibit into a folder of its name.

    Args:
        results: complete (see :func:`complete`).

    Raises:
        BadInput: no such exhibit, or it lacks its records.
    """
    exhibits = exhibits_of(expected.paper)
    if name not in exhibits:
        raise BadInput(f"{expected.paper} has no exhibit {name!r}; allowed are {sorted(exhibits)}")
    known = {key for key, held in signature(exhibits[name]).parameters.items() if held.kind is Parameter.KEYWORD_ONLY}
    settings = {key: value for key, value in expected.choice(name).items() if key in known - {"data"}}
    exhibit = exhibits[name](results, expected, data=data, **settings)
    (folder / name).mkdir(parents=True, exist_ok=True)
    exhibit.save(folder / name, name)


def claims_and_ledger(results: Results, expected: Expected, data: Path) -> tuple[Sequence[Judged], Sequence[Line]]:
    """Every claim judged and every printed number with ours beside it, from complete records."""
    return expected.judged(results, data), expected.ledger(results, data)
