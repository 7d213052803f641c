"""Predictions of small suites, worked out by hand: every array, its dtype, and what a read asks for."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from longform.critics.surprisal import read as reading
from longform.critics.surprisal.read import Encoder, suite_predictions
from longform.datasets.test_suites.items import Suite, pair


class Words:
    """A tokenizer of words between blanks; a word's id is its number of letters."""

    is_fast, bos_token_id, eos_token_id, name_or_path = True, 90, 91, ""

    def __call__(self, texts, **settings):
        wanted = {"add_special_tokens": False, "return_offsets_mapping": True, "verbose": False}
        assert settings == wanted
        spans = [[match.span() for match in reading.re.finditer(r"\S+", text)] for text in texts]
        ids = [[end - start for start, end in row] for row in spans]
        return {"input_ids": ids, "offset_mapping": spans}


class Reader:
    """Every token but the first has as many bits as its id says."""

    def check(self, ids, names):
        self.checked = list(ids), list(names)

    def read(self, ids):
        return [np.array([-math.log(2) * token for token in row[1:]], np.float32) for row in ids]


FORMULA = ("(1;%x%) > (1;%y%)",)
SUITES = [
    Suite("s", "sum", FORMULA, (pair(3, {"y": ["a bb", "", "ccc"], "x": ["dddd"]}),)),
    Suite("r", "mean", FORMULA, (pair(1, {"x": ["a"]}), pair(2, {"x": ["eeeee bb", "a"]}))),
]
HEADS = [
    json.dumps({
        "meta": {"metric": metric, "name": name},
        "predictions": [{"formula": FORMULA[0], "type": "formula"}], "region_meta": {},
    })
    for metric, name in (("sum", "s"), ("mean", "r"))
]  # fmt: skip
ARRAYS = {
    "suite": ([0, 1, 1], np.int64), "suite_names": (["s", "r"], "<U1"),
    "suite_head_names": (HEADS, f"<U{len(HEADS[1])}"), "condition_names": (["x", "y"], "<U1"),
    "region_condition": ([1, 1, 1, 0, 0, 0, 0], np.int64), "region_condition_lengths": ([4, 1, 2], np.int64),
    "region_number": ([1, 2, 3, 1, 1, 1, 2], np.int64), "region_number_lengths": ([4, 1, 2], np.int64),
    "region_tokens": ([2, 0, 1, 1, 1, 2, 1], np.int64), "region_tokens_lengths": ([4, 1, 2], np.int64),
    "token_bits": ([1, 2, 3, 4, 1, 5, 2, 1], np.float32), "token_bits_lengths": ([4, 1, 3], np.int64),
}  # fmt: skip


def assert_arrays(found, wanted):
    assert {name: (array.tolist(), array.dtype) for name, array in found.items()} == {
        name: (values, np.dtype(kind)) for name, (values, kind) in wanted.items()
    }


def test_items_become_bits_by_region_and_numbers_of_their_names():
    reader = Reader()
    found = suite_predictions(SUITES, Encoder(Words()), reader)
    assert (found.unit_ids, found.splits) == (("s/3", "r/1", "r/2"), ("test",) * 3)
    assert_arrays(found.arrays, ARRAYS)
    names = [("s", 3, "y"), ("s", 3, "x"), ("r", 1, "x"), ("r", 2, "x")]
    assert reader.checked == (
        [(90, 1, 2, 3), (90, 4), (90, 1), (90, 5, 2, 1)],
        [f"suite {suite}, item {item}, condition {condition}" for suite, item, condition in names],
    )


def test_no_suite_gives_empty_arrays_of_the_same_kinds():
    found = suite_predictions([], Encoder(Words()), Reader())
    assert found.unit_ids == found.splits == ()
    kinds = {name: np.dtype(kind) for name, (_, kind) in ARRAYS.items()}
    assert_arrays(found.arrays, {
        name: ([], "<U1" if kind.kind == "U" else kind) for name, kind in kinds.items()
    })  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "convention", "asked"),
    [
        ({}, ("bos", "eos"), (1024, True)),
        ({"ends": "legacy_none", "separator": "strip", "budget": 7, "share": False},
         ("legacy_none", "strip"), (7, False)),
    ],
)  # fmt: skip
def test_a_read_opens_its_model_and_hands_its_settings_on(monkeypatch, settings, convention, asked):
    opened = []

    def open_reader(network, budget, share, label):
        opened.append((network, budget, share, label))
        return "reader"

    def suites_of(documents, truth):
        return documents, truth

    tokenizer = Words()
    monkeypatch.setattr(reading, "open_language_model", lambda folder: (tokenizer, folder / "net"))
    monkeypatch.setattr(reading, "open_reader", open_reader)
    monkeypatch.setattr(reading, "suites_from_documents", suites_of)
    monkeypatch.setattr(reading, "suite_predictions", lambda *given: given)
    found = reading.read(documents=["d"], truth={"t": 1}, reader=Path("lm"), name="n", **settings)
    assert found == ((["d"], {"t": 1}), Encoder(tokenizer, *convention), "reader")
    assert opened == [(Path("lm/net"), *asked, "infer n")]
