"""Supplied grids: grouping, folds that never see the judged document, and empty grids that are counted."""

import numpy as np
import pytest

from longform.critics.entity_grid.ranking import TransitionFeatures
from longform.critics.entity_grid.supplied_orders import (
    CrossValidated,
    counted,
    families,
    learn_tuned,
    ranking,
    transitions,
    tuned,
    units_from_readout,
)
from longform.documents import BadInput
from longform.resampling import generator
from longform.text.entity_grids import grids_to_readout, read
from longform.text.grid_files import build, parse_grid, printed
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
        shuffled = [original.reordered(rng.permutation(8)) for _ in range(5)]
        made += [original, *(grid_named(g, f"doc{d}/{k}") for k, g in enumerate(shuffled, 2))]
    return made


def grid_named(g, name):
    from dataclasses import replace

    return replace(g, unit_id=name)


def test_both_models_prefer_originals_of_documents_they_have_not_seen():
    units = families(documents(20))
    for critic in (transitions(folds=5), ranking(lengths=(2,), salience=0, folds=5)):
        tally = critic.fit(units).tally(units)
        assert critic.score(tally) > 0.85
        assert tally.total("pairs") == 100


def test_a_fold_is_judged_by_a_model_of_the_other_folds():
    units, seen = families(documents(6)), []

    def learn(training):
        names = {family.unit_id for family in training}

        def judge(grids):
            seen.append((grids[0].unit_id.split("/")[0] in names, len(names)))
            return np.arange(len(grids), 0, -1)

        return judge

    fitted = CrossValidated(learn, folds=3).fit(units)
    fitted.tally(units)
    assert seen == [(False, 4)] * 6
    fitted.tally(families(documents(7))[6:])  # a document that was not there when folds were drawn
    assert seen[6:] == [(False, 6)]


def test_settings_are_chosen_inside_the_training_documents():
    units = families(documents(20))
    blind, seeing = TransitionFeatures((1,), 0), TransitionFeatures((2,), 0)  # one cell at a time sees no order
    judge = learn_tuned(units, [blind, seeing], [1.0], inner=4)
    only = learn_tuned(units, [seeing], [1.0], inner=4)
    grids = [units[0].original, *units[0].others]
    np.testing.assert_allclose(judge(grids), only(grids))
    first = learn_tuned(units, [blind], [1.0, 10.0], inner=4)(grids)
    np.testing.assert_allclose(first, first[0])
    tally = (critic := tuned(lengths=((1,), (2,)), saliences=(0,), folds=5).fit(units)).tally(units)
    assert critic.score(tally) > 0.85
    for bad in ({"inner": 21}, {"inner": 1}, {"choices": []}, {"penalties": []}):
        with pytest.raises(BadInput, match="tuned ranking"):
            learn_tuned(units, **{"choices": [seeing], "penalties": [1.0], "inner": 4, **bad})


def test_empty_permutations_are_counted_and_give_no_pair():
    original, other = grid("S-", unit="d/1"), grid("-S", unit="d/2")
    [family] = families([original, other, grid(unit="d/3")])
    assert counted(lambda grids: np.array([1.0, 0.0]), family) == (1, 0, 1, 1, 0)
    assert counted(lambda grids: np.array([1.0, 1.0]), family) == (0, 1, 1, 1, 0)
    [family] = families([grid(unit="d/1"), other])
    assert counted(lambda grids: np.zeros(2), family) == (0, 0, 0, 0, 1)


def test_published_files_become_documents_and_families(tmp_path):
    rows = ['{"doc": "a", "perm": 1, "grid": {"DOG": "S-", "CAT": "-O"}}', '{"doc": "a", "perm": 2, "grid": {}}']
    (tmp_path / "grids.jsonl").write_text("\n".join(rows))
    corpus = build(raw=tmp_path, file="grids.jsonl")
    assert corpus.facts == {"grids": 2, "empty": 1, "documents": 1}
    readout = read(documents=corpus.documents, truth={}, reader=tmp_path, roles="supplied")
    [family] = units_from_readout(readout)
    assert (family.unit_id, len(family.others), family.scored) == ("a", 1, [])
    assert parse_grid(printed({"DOG": "S-"})) == {"DOG": "S-"}


def test_bad_input_is_named(tmp_path):
    with pytest.raises(BadInput, match="no original"):
        families([grid("S-", unit="d/2")])
    with pytest.raises(BadInput, match="folds"):
        transitions(folds=5).fit(families(documents(2)))
    with pytest.raises(BadInput, match="no models yet"):
        transitions(folds=5).tally(families(documents(2)))
    (tmp_path / "x.jsonl").write_text('{"doc": "a"}\n')
    with pytest.raises(BadInput, match=r"x\.jsonl:1"):
        build(raw=tmp_path, file="x.jsonl")
    assert len(units_from_readout(grids_to_readout([]))) == 0
