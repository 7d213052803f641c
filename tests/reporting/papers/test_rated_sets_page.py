"""The page of critics against raters shows what its CSV holds."""

import csv
import re
from pathlib import Path

from longform.critics.order_and_repetition.score import CHOSEN

FOLDER = Path(__file__).parents[3] / "experiments" / "lapata2005"
PAGE = (FOLDER / "rated_sets.md").read_text(encoding="utf-8")


def records(name):
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table_under(heading):
    """Rows of the first table below a heading, cells by column, header first."""
    lines = PAGE.split(f"## {heading}\n", 1)[1].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def shown(record, kind):
    """A correlation as the page has it: bold where its interval leaves zero out.

    Of random scores the page has the bound that 95 % of the draws stay within.
    """
    value, low, high = (record.get(f"{kind} {part}", "") for part in ("r", "low", "high"))
    if not value:
        return ""
    if record["critic"].startswith("random scores"):
        return f"±{max(-float(low), float(high)):.2f}".replace("0.", ".")
    text = value.replace("-0.", "-.").replace("0.", ".", 1)
    return f"**{text}**" if float(low) * float(high) > 0 else text


def test_every_correlation_of_the_page_is_that_of_the_csv():
    by_cell = {(record["set"], record["critic"]): record for record in records("rated_sets.csv")}
    columns = {"Over texts": "texts", "At equal length": "equal length", "By system": "systems"}
    for heading, kind in columns.items():
        header, _, *rows = table_under(heading)
        assert len(rows) >= 5, heading
        for critic, *cells in rows:
            for name, cell in zip(header[1:], cells, strict=True):
                record = by_cell.get((name, critic), {})
                assert cell == shown(record, kind), (heading, critic, name)


def test_every_mean_of_the_choice_is_that_of_its_csv():
    means = {record["measures"]: record["mean"] for record in records("rated_choice.csv")}
    by_chance = [
        means[f"best of shuffled ratings, {what}"] for what in ("mean", "95 % lie below", "largest")
    ]
    assert (
        "reaches {} on average, more than {} in one of twenty shuffles, {} at most".format(
            *by_chance
        )
        in PAGE
    )
    header, _, *rows = table_under("The critic that travels")
    assert header == ["measures", "mean over sets"] and len(rows) >= 4
    for measures, mean in rows:
        assert means[measures] == mean
    best = " + ".join(CHOSEN)
    assert rows[0][0] == best and means[best] == max(means.values(), key=float)


def test_intervals_in_the_text_are_those_of_a_csv_row():
    intervals = set()
    for record in records("rated_sets.csv"):
        for kind in ("texts", "within", "systems", "equal length"):
            cells = (record.get(f"{kind} {part}", "") for part in ("r", "low", "high"))
            intervals.add(tuple(cells))
    in_text = re.findall(r"(-?0\.\d\d) \[(-?0\.\d\d), (-?0\.\d\d)\]", PAGE)
    assert len(in_text) > 5 and [cells for cells in in_text if cells not in intervals] == []
