"""More small rules of many rooms, each with an input on which a near miss gives something else."""

import ast
import json
import math
import os
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.critics.section_order.posterior import COLUMNS, ExpectedTitleCritic, Terms
from longform.evaluation import order_discrimination
from longform.files.artefacts import write_json
from longform.language_models import log_probs
from longform.text.markdown import _prose_lines
from longform_lab import code
from longform_lab.dvc_stages import _Memory
from longform_lab.repro import parser
from longform_lab.statements import Statement
from synthetic_world import hsmm_language, lexicon
from synthetic_world.domains import TopicPrior
from synthetic_world.world_grammar import slots


@pytest.mark.parametrize(
    ("uniform", "index"), [(0.0, 0), (0.24, 0), (0.25, 1), (0.5, 1), (0.99, 1)]
)
def test_a_share_of_the_total_weight_decides_what_is_drawn(uniform, index):
    assert hsmm_language._draw_index(np.array([1.0, 4.0]), uniform) == index


@pytest.mark.parametrize(
    ("noun", "many"),
    [("day", "days"), ("city", "cities"), ("key", "keys"), ("fly", "flies"), ("box", "boxes"), ("oar", "oars"),
     ("seaman", "seamen"), ("church", "churches")],
)  # fmt: skip
def test_plurals_are_regular(noun, many):
    assert lexicon.plural(noun) == many


def test_the_entropy_of_main_ideas_is_that_of_a_normal_of_their_covariance():
    """Two free logits of variance 2.5 and correlation 0.6: 1 + log 2 pi + half the log-determinant."""
    prior = TopicPrior(topics=3)
    determinant = 2.5**2 * (1 - 0.6**2)
    assert np.linalg.det(prior.covariance) == pytest.approx(determinant)
    assert prior.latent_nll() == pytest.approx(
        1 + math.log(2 * math.pi) + 0.5 * math.log(determinant)
    )


def test_a_place_may_have_a_prefix_and_lie_in_another():
    place, other = lexicon.PLACES[:2]
    prefix = sorted(slots.PREFIXES)[0]
    assert slots._place_ends([prefix], 0) == [] and slots._place_ends([place, prefix], 1) == []
    assert slots._place_ends([prefix, place], 0) == [2]
    assert slots._place_ends([place, "of", other, "x"], 0) == [1, 3]
    assert slots._place_ends([place, "of"], 0) == [1] and slots._place_ends(
        [place, "x", other], 0
    ) == [1]


def digest(source):
    return Statement(ast.parse(source).body[0]).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x[1:]", "x[:1]"),
        ("f(*a)", "f(a)"),
        ("x[a:b]", "x[a::b]"),
        ("f(a=b)", "f(b=a)"),
        ("a.b", "a.c"),
    ],
)
def test_code_that_differs_in_a_nodes_place_has_another_digest(one, other):
    assert digest(one) != digest(other) and digest(one) == digest(f"{one}  # words")


def test_json_is_written_with_its_keys_in_order(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": {"d": 2, "c": [3]}})
    text = (tmp_path / "a.json").read_text()
    assert text == '{\n  "a": {\n    "c": [\n      3\n    ],\n    "d": 2\n  },\n  "b": 1\n}\n'


def test_hashes_of_stages_are_a_file_each(tmp_path, monkeypatch):
    tree = SimpleNamespace(
        closure=lambda starts: starts, hashes=lambda closure: {"b": "1", "a": closure}
    )
    monkeypatch.setattr(code, "source_tree", lambda folder: tree)
    monkeypatch.setattr(
        code, "read_entry_points", lambda home, tree: {"x/one.json": "s", "two.json": "t"}
    )
    stale = tmp_path / code.FOLDER / "old.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    assert code.write(tmp_path) == 2 and not stale.exists()
    text = (tmp_path / code.FOLDER / "x" / "one.json").read_text()
    assert text == '{\n "b": "1",\n "a": "s"\n}\n'
    assert json.loads((tmp_path / code.FOLDER / "two.json").read_text())["a"] == "t"


def test_what_was_computed_from_a_file_is_kept_until_it_changes(tmp_path):
    path, computed = tmp_path / "f", []
    path.write_text("1")
    memory = _Memory()

    def get(what="size"):
        return memory.get(str(path), what, lambda: computed.append(what) or len(computed))

    assert (get(), get(), get("other"), get()) == (1, 1, 2, 1)
    path.write_text("22")
    os.utime(path, (5, 5))
    assert (get(), get(), get("other")) == (3, 3, 4)


def test_a_run_takes_no_gpu_by_itself():
    options = parser().parse_args([])
    assert options.gpus == 0 and parser().parse_args(["--gpus", "2"]).gpus == 2


@pytest.mark.parametrize(
    ("vocabulary", "asked", "budget"), [(10, 1024, 25), (10, 7, 7), (1000, 1024, 1), (100, 1024, 2)]
)
def test_memory_for_logits_bounds_a_batch_of_one_token_at_least(
    vocabulary, asked, budget, monkeypatch
):
    """A thousand bytes hold 250 numbers of four."""
    monkeypatch.setattr(log_probs, "split_network", lambda network: None)
    monkeypatch.setattr(log_probs, "LOGITS_BYTES", 1000)
    monkeypatch.setattr(log_probs.capacity, "vocabulary_size", lambda network: vocabulary)
    given = []
    monkeypatch.setattr(log_probs, "LogProbReader", lambda *rest: given.append(rest[3:]))
    log_probs.open_reader(torch.nn.Linear(1, 1), asked, share=False, label="l")
    assert given == [(budget, False, "l")]


def test_scores_stand_side_by_side_as_floats_whatever_their_number():
    original, permuted, count = order_discrimination._as_table(
        [np.array([1.0, 2.0, 3.0]), np.array([4.0]), np.array([])]
    )
    np.testing.assert_array_equal(original, [[1], [4], [np.nan]])
    np.testing.assert_array_equal(permuted, [[2, 3], [np.nan, np.nan], [np.nan, np.nan]])
    assert count.tolist() == [2, 0, 0] and count.dtype == np.float64
    assert order_discrimination._as_table([])[0].shape == (0, 1)


def test_terms_of_a_document_are_summed_and_an_unreadable_one_excluded(monkeypatch):
    found = {
        "a": Terms(np.array([-1.0, -2.0]), np.array([-3.0]), np.array([0.5, 0.25]), -9.0),
        "b": None,
    }
    monkeypatch.setattr(ExpectedTitleCritic, "_terms", lambda self, unit: found[unit.unit_id])
    units = [SimpleNamespace(unit_id=name) for name in "ab"]
    statistics = ExpectedTitleCritic.sufficient_statistics(
        object.__new__(ExpectedTitleCritic), units
    )
    assert statistics.columns == COLUMNS
    assert statistics.values.tolist() == [[-3, -3, 0.75, -9, 2, 0, 0], [0, 0, 0, 0, 0, 0, 1]]


def test_indented_lines_of_a_list_are_prose_and_others_are_code():
    item = ["- An item.", "", "    Its second paragraph.", "", "    Its third."]
    assert _prose_lines(item) == item
    assert _prose_lines(["- An item.", "", "Text.", "", "    code = 1"])[-1] == ""
    assert _prose_lines(["Text.", "    goes on"]) == ["Text.", "    goes on"]
