"""The arguments of the commands for any model.

It is read for every ``--help``, so it imports nothing heavy.
"""

from __future__ import annotations

from pathlib import Path

TYPE_CHECKING = False  # as in typing, whose import would take long
if TYPE_CHECKING:
    import argparse
    from typing import Any

MODEL = "causal language model: a folder, a .gguf file, OWNER/NAME@COMMIT of the hub, or smollm2"
TEXTS = (
    "a folder of .txt and .md files, a .jsonl file, a column (FILE.csv:COLUMN, also .tsv and "
    ".parquet), - for JSON lines on standard input, or hub:OWNER/NAME@COMMIT:PATH"
)
SUITES = (
    "SyntaxGym's .json or a folder of them; a .csv of pairs (columns good, bad, perhaps context, "
    "suite); texts (.jsonl, .txt, a folder), whose sentences are shuffled; or KIND=PATH, a source "
    "of beyer2021 (stories, dialogues, narration, schemas, connectives, statements)"
)
METRICS = ("sum", "mean", "median", "range", "max", "min")
ENDS = ("bos", "legacy_none", "bos_eos_2021")
SEPARATORS = ("eos", "strip", "literal")


def add_commands(verbs: Any) -> None:
    """Add the commands for any model to ``verbs``, the subparsers of ``longform``."""
    suites = "judge a language model by suites of minimal pairs"
    _suites(add_command(verbs, "suites", suites, "longform suites smollm2 pairs.csv"))
    generate = "let a language model write, with any decoder"
    example = "longform generate smollm2 --prefixes prompts.jsonl --decoder top_k:k=40"
    _generate(add_command(verbs, "generate", generate, example))
    add_command(verbs, "decoders", "list all decoders with their settings")
    verify = "check texts against pages: what is supported, what refuted"
    example = "longform verify texts.jsonl --pages wiki/ --judge checker/"
    _verify(add_command(verbs, "verify", verify, example))
    export = "write folders for evaluate and lm-evaluation-harness"
    _export(add_command(verbs, "export", export, "longform export harness tasks/ pairs.csv"))


def add_command(verbs: Any, name: str, purpose: str, example: str = "") -> argparse.ArgumentParser:
    """Add a command; its ``--help`` says what it is for, and shows one line that runs it.

    ``purpose`` is a sentence without its capital and its full stop, ``example`` a command line.
    Returns the command's parser.
    """
    epilog = f"Example: {example}" if example else None
    sentence = f"{purpose[:1].upper()}{purpose[1:]}."
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=purpose, description=sentence, epilog=epilog
    )
    return parser


def _suites(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``longform suites``."""
    add = parser.add_argument
    add("model", help=MODEL)
    add("suites", nargs="+", help=SUITES)
    add(
        "--against",
        metavar="MODEL",
        help="test the difference from another model, or from 'untrained': this one with random "
        "weights",
    )
    add(
        "--metric",
        choices=METRICS,
        help="how a region's tokens make one number (default: as the suite says)",
    )
    add(
        "--ends",
        choices=ENDS,
        default="bos",
        help="tokens at the ends of a text: bos puts a begin token before it (default: bos); "
        "legacy_none adds none, as beyer2021 read; bos_eos_2021 also counts an end token, as the "
        "paper's tools do since August 2021",
    )
    add(
        "--separator",
        choices=SEPARATORS,
        default="eos",
        help="how [SEP] between speakers is read: as the end token, left out, or as written "
        "(default: eos)",
    )
    _common(parser)


def _generate(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``longform generate``."""
    add = parser.add_argument
    add("model", help=MODEL)
    add("--prefixes", required=True, help=f"prompts: {TEXTS}")
    add(
        "--decoder",
        action="append",
        metavar="[NAME=]KIND[:SETTING=NUMBER,...]",
        help="such as top_k:k=40 or beam:beams=15,blocking=3; may be repeated "
        "(default: delayed_beam); "
        "`longform decoders` lists all",
    )
    add(
        "--prompt",
        choices=("text", "first_sentence"),
        default="text",
        help="which part of a text is the prompt (default: text)",
    )
    add("--new-tokens", type=int, default=256, help="tokens of a continuation (default: 256)")
    add(
        "--repeats",
        type=int,
        help="continuations of each prompt (default: three by a decoder that draws, else one)",
    )
    add(
        "--batch",
        type=int,
        default=16,
        help="continuations written side by side; no text depends on it (default: 16)",
    )
    _common(
        parser,
        out="folder for a .jsonl file of each decoder (default: writing)",
        default=Path("writing"),
    )


def _verify(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``longform verify``."""
    add = parser.add_argument
    add(
        "texts",
        nargs="+",
        help=f"texts of one system or of several; NAME=TEXTS names a system: {TEXTS}",
    )
    add(
        "--pages",
        required=True,
        help="FEVER's folder with wiki-pages, a file or folder of texts, or a trained checker's "
        "folder",
    )
    add(
        "--judge",
        metavar="MODEL",
        help="model that says whether a line supports a sentence: a folder, or OWNER/NAME@COMMIT "
        "of the hub; needed unless --pages is a trained checker",
    )
    _common(
        parser,
        out="folder for every sentence's verdict (default: verified)",
        default=Path("verified"),
    )


def _export(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``longform export``."""
    kinds = parser.add_subparsers(required=True, metavar="KIND", dest="kind")
    kind = kinds.add_parser("evaluate", help="a module of Hugging Face's evaluate with all critics")
    kind.add_argument("folder", type=Path, help="folder to write; its name is the module's")
    kind = kinds.add_parser("harness", help="tasks of lm-evaluation-harness, one a suite")
    kind.add_argument("folder", type=Path, help="folder to write")
    kind.add_argument("suites", nargs="+", help=SUITES)
    kind.add_argument("--seed", type=int, default=1234, help="seed of all shuffles (default: 1234)")


def _common(
    parser: argparse.ArgumentParser,
    out: str = "also write the result as JSON into this file",
    default: Path | None = None,
) -> None:
    """Arguments of every command for a model: --plan, --json, --seed and --out.

    Args:
        parser: of the command.
        out: help for --out.
        default: of --out; None writes no file.
    """
    add = parser.add_argument
    add(
        "--plan",
        action="store_true",
        help="print what it will do and how long it takes, and stop",
    )
    add("--json", action="store_true", help="print the result as JSON")
    add("--seed", type=int, default=1234, help="seed of all random draws (default: 1234)")
    add("--out", type=Path, default=default, help=out)
