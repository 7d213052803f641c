"""Whatever bytes a file holds, its reader answers, or says in one sentence what is wrong: BadInput and nothing else."""

import bz2
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reader_samples import DOCUMENT, READERS, RECORDS, lines

from longform.core import artefacts
from longform.core.calls import arguments
from longform.core.documents import BadInput, Corpus, Document, Readout, Section
from longform.core.experiment import Experiment
from tests.refusals import refuses

BUSY = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)
QUICK = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=BUSY, database=None)


def prepared(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if name.startswith("w/"):
        for other in ("verb", "adj", "adv"):
            (path.parent / f"data.{other}").write_bytes(b"")
    if "/human/" in name:
        (folder / "t/machine").mkdir(exist_ok=True)
        (folder / "t/machine/a.txt").write_bytes(b"Other words.\n")
    return path


def answers(read, path):
    try:
        read(path)
    except BadInput as error:
        assert str(error)


@pytest.mark.parametrize("what", READERS)
def test_the_unharmed_file_is_read(what, tmp_path):
    name, read, content = READERS[what]
    read(prepared(tmp_path, name, content))


@pytest.mark.parametrize("what", READERS)
@QUICK
@given(content=st.binary(max_size=200))
def test_random_bytes_are_refused_in_words(what, content, tmp_path):
    name, read, _ = READERS[what]
    answers(read, prepared(tmp_path, name, content))


def mutated(content):
    """Cut, overwritten, doubled and spliced versions of a valid file, and its JSON values exchanged for others."""
    places = st.integers(0, len(content))
    odd = [b"", b"\x00", b"\xff\xfe", b"null", b"[]", b"-1", b"1e999", b'"\\ud800"', b"9" * 5000, b"[" * 3000,
           b"\t\t", b"\n"]  # fmt: skip
    pieces = st.sampled_from(odd)
    splice = st.builds(lambda a, b, new: content[: min(a, b)] + new + content[max(a, b) :], places, places, pieces)
    values = [text for text in (b'"a"', b"[", b"{", b":", b"1", b"0", b'"', b"\t", b",", b"<") if text in content]
    swap = st.builds(lambda old, new: content.replace(old, new, 1), st.sampled_from(values or [b"a"]), pieces)
    return splice | swap


@pytest.mark.parametrize("what", READERS)
@QUICK
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_in_words(what, data, tmp_path):
    name, read, content = READERS[what]
    if name.endswith((".gz", ".bz2")) and data.draw(st.booleans()):
        inner, pack = (gzip.decompress, gzip.compress) if name.endswith(".gz") else (bz2.decompress, bz2.compress)
        answers(read, prepared(tmp_path, name, pack(data.draw(mutated(inner(content))))))
    else:
        answers(read, prepared(tmp_path, name, data.draw(mutated(content))))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def exchanged(record):
    """The record with one value, at any depth, exchanged for any JSON value or taken out."""
    places = list(_places(record))
    return st.builds(
        lambda place, value, out: _with(record, place, value, out), st.sampled_from(places), JSON_VALUES, st.booleans()
    )


def _places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inner:
        yield from _places(held, (*path, key))


def _with(record, path, value, out):
    if not path:
        return value
    copy = json.loads(json.dumps(record))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    if out and isinstance(holder, dict):
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return copy


@pytest.mark.parametrize("what", RECORDS)
@settings(QUICK, max_examples=30)
@given(data=st.data())
def test_a_record_with_one_wrong_value_is_read_or_refused_in_words(what, data, tmp_path):
    name, read, _ = READERS[what]
    answers(read, prepared(tmp_path, name, lines(data.draw(exchanged(RECORDS[what])))))


@QUICK
@given(params=exchanged({"seed": 1, "articles": {"critics": {"a": {"smoothing": 0.5}}}}))
def test_parameters_with_one_wrong_value_are_read_or_refused_in_words(params, tmp_path):
    def smoothed(*, smoothing: float) -> None: ...

    def asked(path):
        experiment = Experiment(path.parent)
        settings = experiment.settings("articles", "critics", "a")
        return experiment.seed, arguments("articles.critics.a", smoothed, settings, {})

    answers(asked, prepared(tmp_path, "params.yaml", yaml.safe_dump(params).encode()))


@settings(QUICK, max_examples=40)
@given(record=exchanged(DOCUMENT))
def test_a_document_is_made_or_refused_and_can_be_written_again(record):
    try:
        document = Document.from_record(record)
    except BadInput:
        return
    assert Document.from_record(document.to_record()) == document


def test_half_a_surrogate_pair_and_ids_that_are_no_list_are_refused(tmp_path):
    document = Document("a", "test", (Section(None, "\ud800"),))
    refuses("surrogate", artefacts.write_corpus, tmp_path / "c", Corpus([document]))
    artefacts.write_arrays(tmp_path / "r.npz", {"unit_ids": np.array("a"), "splits": np.array("test")})
    refuses("each a unit", artefacts.read_readout, tmp_path / "r.npz")
    artefacts.write_readout(tmp_path / "r.npz", Readout(("a",), ("test",), {}))
    assert artefacts.read_readout(Path(tmp_path / "r.npz")).unit_ids == ("a",)


@pytest.mark.parametrize("depth", [101, 200_000])
def test_deeply_nested_parameters_are_refused_and_do_not_exhaust_the_c_parsers_stack(depth, tmp_path):
    path = prepared(tmp_path, "params.yaml", b"seed: 1\nscore: " + b"[" * depth)
    refuses("nested deeper than 100 levels", Experiment(path.parent).entry, "score", "a")
