"""What all commands need of the terminal.

That is Ctrl-C, names of systems, tables, and whether the network may be used.

It is read before anything heavy, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

TYPE_CHECKING = False  # as in typing, whose import would take as long as that of all else here
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

STOPPED = 130  # exit code after Ctrl-C, as shells count it


class Interrupt:
    """Hears Ctrl-C while it is entered.

    First it ends the process at once; later it raises KeyboardInterrupt and remembers it.
    """

    def __init__(self) -> None:
        self.heard = False
        self.ends_at_once = True
        self._before: Any = None

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
        """The handler of the signal."""
        self.heard = True
        if self.ends_at_once:
            os.write(2, b"longform: stopped before any critic ran\n")
            os._exit(STOPPED)
        raise KeyboardInterrupt

    def check(self) -> None:
        """Raises KeyboardInterrupt: there was one, which somebody else swallowed."""
        if self.heard:
            raise KeyboardInterrupt


def stay_offline_unless_named(*names: object) -> None:
    """Let models and texts come from this machine alone, unless a person names one of the hub."""
    for name in names:
        place = str(name).partition("=")[2] or str(name)
        if place.startswith("hub:") or ("@" in place and not Path(place).exists()):
            return
    os.environ.setdefault("HF_HUB_OFFLINE", "1")


def named_systems(given: Sequence[str]) -> dict[str, str]:
    """Texts of each system by its name: that before ``=``, else that of the file or folder.

    Args:
        given: ``NAME=TEXTS`` or ``TEXTS``. Where a file or folder of the whole name exists, ``=``
            is part of that.

    Returns:
        By name, where the texts lie. A file's name counts up to its first full stop: ``a`` for
        ``out/a.b.jsonl``. One that begins with a full stop leaves none.

    Raises:
        InputError: two systems have one name, or one has none.
    """
    from longform.errors import InputError

    systems: dict[str, str] = {}
    for one in given:
        name, separator, texts = one.partition("=")
        if not separator or Path(one).exists():
            # The last part of the path; a slash at the end is no part.
            name, texts = Path(one).name.split(".")[0], one
        if not name or not texts:
            raise InputError(f"{one!r}: no name, or no texts; give TEXTS, or NAME=TEXTS")
        if name in systems:
            raise InputError(f"{one}: two systems are called {name!r}; name them: NAME={texts}")
        systems[name] = texts
    return systems


def show_markdown(text: str) -> None:
    """As a table of characters in a terminal, as it is in a pipe."""
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
