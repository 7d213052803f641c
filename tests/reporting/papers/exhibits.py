"""An exhibit drawn as its stage draws it: by the function and the settings that the paper's ``params.yaml`` names."""

from pathlib import Path

from longform.core.artefacts import read_yaml
from longform.pipeline.reports import drawn
from longform.reporting.pivot import Given

EXPERIMENTS = Path(__file__).parents[3] / "experiments"


def draw(expected, name, results, data, decoders=None, **settings):
    reports = read_yaml(EXPERIMENTS / expected.paper / "params.yaml")["reports"]
    entry = next(entry for entry in reports.values() if name in entry["exhibits"])
    return drawn(expected.paper, entry, Given(results, expected, data, name, decoders or {}), **settings)
