"""Section titles by hand: the description of a score, a set's diversity, and what readers write."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from longform.critics.section_order import own_texts
from longform.critics.section_order import read as reading
from longform.critics.section_order.classifier_errors import CalibrationError
from longform.critics.section_order.posterior import ChainEntropy, ExpectedTitleCritic
from longform.critics.section_order.rare_titles import (
    RARE,
    common_titles,
    with_rare_titles_pooled,
)
from longform.critics.section_order.score import SectionOrder, TitledArticle
from longform.documents import Chain, Document, Section
from longform.statistics.markov_chain import BEGIN, END
from longform.statistics.random_streams import derived_seed
from longform.statistics.sufficient_statistics import Sums
from tests.refusals import refuses


def article(name, symbols, gold=None, **more):
    gold = symbols if gold is None else gold
    return TitledArticle(name, "test", tuple(symbols), gold=tuple(gold), **more)


def text(name, *titles, split="train"):
    return Document(name, split, tuple(Section(title, f"{title} {name}") for title in titles))


def test_a_description_lists_transitions_and_articles_by_probability():
    """Learnt of x y x and x: begin x 2; x y 1, x end 2; y x 1. The others are impossible."""
    real = [article("1", "xyx"), article("2", "x")]
    critic = SectionOrder(delta=0.0, validation=((0.0, 2.5),)).fit(real)
    third, two = math.log(1 / 3), math.log(2 / 3)
    inf = -math.inf
    units = [article("d", "xx"), article("c", "xxy"), article("b", "xyx"), article("a", "yyx"),
             article("e", "xyx"), article("f", "xyxyx"), article("g", "zzz")]  # fmt: skip
    found = critic.describe(units[:6])
    table = {
        (BEGIN, "x"): (5, 1.0), (BEGIN, "y"): (1, 0.0), ("x", END): (5, 2 / 3), ("x", "x"): (2, 0.0),
        ("x", "y"): (5, 1 / 3), ("y", END): (1, 0.0), ("y", "x"): (5, 1.0), ("y", "y"): (1, 0.0),
    }  # fmt: skip
    assert [tuple(row[:2]) for row in found["transitions"]] == sorted(table)
    assert {(a, b): (n, pytest.approx(p)) for a, b, n, p in found["transitions"]} == table
    assert found["likeliest"] == {BEGIN: "x", "x": END, "y": "x"}
    rows = {
        "a": [inf, inf, 0.0, two], "c": [0.0, inf, third, inf],
        "f": [0.0, third, 0.0, third, 0.0, two],
    }  # fmt: skip
    described = {name: {"unit": name, "titles": list(unit.symbols), "log_probs": pytest.approx(rows[name])}
                 for name, unit in (("a", units[3]), ("c", units[1]), ("f", units[5]))}  # fmt: skip
    assert found["worst"] == [described[name] for name in "acf"]
    assert found["repeating"] == [described[name] for name in "ca"]
    assert found["validation"] == [[0.0, 2.5]] and found["exact_latent_ppl"] is None
    assert len(found) == 6


def test_a_section_shows_sixty_characters_and_a_text_its_last_thirty():
    document = Document("d", "test", (Section("x", "s" * 61), Section("y", "t" * 20)))
    end = len(document.text)
    expected = [(0, 60), (end - 20, end), (end - 30, end)]
    critic = SectionOrder()
    assert critic.spans(document, None, np.zeros(3)) == expected
    assert critic.spans(document, None, np.zeros(2)) == expected[:2]
    short = Document("e", "test", (Section("x", "abc"),))
    assert critic.spans(short, None, np.zeros(2)) == [(0, 3), (0, 3)]


def test_diversity_is_the_entropy_of_transitions_with_millers_correction():
    """x y x and x: one of 1 : 2 after x, six transitions; four kinds of three earlier titles."""
    real = [article("1", "xyx"), article("2", "x")]
    critic = ChainEntropy(delta=0.0).fit(real)
    statistics = critic.sufficient_statistics([*real, article("3", "y"), article("4", "xz")])
    entropy = 3 * math.log(3) - 2 * math.log(2)
    assert critic.score_of(critic.sufficient_statistics(real)) == pytest.approx(
        math.exp((entropy + 0.5) / 6)
    )
    assert math.isnan(critic.score_of(critic.sufficient_statistics([])))
    columns = dict(zip(statistics.columns, statistics.values.T.tolist(), strict=True))
    assert len(columns) == 16 + 3
    third, two = math.log(1 / 3), math.log(2 / 3)
    # impossible transitions have no finite value to add
    assert columns["logprob"] == pytest.approx([third + two, two, 0.0, 0.0])
    assert columns["unknown"] == [0, 0, 0, 2] and columns["excluded"] == [0] * 4
    counts = {name: row for name, row in columns.items() if "|" in name and any(row)}
    assert counts == {
        f"{BEGIN}|x": [1, 1, 0, 1], f"{BEGIN}|y": [0, 0, 1, 0], "x|y": [1, 0, 0, 0],
        "y|x": [1, 0, 0, 0], f"x|{END}": [1, 1, 0, 0], f"y|{END}": [0, 0, 1, 0],
    }  # fmt: skip
    assert critic.describe(real) == {} and critic.upper_bound == math.inf


def test_titles_of_too_few_texts_are_pooled():
    chains = [
        Chain("1", "s", ("a", "a", "b")),
        Chain("2", "s", ("a", "c")),
        Chain("3", "s", ("b",)),
    ]
    invalid = Chain("4", "s", ("c",), valid=False)
    assert common_titles([*chains, invalid], min_texts=2) == {"a", "b"}
    assert common_titles(chains * 2) == {"a", "b"} and common_titles(chains) == frozenset()
    (pooled,) = with_rare_titles_pooled([article("1", "abc", ["c", None, "b"])], frozenset("ab"))
    assert (pooled.symbols, pooled.gold) == (("a", "b", RARE), (RARE, None, "b"))


def test_bins_of_confidence_have_their_edges_and_sums():
    unit = article("1", "abab", ["a", "b", "b", None], confidence=np.array([0.5, 0.95, 0.9, 1.0]))
    found = CalibrationError(bins=2).describe(
        [unit, article("2", "a", [None], confidence=np.ones(1))]
    )
    # (0, 0.5]: one right; (0.5, 1]: one right and one wrong; above 0.9 is one of three
    assert found["bins"] == [[0.0, 0.5, 1, 0.5, 1], [0.5, 1.0, 2, pytest.approx(1.85), 1]]
    assert found["share_over_90"] == pytest.approx(1 / 3)
    chance = math.sqrt(2 / math.pi * 0.25) + math.sqrt(2 / math.pi * 2 * 0.925 * 0.075)
    assert found["expected_by_chance"] == pytest.approx(chance / 3)
    nothing = CalibrationError(bins=2).describe([])
    assert nothing["bins"] == [] and CalibrationError() == CalibrationError(bins=15)
    assert math.isnan(nothing["share_over_90"]) and math.isnan(nothing["expected_by_chance"])
    sums = np.array([[[2, 1.5, 1, 0], [1, 0.5, 1, 0], [4, 3, 1, 0]]])
    assert CalibrationError(bins=1).of_sums(Sums((), sums)).tolist() == [[0.25, 0.5, 0.5]]


def test_shares_are_of_sections_and_an_unread_text_has_no_parts():
    """After x, which begins, half end; a posterior of 1/2 is 3/4 of its share of 2/3."""
    critic = ExpectedTitleCritic(delta=0.0).fit([article("1", "xyx")])
    assert critic.log_shares == pytest.approx(np.log([2 / 3, 1 / 3]))
    read = {"log_posterior": np.log([[0.5, 0.5]]), "title_names": ("x", "y")}
    units = [article("2", "x", valid=False), article("3", "x", **read)]
    end, section = math.log(1 / 2), math.log(3 / 4)
    found = critic.sufficient_statistics(units).values
    expected = [[0] * 6 + [1], [end, section, 0, end + section, 2, 0, 0]]
    assert found == pytest.approx(np.array(expected))
    none, parts = critic.part_values(units)
    assert not none.size and parts == pytest.approx([0, end])
    assert critic.describe([]) == {"exact_latent_ppl": None}
    refuses("no posterior over titles", critic.part_values, [article("4", "x")])


def test_own_texts_of_all_splits_are_read(monkeypatch):
    texts = [text("a", split="train"), text("b", split="test"), text("c", split="train")]
    monkeypatch.setattr(own_texts, "read", lambda **given: given)
    assert own_texts.predicted_titles(texts, "folder", 7) == {"documents": texts, "reader": "folder", "name": "own texts",
                     "splits": ["test", "train"], "max_length": 7}  # fmt: skip


class Names(dict):
    pad_token_id = 8


@pytest.fixture
def stand_ins(monkeypatch):
    """Models and tokens by name; gives what was asked of them."""
    asked = []

    def noted(name):
        return lambda *given, **more: asked.append((name, given, more)) or name

    config = SimpleNamespace(num_labels=2, id2label={0: "u", 1: "v"})
    models = SimpleNamespace(
        load_tokenizer=lambda base: Names(a=1, b=2, c=3), new_network=noted("new"),
        load_model=noted("loaded"), has_model=lambda base: base == "encoder",
        load_reader=lambda *given: asked.append(given) or SimpleNamespace(config=config),
        SavedModel=lambda *parts: parts)  # fmt: skip
    monkeypatch.setattr(reading, "checkpoints", models)
    monkeypatch.setattr(reading, "section_ids", lambda text, names, most: (text, names["c"], most))
    monkeypatch.setattr(reading, "fit_learner", noted("fitted"))
    return asked


def test_a_classifier_of_two_titles_is_new_or_has_an_encoder(stand_ins):
    documents = [text("1", "v", None, "u"), text("2", "u", "w", split="validation"),
                 text("3", "u", split="test")]  # fmt: skip
    given = {"documents": documents, "name": "n", "seed": 5, "scratch": "s", "max_length": 9,
             "schedule": {"batch": 2}}  # fmt: skip
    kind, labels = AutoModelForSequenceClassification, {"id2label": {0: "u", 1: "v"}, "label2id": {"u": 0, "v": 1}}  # fmt: skip
    items = {
        "train": [(("v 1", 3, 9), 1), (("u 1", 3, 9), 0)],
        "validation": [(("u 2", 3, 9), 0)],
    }
    shape = {"width": 4}
    made = {name: reading.fit(base=base, **given, **more)
            for name, base, more in (("new", "tokenizer", {"shape": shape}), ("loaded", "encoder", {}))}  # fmt: skip
    assert torch.initial_seed() == derived_seed(5, "initial weights")
    assert made == {name: (name, Names(a=1, b=2, c=3)) for name in made}
    trained = {"seed": 5, "name": "n", "scratch": "s"}
    fitted = [("fitted", (reading.TitleClassifier, name, items, reading.collate, {"batch": 2}), trained)
              for name in made]  # fmt: skip
    sizes = {"vocab_size": 3, "pad_token_id": 8}
    assert stand_ins == [("new", (shape, kind, 5), sizes | labels), fitted[0],
                         ("loaded", ("encoder", kind), {"num_labels": 2} | labels), fitted[1]]  # fmt: skip
    refuses("holds no encoder and the entry gives no shape", reading.fit, base="t", **given)
    one = given | {"documents": [text("1", "v")]}
    refuses(r"got training titles \['v'\]", reading.fit, base="encoder", **one)


def test_a_reading_has_chains_posteriors_and_gold_titles(stand_ins, monkeypatch):
    documents = [text("a", "v", None, split="x"), text("b", "u"), text("c", "t", split="y")]
    posterior = np.log(np.array([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]], dtype=np.float32))
    asked = []
    monkeypatch.setattr(reading, "classify", lambda *given: asked.append(given[1:]) or posterior)
    truth = {"section_transitions": np.eye(2), "other": np.ones(1)}
    given = {"reader": "r", "name": "n", "max_length": 9}
    found = reading.read(documents=documents, splits=["x", "y"], truth=truth, batch=4, **given)
    assert asked == [([(name, 3, 9) for name in ("v a", "None a", "t c")], 4, "n")]
    assert stand_ins == [("r", AutoModelForSequenceClassification)]
    assert (found.unit_ids, found.splits) == (("a", "c"), ("x", "y"))
    lengths = np.array([2, 1])
    expected = {
        "chain": np.array([1, 0, 0], dtype=np.int32), "chain_lengths": lengths,
        "symbol_names": np.array(["u", "v"]), "valid": np.array([True, True]),
        "confidence": np.exp(posterior.max(axis=1)), "confidence_lengths": lengths,
        "gold": np.array([1, -1, 0], dtype=np.int32), "gold_lengths": lengths,
        "log_posterior": posterior, "log_posterior_lengths": lengths,
        "gold_names": np.array(["t", "v"]), "title_names": np.array(["u", "v"]),
        "section_transitions": np.eye(2),
    }  # fmt: skip
    assert found.arrays.keys() == expected.keys()
    for name, values in expected.items():
        assert found.arrays[name].dtype == values.dtype, name
        assert found.arrays[name].tolist() == values.tolist(), name
    untitled = reading.read(documents=[text("d", None)], splits=["train"], **given)
    assert untitled.arrays["gold_names"].dtype.kind == "U" and len(asked[1][0]) == 1
    assert asked[1][1] == 16 and "section_transitions" not in untitled.arrays


class Network:
    """The logits of a row are the sum of its ids and minus its length."""

    config, device = SimpleNamespace(num_labels=2), "cpu"

    def __init__(self):
        self.shapes = []

    def __call__(self, input_ids, attention_mask):
        self.shapes.append(tuple(input_ids.shape))
        logits = torch.stack([input_ids.sum(1), -attention_mask.sum(1)], dim=1).half()
        return SimpleNamespace(logits=logits)


@pytest.mark.parametrize(("seconds", "lines"), [(-1, ["0/3", "2/3"]), (10, [])])
def test_rows_are_classified_by_length_and_stand_in_their_order(
    monkeypatch, capsys, seconds, lines
):
    monkeypatch.setattr(reading, "REPORT_SECONDS", seconds)
    network, rows = Network(), [[1, 1, 1], [2], [0, 1]]
    found = reading.classify(network, rows, 2, "n")
    logits = np.array([[3.0, -3], [2, -1], [1, -2]])
    expected = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert network.shapes == [(2, 2), (1, 3)]
    assert capsys.readouterr().out.splitlines() == [f"infer n: {line} sections" for line in lines]
    batch = reading.collate([([5, 6], 1), ([7], 0)])
    assert {name: values.tolist() for name, values in batch.items()} == {
        "input_ids": [[5, 6], [7, 0]], "attention_mask": [[1, 1], [1, 0]], "labels": [1, 0],
    }  # fmt: skip
    learner = SimpleNamespace(network=network)
    loss = reading.TitleClassifier.loss(learner, batch)  # 11 against -2, and 7 against -1
    assert float(loss) == pytest.approx(
        (13 + math.log1p(math.exp(-13)) + math.log1p(math.exp(-8))) / 2
    )
