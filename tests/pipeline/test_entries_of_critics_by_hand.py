"""Which texts a critic's entries read and score, and what their records hold, with stand-ins for the critics."""

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from longform.documents import Corpus, Document, Predictions, Section
from longform.files.artefacts import read_predictions, write_arrays, write_corpus
from longform.results import Record
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform_lab import criticism, score_entries
from longform_lab.experiment import System
from longform_lab.score_entries import Entry
from longform_lab.settings.entries import (
    EvaluationPlacement,
    MetricPlacement,
    QuestionPlacement,
    ReadingPlacement,
    TrainingPlacement,
)
from tests.refusals import refuses

DATA = System("s", "wiki")
WITH, WITHOUT = (System("s", "wiki", "gpt2", titles) for titles in (True, False))
OTHER = System("s", "wiki", "lstm", False)


class Study:
    """An experiment of one study whose corpora have the systems that are given."""

    seed = 5

    def __init__(self, folder, systems=(WITH, WITHOUT), read_as=None, **critics):
        self.data, self.home, self.made = folder, folder, systems
        self.read_as, self.critics = read_as, critics

    def settings(self, *keys):
        if keys == ("s",):
            return {} if self.read_as is None else {"read_as": self.read_as}
        value = {"s": {"critics": self.critics}}
        for key in keys:
            value = value[key]
        return value

    def systems(self, study, corpus):
        return [System(study, corpus, one.model, one.titles, one.seed) for one in self.made]

    def corpora_of(self, study, critic):
        assert (study, critic) == ("s", "grid")
        return ["wiki", "pubmed"]

    def documents(self, system):
        return f"documents of {system.corpus}"


# -- reading --


def entry(placed, reading=None, name="words"):
    return criticism.Entry("grid", name, f"s.critics.grid.predictions.{name}", placed, reading)


@pytest.mark.parametrize(
    ("fields", "files"),
    [
        ({"corpora": ["wiki"]}, ["wiki/data", "wiki/gpt2-with_titles", "wiki/gpt2-without_titles"]),
        ({"of": "data"}, ["wiki/data", "pubmed/data"]),
    ],
)
def test_an_entry_reads_all_systems_of_its_corpora(fields, files, tmp_path):
    found = criticism._files(Study(tmp_path), "s", entry(ReadingPlacement(**fields)))
    assert [path.as_posix() for path in found.values()] == [f"{file}/words.npz" for file in files]
    named = criticism._files(Study(tmp_path), "s", entry(ReadingPlacement(**fields, **{"as": "w"})))
    assert {path.name for path in named.values()} == {"w.npz"}
    assert all(path.parts[0] == system.corpus for system, path in found.items())


@pytest.mark.parametrize(
    ("reader", "system", "texts", "folder"),
    [
        ("critic", WITH, "generations/s/wiki/gpt2/with_titles", "critics/s/grid/wiki"),
        ("critic", DATA, "corpora/s/wiki", "critics/s/grid/wiki"),
        ("system", WITH, "corpora/s/wiki", "models/s/wiki/gpt2/with_titles"),
        ("corpus", WITH, "generations/s/wiki/gpt2/with_titles", "corpora/s/wiki"),
        ("base/{corpus}/x", DATA, "corpora/s/wiki", "base/wiki/x"),
    ],
)
def test_texts_are_read_by_the_critic_the_system_the_corpus_or_a_folder(
    reader, system, texts, folder, tmp_path
):
    placed = entry(ReadingPlacement(reader=reader))
    assert criticism._inputs(Study(tmp_path), placed, system) == (
        tmp_path / texts,
        tmp_path / folder,
    )
    elsewhere = entry(ReadingPlacement(reader=reader, texts="other/{corpus}"))
    assert criticism._inputs(Study(tmp_path), elsewhere, system)[0] == tmp_path / "other/wiki"


def test_a_corpus_may_be_read_by_the_critic_of_another(tmp_path):
    study = Study(tmp_path, read_as={"wiki": "pubmed"})
    placed = entry(ReadingPlacement())
    assert criticism._inputs(study, placed, DATA)[1] == tmp_path / "critics/s/grid/pubmed"
    assert criticism._inputs(study, placed, System("s", "cities"))[1].name == "cities"


class Reading:
    """Keeps what it is given and reads one number a text."""

    def __init__(self):
        self.given = []

    def predict(self, inputs):
        self.given.append(inputs)
        chosen = [one for one in inputs.documents if one.split in inputs.splits]
        return Predictions.of(chosen, {"x": np.arange(len(chosen), dtype=np.float32)})


def keep_texts(folder, splits, truth=None):
    documents = [
        Document(f"d{i}", split, (Section(None, "A b."),)) for i, split in enumerate(splits)
    ]
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_corpus(folder, Corpus(documents, truth or {}, {}))


@pytest.mark.parametrize(
    ("system", "fields", "splits", "titles"),
    [
        (DATA, {}, ["test"], False),
        (DATA, {"splits": ["train", "test"], "titles": True}, ["train", "test"], True),
        (WITH, {}, ["generated"], True),
        (WITHOUT, {}, ["generated"], False),
        (WITH, {"titles": False}, ["generated"], False),
        (WITH, {"reader": "system"}, ["test"], True),
    ],
)
def test_a_reading_is_of_the_splits_of_a_corpus_or_of_generated_texts(
    system, fields, splits, titles, tmp_path, capsys
):
    reading = Reading()
    placed = entry(ReadingPlacement(**fields), reading)
    study = Study(tmp_path)
    texts, reader = criticism._inputs(study, placed, system)
    keep_texts(texts, ["train", "test", "generated", "test"])
    criticism._read(study, placed, (system, tmp_path / "new" / "words.npz"))
    (given,) = reading.given
    assert (given.splits, given.titles, given.seed, given.reader) == (splits, titles, 5, reader)
    assert given.name == f"grid words wiki {system.folder}" and given.reader_truth == {}
    kept = read_predictions(tmp_path / "new" / "words.npz")
    assert list(kept.splits) == [s for s in ["train", "test", "generated", "test"] if s in splits]
    assert "text_cut" not in kept.arrays
    assert capsys.readouterr().out == f"read grid words: wiki {system.folder}\n"


def test_a_reading_knows_its_readers_truth_and_which_texts_were_cut(tmp_path):
    reading = Reading()
    placed = entry(ReadingPlacement(reader="corpus"), reading)
    texts = tmp_path / WITH.texts
    keep_texts(texts, ["generated"] * 3, {"cut": np.array([False, True, False])})
    (tmp_path / DATA.texts).mkdir(parents=True)
    write_arrays(tmp_path / DATA.texts / "truth.npz", {"chain": np.array([1, 2])})
    criticism._read(Study(tmp_path), placed, (WITH, tmp_path / "words.npz"))
    (given,) = reading.given
    assert given.reader_truth["chain"].tolist() == [1, 2]
    assert given.truth["cut"].tolist() == [False, True, False]
    assert read_predictions(tmp_path / "words.npz").arrays["text_cut"].tolist() == [
        False,
        True,
        False,
    ]


def test_a_corpus_without_the_splits_of_an_entry_is_refused(tmp_path):
    placed = entry(ReadingPlacement(splits=["validation"]), Reading())
    keep_texts(tmp_path / DATA.texts, ["test"])
    sentence = r"grid.predictions.words: corpora/s/wiki has no text of splits \['validation'\]"
    refuses(sentence, criticism._read, Study(tmp_path), placed, (DATA, tmp_path / "x.npz"))


def test_only_what_was_not_read_is_read_and_all_of_it_is_kept(tmp_path, monkeypatch):
    """Two entries over the data and one system; the second finds one file in its scratch folder."""
    works, readings, sides = [], [], []

    @contextmanager
    def resumable(experiment, name, settings, *inputs):
        works.append((name, settings, inputs))
        scratch = tmp_path / "scratch" / name.split()[-1]
        scratch.mkdir(parents=True, exist_ok=True)
        yield scratch

    def side_by_side(work, items):
        sides.append(list(items))
        for item in items.values():
            work(item)

    def read(experiment, entry, target):
        system, file = target
        readings.append((entry.name, system.folder))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{entry.name} {system.folder}")

    placed = ReadingPlacement(corpora=["wiki"])
    monkeypatch.setattr(criticism, "resumable", resumable)
    monkeypatch.setattr(criticism, "side_by_side", side_by_side)
    monkeypatch.setattr(criticism, "_read", read)
    monkeypatch.setattr(
        criticism,
        "_entry",
        lambda experiment, study, critic, name: entry(placed, name.upper(), name),
    )
    old = tmp_path / "scratch" / "b" / "wiki" / "data" / "b.npz"
    old.parent.mkdir(parents=True)
    old.write_text("read before")
    study = Study(tmp_path, systems=(WITH,), grid={"predictions": {"a": {}, "b": {}}})
    criticism.read(study, "s", "grid")
    assert readings == [("a", "data"), ("a", "gpt2-with_titles"), ("b", "gpt2-with_titles")]
    assert sides == [["wiki/data", "wiki/gpt2-with_titles"], ["wiki/gpt2-with_titles"]]
    texts = [tmp_path / "corpora/s/wiki", tmp_path / "generations/s/wiki/gpt2/with_titles"]
    inputs = (texts[0], tmp_path / "critics/s/grid/wiki", texts[1])
    assert works == [
        ("read s grid a", ["A", placed], inputs),
        ("read s grid b", ["B", placed], inputs),
    ]
    target = tmp_path / "predictions" / "s" / "grid" / "wiki"
    assert (target / "data" / "b.npz").read_text() == "read before"
    assert (target / "gpt2-with_titles" / "b.npz").read_text() == "b gpt2-with_titles"
    assert len(list(target.rglob("*.npz"))) == 4


def test_a_critic_learns_from_each_corpus_in_turn(tmp_path, monkeypatch):
    works, inputs = [], []

    @contextmanager
    def resumable(experiment, name, settings, *given):
        works.append((name, settings, given))
        yield Path("scratch") / name

    class Training:
        def fit(self, given):
            inputs.append(given)
            return SimpleNamespace(save=lambda folder: (folder / "model").write_text(given.name))

    training = Training()
    placed = TrainingPlacement()
    monkeypatch.setattr(criticism, "parse_kind", lambda *given: (placed, training))
    monkeypatch.setattr(criticism, "resumable", resumable)
    study = Study(tmp_path, grid={"train": {}})
    criticism.train(study, "s", "grid")
    assert [(one.documents, one.base, one.name, one.seed, one.scratch) for one in inputs] == [
        (
            f"documents of {corpus}",
            tmp_path / "tokenizers/s",
            f"{corpus}-grid",
            5,
            Path(f"scratch/train s grid {corpus}"),
        )
        for corpus in ("wiki", "pubmed")
    ]
    start = tmp_path / "tokenizers/s"
    assert works == [
        (f"train s grid {corpus}", [training], (tmp_path / "corpora/s" / corpus, start))
        for corpus in ("wiki", "pubmed")
    ]
    folder = tmp_path / "critics" / "s" / "grid"
    assert (folder / "wiki" / "model").read_text() == "wiki-grid"
    assert sorted(path.name for path in folder.iterdir()) == ["pubmed", "wiki"]
    placed = TrainingPlacement(corpora=["cities"], base="base/{corpus}")
    criticism.train(study, "s", "grid")
    assert inputs[-1].base == tmp_path / "base/cities" and works[-1][2][1] == inputs[-1].base
    assert [path.name for path in folder.iterdir()] == ["cities"]


# -- scores --


def scored(kind, placed, settings, name="ppl"):
    return Entry("s", "grid", kind, name, placed, settings)


class Metric:
    """Scores the sum of a column; its better side is lower."""

    better = "lower"

    def sufficient_statistics(self, units):
        rows = [(unit.value, 0.0 if unit.value >= 0 else 1.0) for unit in units]
        return SufficientStatistics.of(units, ("sum", "excluded"), rows)

    def score_of(self, statistics):
        return statistics.total("sum")


@pytest.fixture
def measured(monkeypatch):
    """Measures with a stand-in for the fit and the units; gives what was compared and estimated."""
    calls = []
    units = {
        DATA: [SimpleNamespace(unit_id="r", value=1.0, split="test")],
        WITH: [
            SimpleNamespace(unit_id="a", value=4.0, cut=True),
            SimpleNamespace(unit_id="b", value=-1.0),
        ],
        WITHOUT: [SimpleNamespace(unit_id="c", value=2.0)],
    }

    def estimate(metric, statistics, rng):
        calls.append(("estimate", statistics.unit_ids))
        excluded = int(statistics.total("excluded"))
        value = metric.score_of(statistics)
        return Estimate(
            value, value - 1, value + 1, len(statistics.unit_ids) - excluded, excluded, "sig"
        )

    def compare(metric, one, other, rng):
        calls.append(("compare", one.unit_ids, other.unit_ids))
        return Comparison(0.0, 0.25, True, 9)

    def generator(*names):
        calls.append(names)

    monkeypatch.setattr(score_entries, "_fit", lambda experiment, real, first, entry: Metric())
    monkeypatch.setattr(
        score_entries, "_units_to_score", lambda experiment, system, entry: units[system]
    )
    monkeypatch.setattr(score_entries, "estimate", estimate)
    monkeypatch.setattr(score_entries, "compare", compare)
    monkeypatch.setattr(score_entries, "generator", generator)
    return calls


def test_systems_after_real_text_are_compared_with_it(measured, tmp_path, capsys):
    one = scored("metrics", MetricPlacement(predictions="words", variant="v"), None)
    real, with_titles, without = score_entries.measure(Study(tmp_path), DATA, one)
    assert (real.value, real.low, real.high, real.units, real.excluded) == (1.0, 0.0, 2.0, 1, 0)
    assert (real.reference, real.p_value, real.signature, real.better) == (
        None,
        None,
        "sig",
        "lower",
    )
    assert (with_titles.reference, with_titles.p_value, with_titles.paired) == (1.0, 0.25, True)
    assert (with_titles.units, with_titles.excluded) == (1, 1)
    assert with_titles.details == {"totals": {"sum": 3.0, "excluded": 1.0}, "cut": 1}
    assert without.details == {"totals": {"sum": 2.0, "excluded": 0.0}}
    assert [(r.critic, r.metric, r.system, r.titles, r.variant) for r in (real, with_titles)] == [
        ("grid", "ppl", "data", None, "v"),
        ("grid", "ppl", "gpt2", True, "v"),
    ]
    place = "s.critics.grid.scores.metrics.ppl"
    assert [call for call in measured if "compare" in call or "estimate" in call] == [
        ("estimate", ("r",)), ("estimate", ("a", "b")), ("compare", ("a", "b"), ("r",)),
        ("estimate", ("c",)), ("compare", ("c",), ("r",)),
    ]  # fmt: skip
    assert (5, f"{place} generations/s/wiki/gpt2/with_titles", "permutation") in measured
    assert (5, f"{place} corpora/s/wiki", "bootstrap") in measured
    assert capsys.readouterr().out.splitlines()[0] == "score grid ppl: wiki data 1.0000"


def test_a_metric_is_of_the_systems_and_titles_that_its_entry_names(measured, tmp_path):
    def systems(**fields):
        placed = MetricPlacement(predictions="words", **fields)
        records = score_entries.measure(Study(tmp_path), DATA, scored("metrics", placed, None))
        return [(record.system, record.titles, record.reference) for record in records]

    assert systems(titles=True) == [("gpt2", True, None)]
    assert systems(of="data") == [("data", None, None)]
    (record,) = score_entries.measure(
        Study(tmp_path),
        DATA,
        scored(
            "metrics", MetricPlacement(predictions="w", of="data", system="real", metric="m"), None
        ),
    )
    assert (record.system, record.metric) == ("real", "m")


def test_units_that_belong_together_are_resampled_together(measured, tmp_path, monkeypatch):
    """Groups are what is resampled; what is reported is how many units were scored."""

    class Grouped(Metric):
        def groups(self, units):
            return ["g"] * len(units)

        def describe(self, units):
            return {"described": len(units)}

    monkeypatch.setattr(score_entries, "_fit", lambda *given: Grouped())
    placed = MetricPlacement(predictions="words", titles=True)
    (record,) = score_entries.measure(Study(tmp_path), DATA, scored("metrics", placed, None))
    assert measured[-1] == ("estimate", ("g",))
    assert (record.units, record.excluded, record.details["described"]) == (1, 1, 2)


@pytest.mark.parametrize(
    ("fields", "there", "read"),
    [
        ({}, "wiki/data/words", "wiki/data/words"),
        ({"train": "t"}, "wiki/data/t", "wiki/data/t"),
        ({"train_corpus": "pubmed"}, "pubmed/data/words", "pubmed/data/words"),
        ({}, "", "wiki/gpt2-with_titles/words"),
        ({"train": "t"}, "", "wiki/data/t"),
    ],
)
def test_a_metric_learns_from_training_texts_where_there_are_any(
    fields, there, read, tmp_path, monkeypatch
):
    units = [SimpleNamespace(split=split) for split in ("train", "test", "train")]
    learnt = []

    class Learning:
        def fit(self, train):
            learnt.append(train)
            return "fitted"

    asked = []
    monkeypatch.setattr(score_entries, "read_predictions", lambda file: asked.append(file) or "p")
    settings = SimpleNamespace(metric=lambda given: Learning(), units=lambda given: units)
    if there:
        file = tmp_path / "predictions/s/grid" / f"{there}.npz"
        file.parent.mkdir(parents=True)
        file.write_text("")
    one = scored("metrics", MetricPlacement(predictions="words", **fields), settings)
    assert score_entries._fit(Study(tmp_path), DATA, WITH, one) == "fitted"
    assert asked == [tmp_path / "predictions/s/grid" / f"{read}.npz"]
    assert learnt == [[units[0], units[2]]]


def test_a_system_without_predictions_is_named(tmp_path):
    one = scored("metrics", MetricPlacement(predictions="words"), None)
    refuses(
        "scores.metrics.ppl: grid has no predictions 'words' of wiki gpt2-with_titles",
        score_entries._units_to_score,
        Study(tmp_path),
        WITH,
        one,
    )


def test_kinds_of_entries_are_read_in_one_order_and_others_refused(tmp_path, monkeypatch):
    scores = {"evaluations": {"e": {}}, "severities": {"q": {}}, "metrics": {"b": {}, "a": {}}}
    monkeypatch.setattr(score_entries, "_read_entry", lambda *given: given[3:])
    study = Study(tmp_path, grid={"scores": scores})
    assert score_entries.read_entries(study, "s", "grid") == [
        ("metrics", "b"), ("metrics", "a"), ("severities", "q"), ("evaluations", "e"),
    ]  # fmt: skip
    study = Study(tmp_path, grid={"scores": {"metric": {}}})
    refuses(
        "s.critics.grid.scores has 'metric'.*allowed are",
        score_entries.read_entries,
        study,
        "s",
        "grid",
    )


@pytest.mark.parametrize(
    ("kind", "registry", "placement"),
    [
        ("metrics", score_entries.METRICS, MetricPlacement),
        ("evaluations", score_entries.EVALUATIONS, EvaluationPlacement),
        ("severities", score_entries.METRICS, QuestionPlacement),
    ],
)
def test_an_entry_is_parsed_by_its_kind(kind, registry, placement, tmp_path, monkeypatch):
    given = []

    def parse_kind(*rest):
        given.append(rest)
        return "placed", "settings"

    monkeypatch.setattr(score_entries, "parse_kind", parse_kind)
    study = Study(tmp_path, grid={"scores": {kind: {"q": "written"}}})
    study.entry = study.settings
    found = score_entries._read_entry(study, "s", "grid", kind, "q")
    assert found == Entry("s", "grid", kind, "q", "placed", "settings")
    assert given == [(registry, placement, "written", f"s.critics.grid.scores.{kind}.q")]


@pytest.mark.parametrize(
    ("kind", "records"), [("metrics", ["wiki", "pubmed"]), ("evaluations", 3), ("severities", 2)]
)
def test_an_entry_is_measured_asked_or_evaluated_by_its_kind(
    kind, records, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(score_entries, "measure", lambda experiment, real, entry: [real.corpus])
    monkeypatch.setattr(score_entries, "evaluate", lambda experiment, entry: [1, 2, 3])
    monkeypatch.setattr(score_entries, "answer", lambda experiment, entry: [1, 2])
    found = score_entries.records_of(
        Study(tmp_path), scored(kind, MetricPlacement(predictions="w"), None)
    )
    said = capsys.readouterr().out
    if kind == "metrics":
        assert found == records and said == ""
    else:
        assert len(found) == records
        assert said == f"score grid {kind}: ppl, {records} records\n"


@pytest.fixture
def evaluated(monkeypatch, tmp_path):
    """The trainings and texts that an evaluation is given, by the entry's settings."""
    monkeypatch.setattr(
        score_entries,
        "_predictions",
        lambda experiment, system, critic, name: f"{system.corpus} {system.folder} {name}",
    )

    def run(systems=(WITH, WITHOUT, OTHER), **fields):
        given = []

        def evaluate(inputs):
            given.append((inputs.train, inputs.texts))
            assert (inputs.seed, inputs.variant) == (5, "")
            assert inputs.name == "s.critics.grid.scores.evaluations.ppl"
            return [Record("", "m")]

        placed = EvaluationPlacement(predictions="w", **{"corpora": ["wiki"], "of": "all"} | fields)
        settings = SimpleNamespace(evaluate=evaluate, head_names=())
        one = scored("evaluations", placed, settings)
        records = score_entries.evaluate(Study(tmp_path, systems), one)
        assert len(records) == len(given)
        return given, records

    return run


def test_an_evaluation_learns_from_the_data_by_default(evaluated):
    given, records = evaluated()
    assert given == [
        ("wiki data w", f"wiki {folder} w")
        for folder in ("data", "gpt2-with_titles", "gpt2-without_titles", "lstm-without_titles")
    ]
    assert [(r.critic, r.corpus, r.system, r.titles) for r in records[:2]] == [
        ("grid", "wiki", "data", None),
        ("grid", "wiki", "gpt2", True),
    ]
    assert {train for train, _ in evaluated(train="t", train_corpus="pubmed")[0]} == {
        "pubmed data t"
    }
    assert [texts for _, texts in evaluated(corpora=None, of="data")[0]] == [
        "wiki data w",
        "pubmed data w",
    ]


def test_an_evaluation_of_pairs_learns_from_the_system_before(evaluated):
    """The first has none before it and stands for itself; each corpus begins anew."""
    given, _ = evaluated(systems=(WITH,), train="previous", corpora=["wiki", "pubmed"])
    assert given == [
        ("wiki data w", "wiki data w"), ("wiki data w", "wiki gpt2-with_titles w"),
        ("pubmed data w", "pubmed data w"), ("pubmed data w", "pubmed gpt2-with_titles w"),
    ]  # fmt: skip


def test_systems_without_titles_learn_from_their_twins_with_titles(evaluated):
    given, records = evaluated(train="with_titles")
    assert given == [("wiki gpt2-with_titles w", "wiki gpt2-without_titles w")]
    assert (records[0].system, records[0].titles) == ("gpt2", False)


def test_heads_told_apart_by_variant_are_seeds_of_one_variant():
    settings = SimpleNamespace(head_names=("", "head 1"))
    one = scored("evaluations", SimpleNamespace(variant="v"), settings)
    trained = System("s", "wiki", "gpt2", True, 7)

    def completed(variant, heads=("h0", "h1"), **fields):
        settings.head_names = heads
        record = score_entries._completed(Record("", "m", variant=variant, **fields), trained, one)
        return record.variant, record.seed

    assert completed("h1") == ("v", 1) and completed("h0") == ("v", 0)
    assert completed("") == ("v", 7) and completed("", heads=("", "x")) == ("v", 7)
    assert completed("w") == ("w-v", 7) and completed("v") == ("v", 7)
    assert completed("w", system="x") == ("w-v", None) and completed("w", seed=3) == ("w-v", 3)


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({}, [("corruptions", "w"), ("corruptions", "w")]),
        ({"train": "t"}, [("corruptions", "t"), ("corruptions", "w")]),
        ({"corpus": "c"}, [("c", "w"), ("c", "w")]),
        ({"corpus": "c", "train_corpus": "d"}, [("d", "w"), ("c", "w")]),
        ({"corpus": "r"}, [("wiki", "w"), ("r", "w")]),
        ({"corpus": "r", "train_corpus": "d"}, [("d", "w"), ("r", "w")]),
    ],
)
def test_a_question_learns_from_its_corpus_or_the_one_that_it_is_read_as(
    fields, read, tmp_path, monkeypatch
):
    asked = []
    monkeypatch.setattr(
        score_entries,
        "_predictions",
        lambda experiment, system, critic, name: asked.append((system.corpus, name)) or name,
    )
    monkeypatch.setattr(
        score_entries,
        "corruption_response",
        lambda fitted, test, **more: [Record("x", "m", task="t")],
    )
    settings = SimpleNamespace(
        metric=lambda train: Metric(), units=lambda predictions: [SimpleNamespace(split="test")]
    )
    placed = QuestionPlacement(predictions="w", **fields)
    study = Study(tmp_path, read_as={"r": "wiki"})
    (record,) = score_entries.answer(study, scored("corruption_response", placed, settings))
    assert asked == read
    assert (record.corpus, record.system, record.critic, record.task) == (
        read[1][0],
        "data",
        "x",
        "t",
    )
