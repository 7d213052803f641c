"""What all commands need of the terminal.

That is Ctrl-C, names of systems, tables, and whether the network may be used.

It is read before anything heavy, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

TYPE_CHECKING = False  # as in typing, whose import would take as long as that of all else here
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

STOPPED = 130  # exit code after Ctrl-C, as shells count it
PIPE_CLOSED = 141  # exit code where nobody reads the output any more, as shells count it
_TABLE_COLUMN = re.compile(r"(.+\.(?:csv|tsv|parquet)):(.+)")


class Interrupt:
    """Handles Ctrl-C inside its ``with`` block.

    While ``ends_at_once`` is set Ctrl-C ends the process; afterwards it raises KeyboardInterrupt,
    and ``heard`` remembers it for code that swallows the exception.
    """

    def __init__(self) -> None:
        self.heard = False
        self.ends_at_once = True
        self._before: Any = None  # the handler that is restored at the end

    def __enter__(self) -> Interrupt:
        try:
            self._before = signal.signal(signal.SIGINT, self.hear)
        except ValueError:  # only the main thread may set it
            self._before = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def hear(self, *_: object) -> None:
        """Handle the signal."""
        self.heard = True
        if self.ends_at_once:
            # Standard error without Python's buffers, which the signal may have interrupted.
            os.write(2, b"longform: stopped before any critic ran\n")
            os._exit(STOPPED)
        raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed and other code swallowed the exception."""
        if self.heard:
            raise KeyboardInterrupt


def discard_output() -> None:
    """Send what standard output still holds to nowhere, so that no error ends the process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def stay_offline_unless_named(*names: object) -> None:
    """Keep Hugging Face's hub offline, unless one of the names (perhaps NAME=PLACE) is of it."""
    for name in names:
        place = str(name).partition("=")[2] or str(name)
        if place.startswith("hub:") or ("@" in place and not Path(place).exists()):
            return
    os.environ.setdefault("HF_HUB_OFFLINE", "1")


def named_systems(arguments: Sequence[str]) -> dict[str, str]:
    """Where the texts of each system lie, by its name.

    The name is what stands before ``=``, else that of the file or folder.

    Args:
        arguments: ``NAME=TEXTS`` or ``TEXTS``. Where a file or folder of the whole name exists,
            ``=`` is part of that.

    Returns:
        Name -> place. A file's name counts up to its first full stop: ``a`` for
        ``out/a.b.jsonl``. One that begins with a full stop leaves none.

    Raises:
        InputError: two systems have one name, or one has none.
    """
    from longform.errors import InputError

    # 1. Tables of which several columns are named.
    tables: list[str] = []
    for argument in arguments:
        column = _TABLE_COLUMN.fullmatch(argument)
        if column and not Path(argument).exists():
            tables.append(column[1])
    # 2. The name of each system.
    systems: dict[str, str] = {}
    for argument in arguments:
        name, separator, texts = argument.partition("=")
        if not separator or Path(argument).exists():
            # The last part of the path; a slash at the end is no part.
            name, texts = Path(argument).name.split(".")[0], argument
            column = _TABLE_COLUMN.fullmatch(argument)
            if column and tables.count(column[1]) > 1:
                name = column[2]
        if not name or not texts:
            raise InputError(f"{argument!r}: no name, or no texts; give TEXTS, or NAME=TEXTS")
        if name in systems:
            raise InputError(
                f"{argument}: two systems are called {name!r}; name them: NAME={texts}"
            )
        systems[name] = texts
    return systems


def show_markdown(text: str) -> None:
    """Print Markdown: drawn with characters in a terminal, unchanged in a pipe or a file."""
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
