"""Pairs of written-out orders: grouped by name, each text scored once, wins and ties counted by document."""

from dataclasses import dataclass

import numpy as np
import pytest

from longform.critic import Tally
from longform.documents import BadInput
from longform.evaluation.order_pairs import OrderPairs, families, values_of
from longform.evaluation.panels import Panel, panel
from longform.resampling import generator
from longform.text.permutations import chance_test


@dataclass(frozen=True)
class Text:
    unit_id: str
    split: str
    value: float


@dataclass(frozen=True)
class Cost:
    """A critic of one number a text; nan is excluded, lower is better by default."""

    better: str = "lower"

    def fit(self, real):
        assert all("/" not in unit.unit_id or "/original/" in unit.unit_id for unit in real)
        return self

    def tally(self, units):
        values = np.array([unit.value for unit in units])
        rows = np.stack([np.nan_to_num(values), np.isnan(values).astype(float)], axis=1)
        return Tally(tuple(unit.unit_id for unit in units), ("value", "excluded"), rows)

    def score(self, tally):
        return tally.total("value")


def texts(document, original, **shuffles):
    rows = [Text(f"{document}/original/0", "test", original)]
    return rows + [Text(f"{document}/{t}/{i}", "test", v) for t, row in shuffles.items() for i, v in enumerate(row)]


UNITS = [
    Text("plain", "train", 1.0),
    *texts("a/b", 2.0, block_1=[3.0, 1.0, 2.0], window_2=[5.0]),
    *texts("c", 1.0, block_1=[4.0]),
    *texts("d", float("nan"), block_1=[4.0]),
    *texts("e", 1.0),
]


def test_names_are_read_from_the_right_and_a_plain_name_is_an_original():
    found = {family.unit_id: family for family in families(UNITS)}
    assert list(found) == ["plain", "a/b", "c", "d", "e"]
    assert [len(row) for row in found["a/b"].shuffles.values()] == [3, 1]
    assert found["plain"].split == "train" and not found["plain"].shuffles


def test_shuffles_without_an_original_are_refused():
    with pytest.raises(BadInput, match="no 'original'"):
        families(UNITS[2:4])


def test_wins_ties_and_exclusions_by_document():
    tally = OrderPairs(Cost()).tally(families(UNITS)[1:])
    wins, ties, pairs, excluded = (tally.column(n).tolist() for n in ("wins", "ties", "pairs", "excluded"))
    assert (wins, ties, pairs, excluded) == ([1, 1, 0, 0], [1, 0, 0, 0], [3, 1, 0, 0], [0, 0, 1, 1])
    assert OrderPairs(Cost()).score(tally) == 0.5


def test_a_critic_of_real_texts_own_level_counts_as_a_cost():
    for better, won in (("lower", 1), ("nearer_real", 1), ("higher", 0)):
        assert OrderPairs(Cost(better)).tally(families(UNITS)[2:3]).column("wins")[0] == won


def test_a_margin_within_the_tolerance_is_a_tie():
    units = families(texts("x", 100.0, block_1=[100.0001]))
    assert OrderPairs(Cost()).tally(units).column("ties")[0] == 0
    assert OrderPairs(Cost(), tolerance=1e-5).tally(units).column("ties")[0] == 1


def test_details_hold_every_task_with_the_same_numbers_as_its_own_row():
    units = families(UNITS)[1:]
    tasks = OrderPairs(Cost()).fit(units).describe(units)["tasks"]
    assert list(tasks) == ["block_1", "window_2"]
    assert (tasks["block_1"]["value"], tasks["block_1"]["pairs"], tasks["block_1"]["excluded"]) == (0.5, 4, 2)
    assert tasks["window_2"]["value"] == 1


def test_an_infinite_cost_loses_and_two_infinite_costs_tie():
    units = families(texts("x", 1.0, block_1=[float("inf")]) + texts("y", float("inf"), block_1=[float("inf"), 1.0]))
    tally = OrderPairs(Cost()).tally(units)
    assert tally.column("wins").tolist() == [1, 0] and tally.column("ties").tolist() == [0, 1]


def test_values_come_from_coherence_where_a_critic_has_it():
    class Coherent(Cost):
        def coherence(self, units):
            return [7.0 for _ in units]

    assert values_of(Coherent(), UNITS[:2]).tolist() == [7, 7]
    assert np.isnan(values_of(Cost(), [Text("n", "test", float("nan"))])).all()


def margins(rows):
    values = np.array([[win, 0.0, pairs, 0, 0] for win, pairs in rows], dtype=float)
    return Tally(tuple(map(str, range(len(rows)))), ("wins", "ties", "pairs", "above_mean", "excluded"), values)


def test_the_sign_test_is_the_enumeration_of_all_signs():
    tally = margins([(3, 3), (3, 3), (3, 3), (3, 3)])  # all margins 3: |sum| = 12 under 2 of 16 sign vectors
    assert abs(chance_test(tally, generator("signs"), 20000) - 2 / 16) < 0.01
    assert chance_test(margins([(2, 4)] * 5), generator("signs")) == 1


def test_a_panel_tells_what_its_members_share_once():
    made = panel({"one": None, "two": {"model": "one", "better": "higher"}}, lambda model, **s: OrderPairs(Cost(**s)))
    units = families(UNITS)[1:]
    told = made.fit(units).describe(units)
    assert set(told["models"]) == {"one", "two"} and told["shared"] == {}
    assert made.score(made.tally(units)) == 0.5
    alone = Panel({"one": OrderPairs(Cost())}).describe(units)
    assert alone["shared"] == {} and list(alone["models"]["one"]) == ["tasks"]
    twice = Panel({"one": OrderPairs(Cost()), "same": OrderPairs(Cost())}).describe(units)
    assert list(twice["shared"]) == ["tasks"] and twice["models"] == {"one": {}, "same": {}}
    with pytest.raises(BadInput, match="no critic"):
        Panel({})
