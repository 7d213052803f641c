"""An exhibit drawn as its stage draws it: by the function and the settings that the paper's ``params.yaml`` names."""

import json
from functools import cache
from pathlib import Path

from longform_lab.reporting.pivot import ReportInputs
from longform_lab.reporting.printed import read_expected
from longform_lab.reports import drawn
from tests.legible import refuse_bad_letters
from tests.shape import files_of_scale, yaml_copy

ROOT = Path(__file__).parents[3]
EVERY_EXHIBIT = "three_seeds"  # the scale that shows what the default run shows, and more


def printed(paper, scale="default", **exhibits):
    return read_expected(ROOT / "experiments" / paper, scale, exhibits)


def draw(expected, name, results, data, decoders=None, **settings):
    entry = next(entry for entry in reports(expected.paper).values() if name in entry["exhibits"])
    return drawn(
        "reports",
        expected.paper,
        entry,
        ReportInputs(results, expected, data, name, decoders or {}),
        **settings,
    )


def save(expected, name, results, data, decoders=None):
    """The exhibit saved: it has numbers, and if it is a figure a picture with legible letters."""
    made = draw(expected, name, results, data, decoders)
    made.save(data, name)
    assert (data / f"{name}.csv").read_text().count("\n") > 1 and (data / f"{name}.md").is_file()
    drawings = dict(getattr(made, "drawings", {}))
    if hasattr(made, "draw"):
        drawings[name] = (made.draw, made.size)
    for file, drawing in drawings.items():
        assert (data / f"{file}.png").stat().st_size > 1000
        refuse_bad_letters(*drawing)
    return made


def state(data, corpus, study="articles", **facts):
    """What a corpus says of itself."""
    folder = data / "corpora" / study / corpus
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "facts.json").write_text(json.dumps(facts))


def at(table):
    return {(c.row, c.column): c for c in table.cells}


def judged(expected, results, data):
    return {one.claim.id: one for one in expected.judged(results, data)}


@cache
def reports(paper):
    path = f"experiments/{paper}/params.yaml"
    return (files_of_scale(EVERY_EXHIBIT).get(path) or yaml_copy(ROOT / path))["reports"]
