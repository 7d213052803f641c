"""Files and values at their edges: sizes, types of nothing, order of keys, hashes, Ctrl-C in children."""

import multiprocessing
import signal
import struct

import numpy as np
import pytest

from longform import settings
from longform.criticize import copies, report
from longform.datasets.test_suites.items import Suite, suites_to_corpus
from longform.documents import Document, Predictions, Section
from longform.files import artefacts, opening
from longform.files.arrays import save_arrays
from longform.files.yaml_dialect import yaml_text
from longform.processes import side_by_side
from tests.refusals import refuses


def test_an_array_may_be_larger_than_four_gigabytes(tmp_path):
    """A local zip header with sizes of 64 bits (field 1, 16 bytes) behind the name."""
    save_arrays(tmp_path / "a.npz", {"ab": np.zeros(1)})
    head = (tmp_path / "a.npz").read_bytes()
    assert struct.unpack("<HH", head[26:30]) == (6, 20) and head[30:36] == b"ab.npy"
    assert struct.unpack("<HH", head[36:40]) == (1, 16)


def test_a_fitted_model_holds_no_objects(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        artefacts.save_fitted(tmp_path, "m", {"a": np.array([None])}, {})


def test_predictions_of_nothing_have_names_of_texts(tmp_path):
    path = tmp_path / "p.npz"
    artefacts.write_predictions(path, Predictions((), (), {"x": np.zeros((0, 2), np.int8)}))
    found = {name: (one.dtype, one.shape) for name, one in artefacts.read_arrays(path).items()}
    text = np.dtype("<U1"), (0,)
    assert found == {"unit_ids": text, "splits": text, "x": (np.dtype("int8"), (0, 2))}


@pytest.mark.parametrize("value", [1e300, -1e300, float("nan"), True, "1"])
def test_a_number_is_below_ten_to_the_300(value):
    refuses("^w: got .*, allowed is a number", opening.typed, value, float, "w")
    for size in (9.9e299, -9.9e299, 10**9, 0.5):
        assert opening.typed(size, float, "w") == size


def test_a_list_names_its_item_that_is_no_text():
    refuses("^w, number 2: got 1, allowed is", opening.texts, ["a", 1], "w")
    assert opening.texts(["a", ""], "w") == ["a", ""]


def test_yaml_has_keys_in_their_order_and_lines_of_120_characters():
    assert yaml_text({"b": "é", "a": {"d": 1, "c": []}}) == "b: é\na:\n  d: 1\n  c: []\n"
    assert yaml_text({"k": "x " * 58 + "y"}) == f"k: {'x ' * 58}y\n"
    # Broken at the first blank behind column 120: "kk: " and 59 letters have 121.
    assert yaml_text({"kk": "x " * 60 + "y"}) == f"kk: {('x ' * 59).strip()}\n  x y\n"


def test_heads_of_suites_have_their_keys_in_order():
    suite = Suite("s", "sum", (), (), {"1": "a"})
    (head,) = suites_to_corpus([suite]).truth["suite_heads"]
    assert head == artefacts.json.dumps(artefacts.json.loads(head), sort_keys=True)


def test_ctrl_c_is_left_to_the_parent_of_systems_side_by_side(monkeypatch):
    monkeypatch.setenv("LONGFORM_SYSTEMS", "2")
    ignored = multiprocessing.get_context("fork").Value("i", 0)

    def work(item):
        with ignored.get_lock():
            ignored.value += signal.getsignal(signal.SIGINT) is signal.SIG_IGN

    side_by_side(work, {"a": 1, "b": 2})
    assert ignored.value == 2


class Inner(settings.Settings):
    size: int = 1


class Outer(settings.Settings):
    one: Inner | None = None
    many: dict[str, Inner] = {}
    number: int = 0


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ([], ["one", "many", "number"]),
        (["one"], ["size"]),
        (["many", "x"], ["size"]),
        (["many"], []),
        (["number"], []),
        (["number", "x"], []),
        (["nothing"], []),
        (["nothing", "x"], []),
    ],
)
def test_keys_are_known_where_a_path_leads_to_settings(path, names):
    assert settings._names_at(Outer, path) == names


def test_runs_are_hashed_mixing_their_words_and_thinned_to_multiples(monkeypatch):
    """Python's whole numbers, cut to 64 bits, as the oracle."""
    first, second, third = copies._PRIMES
    words = [3, 0, 1, 2, 9, 4]
    expected = set()
    for run in (words[:5], words[1:]):
        mixed = 0
        for word in run:
            mixed = ((mixed ^ (mixed >> 29)) * first + (word + 1) * second) % 2**64
        expected.add((mixed ^ (mixed >> 32)) * third % 2**64)
    found = copies._runs(np.array(words, dtype=np.uint64))
    assert found.tolist() == sorted(expected) and found.dtype == np.uint64
    rows = [np.array(row, dtype=np.uint64) for row in ([0, 1, 3, 4], [5, 6])]
    monkeypatch.setattr(copies, "MOST", 3)  # of six runs each third is kept
    assert [row.tolist() for row in copies._thinned(rows)] == [[0, 3], [6]]
    joined = copies._joined([np.array([2**63 + 1], dtype=np.uint64)], np.uint64)
    assert joined.tolist() == [2**63 + 1] and copies._joined([], np.int64).dtype == np.int64
    equal = [np.array([5], dtype=np.uint64)] * 40
    flat, owners, _ = copies._sorted_features(equal, [np.array([row]) for row in range(40)])
    assert flat.tolist() == [5] * 40 and owners.tolist() == list(range(40))
    text = Document("a", "test", (Section(None, "One two. one two! Three?\n--"), Section(None, "")))
    nothing = Document("b", "test", (Section(None, "..."),))
    (found,) = copies._features([[text, nothing]])
    # The words are numbers 0, 1 and 2, the sentences 3 ("one two") and 4.
    assert [row.tolist() for row in found.sentences] == [[3, 2], []]
    assert [row.tolist() for row in found.sentence_words] == [[2, 1], []]
    assert [row.tolist() for row in found.run_weights] == [[1], []]
    assert {row.dtype.name for row in (*found.sentence_words, *found.run_weights)} == {"int64"}
    assert {row.dtype.name for row in (*found.sentences, *found.runs)} == {"uint64"}
    monkeypatch.setattr(copies, "MOST", 7)
    assert copies._thinned(rows) is rows


def test_a_place_is_quoted_by_its_first_ninety_characters():
    marks = [(0, 90, 0, 1.0), (2, 93, 0, 1.0), (0, 5, 1, 1.0)]
    short, long = f'<a href="#p0">“{"x" * 90}”</a>', f'<a href="#p2">“{"x" * 89}…”</a>'
    assert report._quoted("x" * 95, marks, 0) == f"{short}; {long}"
    assert report._quoted("x" * 95, marks, 2) == "no part stands out"
