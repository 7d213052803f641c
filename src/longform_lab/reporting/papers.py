"""The tables and figures of each paper: functions of result records and of what the paper printed.

An exhibit is a public function ``(given, *, data, ...)`` of a paper's module; it gives what can be saved.
"""

import sys
from importlib import import_module
from pathlib import Path

from longform.errors import BadInput
from longform.results import Results

ROOT = str(
    Path(__file__).parents[3]
)  # of the repository, where each paper's tables and figures stand
if ROOT not in sys.path:
    sys.path.append(ROOT)


def complete(paper: str, results: Results) -> Results:
    """The records that exhibits, claims and the ledger of a paper read: these and what its module's ``derived``, if any, makes of them.

    Raises BadInput: no such paper.
    """
    try:
        module = import_module(f"experiments.{paper}.report")
    except ModuleNotFoundError as error:
        raise BadInput(
            f"no reports for {paper!r}; name a folder of experiments/ that has report.py"
        ) from error
    return Results([*results, *module.derived(results)]) if hasattr(module, "derived") else results
