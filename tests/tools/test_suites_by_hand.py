"""Floors, plans and tables of suites by hand, without a model."""

import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.critics.surprisal.score import ReadItem, SuiteAccuracy
from longform.datasets.test_suites.items import Condition, Region, Suite, SuiteItem
from longform.datasets.test_suites.prediction_formulas import parse
from longform.language_models import capacity, trial
from longform.results import Record
from longform.tools import exporting, suites
from longform.tools.suites import (
    OpenedReader,
    SuiteResult,
    SuitesPlan,
    SuitesReport,
    item_floors,
    texts_of,
    without_context,
    without_copies,
)
from tests.refusals import refuses

NAN = math.nan


def result(**fields):
    given = {
        "suite": "s", "items": 4, "excluded": 0, "copies": 0, "accuracy": 0.75, "low": 0.5, "high": 0.9,
        "chance": 0.25, "token_count": 0.49, "without_context": NAN, "p_value": NAN,
    }  # fmt: skip
    return SuiteResult(**given | fields)


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({}, ""),
        ({"token_count": 0.5}, "not above its floors"),
        ({"token_count": 0.5001}, "not above its floors"),
        ({"chance": NAN, "token_count": NAN, "without_context": NAN}, ""),
        ({"excluded": 2}, "2 items left out: too long or empty"),
        (
            {"without_context": 0.6, "excluded": 1},
            "not above its floors; 1 item left out: too long or empty",
        ),
        ({"copies": 3}, "3 copies of these items not counted again"),
    ],
)
def test_a_remark_is_due_where_a_floor_reaches_the_interval(fields, remark):
    assert suites._remark(result(**fields)) == remark


def test_files_are_written_into_new_folders_beside_others(tmp_path):
    for name in ("x", "y"):
        paths = exporting._write_files(tmp_path / "a" / "b", {name: f"{name}é"})
        assert paths == [tmp_path / "a" / "b" / name]
    assert (tmp_path / "a" / "b" / "x").read_bytes() == "xé".encode()


def test_a_value_gains_the_noise_of_its_column():
    assert suites._noisy({"r": 2.0, "s": 7.0}, {"s": 0, "r": 1}, np.array([0.5, 0.25]), "r") == 2.25


@pytest.mark.parametrize(("untrained", "name"), [(False, "m"), (True, "untrained m")])
def test_a_reader_is_opened_under_the_name_of_its_model(untrained, name, monkeypatch):
    monkeypatch.setattr(trial, "open_language_model", lambda folder: (f"words of {folder}", "net"))
    monkeypatch.setattr("longform.critics.surprisal.read.Encoder", lambda *given: given)
    monkeypatch.setattr(
        "longform.language_models.log_probs.open_reader", lambda network, label: (network, label)
    )
    monkeypatch.setattr(suites, "_untrained", lambda network: f"new {network}")
    model = SimpleNamespace(name="m", opened_folder=lambda: nullcontext("f"))
    network = "new net" if untrained else "net"
    expected = OpenedReader(
        model, network, ("words of f", "bos", "eos"), (network, f"suites {name}")
    )
    assert OpenedReader.of(model, "bos", "eos", untrained) == expected


def test_a_table_has_p_values_where_two_models_were_read():
    rows = (result(p_value=0.03125), result(suite="t", low=0.1))
    lines = SuitesReport("m", "n", rows, ("long",), "sig").markdown().split("\n")
    assert lines[0] == "**m**"
    assert (
        lines[2]
        == "| suite | items | accuracy | chance | token count | without context | p against n |  |"
    )
    assert lines[4] == "| s | 4 | 0.75 [0.50, 0.90] | 0.25 | 0.49 |  | 0.0312 |  |"
    assert lines[5] == "| t | 4 | 0.75 [0.10, 0.90] | 0.25 | 0.49 |  |  | not above its floors |"
    assert lines[7] == "- left out, too long for the model: long" and lines[10] == "- `sig`"
    alone = SuitesReport("m", "", rows, (), "sig").markdown()
    assert "p against" not in alone and "left out" not in alone
    assert alone.split("\n")[4] == "| s | 4 | 0.75 [0.50, 0.90] | 0.25 | 0.49 |  |  |"


def test_a_record_has_none_where_there_is_no_number():
    record = SuitesReport("m", "", (result(),), ("b", "a"), "sig").to_record()
    assert (record["model"], record["against"], record["left_out"]) == ("m", None, ["b", "a"])
    (row,) = record["suites"]
    assert (row["without_context"], row["p_value"], row["accuracy"], row["items"]) == (
        None,
        None,
        0.75,
        4,
    )
    assert SuitesReport("m", "n", (), (), "sig").to_record()["against"] == "n"


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "about 1 s"), (12.6, "about 13 s")])
def test_a_plan_is_one_line(seconds, said):
    plan = SuitesPlan("m", 1_250_000, 2, 30, 12_345, 4, 0, seconds)
    assert plan.text() == (
        "m: 1.2 million parameters; 2 suites, 30 items (4 left out: too long or empty), "
        f"12,345 tokens with those of the floors; {said}"
    )


def test_a_plan_counts_copies_and_the_parameters_of_small_networks():
    plan = SuitesPlan("m", 99_999, 1, 3, 40, 0, 2, 1.0)
    assert plan.text() == (
        "m: 99,999 parameters; 1 suite, 3 items (0 left out: too long or empty; 2 copies not "
        "counted again), 40 tokens with those of the floors; about 1 s"
    )
    assert replace(plan, parameters=100_000).text().startswith("m: 0.1 million parameters;")


def test_items_with_the_same_text_in_every_condition_are_one():
    first = (["It rained.", "She sang."], ["It rained.", "Sang she."])
    copy = (["it  rained.", "She sang."], ["It rained.", "sang she. "])
    turned = (first[1], first[0])
    elsewhere = (["It rained. She", "sang."], ["It rained.", "Sang she."])
    distinct = without_copies(suite(first, copy, turned, first, elsewhere))
    assert [one.number for one in distinct.items] == [1, 3, 5]


def test_a_pool_counts_what_two_of_its_suites_ask_once():
    """s asks 1 and 2, t asks 2 again and 3, u asks 2 by another metric; 1, 3 and u's 2 hold."""
    one, two, three = (["a"], ["b"]), (["c"], ["d"]), (["e"], ["f"])
    s, t = suite(one, two), replace(suite(two, three), name="t")
    u = replace(suite(two), name="u", metric="mean")
    holds = {"s/1": True, "s/2": False, "t/1": False, "t/2": True, "u/1": True}
    items = []
    for unit, held in holds.items():
        read = item(["(1;%b%) > (1;%a%)"], a1=[1], b1=[2 if held else 0])
        items.append(replace(read, unit_id=unit, suite=unit[0]))
    results = suites._results(SuiteAccuracy(), items, {}, {}, {}, 9, texts_of([s, t, u]))
    assert [(r.suite, r.items, r.copies, r.accuracy) for r in results] == [
        ("s", 2, 0, 0.5),
        ("t", 2, 0, 0.5),
        ("u", 1, 0, 1.0),
        ("all suites", 4, 1, 0.75),
    ]


def item(formulas, metric="sum", **regions):
    """Regions are named a1, b2: condition and number, with their bits."""
    bits = {
        (name[0], int(name[1])): np.array(values, dtype=float) for name, values in regions.items()
    }
    return ReadItem(
        "u",
        "test",
        suite="s",
        metric=metric,
        formulas=tuple(parse(f, "x") for f in formulas),
        regions=bits,
    )


def test_floors_are_chance_token_counts_and_the_model_without_context():
    one = item(["(1;%b%) > (1;%a%)"], a1=[1, 1], b1=[1, 1, 1])
    bare = item(["(1;%b%) > (1;%a%)"], a1=[5], b1=[1])
    assert item_floors(one, bare, 3) == (0.5, 1.0, 0.0)
    chance, by_length, alone = item_floors(one, None, 3)
    assert (chance, by_length) == (0.5, 1.0) and math.isnan(alone)
    equal = item(["(1;%b%) > (1;%a%)"], metric="mean", a1=[1, 1], b1=[1, 1, 1])
    assert item_floors(equal, None, 3)[1] == 0.5
    empty = item(["(1;%b%) > (1;%a%)"], a1=[1], b1=[])
    assert item_floors(empty, None, 3)[1] == 0.0


def test_draws_of_an_item_have_its_name(monkeypatch):
    streams = []

    def generator(*names):
        streams.append(names)
        return np.random.default_rng(0)

    monkeypatch.setattr(suites, "generator", generator)
    item_floors(item(["(1;%b%) > (1;%a%)"], a1=[1], b1=[1]), None, 3)
    assert streams == [(3, "floors", "u")]


def test_chance_falls_where_several_predictions_must_hold():
    """Of two independent comparisons a quarter, within what a hundred draws give."""
    two = item(["(1;%b%) > (1;%a%)", "(2;%b%) > (2;%a%)"], a1=[1], b1=[1], a2=[1], b2=[1])
    assert 0.15 <= item_floors(two, None, 3)[0] <= 0.35
    assert item_floors(two, None, 3) == pytest.approx(item_floors(two, None, 3), nan_ok=True)


def suite(*texts, formula="(2;%b%) > (2;%a%)"):
    """An item for each pair of lists of regions."""
    items = []
    for number, (a, b) in enumerate(texts, 1):
        conditions = tuple(
            Condition(name, tuple(Region(place, text) for place, text in enumerate(regions, 1)))
            for name, regions in (("a", a), ("b", b))
        )
        items.append(SuiteItem(number, conditions))
    return Suite("s", "sum", (formula,), tuple(items))


def shown(changed):
    return [
        [
            [(region.number, region.content) for region in condition.regions]
            for condition in one.conditions
        ]
        for one in changed.items
    ]


def test_what_stands_before_the_first_judged_region_goes():
    found = without_context(suite((["x", "y", "z"], [" ", "w", "v"]), ([" ", "p"], ["", "q"])))
    assert shown(found) == [
        [[(2, "y"), (3, "z")], [(2, "w"), (3, "v")]], [[(2, "p")], [(2, "q")]],
    ]  # fmt: skip
    later = without_context(suite((["x", "y", "z"], ["x", "w", "v"]), formula="(3;%b%) > (2;%a%)"))
    assert shown(later) == [[[(2, "y"), (3, "z")], [(2, "w"), (3, "v")]]]


@pytest.mark.parametrize(
    ("texts", "formula"),
    [
        ((["x", "y"], ["x", "z"]), "(*;%b%) > (*;%a%)"),
        (([" ", "y"], ["", "z"]), "(2;%b%) > (2;%a%)"),
        ((["x", " "], ["x", "z"]), "(2;%b%) > (2;%a%)"),
        ((["x", "y"], ["x", "z"]), "(1;%b%) > (1;%a%)"),
        ((["x", "y"], ["x", "z"]), "1 > 0"),
    ],
)
def test_a_suite_without_a_context_has_no_floor_of_it(texts, formula):
    assert without_context(suite(texts, formula=formula)) is None


class Encoder:
    """A token a word, one before the text."""

    tokenizer = None

    def rows(self, contents):
        return [([0] * (1 + len(" ".join(regions).split())), None) for regions in contents]


def opened(window=None, monkeypatch=None):
    network = SimpleNamespace(window=window, parameters=lambda: [torch.zeros(3), torch.zeros(4)])
    return OpenedReader(SimpleNamespace(name="m"), network, Encoder(), None)


def test_items_that_are_too_long_or_empty_are_left_out(monkeypatch):
    """Lengths with the begin token: 3 and 4; 2 and 2; 1 and 2."""
    monkeypatch.setattr(
        "longform.language_models.capacity.positions", lambda network: network.window
    )
    three = suite((["x", "y"], ["x", "y z"]), (["p", ""], ["q", ""]), (["", ""], ["p", ""]))
    chosen, excluded = opened(window=3).readable([three])
    assert [one.number for one in chosen[0].items] == [2] and excluded == {"s": 2}
    for window in (4, None):
        chosen, excluded = opened(window=window).readable([three])
        assert [one.number for one in chosen[0].items] == [1, 2] and excluded == {"s": 1}
    refuses("m reads 1 token, and no item of 1 suite fits", opened(window=1).readable, [three])


@pytest.fixture
def prepared(monkeypatch):
    """A prepared plan of suites, with a reader of seven weights and half a second a token."""
    named = []
    reader = opened()
    monkeypatch.setattr(suites, "named_model", lambda model: f"named {model}")
    monkeypatch.setattr(suites.OpenedReader, "of", lambda *given: named.append(given) or reader)
    monkeypatch.setattr(
        OpenedReader, "readable", lambda self, suites: (list(suites), {"s": 2, "t": 3})
    )
    monkeypatch.setattr(OpenedReader, "tokens", lambda self, suites: 10 * len(suites))
    monkeypatch.setattr(OpenedReader, "seconds_per_token", lambda self: 0.5)

    def named_suites(names, seed):
        named.append((names, seed))
        return [suite((["", "y"], ["", "z"]))]

    monkeypatch.setattr(suites, "named_suites", named_suites)
    return lambda given, metric=None: (suites._prepared("m", given, metric, "bos", "eos", 5), named)


def test_a_plan_counts_what_is_read_with_and_without_context(prepared):
    bare = suite((["x", "y"], ["x", "z"]), (["x", "y"], ["x", "z"]))
    named_suite = replace(bare, name="t")
    (plan, _, chosen, excluded, copies, shortened), named = prepared([named_suite, "name"])
    assert plan == SuitesPlan("m", 7, 2, 2, 30, 5, 1, 15.0)
    assert copies == {"t": 1, "s": 0}
    assert chosen[0] == replace(named_suite, items=bare.items[:1])
    assert len(shortened) == 1
    assert excluded == {"s": 2, "t": 3}
    assert named == [(["name"], 5), ("named m", "bos", "eos")]


def test_suites_are_given_named_or_all(prepared):
    bare = suite((["x", "y"], ["x", "z"]))
    assert prepared([bare])[1] == [("named m", "bos", "eos")]
    assert prepared([])[1][1] == ([], 5)
    assert prepared("name")[1][3] == (["name"], 5)
    (_, _, chosen, *_), _ = prepared([bare], metric="max")
    assert chosen[0].metric == "max"
    refuses("metric 'mode'; allowed are", prepared, [bare], metric="mode")


@pytest.mark.parametrize(("names", "pools"), [(("s",), 1), (("s", "t"), 3)])
def test_a_pool_of_several_suites_is_a_result_of_its_own(names, pools, monkeypatch):
    """Floors of a suite are the means of its items; a pool has none."""
    floors = iter([(0.5, 1.0, NAN), (0.25, 0.0, NAN), (0.5, 0.5, 0.5)])
    items = [SimpleNamespace(suite="s", unit_id=str(i)) for i in range(2)]
    if len(names) > 1:
        items.append(SimpleNamespace(suite="t", unit_id="2"))
    alone = {"1": "bare"}
    asked = []

    def item_floors(item, alone, seed):
        asked.append((item.unit_id, alone, seed))
        return next(floors)

    def records(described):
        assert described == "described"
        counts = {"counts": {"items": 2}}
        made = [Record("c", "m", task=name, value=0.75, low=0.5, details=counts) for name in names]
        return [*made, Record("c", "m", task="all", value=0.5, details=counts, p_value=0.25)]

    monkeypatch.setattr(suites, "item_floors", item_floors)
    monkeypatch.setattr(suites, "suite_accuracy_records", records)
    critic = SimpleNamespace(describe=lambda given: "described" if given is items else None)
    found = suites._results(critic, items, alone, {"s": 4}, {"s": 1}, 9, {})
    assert len(found) == pools and asked[:2] == [("0", None, 9), ("1", "bare", 9)]
    first = found[0]
    assert first.copies == 1
    assert (first.suite, first.items, first.excluded, first.accuracy, first.low) == (
        "s",
        2,
        4,
        0.75,
        0.5,
    )
    assert (first.chance, first.token_count) == (0.375, 0.5)
    assert (
        math.isnan(first.without_context) and math.isnan(first.p_value) and math.isnan(first.high)
    )
    if pools > 1:
        assert (found[1].without_context, found[1].excluded) == (0.5, 0)
        assert (found[2].suite, found[2].p_value) == ("all", 0.25) and math.isnan(found[2].chance)


def test_an_untrained_network_has_the_seeds_weights_alone():
    class Network(torch.nn.Linear):
        def __init__(self, config):
            super().__init__(config, config)
            self.config, self.device, self.dtype = config, torch.device("cpu"), torch.float64

    fresh = suites._untrained(Network(3))
    torch.manual_seed(suites.SEED)
    assert torch.equal(fresh.weight, Network(3).weight.double())
    assert fresh.weight.dtype == torch.float64
    assert not fresh.training and not fresh.weight.requires_grad


def test_exported_tasks_are_of_the_seeds_suites_and_name_the_whole_path(tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "named_suites", lambda names, seed: (names, seed))
    monkeypatch.setattr(exporting, "harness_tasks", lambda *given: given)
    monkeypatch.setattr(exporting, "_write_files", lambda *given: given)
    monkeypatch.chdir(tmp_path)
    tasks = (["a"], 7), str(tmp_path / "t")
    assert exporting.export_harness("t", ["a"], seed=7) == (Path("t"), tasks)


def test_the_time_of_a_token_is_measured_on_rows_that_differ(monkeypatch):
    batches, clock = [], iter([100.0, 103.0])
    reader = OpenedReader(
        SimpleNamespace(name="m"),
        "network",
        SimpleNamespace(tokenizer="tokenizer"),
        SimpleNamespace(read=batches.append),
    )
    monkeypatch.setattr(capacity, "vocabulary_size", lambda network: {"network": 3}[network])
    monkeypatch.setattr(capacity, "window_size", lambda network, most: most - 1)
    rows_of = {("tokenizer", 3): [2, 7, 8, 9, 6]}
    monkeypatch.setattr(trial, "trial_row", lambda *given: rows_of[given])
    monkeypatch.setattr(suites, "TRIED_TOKENS", 19)
    monkeypatch.setattr(suites, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    # 19 // 4 rows of 4 tokens, whose first is one of 3 in turn; 3 seconds for 16 tokens.
    assert reader.seconds_per_token() == 3.0 / 16
    assert batches == [[(0, 7, 8, 9), (1, 7, 8, 9), (2, 7, 8, 9), (0, 7, 8, 9)]]
