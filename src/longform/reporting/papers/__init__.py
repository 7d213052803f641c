"""The tables and figures of each paper: functions of result records and of what the paper printed.

An exhibit is a public function ``(given, *, data, ...)`` of a paper's module; it gives what can be saved.
"""

from importlib import import_module
from types import ModuleType

from longform.core.documents import BadInput
from longform.core.results import Results


def complete(paper: str, results: Results) -> Results:
    """The records with those that the paper's module derives from them, by its function ``derived`` where it has one.

    Exhibits, claims and the ledger of a paper read complete records.

    Raises BadInput: no such paper.
    """
    derived = getattr(_module(paper), "derived", None)
    return Results([*results, *derived(results)]) if derived else results


def _module(paper: str) -> ModuleType:
    try:
        return import_module(f"{__name__}.{paper}")
    except ModuleNotFoundError as error:
        raise BadInput(f"no reports for {paper!r}; name a module of longform/reporting/papers") from error
