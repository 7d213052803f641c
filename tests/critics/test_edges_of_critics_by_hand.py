"""Critics at their edges, and what they ask of libraries: whole results worked out by hand."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.critics.code_mixing import score as mixing
from longform.critics.entity_grid import score as grids
from longform.critics.entity_grid.blocks import BlockedEntityGrid
from longform.critics.entity_grid.score import MACHINE_ITERATIONS, GridRanker, rank_weights
from longform.critics.lexical import wordnet
from longform.critics.lexical.score import LatentSemanticAnalysis
from longform.critics.mauve import score as mauve
from longform.critics.metrics import MetricSettings, WordnetSimilarity
from longform.critics.order_and_repetition import read as costs
from longform.critics.order_and_repetition.read import _by_sentence
from longform.critics.perplexity.score import ratio
from longform.critics.readings import Reading
from longform.critics.surprisal.read import token_regions
from longform.critics.trainings import CriticTraining
from longform.critics.verifiability import checker, reliability, text_measures, train
from longform.documents import Predictions
from longform.results import Record
from longform.statistics.random_streams import generator
from tests.critics.grid_cases import grid
from tests.critics.verifiability.test_attention_by_hand import network, pools
from tests.refusals import refuses

NAN = math.nan


@pytest.mark.parametrize("seeds", [(3,), (3, 4)])
def test_mauve_draws_both_sides_and_widens_its_interval_by_seeds(seeds, monkeypatch):
    labels = {3: ([0, 0, 1, 1, 0], [1, 1, 0, 1]), 4: ([0, 1, 1, 1, 1], [0, 0, 0, 1])}

    def quantise(real, generated, seed, buckets):
        assert (real.shape, generated.shape, buckets) == ((5, 1), (4, 1), 7)
        return (*map(np.array, labels[seed]), 2)

    def area(real, generated, smoothing=0.0):
        counts = [np.bincount(side, minlength=2) + smoothing for side in (real, generated)]
        return float(mauve.area(*(count / count.sum() for count in counts)))

    monkeypatch.setattr(mauve, "quantise", quantise)
    given = np.zeros((5, 1)), np.zeros((4, 1)), generator("m")
    found = mauve.mauve(*given, seeds=seeds, buckets=7, resamples=30)
    sides = [[np.array(side) for side in labels[seed]] for seed in seeds]
    areas = [area(*pair) for pair in sides]
    rng, draws = generator("m"), []
    for _ in range(30):
        rows = rng.integers(0, 5, 5), rng.integers(0, 4, 4)
        draws.append(np.mean([area(real[rows[0]], other[rows[1]]) for real, other in sides]))
    value = np.mean(areas)
    low, *_, high = np.minimum(np.sort(draws) - np.mean(draws) + value, 1.0)
    spread = 0.0
    if len(seeds) > 1:
        spread = abs(areas[0] - areas[1]) / math.sqrt(2)
        arm = 12.706204736432095 * spread / math.sqrt(2)
        low, high = (
            max(value - math.hypot(value - low, arm), 0.0),
            min(value + math.hypot(high - value, arm), 1),
        )
    wanted = {"mauve": value, "spread": spread, "low": low, "high": high}
    assert {name: found.pop(name) for name in wanted} == pytest.approx(wanted)
    smoothed = np.mean([area(*pair, 0.5) for pair in sides])
    assert found == {"per_seed": areas, "smoothed": pytest.approx(smoothed), "buckets": 2}


@pytest.mark.parametrize(("rows", "taken"), [
    ([[1.0, 2]], [[1, 2], [-1, -2]]), ([[1.0, 2], [3, 4]], [[1, 2], [-3, -4]]),
    ([[1.0, 2], [3, 4], [5, 6]], [[1, 2], [-3, -4], [5, 6]]),
])  # fmt: skip
def test_a_ranking_machine_tells_differences_from_negated_ones(rows, taken, monkeypatch):
    asked = []

    class Machine:
        coef_ = np.array([[7.0, 8.0]])

        def __init__(self, **settings):
            asked.append(settings)

        def fit(self, table, classes):
            asked.append((table.tolist(), np.sign(classes).tolist()))

    monkeypatch.setitem(sys.modules, "sklearn.svm", SimpleNamespace(LinearSVC=Machine))
    assert rank_weights(np.array(rows), 0.25).tolist() == [7.0, 8.0]
    settings = {"loss": "hinge", "fit_intercept": False, "max_iter": MACHINE_ITERATIONS}
    assert asked == [
        {"C": 0.25, "random_state": 0, **settings}, (taken, [1, -1, 1][: len(taken)])
    ]  # fmt: skip


def test_no_text_has_no_row_of_blocks():
    found = BlockedEntityGrid().sufficient_statistics([])
    assert (found.columns, found.values.shape) == (("logprob", "cells", "excluded"), (0, 3))


def test_mixes_are_described_by_their_prior_words_and_first_points():
    critic = mixing.CodeMixing(alpha=np.array([0.5, 2.0]), top_words=(("a", "b"), ("c",)))
    assert critic.describe([]) == {"alpha": [0.5, 2.0], "top_words": [["a", "b"], ["c"]]}
    share = np.array([0.123456, 0.876544])
    units = [mixing.MixtureReading(str(i), "test", share, share, valid=i > 0) for i in range(502)]
    points = mixing.LanguageDispersion().describe(units)
    assert points == {"points": [[0.1235, 0.8765]] * 500}
    assert mixing.LanguageDispersion().describe(units[:3], 1) == {"points": [[0.1235, 0.8765]]}


@pytest.mark.parametrize("begin", [0, None])
def test_nats_of_a_sentence_are_those_of_the_tokens_that_end_in_it(begin):
    def tokenizer(text, **settings):
        assert text == "a bb c dd"
        return {"offset_mapping": [(0, 1), (1, 4), (4, 6), (6, 9)]}

    tokenizer.bos_token_id = tokenizer.eos_token_id = begin
    nats = np.array([1.0, 2, 4, 8, 99] if begin == 0 else [2.0, 4, 8])
    found = _by_sentence(nats, ["a", "bb", "c", "dd"], tokenizer)
    assert repr(found.tolist()) == repr([1.0 if begin == 0 else NAN, 2.0, 4.0, 8.0])


@pytest.mark.parametrize("count_end", [True, False])
def test_a_ratio_of_perplexities_is_one_whole_record(count_end):
    def predictions(nats):
        lengths = np.array([2, 2, 0])
        arrays = {"token_logprob": np.full(4, -nats), "token_logprob_lengths": lengths}
        return Predictions(("t", "a", "b"), ("train", "test", "test"), arrays)

    (found,) = ratio(
        train=predictions(1.0), texts=predictions(3.0), seed=1, name="n", count_end=count_end
    )
    value = pytest.approx(math.exp(2))
    assert found == Record(
        "", "word_ppl_ratio", value=value, low=value, high=value, better="lower", units=1, excluded=1,
        signature=f"Perplexity(count_end={count_end})",
        details={"tokens_of_both": [1.0 + count_end] * 2, "title_tokens_of_both": [0.0, 0.0]},
    )  # fmt: skip


def test_an_end_token_belongs_to_the_last_region_of_one_letter():
    assert token_regions("a", [1], [0, 1]).tolist() == [0, 0]


def test_settings_leave_what_they_do_to_their_kinds():
    metric, given = MetricSettings(), (None,)
    for call in (metric.metric, metric.units, Reading().predict, CriticTraining().fit):
        with pytest.raises(NotImplementedError):
            call(*given)


@pytest.mark.parametrize(("sentence", "count"), [
    ("1456 Ulm", 2), ("Ulm Town 3 Oaks", 3), ("The Ulm", 1), ("Ulm is", 1), ("is Ulm and Bonn", 2), ("it", 0),
    ("In 5 The", 2),
])  # fmt: skip
def test_names_and_numbers_are_counted_and_neighbours_are_one_name(sentence, count):
    assert text_measures.entities(sentence) == count


@pytest.mark.parametrize(
    ("flagged", "votes", "is_set"), [(1, 2, False), (2, 5, False), (2, 3, True), (1, 1, True)]
)
def test_a_flag_needs_more_than_half_of_the_votes(flagged, votes, is_set):
    answers = [{"label": "refuted", "repetition": "1" if i < flagged else ""} for i in range(votes)]
    found = reliability._majority(answers)
    flags = {"repetition": is_set, "not_a_claim": False, "ungrammatical": False}
    assert found == {"label": "refuted", **flags}


def test_a_line_of_the_table_is_in_percent_and_by_text():
    flags = {"repetition": False, "not_a_claim": False, "ungrammatical": False}
    rows = [
        {"generation": "g", "label": "supported", **flags},
        {"generation": "g", "label": "supported", **flags, "repetition": True},
        {"generation": "g", "label": "refuted", **flags, "ungrammatical": True},
        {"generation": "h", "label": "refuted", **flags, "not_a_claim": True},
        {"generation": "k", "label": "not_enough_info", **flags, "repetition": True},
    ]
    assert reliability._measures(rows) == pytest.approx({
        "REP": 40, "NAC": 20, "UNG": 20, "SPG": 100 * (2 / 5) / 3, "SPV": 100 * (2 / 3) / 2,
        "USPG": 100 * (1 / 5) / 3, "USPV": 100 * (1 / 2) / 2,
    })  # fmt: skip
    assert math.isnan(reliability._measures(rows[4:])["SPV"])


def test_an_index_of_words_is_made_in_silence_and_scores_in_float64(capsys):
    index = checker._bm25([["a", "b"], ["b"]])
    scores = checker._bm25_scores(index, ["a", "z"], 2)
    assert scores.dtype == np.float64 and (scores > 0).tolist() == [True, False]
    assert checker._bm25_scores(index, ["z"], 2).tolist() == [0, 0]
    assert checker._bm25([[], []]) is None
    assert checker._bm25_scores(None, ["a"], 2).tolist() == [0, 0]
    assert capsys.readouterr() == ("", "")


def test_a_text_of_one_word_or_none_is_pooled_over_its_words():
    made = network()
    words = torch.arange(24.0).double().reshape(2, 3, 4) / 10
    attended = words.flip(2)
    in_text = torch.tensor([[True, False, False], [False] * 3])
    found = [side.detach().numpy() for side in made._pool(words, attended, in_text)]
    one = pools(made, words[0, :1].numpy(), attended[0, :1].numpy())
    np.testing.assert_allclose(found[0], [one[0], np.zeros(4)])
    np.testing.assert_allclose(found[1], [one[1], np.zeros(4)])
    shapes = {name: tuple(weight.shape) for name, weight in made.state_dict().items()}
    layers = {"attend": (4, 4), "compare.0": (4, 12), "compare.2": (4, 4), "label.0": (4, 16), "label.2": (3, 4)}  # fmt: skip
    assert shapes == {
        "equal": (), "embed.weight": (7, 4), "shared.weight": (2, 4), "near.weight": (4, 4, 3), "near.bias": (4,),
        **{f"{name}.weight": shape for name, shape in layers.items()},
        **{f"{name}.bias": shape[:1] for name, shape in layers.items()},
    }  # fmt: skip
    assert made.embed.padding_idx == 0 and float(made.equal) == 4.0


@pytest.mark.parametrize("pairs_of_texts", [True, False])
def test_a_brought_model_is_placed_for_reading(pairs_of_texts, monkeypatch, tmp_path):
    config = SimpleNamespace(
        is_encoder_decoder=pairs_of_texts, num_labels=2, id2label={0: "no", 1: "yes"}
    )
    model = SimpleNamespace(eval=lambda: "model")
    monkeypatch.setattr(train, "load_config", lambda folder: config)
    monkeypatch.setattr(train, "load_tokenizer", lambda folder: "tokenizer")
    monkeypatch.setattr(train, "load_model", lambda folder, kind: model)
    monkeypatch.setattr(train, "placed", lambda network, **settings: (network, settings))
    monkeypatch.setattr(train.capacity, "window_size", lambda network, default: default)
    made = train.brought_entailment(tmp_path)
    assert made.network == ("model", {"reading": True}) and made.tokenizer == "tokenizer"
    if not pairs_of_texts:
        assert (made.columns, made.max_length) == ((1, None, 0), 512)


def test_a_ranking_grid_learns_every_difference_and_excludes_what_is_empty(monkeypatch):
    asked = []
    monkeypatch.setattr(grids, "rank_weights", lambda *given: asked.append(given) or np.ones(160))
    ranker = GridRanker()
    size = ranker.features.size
    better, worse = np.ones((1, size)), np.zeros((2, size))
    fitted = ranker.fit_pairs([(better, worse), (worse, worse)])
    (differences, penalty), empty = asked[0], grid()
    assert differences.tolist() == [[1.0] * size] * 2 + [[0.0] * size] * 2
    assert penalty == pytest.approx(1 / (size / 2)) and fitted.weights.tolist() == [1.0] * 160
    GridRanker(penalty=3.0).fit_pairs([(better, worse)])
    assert asked[1][1] == 3.0
    assert empty.empty and fitted.part_names(np.zeros(0)) == []
    assert list(fitted.part_names(np.zeros(size))) == list(ranker.features.names())
    rows = fitted.sufficient_statistics([grid("SO", "S-"), empty])
    assert (rows.columns, rows.values[:, 1:].tolist()) == (
        ("value", "texts", "excluded"),
        [[1, 0], [0, 1]],
    )
    refuses("1 text gave no pair", ranker.fit_pairs, [(worse, worse)])
    refuses("0 texts gave no pair", ranker.fit_pairs, [])


def test_sentences_are_alike_by_the_cosine_of_their_mean_vectors():
    text = grid("SS-", "-O-", "--X")
    vectors = np.array([[3.0, 0.0], [0.0, 4.0]])
    words = dict(zip(text.entities, (0, 1), strict=False))
    (found,) = LatentSemanticAnalysis(words=words, vectors=vectors).sentence_matrices([text])
    np.testing.assert_allclose(found, [[1, 0.6, 0], [0.6, 1, 0], [0, 0, 0]])


def test_mauve_is_described_under_its_own_seeds_and_clusters(monkeypatch):
    asked = []
    monkeypatch.setattr(
        mauve, "mauve", lambda *given, **named: asked.append((given, named)) or {"a": 1}
    )
    units = [mauve.TextFeature(str(i), "test", np.array([i, 1.0])) for i in range(2)]
    real = np.zeros((3, 2))
    for buckets in (0, 4):
        critic = mauve.Mauve(seeds=(5, 6), buckets=buckets, real=real)
        assert critic.describe(units) == {"a": 1} and critic.describe(units[:1]) == {}
    for ((first, second, rng), named), buckets in zip(asked, (None, 4), strict=True):
        assert first is real and second.tolist() == [[0, 1], [1, 1]]
        assert rng.random() == np.random.default_rng(0).random()
        assert named == {"seeds": (5, 6), "buckets": buckets}


def test_costs_are_read_in_windows_of_two_tokens_or_more(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(costs, "open_language_model", lambda model: ("tokenizer", "network"))
    monkeypatch.setattr(costs.capacity, "window_size", lambda network: 9)
    monkeypatch.setattr(costs, "open_reader", lambda *given, **named: asked.append((given, named)))
    monkeypatch.setattr(costs, "costs_of_orders", lambda *given: given)
    for window in (2, 9, None):
        found = costs.sentence_costs([], tmp_path, shuffles=1, seed=2, window=window)
        assert found == ([], "tokenizer", None, window or 9)
    named = {"share": False, "label": "order and repetition"}
    assert asked == [(("network", costs.BATCH * size), named) for size in (2, 9, 9)]
    for window in (1, 10):
        refuses(
            f"window is {window}, allowed is 2 to 9",
            costs.sentence_costs,
            [],
            tmp_path,
            1,
            2,
            window,
        )


@pytest.mark.parametrize(("given", "asked"), [
    ({}, {}), ({"extended": False}, {"extended": False}), ({"extended": True}, {"extended": True}),
])  # fmt: skip
def test_a_word_nets_measure_says_whether_it_is_extended_if_told(given, asked, monkeypatch):
    monkeypatch.setattr(wordnet, "wordnet", lambda **named: named)
    settings = WordnetSimilarity(measure="lesk", **given)
    assert settings.metric("real") == {"real": "real", "measure": "lesk", **asked}


def test_concepts_without_information_are_alike_in_nothing():
    with np.errstate(all="raise"):
        found = wordnet.Lin().measure(np.array([[0.0, 0.5, 4.0]]), np.array([[0.0, 0.2, 1.0]]))
    assert found.tolist() == [[0.0, 0.8, 0.5]]


def test_labels_that_no_sentence_has_are_missing_also_of_resamples():
    confusion = np.zeros((3, 3, 2))
    confusion[1, 0, 1] = 1
    assert reliability.missing_labels(confusion) == ["supported", "not_enough_info"]
    assert reliability.missing_labels(np.ones(9)) == []
