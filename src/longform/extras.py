"""What to install where a package of one of the extras is not there: one sentence, no traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from longform.errors import BadInput


def advice(extra: str, package: str) -> str:
    """The sentence."""
    commands = f"pip install 'longform[{extra}]' (in a clone: '.[{extra}]')"
    return f"package {package!r} is not installed; {commands}"


def check(extra: str, *packages: str) -> None:
    """Raises BadInput: one of an extra's packages is not installed. None of them is imported."""
    for package in packages:
        if find_spec(package) is None:
            raise BadInput(advice(extra, package))


@contextmanager
def exit_if_missing(extra: str) -> Iterator[None]:
    """End a program whose imports meet a package that is not installed.

    It says the sentence and ends with exit status 2.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "longform").partition(".")[0]
        if package in (
            "longform",
            "longform_lab",
            "synthetic_world",
        ):  # a mistake of ours, not a missing extra
            raise
        print(f"longform: {advice(extra, package)}", file=sys.stderr)
        raise SystemExit(2) from None
