"""Entity grids: role transitions worked by hand, the ranking machine, and supplied grids under cross-validation."""

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from experiments.lapata2005 import accidents
from experiments.lapata2005.accidents import TASK, cross_validated, learn_transitions, learn_tuned
from experiments.lapata2005.published_grids import parse_grid, read_grids
from longform.critics.entity_grid.score import EntityGrid, GridRanker, TransitionFeatures
from longform.evaluation.order_discrimination import PairAccuracy
from longform.statistics.random_streams import generator
from longform.statistics.sum_scored import unit_scores
from longform.text.entity_grids import Grid
from longform.text.permutations import permuted_documents
from tests.critics.grid_cases import grid
from tests.refusals import refuses

PLAIN = TransitionFeatures(lengths=(2,), salience=0)
FITTED = EntityGrid(history=1).fit([grid("SS--", "O---")])
FIXTURE = {  # by hand: counts + kinds x lower order, over counts + kinds
    "unigram": [0.2, 0.128571, 0.057143, 0.414286, 0.2],
    "S": [0.35, 0.064286, 0.028571, 0.457143, 0.1],
    "O": [0.1, 0.064286, 0.028571, 0.707143, 0.1],
    "-": [0.057143, 0.036735, 0.016327, 0.546939, 0.342857],
    "start": [0.35, 0.314286, 0.028571, 0.207143, 0.1],
}


def test_witten_bell_rows_and_column_probabilities_equal_hand_worked():
    rows = [
        FIXTURE[context] for context in ("S", "O", "unigram", "-", "start")
    ]  # X never occurs: the unigram row
    np.testing.assert_allclose(np.exp(FITTED.log_probs), rows, atol=1e-6)
    for column, value in (("S--", -2.436000), ("-S-", -5.219307), ("X--", -5.039966)):
        assert FITTED.sufficient_statistics([grid(column)]).values[0].tolist() == pytest.approx(
            [value, 3, 0], abs=1e-6
        )
        assert unit_scores(FITTED, [grid(column), grid(column, column)]) == pytest.approx(
            [value / 3] * 2, abs=1e-6
        )


def naive_witten_bell(columns: list[str], history: tuple[str, ...], symbol: str) -> float:
    """The recursion, counting strings: (c(h r) + N(h) P(r | h')) / (c(h) + N(h))."""
    sequences = [("<", *column, ">") for column in columns]
    size = len(history)
    places = [
        (seq, i)
        for seq in sequences
        for i in range(len(seq) - size)
        if seq[i : i + size] == history
    ]
    following = [seq[i + size] for seq, i in places if seq[i + size] != "<"]
    lower = naive_witten_bell(columns, history[1:], symbol) if history else 1 / 5
    kinds = len(set(following))
    return (
        (following.count(symbol) + kinds * lower) / (len(following) + kinds) if following else lower
    )


@pytest.mark.parametrize("history", [0, 1, 2, 3])
def test_any_history_equals_the_recursion_over_strings(history):
    rng = generator("witten-bell", history)
    columns = ["".join(rng.choice(list("SOX-"), 5, p=[0.2, 0.2, 0.1, 0.5])) for _ in range(6)]
    critic = EntityGrid(history=history).fit([grid(*columns)])
    for column in ("SO-XS", "-----", "XOXOX"):
        padded = ("<", *column, ">")
        shares = [
            naive_witten_bell(columns, padded[max(0, i - history) : i], padded[i])
            for i in range(1, 6)
        ]
        assert critic.sufficient_statistics([grid(column)]).total("logprob") == pytest.approx(
            sum(map(math.log, shares))
        )


def test_orders_score_as_reordered_grids_and_have_their_features():
    unit, features = grid("SS--O", "O---X", "-XX--"), TransitionFeatures()
    orders = np.array(list(itertools.permutations(range(5))))
    texts = [replace(unit, cells=unit.cells[order]) for order in orders]
    np.testing.assert_allclose(
        FITTED.order_scores(unit, orders), unit_scores(FITTED, texts), atol=1e-12
    )
    np.testing.assert_allclose(features.of_orders(unit, orders), features.of_texts(texts))


def test_empty_grids_and_texts_without_a_pair_are_counted_and_never_scored():
    critic = EntityGrid().fit([grid("SS--"), grid(unit="none")])
    np.testing.assert_array_equal(critic.log_probs, FITTED.fit([grid("SS--")]).log_probs)
    statistics = critic.sufficient_statistics([grid("SS--", unit="a"), grid(unit="none")])
    assert statistics.column("excluded").tolist() == [0, 1]
    assert np.isnan(unit_scores(critic, [grid(unit="none")])[0])
    assert np.isnan(critic.order_scores(grid(unit="none"), np.zeros((2, 0), dtype=int))).all()
    ranker = GridRanker(features=PLAIN).fit(
        [*runs(3, "train"), grid(unit="none"), grid("SS", unit="same")]
    )
    np.testing.assert_array_equal(
        ranker.weights, GridRanker(features=PLAIN).fit(runs(3, "train")).weights
    )
    assert ranker.sufficient_statistics([grid(unit="none")]).column("excluded").tolist() == [1]
    assert np.isnan(ranker.order_scores(grid(unit="none"), np.zeros((1, 0), dtype=int))).all()


def index(transition: str) -> int:
    return int(
        np.ravel_multi_index(["SOX-".index(role) for role in transition], (4,) * len(transition))
    )


def test_75_transitions_and_salient_entities_counted_apart():
    # Barzilay and Lapata 2008 section 3.2: six of 75 are [S -], frequency 0.08
    features = PLAIN.of_texts([grid(*["S-----"] * 6, *["------"] * 9)])[0]
    assert features[index("S-")] == pytest.approx(6 / 75)
    assert features.sum() == pytest.approx(1)
    features = TransitionFeatures(lengths=(2,), salience=2).of_texts([grid("SS", "O-")])[0]
    salient, others = features[:16], features[16:]
    assert salient[index("SS")] == 1 == others[index("O-")] and features.sum() == pytest.approx(2)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_frequencies_equal_a_count_of_substrings(length):
    rng = generator("features", length)
    columns = ["".join(rng.choice(list("SOX-"), 6)) for _ in range(4)]
    pieces = [column[i : i + length] for column in columns for i in range(6 - length + 1)]
    features = TransitionFeatures(lengths=(length,), salience=0).of_texts([grid(*columns)])[0]
    for piece in set(pieces):
        assert features[index(piece)] == pytest.approx(pieces.count(piece) / len(pieces))
    assert np.count_nonzero(features) == len(set(pieces))


def runs(count: int, name: str) -> list[Grid]:
    """Texts whose entities live in runs of sentences, as in coherent text."""
    made = []
    for i in range(count):
        rng = generator("runs", name, i)
        columns = []
        for _ in range(6):
            start, length = rng.integers(0, 6), rng.integers(2, 4)
            columns.append("".join("S" if start <= k < start + length else "-" for k in range(8)))
        made.append(grid(*columns, unit=f"{name}{i}", split=name))
    return made


def test_bad_input_is_named(tmp_path):
    refuses("0 with entities", EntityGrid().fit, [grid(unit="none")])
    refuses("history is 9", EntityGrid, history=9)
    refuses("no pair", GridRanker().fit, [grid(unit="none")])
    refuses("lengths", TransitionFeatures, lengths=())
    for critic in (EntityGrid(), GridRanker()):
        refuses("call fit", critic.sufficient_statistics, [grid("SS")])
    refuses("0 originals", families, [grid("S-", unit="d/2")])
    refuses("folds", cross_validated, learn_transitions, families(documents(2)), task=TASK, folds=5)
    (tmp_path / "x.jsonl").write_text('{"doc": "a"}\n')
    refuses(r"x\.jsonl:1", read_grids, tmp_path / "x.jsonl")


def documents(count: int):
    """Texts in runs, and five permutations of each."""
    made = []
    for d, text in enumerate(runs(count, "supplied")):
        rng = generator("supplied", d)
        made.append(replace(text, unit_id=f"doc{d}/1", split="test"))
        made += [
            replace(made[-1], unit_id=f"doc{d}/{k}", cells=text.cells[rng.permutation(8)])
            for k in range(2, 7)
        ]
    return made


def families(grids):
    return permuted_documents(grids, accidents.supplied)


def test_both_models_prefer_originals_of_documents_they_have_not_seen():
    units = families(documents(20))
    tuned = partial(learn_tuned, choices=[PLAIN], penalties=[1.0])
    for learn in (learn_transitions, partial(accidents.learn_ranking, features=PLAIN), tuned):
        statistics = cross_validated(learn, units, task=TASK, folds=5)
        assert PairAccuracy().score_of(statistics) > 0.85 and statistics.total("pairs") == 100


def test_settings_are_chosen_inside_the_training_documents():
    units = families(documents(20))
    blind, seeing = TransitionFeatures((1,), 0), PLAIN  # one cell at a time sees no order
    judge, only = (
        learn_tuned(units, choices, [1.0], inner=4) for choices in ([blind, seeing], [seeing])
    )
    grids = [units[0].original, *units[0].permutations[TASK]]
    np.testing.assert_allclose(unit_scores(judge, grids), unit_scores(only, grids))
    first = unit_scores(learn_tuned(units, [blind], [1.0, 10.0], inner=4), grids)
    np.testing.assert_allclose(first, first[0])
    for bad in ({"inner": 21}, {"inner": 1}, {"choices": []}, {"penalties": []}):
        refuses(
            "tuned ranking",
            learn_tuned,
            units,
            **{"choices": [seeing], "penalties": [1.0], "inner": 4, **bad},
        )


def test_empty_permutations_are_counted_and_give_no_pair():
    empty = grid(unit="doc0/7")
    units = families([*documents(4), empty, grid(unit="gone/1"), grid("SS", unit="gone/2")])
    statistics = cross_validated(learn_transitions, units, task=TASK, folds=5)
    wanted = {"unscored": [1, 0, 0, 0, 0], "excluded": [0, 0, 0, 0, 1], "pairs": [5, 5, 5, 5, 0]}
    assert {name: statistics.column(name).tolist() for name in wanted} == wanted


def test_published_files_and_printed_grids_become_documents(tmp_path):
    rows = [
        '{"doc": "a", "perm": 1, "grid": {"DOG": "S-", "CAT": "-O"}}',
        '{"doc": "a", "perm": 2, "grid": {}}',
    ]
    (tmp_path / "grids.jsonl").write_text("\n".join(rows))
    grids = read_grids(tmp_path / "grids.jsonl")
    assert [grid.empty for grid in grids] == [False, True]
    [document] = families(grids)
    assert (document.unit_id, len(document.permutations[TASK])) == ("a", 1)
    found = parse_grid("% a comment\nPINOCHET  O S - O S -\n\nARREST --s--o\n")
    assert found.entities == ("PINOCHET", "ARREST") and found.cells.shape == (6, 2)
    assert found.cells[:, 1].tolist() == [3, 3, 0, 3, 3, 1]
    for broken in ("A S Q", "A S -\nB S", "A"):
        refuses(r"grid|entit", parse_grid, broken)
