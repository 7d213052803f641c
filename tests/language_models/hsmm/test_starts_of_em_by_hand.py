"""What EM over several starts keeps, and what it is told, with stand-ins for the fits."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from longform.documents import Document, Section
from longform.hsmm import train
from longform.hsmm.em import Compute
from longform.hsmm.gradient import GradientSettings


@dataclass(frozen=True)
class Model:
    """A model whose validation likelihood is given for each floor that it may be mixed with."""

    likelihoods: dict
    weight: float = -1.0

    def mixed(self, weight):
        return replace(self, weight=weight)


@dataclass(frozen=True)
class Fitted:
    """A fit of one iteration."""

    model: Model
    history: tuple = (SimpleNamespace(perplexity=2.5, states_in_use=3),)


@pytest.fixture
def starts(monkeypatch, tmp_path):
    """Fits by stand-ins, one for each table of likelihoods."""

    def fit(*tables, **settings):
        calls, tables_left = [], list(tables)

        def fit_em(texts, **given):
            calls.append((texts, given))
            return Fitted(Model(tables_left.pop(0)))

        monkeypatch.setattr(train, "fit_em", fit_em)
        monkeypatch.setattr(train, "resumed_fit", lambda label, folder: (label, folder))
        monkeypatch.setattr(train, "held_out", lambda model, texts: model.likelihoods[model.weight])
        texts = {"train": ["t"], "validation": [["a", "b"], ["c"]]}
        given = {"iterations": 4} | settings
        best = train.by_em(
            texts, given, name="n", seed=7, scratch=tmp_path, num_states=5, compute="c"
        )
        return best, calls

    return fit


def table(**values):
    """Likelihoods by floor, low where none is given."""
    return {floor: values.get(f"f{place}", -100.0) for place, floor in enumerate(train.FLOORS)}


def test_the_best_start_is_kept_with_its_best_floor(starts, tmp_path, capsys):
    best, calls = starts(
        table(f0=-9.0, f1=-8.0), table(f2=-7.0, f0=-8.0), table(f1=-7.5), restarts=3
    )
    assert best.model.weight == train.FLOORS[2] and best.model.likelihoods[train.FLOORS[2]] == -7.0
    assert [given["seed"] for _, given in calls] == [7, 8, 9]
    folder = tmp_path / "start_1" / "fit"
    texts, given = calls[1]
    assert texts == ["t"] and given["start"] == ("train n start 1", folder)
    assert (given["num_states"], given["compute"], given["validate"]) == (5, "c", None)
    keeper = given["keeper"]
    assert (keeper.label, keeper.folder, keeper.num_states) == ("train n start 1", folder, 5)
    assert keeper.plan == given["plan"] == train.Plan(iterations=4)
    assert capsys.readouterr().out == "train n: training ppl 2.5000, 3 states in use\n"


def test_one_start_is_the_default_and_validation_decides_where_it_is_asked(starts):
    """Three tokens of validation text at -6 nats: a perplexity of exp(2)."""
    best, calls = starts(table(f2=-6.0), until=0.01)
    ((_, given),) = calls
    assert best.model.weight == train.FLOORS[2]
    assert given["validate"](Model(table(f2=-6.0))) == pytest.approx(7.389056)
    assert given["seed"] == 7 and given["plan"].until == 0.01


def test_the_settings_of_a_training_reach_the_way_that_is_chosen(monkeypatch):
    def reach(*given, **named):
        raise KeyError(given, named)

    compared = []
    for way in ("by_em", "fit_gradient"):
        monkeypatch.setattr(train, way, reach)
    monkeypatch.setattr(train, "against_torch_struct", lambda *given: compared.append(given[0]))
    splits = ("train", "validation", "test")
    documents = [Document(split, split, (Section(None, f"a {split}"),)) for split in splits]
    texts = {split: [["a", split]] for split in splits[:2]}
    options = {"name": "n", "seed": 5, "scratch": Path("s")}
    options |= {"num_states": 2, "max_duration": 3, "max_ngrams": 4}
    with pytest.raises(KeyError) as reached:
        train.fit(documents=documents, **options, em={"iterations": 1}, threads=2)
    compute = Compute("cpu", 2)
    assert reached.value.args == ((texts, {"iterations": 1}), {**options, "compute": compute})
    with pytest.raises(KeyError) as reached:
        train.fit(documents=documents, **options, gradient={"epochs": 3})
    (sequences, ngrams, settings), named = reached.value.args
    assert (sequences, ngrams.max_duration) == (texts["train"], 3)
    assert compared[0].num_states == 2
    assert settings == GradientSettings(num_states=2, seed=5, epochs=3)
    assert named == {"validation": texts["validation"], "device": "cpu", "label": "train n"}
