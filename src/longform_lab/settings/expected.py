"""The files that say what papers print and claim: ``experiments/<paper>/expected.yaml``.

``python -m longform_lab.settings.expected`` writes ``expected.schema.json``, by which editors
complete and check them; ``--check`` says what is wrong in them.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from longform.errors import ConfigError, did_you_mean
from longform.files.artefacts import read_yaml
from longform.settings import parameter
from longform_lab.reporting.claims import Claim, expected_file
from longform_lab.reporting.printed import RESERVED, Entries, Expected, steps_of

SCHEMA = Path("expected.schema.json")
EXPERIMENTS = Path("experiments")


class ExpectedFile(Entries):
    """A whole file; keys that no field names are tables of printed numbers."""

    model_config = ConfigDict(extra="allow")

    claims: list[Claim] = parameter("What the paper claims.", [])


def check(paper: str, content: Mapping[str, Any], exhibits: Collection[str]) -> int:
    """Check what a paper's file says beside its printed numbers.

    Args:
        paper: its folder below ``experiments``.
        content: of its ``expected.yaml``.
        exhibits: its tables and figures that some run draws.

    Returns:
        The number of claims and rules.

    Raises:
        ConfigError: the first wrong entry: its place, what it says, what is allowed.
    """
    expected = Expected(paper, content)
    entries, claims = expected.entries, expected.claims
    # 1. Kinds and rules belong to tables of the file.
    tables = content.keys() - RESERVED
    for key, names in (("kinds", entries.kinds), ("records", entries.records)):
        for name in names:
            _require(paper, f"{key} name the table", name, tables)
    # 2. A rule leads from some number.
    paths: dict[str, list[tuple[str, ...]]] = {}
    for number in expected.numbers:
        paths.setdefault(number.table, []).append(number.path)
    for table, rules in entries.records.items():
        for rule in rules:
            if all(steps_of(rule.printed, path) is None for path in paths.get(table, [])):
                raise ConfigError(
                    f"records.{table}: no number stands at {rule.printed!r}; fix "
                    f"{expected_file(paper)}"
                )
    # 3. Claims have names of their own, and stand below a table or figure that is drawn.
    for name, count in Counter(claim.id for claim in claims).items():
        if count > 1:
            raise ConfigError(f"{count} claims have the id {name!r}; fix {expected_file(paper)}")
    for claim in claims:
        if claim.exhibit is not None:
            _require(paper, f"claim {claim.id!r} has the exhibit", claim.exhibit, exhibits)
    return len(claims) + sum(map(len, entries.records.values()))


def _require(paper: str, what: str, name: str, names: Collection[str]) -> None:
    """Raises ConfigError: a name is not among the allowed ones."""
    if name not in names:
        raise ConfigError(
            f"{what} {name!r}{did_you_mean(name, names)}; allowed are {sorted(names)}; fix "
            f"{expected_file(paper)}"
        )


def schema_text() -> str:
    """The JSON Schema of a file, a line for each definition."""
    schema = ExpectedFile.model_json_schema()
    definitions = schema.pop("$defs")
    for definition in (schema, *definitions.values()):
        definition.pop("title", None)
        for field in definition.get("properties", {}).values():
            field.pop("title", None)
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "expected.yaml"}
    lines = []
    for name, definition in definitions.items():
        lines.append(f"{json.dumps(name)}: {_compact(definition)}")
    start = _compact({**head, **schema}).removesuffix("}")
    return start + ',\n"$defs": {\n' + ",\n".join(lines) + "\n}}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def exhibits_of(paper: str, experiments: Path = EXPERIMENTS) -> set[str]:
    """The tables and figures of a paper that the default run or a scale draws.

    Args:
        paper: its folder below ``experiments``.
        experiments: the folder of all papers and of ``scales``.
    """
    params = experiments / paper / "params.yaml"
    names: set[str] = set()
    for report in read_yaml(params)["reports"].values():
        names.update(report["exhibits"])
    # A scale may draw more: an override is a dotted key and a value.
    for path in sorted(experiments.glob("scales/*/overrides.yaml")):
        files = read_yaml(path).get("files") or {}
        for key, value in files.get(f"experiments/{paper}/params.yaml", {}).items():
            if key.endswith(".exhibits"):
                names.update(value)
    return names


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.settings.expected")
    parser.add_argument("--check", action="store_true", help="check all expected.yaml instead")
    if not parser.parse_args(arguments).check:
        SCHEMA.write_text(schema_text(), encoding="utf-8")
        print(SCHEMA)
        return 0
    for path in sorted(EXPERIMENTS.glob("*/expected.yaml")):
        paper = path.parent.name
        try:
            count = check(paper, read_yaml(path), exhibits_of(paper))
        except ConfigError as error:
            print(f"longform: {error}", file=sys.stderr)
            return 2
        print(f"{path}: {count} claims and rules")
    return 0


if __name__ == "__main__":
    sys.exit(main())
