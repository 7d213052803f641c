"""The program behind the table of single damages finds a planted one where it is."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from longform.criticize.judging import by_sentence
from longform.criticize.lengths import Excerpt
from longform.criticize.panels import Options, panels
from longform.documents import Document, Section
from synthetic_world.corpora import build

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location(
    "localise", ROOT / "experiments" / "matrix" / "localise.py"
)
localise = importlib.util.module_from_spec(spec)
spec.loader.exec_module(localise)


def article(name, order, split, edits=()):
    """Ten titled sections in some order, each longer than the 60 characters that are marked of one."""
    sections = [
        Section(f"part {number}", f"Somebody wrote part {number}. " * 5) for number in order
    ]
    return Document(name, split, tuple(sections), edits)


def test_two_sections_that_changed_places_are_located():
    in_order = list(range(10))
    exchanged = [0, 1, 2, 3, 4, 6, 5, 7, 8, 9]
    real = [article(f"real/{number}", in_order, "train") for number in range(8)]
    edited = [article(f"{number}", exchanged, "test", ({"section": 5},)) for number in range(4)]
    starts = {document.id: np.zeros((0, 2), dtype=np.int64) for document in edited}
    section_order = next(panel for panel in panels(Options()) if panel.name == "section order")
    located = localise.located(section_order, edited, real, starts)
    assert located["articles"] == 4 and located["found"] == 1.0
    # three of eleven transitions touch the exchange: all three draws miss it in C(8, 3) of C(11, 3) cases
    assert located["chance"] == pytest.approx(1 - 56 / 165, abs=1e-4)


def test_panels_on_planted_readings_have_a_place_for_every_part():
    world = build(name="w", seed=3, domain="wiki", documents={"train": 2})
    texts = {d.id: Excerpt(d.id, d.split, d.sections, d.edits) for d in world.documents}
    persons, *paths, _ = localise.planted_panels(dict(world.truth))
    for panel in (persons, *paths):
        units = panel.reader(list(texts.values()))
        for unit, values in zip(units, panel.critic.fit(units).part_values(units), strict=True):
            parts = by_sentence(values)
            spans = panel.spans(texts[unit.unit_id], unit, parts)
            assert len(spans) == len(parts) > 0 and all(start < end for start, end in spans)
    assert len(paths) == 2
