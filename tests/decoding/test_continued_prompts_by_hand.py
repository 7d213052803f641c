"""What is given of an article, what is counted, and how rows are batched, with stand-ins for the network."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.decoding import continuations
from longform.decoding.continuations import _Prompt, _Row, prefix_of
from longform.documents import Document, Section
from longform.files.artefacts import read_lines
from tests.refusals import refuses


def article(name, *texts, title=None, split="test"):
    return Document(name, split, tuple(Section(title, text) for text in texts))


@pytest.mark.parametrize(
    ("texts", "splitter", "title_from", "expected"),
    [
        (("Ulm is a town. It is old.",), "full_stops", "definition", ("Ulm", "Ulm is a town.", " It is old.")),
        (("Ulm, a town (in the south) are two.",), "full_stops", "definition",
         ("Ulm, a town", "Ulm, a town (in the south) are two.", "")),
        (("Nothing here. More.",), "full_stops", "definition", ("", "Nothing here.", " More.")),
        (("Ulm  is\n\na  town. Old.",), "full_stops", "id", ("x", "Ulm is", "\na town. Old.")),
        (("Ulm is.", "Old."), "full_stops", "first_section", ("T", "Ulm is.", "\n\nOld.")),
        (("",), "full_stops", "first_section", ("T", "", "")),
    ],
)  # fmt: skip
def test_a_prefix_is_a_title_and_the_first_sentence(texts, splitter, title_from, expected):
    assert prefix_of(article("x", *texts, title="T"), splitter, title_from) == expected


def test_a_first_section_may_have_no_title():
    assert prefix_of(article("x", "A b."), "full_stops", "first_section")[0] == ""


def prompt(ids=(0, 1), title="T", text="A.", reference=(5,), name="x"):
    return _Prompt(article(name, "A."), title, text, list(ids), list(reference))


@pytest.mark.parametrize(
    ("fields", "kind", "window", "fault"),
    [
        ({}, "first_sentence", 5, ""),
        ({}, "first_sentence", 4, "too_long"),
        ({}, "first_sentence", None, ""),
        ({"text": ""}, "first_sentence", None, "empty"),
        ({"title": ""}, "first_sentence", None, "untitled"),
        ({"title": ""}, "text", None, ""),
        ({"title": "", "text": ""}, "text", None, "empty"),
    ],
)
def test_a_prompt_needs_text_a_title_and_room(fields, kind, window, fault):
    assert continuations._fault(prompt(**fields), kind, 3, window) == fault


def test_draws_are_repeated_three_times_and_what_people_wrote_stands_once(monkeypatch):
    assert continuations.SEEDS == 3 and continuations.NEW_TOKENS == 256
    monkeypatch.setattr(continuations, "is_random", lambda strategy: strategy == "random")
    assert [continuations.repeats_of(kind, None) for kind in ("random", "beam")] == [3, 1]
    assert [continuations.repeats_of(kind, 5) for kind in ("random", "beam")] == [5, 5]
    assert continuations.repeats_of(continuations.Human(), 5) == 1


class Tokenizer:
    """Words are their numbers; blanks stand before 2."""

    def decode(self, ids):
        return "".join({1: "one", 2: " two", 3: "  "}.get(i, str(i)) for i in ids)


def test_the_whole_text_or_the_title_and_sentence_are_read(monkeypatch):
    monkeypatch.setattr(continuations, "start_ids", lambda tokenizer: [0])
    monkeypatch.setattr(
        continuations, "encode", lambda text, tokenizer: [len(word) for word in text.split()]
    )
    document = article("x", "  Ulm is a town. It was very old. ")
    whole = continuations._prompt_of(document, None, "full_stops", "definition", "text", 2)
    assert whole == _Prompt(
        document, "", "Ulm is a town. It was very old.", [0, 3, 2, 1, 5, 2, 3, 4, 4], []
    )
    first = continuations._prompt_of(
        document, None, "full_stops", "definition", "first_sentence", 2
    )
    assert first == _Prompt(document, "Ulm", "Ulm is a town.", [0, 4, 3, 2, 1, 5], [2, 3])


def test_a_continuation_stands_between_its_prefix_and_what_people_wrote():
    row = _Row("beam", prompt(reference=[2, 1]), 4)
    made = continuations._document("c", row, " text ", Tokenizer())
    assert (made.id, made.split) == ("c-beam-x-4", "generated")
    assert [(one.title, one.text) for one in made.sections] == [
        ("T", "A."), ("continuation", " text "), ("reference", "twoone"),
    ]  # fmt: skip
    alone = continuations._document("c", _Row("beam", prompt(reference=[]), 0), "t", None)
    assert alone.sections[2].text == ""


def test_truth_has_a_row_for_each_continuation():
    """Marks are characters without blanks: three of "one" and of " two", none of a blank."""
    rows = [
        _Row("a", prompt([0, 1, 2], reference=[1, 2]), 0),
        _Row("b", prompt([0], reference=[], name="y"), 1),
    ]
    drafts = [
        {"ids": [2, 3, 1], "nats": [-1.0, -2.0, -0.5], "prefix_nats": -7.5},
        {"ids": [], "nats": [], "prefix_nats": 0.0},
    ]
    truth = continuations._truth(rows, drafts, Tokenizer())
    assert truth["token"].tolist() == [2, 3, 1] and truth["token_marks"].tolist() == [3, 0, 3]
    assert truth["token_nats"].tolist() == [-1.0, -2.0, -0.5] and truth["reference"].tolist() == [
        1,
        2,
    ]
    assert truth["setting"].tolist() == ["a", "b"] and truth["page"].tolist() == ["x", "y"]
    assert truth["repeat"].tolist() == [0, 1] and truth["prefix_nats"].tolist() == [-7.5, 0.0]
    assert truth["prefix_tokens"].tolist() == [2, 0]
    kinds = {"token": np.int32, "token_marks": np.int32, "reference": np.int32, "token_nats": np.float64,
             "repeat": np.int64, "prefix_tokens": np.int64, "prefix_nats": np.float64}  # fmt: skip
    assert {name: truth[name].dtype for name in kinds} == kinds
    empty = continuations._truth([], [], Tokenizer())
    assert empty["page"].dtype.kind == empty["setting"].dtype.kind == "U"
    assert (empty["repeat"].dtype, empty["prefix_tokens"].dtype) == (np.int64, np.int64)


def test_batches_are_of_one_decoder_and_of_like_lengths(tmp_path, monkeypatch, capsys):
    seconds = iter([0.0, 10.0, 10.5, 10.5, 11.0])
    monkeypatch.setattr(continuations.time, "monotonic", lambda: next(seconds))
    rows = [_Row("a", prompt([0] * size), size) for size in (5, 2, 4)] + [_Row("b", prompt(), 9)]
    made = []

    def make(part):
        made.append([row.repeat for row in part])
        return [{"of": row.repeat} for row in part]

    drafts = continuations._in_batches(rows, 2, make, tmp_path, "n")
    assert made == [[2, 4], [5], [9]] and [draft["of"] for draft in drafts] == [5, 2, 4, 9]
    assert capsys.readouterr().out.splitlines() == [
        "generate n: 3/4 continuations", "generate n: a, 3/4 continuations", "generate n: b, 4/4 continuations",
    ]  # fmt: skip
    lines = list(read_lines(tmp_path / "batches.jsonl"))
    assert lines[1] == {"batch": 1, "drafts": [{"of": 5}]} and len(lines) == 3
    (tmp_path / "batches.jsonl").write_text(
        (tmp_path / "batches.jsonl").read_text().split("\n", 1)[0] + "\n"
    )
    made.clear()
    monkeypatch.undo()
    assert continuations._in_batches(rows, 2, make, tmp_path, "n") == drafts and made == [[5], [9]]
    made.clear()
    assert continuations._in_batches(rows, 2, make, None, "n") == drafts and len(made) == 3


class People(continuations.Human):
    """Stands for the decoder that takes what people wrote."""


class Late(continuations.Delayed):
    """Stands for a delayed beam."""

    def __init__(self):
        pass


@pytest.fixture
def written(monkeypatch):
    """Continues by stand-ins; every continuation of a model is [1, 2]."""
    asked = []
    network = SimpleNamespace(config=SimpleNamespace(vocab_size=9))
    ends = SimpleNamespace(guarded=lambda ids: len(ids) + 3)
    kinds = {"people": People(), "late": Late(), "beam": "beam"}

    def decode(network, read_ids, strategy, new_tokens, rngs, end, ends):
        asked.append((strategy, read_ids, new_tokens, rngs, end, ends))
        return [[1, 2] for _ in read_ids]

    def log_probs(network, read_ids, written):
        return [([-1.0] * len(ids), -2.0) for ids in written]

    fakes = {
        "settings_of": lambda decoder: kinds[decoder["kind"]],
        "open_language_model": lambda model: (Tokenizer(), network),
        "end_of_writing": lambda tokenizer, label: f"end of {label}",
        "is_random": lambda strategy: strategy == "beam",
        "start_ids": lambda tokenizer: [0],
        "encode": lambda text, tokenizer: [1] * len(text.split()),
        "generator": lambda *names: names,
        "decode": decode,
        "token_log_probs": log_probs,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(continuations, name, fake)
    monkeypatch.setattr(continuations.capacity, "positions", lambda network: 13)
    monkeypatch.setattr(
        continuations.SentenceEnds,
        "of_tokenizer",
        lambda tokenizer, size: ends if size == 9 else None,
    )

    def generate(articles, **settings):
        asked.clear()
        decoders = {name: {"kind": name} for name in settings.pop("kinds", ["beam"])}
        given = {"model": "m", "name": "n", "seed": 5, "new_tokens": 4, "decoders": decoders}
        return continuations.generate(prefixes=articles, **given | settings), asked, ends

    return generate


ARTICLES = [
    article("a", "Ulm is a town. It is old and large now."),
    article("b", "Nothing here. More."),
    article("c", ""),
    article("d", "Ulm is a very old and very large town. It."),
    article("e", "Ulm is a town. Yes.", split="train"),
]


def test_prompts_that_cannot_be_used_are_counted(written):
    """Begin token, title and sentence: 6 of "a", 11 of "d", and 4 more do not fit 13 positions."""
    corpus, asked, _ = written(ARTICLES)
    counts = {"prefixes": 1, "prefixes_empty": 1, "prefixes_untitled": 1, "prefixes_too_long": 1}
    assert {name: corpus.facts[name] for name in counts} == counts
    assert [one.id for one in corpus.documents] == [f"n-beam-a-{repeat}" for repeat in range(3)]
    streams = [("decoding", 5, "n", "beam", "a", repeat) for repeat in range(3)]
    assert asked == [("beam", [[0] + [1] * 5] * 3, 4, streams, "end of generate n", None)]
    assert written(ARTICLES, split="train")[0].documents[0].id == "n-beam-e-0"
    assert written(ARTICLES, split=None)[0].facts["prefixes"] == 2
    assert written(ARTICLES, documents=1, repeats=1)[0].facts["prefixes_empty"] == 0
    refuses("no prefix of 2 can be used", written, ARTICLES[1:3])
    for wrong in ({"splitter": "x"}, {"title_from": "x"}, {"prompt": "x"}):
        refuses("^generate n: splitter", written, ARTICLES, **wrong)


def test_what_models_wrote_is_counted_apart_from_what_people_did(written):
    """Two tokens a continuation of four: cut short. People's first four tokens are taken."""
    corpus, asked, ends = written(ARTICLES[:1], kinds=["people", "late", "beam"], repeats=2)
    assert [one.id.split("-")[1] for one in corpus.documents] == [
        "people",
        "late",
        "late",
        "beam",
        "beam",
    ]
    facts = corpus.facts
    assert (facts["tokens"], facts["cut_short"], facts["empty"]) == (8, 4, 0)
    assert facts["guarded_points"] == 2 * (2 + 3)
    assert facts["repeats"] == {"people": 1, "late": 2, "beam": 2} and facts["new_tokens"] == 4
    assert [one[0] for one in asked] == [asked[0][0], "beam"] and asked[0][5] is ends
    assert corpus.truth["token"].tolist() == [1, 1, 1, 1, *[1, 2] * 4]
    assert corpus.truth["prefix_nats"].tolist() == [-2.0] * 5
    assert corpus.documents[1].sections[1].text == "one two"
    assert written(ARTICLES[:1])[0].facts["guarded_points"] == 0


def test_log_probabilities_are_of_the_written_tokens_and_of_the_prompt():
    """Three tokens of probabilities 1/2, 1/4 and 1/4, whatever stands before."""
    shapes = []

    class Network:
        device = "cpu"

        def __call__(self, input_ids):
            shapes.append(tuple(input_ids.shape))
            logits = torch.log(torch.tensor([0.5, 0.25, 0.25]))
            return SimpleNamespace(logits=logits.expand(*input_ids.shape, 3))

    found = continuations.token_log_probs(Network(), [[0, 1], [2]] * 5, [[0, 2, 2], []] * 5)
    quarter, half = round(float(np.log(0.25)), 6), round(float(np.log(0.5)), 6)
    assert found == [([half, quarter, quarter], quarter), ([], 0.0)] * 5
    assert shapes == [(8, 5), (2, 5)]
