"""Colours of figures and texts stand in one place."""

from pathlib import Path

from longform import tables

ROOT = Path(__file__).parents[2]


def test_the_palette_of_okabe_and_ito_is_written_down_once():
    holders = []
    for folder in ("src", "experiments"):
        for path in (ROOT / folder).rglob("*.py"):
            if "#0072b2" in path.read_text(encoding="utf-8").lower():
                holders.append(path.relative_to(ROOT).as_posix())
    assert holders == ["src/longform/tables.py"]


def test_the_colours_of_a_palette_differ():
    for palette, size in ((tables.COLOURS, 7), (tables.TEXT_COLOURS, 10)):
        assert len(set(palette)) == len(palette) == size
    assert tables.GREY == "#555555"
