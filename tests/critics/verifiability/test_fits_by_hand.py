"""What a fact checker learns from, with stand-ins for its pages and its network."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.critics.verifiability import train
from longform.critics.verifiability.checker import Pair
from longform.critics.verifiability.train import columns_of, labelled_pairs, premise
from longform.datasets.fever import FeverClaim
from longform.errors import ConfigError
from tests.refusals import refuses

PAGES = {"X": ("x0", "x1"), "Y": ("y0",)}
LINES = [("X", 0), ("X", 1), ("Y", 0), ("Y", 0)]


def pairs(label, *evidence):
    claim = FeverClaim("1", "claim", label, evidence)
    return list(labelled_pairs(claim, PAGES, lambda text: LINES if text == "claim" else []))


def nothing(page, line):
    return Pair("claim", page, PAGES[page][line]), "not_enough_info"


def test_a_claim_stands_with_its_evidence_and_two_other_lines():
    assert pairs("supported", ("Y", 0), ("X", 1)) == [
        (Pair("claim", "Y", "y0 x1"), "supported"),
        nothing("X", 0),
    ]
    assert pairs("refuted", ("X", 0)) == [
        (Pair("claim", "X", "x0"), "refuted"),
        nothing("X", 1),
        nothing("Y", 0),
    ]


def test_a_claim_without_enough_information_has_three_such_lines():
    assert pairs("not_enough_info") == [nothing("X", 0), nothing("X", 1), nothing("Y", 0)]
    with_lines = pairs("not_enough_info", ("X", 0))
    assert with_lines == [nothing("X", 1), nothing("Y", 0), nothing("Y", 0)]


def test_evidence_that_no_page_has_is_left_out():
    expected = [nothing("X", 0), nothing("X", 1)]
    assert pairs("supported", ("X", 2), ("Z", 0)) == expected
    assert pairs("supported", ("X", 2), ("X", 1))[0] == (Pair("claim", "X", "x1"), "supported")


def test_a_premise_stands_behind_its_title():
    assert premise(Pair("c", "T", "S.")) == "T: S." and premise(Pair("c", "", "S.")) == "S."


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (["a", "b"], (1, None, 0)),
        (["ENTAILMENT", "Neutral", "contradiction"], (0, 2, 1)),
        (["refutes", "NOT-ENOUGH-INFO", "supports"], (2, 0, 1)),
        (["support", "refute", "nei"], (0, 1, 2)),
    ],
)
def test_labels_are_found_by_their_names(labels, columns):
    config = SimpleNamespace(num_labels=len(labels), id2label=dict(enumerate(labels)))
    assert columns_of(config, "folder") == columns


def test_labels_of_other_names_are_refused():
    config = SimpleNamespace(num_labels=3, id2label={0: "entailment", 1: "neutral", 2: "x"})
    refuses("folder: the model's labels are", columns_of, config, "folder")


@pytest.fixture
def fitted(monkeypatch, tmp_path):
    """Fits with stand-ins; gives the checker's parts and what the network was trained on."""
    given = {}
    document = SimpleNamespace(split="train")

    def fit(pages=PAGES, claims=("train", "validation", "test", "train"), **settings):
        given.clear()

        def train_entailment(pairs, **told):
            given.update(pairs=pairs, told=told)
            return "network"

        def selector(pages, asked):
            given.update(selected=(pages, asked))
            return "lines"

        monkeypatch.setattr(train, "pages_of", lambda documents: pages)
        monkeypatch.setattr(train, "pages_in", lambda base: [(f"in {base}", ())])
        monkeypatch.setattr(
            train, "frozen", lambda folder, pages: given.update(folder=folder) or dict(pages)
        )
        monkeypatch.setattr(
            train,
            "claims_of",
            lambda documents: [
                (SimpleNamespace(**vars(document) | {"split": split}), f"{split} {i}")
                for i, split in enumerate(claims)
            ],
        )
        monkeypatch.setattr(train, "selector", selector)
        monkeypatch.setattr(train, "labelled_pairs", lambda claim, pages, lines: [claim, lines])
        monkeypatch.setattr(train, "train_entailment", train_entailment)
        monkeypatch.setattr(train, "brought_entailment", lambda base: f"brought {base}")
        monkeypatch.setattr(train, "Checker", lambda *parts: parts)
        told = {"base": "b", "name": "n", "seed": 7, "scratch": tmp_path}
        return train.fit(documents=["d"], **told | {"schedule": {"batch": 1}} | settings), given

    return fit


def test_claims_of_two_splits_train_the_network_with_its_defaults(fitted, tmp_path):
    (pages, lines, network, settings), given = fitted()
    assert (pages, lines, network) == (PAGES, "lines", "network")
    assert settings == {"retrieval": {}, "selection": {}, "sure": train.SURE}
    assert given["pairs"] == {
        "train": ["train 0", "lines", "train 3", "lines"],
        "validation": ["validation 1", "lines"],
    }
    assert given["told"] == {
        "size": 48, "min_count": 3, "seed": 7, "name": "n", "schedule": {"batch": 1}, "scratch": tmp_path,
    }  # fmt: skip
    assert given["folder"] == tmp_path / "pages" and given["selected"] == (PAGES, settings)


def test_settings_reach_the_network_and_what_finds_lines(fitted):
    (*_, settings), given = fitted(
        size=8, min_count=1, sure=0.9, retrieval={"limit": 2}, selection={"limit": 4}
    )
    assert settings == {"retrieval": {"limit": 2}, "selection": {"limit": 4}, "sure": 0.9}
    assert (given["told"]["size"], given["told"]["min_count"]) == (8, 1)


def test_pages_are_those_of_the_documents_else_of_the_base(fitted):
    (pages, *_), _ = fitted(pages={})
    assert pages == {"in b": ()}


def test_a_brought_model_is_not_trained(fitted):
    (pages, lines, network, _), given = fitted(entailment="brought", schedule=None)
    assert (pages, lines, network) == (PAGES, "lines", "brought b") and "pairs" not in given


def test_no_claims_another_entailment_and_no_schedule_are_refused(fitted):
    refuses("^train n: 2 pages, 0 claims, entailment 'trained'", fitted, claims=())
    refuses("^train n: 2 pages, 4 claims, entailment 'mine'", fitted, entailment="mine")
    with pytest.raises(ConfigError, match="entailment 'trained' needs a schedule"):
        fitted(schedule=None)


def test_minichecks_answer_is_its_first_token_and_texts_are_padded():
    asked = []

    class Tokenizer:
        def __call__(self, texts, **options):
            asked.append((texts, options))
            ones = torch.ones(len(texts), 3, dtype=torch.long)
            return {"input_ids": ones, "attention_mask": ones}

    def network(input_ids, attention_mask, decoder_input_ids):
        assert decoder_input_ids.tolist() == [[7], [7]]
        logits = torch.zeros(2, 2, 300)
        logits[0, 0, 209] = math.log(3)
        logits[1, 0, 3] = math.log(9)
        return SimpleNamespace(logits=logits)

    class Network:
        device = "cpu"
        config = SimpleNamespace(decoder_start_token_id=7)
        __call__ = staticmethod(network)

    judge = train.MiniCheckEntailment(Network(), Tokenizer())
    found = judge.judged([Pair("c", "T", "S."), Pair("d", "", "S.")])
    assert found == pytest.approx(np.array([[0.75, 0, 0.25], [0.1, 0, 0.9]]))
    texts = ["predict: T: S.</s>c", "predict: S.</s>d"]
    options = {"truncation": True, "max_length": 2048, "padding": True, "return_tensors": "pt"}
    assert asked == [(texts, options)]


def test_a_classifiers_columns_are_the_labels_and_only_the_premise_is_cut():
    calls = []

    class Network:
        device = "cpu"

        def __call__(self, ids):
            return SimpleNamespace(logits=torch.tensor([[9.0, 1, 3]]).log())

    class Inputs(dict):
        def to(self, device):
            return self

    def tokenizer(*given, **options):
        calls.append((given, options))
        return Inputs(ids=0)

    judge = train.ClassifierEntailment(Network(), tokenizer, (2, 1, None), max_length=7)
    found = judge.judged([Pair("c", "T", "S.")])
    assert found == pytest.approx(np.array([[3 / 13, 1 / 13, 0]]))
    options = {"max_length": 7, "padding": True, "return_tensors": "pt"}
    assert calls == [((["T: S."], ["c"]), {"truncation": "only_first", **options})]
    in_order = train.ClassifierEntailment(Network(), tokenizer).judged([Pair("c", "T", "S.")])
    assert in_order == pytest.approx(np.array([[9 / 13, 1 / 13, 3 / 13]]))


def test_pairs_with_words_are_judged_in_batches_by_the_sentences_length(monkeypatch):
    """A pair without words is not enough information; the label of the others is the claim's id."""
    batches = []

    class Network:
        embed = SimpleNamespace(weight=SimpleNamespace(device="cpu"))

        def eval(self):
            return self

        def __call__(self, claim, sentence, equal):
            batches.append(sentence.shape[1])
            return torch.log(torch.nn.functional.one_hot(claim[:, 0] - 1, 3) * 8.0 + 1)

    rows = {
        "long": ([1], [1, 1, 1], []),
        "short": ([2], [1], []),
        "none": ([], [1], []),
        "two": ([3], [1, 1], [(0, 0)]),
    }
    monkeypatch.setattr(train, "encoded", lambda pair, vocabulary: rows[pair])
    monkeypatch.setattr(train, "BATCH", 2)
    found = train.TrainedEntailment(Network(), None).probabilities(["long", "none", "short", "two"])
    assert batches == [2, 3]
    assert found[0].tolist() == pytest.approx([9 / 11, 1 / 11, 1 / 11]) and found[1].tolist() == [
        0,
        0,
        1,
    ]
    assert found.argmax(1).tolist() == [0, 2, 1, 2]
