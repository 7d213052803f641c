"""Small rules of many rooms, each with an input on which a near miss gives something else."""

import math
import os
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.critics.bbscore import bridge
from longform.critics.bbscore.train import BridgeEncoder
from longform.critics.coreference import ngrams
from longform.critics.mauve.score import Mauve, TextFeature
from longform.critics.topics import own_texts
from longform.datasets.test_suites import sources
from longform.datasets.wikipedia import wikitext
from longform.documents import Document, Section
from longform.hsmm.gradient import FactoredTables
from longform.hsmm.model import build_ngrams
from longform.language_models.translation import AutoregressiveTranslator, Shape
from longform.results import Record
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.text.markdown import _front_matter
from longform_lab import score_entries, stale
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


def test_positions_of_the_translator_are_sines_and_cosines():
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
    refuses("1 substitution; they come in pairs", sources.read_schemas, path)
    path.write_text('{"substitution": "The cat ran.", "correctness": 2}\n' * 2)
    refuses("correctness is 2, allowed are true and false", sources.read_schemas, path)


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
    of_texts = build_ngrams([["a", "b"], ["b", "a"]], max_duration=3)
    assert np.diff(of_texts.starts)[2] == 0
    tables = FactoredTables(of_texts, 2, 0)
    with torch.no_grad():
        tables.lengths.zero_()
        for table in tables.emissions:
            table.zero_()
        _, log_joint = tables.log_potentials()
    of_length = of_texts.durations
    for length in (1, 2):
        count = int((of_length == length).sum())
        mass = log_joint[of_length == length].exp().sum(dim=0)
        # half of the mass each, of which two reserved rows take their share
        torch.testing.assert_close(mass, torch.full((2,), count / (count + 2) / 2))


def test_numbers_of_units_are_kept_as_floats_of_64_bits():
    units = [SimpleNamespace(unit_id="a"), SimpleNamespace(unit_id="b")]
    statistics = SufficientStatistics.of(units, ("x",), [(1,), (2**60 + 1,)])
    assert statistics.values.dtype == np.float64 and statistics.values.shape == (2, 1)


def test_a_key_takes_the_next_free_row_and_begins_anew_behind_the_last():
    table = np.full((3, 3), float(ngrams.EMPTY))
    table[0, ngrams.KEY] = 5  # key 0 begins at row 0
    assert ngrams._slot(table, 0) == 1
    starts = {key: ((key * int(ngrams.GOLDEN) % 2**64 >> 32) * 3) >> 32 for key in range(1, 50)}
    last = next(key for key, start in starts.items() if start == 2)
    table[2, ngrams.KEY] = 99
    assert ngrams._slot(table, last) == 1
    table[0, ngrams.KEY] = ngrams.EMPTY
    assert ngrams._slot(table, last) == 0


def test_the_page_of_stale_modules_has_the_most_and_the_median_of_stages(tmp_path, capsys):
    (tmp_path / "longform").mkdir()
    for name in ("__init__", "a", "empty", "outside"):
        (tmp_path / "longform" / f"{name}.py").write_text("")
    modules = {"longform.a": 3, "longform": 1, "longform.empty": 0}

    def module(name):
        count = modules.get(name)
        return None if count is None else SimpleNamespace(definitions=[object()] * count)

    by_stage = {
        "first": {"longform.a": {0}, "longform": {0}},
        "second": {"longform.a": {0, 1}},
        "third": {"longform": {0}},
    }
    stale._show_modules(SimpleNamespace(folder=tmp_path, module=module), by_stage)
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("Of 3 stages")
    assert lines == ["    2     2  longform/__init__.py", "    2     1  longform/a.py"]


def test_a_text_lies_in_the_cluster_whose_centre_has_its_direction():
    critic = Mauve(seeds=(1,), centres=(np.eye(2),), shares=(np.array([0.5, 0.5]),))
    features = {"a": (3.0, 0.1), "b": (0.1, 2.0), "c": (np.nan, np.nan)}
    units = []
    for name, values in features.items():
        units.append(TextFeature(name, "test", np.array(values), valid=name != "c"))
    np.testing.assert_array_equal(
        critic.sufficient_statistics(units).values, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    )


def test_a_text_shorter_than_a_window_has_no_score_for_it():
    """A window of half-width w needs 2 w + 1 sentences (sheng2024 appendix D)."""
    latents = np.random.default_rng(0).normal(size=(8, 2))
    for length in range(1, 9):
        orders = np.arange(length)[None]
        for terms, half_width in zip(
            bridge.order_terms(latents[:length], orders), bridge.WINDOWS, strict=True
        ):
            needed = 2 * max(half_width, 1) + 1
            assert np.isfinite(terms.beta).all() == (length >= needed)


def test_a_validation_loss_counts_by_the_sentences_of_its_batch():
    logged = {}
    encoder = SimpleNamespace(
        loss=lambda labels, split, rng: labels.sum(),
        log=lambda name, value, **more: logged.update({name: (value, more)}),
    )
    BridgeEncoder.validation_step(encoder, {"labels": torch.tensor([1, 2, 3])}, 0)
    assert logged == {"validation_loss": (torch.tensor(6), {"batch_size": 3})}


@pytest.mark.parametrize(
    ("own", "seed", "expected"),
    [
        ("data", 5, ("data", None, 5)),
        ("", None, ("gpt2", True, 3)),
        ("data", None, ("data", None, None)),
    ],
)
def test_a_record_keeps_its_own_system_and_takes_what_it_left_open(own, seed, expected):
    system = SimpleNamespace(corpus="wiki", model="gpt2", titles=True, seed=3)
    entry = SimpleNamespace(
        placed=SimpleNamespace(variant="v"), settings=SimpleNamespace(head_names=()), critic="c"
    )
    record = score_entries._completed(Record("", "m", system=own, seed=seed), system, entry)
    assert (record.system, record.titles, record.seed) == expected
    assert (record.critic, record.corpus, record.variant) == ("c", "wiki", "v")


def test_braces_that_close_nothing_stay_in_the_text():
    assert wikitext.sections("A {{nowrap|x}}} b.")[0][1] == "A x} b."
