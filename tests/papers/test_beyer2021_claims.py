"""Claims as verdicts: pooled shares, intervals over texts, the floor held to chance, differences by Newcombe."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from longform.documents import BadInput
from longform.evaluation.intervals import wilson
from longform.reporting.beyer2021_claims import CLAIMS, beginning, claims, pooled

EXPECTED = yaml.safe_load(
    (Path(__file__).parents[2] / "experiments" / "beyer2021" / "expected.yaml").read_text(encoding="utf-8")
)


def record(value: float = 0.7, **suites: tuple[int, int]) -> dict:
    details = {
        name: {"counts": {"items": float(items), "correct": float(correct)}}
        for name, (items, correct) in suites.items()
    }
    return {"value": value, "low": value - 0.01, "high": value + 0.01, "details": details}


CONNECTIVES = {f"connective_as_causal_as_{other}": (50, 40) for other in ("since", "yet", "while")}
SCORES = {
    "suites-untrained": record(0.5, N_all=(100, 52), N_context=(100, 70), **CONNECTIVES),
    "suites-small": record(0.6, N_all=(100, 90), N_context=(100, 55), **CONNECTIVES),
    "suites-large": record(0.8, N_all=(100, 91), N_context=(100, 88), **CONNECTIVES),
}


def verdict(row: str, system: str) -> str:
    table = claims(scores=SCORES, expected=EXPECTED)
    return next(cell.verdict for cell in table.cells if cell.row.startswith(row) and cell.column == system)


def test_a_pool_counts_every_item_and_its_interval_every_text():
    share = pooled(SCORES["suites-small"], beginning("connective_"))
    assert (share.items, share.correct, share.texts) == (150, 120, 50)
    assert share.interval == wilson(40, 50)
    assert pooled(SCORES["suites-small"], beginning("winograd")) is None


def test_trained_systems_must_be_above_chance_and_the_floor_must_not():
    assert verdict("N_all: above", "small") == "ordering holds"
    assert verdict("N_context: above", "small") == "differs"  # 0.55 of 100: chance is inside the interval
    assert verdict("N_all: above", "untrained") == "ordering holds"
    assert verdict("N_context: above", "untrained") == "differs"
    assert verdict("D_all: above", "small") == "not runnable here"


def test_an_order_holds_only_where_the_difference_is_certain():
    name = "narration: all sentences shuffled"
    assert verdict(name, "small") == "ordering holds"
    assert verdict(name, "large") == "differs"
    table = claims(scores=SCORES, expected=EXPECTED)
    assert not any(cell.row.startswith(name) and cell.column == "untrained" for cell in table.cells)
    assert f"{CLAIMS['orderings'][0]['claim']}: ordering holds (small); differs (large)" in table.notes
    assert any("small < large): ordering holds (0.60 < 0.80" in note for note in table.notes)


@pytest.mark.parametrize("claim", CLAIMS["orderings"], ids=lambda claim: claim["more"])
def test_the_claims_follow_from_the_printed_tables(claim):
    flat = {}
    for model in ("gpt2", "dialogpt"):
        for table in ("table_1", "table_2"):
            flat |= {(model, n): v for n, v in zip(EXPECTED[table]["columns"], EXPECTED[table][model], strict=True)}
        for name, row in EXPECTED["table_4"]["rows"].items():
            values = [value for value in row[model] if value is not None]
            flat[model, f"connective_{name}"] = sum(values) / len(values)
        assert flat[model, claim["more"]] > flat[model, claim["less"]]


def test_claims_need_a_floor_and_a_trained_system():
    with pytest.raises(BadInput, match="'untrained' and a trained one are needed"):
        claims(scores={"suites-small": SCORES["suites-small"]}, expected=EXPECTED)
