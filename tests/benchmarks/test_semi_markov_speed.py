"""The benchmark compares like with like: all sides compute the same value and gradients, and it prints what it promises."""

import json
import sys

import pytest

from benchmarks import semi_markov as benchmark


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TOKENS": 16, "DURATIONS": 3, "ROWS": 20}.items():
        monkeypatch.setattr(benchmark, name, value)


@pytest.mark.parametrize("peer", [benchmark.lean, benchmark.tuned, benchmark.own_class])
def test_every_peer_computes_the_same_value_and_gradients(peer) -> None:
    case = benchmark.Case.random(4, 2)
    assert benchmark.agreement(benchmark.ours(case, 2), peer(case, 2)) < 1e-5


def test_one_json_object_is_printed_per_number_of_states(monkeypatch, capsys) -> None:
    argv = [
        "benchmarks.semi_markov",
        "--json",
        "--states",
        "3",
        "5",
        "--batch",
        "4",
        "--rounds",
        "1",
    ]
    monkeypatch.setattr(sys, "argv", argv)
    machine = benchmark.Machine(flops=1e11, bandwidth=4e10)
    monkeypatch.setattr(benchmark.Machine, "measured", classmethod(lambda cls: machine))
    benchmark.main()
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["states"] for row in rows] == [3, 5]
    assert all(
        row.keys() >= {"ratio", "bytes_per_sequence", "fraction_of_roofline"} for row in rows
    )
    assert all(row["ratio"] > 0 and row["largest_disagreement"] < 1e-4 for row in rows)
