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


def run(given: argparse.Namespace, interrupt: Interrupt) -> int:
    """Run the command that was given.

    Returns:
        The exit code: 2 for bad input, said in one sentence; 130 after Ctrl-C.
    """
    interrupt.ends_at_once = False
    try:
        return COMMANDS[given.command](given)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, SystemExit) as stop:
        if isinstance(stop, SystemExit) and not interrupt.heard:
            raise
        print(f"longform: {STOPPED_SENTENCES[given.command]}", file=sys.stderr)
        return STOPPED


def _suites(given: argparse.Namespace) -> int:
    """``longform suites``: judge test suites, or plan it. Returns the exit status."""
    from longform.tools.suites import judge_suites, plan_suites

    stay_offline_unless_named(given.model, given.against)
    _check_file(given.out, given.suites)
    settings = {
        "metric": given.metric,
        "ends": given.ends,
        "separator": given.separator,
        "seed": given.seed,
    }
    with redirect_stdout(sys.stderr):  # progress of readers is no result
        if given.plan:
            plan = plan_suites(given.model, given.suites, **settings)
        else:
            report = judge_suites(given.model, given.suites, against=given.against, **settings)
    if given.plan:
        return _show(given, asdict(plan), plan.text())
    record = report.to_record()
    if given.out is not None:
        write_json(given.out, record)
    return _show(given, record, report.markdown())


def _check_file(path: Path | None, sources: Sequence[str]) -> None:
    """Make the folder of a file.

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
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise InputError(f"--out {path}: cannot be written in {folder}; name another place")
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # a name that is too long, or a file system that takes no folder
        raise InputError(f"--out {path}: {error.strerror}; name another place") from error
    refuse_overwriting([path], sources)


def _generate(given: argparse.Namespace) -> int:
    """``longform generate``: continue prompts, or plan it. Returns the exit status."""
    from longform.tools.writing import generate, plan_writing

    stay_offline_unless_named(given.model, given.prefixes)
    settings = {
        "decoders": given.decoder or "delayed_beam",
        "prompt": given.prompt,
        "new_tokens": given.new_tokens,
        "repeats": given.repeats,
        "batch": given.batch,
    }
    with redirect_stdout(sys.stderr):
        if given.plan:
            plan = plan_writing(given.model, given.prefixes, **settings)
        else:
            writing = generate(
                given.model, given.prefixes, **settings, seed=given.seed, out=given.out
            )
    if given.plan:
        return _show(given, asdict(plan), plan.text())
    return _show(given, writing.to_record(), writing.markdown())


def _verify(given: argparse.Namespace) -> int:
    """``longform verify``: check texts against pages, or plan it. Returns the exit status."""
    from longform.tools.verifying import plan_verification, verify

    stay_offline_unless_named(given.judge, *given.texts)
    systems = named_systems(given.texts)
    with redirect_stdout(sys.stderr):
        if given.plan:
            plan = plan_verification(systems, given.pages, judge=given.judge)
        else:
            found = verify(systems, given.pages, judge=given.judge, out=given.out)
    if given.plan:
        return _show(given, asdict(plan), plan.text())
    return _show(given, found.to_record(), found.markdown())


def _export(given: argparse.Namespace) -> int:
    """``longform export``: write a module or tasks for another tool. Returns the exit status."""
    from longform.tools import exporting

    if given.kind == "evaluate":
        paths = exporting.export_evaluate(given.folder)
        print(" ".join(map(str, paths)))
        return 0
    paths = exporting.export_harness(given.folder, given.suites, seed=given.seed)
    files = counted(len(paths), "file")
    print(f"{given.folder}: {files}; {exporting.command_for(given.folder)}")
    return 0


def _decoders(given: argparse.Namespace) -> int:
    extras.check("models", "pydantic")
    from longform.tools.writing import decoder_listing

    print(decoder_listing())
    return 0


def _show(given: argparse.Namespace, record: Any, text: str) -> int:
    """Print a result as it was asked for."""
    if given.json:
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
