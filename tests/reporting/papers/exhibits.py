"""An exhibit drawn as its stage draws it: by the function and the settings that the paper's ``params.yaml`` names."""

from functools import cache
from pathlib import Path

from longform.core.artefacts import read_yaml
from longform.pipeline.reports import drawn
from longform.pipeline.scale import parameters
from longform.reporting.pivot import Given

ROOT = Path(__file__).parents[3]
EVERY_EXHIBIT = "three_seeds"  # the scale that shows what the default run shows, and more


def draw(expected, name, results, data, decoders=None, **settings):
    entry = next(entry for entry in reports(expected.paper).values() if name in entry["exhibits"])
    return drawn(expected.paper, entry, Given(results, expected, data, name, decoders or {}), **settings)


@cache
def reports(paper):
    path = f"experiments/{paper}/params.yaml"
    return (changed().get(path) or read_yaml(ROOT / path))["reports"]


@cache
def changed():
    return parameters(EVERY_EXHIBIT, ROOT)
