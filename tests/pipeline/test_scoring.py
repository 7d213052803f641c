"""A critic's answers to the questions that are asked of any critic, from predictions in a folder."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from longform.critics.perplexity.score import LogProbs, Perplexity
from longform.documents import (
    Chain,
    Corpus,
    Document,
    Predictions,
    Section,
    chains_to_predictions,
    ragged,
)
from longform.evaluation import human_ratings
from longform.evaluation.corruption_response import corruption_response, of_failure, of_severity
from longform.evaluation.order_discrimination import order_discrimination
from longform.files.artefacts import read_json, write_corpus, write_json, write_predictions
from longform.results import Record, read_results, write_results
from longform.settings import parse_kind
from longform.statistics.markov_chain import BigramCritic
from longform.text.permutations import permuted_documents
from longform_lab import scoring
from longform_lab.experiment import System
from longform_lab.score_entries import Entry, answer
from longform_lab.scoring import curve, metrics, ratings
from longform_lab.settings.critics import METRICS
from longform_lab.settings.entries import EvaluationPlacement, MetricPlacement, QuestionPlacement
from tests.refusals import refuses

PLACE = "mine.critics.x.scores"


def study(folder, read_as=None):
    """A study of one seed without settings but those that say as what a corpus is read."""
    settings = {} if read_as is None else {"read_as": read_as}
    return SimpleNamespace(data=folder, seed=3, settings=lambda *_: settings)


def keep(folder, critic, corpus, name, predictions):
    path = folder / System("mine", corpus).predictions(critic, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_predictions(path, predictions)


def words(rows, split="test"):
    """Log-probabilities of texts as a reader writes them."""
    arrays = ragged("token_logprob", list(rows.values()), np.float32)
    return Predictions(tuple(rows), (split,) * len(rows), arrays)


def asked(folder, critic, question, settings, read_as=None):
    written = {"kind": "word_ppl", "predictions": "words", **settings}
    placed, chosen = parse_kind(METRICS, QuestionPlacement, written, PLACE)
    entry = Entry("mine", critic, question, "x", placed, chosen)
    return answer(study(folder, read_as), entry)


def test_values_of_texts_stand_alone_and_wordless_ones_are_counted(tmp_path):
    rows = {"a": [-1.0, -3.0], "b": [], "c": [-0.5] * 4}
    keep(tmp_path, "perplexity", "summaries", "words", words(rows, "validation"))
    (record,) = asked(tmp_path, "perplexity", "human_ratings", {})
    assert (record.critic, record.metric, record.task) == ("perplexity", "text_values", "x")
    assert (record.corpus, record.system) == ("summaries", "data")
    assert (record.units, record.excluded, record.better) == (2, 1, "lower")
    assert record.details["unit_ids"] == ["a", "b", "c"]
    assert record.signature.startswith("Perplexity")
    first, second, third = record.details["values"]
    assert (first, second, third) == (pytest.approx(math.e**2), None, pytest.approx(math.e**0.5))


SOUND = {f"sound@0/d{n}": [-1.0 - 0.1 * n, -1.0] for n in range(6)}
DAMAGED = {f"drop@0.5/d{n}": [-2.0 - 0.1 * n, -1.5] for n in range(6)}


def test_damage_is_drawn_by_the_studys_seed_and_the_entrys_number(tmp_path):
    rows = {**SOUND, **DAMAGED}
    keep(tmp_path, "perplexity", "corruptions", "words", words(rows))
    found = asked(tmp_path, "perplexity", "corruption_response", {})
    units = [LogProbs(name, "test", np.array(row, dtype=np.float32)) for name, row in rows.items()]
    names = (3, "mine.critics.perplexity.scores.corruption_response.x")
    alone = corruption_response(Perplexity(), units, case=of_failure, names=names, name="x")
    assert [(r.task, r.severity, r.value, r.low, r.high, r.p_value) for r in found] == [
        (r.task, r.severity, r.value, r.low, r.high, r.p_value) for r in alone
    ]
    assert [(r.critic, r.corpus, r.system) for r in found] == 2 * [("x", "corruptions", "data")]
    sound, damaged = found
    assert sound.value == pytest.approx(math.exp(sum(map(sum, SOUND.values())) / -12))
    assert damaged.reference == sound.value and damaged.severity == 0.5


def test_severities_are_read_off_ids_and_recorded_under_their_corpus(tmp_path):
    rows = {
        f"d{n}@{severity}": [-1.0 - severity - 0.1 * n] for n in range(5) for severity in (0, 1)
    }
    keep(tmp_path, "perplexity", "wrong_pronoun", "words", words(rows))
    found = asked(tmp_path, "perplexity", "severities", {})
    assert [(r.critic, r.task, r.severity) for r in found] == [
        ("perplexity", "wrong_pronoun", 0.0),
        ("perplexity", "wrong_pronoun", 1.0),
    ]
    units = [LogProbs(name, "test", np.array(row, dtype=np.float32)) for name, row in rows.items()]
    alone = corruption_response(
        Perplexity(),
        units,
        case=of_severity,
        names=(3, "mine.critics.perplexity.scores.severities.x"),
        name="x",
    )
    assert [r.low for r in found] == [r.low for r in alone]


def chains(rows, split):
    return [Chain(name, split, tuple(symbols)) for name, symbols in rows.items()]


def test_a_critic_learns_from_the_training_text_that_its_study_reads(tmp_path):
    taught = chains({f"t{n}": "abc" for n in range(9)}, "train")
    taught += chains({"left out": "cba"}, "validation")
    judged = {}
    for n in range(4):
        judged |= {f"d{n}": "abc", f"d{n}/block_1/0": "cba", f"d{n}/block_1/1": "bac"}
    texts = chains(judged, "test")
    keep(tmp_path, "section_order", "wiki", "gold", chains_to_predictions(taught))
    keep(tmp_path, "section_order", "shuffled_wiki", "gold", chains_to_predictions(texts))
    entry = {"kind": "bigram", "predictions": "gold"}
    found = asked(
        tmp_path, "section_order", "order_discrimination", entry, {"shuffled_wiki": "wiki"}
    )
    fitted = BigramCritic().fit_units(taught[:9])
    alone = order_discrimination({"x": fitted}, permuted_documents(texts))
    shown = [(r.metric, r.task, r.value, r.low, r.signature) for r in found]
    assert shown == [(r.metric, r.task, r.value, r.low, r.signature) for r in alone]
    accuracy = [r.value for r in found if r.metric == "pairwise_accuracy"]
    assert accuracy == [1.0] and {r.corpus for r in found} == {"shuffled_wiki"}


def test_shown_metrics_are_means_over_seeds_by_corpus_and_system():
    def record(value, system="lm", metric="ppl", **more):
        return Record("c", metric, corpus="wiki", system=system, value=value, **more)

    shown = metrics([
        record(2.0, seed=1), record(4.0, seed=2), record(9.0, system="data"),
        record(5.0, metric="acc", variant="gold"), record(7.0, metric="acc", task="section_1"),
        record(None, metric="lost"), record(math.nan, metric="undefined"),
        record(2.0, metric="partly", seed=1), record(math.nan, metric="partly", seed=2), record(1.0, metric="kept", seed=1), record(3.0, metric="kept"),
    ])  # fmt: skip
    assert shown == {
        "wiki": {"lm": {"ppl": 3.0, "acc_gold": 5.0, "kept": 3.0}, "data": {"ppl": 9.0}}
    }


def test_an_evaluation_shows_the_listed_metrics_and_records_all(tmp_path, monkeypatch):
    few = EvaluationPlacement(predictions="checks", shown=["SPG"])
    placements = {
        "a": few,
        "b": EvaluationPlacement(predictions="p"),
        "c": MetricPlacement(predictions="p"),
    }
    entries = [Entry("mine", "x", "any", name, placed, None) for name, placed in placements.items()]

    def records_of(_, entry):
        fields = {"corpus": entry.name, "system": "data"}
        return [Record("x", name, value=2.0, units=9, **fields) for name in ("SPG", "SPV")]

    monkeypatch.setattr(scoring, "read_entries", lambda *_: entries)
    monkeypatch.setattr(scoring, "records_of", records_of)
    scoring.score(study(tmp_path), "mine", "x")
    both = {"data": {"SPG": 2.0, "SPV": 2.0}}
    shown = read_json(tmp_path / "metrics/mine/x.json")
    assert shown == {"a": {"data": {"SPG": 2.0}}, "b": both, "c": both}
    assert len(read_results(tmp_path / "scores/mine/x.json")) == 6


def test_ratings_stand_beside_every_critics_values_of_the_same_text(tmp_path, monkeypatch):
    names, given = ["a", "b", "c"], []
    truth = {
        "marks": np.array([[1.0, 2.0], [3.0, 3.0], [np.nan, 5.0]], np.float32),
        "cluster": np.array(["x", "y", "y"]),
    }
    documents = [Document(name, "test", (Section(None, "A text."),)) for name in names]
    write_corpus(tmp_path / System("mine", "summaries").texts, Corpus(documents, truth))

    def kept(task, ids, values, better):
        more = {"corpus": "summaries", "better": better, "signature": f"{task}()", "units": 2}
        details = {"unit_ids": ids, "values": values}
        return Record(task, "text_values", task=task, details=details, **more)

    records = [
        kept("p", ["c", "a"], [7.0, 5.0], "higher"),
        kept("q", names, [1.0, None, 3.0], "lower"),
        replace(kept("p", names, [9.0, 9.0, 9.0], "higher"), corpus="elsewhere"),
        replace(kept("r", names, [8.0, 8.0, 8.0], "higher"), metric="another"),
    ]
    write_results(tmp_path / "scores" / "mine" / "both.json", records)

    def recorded(*arguments, **named):
        given.append((*arguments, named))
        return [Record("p", f"asked_{len(given)}", value=0.5)]

    monkeypatch.setattr(human_ratings, "rating_records", recorded)
    monkeypatch.setattr(human_ratings, "combined_scorers", recorded)
    ratings(study(tmp_path), "mine", "summaries")
    (columns, marks, clusters, systems, told, named), (again, means, sources, _) = given
    assert {name: column.tolist() for name, column in columns.items()} == {
        "p": [5.0, pytest.approx(math.nan, nan_ok=True), 7.0],
        "q": [1.0, pytest.approx(math.nan, nan_ok=True), 3.0],
    }
    assert again is columns and means.tolist() == [1.5, 3.0, 5.0]
    assert np.array_equal(marks, truth["marks"], equal_nan=True) and marks.dtype == np.float64
    assert clusters == sources == ["x", "y", "y"] and systems == ["", "", ""]
    assert told == {"p": ("higher", "p()"), "q": ("lower", "q()")}
    assert named == {"name": "mine summaries"}
    found = read_results(tmp_path / "scores" / "human_ratings" / "summaries.json")
    assert [(r.metric, r.corpus) for r in found] == [
        ("asked_1", "summaries"),
        ("asked_2", "summaries"),
    ]


def test_ratings_without_marks_or_critics_are_refused(tmp_path):
    documents = [Document("d", "test", (Section(None, "A text."),))]
    write_corpus(tmp_path / System("mine", "summaries").texts, Corpus(documents))
    (tmp_path / "scores" / "mine").mkdir(parents=True)
    refuses("0 critics, marks of the corpus: False", ratings, study(tmp_path), "mine", "summaries")
    record = Record("p", "text_values", corpus="summaries", task="p")
    write_results(tmp_path / "scores" / "mine" / "one.json", [record])
    refuses("1 critics, marks of the corpus: False", ratings, study(tmp_path), "mine", "summaries")
    marked = Corpus(documents, {"marks": np.ones((1, 2))})
    write_corpus(tmp_path / System("mine", "others").texts, marked)
    refuses("0 critics, marks of the corpus: True", ratings, study(tmp_path), "mine", "others")


def test_the_curve_has_a_line_for_each_system_of_each_corpus(tmp_path):
    words = {
        "wiki": {"data": {"word_ppl": 5.0}, "lm": {"word_ppl": 7.5}},
        "arxiv": {"lm": {"word_ppl": 9.0}, "data": {"word_ppl_recent": 4.0}},  # no line
    }
    write_json(tmp_path / "metrics" / "mine" / "perplexity.json", words)
    latent = {"wiki": {"lm": {"latent_ppl": 2.5}}}
    write_json(tmp_path / "metrics" / "mine" / "section_order.json", latent)
    curve(study(tmp_path), "mine")
    lines = (tmp_path / "plots" / "systems.csv").read_bytes().split(b"\n")
    assert lines[0] == b"corpus,system,word_ppl,latent_ppl" and lines.pop() == b""
    assert sorted(lines[1:]) == [b"arxiv,lm,9.0,", b"wiki,data,5.0,", b"wiki,lm,7.5,2.5"]
