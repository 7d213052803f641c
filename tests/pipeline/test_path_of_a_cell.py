"""A reader gets from a cell of Table 2 to its corpus by an editor's jumps alone."""

import pytest

from tests import path_of_a_cell
from tests.path_of_a_cell import Place, entry, modules, path_of_the_cell, used


def test_a_cell_of_table_2_leads_to_its_corpus_through_at_most_40_modules():
    path = list(path_of_the_cell())
    assert path[0] == Place("longform_lab.reports", "report")
    assert path[-1].module == "synthetic_world.corpus"
    assert len(modules(path)) <= 40
    text = "\n".join(map(str, path))
    for room in ("experiments.deng2022", "longform.critics", "longform.decoding"):
        assert f"\n{room}." in text
    assert "longform.language_models.causal_lm.fit" in text


def test_a_jump_from_a_name_that_is_not_used_leads_nowhere():
    with pytest.raises(LookupError, match="does not use estimate"):
        used(Place("longform_lab.reports", "report"), "estimate")


def test_a_key_that_no_registry_has_leads_nowhere():
    with pytest.raises(KeyError):
        entry(Place("longform_lab.settings.registries", "DATASETS"), "wrold_texts")


def test_the_way_is_found_without_running_what_it_leads_through(monkeypatch):
    monkeypatch.setattr("importlib.import_module", None)
    assert len(list(path_of_a_cell.path_of_the_cell())) > 20
