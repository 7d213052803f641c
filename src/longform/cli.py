"""``longform criticize REAL GENERATED``: a person's own texts under every critic that applies; ``longform critics`` lists them."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # as in typing, whose import would take as long as that of all else here
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

STOPPED = 130  # exit code after Ctrl-C, as shells count it


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; bad input is one sentence and exit code 2; 1 where a critic failed and the others stand.

    Ctrl-C is one sentence and exit code 130 at any time.
    """
    # Python's own KeyboardInterrupt would not do: a module that is being imported may swallow it, and Lightning turns it
    # into SystemExit(1)
    with Interrupt() as interrupt:
        given = _parsed(arguments)
        if given.command == "critics":
            from longform.critics.catalogue import listing

            print(listing())
            return 0
        from longform.criticize import criticize  # seconds, and everything that is needed below

        interrupt.ends_at_once = False
        try:
            return _compare(given, criticize, interrupt)
        except (KeyboardInterrupt, SystemExit) as stop:
            if isinstance(stop, SystemExit) and not interrupt.heard:
                raise
            print(
                f"longform: stopped; the same command goes on from {given.out}, if a critic was done",
                file=sys.stderr,
            )
            return STOPPED


class Interrupt:
    """Hears Ctrl-C while it is entered: first it ends the process at once, later it raises KeyboardInterrupt and remembers it."""

    def __init__(self) -> None:
        self.heard = False
        self.ends_at_once = True
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        try:
            self._before = signal.signal(signal.SIGINT, self._hear)
        except ValueError:  # only the main thread may set it
            self._before = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _hear(self, *_: object) -> None:
        self.heard = True
        if self.ends_at_once:
            os.write(2, b"longform: stopped before any critic ran\n")
            os._exit(STOPPED)
        raise KeyboardInterrupt

    def check(self) -> None:
        """Raises KeyboardInterrupt: there was one, which somebody else swallowed."""
        if self.heard:
            raise KeyboardInterrupt


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    import argparse
    from pathlib import Path

    from longform import __version__

    parser = argparse.ArgumentParser(
        prog="longform", description="Does long generated text hang together?"
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    verbs.add_parser("critics", help="list all critics: what each asks, needs and costs")
    verb = verbs.add_parser(
        "criticize", help="compare generated with real texts under every critic that applies"
    )
    add = verb.add_argument
    add("real", type=Path, help="a .jsonl file, or a folder of .txt and .md files")
    add("generated", type=Path, help="likewise")
    add("--out", type=Path, default=Path("criticism"), help="folder for the report (criticism)")
    add(
        "--model",
        help="folder of a causal language model, for perplexity, or none (SmolLM2, if installed)",
    )
    add(
        "--encoder",
        help="folder of a sentence encoder, for BBScore, or none (MiniLM, if installed)",
    )
    add("--seed", type=int, default=1234, help="of every draw (1234)")
    return parser.parse_args(arguments)


def _compare(given: argparse.Namespace, criticize: Callable[..., Any], interrupt: Interrupt) -> int:
    from longform.criticize.report import SO_FAR, check
    from longform.errors import BadInput

    def progress(panels: Sequence[Any]) -> Iterator[Any]:
        for panel in _bar(panels):
            interrupt.check()
            yield panel
        interrupt.check()

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        check(given.out, (given.real, given.generated))  # before an hour of work, not after it
        chosen = {"model": given.model, "encoder": given.encoder, "seed": given.seed}
        found = criticize(
            given.real, given.generated, **chosen, progress=progress, results=given.out / SO_FAR
        )
        report = found.save(given.out)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    print(found.table())
    print(f"report: {report}")
    return 1 if found.failed else 0


def _bar(panels: Sequence[Any]) -> Iterator[Any]:
    """A bar on standard error that names the critic at work."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=len(panels))
        for panel in panels:
            bar.update(task, description=panel.name)
            yield panel
            bar.advance(task)
