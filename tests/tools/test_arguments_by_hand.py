"""What each command line means, option by option, and the values of options that are not given."""

from pathlib import Path

import pytest

import longform
from longform import cli

COMMON = {"plan": False, "json": False, "seed": 1234, "out": None}
ALL_COMMON = ["--plan", "--json", "--seed", "7", "--out", "o"]
COMMON_GIVEN = {"plan": True, "json": True, "seed": 7, "out": Path("o")}
CRITICIZE = {"command": "criticize", "real": Path("r"), "generated": ["a", "b=c"]}
SUITES = {"command": "suites", "model": "m", "suites": ["s", "t"]}
GENERATE = {"command": "generate", "model": "m", "prefixes": "p"}
VERIFY = {"command": "verify", "texts": ["t", "u"], "pages": "p"}
LINES = [
    (["critics"], {"command": "critics"}),
    (["decoders"], {"command": "decoders"}),
    (["examples", "f"], {"command": "examples", "folder": Path("f")}),
    (
        ["criticize", "r", "a", "b=c"],
        CRITICIZE | COMMON | {"out": Path("criticism"), "paired": False, "orders": False, "model": None, "encoder": None},
    ),
    (
        ["criticize", "r", "a", "b=c", *ALL_COMMON, "--paired", "--orders", "--model", "m", "--encoder", "e"],
        CRITICIZE | COMMON_GIVEN | {"paired": True, "orders": True, "model": "m", "encoder": "e"},
    ),
    (
        ["suites", "m", "s", "t"],
        SUITES | COMMON | {"against": None, "metric": None, "ends": "bos", "separator": "eos"},
    ),
    (
        ["suites", "m", "s", "t", *ALL_COMMON, "--against", "n", "--metric", "range", "--ends", "legacy_none", "--separator", "strip"],
        SUITES | COMMON_GIVEN | {"against": "n", "metric": "range", "ends": "legacy_none", "separator": "strip"},
    ),
    (
        ["generate", "m", "--prefixes", "p"],
        GENERATE | COMMON | {"out": Path("writing"), "decoder": None, "prompt": "text", "new_tokens": 256, "repeats": None, "batch": 16},
    ),
    (
        ["generate", "m", "--prefixes", "p", *ALL_COMMON, "--decoder", "x", "--decoder", "y", "--prompt", "first_sentence",
         "--new-tokens", "3", "--repeats", "4", "--batch", "5"],
        GENERATE | COMMON_GIVEN | {"decoder": ["x", "y"], "prompt": "first_sentence", "new_tokens": 3, "repeats": 4, "batch": 5},
    ),
    (["verify", "t", "u", "--pages", "p"], VERIFY | COMMON | {"out": Path("verified"), "judge": None}),
    (["verify", "t", "u", "--pages", "p", *ALL_COMMON, "--judge", "j"], VERIFY | COMMON_GIVEN | {"judge": "j"}),
    (["export", "evaluate", "f"], {"command": "export", "kind": "evaluate", "folder": Path("f")}),
    (
        ["export", "harness", "f", "s", "t"],
        {"command": "export", "kind": "harness", "folder": Path("f"), "suites": ["s", "t"], "seed": 1234},
    ),
    (
        ["export", "harness", "f", "s", "--seed", "7"],
        {"command": "export", "kind": "harness", "folder": Path("f"), "suites": ["s"], "seed": 7},
    ),
]  # fmt: skip
REFUSED = {
    "": "arguments are required: COMMAND",
    "examples": "arguments are required: folder",
    "criticize r": "arguments are required: generated",
    "suites m": "arguments are required: suites",
    "suites m s --metric mode": "--metric: invalid choice: 'mode'",
    "suites m s --ends eos": "--ends: invalid choice: 'eos'",
    "suites m s --separator bos": "--separator: invalid choice: 'bos'",
    "generate m": "arguments are required: --prefixes",
    "generate m --prefixes p --prompt title": "--prompt: invalid choice: 'title'",
    "verify --pages p": "arguments are required: texts",
    "verify t": "arguments are required: --pages",
    "export": "arguments are required: KIND",
    "export harness f": "arguments are required: suites",
}


@pytest.mark.parametrize(("words", "options"), LINES, ids=lambda given: None)
def test_a_command_line_means_these_options(words, options):
    assert vars(cli._parsed(words)) == options


@pytest.mark.parametrize("words", REFUSED)
def test_a_command_line_that_lacks_or_breaks_an_option_is_refused(words, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        cli._parsed(words.split())
    assert REFUSED[words] in capsys.readouterr().err


def test_the_version_and_the_examples_of_commands_are_shown(capsys):
    for words, shown in (
        (["--version"], longform.__version__),
        (["suites", "--help"], "Example: longform suites smollm2 pairs.csv"),
        (["critics", "--help"], "List all critics: what each asks, needs and costs."),
        (["export", "--help"], "Example: longform export harness tasks/ pairs.csv"),
        (["criticize", "--help"], "FILE.csv:COLUMN"),
        (["verify", "--help"], "longform verify texts.jsonl"),
        (["verify", "--help"], "verdict (default: verified)"),
    ):
        with pytest.raises(SystemExit, match=r"^0$"):
            cli._parsed(words)
        assert shown in " ".join(capsys.readouterr().out.split())
