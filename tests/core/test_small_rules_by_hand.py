"""Small rules of many rooms, each with an input on which a near miss gives something else."""

import math
import os

import numpy as np
import pytest
import torch

from longform.critics.topics import own_texts
from longform.datasets.test_suites import sources
from longform.documents import Document, Section
from longform.hsmm.gradient import FactoredTables
from longform.hsmm.model import build_ngrams
from longform.language_models.translation import AutoregressiveTranslator, Shape
from longform.text.markdown import _front_matter
from longform_lab.reporting.verdicts import counts_markdown
from longform_lab.scratch import link_or_copy
from synthetic_world.hsmm_language import language
from tests.refusals import refuses


def test_a_language_may_have_half_of_all_strings_and_no_more():
    """Two lengths, of one and of two tokens: 1 + 52 strings, half of which are 26."""
    sizes = {"num_states": 2, "min_length": 1, "max_length": 2, "steps": 2}
    heat = {"transition": 1.0, "emission": 1.0}
    given = {"seed": 1, "temperatures": heat, **sizes}
    assert len(language(subsequences=26, **given).owners) == 26
    refuses("subsequences=27 ", language, subsequences=27, **given)


def test_positions_of_the_translator_are_sines_and_cosines_of_even_wavelengths():
    """Vaswani et al. 2017, section 3.5."""
    shape = Shape(layers=1, heads=1, width=6, inner=4, dropout=0.0, positions=4)
    positions = AutoregressiveTranslator(shape, 9).positions
    for place in range(4):
        for i in range(3):
            angle = place / 10_000 ** (2 * i / 6)
            assert positions[place, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
            assert positions[place, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_a_file_is_copied_where_the_disk_allows_no_second_name(tmp_path, monkeypatch):
    source, target = tmp_path / "weights", tmp_path / "copy"
    source.write_bytes(b"123")

    def no_links(*_):
        raise OSError("Invalid cross-device link")

    monkeypatch.setattr(os, "link", no_links)
    link_or_copy(str(source), str(target))
    assert target.read_bytes() == b"123" == source.read_bytes()


def test_a_substitution_without_its_partner_is_refused(tmp_path):
    path = tmp_path / "schemas.jsonl"
    path.write_text('{"substitution": "The cat ran.", "correctness": 1}\n')
    refuses("1 substitutions; they come in pairs", sources.read_schemas, path)


def test_six_texts_are_enough_for_two_topics_and_five_are_not(monkeypatch):
    monkeypatch.setattr(own_texts, "fit", lambda train, **settings: settings["topics"])
    texts = [Document(f"d{i}", "test", (Section(None, "a b"),)) for i in range(6)]
    assert own_texts.fitted_model(texts, 0, 1) == 2
    refuses("5 texts to learn topics from; 6 are needed", own_texts.fitted_model, texts[:5], 0, 1)


@pytest.mark.parametrize(
    ("opening", "closing", "lines"),
    [("---", "---", 3), ("---", "...", 3), ("+++", "+++", 3), ("+++", "...", 0), ("+++", "---", 0)],
)
def test_yaml_may_end_with_dots_and_toml_ends_as_it_begins(opening, closing, lines):
    field = "title: x" if opening == "---" else "title = 'x'"
    assert _front_matter([opening, field, closing, "Text."]) == lines


def test_a_table_of_counts_has_a_column_for_each_verdict_and_two_more():
    counted = counts_markdown(
        "claims", [("deng2022", "holds"), ("deng2022", "open")], ["holds", "open"]
    )
    assert counted.split("\n") == [
        "| | claims | holds | open |",
        "|---|---|---|---|",
        "| deng2022 | 2 | 1 | 1 |",
        "",
    ]


def test_a_length_that_no_ngram_has_gets_no_mass():
    """Texts of two tokens: of three lengths the third is empty."""
    ngrams = build_ngrams([["a", "b"], ["b", "a"]], max_duration=3)
    assert np.diff(ngrams.starts)[2] == 0
    tables = FactoredTables(ngrams, 2, 0)
    with torch.no_grad():
        tables.lengths.zero_()
        for table in tables.emissions:
            table.zero_()
        _, log_joint = tables.log_potentials()
    of_length = ngrams.durations
    for length in (1, 2):
        count = int((of_length == length).sum())
        mass = log_joint[of_length == length].exp().sum(dim=0)
        # half of the mass each, of which two reserved rows take their share
        torch.testing.assert_close(mass, torch.full((2,), count / (count + 2) / 2))
