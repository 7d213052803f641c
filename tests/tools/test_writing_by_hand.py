"""What a command that writes texts counts, plans, checks and saves, with stand-ins for the model."""

import json
import math
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from longform.datasets.own_texts import Texts
from longform.documents import Corpus, Document, Section, ragged
from longform.tools import writing
from longform.tools.writing import Writing, WritingPlan, WrittenText, decoder_settings
from tests.refusals import refuses

SMOLLM2 = "smollm2"  # is named, and not opened


def text(name, decoder="beam", words="a b", tokens=2, nats=1.5):
    return WrittenText(name, decoder, "P", words, tokens, nats)


FACTS = {"prefixes_empty": 0, "prefixes_untitled": 0, "prefixes_too_long": 0, "set_aside": []}


def written(folder=None, **facts):
    texts = {
        "beam": (text("1"), text("2", words=" ", tokens=0, nats=math.nan), text("3", nats=2.5)),
        "none": (),
    }
    return Writing("m", texts, FACTS | facts, folder)


def test_a_summary_counts_texts_tokens_and_empty_ones(monkeypatch):
    first, second = written(Path("out")).summary()
    assert first == {
        "decoder": "beam", "texts": 3, "tokens": 4, "empty": 1, "nats_per_token": 2.0, "file": "out/beam.jsonl",
    }  # fmt: skip
    assert (second["texts"], second["nats_per_token"]) == (0, None)
    assert written().summary()[0]["file"] is None
    monkeypatch.setattr(writing, "frame", list)
    assert [row["id"] for row in written().to_frame()] == ["1", "2", "3"]
    assert written().to_record() == {"model": "m", "facts": FACTS, "decoders": written().summary()}


def test_a_table_says_which_prompts_were_left_out():
    lines = written(prefixes_too_long=3, prefixes_empty=1).markdown().split("\n")
    assert lines[4:6] == ["| beam | 3 | 4 | 1 | 2.00 |  |", "| none | 0 | 0 | 0 |  |  |"]
    assert lines[8] == "- prompts left out: 1 empty, 3 too long"
    assert "left out" not in written().markdown()
    assert "out/none.jsonl" in written(Path("out")).markdown()


ASIDE = tuple((f"line {number}", "no word in it") for number in range(2, 6))


def test_records_that_were_set_aside_are_counted_and_the_first_ones_named():
    reasons = "line 2: no word in it; line 3: no word in it; line 4: no word in it; and 1 more"
    note = f"prompts set aside, 4: {reasons}"
    assert written(set_aside=ASIDE).markdown().split("\n")[8] == f"- {note}"
    assert WritingPlan("m", 7, {"a": 7}, 1, None, ASIDE).text().split("\n")[1:] == [note]
    three = WritingPlan("m", 7, {"a": 7}, 1, None, ASIDE[:3]).text()
    assert three.endswith("3: line 2: no word in it; line 3: no word in it; line 4: no word in it")


@pytest.mark.parametrize("name", ["new_tokens", "repeats", "batch"])
@pytest.mark.parametrize("number", [0, -1, 1.5, True])
def test_counts_that_are_no_whole_number_from_one_are_refused(name, number):
    for command in (writing.generate, writing.plan_writing):
        sentence = f"{name} is {number}, allowed is a whole number from 1"
        refuses(sentence, command, "no model", ["text"], **{name: number})


@pytest.mark.parametrize("name", ["a/b", "../x", ".x", "a\\b", "a:b", "x" * 51, "a\0b", "a\n"])
def test_a_decoders_name_is_one_that_a_file_can_have(name):
    refuses("its texts go to a file of that name", decoder_settings, {name: {"kind": "greedy"}})


def test_names_of_letters_digits_blanks_and_few_signs_are_taken():
    for name in ("x" * 50, "größer 2.0_b+c-d"):
        assert list(decoder_settings({name: {"kind": "greedy"}})) == [name]


@pytest.mark.parametrize("kind", ["group_beam", "sibling_beam"])
def test_a_penalty_is_one_that_float32_can_add(kind):
    assert decoder_settings(f"{kind}:penalty=1e6") == {kind: {"kind": kind, "penalty": 1e6}}
    refuses(r"allowed is a number up to 1e\+06", decoder_settings, f"{kind}:penalty=1000001")


@pytest.mark.parametrize("kind", ["beam", "group_beam", "sibling_beam", "delayed_beam"])
def test_a_beam_is_one_that_a_machine_can_hold(kind):
    assert decoder_settings(f"{kind}:beams=10000") == {kind: {"kind": kind, "beams": 10_000}}
    sentence = "beams is 10002, allowed is a number up to 10000"
    refuses(sentence, decoder_settings, f"{kind}:beams=10002")


def test_a_setting_stands_once():
    refuses("top_k:k=2,k=3: 'k' stands there twice", decoder_settings, "top_k:k=2,k=3")


def test_two_prompts_with_one_id_are_refused():
    same = [Document("a", "test", (Section(None, "It is."),))] * 2
    refuses("two prompts have the id 'a'", writing._checked, SMOLLM2, same, "greedy", "text")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, "at most"), (0.2, "at most; about 1 s"), (9.6, "at most; about 10 s")],
)
def test_a_plan_is_one_line(seconds, said):
    plan = WritingPlan("m", 7, {"a": 7, "b": 21}, 100, seconds)
    assert plan.text() == f"m: 7 prompts; continuations: a 7, b 21; 2,800 tokens {said}"


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("beam", ("beam", {"kind": "beam"})), ("wide=beam", ("wide", {"kind": "beam"})),
        ("top_k:k=40", ("top_k", {"kind": "top_k", "k": 40})),
        ("wide=beam:beams=30,x=0.5", ("wide", {"kind": "beam", "beams": 30, "x": 0.5})),
        ("beam:", ("beam", {"kind": "beam"})),
    ],
)  # fmt: skip
def test_a_decoder_is_a_kind_with_a_name_and_settings(argument, expected):
    assert writing._decoder(argument) == expected
    assert isinstance(writing._number("3", ""), int) and writing._number("3.0", "") == 3.0


def test_settings_that_are_no_numbers_are_refused():
    refuses("beam:beams: 'beams' is no setting", writing._decoder, "beam:beams")
    refuses("beam:beams=x: 'x' is no number", writing._decoder, "beam:beams=x")


def test_decoders_have_names_of_their_own(monkeypatch):
    checked = []
    monkeypatch.setattr(
        "longform.settings.parse_kind", lambda kinds, placed, entry, *where: checked.append(where)
    )
    assert decoder_settings("a") == {"a": {"kind": "a"}}
    assert decoder_settings(["a", "b=a:k=1"]) == {"a": {"kind": "a"}, "b": {"kind": "a", "k": 1}}
    given = {"x": {"kind": "a"}}
    assert decoder_settings(given) == given and decoder_settings(given)["x"] is not given["x"]
    assert checked[-1] == ("decoder x", "the command")
    refuses(
        "a:k=1: two decoders are called 'a'; name one: NAME=a:k=1", decoder_settings, ["a", "a:k=1"]
    )
    for nothing in ([], {}):
        refuses("no decoder is named", decoder_settings, nothing)


def test_a_prompt_as_a_whole_has_nothing_that_people_wrote_behind_it(monkeypatch):
    monkeypatch.setattr(writing, "named_model", lambda name: f"named {name}")
    monkeypatch.setattr(writing, "decoder_settings", lambda decoders: {"x": {"kind": decoders}})
    monkeypatch.setattr(
        writing, "read_texts", lambda path: Texts((path,), (("line 2", "no word in it"),))
    )
    assert writing._checked("m", "path", "beam", "text") == (
        "named m",
        Texts(("path",), (("line 2", "no word in it"),)),
        {"x": {"kind": "beam"}},
    )
    assert writing._checked("m", Path("p"), "human", "first_sentence")[1].documents == (Path("p"),)
    (document,) = writing._checked("m", ["t"], "beam", "text")[1].documents
    assert (document.id, document.text) == ("text-1", "t")
    refuses("prompt 'all'; allowed are", writing._checked, "m", "p", "beam", "all")
    refuses(
        "decoder human: nothing follows a prompt that is the whole text",
        writing._checked,
        "m",
        "p",
        "human",
        "text",
    )


def test_a_plan_counts_each_decoders_repeats(monkeypatch):
    monkeypatch.setattr("longform.decoding.strategies.settings_of", lambda entry: entry["kind"])
    monkeypatch.setattr(
        "longform.decoding.continuations.repeats_of",
        lambda kind, repeats: {"a": 3, "b": 1}[kind] + (repeats or 0),
    )
    named = SimpleNamespace(name="m")
    settings = {"x": {"kind": "a"}, "y": {"kind": "b"}}
    texts = Texts(tuple("abcd"), (("line 5", "no word in it"),))
    plan = writing._plan(named, texts, settings, 10, None)
    assert (plan.model, plan.prompts, plan.continuations, plan.new_tokens) == (
        "m",
        4,
        {"x": 12, "y": 4},
        10,
    )
    assert plan.set_aside == texts.set_aside
    assert writing._plan(named, texts, settings, 10, 1).continuations == {"x": 16, "y": 8}


def corpus():
    sections = [("T", "First."), (None, "Whole."), (None, "Other.")]
    documents = []
    for number, (title, opening) in enumerate(sections):
        parts = (Section(title, opening), Section("continuation", f"text {number}"))
        documents.append(Document(f"d{number}", "generated", parts))
    nats = [[-1.0, -2.0], [], [-4.0]]
    truth = {
        "setting": np.array(["a", "a", "b"]), "page": np.array(["p", "p", "q"]),
        "repeat": np.array([0, 1, 0]), **ragged("token_nats", nats, np.float64),
    }  # fmt: skip
    return Corpus(documents, truth, {"repeats": {"a": 2, "b": 1}, **FACTS})


def test_texts_are_numbered_where_a_prompt_has_several():
    texts = writing._texts(corpus())
    assert list(texts) == ["a", "b"]
    first, second = texts["a"]
    assert (first.id, first.prompt, first.text, first.tokens, first.nats_per_token) == (
        "p/1",
        "T. First.",
        "text 0",
        2,
        1.5,
    )
    assert (second.id, second.prompt, second.tokens) == ("p/2", "Whole.", 0) and math.isnan(
        second.nats_per_token
    )
    assert (texts["b"][0].id, texts["b"][0].decoder, texts["b"][0].nats_per_token) == (
        "q",
        "b",
        4.0,
    )


def test_each_decoder_has_a_file_and_the_unfinished_work_goes(tmp_path, monkeypatch):
    forgotten = []
    monkeypatch.setattr(writing, "forget_unfinished", forgotten.append)
    writing._save(written(tmp_path), tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "beam.jsonl").read_text().splitlines()]
    assert [line["nats_per_token"] for line in lines] == [1.5, None, 2.5]
    assert lines[0] == {
        "id": "1", "decoder": "beam", "prompt": "P", "text": "a b", "tokens": 2, "nats_per_token": 1.5,
    }  # fmt: skip
    assert (tmp_path / "none.jsonl").read_text() == "" and forgotten == [tmp_path]
    assert json.loads((tmp_path / writing.SUMMARY).read_text())["model"] == "m"


@pytest.mark.parametrize("out", [True, False])
def test_a_run_is_known_by_all_that_changes_its_texts(out, tmp_path, monkeypatch):
    calls, told, saved, marks = [], [], [], []

    @contextmanager
    def opened():
        yield "opened"

    named = SimpleNamespace(name="m", stamps=lambda: ["stamp"], opened_folder=opened)
    documents = tuple(corpus().documents[:1])
    texts = Texts(documents, (("line 2", "no word in it"),))
    monkeypatch.setattr(writing, "_checked", lambda *given: (named, texts, {"a": {"kind": "x"}}))
    monkeypatch.setattr(writing, "_plan", lambda *given: given[3:])
    monkeypatch.setattr(writing, "fingerprint", lambda parts: marks.append(parts) or "mark")
    monkeypatch.setattr(writing, "unfinished_folder", lambda folder, run: folder / run)
    monkeypatch.setattr(writing, "_save", lambda made, folder: saved.append(folder))
    monkeypatch.setattr(
        "longform.decoding.continuations.generate", lambda **given: calls.append(given) or corpus()
    )
    folder = tmp_path if out else None
    found = writing.generate(
        "m",
        "p",
        "a",
        prompt="text",
        new_tokens=9,
        repeats=2,
        batch=3,
        seed=4,
        out=folder,
        announce=told.append,
    )
    assert told == [(9, 2)] and saved == ([tmp_path] if out else [])
    assert calls == [{
        "model": "opened", "prefixes": documents, "name": writing.NAME, "seed": 4,
        "scratch": tmp_path / "mark" if out else None, "decoders": {"a": {"kind": "x"}}, "new_tokens": 9,
        "repeats": 2, "split": None, "batch": 3, "prompt": "text",
    }]  # fmt: skip
    assert marks == (
        [[["stamp"], {"a": {"kind": "x"}}, ["text", 9, 2, 3, 4], documents[0].to_record()]]
        if out
        else []
    )
    assert (found.model, found.folder, found.facts["prompt"], found.facts["seed"]) == (
        "m",
        folder,
        "text",
        4,
    )
    assert list(found.texts) == ["a", "b"]
    assert found.facts["set_aside"] == [("line 2", "no word in it")]
    writing.generate("m", "p", announce=told.append)
    assert (calls[1]["seed"], calls[1]["batch"], calls[1]["new_tokens"]) == (
        writing.SEED,
        writing.BATCH,
        writing.NEW_TOKENS,
    )
    assert calls[1]["prompt"] == "text" and calls[1]["repeats"] is None


def test_a_plan_writes_a_few_tokens_and_times_them(monkeypatch):
    @contextmanager
    def opened():
        yield "opened"

    timed = []
    named = SimpleNamespace(opened_folder=opened)
    texts = SimpleNamespace(documents=["p", "q", "r"])
    monkeypatch.setattr(writing, "_checked", lambda *given: (named, texts, "settings"))
    monkeypatch.setattr(writing, "_plan", lambda *given: WritingPlan("m", 3, {"a": 6}, 9))
    monkeypatch.setattr(
        "longform.decoding.continuations.usable_prefixes",
        lambda *given: {("opened", ("p", "q", "r"), "text", 9): 2}[
            given[0], tuple(given[1]), *given[2:]
        ],
    )
    monkeypatch.setattr(
        "longform.decoding.timing.seconds_to_write", lambda *given: timed.append(given) or 8.5
    )
    plan = writing.plan_writing("m", "p", "a", new_tokens=9, batch=3)
    assert plan == WritingPlan("m", 3, {"a": 4}, 9, 8.5, left_out=1) and timed == [
        ("opened", "settings", {"a": 4}, 9, 3)
    ]
    sentence = "1 prompt is left out (empty, untitled, or too long for the window)"
    assert plan.text().endswith(f"; about 8 s; {sentence}")
