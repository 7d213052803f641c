"""Items, conditions and formulas of the seven suites, by hand on a few sources."""

from types import SimpleNamespace

import pytest

from longform.datasets.settings import FileDataset, NativeSuites
from longform.datasets.test_suites import native
from longform.documents import Corpus
from tests.refusals import refuses

PAPERS_CONNECTIVES = ("although", "as", "however", "since", "though", "while", "yet")


def conditions(item):
    return {one.name: [region.content for region in one.regions] for one in item.conditions}


def swapped(units, rng):
    if len(set(units)) < 2:
        raise native.BadInput("one order")
    return list(reversed(units)), {"kind": "reversed"}


def test_units_in_their_order_stand_against_all_and_all_but_the_last(monkeypatch):
    streams = []
    monkeypatch.setattr(native, "generator", lambda *names: streams.append(names))
    monkeypatch.setattr(native, "shuffled", swapped)
    monkeypatch.setattr(native, "context_shuffled", swapped)
    texts = [("t1", ["a", "b", "c"]), ("t2", ["a", "a"]), ("t3", ["d", "e"])]
    whole, context = native.orders("D", texts, 5, " |")
    assert (whole.name, context.name) == ("D_all", "D_context")
    assert (*whole.predictions, *context.predictions) == (
        "(*;%shuffled%) > (*;%original%)", "(2;%shuffled%) > (2;%original%)",
    )  # fmt: skip
    assert [item.number for item in whole.items] == [1, 3]
    assert conditions(whole.items[0]) == {
        "original": ["a | b |", "c"],
        "shuffled": ["c | b |", "a"],
    }
    assert whole.items[1].edits == ({"kind": "reversed", "source": "t3"},)
    assert whole.meta["excluded"] == {"no other order": 1} and whole.metric == "mean"
    assert whole.region_names == {"1": "context", "2": "last"}
    assert streams[:2] == [(5, "sentence order", "all", name) for name in ("t1", "t2")]
    assert streams[3] == (5, "sentence order", "context", "t1")
    (plain, _) = native.orders("D", texts[:1], 5)
    assert conditions(plain.items[0])["original"] == ["a b", "c"]


def test_stories_are_ordered_with_their_right_ending_and_judged_by_both(monkeypatch):
    rows = [("s", ["a", "b"], "right", "wrong"), ("u", ["c"], "r", "w")]
    monkeypatch.setattr(native.readers, "read_stories", lambda path: rows)
    given = []
    monkeypatch.setattr(native, "orders", lambda *rest: given.append(rest) or [])
    (cloze,) = native.stories("path", 5)
    assert given == [("N", [("s", ("a", "b", "right")), ("u", ("c", "r"))], 5)]
    assert cloze.name == "story_cloze" and [item.number for item in cloze.items] == [1, 2]
    assert conditions(cloze.items[0]) == {
        "original_ending": ["a b", "right"], "distractor_ending": ["a b", "wrong"],
    }  # fmt: skip
    assert cloze.predictions == ("(2;%distractor_ending%) > (2;%original_ending%)",)
    assert cloze.items[1].edits == ({"kind": "ending", "source": "u"},)


@pytest.mark.parametrize(
    ("first", "names"), [(0, ["target", "distractor"]), (1, ["distractor", "target"])]
)
def test_the_seed_draws_which_candidate_is_written_first(first, names, monkeypatch):
    streams = []
    draw = SimpleNamespace(integers=lambda below: first if below == 2 else None)
    monkeypatch.setattr(native, "generator", lambda *given: streams.append(given) or draw)
    schema = SimpleNamespace(
        schema_id="q",
        before="It fell because",
        after="was.",
        candidates=("The box", "The ball"),
        right=1,
    )
    suite = native.winograd("w", [schema], "partial", 5)
    (item,) = suite.items
    assert streams == [(5, "sides", "q")] and [one.name for one in item.conditions] == names
    assert conditions(item)["target"] == ["It fell because", "the ball", "was."]
    assert conditions(item)["distractor"][1] == "the box"
    assert item.edits == ({"kind": "candidate", "source": "q", "first": names[0]},)
    assert suite.predictions == ("(3;%distractor%) > (3;%target%)",)
    kept = native.winograd("w", [schema], "full", 5, lower=False)
    assert conditions(kept.items[0])["target"][1] == "The ball"
    assert kept.predictions == ("(*;%distractor%) > (*;%target%)",)


def test_a_pronoun_stands_against_its_antecedent(monkeypatch):
    def rementioned(second, start, end, antecedent, possessive):
        if antecedent == "nobody":
            raise native.BadInput("nothing")
        return f"{second[:start]}{antecedent}{second[end:]}", {"possessive": possessive}

    rows = [SimpleNamespace(first="Ann came.", second="She ran.", start=0, end=3, antecedent=name, possessive=False, source=name)
            for name in ("nobody", "Ann")]  # fmt: skip
    monkeypatch.setattr(native, "read_re_mentions", lambda path: rows)
    monkeypatch.setattr(native, "rementioned", rementioned)
    suite = native.re_mentions("news", "path")
    (item,) = suite.items
    assert (suite.name, item.number) == ("coreference_news", 2)
    assert suite.meta["excluded"] == {"nothing to replace": 1}
    assert conditions(item) == {
        "pronoun": ["Ann came.", "She ran."],
        "repetition": ["Ann came.", "Ann ran."],
    }
    assert suite.predictions == ("(2;%repetition%) > (2;%pronoun%)",)
    assert item.edits == ({"possessive": False, "source": "Ann"},)


def use(connective, sense, before="It rained", after="we went", number=0):
    text = f"{before} {connective} {after}".strip()
    start = text.index(connective)
    return SimpleNamespace(
        connective=connective,
        sense=sense,
        text=text,
        start=start,
        end=start + len(connective),
        use_id=f"u{number}",
    )


def uses():
    return [
        use("yet", "contrast", number=0), use("yet", "contrast", number=1), use("yet", "time", number=2),
        use("yet", "contrast", before="", number=3), use("yet", "contrast", after="", number=4),
        use("meanwhile", "time", number=5),
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", ["jsonl", "txt"])
def test_a_connective_is_replaced_by_each_other_one(suffix, monkeypatch, tmp_path):
    kinds = {"read_connective_lines": "jsonl", "read_disco_annotation": "txt"}
    for name, kind in kinds.items():
        monkeypatch.setattr(
            native.readers, name, lambda path, kind=kind: uses() if kind == suffix else []
        )
    suites = list(native.connectives(tmp_path / f"uses.{suffix}", 2, False, None, (5,)))
    others = [other for other in native.CONNECTIVES if other != "yet"]
    assert [suite.name for suite in suites] == [
        f"connective_yet_contrast_as_{other}" for other in others
    ]
    first = suites[0]
    assert [item.number for item in first.items] == [1, 2]
    assert conditions(first.items[0]) == {
        "original": ["It rained", "yet", "we went"], "manipulated": ["It rained", others[0], "we went"],
    }  # fmt: skip
    assert first.items[1].edits[0]["source"] == "u1" and first.meta["excluded"] == {
        "opens its segment": 1
    }
    assert first.predictions == ("(3;%manipulated%) > (3;%original%)",)
    assert len(list(native.connectives(tmp_path / f"uses.{suffix}", 3, False, None, (5,)))) == 0
    assert len(list(native.connectives(tmp_path / f"uses.{suffix}", 1, False, None, (5,)))) == 12


def test_the_same_speaker_contradicts_where_the_label_is_negative(monkeypatch):
    rows = [
        ("a", "Yes.", "No.", "negative"),
        ("b", "Yes.", "Yes.", "positive"),
        ("c", "I do.", "I do not.", "negative"),
    ]
    monkeypatch.setattr(native.readers, "read_dialogue_nli", lambda path: rows)
    (suite,) = native.speaker_commitment("path")
    assert [item.number for item in suite.items] == [1, 2]
    assert conditions(suite.items[0]) == {
        "speaker_change": ["Yes. [SEP]", "No."], "same_speaker": ["Yes.", "No."],
    }  # fmt: skip
    assert (
        suite.meta["excluded"] == {"label positive": 1} and suite.items[1].edits[0]["source"] == "c"
    )
    assert suite.predictions == ("(2;%same_speaker%) > (2;%speaker_change%)",)


def test_texts_that_are_drawn_keep_their_order(monkeypatch):
    import numpy as np

    draw = SimpleNamespace(permutation=lambda count: np.array([3, 1, 0, 2])[:count])
    monkeypatch.setattr(native, "generator", lambda *names: draw if names == (5, "most") else None)
    assert native.sample("abcd", 2, (5,)) == ["b", "d"] and native.sample("abcd", None, (5,)) == [
        *"abcd"
    ]


def test_sources_of_a_corpus_go_to_their_builders_with_the_settings(monkeypatch, tmp_path):
    calls = []

    def called(name, result=()):
        def record(*positional, **keywords):
            calls.append((name, (*positional, *keywords.values())))
            return result

        return record

    for name in ("stories", "orders", "connectives", "speaker_commitment", "re_mentions"):
        monkeypatch.setattr(
            native,
            name,
            called(name, f"suite of {name}" if name == "re_mentions" else [f"suite of {name}"]),
        )
    monkeypatch.setattr(native, "winograd", called("winograd", "suite of winograd"))
    monkeypatch.setattr(native, "sample", lambda texts, most, seed: (texts, most, seed))
    monkeypatch.setattr(native, "_dialogues", lambda path, drop: (path.name, drop))
    monkeypatch.setattr(native.readers, "read_narration", lambda path, count: (path.name, count))
    monkeypatch.setattr(native.readers, "read_schemas", lambda path: f"schemas of {path.name}")
    monkeypatch.setattr(native, "checked", lambda suite: suite)
    monkeypatch.setattr(
        native,
        "replace",
        lambda suite, metric: SimpleNamespace(
            name=suite, metric=metric, meta={"excluded": {"x": 1}}
        ),
    )
    monkeypatch.setattr(
        native,
        "suites_to_corpus",
        lambda suites, facts: Corpus([], facts={"suites": suites, **facts}),
    )
    sources = {
        "stories": "a", "dialogues": "b", "narration": "c", "schemas": "d", "re_mentions": {"news": "e"},
        "connectives": "f", "statements": "g",
    }  # fmt: skip
    corpus = native.build(name="n", seed=5, raw=tmp_path, sources=sources)
    draws = (5, "n")
    assert calls == [
        ("stories", (tmp_path / "a", draws)), ("orders", ("D", (("b", False), None, draws), draws, " [SEP]")),
        ("orders", ("N", (("c", 5), None, draws), draws)),
        ("winograd", ("winograd_full", "schemas of d", "full", draws, True)),
        ("winograd", ("winograd_partial", "schemas of d", "partial", draws, True)),
        ("re_mentions", ("news", tmp_path / "e")),
        ("connectives", (tmp_path / "f", 1, False, None, draws, PAPERS_CONNECTIVES)), ("speaker_commitment", (tmp_path / "g",)),
    ]  # fmt: skip
    assert {suite.metric for suite in corpus.facts["suites"]} == {"mean"} and len(
        corpus.facts["suites"]
    ) == 8
    assert corpus.facts["excluded"]["suite of winograd"] == {"x": 1}
    calls.clear()
    settings = {
        "lower": False,
        "least": 3,
        "match_case": True,
        "most": 7,
        "drop_last": True,
        "replaced": ["as", "since"],
        "metric": "sum",
    }
    corpus = native.build(name="n", seed=5, raw=tmp_path, sources=sources, **settings)
    assert calls[1] == ("orders", ("D", (("b", True), 7, draws), draws, " [SEP]"))
    assert calls[3][1][4] is False and calls[6] == (
        "connectives",
        (tmp_path / "f", 3, True, 7, draws, ["as", "since"]),
    )
    assert corpus.facts["suites"][0].metric == "sum"
    refuses(
        r"prepare n: sources \['x'\]; allowed are",
        native.build,
        name="n",
        seed=5,
        raw=tmp_path,
        sources={"x": "a"},
    )


def test_texts_are_cut_into_sentences_and_suites_read_as_they_are(monkeypatch, tmp_path):
    (tmp_path / "t").write_text("One. Two.\n\nThree. Four.\n")
    (tmp_path / "s").mkdir()
    for name in ("b.json", "a.json", "c.txt"):
        (tmp_path / "s" / name).write_text("")
    given = []
    monkeypatch.setattr(native, "orders", lambda *rest: given.append(rest) or [])
    suite = SimpleNamespace(name="s", meta={})
    monkeypatch.setattr(native, "read_suite", lambda path: given.append(path.name) or suite)
    monkeypatch.setattr(native, "suites_to_corpus", lambda suites, facts: (suites, facts))
    found = native.build(
        name="n", seed=5, raw=tmp_path, sources={"texts": {"en": "t"}, "suites": "s"}
    )
    cut = [("en-1", ["One.", "Two."]), ("en-2", ["Three.", "Four."])]
    assert given == [("en", cut, (5, "n")), "a.json", "b.json"]
    assert found == ([suite, suite], {"excluded": {"s": {}}})


@pytest.mark.parametrize(("name", "kind"), [("a.csv", "generated"), ("a.txt", "persona True")])
def test_dialogues_are_generated_tables_or_persona_chat(name, kind, monkeypatch, tmp_path):
    monkeypatch.setattr(native.readers, "read_generated_dialogues", lambda path: "generated")
    monkeypatch.setattr(native.readers, "read_persona_chat", lambda path, drop: f"persona {drop}")
    assert native._dialogues(tmp_path / name, True) == kind


def test_kinds_of_sources_are_told_in_their_order():
    with pytest.raises(ValueError, match=r"got 'x', allowed are \['stories', 'dialogues', 'schem"):
        NativeSuites(sources={"x": "a"})


def test_a_dataset_that_loads_nothing_says_so(tmp_path):
    with pytest.raises(NotImplementedError):
        FileDataset().load(tmp_path, name="n", seed=0, scratch=tmp_path, beside=None)
