"""What to install where a package of one of the extras is not there: one sentence, no traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from longform.errors import BadInput


def advice(extra: str, package: str) -> str:
    """The sentence that says how to install an extra of ours, which has a missing package."""
    commands = f"pip install 'longform[{extra}]' (in a clone: '.[{extra}]')"
    return f"package {package!r} is not installed; {commands}"


def check(extra: str, *packages: str) -> None:
    """Check, without importing them, that packages of the extra ``longform[extra]`` are installed.

    Raises BadInput: one of them is not.
    """
    for package in packages:
        if find_spec(package) is None:
            raise BadInput(advice(extra, package))


@contextmanager
def exit_if_missing(extra: str) -> Iterator[None]:
    """Catch an import of a package that is not installed inside the ``with`` block.

    The program prints the sentence of :func:`advice` and exits with status 2. A missing module of
    this repository's own packages is a bug and keeps its traceback.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "longform").partition(".")[0]
        if package in ("longform", "longform_lab", "synthetic_world"):
            raise
        print(f"longform: {advice(extra, package)}", file=sys.stderr)
        raise SystemExit(2) from None
