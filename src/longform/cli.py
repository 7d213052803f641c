"""``longform criticize REAL GENERATED``: a person's own texts under every critic that applies."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longform import __version__
from longform.core.documents import BadInput


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; bad input is one sentence and exit code 2; 1 where a critic failed and the others stand."""
    parser = argparse.ArgumentParser(prog="longform", description="Does long generated text hang together?")
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    verb = verbs.add_parser("criticize", help="compare generated with real texts under every critic that applies")
    add = verb.add_argument
    add("real", type=Path, help="a .jsonl file, or a folder of .txt and .md files")
    add("generated", type=Path, help="likewise")
    add("--out", type=Path, default=Path("criticism"), help="folder for the report (criticism)")
    add("--model", help="folder of a causal language model, for perplexity, or none (SmolLM2, if installed)")
    add("--encoder", help="folder of a sentence encoder, for BBScore, or none (MiniLM, if installed)")
    add("--seed", type=int, default=1234, help="of every draw (1234)")
    given = parser.parse_args(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        from longform.criticize import criticize
        from longform.criticize.report import SO_FAR, check

        check(given.out, (given.real, given.generated))  # before an hour of work, not after it
        chosen = {"model": given.model, "encoder": given.encoder, "seed": given.seed}
        found = criticize(given.real, given.generated, **chosen, progress=_bar, results=given.out / SO_FAR)
        report = found.save(given.out)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"longform: stopped; the same command goes on from {given.out}, if a critic was done", file=sys.stderr)
        return 130
    print(found.table())
    print(f"report: {report}")
    return 1 if found.failed else 0


def _bar(panels: Sequence[Any]) -> Iterator[Any]:
    """A bar on standard error that names the critic at work."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=len(panels))
        for panel in panels:
            bar.update(task, description=panel.name)
            yield panel
            bar.advance(task)
