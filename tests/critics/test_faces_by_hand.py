"""What a critic does with plain texts, and how log-probabilities and features are read, by hand."""

import math
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.critics import base
from longform.critics.base import TextCritic
from longform.critics.mauve import own_texts
from longform.critics.mauve import read as features
from longform.critics.perplexity import read as log_probs
from longform.documents import Document, Section, Unit
from longform.errors import ConfigError, InputError
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from longform.statistics.sufficient_statistics import SufficientStatistics
from tests.refusals import refuses


@dataclass(frozen=True)
class Read(Unit):
    """A text as a reader made it."""


@dataclass(frozen=True)
class Length(
    TextCritic, better="lower", parts="words", attributed=("words",), blame=1, needs="two words"
):
    """Words of a text; one without any is excluded."""

    def read_texts(self, documents):
        return [Read(document.id, document.text) for document in documents]

    def sufficient_statistics(self, units):
        rows = [(len(unit.split.split()), not unit.split.split()) for unit in units]
        return SufficientStatistics.of(units, ("words", "excluded"), rows)

    def part_values(self, units):
        return [np.array([len(word) for word in unit.split.split()], dtype=float) for unit in units]

    def of_sums(self, sums):
        return sums.total("words")


def rows(*names):
    return SufficientStatistics(tuple(names), ("words", "excluded"), np.ones((len(names), 2)))


@pytest.mark.parametrize(
    ("paired", "plain", "names"),
    [
        (True, False, ("a", "b")), (True, True, ("a", "b")), (None, False, ("c", "d")),
        (None, True, ("second/c", "second/d")), (False, False, ("second/c", "second/d")),
        (False, True, ("second/c", "second/d")),
    ],
)  # fmt: skip
def test_texts_are_pairs_where_it_is_said_or_their_ids_agree(paired, plain, names):
    second = Length()._with_ids_for_pairs(
        rows("c", "d"), first=rows("a", "b"), paired=paired, ids_are_places=plain
    )
    assert second.unit_ids == names


def test_pairs_need_as_many_texts_on_both_sides():
    of_pairs = partial(
        Length()._with_ids_for_pairs, rows("c", "d"), first=rows("a"), ids_are_places=False
    )
    refuses("Length.compare: 1 and 2 texts are no pairs", partial(of_pairs, paired=True))
    assert len(of_pairs(paired=None).unit_ids) == 2


@pytest.mark.parametrize(
    ("texts", "units"),
    [([], False), (["a"], False), ([Read("a", "b")], True), ((Read("a", "b"),), True),
     ([{"text": "a"}, "b"], False), ({"a": 1}, False)],
)  # fmt: skip
def test_units_are_told_from_texts(texts, units):
    assert base._are_units(texts) is units


@pytest.mark.parametrize(("units", "low", "high"), [(1, math.nan, math.nan), (2, 1.0, 3.0)])
def test_a_single_text_has_no_interval(units, low, high, monkeypatch):
    monkeypatch.setattr(base, "estimate", lambda *given: Estimate(2.0, 1.0, 3.0, units, 4, "s"))
    score = Length()._score(rows("a"), 9, None)
    assert (score.value, score.units, score.excluded, score.better) == (2.0, units, 4, "lower")
    assert (score.low, score.high) == pytest.approx((low, high), nan_ok=True)


@pytest.mark.parametrize("paired", [True, False])
def test_a_difference_has_the_streams_of_its_seed_and_an_interval(paired, monkeypatch):
    """Pairs are resampled together; else each side by itself, the first minus the second."""
    calls = []
    monkeypatch.setattr(base, "generator", lambda *names: names)
    monkeypatch.setattr(base, "estimate", lambda critic, side, rng, count: calls.append((side.unit_ids, rng, count)) or
                        Estimate(float(len(side.unit_ids)), 0.0, 1.0, 2, 0, "s"))  # fmt: skip

    def compare(critic, first, second, rng, permutations):
        calls.append((first.unit_ids, second.unit_ids, rng, permutations))
        return Comparison(0.5, 0.25, paired, permutations)

    def bootstrap(critic, side, rng, count):
        calls.append(("bootstrap", side.unit_ids, rng, count))
        return np.full(9, float(len(side.unit_ids)))

    def resampled(first, second, rng, count):
        calls.append(("together", first[1].unit_ids, second[1].unit_ids, rng, count))
        return np.full(9, 7.0)

    monkeypatch.setattr(base, "compare", compare)
    monkeypatch.setattr(base, "bootstrap_scores", bootstrap)
    monkeypatch.setattr(base, "resampled_difference", resampled)
    first, second = [Read("a", "x y"), Read("b", "x"), Read("c", "x")], [Read("d", "x")]
    found = Length().compare(first, second, permutations=11, resamples=13, seed=7)
    names, others = ("a", "b", "c"), ("d",)
    assert calls[:3] == [
        (names, (7, "score"), 13), (others, (7, "score"), 13), (names, others, (7, "difference"), 11),
    ]  # fmt: skip
    if paired:
        assert calls[3:] == [("together", names, others, (7, "interval"), 13)]
    else:
        assert calls[3:] == [("bootstrap", side, (7, "interval"), 13) for side in (names, others)]
    assert found.low == found.high == (7.0 if paired else 2.0)
    assert (found.difference, found.p_value, found.paired, found.better) == (
        0.5,
        0.25,
        paired,
        "lower",
    )
    assert (found.first.value, found.second.value) == (3.0, 1.0)
    calls.clear()
    Length().compare(["x y"] * 2, ["x"] * 2)
    assert calls[0][1:] == ((0, "score"), 1000) and calls[2][3] == 2000
    assert all(name.startswith("second/") for name in calls[1][0])


def test_parts_are_named_where_they_have_no_place():
    found = Length().attribute("one three")
    assert [(part.text, part.value, part.start) for part in found.parts] == [
        ("part 1", 3.0, None), ("part 2", 5.0, None),
    ]  # fmt: skip
    assert (found.value, found.bad) == (2.0, "large")

    @dataclass(frozen=True)
    class Placed(Length, better="lower", parts="words", attributed=("words",), blame=-1):
        def spans(self, document, unit, values):
            assert (document.text, unit.split, values.tolist()) == (
                "one three",
                "one three",
                [3.0, 5.0],
            )
            return [(0, 3), (4, 9)]

    placed = Placed().attribute("one three")
    assert [(part.text, part.value, part.start, part.end) for part in placed.parts] == [
        ("one", 3.0, 0, 3), ("three", 5.0, 4, 9),
    ]  # fmt: skip
    assert placed.bad == "small"
    of_unit = Placed().attribute(Read("u", "one three"))
    assert (of_unit.unit_id, of_unit.parts[1].text, of_unit.parts[1].start) == ("u", "part 2", None)
    with pytest.raises(InputError, match="got a list; give one text"):
        Length().attribute(["a", "b"])


def test_texts_that_cannot_be_scored_are_refused():
    refuses(
        "Length: 2 texts, none could be scored; a text needs two words",
        Length()._statistics,
        [Read("a", ""), Read("b", " ")],
    )
    assert Length()._statistics([Read("a", ""), Read("b", "x")]).unit_ids == ("a", "b")

    @dataclass(frozen=True)
    class Grouped(Length, better="lower", parts="words", attributed=("words",), blame=1):
        def groups(self, units):
            return ["g"] * len(units)

    grouped = Grouped()._statistics([Read("a", "x y"), Read("b", "x")])
    assert grouped.unit_ids == ("g",) and grouped.values.tolist() == [[3.0, 0.0]]


# -- reading --


def plain_reading(pieces):
    """Each token has its own number for a log-probability."""
    return [np.array(piece[1:], dtype=np.float32) for piece in pieces]


def test_the_stream_of_documents_is_scored_in_blocks():
    """Blocks of three over 1 2 | 3 4 5 6 | 7 8: 2 3, 5 6; the last two are not read."""
    scored = log_probs.in_disjoint_blocks([[1, 2], [3, 4, 5, 6], [7, 8]], 3, plain_reading)
    assert [part.tolist() for part in scored.log_probs] == [[2], [3, 5, 6], []]
    assert [mask.tolist() for mask in scored.positions] == [
        [False, True], [True, False, True, True], [False, False],
    ]  # fmt: skip
    assert {part.dtype for part in scored.log_probs} == {np.dtype(np.float32)}
    nothing = log_probs.in_disjoint_blocks([[1], [2]], 3, plain_reading)
    assert [part.tolist() for part in nothing.log_probs] == [[], []]


def test_a_long_document_is_scored_once_in_windows_that_overlap():
    asked = []

    def read_rows(pieces):
        asked.extend(pieces)
        return plain_reading(pieces)

    scored = log_probs.in_overlapping_windows([[1, 2, 3, 4, 5, 6, 7], [8, 9]], 4, read_rows)
    assert asked == [(1, 2, 3, 4), (3, 4, 5, 6), (5, 6, 7), (8, 9)]
    assert [part.tolist() for part in scored.log_probs] == [[2, 3, 4, 5, 6, 7], [9]]
    assert [mask.tolist() for mask in scored.positions] == [[False] + [True] * 6, [False, True]]


class Tokenizer:
    """Words and their offsets."""

    is_fast = True

    def __call__(self, text, **options):
        assert options == {
            "add_special_tokens": False,
            "verbose": False,
            "return_offsets_mapping": True,
        }
        places = [i for i, letter in enumerate(text) if i == 0 or text[i - 1] == " "]
        return {
            "offset_mapping": [(start, start + len(text[start:].split()[0])) for start in places]
        }


@pytest.mark.parametrize(
    ("start", "end", "spans"),
    [
        ([0], [1], [(0, 3), (4, 6), (6, 6)]), ([], [1], [(4, 6), (6, 6)]), ([0], [], [(0, 3), (4, 6)]),
    ],
)  # fmt: skip
def test_scored_tokens_have_places_and_the_end_an_empty_one(start, end, spans, monkeypatch):
    tokenizer = Tokenizer()
    monkeypatch.setattr(log_probs, "load_tokenizer", lambda folder: tokenizer)
    monkeypatch.setattr(log_probs, "start_ids", lambda tokenizer: start)
    monkeypatch.setattr(log_probs, "end_ids", lambda tokenizer: end)
    document = Document("d", "test", (Section("Title", "one go"),))
    assert log_probs.token_spans(document, "folder") == spans
    blank = Document("d", "test", (Section(None, "one\n\ngo"),))
    assert log_probs.token_spans(blank, "folder") is None
    tokenizer.is_fast = False
    assert log_probs.token_spans(document, "folder") is None


def test_a_segment_model_gives_a_text_one_number_at_its_end(monkeypatch):
    monkeypatch.setattr(
        log_probs.HSMM, "load", lambda reader: SimpleNamespace(log_prob=lambda texts: [-2.5, -9.0])
    )
    documents = [Document(name, split, (Section(None, text),)) for name, split, text in
                 (("a", "test", "x y z"), ("b", "train", "x"), ("c", "test", "x"))]  # fmt: skip
    found = log_probs.read_segments(documents=documents, reader="r", splits=["test"])
    assert found.unit_ids == ("a", "c") and found.arrays["token_logprob"].tolist() == [
        0,
        0,
        -2.5,
        -9.0,
    ]
    assert found.arrays["token_logprob"].dtype == np.float64


@pytest.fixture
def opened(monkeypatch):
    """A model of eight positions; what its reader was opened with."""
    asked = []

    def open_reader(network, budget, **more):
        asked.append((budget, more))
        return SimpleNamespace(read=plain_reading)

    monkeypatch.setattr(log_probs, "open_language_model", lambda reader: ("tokenizer", "network"))
    monkeypatch.setattr(log_probs.capacity, "window_size", lambda network: 8)
    monkeypatch.setattr(log_probs, "open_reader", open_reader)
    monkeypatch.setattr(log_probs, "start_ids", lambda tokenizer: [0])
    monkeypatch.setattr(log_probs, "end_ids", lambda tokenizer: [])
    ids = lambda document: [0, *map(int, document.text.split())]  # noqa: E731
    monkeypatch.setattr(
        log_probs,
        "document_rows",
        lambda documents, tokenizer, titles, most: [ids(one) for one in documents],
    )
    monkeypatch.setattr(log_probs, "article_ids", lambda document, tokenizer, titles: ids(document))
    monkeypatch.setattr(
        log_probs,
        "in_titles",
        lambda document, tokenizer: [True] + [False] * (len(ids(document)) - 2),
    )

    def read(**settings):
        documents = [
            Document("a", "test", (Section(None, "1 2 3"),)),
            Document("b", "train", (Section(None, "4"),)),
        ]
        given = {
            "documents": documents,
            "reader": "r",
            "name": "n",
            "titles": False,
            "splits": ["test"],
        }
        return log_probs.read(**given | settings), asked

    return read


def test_tokens_are_read_in_the_models_window_or_a_smaller_one(opened):
    found, asked = opened()
    assert found.unit_ids == ("a",) and found.arrays["token_logprob"].tolist() == [1, 2, 3]
    assert found.arrays["token_logprob"].dtype == np.float32 and found.arrays[
        "end_scored"
    ].tolist() == [False]
    assert asked == [(128, {"share": False, "label": "infer n"})] and "in_title" not in found.arrays
    assert opened(window=2, batch=3)[1][1][0] == 6
    for window in (1, 9):
        with pytest.raises(ConfigError, match=f"window is {window}, allowed is 2 to 8"):
            opened(window=window)
    opened(window=8)


def test_titles_are_marked_behind_the_begin_token(opened):
    found, _ = opened(titles=True)
    assert found.arrays["in_title"].tolist() == [True, False, False]
    paper, _ = opened(titles=True, preset="paper", window=2, splits=["test", "train"])
    assert paper.arrays["token_logprob"].tolist() == [1, 3, 4]
    assert paper.arrays["in_title"].tolist() == [True, False, True]
    refuses("preset is 'x', allowed are 'paper'", opened, preset="x")


class Network:
    """A causal network whose states are the token and its place."""

    device = torch.device("cpu")
    config = SimpleNamespace(hidden_size=2)

    def __init__(self):
        self.shapes = []

    def __call__(self, input_ids):
        self.shapes.append(tuple(input_ids.shape))
        places = torch.arange(input_ids.shape[1]).expand_as(input_ids)
        return SimpleNamespace(last_hidden_state=torch.stack([input_ids, places], dim=-1).double())


def test_a_feature_is_the_state_at_the_last_token_whatever_the_batch(monkeypatch, capsys):
    seconds = iter([0.0, 10.0, 10.5, 10.5])
    monkeypatch.setattr(features.time, "monotonic", lambda: next(seconds))
    network = Network()
    found = features.last_states(network, [[5, 6, 7], [], [8], [9, 4]], 2, "n")
    assert found.tolist() == [[7, 2], [0, 0], [8, 0], [4, 1]] and found.dtype == np.float32
    assert network.shapes == [(2, 2), (1, 3)]
    assert capsys.readouterr().out == "infer n: 3/4 texts\n"


@pytest.mark.parametrize(
    ("device", "batch", "expected"), [("cpu", None, 1), ("cuda", None, 32), ("cpu", 5, 5)]
)
def test_texts_are_cut_at_the_window_and_counted(device, batch, expected, monkeypatch):
    given = []
    tokenizer = lambda text, verbose: {"input_ids": [1] * len(text.split())}  # noqa: E731
    network = SimpleNamespace(device=SimpleNamespace(type=device))

    def last_states(network, rows, batch, name):
        given.append((rows, batch, name))
        return np.zeros((len(rows), 2), dtype=np.float32)

    monkeypatch.setattr(features, "load_tokenizer", lambda reader: tokenizer)
    monkeypatch.setattr(features, "load_reader", lambda reader, kind: network)
    monkeypatch.setattr(
        features.capacity, "window_size", lambda network, most: 3 if most == 1024 else 0
    )
    monkeypatch.setattr(features, "last_states", last_states)
    texts = [Document(str(i), split, (Section(None, text),)) for i, (split, text) in enumerate(
        [("test", "a b c"), ("train", "a"), ("test", ""), ("test", "a b c d")])]  # fmt: skip
    found = features.read(documents=texts, reader="r", name="n", splits=["test"], batch=batch)
    assert given == [([[1, 1, 1], [], [1, 1, 1]], expected, "n")]
    assert found.arrays["valid"].tolist() == [True, False, True]
    assert found.arrays["cut"].tolist() == [False, False, True] and found.unit_ids == (
        "0",
        "2",
        "3",
    )


def test_own_texts_are_read_in_all_their_splits(monkeypatch):
    given = []
    monkeypatch.setattr(own_texts, "read", lambda **settings: given.append(settings) or "features")
    documents = [SimpleNamespace(split=split) for split in ("test", "generated", "test")]
    assert own_texts.features(documents, "folder") == "features"
    assert given == [
        {
            "documents": documents,
            "reader": "folder",
            "name": "own texts",
            "splits": ["generated", "test"],
        }
    ]
