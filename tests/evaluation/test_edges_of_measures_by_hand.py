"""Measures at their edges, and what is asked of libraries: whole results worked out by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from statsmodels.genmod import bayes_mixed_glm

from longform.errors import InputError
from longform.evaluation import agreement, human_study, sentence_paths
from longform.evaluation import human_ratings as ratings
from longform.evaluation import human_vs_machine as sides
from longform.evaluation import order_discrimination as orders
from longform.evaluation.human_study import Effect
from longform.evaluation.measurements import Measurement, mean_of_trainings, paired_difference
from longform.evaluation.suite_accuracy import suite_accuracy_records
from longform.evaluation.verified_texts import GenerationMean
from longform.results import Record
from longform.statistics.intervals import wilson
from longform.statistics.sufficient_statistics import SufficientStatistics
from tests.evaluation.test_human_study_by_hand import row

INF, NAN = math.inf, math.nan


@pytest.fixture(autouse=True)
def no_arithmetic_without_a_result():
    with np.errstate(divide="raise", invalid="raise"):
        yield


def test_a_coefficient_never_leaves_its_bounds_by_rounding():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 7))
    for sign in (1.0, -1.0):
        of_one = [sign * agreement.value_of("pearson", x, sign * x) for x in rows]
        weighted = [
            agreement.weighted_values("pearson", x, sign * x, np.ones((1, 7))) for x in rows
        ]
        for found in (of_one, sign * np.concatenate(weighted)):
            assert max(found) == 1.0 and min(found) > 1 - 1e-12


def test_a_resample_is_constant_where_the_values_that_it_takes_are_one():
    counts = np.array([[1, 0, 0], [0, 1, 3], [1, 1, 0], [0, 0, 0]])
    found = agreement._is_constant(np.array([1.0, 2.0, 2.0]), counts)
    assert found.tolist() == [True, True, False, False]
    assert agreement._is_constant(np.zeros(0), np.zeros((2, 0))).tolist() == [False, False]


def test_no_pair_has_no_interval():
    nothing = np.zeros(0)
    ends = agreement.clustered_interval(
        "pearson", nothing, nothing, [], np.random.default_rng(0), 5
    )
    assert np.isnan(ends).all()


def test_distinct_support_counts_sets_of_evidence_that_support():
    labels, evidence = ["supported", "supported", "refuted", "unknown"], ["a", "a", "b", "c"]
    unit = SimpleNamespace(checks=SimpleNamespace(labels=labels, evidence=evidence))
    assert GenerationMean("distinct_supported").values(unit).tolist() == [1.0]


def test_agreement_is_over_raters_and_its_interval_over_items():
    table = np.random.default_rng(1).standard_normal((3, 9))
    table[0, 4] = table[1, 3:5] = NAN

    def mean(columns):
        taken = table[:, columns]
        values = []
        for rater, own in enumerate(taken):
            others = np.delete(taken, rater, axis=0)
            shared = ~np.isnan(own) & ~np.isnan(others).all(axis=0)
            with np.errstate(all="ignore"):
                values.append(agreement.value_of(
                    "pearson", own[shared], np.nanmean(others[:, shared], axis=0)
                ))  # fmt: skip
        return values

    draws = np.random.default_rng(4)
    means = [np.array(mean(draws.integers(0, 9, 9))) for _ in range(8)]
    kept = [values[~np.isnan(values)].mean() for values in means if not np.isnan(values).all()]
    low, *_, high = sorted(kept)
    found = agreement.leave_one_out(table, np.random.default_rng(4), 8)
    assert (found.value, found.low, found.high) == pytest.approx(
        (np.mean(mean(range(9))), low, high)
    )
    assert (found.raters, found.excluded) == (3, 0)


def test_a_text_that_nobody_rated_has_no_mean_and_divides_nothing():
    found = ratings._mean_ratings(np.array([[1.0, 3.0], [NAN, 5.0], [NAN, NAN]]))
    assert repr(found.tolist()) == "[2.0, 5.0, nan]"
    table = ratings._table({"a": [1, 2], "b": np.ones(2, np.float32), "c": [9, 9]}, ["b", "a"])
    assert (table.tolist(), table.dtype) == ([[1, 1], [1, 2]], np.float64)


def test_a_line_through_as_many_points_as_weights_has_no_p():
    weights, p_values = ratings.least_squares(np.array([[0.0], [1.0]]), np.array([1.0, 3.0]))
    assert weights == pytest.approx([1.0, 2.0]) and np.isnan(p_values).all()


def test_expected_alpha_is_one_minus_observed_over_chance():
    # q = .5 * .9 + .5 * .1 = .5 for one, .5 for the other; observed .1 * .8 + .2 * .9
    assert human_study.expected_alpha(0.5, [0.1, 0.2]) == pytest.approx(1 - 0.26 / 0.5)
    # q = (.3 * .9 + .7 * .1 + .3 + .3 * .6 + .7 * .4) / 3; pairs .1, .42, .4
    q = (0.34 + 0.3 + 0.46) / 3
    expected = 1 - (0.1 + 0.42 + 0.4) / 3 / (2 * q * (1 - q))
    assert human_study.expected_alpha(0.3, [0.1, 0.0, 0.4]) == pytest.approx(expected)
    for coherent, flips in ((1.0, [0, 0]), (0.0, [0, 0]), (0.5, [0.1]), (0.5, [])):
        assert math.isnan(human_study.expected_alpha(coherent, flips))


def test_verdicts_leave_out_blank_answers_and_other_questions():
    answers = [
        ("ann", "section_0", "a"), ("ann", "coherent", " "), ("bob", "coherent", "incoherent"),
        ("cat", "section_1", "b"), ("cat", "coherent", "coherent"),
    ]  # fmt: skip
    rows = [row("i", who, question, answer) for who, question, answer in answers]
    assert human_study._verdicts("i", rows) == {"bob": False, "cat": True}


def test_a_mixed_model_is_given_its_design_and_told_as_effects(monkeypatch):
    asked = []

    class Model:
        def __init__(self, verdicts, fixed, random, ident, **priors):
            asked.append(
                [verdicts.dtype, *(x.tolist() for x in (verdicts, fixed, random, ident)), priors]
            )

        def fit_vb(self, sd, fit_method, minim_opts):
            asked.append([sd.tolist(), fit_method, minim_opts])
            search = SimpleNamespace(success=ends["success"], nit=7, message="odd")
            return SimpleNamespace(
                params=np.array([ends["mean"], -1.23456789, 0.0, -1.0, 9, 9, 9, 9]), optim_retvals=search,
                fe_sd=[ends["spread"], 0.2], vcp_sd=[0.3, 0.4], vc_sd=[0.5] * 4,
            )  # fmt: skip

    ends = {"mean": 0.5, "spread": 0.1, "success": True}
    monkeypatch.setattr(bayes_mixed_glm, "BinomialBayesMixedGLM", Model)
    found = human_study.mixed_effects([1, 0, 1], ["s", "t", "s"], ["p", "q", "p"], ["j", "i", "i"])
    assert asked == [
        [np.float64, [1, 0, 1], [[1, 0], [1, 1], [1, 0]], [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0]],
         [0, 0, 1, 1], {"vcp_p": 1.0, "fe_p": 2.0}],
        [[0.6] * 8, "L-BFGS-B", {"maxiter": 2000, "maxfun": 4000}],
    ]  # fmt: skip
    z = 1.959963984540054
    reach = [(math.exp(m - z * s), math.exp(m + z * s)) for m, s in ((0.0, 0.3), (-1.0, 0.4))]
    assert found == (
        [Effect("s", 0.5, 0.5 - z * 0.1, 0.5 + z * 0.1),
         Effect("t minus s", -1.23457, -1.23457 - z * 0.2, -1.23457 + z * 0.2)],
        [Effect("annotators", 1.0, *map(pytest.approx, reach[0])),
         Effect("articles", pytest.approx(math.exp(-1)), *map(pytest.approx, reach[1]))],
    )  # fmt: skip
    for name, value in (("mean", NAN), ("spread", INF), ("success", False)):
        with monkeypatch.context() as patch:
            patch.setitem(ends, name, value)
            with pytest.raises(InputError, match=r"in 7 steps of 2000 allowed \(odd\)"):
                human_study.mixed_effects([1, 0], ["s", "t"], ["p", "q"], ["j", "i"])


def test_a_feature_that_one_text_has_is_that_of_the_others():
    units = [([-1.0, NAN], "a"), ([-2.0, 3.0], "a"), ([1.0, NAN], "b"), ([2.0, NAN], "b")]
    seen = []

    class Pipeline:
        def fit(self, table, kinds):
            seen.append((table.tolist(), kinds))

        def predict(self, rows):
            seen.append(rows.tolist())
            return ["kind"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn.pipeline.make_pipeline", lambda *steps: Pipeline())
        features, label = (lambda unit: np.array(unit[0])), (lambda unit: unit[1])
        predict, commonest = sides._trained(features, label, units, "linear")
    assert (predict(np.array([INF, NAN])), commonest) == ("kind", "a")
    assert seen == [
        ([[-1.0, 3.0], [-2.0, 3.0], [1.0, 3.0], [2.0, 3.0]], ["a", "a", "b", "b"]), [[0.0, 3.0]]
    ]  # fmt: skip


def statistics(columns, rows):
    units = [SimpleNamespace(unit_id=f"u{i}") for i in range(len(rows))]
    return SufficientStatistics.of(units, columns, rows)


def test_sides_of_an_area_have_the_sign_of_better_scores():
    both = statistics(("a", "b", "excluded"), [[1, 4, 0], [0, 0, 1], [3, 2, 0]])
    for lower, sign in ((True, 1), (False, -1)):
        found = orders.Area("a", "b", lower=lower).sides(both)
        assert [side.tolist() for side in found] == [[sign * 1, sign * 3], [sign * 4, sign * 2]]


@pytest.mark.parametrize(("learner", "count"), [(True, 2), (False, 3)])
def test_a_scorer_is_fitted_on_originals_and_a_learner_on_the_first(learner, count, monkeypatch):
    monkeypatch.setattr(orders, "PairLearner", dict if learner else list)
    scorer = type("Scorer", (dict,), {"fit": lambda self, units: units})()
    train = [SimpleNamespace(original="a"), "b", "c"]
    assert orders._fitted(scorer, train, 2) == ["a", "b", "c"][:count]
    assert orders._fitted(scorer, train, None) == ["a", "b", "c"]
    assert orders._fitted(scorer, (), 2) is scorer


def test_two_infinite_scores_tie_without_arithmetic_on_them():
    units = [SimpleNamespace(unit_id="a")]
    found = orders.preference_statistics(units, [np.array([INF, INF, 1.0])], "lower")
    assert found.values.tolist() == [[0, 1, 2, 0, 0, 0]]
    for score, level, win in ((0.489, 0.5, 1), (0.491, 0.5, 0), (2.971, 3.0, 0), (2.969, 3.0, 1)):
        found = orders.preference_statistics(units, [np.array([level, score])], "higher", 0.01)
        assert found.values.tolist() == [[win, 1 - win, 1, 0, 1, 0]]


def test_a_curve_is_cut_at_scores_of_the_negative_side(monkeypatch):
    monkeypatch.setattr(orders, "POINTS", 3)
    rates = [0.0, 0.5, 1.0]
    found = orders.roc_points(np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 6.0, 7.0]))
    assert found == {"false_positive": rates, "true_positive": [0.5, 0.75, 1.0]}
    found = orders.roc_points(np.zeros(0), np.zeros(0))
    assert repr(found) == repr({"false_positive": rates, "true_positive": [NAN, NAN, 1.0]})


def test_heads_have_one_set_of_documents_and_the_first_ones_exclusions():
    first = statistics(("v", "excluded"), [[1, 0], [2, 1]])
    second = statistics(("v", "excluded"), [[3, 1], [4, 0]])
    joined = Measurement(dict.fromkeys("ab"), {"a": first, "b": second}).statistics
    assert joined.columns == ("a:v", "a:excluded", "b:v", "b:excluded", "excluded")
    assert joined.values.tolist() == [[1, 0, 3, 1, 0], [2, 1, 4, 0, 1]]
    with pytest.raises(InputError, match="scored different documents"):
        _ = Measurement(dict.fromkeys("ab"), {"a": first, "b": first.take([1, 0])}).statistics


def test_no_document_has_no_written_scores():
    assert orders.written_scores(None, [], "block_1") == []


def test_each_head_of_an_order_is_tested_on_a_stream_of_its_own(monkeypatch):
    streams = []
    monkeypatch.setattr(orders, "written_scores", lambda judge, documents, task: [np.arange(2.0)])
    monkeypatch.setattr(orders, "against_chance", lambda _, *names: streams.append(names) or {})
    monkeypatch.setattr(orders, "signature", lambda judge: "s")
    document = SimpleNamespace(unit_id="u", permutations={"t": ()}, under=lambda head: document)
    judge = SimpleNamespace(better="higher")
    (found,) = orders.order_measurements({"n": judge}, [document], heads=["", "h"])
    assert streams == [(orders.ORDER, "n", "t"), (orders.ORDER, "n", "t", "h")]
    details = {"wins": 0, "ties": 0, "pairs": 1, "unscored": 0, "above_mean": 0}
    wanted = dict(zip([*orders.COLUMNS[:4], "above_mean"], details.values(), strict=True))
    fields = {"critic": "n", "metric": "pairwise_accuracy", "task": "t"}
    assert (found.fields, found.head_fields) == (
        fields,
        {h: {"details": wanted} for h in ("", "h")},
    )
    assert found.metrics == dict.fromkeys(("", "h"), orders.PairAccuracy("s", "t"))


def test_scorers_are_recorded_then_compared_with_the_first_of_a_task(monkeypatch):
    made = [
        SimpleNamespace(fields={"critic": critic, "task": task}, records=lambda *names: [names])
        for critic, task in (("a", "x"), ("b", "x"), ("b", "y"))
    ]
    monkeypatch.setattr(orders, "order_measurements", lambda *given, **named: made)
    monkeypatch.setattr(orders, "paired_difference", lambda *given, **named: (given, named))
    fields = {"critic": "b", "task": "x", "variant": "a", "metric": "pairwise_accuracy_difference"}
    name = orders.ORDER
    assert orders.order_discrimination({}, []) == [
        (name, "a", "x"), (name, "b", "x"), (name, "b", "y"),
        ((made[1], made[0], name, "b", "a", "x"), fields),
    ]  # fmt: skip


def test_a_text_without_a_score_is_excluded_from_its_length(monkeypatch):
    kept = []

    def measurement(metrics, all_statistics, fields):
        kept.append((metrics, all_statistics, fields))
        return SimpleNamespace(records=lambda *names: kept.append(names) or [])

    monkeypatch.setattr(sentence_paths, "Measurement", measurement)
    monkeypatch.setattr(sentence_paths, "unit_scores", lambda judge, units: np.array([NAN, 0.5]))
    monkeypatch.setattr(sentence_paths, "signature", lambda judge: "s")
    units = [
        SimpleNamespace(unit_id=name, sentence_keys=range(n)) for name, n in (("a", 3), ("b", 2))
    ]
    assert sentence_paths.length_confound({"n": None}, units) == []
    (metrics, table, fields), names = kept
    assert metrics == {"": sentence_paths.LengthCorrelation("s")}
    assert (table[""].unit_ids, table[""].columns) == (
        ("a", "b"),
        ("score", "sentences", "excluded"),
    )
    assert table[""].values.tolist() == [[0, 3, 1], [0.5, 2, 0]]
    assert fields == {"critic": "n", "metric": "length_correlation"}
    assert names == ("length confound", "n")


def test_a_difference_counts_the_documents_that_were_scored():
    rows = [[[1, 0, 1, 0, 1, 0], [0, 0, 0, 1, 0, 1]], [[0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1]]]
    high, low = (
        Measurement({"": orders.PairAccuracy("s", "t")}, {"": statistics(orders.COLUMNS, table)})
        for table in rows
    )
    found = paired_difference(high, low, "n", critic="c", metric="m", task="k")
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)
    assert (found.units, found.excluded, found.paired, found.better) == (1, 1, True, "higher")
    assert (found.critic, found.metric, found.task, found.p_value) == ("c", "m", "k", 1.0)


def test_a_mean_is_blank_where_its_trainings_disagree():
    documents = Record(
        "c", "m", value=0.5, low=0.4, high=0.6, reference=0.1, paired=True, signature="s"
    )
    each = [
        Record("c", "m", value=value, reference=reference, paired=paired, signature=signature)
        for value, reference, paired, signature in ((0.4, 0.1, True, "a"), (0.6, 0.2, None, "b"))
    ]
    found = mean_of_trainings(documents, each)
    assert (found.reference, found.paired, found.signature) == (None, None, "")
    assert (found.difference, found.p_value, found.value) == (None, None, 0.5)


def test_suites_of_one_source_are_pooled_with_as_many_trials_as_texts():
    def counts(items, correct, gained, lost):
        return {"items": items, "correct": correct, "gained": gained, "lost": lost}

    suites = {
        "connective_as_causal_as_also": {"counts": counts(4, 3, 2, 0), "formula_bits": 7},
        "connective_as_causal_as_but": {"counts": counts(4, 1, 0, 0)},
        "coreference_he": {"counts": counts(2, 2, 1, 1)},
    }

    def record(task, numbers, trials, p_value, **details):
        share = numbers[1] / numbers[0]
        low, high = wilson(share * trials, trials)
        return Record(
            "surprisal", "accuracy", system="lm", task=task, value=share, low=low, high=high,
            p_value=p_value, units=trials, excluded=0, better="higher",
            details={**details, "counts": counts(*numbers)},
            signature=f"share of {numbers[0]} items; Wilson, McNemar",
        )  # fmt: skip

    assert suite_accuracy_records(suites, system="lm") == [
        record("connective_as_causal_as_also", (4, 3, 2, 0), 4, 0.5, formula_bits=7),
        record("connective_as_causal_as_but", (4, 1, 0, 0), 4, None),
        record("coreference_he", (2, 2, 1, 1), 2, 1.0),
        record("connective_as_causal", (8, 4, 2, 0), 4, 0.5),
        record("connectives", (8, 4, 2, 0), 4, 0.5),
        record("re-mention", (2, 2, 1, 1), 2, 1.0),
        record("all suites", (10, 6, 3, 1), 6, pytest.approx(10 / 16)),
    ]
