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
    """Add the commands to the parsers of ``longform``."""
    _suites(verbs.add_parser("suites", help="judge a language model by suites of minimal pairs"))
    _generate(verbs.add_parser("generate", help="let a language model write, with any decoder"))
    verbs.add_parser("decoders", help="list all decoders with their settings")
    _verify(
        verbs.add_parser(
            "verify", help="check texts against pages: what is supported, what refuted"
        )
    )
    _export(verbs.add_parser("export", help="write folders for evaluate and lm-evaluation-harness"))


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


def _generate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", help=MODEL)
    add("--prefixes", required=True, help=f"prompts: {TEXTS}")
    add(
        "--decoder",
        action="append",
        metavar="[NAME=]KIND[:SETTING=NUMBER,...]",
        help="delayed_beam (if none is named), top_k:k=40, beam:beams=15,blocking=3 ...; "
        "may be repeated",
    )
    add(
        "--prompt",
        choices=("text", "first_sentence"),
        default="text",
        help="what of a text is the prompt (text)",
    )
    add("--new-tokens", type=int, default=256, help="tokens of a continuation (256)")
    add(
        "--repeats",
        type=int,
        help="continuations of a prompt (three by a decoder that draws, else one)",
    )
    add("--batch", type=int, default=16, help="continuations written side by side (16)")
    _common(parser, "folder for a .jsonl file of each decoder (writing)", Path("writing"))


def _verify(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("texts", nargs="+", help=f"texts of a system; NAME=TEXTS names one: {TEXTS}")
    add(
        "--pages",
        required=True,
        help="FEVER's folder with wiki-pages, a file or folder of texts, or a trained checker's "
        "folder",
    )
    add(
        "--judge",
        metavar="MODEL",
        help="entailment model: a folder, or OWNER/NAME@COMMIT of the hub",
    )
    _common(parser, "folder for every sentence's verdict (verified)", Path("verified"))


def _export(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(required=True, metavar="KIND", dest="kind")
    kind = kinds.add_parser("evaluate", help="a module of Hugging Face's evaluate with all critics")
    kind.add_argument("folder", type=Path, help="its name is the module's")
    kind = kinds.add_parser("harness", help="tasks of lm-evaluation-harness, one a suite")
    kind.add_argument("folder", type=Path)
    kind.add_argument("suites", nargs="+", help=SUITES)
    kind.add_argument("--seed", type=int, default=1234, help="of shuffles (1234)")


def _common(
    parser: argparse.ArgumentParser,
    out: str = "also write the result as JSON into this file",
    default: Path | None = None,
) -> None:
    add = parser.add_argument
    add(
        "--plan",
        action="store_true",
        help="say what it will do and how long it takes, and end there",
    )
    add("--json", action="store_true", help="print everything as JSON")
    add("--seed", type=int, default=1234, help="of every draw (1234)")
    add("--out", type=Path, default=default, help=out)
