"""Derive a smaller or larger scale from the root's ``params.yaml``: ``python -m longform.pipeline.scales experiments/scales/smoke``.

``overrides.yaml`` maps patterns of ``verb.row`` to settings that are merged over the root's; so a scale follows every
new row by itself. Under ``only`` it may list patterns of the rows that it wants; ``rows.yaml`` beside it
adds rows of its own (:mod:`ladders`). A test holds the written ``params.yaml`` to what this module derives.
"""

from __future__ import annotations

import copy
import fnmatch
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from longform.artefacts import read_yaml
from longform.documents import BadInput
from longform.pipeline.ladders import expand
from longform.pipeline.rows import VERBS

ROOT = Path(__file__).parents[3]


def derive(base: Mapping[str, Any], overrides: Mapping[str, Any], home: str) -> dict[str, Any]:
    """The root's rows with the overrides of each matching pattern merged in, in the order of the patterns.

    Raises:
        BadInput: a pattern that matches no row.
    """
    params = copy.deepcopy(dict(base)) | {
        "root": "/".join([".."] * len(Path(home).parts)),
        "home": home,
        "at": f"{home}/",
    }
    overrides = dict(overrides)
    if "only" in overrides:
        wanted = {place for pattern in overrides.pop("only") for place in _matched(params, pattern, home)}
        for verb in VERBS:
            params[verb] = {row: settings for row, settings in params[verb].items() if (verb, row) in wanted}
        params["ledger"] = {}
    for pattern, settings in overrides.items():
        for verb, row in _matched(params, pattern, home):
            params[verb][row] = _merged(params[verb][row], settings)
    return params


def _matched(params: Mapping[str, Any], pattern: str, home: str) -> list[tuple[str, str]]:
    verb, _, rows = pattern.partition(".")
    matched = [(verb, row) for row in params.get(verb, {}) if fnmatch.fnmatchcase(row, rows)] if verb in VERBS else []
    if not matched:
        raise BadInput(f"overrides of {home}: {pattern!r} matches no row; mend the pattern")
    return matched


def _merged(base: Any, over: Any) -> Any:
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return {**base, **{key: _merged(base.get(key), value) for key, value in over.items()}}
    return over


class _Plain(yaml.SafeDumper):
    """Every row in full: what rows share in the root's file is written out."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def write(folder: Path) -> None:
    """Write ``params.yaml`` of a scale folder."""
    params = derived(folder)
    text = yaml.dump(params, Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)
    head = "# Derived from the root's params.yaml and overrides.yaml by python -m longform.pipeline.scales; sources stand there.\n"
    (folder / "params.yaml").write_text(head + text, encoding="utf-8")


def derived(folder: Path) -> dict[str, Any]:
    """What ``params.yaml`` of a scale folder must say."""
    base = read_yaml(ROOT / "params.yaml")
    overrides = read_yaml(folder / "overrides.yaml")
    params = derive(base, overrides, str(folder.resolve().relative_to(ROOT)))
    if (folder / "rows.yaml").is_file():  # rows that the root does not have
        for verb, rows in expand(read_yaml(folder / "rows.yaml")).items():
            twice = sorted(rows.keys() & params[verb].keys())
            if twice:
                raise BadInput(
                    f"{folder / 'rows.yaml'} has {verb}.{twice[0]}, which the root has too; override it or rename it"
                )
            params[verb] |= rows
    return params


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        write(Path(argument))
