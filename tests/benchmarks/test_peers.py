"""The page on neighbouring tools shows what its script measured, of the programs that the script has now."""

import json
from pathlib import Path

from benchmarks.peers import PROGRAMS, markdown

ROOT = Path(__file__).parents[2]
MEASURED = json.loads((ROOT / "benchmarks/measured/peers.json").read_text(encoding="utf-8"))


def test_every_cell_of_the_page_is_one_that_the_script_measured():
    page = (ROOT / "docs" / "neighbours.md").read_text(encoding="utf-8")
    assert markdown(MEASURED) in page and len(MEASURED) == 8


def test_what_was_measured_are_the_scripts_programs():
    for program, row in zip(PROGRAMS, MEASURED, strict=True):
        assert (row["job"], row["tool"], row["gives"]) == (program.job, program.tool, program.gives)
        assert row["lines"] == len(program.code.splitlines())
        assert (row["seconds"] is None) == (not program.runs)


def test_the_tools_that_count_passed_pairs_agree_on_all_of_them():
    passed = {row["tool"]: row["output"] for row in MEASURED if "minimal pairs" in row["job"]}
    assert float(passed["minicons"]) == 1 and "'acc,none': 1.0" in passed["lm-eval"]
