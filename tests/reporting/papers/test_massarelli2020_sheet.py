"""Table 2 of massarelli2020: what people found stands beside what the paper's people found, by decoder."""

import pytest

from tests.reporting.papers.exhibits import at, draw
from tests.reporting.papers.test_massarelli2020_exhibits import EXPECTED, RESULTS

MEASURES = ("REP", "NAC", "UNG", "SPG", "SPV", "USPG", "USPV")
PRINTED = {"beam search": [38.7, 8.2, 1.8, 44.6, 64.62, 20.1, 65.1],
           "top-k sampling": [16.0, 3.4, 1.4, 27.2, 41.36, 20.1, 41.16]}  # fmt: skip


def test_printed_measures_stand_beside_ours_in_their_order(tmp_path):
    table = draw(EXPECTED, "table_2", RESULTS, tmp_path).table
    found = at(table)
    rows = {row for row, _ in found}
    assert set(PRINTED) <= rows, rows
    for decoder, numbers in PRINTED.items():
        cells = [found[decoder, measure] for measure in MEASURES]
        assert [cell.printed for cell in cells] == numbers and all(
            cell.value is None for cell in cells
        )
        assert {cell.why for cell in cells} == {"nobody was asked: the sheet is beside the table"}
    assert found["beam search", "exact repeats"].value == pytest.approx(25.0)
    assert found["top-k sampling", "exact repeats"].value is None
