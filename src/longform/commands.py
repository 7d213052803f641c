"""What the commands for any model do once their arguments are read."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longform import extras
from longform.errors import BadInput, InputError, counted
from longform.files.artefacts import write_json
from longform.terminal import (
    STOPPED,
    Interrupt,
    named_systems,
    show_markdown,
    stay_offline_unless_named,
)
from longform.tools.unfinished import refuse_overwriting


def run(options: argparse.Namespace, interrupt: Interrupt) -> int:
    """Run the command that ``options.command`` names.

    Returns:
        The exit code: 2 for bad input, said in one sentence; 130 after Ctrl-C.
    """
    interrupt.ends_at_once = False
    try:
        return COMMANDS[options.command](options)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, SystemExit) as stop:
        if isinstance(stop, SystemExit) and not interrupt.heard:
            raise
        print(f"longform: {STOPPED_SENTENCES[options.command]}", file=sys.stderr)
        return STOPPED


def _suites(options: argparse.Namespace) -> int:
    """``longform suites``: judge test suites, or plan it. Returns the exit status."""
    from longform.tools.suites import judge_suites, plan_suites

    stay_offline_unless_named(options.model, options.against)
    _check_file(options.out, options.suites)
    settings = {
        "metric": options.metric,
        "ends": options.ends,
        "separator": options.separator,
        "seed": options.seed,
    }
    with redirect_stdout(sys.stderr):  # progress of readers is no result
        if options.plan:
            plan = plan_suites(options.model, options.suites, **settings)
        else:
            report = judge_suites(
                options.model, options.suites, against=options.against, **settings
            )
    if options.plan:
        return _show(options, asdict(plan), plan.text())
    record = report.to_record()
    if options.out is not None:
        write_json(options.out, record)
    return _show(options, record, report.markdown())


def _check_file(path: Path | None, sources: Sequence[str]) -> None:
    """Check that ``--out`` can be written, and make its folder.

    Args:
        path: of the file that will be written; None where there is none.
        sources: files that are read, perhaps as KIND=PATH.

    Raises InputError: no file can be written there, or one that is read would be overwritten.
    """
    if path is None:
        return
    try:
        if path.is_dir():
            raise InputError(f"--out {path}: a folder; name a file, such as {path / 'suites.json'}")
        # The nearest folder above that exists: those below it are made in it.
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise InputError(f"--out {path}: cannot be written in {folder}; name another place")
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # a name that is too long, or a file system that takes no folder
        raise InputError(f"--out {path}: {error.strerror}; name another place") from error
    refuse_overwriting([path], sources)


def _generate(options: argparse.Namespace) -> int:
    """``longform generate``: continue prompts, or plan it. Returns the exit status."""
    from longform.tools.writing import generate, plan_writing

    stay_offline_unless_named(options.model, options.prefixes)
    settings = {
        "decoders": options.decoder or "delayed_beam",
        "prompt": options.prompt,
        "new_tokens": options.new_tokens,
        "repeats": options.repeats,
        "batch": options.batch,
    }
    with redirect_stdout(sys.stderr):
        if options.plan:
            plan = plan_writing(options.model, options.prefixes, **settings)
        else:
            writing = generate(
                options.model, options.prefixes, **settings, seed=options.seed, out=options.out
            )
    if options.plan:
        return _show(options, asdict(plan), plan.text())
    return _show(options, writing.to_record(), writing.markdown())


def _verify(options: argparse.Namespace) -> int:
    """``longform verify``: check texts against pages, or plan it. Returns the exit status."""
    from longform.tools.verifying import plan_verification, verify

    stay_offline_unless_named(options.judge, *options.texts)
    systems = named_systems(options.texts)
    with redirect_stdout(sys.stderr):
        if options.plan:
            plan = plan_verification(systems, options.pages, judge=options.judge)
        else:
            verification = verify(systems, options.pages, judge=options.judge, out=options.out)
    if options.plan:
        return _show(options, asdict(plan), plan.text())
    return _show(options, verification.to_record(), verification.markdown())


def _export(options: argparse.Namespace) -> int:
    """``longform export``: write a module or tasks for another tool. Returns the exit status."""
    from longform.tools import exporting

    if options.kind == "evaluate":
        paths = exporting.export_evaluate(options.folder)
        print(" ".join(map(str, paths)))
        return 0
    paths = exporting.export_harness(options.folder, options.suites, seed=options.seed)
    files = counted(len(paths), "file")
    print(f"{options.folder}: {files}; {exporting.command_for(options.folder)}")
    return 0


def _decoders(options: argparse.Namespace) -> int:
    """``longform decoders``: print every decoder with its settings. Returns 0."""
    extras.check("models", "pydantic")
    from longform.tools.writing import decoder_listing

    print(decoder_listing())
    return 0


def _show(options: argparse.Namespace, record: Any, text: str) -> int:
    """Print the record as JSON where ``--json`` is set, else the Markdown text. Returns 0."""
    if options.json:
        print(json.dumps(record, indent=1, ensure_ascii=False))
    else:
        show_markdown(text)
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "suites": _suites,
    "generate": _generate,
    "decoders": _decoders,
    "verify": _verify,
    "export": _export,
}
STOPPED_SENTENCES = {
    "suites": "stopped; nothing was written",
    "generate": "stopped; the same command goes on from there",
    "decoders": "stopped",
    "verify": "stopped; the same command goes on from there",
    "export": "stopped; run it again",
}
