"""Supplied grids: grouping, folds that never see the judged document, and empty grids that are counted."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from experiments.lapata2005.accidents import (
    TASK,
    cross_validated,
    learn_ranking,
    learn_transitions,
    learn_tuned,
    supplied,
)
from experiments.lapata2005.published_grids import parse_grid, read_grids
from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.core.text.permutations import permuted_documents
from longform.critics.entity_grid.score import TransitionFeatures
from longform.evaluation.order_discrimination import PairAccuracy
from tests.critics.grid_cases import grid


def documents(count: int):
    """Runs of mentions, and five permutations of each."""
    made = []
    for d in range(count):
        rng = generator("supplied", d)
        columns = []
        for _ in range(6):
            start = int(rng.integers(0, 6))
            columns.append("".join("S" if start <= k < start + 3 else "-" for k in range(8)))
        original = grid(*columns, unit=f"doc{d}/1")
        shuffled = [replace(original, cells=original.cells[rng.permutation(8)]) for _ in range(5)]
        made += [original, *(grid_named(g, f"doc{d}/{k}") for k, g in enumerate(shuffled, 2))]
    return made


def grid_named(unit, name):
    return replace(unit, unit_id=name)


def families(grids):
    return permuted_documents(grids, supplied)


def test_both_models_prefer_originals_of_documents_they_have_not_seen():
    units = families(documents(20))
    seen = TransitionFeatures((2,), 0)
    for learn in (
        learn_transitions,
        partial(learn_ranking, features=seen),
        partial(learn_tuned, choices=[seen], penalties=[1.0]),
    ):
        tally = cross_validated(learn, units, task=TASK, folds=5)
        assert PairAccuracy().score(tally) > 0.85 and tally.total("pairs") == 100


def test_settings_are_chosen_inside_the_training_documents():
    units = families(documents(20))
    blind, seeing = TransitionFeatures((1,), 0), TransitionFeatures((2,), 0)  # one cell at a time sees no order
    judge, only = (learn_tuned(units, choices, [1.0], inner=4) for choices in ([blind, seeing], [seeing]))
    grids = [units[0].original, *units[0].permutations[TASK]]
    np.testing.assert_allclose(judge.coherence(grids), only.coherence(grids))
    first = learn_tuned(units, [blind], [1.0, 10.0], inner=4).coherence(grids)
    np.testing.assert_allclose(first, first[0])
    for bad in ({"inner": 21}, {"inner": 1}, {"choices": []}, {"penalties": []}):
        with pytest.raises(BadInput, match="tuned ranking"):
            learn_tuned(units, **{"choices": [seeing], "penalties": [1.0], "inner": 4, **bad})


def test_empty_permutations_are_counted_and_give_no_pair():
    empty = grid(unit="doc0/7")
    units = families([*documents(4), empty, grid(unit="gone/1"), grid("SS", unit="gone/2")])
    tally = cross_validated(learn_transitions, units, task=TASK, folds=5)
    assert tally.column("unscored").tolist() == [1, 0, 0, 0, 0] and tally.column("excluded").tolist() == [0, 0, 0, 0, 1]
    assert tally.column("pairs").tolist() == [5, 5, 5, 5, 0]


def test_published_files_become_documents_and_families(tmp_path):
    rows = ['{"doc": "a", "perm": 1, "grid": {"DOG": "S-", "CAT": "-O"}}', '{"doc": "a", "perm": 2, "grid": {}}']
    (tmp_path / "grids.jsonl").write_text("\n".join(rows))
    grids = read_grids(tmp_path / "grids.jsonl")
    assert [grid.empty for grid in grids] == [False, True]
    [document] = families(grids)
    assert (document.unit_id, len(document.permutations[TASK])) == ("a", 1)


def test_printed_grids_are_read_in_both_spacings():
    found = parse_grid("% a comment\nPINOCHET  O S - O S -\n\nARREST --s--o\n")
    assert found.entities == ("PINOCHET", "ARREST") and found.cells.shape == (6, 2)
    assert found.cells[:, 1].tolist() == [3, 3, 0, 3, 3, 1]


@pytest.mark.parametrize("text", ["A S Q", "A S -\nB S", "A"])
def test_a_broken_printed_grid_is_named(text):
    with pytest.raises(BadInput, match=r"grid|entit"):
        parse_grid(text)


def test_bad_input_is_named(tmp_path):
    with pytest.raises(BadInput, match="0 originals"):
        families([grid("S-", unit="d/2")])
    with pytest.raises(BadInput, match="folds"):
        cross_validated(learn_transitions, families(documents(2)), task=TASK, folds=5)
    (tmp_path / "x.jsonl").write_text('{"doc": "a"}\n')
    with pytest.raises(BadInput, match=r"x\.jsonl:1"):
        read_grids(tmp_path / "x.jsonl")
