"""Translators: the paper's parameter counts, losses from their definitions, padding, training, the folder, and what they write."""

import numpy as np
import pytest
import torch

from experiments.deng2022.measure_languages import SCHEDULE
from longform.decoding import translations
from longform.decoding.translations import generate, pick
from longform.documents import Document, Section
from longform.language_models import translation
from longform.language_models.schedule import Schedule
from longform.language_models.tokenizers import padded
from longform.language_models.translation import (
    NETWORKS,
    Shape,
    TrainedTranslator,
    collate,
    encoded,
    fit,
    fit_subwords,
)
from longform.statistics.random_streams import derived_seed, generator
from tests.oracles import whole_translations
from tests.refusals import refuses

TINY = {"layers": 1, "heads": 2, "width": 16, "inner": 24, "dropout": 0.0, "positions": 16}
PLAN = {"learning_rate": 1e-2, "batch": 8, "epochs": 8, "validations": 2}


def pair(number: int, source: str, target: str, split: str = "train") -> Document:
    return Document(
        f"{split}{number}", split, (Section("source", source), Section("target", target))
    )


def pairs() -> list[Document]:
    words = {"one": "un", "two": "deux", "three": "trois", "four": "quatre"}
    names = list(words)
    rows = [(names[i % 4], names[i // 4 % 4], names[i // 16]) for i in range(64)]
    splits = ["validation" if i % 5 == 0 else "train" for i in range(64)]
    told = enumerate(zip(rows, splits, strict=True))
    return [
        pair(i, " ".join(row), " ".join(words[w] for w in row), split) for i, (row, split) in told
    ]


# fairseq's transformer_wmt_en_de, which the paper names, with 40,354 subwords
PAPER = Shape(layers=6, heads=8, width=512, inner=2048, dropout=0.1, positions=1024)


@pytest.mark.parametrize(
    ("kind", "count"), [("autoregressive", 64_799_744), ("non_autoregressive", 65_981_440)]
)
def test_the_papers_sizes_have_the_papers_parameters(kind, count):
    with torch.device("meta"):
        network = NETWORKS[kind](PAPER, 40_354)
    assert sum(p.numel() for p in network.parameters()) == count  # 64.80M and 65.98M in appendix C
    # of the program on real parallel text
    assert Schedule.from_settings({**SCHEDULE, "epochs": 8}).validations == 1


ITEMS = [([5, 6, 2], [7, 8, 9, 2]), ([4, 2], [10, 2])]


def network(kind):
    torch.manual_seed(0)
    return NETWORKS[kind](Shape(**TINY), 12).eval()


@pytest.mark.parametrize("kind", NETWORKS)
def test_embeddings_are_scaled_and_added_to_positions(kind):
    model = network(kind)
    torch.testing.assert_close(model.embed(torch.tensor([5])), 4 * model.embedding.weight[5:6])
    model.encoder.forward = lambda states, **_: states
    found, words = model.encode(torch.tensor([[6, 5]])), model.embedding.weight[[6, 5]]
    torch.testing.assert_close(found[0], 4 * words + model.positions[:2])


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
    copied = translation.uniform_copy(
        torch.tensor([3, 3, 5]), torch.tensor([5, 1, 3]), torch.arange(5)
    )
    assert [copied[0].tolist(), copied[1, 0], copied[2, :3].tolist()] == [
        [0, 1, 1, 2, 2],
        0,
        [0, 2, 4],
    ]
    subwords = fit_subwords(["alpha beta", "alphabet bet"], 40)
    assert subwords.decode(subwords.encode("beta alpha").ids) == "beta alpha"
    assert "".join(subwords.encode("beta \n alpha").tokens) == "\u2581beta\u2581alpha"
    assert encoded([("alpha " * 20, "beta")], subwords, 16) == encoded([], subwords, 16) == []
    assert len(encoded([("alpha", "beta")], subwords, 16)) == 1
    texts = [
        f"{first}{second} {second}{first}"
        for first in ("ab", "ba", "cd", "dc")
        for second in ("ef", "fe", "gh")
    ]
    for size in (16, 24, 60):  # every training draws its hash maps' seeds anew
        assert len({fit_subwords(texts, size).to_str() for _ in range(10)}) == 1


@pytest.mark.parametrize("kind", NETWORKS)
def test_training_learns_a_word_for_word_translation_and_comes_back(kind, tmp_path):
    trained = fit(
        pairs(),
        kind=kind,
        name=kind,
        seed=1,
        scratch=tmp_path / "s",
        schedule=PLAN,
        shape=TINY,
        subwords=60,
    )
    rows = encoded(
        [translation.sides_of(d) for d in pairs() if d.split == "validation"], trained.subwords, 16
    )
    loss = float(trained.network.loss(collate(rows)))
    assert loss < 0.7 * np.log(trained.subwords.get_vocab_size())
    trained.save(tmp_path / "m")
    again = TrainedTranslator.load(tmp_path / "m")
    assert again.kind == kind
    assert set(again.network.state_dict()) == {name for name, _ in again.network.named_parameters()}
    assert float(again.network.loss(collate(rows))) == pytest.approx(loss, rel=1e-6)
    (tmp_path / "m" / "translator.json").write_text("{}")
    refuses(
        "m: its files are damaged or not of one translator", TrainedTranslator.load, tmp_path / "m"
    )


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_translator_starts_from_weights_of_its_seed(kind, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(translation, "fit_learner", lambda *args, **kw: calls.append((args, kw)))
    options = {"kind": kind, "shape": TINY, "subwords": 60}
    options |= {"name": "n", "seed": 3, "scratch": tmp_path}
    trained = fit(pairs(), schedule=PLAN, **options)
    (((learner, network, items, joined, schedule), settings),) = calls
    assert (learner, joined, schedule) == (translation.TranslatorTraining, collate, PLAN)
    assert settings == {"seed": 3, "name": "n", "scratch": tmp_path}
    assert {split: len(rows) for split, rows in items.items()} == {"train": 51, "validation": 13}
    torch.manual_seed(derived_seed(3, "initial weights"))
    start = NETWORKS[kind](Shape(**TINY), trained.subwords.get_vocab_size()).state_dict()
    assert start.keys() == network.state_dict().keys()
    for name, weights in network.state_dict().items():
        assert torch.equal(weights, start[name])


def test_bad_input_is_refused_by_name(tmp_path):
    given = {"name": "t", "seed": 1, "scratch": tmp_path, "schedule": PLAN}
    refuses("kind is 'both'", fit, pairs(), kind="both", **given)
    refuses(
        "zero pairs of split train",
        fit,
        [pair(1, "a", "b", "test")],
        kind="autoregressive",
        **given,
    )
    refuses(
        "no target text",
        fit,
        [Document("d", "train", (Section("source", "a"),))],
        kind="autoregressive",
        **given,
    )
    refuses("not a multiple of heads", translation.ParallelTranslator, Shape(width=10, heads=4), 12)
    refuses(r"no model\.safetensors", TrainedTranslator.load, tmp_path)
    given = {"model": translator("non_autoregressive"), "name": "g", "seed": 1, "prefixes": SOURCES}
    refuses("no pair of split 'validation'", generate, **given, split="validation")
    for temperature in (-1, float("nan"), float("inf")):
        refuses(f"temperature is {temperature}", generate, **given, temperature=temperature)


TEXTS = ["one two three", "two", "three one one two", "one"]
SOURCES = [pair(i, text, text, "test") for i, text in enumerate(TEXTS)]


def translator(kind) -> TrainedTranslator:
    subwords = fit_subwords(TEXTS, 30)
    torch.manual_seed(3)
    shape = Shape(layers=1, heads=2, width=16, inner=16, dropout=0.1, positions=12)
    return TrainedTranslator(kind, NETWORKS[kind](shape, subwords.get_vocab_size()), subwords)


@pytest.mark.parametrize("kind", NETWORKS)
def test_every_pair_gets_one_translation_whatever_its_company(kind):
    given = {"model": translator(kind), "name": "g", "seed": 1, "prefixes": SOURCES}
    together, small, other = (generate(**given | over) for over in ({}, {"batch": 1}, {"seed": 2}))
    assert [d.id for d in together.documents] == ["g-test0", "g-test1", "g-test2", "g-test3"]
    assert {d.split for d in together.documents} == {"generated"} and together.facts[
        "documents"
    ] == 4
    assert [d.sections[0].text for d in together.documents] == TEXTS
    assert set(" ".join(d.sections[1].text for d in together.documents)) <= set("onetwhr ")
    alone = generate(**given | {"prefixes": SOURCES[2:3]})
    assert [d.sections for d in together.documents] == [d.sections for d in small.documents]
    assert together.documents[2].sections == alone.documents[0].sections
    assert [d.sections for d in other.documents] != [d.sections for d in together.documents]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(3))
@torch.no_grad()
def test_the_cache_writes_the_tokens_of_whole_passes(seed, temperature):
    torch.manual_seed(seed)
    shape = Shape(layers=2, heads=2, width=16, inner=24, dropout=0.1, positions=40)
    model = NETWORKS["autoregressive"](shape, 30).eval()
    rng = generator("cached translation", seed)
    for parameter in model.parameters():  # biases and norms that do not start at nothing
        parameter += 0.3 * torch.from_numpy(rng.normal(size=tuple(parameter.shape))).float()
    sources = [[*rng.integers(4, 30, size), translation.END] for size in (1, 3, 3, 7, 12)]
    uniforms = [rng.random(limit) for limit in (1, 9, 30, 20, 40)]
    source = padded(sources, translation.PAD)
    written = translations._one_by_one(model, source, uniforms, temperature)
    assert written == whole_translations.one_by_one(model, source, uniforms, temperature)
    assert len({len(row) for row in written}) > 2  # rows end one after another


@torch.no_grad()
def test_a_cached_step_has_the_logits_of_a_pass_over_all_tokens():
    model = network("autoregressive")
    source, words = torch.tensor([[5, 6, 2], [4, 2, 0]]), torch.tensor([[1, 7, 8], [1, 10, 9]])
    stream = translation.TranslationStream(model, source)
    stepped = [stream.append(words[:, step]) for step in range(2)]
    stream.take(torch.tensor([1]))
    stepped.append(stream.append(words[1:, 2]))
    whole = model.next_scores(model.encode(source), source, words)
    torch.testing.assert_close(torch.stack(stepped[:2], dim=1), whole[:, :2], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(stepped[2], whole[1:, 2], rtol=1e-5, atol=1e-5)


def test_sampling_follows_the_softmax_and_never_writes_control_tokens():
    logits = torch.tensor([[9.0, 9.0, 0.0, 9.0, np.log(3.0), 0.0]])
    uniforms = generator("pick").random(4000)
    drawn = pick(logits.expand(4000, -1), uniforms, 1.0)
    assert not set(drawn.tolist()) & {translation.PAD, translation.BEGIN, translation.UNKNOWN}
    np.testing.assert_allclose(
        np.bincount(drawn, minlength=6)[[2, 4, 5]] / 4000, [0.2, 0.6, 0.2], atol=0.03
    )
    assert pick(logits, np.array([0.99]), 0.0).tolist() == [4]
    assert (pick(logits.expand(4000, -1), uniforms, 0.25) == 4).double().mean() > 0.95


def test_an_unending_translation_is_cut_and_counted():
    model = translator("autoregressive")
    with torch.no_grad():
        model.network.embedding.weight[2] = 0  # the end's logit is zero
        model.network.decoder.layers[0].norm3.bias.copy_(40 * model.network.embedding.weight[5])
    given = {"model": model, "name": "g", "seed": 1, "prefixes": SOURCES}
    assert generate(**given, temperature=0.0).facts["cut"] == 4


def test_a_translation_that_ends_at_once_is_empty_and_counted():
    model = translator("autoregressive")
    with torch.no_grad():
        model.network.decoder.layers[0].norm3.bias.copy_(40 * model.network.embedding.weight[2])
    made = generate(model=model, name="g", seed=1, prefixes=SOURCES, temperature=0.0)
    assert (made.facts["empty"], made.facts["cut"]) == (4, 0)


def test_the_words_of_a_sentence_are_drawn_from_a_stream_of_its_own_name(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        translations, "_all_at_once", lambda *given: drawn.append(given[2]) or [[2]]
    )
    generate(model=translator("non_autoregressive"), name="g", seed=1, prefixes=SOURCES[:1])
    assert drawn[0][0].tolist() == generator("translation", "g", 1, "test0").random(12).tolist()


@torch.no_grad()
def test_a_row_at_its_limit_stops_while_longer_rows_go_on():
    model = translator("autoregressive").network.eval()
    model.embedding.weight[2] = 0  # the end's logit is zero
    model.decoder.layers[0].norm3.bias.copy_(40 * model.embedding.weight[5])
    source = padded([[4, 5, 2], [4, 2], [5, 2]], translation.PAD)
    written = translations._one_by_one(
        model, source, [np.full(size, 0.5) for size in (2, 7, 4)], 0.0
    )
    assert [len(row) for row in written] == [2, 7, 4]
    assert not any(translation.END in row for row in written)


class FixedLengths:
    """A translator whose scores are written down; it notes the lengths that it is asked for."""

    def __init__(self, offsets, scores):
        self.scores = scores
        self.lengths = []
        self.votes = torch.zeros(len(offsets), translation.LENGTHS)
        for row, offset in enumerate(offsets):
            self.votes[row, translation.LENGTHS // 2 + offset] = 1.0

    def encode(self, source):
        return source

    def length_scores(self, memory, source):
        return self.votes

    def place_scores(self, memory, source, lengths):
        self.lengths.append(lengths.tolist())
        return self.scores


def test_all_at_once_has_the_voted_length_from_one_to_the_limit():
    scores = torch.zeros(4, 9, 8)
    scores[:, :, 5] = 1.0
    scores[:, 1, 6] = 2.0
    model = FixedLengths([-3, 0, 2, 5], scores)
    source = torch.tensor([[4, 2, 0], [4, 5, 2], [4, 5, 2], [4, 5, 2]])
    uniforms = [np.full(limit, 0.5) for limit in (9, 9, 9, 6)]
    rows = translations._all_at_once(model, source, uniforms, 0.0)
    # Source lengths 2, 3, 3, 3 and offsets: -1 is raised to 1, 8 is cut to the limit.
    assert model.lengths == [[1, 3, 5, 6]]
    assert rows == [[5], [5, 6, 5], [5, 6, 5, 5, 5], [5, 6, 5, 5, 5, 5]]
