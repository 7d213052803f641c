"""Measures of a whole run by hand, intervals over pages, correlations, corrected support; the sheet that people fill in and its table."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from longform.critics.verifiability import checks as packing
from longform.critics.verifiability import reliability
from longform.critics.verifiability import score as measures
from longform.critics.verifiability.checker import Checker
from longform.evaluation.verified_texts import MEASURES, correlations, decoder_records
from longform.results import Results
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import clustered
from longform.text.rendering import TokenText
from tests.refusals import refuses

S, R, N = packing.LABELS


def generation(
    name, labels, true=None, setting="beam", page=None, tokens=(1, 2, 3, 4, 5), **columns
):
    lines = [frozenset({("p", i)}) if label != N else frozenset() for i, label in enumerate(labels)]
    table = np.zeros((len(labels), len(packing.SENTENCE_COLUMNS)))
    table[:, packing.SENTENCE_COLUMNS.index("same_as")] = range(len(labels))
    for column, values in columns.items():
        table[:, packing.SENTENCE_COLUMNS.index(column)] = values
    text = TokenText(name, "generated", np.array(tokens), np.array([1, 2, 3, 4, 5]))
    truth = (
        None if true is None else packing.CheckedText(name, "generated", tuple(true), tuple(lines))
    )
    checks = packing.CheckedText(name, "generated", tuple(labels), tuple(lines))
    about = np.arange(len(packing.UNIT_COLUMNS), dtype=float)
    return packing.CheckedGeneration(
        name, "generated", setting, page or name, checks, truth, text, table, about
    )


UNITS = [generation("a", [S, S, R, N, S], [S, R, R, N, N], entities=[1, 2, 3, 4, 5]), generation("b", [], []),
         generation("c", [N, R], [S, N], setting="top_k", tokens=(1, 1, 1, 1, 1, 1), entities=[2, math.nan])]  # fmt: skip


def test_generations_come_back_from_their_arrays():
    found = packing.generations_from_predictions(packing.generations_to_predictions(UNITS))
    for wanted, made in zip(UNITS, found, strict=True):
        for field in ("unit_id", "setting", "page", "checks", "truth"):
            assert getattr(made, field) == getattr(wanted, field)
        assert np.array_equal(made.sentences, wanted.sentences, equal_nan=True)
        assert made.tokens.tokens.tolist() == list(wanted.tokens.tokens)
    untold = packing.generations_to_predictions([generation("a", [S], None)])
    assert packing.generations_from_predictions(untold)[0].truth is None


def table(units, **settings):
    """Record of each measure of each decoder; exact verdicts are called true_SPG here."""
    records = Results(decoder_records(units, resamples=20, **settings))
    rows = [record for record in records if record.metric != "correlation"]
    return {(r.system, "true_" * (r.variant == "gold") + r.metric): r for r in rows}, records


def test_records_have_every_measure_and_planted_ones_need_a_truth():
    made, records = table(UNITS, correlated=["beam"])
    assert set(made) == {
        (decoder, measure) for decoder in ("beam", "top_k") for measure in MEASURES
    }
    beam = {name: record.value for (system, name), record in made.items() if system == "beam"}
    assert beam["SPG"] == pytest.approx(3 / 10) and beam["true_SPG"] == pytest.approx(1 / 10)
    assert beam["SPV"] == pytest.approx(3 / 4) and made["beam", "SPV"].excluded == 1
    assert (
        beam["distinct_sentences"] == 2.5 and beam["entities"] == 3 and beam["distinct_4grams"] == 2
    )
    assert made["top_k", "proportion_4grams"].value == 0.5 and made["top_k", "entities"].value == 2
    assert made["beam", "SPG"].details == {"pages": 2}
    assert len(records.where(metric="correlation")) == 14
    made, _ = table([generation("a", [S])])
    assert (
        not any(name.startswith("true_") for _, name in made) and made["beam", "SPG"].value == 0.2
    )


def test_seeds_of_a_page_are_one_cluster():
    """Three equal generations a page must not narrow the interval."""
    rng = generator("pages")
    labels = [[S if rng.random() < 0.5 else N for _ in range(5)] for _ in range(12)]
    once = [generation(f"{i}", row, page=f"{i}") for i, row in enumerate(labels)]
    thrice = [
        generation(f"{i}-{k}", row, page=f"{i}") for i, row in enumerate(labels) for k in range(3)
    ]
    one, three = (table(units)[0]["beam", "SPG"] for units in (once, thrice))
    assert (one.value, one.low, one.high) == pytest.approx((three.value, three.low, three.high))
    assert (one.units, three.units, three.details["pages"]) == (12, 36, 12)
    statistics = measures.SupportedPerGeneration().sufficient_statistics(
        [unit.checks for unit in UNITS]
    )
    made = clustered(statistics, ["x", "y", "x"])
    assert made.unit_ids == ("x", "y")
    assert made.values.sum(0).tolist() == statistics.values.sum(0).tolist()


def test_correlations_are_those_of_numpy_and_of_pages():
    rng = generator("correlated")
    units = []
    for i in range(20):
        labels = [[S, R, N][int(rng.integers(3))] for _ in range(5)]
        nats = [(-1 if label != N else -2) + 0.3 * rng.standard_normal() for label in labels]
        units.append(generation(f"{i}", labels, nats=nats, linked=math.nan))
    found = correlations(units, 50)
    hits = [float(label != N) for unit in units for label in unit.checks.labels]
    nats = np.concatenate([unit.column("nats") for unit in units])
    assert found["nats-verified"]["value"] == pytest.approx(np.corrcoef(nats, hits)[0, 1])
    assert (
        found["nats-verified"]["low"]
        < found["nats-verified"]["value"]
        < found["nats-verified"]["high"]
    )
    assert math.isnan(found["linked-verified"]["value"])
    assert found["linked-verified"]["excluded"] == 100
    assert math.isnan(found["prefix_perplexity-supported"]["value"])  # constant here


def test_accuracy_precision_and_recall_by_hand():
    units = [generation("a", [S, S, R, N], [S, R, R, S]), generation("b", [N], [N])]
    statistics = reliability.CheckerAccuracy().sufficient_statistics(units)
    assert reliability.confusion_of(statistics).tolist() == [[1, 0, 1], [1, 1, 0], [0, 0, 1]]
    for name, value in (
        ("accuracy", 3 / 5),
        (f"precision of {S}", 1 / 2),
        (f"recall of {R}", 1 / 2),
    ):
        assert reliability.CheckerAccuracy(name).score_of(statistics) == value
    records = Results(reliability.accuracy_records(units))
    about = records.one(metric="checker_accuracy")
    assert about.value == 3 / 5 and records.one(metric="checker_recall", task=R).value == 1 / 2
    assert about.details["confusion"]["refuted as supported"] == 1
    assert about.details["majority"] == 2 / 5
    assert {record.better for record in records} == {"higher"}
    assert records.one(metric="checker_recall", task=R).details == {}
    unsaid = reliability.CheckerAccuracy().sufficient_statistics(units[1:])
    assert math.isnan(reliability.CheckerAccuracy(f"precision of {S}").score_of(unsaid))
    refuses("allowed are", reliability.CheckerAccuracy, "recall")


def test_shares_explain_what_a_known_checker_says():
    rng = generator("shares")
    for _ in range(50):
        confusion, shares = rng.random((3, 3)) + np.eye(3), rng.dirichlet(np.ones(3))
        observed = shares @ (confusion / confusion.sum(1, keepdims=True))
        assert reliability.true_shares(observed, confusion) == pytest.approx(shares, abs=1e-4)
    assert reliability.true_shares(np.array([1.0, 0, 0]), np.eye(3)).tolist() == [1, 0, 0]
    outside = reliability.true_shares(
        np.array([0.9, 0.05, 0.05]), np.array([[5, 1, 4], [1, 5, 4], [1, 1, 8.0]])
    )
    assert outside.min() >= 0 and outside.sum() == pytest.approx(1)
    alike = np.array([[8.0, 1, 1], [8, 1, 1], [1, 1, 8]])
    assert np.isnan(reliability.true_shares(np.array([0.5, 0.3, 0.2]), alike)).all()


def noisy(count, true_rate, name):
    """Sentences with a known truth, and labels of a checker that errs as the matrix says."""
    matrix = np.array([[0.7, 0.1, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    rng, units = generator("noisy", name), []
    for i in range(count):
        true = [int(rng.choice(3, p=true_rate)) for _ in range(5)]
        said = [int(rng.choice(3, p=matrix[t])) for t in true]
        units.append(
            generation(
                f"{name}{i}", [packing.LABELS[s] for s in said], [packing.LABELS[t] for t in true]
            )
        )
    return units


def test_corrected_support_covers_the_truth_where_raw_support_does_not():
    known = noisy(300, [0.3, 0.3, 0.4], "known")
    units = noisy(300, [0.1, 0.2, 0.7], "new")
    (made,) = reliability.corrected_records(units, known, "corrected_by_claims", resamples=200)
    true, given = made.details["true"], made.details["given"]
    assert made.low < true < made.high and made.low < made.value < made.high
    assert abs(made.value - true) < abs(given - true) and given > made.high
    assert (made.system, made.variant) == ("beam", "corrected_by_claims")
    assert (made.units, made.better, made.signature) == (300, "higher", "CorrectedSupports")
    made, _ = reliability.corrected_records(
        UNITS, [generation("a", [S, N], [S, N])], "claims", resamples=10
    )
    assert math.isnan(made.value)
    assert made.details["unknown_labels"] == [R]
    assert made.details["given"] == 0.3
    assert math.isnan(reliability.corrected_spg(np.array([0.0, 0, 0, 1]), np.ones(9)))


def test_corrected_support_of_no_generation_has_an_interval_with_a_width():
    known = [generation(f"known{i}", [S, R, N], [S, R, N]) for i in range(5)]
    units = [generation(f"new{i}", [N] * 5) for i in range(10)]
    (made,) = reliability.corrected_records(units, known, "claims", resamples=10)
    expected = binomtest(0, 10).proportion_ci(method="wilson")
    assert (made.value, made.low, made.high) == pytest.approx((0.0, 0.0, expected.high), abs=1e-9)


def unit(name, decoder, texts, page="p", repeat=0):
    made = generation(
        name, [N] * len(texts), setting=decoder, page=page, same_as=[texts.index(t) for t in texts]
    )
    lines = tuple(f"P: {text}" for text in texts)
    return replace(made, about=np.array([1.0, 1.0, repeat]), texts=tuple(texts), lines=lines)


SHEET_UNITS = [unit("a", "beam", ["one", "two", "one"]), unit("b", "top_k", ["one", "three", "four"]),
               unit("b2", "top_k", ["five"], repeat=1), unit("c", "human", ["six"])]  # fmt: skip


def test_the_sheet_hides_who_wrote_a_sentence_and_holds_each_once():
    record = reliability.sheet_record(SHEET_UNITS)
    made = record.details
    # the first generation of two decoders of the table
    assert len(made["items"]) == 6 and made["prefixes"] == 1
    assert sorted(i["key"]["decoder"] for i in made["items"]) == ["beam"] * 3 + ["top_k"] * 3
    seen = {sentence: text for _, sentence, text in reliability.judges_see(made)}
    assert seen["four"] == "P: four Said before: one three"
    assert seen["one"] in ("P: one", "P: one Said before: one two")
    assert sorted(made["evidence"]) == ["P: four", "P: one", "P: three", "P: two"]
    assert made["exact_repeats"]["beam"] == pytest.approx(1 / 3)
    assert made["exact_repeats"]["top_k"] == 0
    assert [i["item"] for i in made["items"]] == [f"s0000{number}" for number in range(6)]
    assert (record.better, record.signature[:9]) == ("lower", "sentences")
    assert reliability.sheet_record(SHEET_UNITS, 0, ("beam",)).details["items"] == []
    assert (record.value, record.units) == (pytest.approx(1 / 8), 4)


def items(*sentences):
    keys = [{"decoder": d, "page": "p", "generation": g, "sentence": 0} for d, g in sentences]
    return [{"item": f"s{i}", "key": key} for i, key in enumerate(keys)]


def answer(item, annotator, label, **flags):
    return {"item": item, "annotator": annotator, "label": label, **flags}


def test_the_table_is_the_majority_by_hand():
    sheet = items(("beam", "g"), ("beam", "g"), ("beam", "h"), ("top_k", "k"))
    answers = [answer("s0", p, label) for p, label in (("x", S), ("y", S), ("z", R))]  # supported
    answers += [answer("s1", p, S, repetition=1) for p in "xyz"]  # supported, a repeat
    answers += [answer("s2", "x", R), answer("s2", "y", R, ungrammatical="yes"),
                answer("s2", "z", R, ungrammatical="0")]  # fmt: skip
    answers += [answer("s3", "x", S), answer("s3", "y", N)]  # a tie is not enough information
    made = reliability.judged(sheet, answers)
    beam = made["decoders"]["beam"]
    assert beam["REP"] == pytest.approx(100 / 3) and beam["UNG"] == 0 == beam["NAC"]
    assert (beam["SPG"], beam["USPG"]) == pytest.approx(
        (100 * (2 / 5 + 0) / 2, 100 * (1 / 5 + 0) / 2)
    )
    assert (beam["SPV"], beam["USPV"]) == pytest.approx((50, 50))
    assert made["decoders"]["top_k"]["SPG"] == 0 and math.isnan(made["decoders"]["top_k"]["SPV"])
    assert made["unanswered"] == 0 and made["sentences"] == 4
    assert made["agreement"]["majority_share"][S] == pytest.approx(100 * (2 / 3 + 1) / 2)


def test_kappa_is_scikit_learns():
    first = {"1": S, "2": S, "3": R, "4": N, "5": N}
    second = {"1": S, "2": R, "3": R, "4": N, "6": S}
    common = sorted(first.keys() & second.keys())
    wanted = cohen_kappa_score([first[i] for i in common], [second[i] for i in common])
    assert reliability.cohen(first, second) == pytest.approx(wanted)
    assert math.isnan(reliability.cohen({"1": S}, {"1": S}))
    votes = {i: [answer(i, "x", first[i]), answer(i, "y", second[i])] for i in common}
    found = reliability.agreement(votes)
    assert found["cohen_kappa"] == pytest.approx(wanted) and found["annotators"] == 2


def test_answers_to_nothing_are_named():
    for wrong in (answer("s9", "x", S), answer("s0", "x", "true"), {}):
        refuses("answer 1", reliability.judged, items(("beam", "g")), [wrong])
    refuses("no line", reliability.judged, items(("beam", "g")), [])


def test_measures_are_what_their_names_say():
    support = {name: MEASURES[name] for name in MEASURES if "SP" in name}
    assert len(support) == 9
    for name, (critic, part) in support.items():
        assert critic.unique == ("USP" in name), name
        assert (part == "truth") == name.startswith("true_"), name
        assert getattr(critic, "pooled", False) == name.endswith("_pooled"), name
        assert type(critic) is type(MEASURES["SPG" if "SPG" in name else "SPV"][0]), name


def test_a_checker_that_has_judged_is_equal_to_one_that_has_not():
    def no_lines(claim):
        return ()

    judged, fresh = (Checker({}, no_lines, None, {"sure": 0.5}) for _ in range(2))
    assert [verdict.label for verdict in judged.check(["Ulm is a town."])] == [N]
    assert judged == fresh
