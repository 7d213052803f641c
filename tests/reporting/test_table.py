"""Tables, listings and figures as files."""

import csv

from longform.core.results import Record
from longform.reporting.table import Cell, Figure, Listing, Table, cell, exact

RECORD = Record("c", "m", value=2.345, low=2.1, high=2.6, units=40, excluded=2, p_value=0.01, signature="s")


def test_nineteen_units_lose_their_interval_and_p_value():
    few = Cell("r", "c", 1.0, 0.9, 1.1, units=19, p_value=0.001)
    assert (few.low, few.high, few.p_value) == (None, None, None)
    assert Cell("r", "c", 1.0, 0.9, 1.1, units=20, p_value=0.001).p_value == 0.001


def test_the_wide_table_leaves_details_out_and_the_csv_keeps_them(tmp_path):
    cells = [cell("a", "x", RECORD, printed=2.5).times(100), exact("b", "x", 3), Cell("c", "x", None, detail=True)]
    Table("Caption", cells, ["a note"]).save(tmp_path, "t")
    text = (tmp_path / "t.md").read_text()
    assert "| a | 234.50 [210.00, 260.00] (paper 2.50) |" in text and "| b | 3 |" in text and "- a note" in text
    assert "| c |" not in text
    with (tmp_path / "t.csv").open() as file:
        assert [row["value"] for row in csv.DictReader(file)] == ["234.5", "3", ""]


def test_a_listing_keeps_bars_and_line_breaks_out_of_its_cells(tmp_path):
    Listing("Words", ["a", "b"], [["x|y\nz", 1.5]]).save(tmp_path, "l")
    assert "| x∣y z | 1.50 |" in (tmp_path / "l.md").read_text()
    assert (tmp_path / "l.csv").read_text() == "a,b\nx|y z,1.5\n"


def test_a_figure_is_drawn_twice_with_equal_bytes(tmp_path):
    for stem in ("f", "g"):
        figure = Figure(
            "Caption", [cell("a", "x", RECORD)], lambda canvas: canvas.add_subplot().plot([1, 2]), notes=["n"]
        )
        figure.save(tmp_path, stem)
    assert (tmp_path / "f.pdf").read_bytes() == (tmp_path / "g.pdf").read_bytes()
    assert (tmp_path / "f.png").read_bytes() == (tmp_path / "g.png").read_bytes()
    assert "Caption\n\n- n\n" in (tmp_path / "f.md").read_text()
