"""The command ``longform``; see ``longform --help``.

A person's own texts under every critic, any language model, and exports.
"""

from __future__ import annotations

import sys
from pathlib import Path

from longform.terminal import (
    PIPE_CLOSED,
    STOPPED,
    Interrupt,
    discard_output,
    named_systems,
    show_markdown,
    stay_offline_unless_named,
)

TYPE_CHECKING = False  # as in typing, whose import would take as long as that of all else here
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit code: 2 for bad input, which is one sentence; 1 where a critic failed and the
        others stand; 130 after Ctrl-C, which is one sentence at any time; 141, without a word,
        where what read the output has ended, as ``head`` does.
    """
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return PIPE_CLOSED


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command line; returns the exit code. Raises BrokenPipeError: nobody reads on."""
    # Python's own KeyboardInterrupt would not do: a module that is being imported may swallow it,
    # and Lightning turns it into SystemExit(1).
    with Interrupt() as interrupt:
        options = _parsed(arguments)
        if options.command == "critics":
            from longform.critics.catalogue import listing

            print(listing())
            return 0
        if options.command == "examples":
            return _write_examples(options.folder)
        if options.command != "criticize":
            from longform.commands import run

            return run(options, interrupt)
        # Importing takes seconds, in which Ctrl-C has ended the process at once. From here on it
        # raises KeyboardInterrupt, so that the critics' results so far are kept.
        import longform.criticize  # noqa: F401

        interrupt.ends_at_once = False
        try:
            return _compare(options, interrupt)
        except (KeyboardInterrupt, SystemExit) as stop:
            if isinstance(stop, SystemExit) and not interrupt.heard:
                raise  # an exit that no Ctrl-C has caused
            goes_on = f"the same command goes on from {options.out}, if a critic was done"
            print(f"longform: stopped; {goes_on}", file=sys.stderr)
            return STOPPED


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line with the parser of all commands; exits with 2 where it cannot."""
    import argparse

    from longform import __version__

    # 1. The small commands.
    parser = argparse.ArgumentParser(
        prog="longform", description="Does long generated text hang together?"
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    from longform.tools.arguments import add_command, add_commands

    add_command(verbs, "critics", "list all critics: what each asks, needs and costs")
    examples = "write twenty synthetic and twenty machine-written articles to try things on"
    verb = add_command(verbs, "examples", examples, "longform examples texts")
    verb.add_argument(
        "folder", type=Path, help="folder for real.jsonl and machine.jsonl; made if it is not there"
    )
    # 2. ``criticize``.
    purpose = "compare generated with real texts under every critic that applies"
    example = "longform criticize real.jsonl first=a.jsonl second=b.jsonl"
    verb = add_command(verbs, "criticize", purpose, example)
    add = verb.add_argument
    texts = "a folder of .txt and .md files, a .jsonl file, "
    texts += "a column (FILE.csv:COLUMN, also .tsv and .parquet), "
    texts += "- for JSON lines on standard input, or hub:OWNER/NAME@COMMIT:PATH"
    add("real", type=Path, help=f"real texts: {texts}")
    add(
        "generated",
        nargs="+",
        help="texts of one system or of several, in any of these forms; NAME=TEXTS names a system",
    )
    add(
        "--paired",
        action="store_true",
        help="all wrote from the same prompts: compare text by text, "
        "by id or else by place in the file",
    )
    add(
        "--plan",
        action="store_true",
        help="print time, and the smallest difference that would be seen, and stop",
    )
    add("--json", action="store_true", help="print the result as JSON")
    add(
        "--out",
        type=Path,
        default=Path("criticism"),
        help="folder for the report (default: criticism)",
    )
    add(
        "--model",
        help="causal language model for perplexity: a folder, a .gguf file, "
        "OWNER/NAME@COMMIT of the hub, or none (default: SmolLM2, if installed)",
    )
    add(
        "--encoder",
        help="folder of a sentence encoder, for BBScore, or none (default: MiniLM, if installed)",
    )
    add(
        "--orders",
        action="store_true",
        help="also score order and repetition: the model reads each text and three shuffles of it, "
        "which takes hours for 1,000 texts (from 20 real texts on)",
    )
    add("--seed", type=int, default=1234, help="seed of all random draws (default: 1234)")
    # 3. Any language model, checks of facts, and exports.
    add_commands(verbs)
    return parser.parse_args(arguments)


def _write_examples(folder: Path) -> int:
    """Run ``longform examples``. Returns 2 where the folder cannot be written, else 0."""
    from longform.examples import FILES, write_examples

    try:
        write_examples(folder)
    except OSError as error:
        print(f"longform: {folder}: cannot be written ({error.strerror})", file=sys.stderr)
        return 2
    print(" ".join(str(folder / name) for name in FILES))
    return 0


def _compare(options: argparse.Namespace, interrupt: Interrupt) -> int:
    """Run ``longform criticize``: print a plan, or write the report of one system or of several.

    Returns:
        0; 1 where a critic failed, 2 where the texts or settings are wrong.
    """
    from longform.criticize.report import check
    from longform.errors import BadInput

    stay_offline_unless_named(options.model, options.real, *options.generated)
    try:
        systems = named_systems(options.generated)
        places = [Path(place) for place in (options.real, *systems.values())]
        # Whether a report can be written to --out; before an hour of work, not after it.
        check(options.out, places)
        if options.plan:
            return _show_plan(options, systems)
        if len(systems) == 1 and not options.paired:
            return _compare_one(options, next(iter(systems.values())), interrupt)
        return _compare_systems(options, systems, interrupt)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2


def _interruptible_progress(interrupt: Interrupt) -> Callable[[Sequence[Any]], Iterator[Any]]:
    """Make a function that yields the panels it is given, under a progress bar.

    A panel is a critic with all it needs to judge texts. If Ctrl-C was pressed, the function raises
    KeyboardInterrupt before the next panel, or behind the last.
    """

    def progress(panels: Sequence[Any]) -> Iterator[Any]:
        for panel in _bar(panels):
            interrupt.check()
            yield panel
        interrupt.check()

    return progress


def _model_options(options: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of ``criticize`` and its kin: model, encoder, orders and seed."""
    return {name: getattr(options, name) for name in ("model", "encoder", "orders", "seed")}


def _compare_one(options: argparse.Namespace, generated: str, interrupt: Interrupt) -> int:
    """Compare one system's texts, at ``generated``, with real ones; save and print the report.

    Returns:
        The exit status: 1 where a critic failed, else 0.
    """
    from longform.criticize import criticize
    from longform.criticize.report import RECORD, SO_FAR

    comparison = criticize(
        options.real,
        Path(generated),
        **_model_options(options),
        progress=_interruptible_progress(interrupt),
        results=options.out / SO_FAR,
    )
    report = comparison.save(options.out)
    if options.json:
        print((options.out / RECORD).read_text(encoding="utf-8"))
    else:
        show_markdown(comparison.table())
        print(f"report: {report}")
    return 1 if comparison.failed else 0


def _compare_systems(
    options: argparse.Namespace, systems: dict[str, str], interrupt: Interrupt
) -> int:
    """Compare several systems, or paired texts, with real ones; save and print the report.

    Args:
        options: of the command line.
        systems: name -> where the system's texts lie.
        interrupt: checked between critics.

    Returns:
        The exit status: 1 where a critic failed, else 0.
    """
    from longform.criticize import criticize_systems, systems_report
    from longform.criticize.report import RECORD, SO_FAR

    comparison = criticize_systems(
        options.real,
        systems,
        paired=options.paired,
        **_model_options(options),
        progress=_interruptible_progress(interrupt),
        results=options.out / SO_FAR,
    )
    report = systems_report.save(comparison, options.out)
    if options.json:
        print((options.out / RECORD).read_text(encoding="utf-8"))
    else:
        show_markdown(systems_report.markdown(comparison))
        print(f"report: {report}")
    return 1 if comparison.failed else 0


def _show_plan(options: argparse.Namespace, systems: dict[str, str]) -> int:
    """Print how long each critic takes and the smallest difference it would detect. Returns 0."""
    from dataclasses import asdict

    from longform.criticize import plan_systems, systems_report
    from longform.files.artefacts import json_line

    plans = plan_systems(options.real, systems, **_model_options(options))
    if options.json:
        print(json_line([asdict(plan) for plan in plans]))
    else:
        show_markdown(systems_report.plan_markdown(plans, list(systems)))
    return 0


def _bar(panels: Sequence[Any]) -> Iterator[Any]:
    """Yield the panels under a bar on standard error that names the critic at work."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    # Critics that are left out before any work are no part of it.
    num_critics = sum(not panel.absent for panel in panels)
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=num_critics)
        for panel in panels:
            if panel.absent:
                yield panel
                continue
            bar.update(task, description=panel.name)
            yield panel
            bar.advance(task)
