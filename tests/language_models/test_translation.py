"""Translators: the paper's parameter counts, both losses from their definitions, padding, training and the folder."""

import numpy as np
import pytest
import torch

from experiments.deng2022.measure_languages import SCHEDULE
from longform.core.documents import Document, Section
from longform.language_models import translation
from longform.language_models.schedule import Schedule
from longform.language_models.translation import NETWORKS, Shape, TrainedTranslator, collate, encoded, fit, fit_subwords
from tests.refusals import refuses

TINY = {"layers": 1, "heads": 2, "width": 16, "inner": 24, "dropout": 0.0, "positions": 16}
PLAN = {"learning_rate": 1e-2, "batch": 8, "epochs": 8, "validations": 2}


def pair(number: int, source: str, target: str, split: str = "train") -> Document:
    return Document(f"{split}{number}", split, (Section("source", source), Section("target", target)))


def pairs() -> list[Document]:
    words = {"one": "un", "two": "deux", "three": "trois", "four": "quatre"}
    names = list(words)
    rows = [(names[i % 4], names[i // 4 % 4], names[i // 16]) for i in range(64)]
    splits = ["validation" if i % 5 == 0 else "train" for i in range(64)]
    told = enumerate(zip(rows, splits, strict=True))
    return [pair(i, " ".join(row), " ".join(words[w] for w in row), split) for i, (row, split) in told]


# fairseq's transformer_wmt_en_de, which the paper names, with 40,354 subwords
PAPER = Shape(layers=6, heads=8, width=512, inner=2048, dropout=0.1, positions=1024)


@pytest.mark.parametrize(("kind", "count"), [("autoregressive", 64_799_744), ("non_autoregressive", 65_981_440)])
def test_the_papers_sizes_have_the_papers_parameters(kind, count):
    with torch.device("meta"):
        network = NETWORKS[kind](PAPER, 40_354)
    assert sum(p.numel() for p in network.parameters()) == count  # 64.80M and 65.98M in appendix C
    assert Schedule.from_settings({**SCHEDULE, "epochs": 8}).validations == 1  # of the program on real parallel text


ITEMS = [([5, 6, 2], [7, 8, 9, 2]), ([4, 2], [10, 2])]


def network(kind):
    torch.manual_seed(0)
    return NETWORKS[kind](Shape(**TINY), 12).eval()


@torch.no_grad()
def test_the_autoregressive_loss_is_the_chain_rule():
    model, total = network("autoregressive"), 0.0
    for source, target in ITEMS:
        memory = model.encode(torch.tensor([source]))
        for t, word in enumerate(target):
            seen = torch.tensor([[translation.BEGIN, *target[:t]]])
            scores = model.next_scores(memory, torch.tensor([source]), seen)
            total -= float(torch.log_softmax(scores[0, -1], dim=0)[word])
    assert float(model.loss(collate(ITEMS))) == pytest.approx(total / 6, rel=1e-5)


@torch.no_grad()
def test_the_parallel_loss_is_a_sum_over_places_and_a_tenth_of_the_length():
    model, words, lengths = network("non_autoregressive"), 0.0, 0.0
    for source, target in ITEMS:
        ids, size = torch.tensor([source]), torch.tensor([len(target)])
        memory = model.encode(ids)
        scores = torch.log_softmax(model.place_scores(memory, ids, size)[0], dim=1)
        words -= float(scores[torch.arange(len(target)), target].sum())
        offsets = torch.log_softmax(model.length_scores(memory, ids)[0], dim=0)
        lengths -= float(offsets[len(target) - len(source) + translation.LENGTHS // 2])
    expected = words / 6 + translation.LENGTH_WEIGHT * lengths / 2
    assert float(model.loss(collate(ITEMS))) == pytest.approx(expected, rel=1e-5)


def test_subwords_come_back_as_text_and_source_words_are_copied_evenly():
    copied = translation.uniform_copy(torch.tensor([3, 3, 5]), torch.tensor([5, 1, 3]), torch.arange(5))
    assert copied[0].tolist() == [0, 1, 1, 2, 2]
    assert copied[1, 0] == 0
    assert copied[2, :3].tolist() == [0, 2, 4]
    subwords = fit_subwords(["alpha beta", "alphabet bet"], 40)
    assert subwords.decode(subwords.encode("beta alpha").ids) == "beta alpha"
    assert encoded([("alpha " * 20, "beta")], subwords, 16) == []
    assert len(encoded([("alpha", "beta")], subwords, 16)) == 1
    assert encoded([], subwords, 16) == []
    texts = [f"{first}{second} {second}{first}" for first in ("ab", "ba", "cd", "dc") for second in ("ef", "fe", "gh")]
    for size in (16, 24, 60):  # every training draws its hash maps' seeds anew
        assert len({fit_subwords(texts, size).to_str() for _ in range(10)}) == 1


@pytest.mark.parametrize("kind", NETWORKS)
def test_training_learns_a_word_for_word_translation_and_comes_back(kind, tmp_path):
    trained = fit(pairs(), kind=kind, name=kind, seed=1, scratch=tmp_path / "s", schedule=PLAN, shape=TINY, subwords=60)
    rows = encoded([translation.sides_of(d) for d in pairs() if d.split == "validation"], trained.subwords, 16)
    loss = float(trained.network.loss(collate(rows)))
    assert loss < 0.7 * np.log(trained.subwords.get_vocab_size())
    trained.save(tmp_path / "m")
    again = TrainedTranslator.load(tmp_path / "m")
    assert again.kind == kind
    assert float(again.network.loss(collate(rows))) == pytest.approx(loss, rel=1e-6)


def test_bad_input_is_refused_by_name(tmp_path):
    given = {"name": "t", "seed": 1, "scratch": tmp_path, "schedule": PLAN}
    refuses("kind is 'both'", fit, pairs(), kind="both", **given)
    refuses("zero pairs of split train", fit, [pair(1, "a", "b", "test")], kind="autoregressive", **given)
    refuses("no target text", fit, [Document("d", "train", (Section("source", "a"),))], kind="autoregressive", **given)
    refuses("not a multiple of heads", translation.ParallelTranslator, Shape(width=10, heads=4), 12)
    refuses(r"no model\.safetensors", TrainedTranslator.load, tmp_path)
