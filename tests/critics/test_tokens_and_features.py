"""Critics that read tokens or features of texts: perplexity, MAUVE, repetition and the neural ranker."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from samples.verifiability import texts
from tiny import documents, lm_folder
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from longform.critics.mauve import read as features
from longform.critics.mauve import score as measure
from longform.critics.neural_ranker import train
from longform.critics.perplexity import read as token_predictions
from longform.critics.perplexity.score import Perplexity, ratio, units_from_predictions
from longform.critics.repetition import score as repetition
from longform.critics.repetition.score import DistinctGrams, GramProportion, Repetition
from longform.documents import Document, Predictions, Section
from longform.language_models.causal_lm import CausalLanguageModel, collate
from longform.language_models.schedule import Schedule
from longform.language_models.sentence_features import ENCODER, KeptFeatures, open_encoder
from longform.language_models.tokenizers import (
    document_rows,
    document_windows,
    in_titles,
    stream_blocks,
)
from longform.statistics.estimates import estimate
from longform.statistics.random_streams import generator
from longform.text.permutations import shuffled_orders
from longform.text.rendering import TokenText, texts_to_predictions
from tests.refusals import refuses

EXPECTED = Path(__file__).parents[2] / "experiments" / "massarelli2020" / "expected.yaml"


def test_windows_score_every_position_once():
    for length in range(2, 40):
        found = list(token_predictions.windows(length, 8))
        assert [p for _, stop, first in found for p in range(first, stop)] == list(range(1, length))
        assert all(
            stop - start <= 8 and (first - start >= 4 or first == 1) for start, stop, first in found
        )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=256)


def test_log_probs_equal_one_plain_forward_pass_per_document(model):
    out = token_predictions.read(
        documents=documents(), reader=model, name="t", titles=True, splits=["test"], batch=3
    )
    network, tokenizer = (
        AutoModelForCausalLM.from_pretrained(model),
        AutoTokenizer.from_pretrained(model),
    )
    chosen = [d for d in documents() if d.split == "test"]
    for row, ids in zip(
        out.ragged("token_logprob"), document_rows(chosen, tokenizer, True, 10**9), strict=True
    ):
        with torch.no_grad():
            plain = network(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
        np.testing.assert_allclose(row, plain[range(len(ids) - 1), ids[1:]].numpy(), atol=1e-5)
    given = {
        "documents": documents(),
        "reader": model,
        "name": "t",
        "titles": True,
        "splits": ["test"],
    }
    refuses("window is 257, allowed is 2 to 256", token_predictions.read, **given, window=257)
    refuses("preset is 'blocks'", token_predictions.read, **given, preset="blocks")


def test_long_documents_are_scored_in_windows(tmp_path):
    given = {
        "documents": documents(),
        "reader": lm_folder(tmp_path, window=16),
        "name": "t",
        "titles": False,
    }
    out = token_predictions.read(**given, splits=["test"])
    assert all(np.isfinite(row).all() and len(row) > 16 for row in out.ragged("token_logprob"))


@pytest.mark.parametrize(("window", "given"), [(16, None), (31, None), (31, 16)])
def test_the_papers_perplexity_is_the_mean_loss_of_disjoint_blocks(tmp_path, window, given):
    reader = lm_folder(tmp_path, window=window)
    settings = {
        "name": "t",
        "titles": False,
        "splits": ["test"],
        "preset": "paper",
        "window": given,
    }
    out = token_predictions.read(documents=documents(), reader=reader, **settings)
    window = given or window
    network, tokenizer = (
        AutoModelForCausalLM.from_pretrained(reader),
        AutoTokenizer.from_pretrained(reader),
    )
    blocks = stream_blocks([d for d in documents() if d.split == "test"], tokenizer, False, window)
    module = CausalLanguageModel(network.eval(), Schedule(1e-3, 1, 1), 1)
    with torch.no_grad():
        losses = [float(module.loss(collate([block]))) for block in blocks]
    units, score = units_from_predictions(out), Perplexity()
    assert score.score_of(score.sufficient_statistics(units)) == pytest.approx(
        np.exp(np.mean(losses)), rel=1e-5
    )
    assert len(units) == 3 and sum(len(unit.values) for unit in units) == len(blocks) * (window - 1)


def reading(per_document, tokens=20):
    ids = tuple(f"d{i}" for i in range(len(per_document)))
    nats, lengths = np.repeat(-np.asarray(per_document, float), tokens), np.full(len(ids), tokens)
    arrays = {"token_logprob": nats, "token_logprob_lengths": lengths}
    return Predictions(ids, ("train",) + ("test",) * (len(ids) - 1), arrays)


def test_a_constant_factor_is_certain_however_much_documents_differ():
    nats = np.random.default_rng(0).uniform(1, 6, 60)
    noise = np.random.default_rng(1).normal(0, 0.01, 60)
    (certain,) = ratio(train=reading(nats), texts=reading(nats + np.log(1.1)), seed=1, name="t")
    np.testing.assert_allclose([certain.value, certain.low, certain.high], 1.1)
    (near,) = ratio(
        train=reading(nats), texts=reading(nats + np.log(1.1) + noise), seed=1, name="t"
    )
    assert 1.09 < near.low < near.value < near.high < 1.11 and near.high - near.low > 0.002
    assert (near.units, near.metric) == (59, "word_ppl_ratio")
    refuses(
        "the same documents", ratio, train=reading(nats), texts=reading(nats[1:]), seed=1, name="t"
    )


def points(count, shift, name):
    rng = generator("mauve", name)
    return rng.normal(size=(count, 12)) * np.linspace(2, 0.2, 12) + shift * np.eye(12)[0]


def text_features(rows):
    return [measure.TextFeature(f"d{i}", "test", row) for i, row in enumerate(rows)]


def test_the_curve_and_its_area():
    share = np.array([0.2, 0.3, 0.5])
    assert measure.area(share, share) == pytest.approx(1.0)
    assert measure.area(np.array([1.0, 0.0]), np.array([0.0, 1.0])) < 0.01
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])
    curve = measure.divergence_curve(p, q)
    assert curve[0].tolist() == [1.0, 0.0] and curve[-1].tolist() == [0.0, 1.0]
    assert np.all(np.diff(curve[:, 0]) <= 0) and np.all(np.diff(curve[:, 1]) >= 0)
    assert measure.area(p, q) == pytest.approx(measure.area(q, p), abs=1e-12)


@pytest.mark.parametrize(("shift", "buckets"), [(0.0, None), (0.7, None), (2.0, 7)])
def test_equals_the_published_program_on_the_same_features_and_seeds(shift, buckets):
    published = pytest.importorskip("mauve")
    real, other = points(150, 0, "p"), points(120, shift, "q")
    for seed in measure.SEEDS[:3]:
        given = {"seed": seed, "num_buckets": buckets or "auto", "verbose": False}
        theirs = published.compute_mauve(p_features=real, q_features=other, **given)
        ours = measure.mauve(
            real, other, generator("b"), seeds=[seed], buckets=buckets, resamples=2
        )
        assert ours["buckets"] == theirs.num_buckets
        assert ours["mauve"] == pytest.approx(theirs.mauve, abs=1e-3)
        assert ours["smoothed"] == pytest.approx(theirs.mauve_star, abs=1e-3)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_the_interval_of_the_fixed_clusters_holds_the_value(shift):
    critic = measure.Mauve().fit(text_features(points(200, 0, "real")))
    found = estimate(
        critic,
        critic.sufficient_statistics(text_features(points(100, shift, "other"))),
        generator("mauve interval"),
        200,
    )
    assert 0 < found.low < found.value < found.high <= 1


def test_the_interval_of_a_mean_over_seeds_is_at_least_students():
    """Of two seeds that are t = 12.706 x s / sqrt(2) apart from their mean at both ends, whatever the texts say."""
    real, other = points(120, 0, "real"), points(60, 0.5, "other")
    critic = measure.Mauve(seeds=(1, 2)).fit(text_features(real))
    statistics = critic.sufficient_statistics(text_features(other))
    first, second = critic.of_seeds(statistics)
    found = estimate(critic, statistics, generator("m"), 100)
    assert found.value == pytest.approx((first + second) / 2) and first != second
    arm = 12.706 * abs(first - second) / 2
    assert (
        found.low <= found.value - arm * 0.999 and found.high >= min(1.0, found.value + arm) * 0.999
    )
    (alone,) = [measure.Mauve(seeds=(seed,)).fit(text_features(real)) for seed in (1,)]
    assert alone.score_of(alone.sufficient_statistics(text_features(other))) == pytest.approx(first)
    whole = measure.mauve(real, other, generator("w"), seeds=(1, 2), resamples=50)
    arm = 12.706 * abs(whole["per_seed"][0] - whole["per_seed"][1]) / 2
    assert whole["low"] <= max(0.0, whole["mauve"] - arm * 0.999)


def test_further_texts_score_lower():
    real = points(200, 0, "real")
    critic = measure.Mauve().fit(text_features(real))
    scores = [
        critic.score_of(critic.sufficient_statistics(text_features(points(200, shift, "other"))))
        for shift in (0.0, 1.0, 2.0, 4.0)
    ]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0.9 > scores[2]
    described = critic.describe(text_features(points(100, 1.0, "other")))
    assert described["spread"] > 0 and described["low"] <= described["mauve"] <= described["high"]


def test_texts_that_mauve_cannot_compare_are_named():
    drawn = points(30, 0, "x")
    refuses("two of each", measure.quantise, drawn[:1], drawn, 0)
    refuses("not finite.*name another model", measure.quantise, drawn * np.nan, drawn, 0)
    refuses("at most one per text", measure.quantise, drawn[:2], drawn[:2], 0, buckets=9)
    lost = measure.TextFeature("b", "test", drawn[1], valid=False)
    refuses("two are needed", measure.Mauve().fit, [*text_features(drawn[:1]), lost])
    refuses("no clusters yet", measure.Mauve().sufficient_statistics, [])


@pytest.mark.parametrize("batch", [1, 3, 32])
def test_texts_in_batches_have_the_features_that_they_have_alone(tmp_path, batch):
    network = AutoModel.from_pretrained(lm_folder(tmp_path, window=64)).eval()
    rng = generator("batched features")
    rows = [rng.integers(0, 200, size).tolist() for size in (9, 1, 0, 64, 30, 9, 2)]
    found = features.last_states(network, rows, batch, "x")
    for row, feature in zip(rows, found, strict=True):
        with torch.no_grad():
            alone = (
                network(input_ids=torch.tensor([row])).last_hidden_state[0, -1].numpy()
                if row
                else np.zeros(1)
            )
        np.testing.assert_allclose(feature, np.broadcast_to(alone, feature.shape), atol=1e-5)


def test_a_feature_is_the_last_hidden_state_of_the_last_token(tmp_path):
    folder, texts = lm_folder(tmp_path / "lm", window=256), documents(6)
    found = features.read(
        documents=texts, reader=folder, name="x", splits=["train", "validation", "test"]
    )
    network, tokenizer = (
        AutoModel.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
    )
    for document, feature in zip(texts, found.arrays["features"], strict=True):
        with torch.no_grad():
            states = network(
                input_ids=torch.tensor([tokenizer(document.text)["input_ids"]])
            ).last_hidden_state
        np.testing.assert_allclose(feature, states[0, -1].numpy(), atol=1e-6)
    assert found.arrays["valid"].all() and not found.arrays["cut"].any()
    folder = lm_folder(tmp_path / "short", window=8)
    empty = Document("e", "test", (Section(None, ""),))
    found = features.read(
        documents=[*documents(12), empty], reader=folder, name="x", splits=["train", "test"]
    )
    assert found.arrays["valid"].tolist() == [True] * 9 + [False]
    assert found.arrays["cut"][:-1].all()
    read_off = measure.units_from_predictions(found)
    assert measure.Mauve().fit(read_off).sufficient_statistics(read_off).total("excluded") == 1


def text(tokens, reference=(), name="g"):
    return TokenText(
        name, "generated", np.array(tokens, dtype=np.int64), np.array(reference, dtype=np.int64)
    )


def value(critic, *units):
    return critic.score_of(critic.sufficient_statistics(units))


def test_grams_are_sets_of_tuples_and_equal_words_have_equal_numbers():
    rng = generator("grams")
    for length in (0, 3, 4, 5, 60):
        tokens = rng.integers(0, 3, length)
        wanted = len({tuple(tokens[i : i + 4].tolist()) for i in range(length - 3)})
        assert repetition.first_grams(tokens, 4).sum() == wanted
    assert value(DistinctGrams(), text([7] * 256), text([])) == 0.5
    documents = [
        Document("a", "test", (Section(None, "b a b"),)),
        Document("e", "test", (Section(None, ""),)),
    ]
    rows = list(repetition.read(documents=documents, splits=["test"]).ragged("token"))
    assert rows[0].tolist() == [0, 1, 0] and rows[1].tolist() == []


def test_proportions_and_texts_without_a_human_text():
    units = text(range(8), range(13), "a"), text(range(5), range(5), "b")
    assert value(GramProportion(), *units) == pytest.approx((5 + 2) / (10 + 2))
    assert value(GramProportion("average_of_ratios"), *units) == pytest.approx((0.5 + 1) / 2)
    statistics = GramProportion().sufficient_statistics(
        [text(range(9), range(2)), text(range(9), range(9))]
    )
    assert statistics.values.tolist() == [[0, 0, 0, 0, 1], [6, 6, 1, 1, 0]]
    assert GramProportion().score_of(statistics) == 1


def test_printed_proportions_and_precisions_agree_with_their_averages():
    """A number copied wrongly from the paper would disagree."""
    table = yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))["table_1"]
    rows = {name: row for name, row in table.items() if name != "columns"}
    assert len(rows) == 9
    for name, row in rows.items():
        assert 100 * row[0] / rows["human_wikipedia"][0] == pytest.approx(row[1], abs=0.011)
        assert name == "human_wikipedia" or 5 * row[4] < row[5]
    assert all(
        5 * rows[name][2] < rows[name][3] for name in ("top_k", "top_p")
    )  # with zeros SPV is at most 5 SPG


def test_texts_survive_the_readout():
    for before, after in zip(
        texts(), repetition.units_from_predictions(texts_to_predictions(texts())), strict=True
    ):
        assert before.unit_id == after.unit_id
        assert np.array_equal(before.tokens, after.tokens) and np.array_equal(
            before.reference, after.reference
        )


SHAPE = {"features": 6, "sentence": 8, "pair": 8}


def walks(count: int, name: str) -> tuple[list[np.ndarray], list[list[str]]]:
    """Texts whose features drift: neighbours are alike, and the first dimension rises."""
    rows = []
    for i in range(count):
        rng = generator("walk", name, i)
        steps = rng.normal(size=(8, 6)) * 0.3
        steps[:, 0] += 0.5
        rows.append(np.cumsum(steps, axis=0).astype(np.float32))
    return rows, [[str(k) for k in range(8)] for _ in rows]


def test_scores_do_not_depend_on_the_batch_and_no_shuffles_give_zero():
    network = train.RankerNetwork(**SHAPE).eval()
    features = torch.randn(3, 7, 6, generator=torch.Generator().manual_seed(0))
    alone = torch.cat([network(features[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(network(features), alone)
    data = {"train": ([np.zeros((1, 6), dtype=np.float32)], [["only"]])}
    ranker = train.CoherenceRanker(
        train.RankerNetwork(**SHAPE), data, [("block", 1)], Schedule(1e-3, 1, 1)
    )
    loss = ranker.losses("train", [0], generator("x"))
    assert loss.sum() == 0 and loss.requires_grad


@pytest.mark.long  # a training that learns something
def test_it_learns_to_put_originals_above_unseen_shuffles():
    torch.manual_seed(0)
    data = {"train": walks(24, "train"), "validation": walks(4, "validation")}
    plan = Schedule(learning_rate=1e-2, batch=8, epochs=1)
    ranker = train.CoherenceRanker(train.RankerNetwork(**SHAPE), data, [("block", 1)], plan)
    optimiser = torch.optim.Adam(ranker.parameters(), lr=1e-2)
    rng = generator("train ranker")
    for _ in range(25):
        optimiser.zero_grad()
        ranker.losses("train", range(24), rng).mean().backward()
        optimiser.step()
    wins = []
    for rows in walks(20, "test")[0]:
        orders = shuffled_orders("block", 1, range(8), 5, generator("test"))
        everything = np.concatenate([np.arange(len(rows))[None], orders])
        scores = ranker.network.eval()(torch.from_numpy(rows[everything])).detach().numpy()
        wins += (scores[0] > scores[1:]).tolist()
    assert np.mean(wins) > 0.9


def test_it_takes_its_encoder_along_and_misses_it_when_it_is_gone(tmp_path):
    base, folder = lm_folder(tmp_path / "encoder"), tmp_path / "ranker"
    folder.mkdir()
    encoder = open_encoder(base)
    known = encoder.encode(["A cow sees a river."])
    network = train.RankerNetwork(encoder.dims, sentence=8, pair=8).eval()
    train.TrainedRanker(network, KeptFeatures(base, encoder), "rules").save(folder)
    shutil.rmtree(base)
    back = train.open_ranker(folder)
    features = torch.randn(1, 5, encoder.dims)
    torch.testing.assert_close(back.network(features), network(features))
    np.testing.assert_array_equal(back.frozen.encoder.encode(["A cow sees a river."]), known)
    shutil.rmtree(folder / ENCODER)
    refuses("not there", train.open_ranker, folder)
    refuses(r"no ranker\.json", train.open_ranker, tmp_path)
    given = {
        "documents": [],
        "base": tmp_path,
        "name": "r",
        "seed": 1,
        "scratch": tmp_path,
        "splitter": "rules",
    }
    refuses("allowed are", train.fit, **given, tasks=[["spiral", 1]], schedule={})


def test_a_title_and_its_colon_are_told_from_the_text(model):
    tokenizer = AutoTokenizer.from_pretrained(model)
    document = Document(
        "d", "test", (Section("history", "the old town"), Section("abstract", "a river"))
    )
    tokens = tokenizer.convert_ids_to_tokens(
        tokenizer("history: the old town\n\nabstract: a river")["input_ids"]
    )
    inside = in_titles(document, tokenizer)
    titles = "".join(token for token, title in zip(tokens, inside, strict=True) if title)
    texts = "".join(token for token, title in zip(tokens, inside, strict=True) if not title)
    assert titles == "history:abstract:"
    assert texts == "\u0120the\u0120old\u0120town\u010a\u010a\u0120a\u0120river"


def test_perplexities_with_and_without_titles_count_the_tokens_of_the_body(model):
    given = {"documents": documents(), "reader": model, "name": "t", "splits": ["test"]}
    with_titles = token_predictions.read(**given, titles=True)
    without = token_predictions.read(**given, titles=False)
    critic = Perplexity()
    all_statistics = [
        critic.sufficient_statistics(units_from_predictions(read))
        for read in (with_titles, without)
    ]
    tokens = [statistics.total("tokens") for statistics in all_statistics]
    # a first word is cut otherwise after a blank: nine sections
    assert abs(tokens[0] - tokens[1]) <= 3 * 3 * 4
    assert (
        all_statistics[0].total("title_tokens") > 9 and all_statistics[1].total("title_tokens") == 0
    )
    unit = units_from_predictions(with_titles)[0]
    body = unit.values[~unit.in_title].astype(np.float64)
    assert critic.score_of(critic.sufficient_statistics([unit])) == pytest.approx(
        np.exp(-body.mean())
    )
    assert critic.part_values([unit])[0].sum() == pytest.approx(body.sum())
    (record,) = ratio(train=with_titles, texts=without, seed=0, name="t")
    values = [critic.score_of(statistics) for statistics in all_statistics]
    assert record.value == pytest.approx(values[1] / values[0])
    assert record.details == {
        "tokens_of_both": tokens[::-1],
        "title_tokens_of_both": [0.0, all_statistics[0].total("title_tokens")],
    }


@pytest.mark.parametrize("context", [7, 16, 1000])
def test_every_token_of_a_long_document_is_taught_once_and_its_end_too(model, context):
    tokenizer = AutoTokenizer.from_pretrained(model)
    (whole,) = document_rows(documents()[:1], tokenizer, False, 10**9)
    rows = document_windows(documents()[:1], tokenizer, False, context)
    if context == 1000:
        assert rows == [whole]  # a document that fits is the row that it was
        assert document_windows(documents()[:1], tokenizer, False, len(whole)) == [whole]
        long = [Document("d", "train", (Section(None, "a " * 99),))]
        assert len(document_windows(long, tokenizer, False, context)[0]) > 99
        return
    batch = collate(rows)
    labels = batch["labels"][:, 1:]  # the first token of a row is predicted by nothing
    taught = [int(label) for row in labels for label in row if label != -100]
    assert taught == whole[1:] and taught[-1] == tokenizer.eos_token_id
    assert batch["input_ids"].shape[1] <= context


def test_a_repeated_word_is_counted_and_shown_in_its_sentence():
    texts = [Document(name, "test", (Section(None, text),))
             for name, text in (("a", "The cat. The dog ran."), ("b", ""))]  # fmt: skip
    for critic, rows in ((Repetition(n=1), [[1, 5, 0], [0, 0, 1]]),
                         (DistinctGrams(n=1), [[4, 1, 0], [0, 1, 0]])):  # fmt: skip
        units = critic.read_texts(texts)
        assert critic.sufficient_statistics(units).values.tolist() == rows
        spans = critic.spans(texts[0], units[0], critic.part_values(units)[0])
        assert spans == [(0, 8)] * 2 + [(9, 21)] * 3
