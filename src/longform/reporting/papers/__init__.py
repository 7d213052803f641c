"""The tables and figures of each paper: functions of result records and of what the paper printed.

An exhibit is a public function ``(given, *, data, ...)`` of a paper's module; it gives what can be saved.
"""

from importlib import import_module

from longform.core.documents import BadInput
from longform.core.results import Results


def complete(paper: str, results: Results) -> Results:
    """The records that exhibits, claims and the ledger of a paper read: these and what its module's ``derived``, if any, makes of them.

    Raises BadInput: no such paper.
    """
    try:
        module = import_module(f"{__name__}.{paper}")
    except ModuleNotFoundError as error:
        raise BadInput(f"no reports for {paper!r}; name a module of longform/reporting/papers") from error
    return Results([*results, *module.derived(results)]) if hasattr(module, "derived") else results
