"""The row of order and repetition: what it learns from, what it leaves out, what it reads again."""

from functools import partial

import numpy as np
import pytest

from longform.criticize.brought_models import Options
from longform.criticize.judging import ComparedTexts, judge
from longform.criticize.panels import panels
from longform.criticize.results_so_far import ResultsSoFar
from longform.criticize.splits import halves
from longform.criticize.systems import ComparedSides, judge_systems
from longform.critics.order_and_repetition import read
from longform.critics.order_and_repetition.score import OrderAndRepetition
from longform.datasets.own_texts import Texts
from longform.documents import Document, Section
from longform.errors import BadInput, InputError
from longform.language_models.named_models import named_model
from longform.statistics.random_streams import generator
from tests.tiny import lm_folder

WORDS = [
    "the",
    "town",
    "lies",
    "on",
    "old",
    "river",
    "its",
    "people",
    "plough",
    "their",
    "fields",
    "many",
]
WORDS += ["red", "houses", "near", "hills", "rain", "falls", "where", "children", "read", "books"]
REAL, GENERATED = 21, 6


def texts(name, count, split):
    """Texts of three sentences of five random words."""
    documents = []
    for number in range(count):
        words = generator("row", name, number).choice(WORDS, size=(3, 5))
        text = " ".join(f"{' '.join(row).capitalize()}." for row in words)
        documents.append(Document(f"{name}/{number}", split, (Section(None, text),)))
    return documents


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("model"), window=128)


@pytest.fixture(scope="module")
def documents():
    return [*texts("real", REAL, "test"), *texts("generated", GENERATED, "generated")]


def row(options):
    (panel,) = [panel for panel in panels(options) if panel.name == "order and repetition"]
    return panel


def refuse_to_read(*_):
    raise AssertionError("texts were read")


def test_real_texts_are_judged_by_the_other_half_of_real_texts(folder, documents):
    result = judge(
        row(Options(orders=True, model=named_model(folder))), ComparedTexts.of(documents), 1, 9, 9
    )
    # by the definition: a quantile among the texts of the other half and the text itself
    critic = OrderAndRepetition(model=folder, seed=1234)
    units = {unit.unit_id: unit for unit in critic.read_texts(documents)}
    sources = {document.id: number for number, document in enumerate(documents)}
    expected = {"real": [], "generated": []}
    judged = set()
    for number in range(5):
        half = halves(documents[:REAL], sources, number)
        judged |= half.test
        generated = {document.id for document in documents[REAL:]}
        for side, names in (("real", half.test), ("generated", generated)):
            scores = []
            for name in names:
                quantiles = []
                for measure in ("own_order", "mild_worst_sentence", "new_grams"):
                    value = getattr(units[name], measure)
                    reference = np.array([getattr(units[one], measure) for one in half.train])
                    below = (reference < value).sum() + ((reference == value).sum() + 1) / 2
                    quantiles.append(below / (len(reference) + 1))
                scores.append(np.mean(quantiles))
            expected[side].append(np.mean(scores))
    assert result.real.value == pytest.approx(np.mean(expected["real"]), abs=1e-12)
    assert result.generated.value == pytest.approx(np.mean(expected["generated"]), abs=1e-12)
    assert (result.real.units, result.generated.units) == (len(judged), GENERATED)
    assert (result.cut, len(result.p_values)) == ((0, 0), 5)


def test_too_few_real_texts_are_refused_before_the_model_reads(folder, documents, monkeypatch):
    monkeypatch.setattr(read, "sentence_costs", refuse_to_read)
    few = ComparedTexts.of(documents[2:])
    with pytest.raises(InputError, match=r"^19 real texts, 20 are needed: half of them teach it$"):
        judge(row(Options(orders=True, model=named_model(folder))), few, 1, 9, 9)


def test_the_row_says_what_it_needs_where_it_is_left_out(folder, documents):
    for options, reason in (
        (Options(packaged=False, orders=True), "^--model none leaves it out$"),
        (
            Options(model=named_model(folder)),
            "^the model would read each text in four orders; ask for it with --orders$",
        ),
    ):
        with pytest.raises(BadInput, match=reason):
            judge(row(options), ComparedTexts.of(documents), 1, 9, 9)


def test_paired_systems_get_ranks_and_a_paired_test_of_the_row(folder):
    systems = {name: Texts(tuple(texts(name, GENERATED, "test"))) for name in ("a", "b")}
    real = Texts(tuple(texts("real", REAL, "test")))
    # one text a prompt: ids are the same under both systems
    for name, of_system in systems.items():
        prompts = []
        for number, document in enumerate(of_system.documents):
            prompts.append(Document(f"p{number}", "test", document.sections))
        systems[name] = Texts(tuple(prompts))
    sides = ComparedSides.of(real, systems, paired=True)
    result = judge_systems(row(Options(orders=True, model=named_model(folder))), sides, 1, 9, 9)
    (pair,) = result.pairs
    assert pair.difference.paired
    values = [result.systems[name].estimate.value for name in ("a", "b")]
    assert pair.difference.difference == pytest.approx(values[0] - values[1], abs=1e-12)


def test_a_result_that_is_there_is_taken_back_without_reading(folder, documents, tmp_path):
    options = Options(orders=True, model=named_model(folder))
    so_far = partial(ResultsSoFar, tmp_path / "results.jsonl", documents)
    result = judge(row(options), ComparedTexts.of(documents), 1, 9, 9)
    so_far(options).add(result)
    again = so_far(options).find(row(options))
    assert (again.real, again.difference) == (result.real, result.difference)
    assert (
        so_far(Options(orders=True, model=named_model(folder), seed=2)).find(row(options)) is None
    )
