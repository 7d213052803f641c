"""What a report writes, by hand: cells, intervals, Markdown and CSV to the letter."""

import math

import numpy as np
import pytest
from PIL import Image

from longform import tables
from longform.results import Record
from longform.tables import Cell, Files, Listing, Table

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2, "2"), (1234, "1,234"), (2.0, "2.00"), (0.1, "0.10"), (0.0999, "0.0999"), (0.01234, "0.0123"),
        (-0.05, "-0.05"), (0.0, "0.00"), (99999.0, "99999.00"), (1e5, "100,000"), (-2e6, "-2,000,000"),
        (1.005e5, "100,500"),
    ],
)  # fmt: skip
def test_a_number_is_shown_short(value, shown):
    assert tables.short(value) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(0.05, 2.0, "1.50 [0.05, 2.00]"), (None, 2.0, "1.50"), (1.0, None, "1.50"), (None, None, "1.50")],
)  # fmt: skip
def test_an_interval_needs_both_ends(low, high, shown):
    assert tables.interval(1.5, low, high) == shown


@pytest.mark.parametrize(("units", "kept"), [(19, False), (20, True), (None, True)])
def test_a_cell_of_fewer_than_twenty_units_has_no_interval_and_no_test(units, kept):
    made = Cell("r", "c", 1.0, low=0.5, high=2.0, units=units, p_value=0.01)
    expected = (0.5, 2.0, 0.01) if kept else (None, None, None)
    assert (made.low, made.high, made.p_value) == expected and made.value == 1.0


def test_shares_become_percents_with_their_interval():
    made = Cell("r", "c", 0.5, low=0.25, high=None, p_value=0.01, printed=3.0).times(100)
    assert (made.value, made.low, made.high, made.p_value, made.printed) == (
        50.0,
        25.0,
        None,
        0.01,
        3.0,
    )
    assert Cell("r", "c", None).times(100).value is None


def test_a_cell_takes_a_records_numbers_and_what_is_said_beside_them():
    record = Record(
        "x", "m", value=1.5, low=1.0, high=2.0, units=30, excluded=2, p_value=0.5, signature="s"
    )
    assert tables.cell("r", "c", record) == Cell("r", "c", 1.5, 1.0, 2.0, 30, 2, 0.5, signature="s")
    more = tables.cell("r", "c", record, value=9.0, why="other", printed=2.0)
    assert (more.value, more.why, more.printed, more.low) == (9.0, "other", 2.0, 1.0)
    assert tables.exact("r", "c", 2.0, why="w") == Cell(
        "r", "c", 2.0, signature="closed form", why="w"
    )
    assert tables.exact("r", "c", 2.0, "counted").signature == "counted"


CELLS = [
    Cell("one", "b", 1.0, 0.5, 1.5, units=40, printed=1.25),
    Cell("one", "a", None, printed=2.0),
    Cell("two", "b", NAN),
    Cell("two", "c", 3.0, detail=True),
    Cell("three", "a", 1e6),
]


def test_a_wide_table_has_rows_and_columns_in_order_and_gaps():
    made = Table("Caption", CELLS, ["first", "second"], ["a", "none"])
    assert made.markdown() == (
        "**Caption**\n\n|  | a | b |\n|---|---|---|\n"
        "| one | – (paper 2.00) | 1.00 [0.50, 1.50] (paper 1.25) |\n"
        "| two |  | – |\n"
        "| three | 1,000,000 |  |\n\n- first\n- second\n"
    )
    assert Table("C", CELLS[:1]).markdown().splitlines()[2] == "|  | b |"


def test_a_table_without_notes_ends_with_its_last_row():
    assert tables.markdown_table("C", ["x", "y"], [["1", "2"]], []) == (
        "**C**\n\n| x | y |\n|---|---|\n| 1 | 2 |\n"
    )


def test_a_bar_or_a_line_break_in_a_name_ends_no_cell():
    cells = [Cell("KL(q | p)", "a|b", 1.0), Cell("two\nlines", "a|b", 2.0)]
    assert Table("C", cells).markdown().splitlines()[2:] == [
        "|  | a∣b |", "|---|---|", "| KL(q ∣ p) | 1.00 |", "| two lines | 2.00 |",
    ]  # fmt: skip


def test_the_csv_of_a_table_has_every_cell_to_nine_digits(tmp_path):
    Table("C", [CELLS[0], CELLS[3], Cell("r", "c", 1 / 3, why="two\nlines")]).save(tmp_path, "t")
    assert (tmp_path / "t.csv").read_text() == (
        "row,column,value,low,high,units,excluded,p_value,printed,verdict,why,signature\n"
        "one,b,1,0.5,1.5,40,,,1.25,,,\n"
        "two,c,3,,,,,,,,,\n"
        "r,c,0.333333333,,,,,,,,two lines,\n"
    )
    assert (tmp_path / "t.md").read_text().startswith("**C**\n\n|  | b | c |\n")


def test_a_listing_shows_words_numbers_and_gaps(tmp_path):
    made = Listing("C", ["x", "y"], [["a|b  c", 0.5], [None, NAN], [3, True]], ["note"])
    assert made.markdown() == (
        "**C**\n\n| x | y |\n|---|---|\n| a∣b c | 0.50 |\n|  |  |\n| 3 | True |\n\n- note\n"
    )
    made.save(tmp_path, "l")
    assert (tmp_path / "l.csv").read_text() == "x,y\na|b c,0.5\n,\n3,True\n"
    assert (tmp_path / "l.md").read_text() == made.markdown()


def test_files_stand_beside_the_table_that_they_belong_to(tmp_path):
    listing = Listing("C", ["x"], [["1"]])
    Files({"a.txt": "ä"}, listing, more="\nmore\n").save(tmp_path, "l")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "ä"
    assert (tmp_path / "l.md").read_text() == listing.markdown() + "\nmore\n"
    Files({"b.txt": ""}).save(tmp_path, "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "l.csv", "l.md"]


def test_json_lines_have_their_keys_in_order_and_any_script():
    assert tables.json_lines([{"b": 1, "a": "ä"}, {}]) == '{"a": "ä", "b": 1}\n{}\n'


def test_a_drawing_beside_files_is_a_picture_of_its_name(tmp_path):
    drawn = []
    Files({}, drawings={"d": (drawn.append, (1.0, 2.0))}).save(tmp_path, "none")
    assert drawn[0].get_size_inches().tolist() == [1.0, 2.0]
    assert [path.name for path in tmp_path.iterdir()] == ["d.png"]


def test_each_colour_of_a_png_is_the_mean_of_its_pixels(tmp_path):
    pixels = np.random.default_rng(5).integers(256, size=(8, 8, 3), dtype=np.uint8)
    tables.write_png(Image.fromarray(pixels), tmp_path / "a.png")
    made = np.asarray(Image.open(tmp_path / "a.png").convert("RGB"))
    for colour in made.reshape(-1, 3):
        mean = pixels[(made == colour).all(2)].mean(0)
        assert abs(mean - colour).max() <= 0.5
