"""The arguments of the commands for any model. It is read for every ``--help``, so it imports nothing heavy."""

from __future__ import annotations

from pathlib import Path

TYPE_CHECKING = False  # as in typing, whose import would take long
if TYPE_CHECKING:
    import argparse
    from typing import Any

MODEL = "causal language model: a folder, a .gguf file, OWNER/NAME@COMMIT of the hub, or smollm2"
SUITES = (
    "SyntaxGym's .json or a folder of them; a .csv of pairs (columns good, bad, perhaps context, suite); "
    "texts (.jsonl, .txt, a folder), whose sentences are shuffled; or KIND=PATH, a source of beyer2021 "
    "(stories, dialogues, narration, schemas, connectives, statements)"
)
METRICS = ("sum", "mean", "median", "range", "max", "min")
ENDS = ("bos", "legacy_none", "bos_eos_2021")
SEPARATORS = ("eos", "strip", "literal")


def add_commands(verbs: Any) -> None:
    """Add the commands to the parsers of ``longform``."""
    _suites(verbs.add_parser("suites", help="judge a language model by suites of minimal pairs"))


def _suites(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", help=MODEL)
    add("suites", nargs="+", help=SUITES)
    add(
        "--against",
        metavar="MODEL",
        help="another model, or 'untrained', for a test of the difference",
    )
    add("--metric", choices=METRICS, help="value of a region's tokens (as the suite says)")
    add("--ends", choices=ENDS, default="bos", help="what stands before a text (bos)")
    add("--separator", choices=SEPARATORS, default="eos", help="how [SEP] is read (eos)")
    _common(parser)


def _common(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--plan",
        action="store_true",
        help="say what it will do and how long it takes, and end there",
    )
    add("--json", action="store_true", help="print everything as JSON")
    add("--seed", type=int, default=1234, help="of every draw (1234)")
    add("--out", type=Path, help="also write the result as JSON into this file")
