"""Where checked sentences stand, answers and halves, and what a ranker is trained with."""

from pathlib import Path

from longform.critics.neural_ranker import score as ranker
from longform.critics.neural_ranker import train
from longform.critics.neural_ranker.score import NeuralRanker
from longform.critics.verifiability.checks import CheckedText
from longform.critics.verifiability.reliability import read_answers
from longform.critics.verifiability.score import SupportedPerGeneration
from longform.datasets.own_texts import halves
from longform.documents import Document, Section
from longform.evaluation import verified_texts
from tests.refusals import refuses

UNIT = CheckedText.of("a", "test", [("supported", (("p", 1),))])


def test_checked_sentences_are_found_where_they_stand():
    document = Document("d", "test", (Section(None, "It is. It is.  So it was."),))
    critic = SupportedPerGeneration()
    for count in (0, 1, 2, 3):
        spans = critic.spans(document, UNIT, [0.0] * count)
        texts = [document.text[start:end] for start, end in spans]
        assert texts == ["It is.", "It is.", "So it was."][:count]
        assert len({start for start, _ in spans}) == count
    assert critic.spans(document, UNIT, [0.0] * 4) is None
    refuses("SupportedPerGeneration has no fact checker", critic.read_texts, [])


def test_a_ranker_is_trained_on_four_of_five_texts_and_written(tmp_path, monkeypatch):
    given = {}

    class Trained:
        def save(self, folder):
            (folder / "weights").write_text("w")

    def fit(**settings):
        assert settings.pop("scratch").is_dir()
        given.update(settings)
        return Trained()

    monkeypatch.setattr(train, "fit", fit)
    texts = [Document(str(i), "test", (Section(None, "x"),)) for i in range(7)]
    critic = NeuralRanker(model=tmp_path / "a" / "new", encoder="base", seed=5)
    ready = critic.prepare(texts)
    assert (tmp_path / "a" / "new" / "weights").read_text() == "w"
    assert ready.encoder is None and ready.model == critic.model and ready.seed == 5
    splits = [text.split for text in given.pop("documents")]
    assert splits == ["validation", *["train"] * 4, "validation", "train"]
    kinds = [(kind, size) for kind, sizes in (("block", (1, 2, 5)), ("window", (1, 2, 3))) for size in sizes]  # fmt: skip
    assert given == {
        "base": Path("base"), "name": "neural_ranker", "seed": 5, "splitter": "rules",
        "tasks": tuple(kinds), "schedule": ranker.SCHEDULE,
    }  # fmt: skip
    assert ranker.SCHEDULE == {"learning_rate": 1e-3, "batch": 16, "epochs": 20, "validations": 4}
    refuses("holds something already", critic.prepare, texts)
    assert ready.prepare(texts) is ready
    (tmp_path / "empty").mkdir()
    NeuralRanker(model=tmp_path / "empty", encoder="base").prepare(texts)
    read = {}
    monkeypatch.setattr(train, "read", lambda **settings: read.update(settings))
    monkeypatch.setattr(ranker, "units_from_predictions", lambda predictions: predictions)
    assert ready.read_texts(texts) is None
    assert read == {
        "documents": texts, "reader": tmp_path / "a" / "new", "name": "neural_ranker",
        "splits": ("train", "validation", "test", "generated"),
    }  # fmt: skip


def test_answers_are_read_from_a_form_or_from_an_export(tmp_path):
    path = tmp_path / "answers.csv"
    refuses("no such file", read_answers, path)
    path.write_text("item,label\n1,supported\n2,  \n3,refuted\n")
    assert [row["item"] for row in read_answers(path)] == ["1", "3"]
    path.write_text("item,annotator\n1,x\n")
    refuses("columns .'label'. are missing", read_answers, path)
    path.write_text("item,annotator,answer,last\n1,x,nothing,True\n")
    refuses("answer 'nothing' of item '1'", read_answers, path)
    path.write_text("item,annotator,answer,last\n1,x,nothing,False\n2,x, ,True\n3,x,refuted,True\n")
    assert [row["item"] for row in read_answers(path)] == ["3"]


def test_real_texts_are_halved_by_their_words_whatever_their_order():
    texts = tuple(Document(str(i), "test", (Section(None, f"word {i}"),)) for i in range(7))
    found = halves(texts)
    assert [text.id for text in found] == [text.id for text in texts]
    train_ids = {text.id for text in found if text.split == "train"}
    assert len(train_ids) == 3 and {text.split for text in found} == {"train", "test"}
    turned = halves(texts[::-1])
    assert {text.id for text in turned if text.split == "train"} == train_ids
    alike = tuple(Document(name, "test", (Section(None, "same"),)) for name in "abcd")
    assert [text.split for text in halves(alike)] == ["train", "train", "test", "test"]
    assert [text.split for text in halves(alike[:2])] == ["train", "test"]
    refuses("got 1 real text", halves, texts[:1])


def test_records_are_corrected_by_what_the_checker_errs_on_in_training(monkeypatch):
    monkeypatch.setattr(verified_texts, "generations_from_predictions", str.upper)
    monkeypatch.setattr(verified_texts, "corrected_records", lambda *given: given)
    given = {"train": "taught", "texts": "texts", "variant": "v"}
    assert verified_texts.corrected(**given) == ("TEXTS", "TAUGHT", "v", 500)
