"""A critic as plain data: every kind of value comes back as it was, and nothing else is written or read."""

from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from longform.critics import saving
from longform.documents import Chain
from longform.errors import ArtefactError, ConfigError
from longform.statistics.markov_chain import MarkovCritic


def there_and_back(value):
    arrays = {}
    return saving.decode(saving.encode(value, arrays), arrays)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 7, "words", 0.1, float("inf"), Path("a/b"), (1, "a"), (), {}, {"a": 1.5, 2: (None,)},
        Chain("d", "test", ("a", "b")),
    ],
)  # fmt: skip
def test_a_value_comes_back_as_it_was(value):
    back = there_and_back(value)
    assert back == value and type(back) is type(value)


def test_a_list_comes_back_as_a_tuple_and_a_number_of_numpy_as_pythons():
    assert there_and_back([1, [2.0]]) == (1, (2.0,))
    assert type(there_and_back(np.float64(0.25))) is float and there_and_back(np.int64(3)) == 3


def test_arrays_are_named_by_their_number_and_come_back_with_their_type():
    arrays = {}
    pair = (np.arange(3), np.zeros((2, 1), dtype=np.float32))
    assert saving.encode(pair, arrays) == {"tuple": [{"array": "array_0"}, {"array": "array_1"}]}
    assert arrays["array_0"] is pair[0] and arrays["array_1"] is pair[1]
    first, second = saving.decode(saving.encode(pair, arrays := {}), arrays)
    assert first.tolist() == [0, 1, 2] and second.dtype == np.float32 and second.shape == (2, 1)


def test_named_tuples_and_dataclasses_are_written_with_class_and_fields():
    assert saving.encode(Chain("d", "test", ("a",)), {}) == {
        "class": "longform.documents:Chain",
        "fields": {
            "unit_id": "d",
            "split": "test",
            "symbols": {"tuple": ["a"]},
            "valid": True,
            "cut": False,
        },
    }
    Pair = namedtuple("Pair", "first second")
    Pair.__module__ = "longform.x"
    assert saving.encode(Pair(1, 0.5), {}) == {
        "class": "longform.x:" + Pair.__qualname__,
        "fields": {"first": 1, "second": {"float": "0x1.0000000000000p-1"}},
    }


@pytest.mark.parametrize("value", [object(), {1, 2}, len, {"a": {1}}, Chain])
def test_what_is_no_plain_data_is_refused(value):
    with pytest.raises(ConfigError, match="is no plain data and cannot be saved"):
        saving.encode(value, {})


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"unheard": 1}, "holds an entry that no critic writes"),
        ({}, "holds an entry that no critic writes"),
        ([1], "holds an entry that no critic writes"),
        ({"array": "array_0"}, "holds an entry that no critic writes"),
        ({"class": "os:system", "fields": {}}, "names os:system, which this version does not have"),
        ({"class": "longform.documents:read", "fields": {}}, "names longform.documents:read"),
        ({"class": "longform.documents:Chain.x", "fields": {}}, "names longform.documents:Chain.x"),
        ({"class": "longform.nothing:Chain", "fields": {}}, "names longform.nothing:Chain"),
        ({"class": "longform.errors:BadInput", "fields": {}}, "names longform.errors:BadInput"),
    ],
)  # fmt: skip
def test_an_entry_that_no_critic_writes_is_refused(entry, sentence):
    with pytest.raises(ArtefactError, match=sentence):
        saving.decode(entry, {})


def critic(transitions):
    return MarkovCritic(("a", "b"), np.array(transitions))


def test_a_checksum_changes_with_numbers_shapes_types_and_settings():
    sums = {
        saving.checksum(value)
        for value in (
            1, 1.0, "1", None, (1,), np.array([1]), np.array([1.0]), np.array([[1]]), np.array([2]),
            {"a": 1}, {"b": 1}, critic([[0.5, 0.5], [1.0, 0.0]]), critic([[0.5, 0.5], [0.0, 1.0]]),
        )
    }  # fmt: skip
    assert len(sums) == 13 and {len(each) for each in sums} == {8}
    assert saving.checksum({"a": 1, "b": 2}) == saving.checksum({"a": 1, "b": 2})
    column_order = np.asfortranarray([[1, 2], [3, 4]])
    assert saving.checksum(column_order) == saving.checksum(np.array([[1, 2], [3, 4]]))


def test_a_saved_critic_is_loaded_and_a_changed_file_is_named(tmp_path):
    from longform.files.artefacts import read_arrays, write_arrays

    made = critic([[0.5, 0.5], [1.0, 0.0]])
    path = tmp_path / "critic.npz"
    saving.save_critic(path, made)
    loaded = saving.load_critic(path)
    assert loaded.names == ("a", "b") and np.array_equal(loaded.transitions, made.transitions)
    arrays = dict(read_arrays(path))
    write_arrays(path, {**arrays, "array_0": arrays["array_0"][::-1]})
    sums = f"its checksum is {saving.checksum(critic([[1.0, 0.0], [0.5, 0.5]]))}, not {saving.checksum(made)}"
    with pytest.raises(ArtefactError, match=sums):
        saving.load_critic(path)
    write_arrays(path, {"other": arrays["array_0"]})
    with pytest.raises(ArtefactError, match="holds no critic"):
        saving.load_critic(path)
    write_arrays(path, {**arrays, "critic": arrays["critic"][:-3]})
    with pytest.raises(ArtefactError, match="record is damaged"):
        saving.load_critic(path)
