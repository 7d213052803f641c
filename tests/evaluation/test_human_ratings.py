"""Agreement, correlations with people, regression and intervals against loops and SciPy; the human study, and what is recovered of what was put in."""

import math

import numpy as np
import pytest
from scipy import stats

from longform.documents import Document, Section
from longform.evaluation import agreement, human_study
from longform.evaluation.agreement import correlate, krippendorff_alpha, leave_one_out
from longform.evaluation.human_ratings import combined_scorers, rating_records, stepwise
from longform.evaluation.human_study import (
    CoherentShare,
    judged_items,
    mixed_effects,
    units_from_predictions,
)
from longform.results import Results
from longform.statistics.estimates import estimate
from longform.statistics.intervals import wilson
from longform.statistics.random_streams import generator
from longform_lab.study.__main__ import COLUMNS
from synthetic_world.domains import domain
from synthetic_world.simulated_annotators import (
    Annotator,
    ChainRule,
    answer_rows,
    read,
    to_predictions,
)
from tests.refusals import refuses

NAN = math.nan
VALUES, MARKS = [1.0, 2.0, 4.0, 3.0, 7.0], [[1, 2], [2, 2], [5, 4], [1, 6], [7, 7]]


def records(columns, marks, systems=(), told=None):
    """Two texts of a cluster each."""
    clusters = [f"c{i // 2}" for i in range(len(marks))]
    columns = {name: np.array(values, dtype=float) for name, values in columns.items()}
    return Results(rating_records(columns, np.array(marks, dtype=float), clusters, systems, told))


def test_values_and_means_of_systems_are_correlated_with_marks():
    found = records({"given": [*VALUES, np.nan, 3.0]}, [*MARKS, [1, 1], [np.nan, np.nan]])
    one = found.one(critic="given", metric="pearson", task="text")
    assert one.value == pytest.approx(np.corrcoef(VALUES, np.mean(MARKS, axis=1))[0, 1])
    assert (one.units, one.excluded) == (5, 2) and one.low <= one.value <= one.high
    assert found.one(metric="rater_agreement").value == pytest.approx(
        np.corrcoef(np.array([*MARKS, [1, 1]]).T)[0, 1]
    )
    found = records(
        {"given": [1, 3, 5, 5, 0, 2]},
        [[1], [1], [3], [3], [2], [2]],
        ["a", "a", "b", "b", "c", "c"],
    )
    assert found.one(metric="pearson", task="system").value == pytest.approx(
        np.corrcoef([2, 5, 1], [1, 3, 2])[0, 1]
    )
    # a distance keeps its sign, and is turned where scorers are compared
    found = records(
        {"near": VALUES, "far": VALUES}, MARKS, told={"near": ("higher", ""), "far": ("lower", "")}
    )
    assert (
        found.one(critic="far", metric="pearson").value
        == found.one(critic="near", metric="pearson").value
    )
    difference = found.one(metric="pearson_difference")
    assert (difference.critic, difference.variant) == ("near", "far")
    assert difference.value == pytest.approx(2 * found.one(critic="near", metric="pearson").value)
    assert found.one(metric="intercorrelation").value == pytest.approx(1)


def clustered_draw(rng, clusters, size):
    """Two scorers that correlate equally with ratings; whatever they share is shared by whole clusters."""
    first, second, people = rng.normal(size=(3, clusters, 1)) + 0.1 * rng.normal(
        size=(3, clusters, size)
    )
    sides = (0.5 * people + first, 0.5 * people + second, people)
    return [side.ravel() for side in sides], np.repeat(np.arange(clusters), size)


def test_two_scorers_of_an_article_are_no_surer_than_articles_are_many():
    (one, other, people), clusters = clustered_draw(generator("versions"), 30, 12)
    widths = []
    for groups in (clusters, np.arange(360)):
        made = rating_records(
            {"one": one, "other": other}, people[:, None], groups.astype(str).tolist()
        )
        found = Results(made).one(metric="intercorrelation")
        assert found.low < found.value < found.high
        widths.append(found.high - found.low)
    assert widths[0] > 2 * widths[1]


@pytest.mark.parametrize("size", [1, 12])
def test_a_comparison_of_two_scorers_keeps_its_level_whatever_the_clusters(size):
    """Twelve summaries of one article are not twelve texts, and the better scorer is not known before the data."""
    rng, rejected = generator("level", size), 0
    for trial in range(150):
        sides, clusters = clustered_draw(rng, 20, size)
        rejected += (
            agreement.compare_correlations(*sides, clusters, generator("trial", size, trial), 200)
            < 0.05
        )
    assert rejected <= 17  # 5 % of 150 is 7.5; more than 17 has probability below 1e-3


def test_a_scorer_that_people_agree_with_is_found_to_be_the_better_one():
    rng = generator("better")
    people = rng.normal(size=120)
    columns = {
        "noise": rng.normal(size=120),
        "good": people + rng.normal(size=120),
        "short": np.full(120, 1.0),
    }
    made = rating_records(columns, people[:, None], np.repeat(np.arange(40), 3).tolist())
    gap = next(
        r
        for r in made
        if r.metric == "pearson_difference" and r.critic == "noise" and r.variant == "good"
    )
    assert gap.high < 0 and gap.p_value < 0.01
    # and scorers are combined on other clusters than they are judged on
    rng = generator("combined")
    columns = {"a": rng.normal(size=120), "b": rng.normal(size=120)}
    people = columns["a"] + columns["b"] + 0.3 * rng.normal(size=120)
    combined, best, *weights = combined_scorers(columns, people, np.repeat(np.arange(20), 6))
    assert combined.value > max(0.9, best.value) and (
        combined.units,
        combined.details["fitted_on"],
    ) == (42, 78)
    assert {record.critic for record in weights} == {"a", "b"}
    refuses("1 cluster,", combined_scorers, columns, people, [0] * 120)


KINDS = pytest.mark.parametrize("kind", ["pearson", "spearman"])


@KINDS
def test_coefficients_equal_scipys_and_missing_pairs_are_counted(kind):
    rng = generator("correlate")
    x, y = rng.normal(size=30), rng.normal(size=30)
    y[3] = NAN
    mine, kept = correlate(kind, x, y), ~np.isnan(y)
    theirs = getattr(stats, f"{kind}r")(x[kept], y[kept])
    assert (mine.value, mine.p_value) == pytest.approx(
        tuple(theirs)
    ) and mine.low < mine.value < mine.high
    assert (mine.items, mine.excluded) == (29, 1)
    if kind == "pearson":
        assert (mine.low, mine.high) == pytest.approx(tuple(theirs.confidence_interval()))
    # the value that is resampled, one by one and many at once
    rng = generator("value alone", kind)
    for size in (3, 4, 10, 200):
        x = rng.normal(size=size)
        for y in (rng.normal(size=size), 3 * x - 1, -x, np.round(x), np.ones(size)):
            assert agreement.value_of(kind, x, y) == pytest.approx(
                correlate(kind, x, y).value, abs=1e-9, nan_ok=True
            )
    assert np.isnan(agreement.value_of(kind, x[:2], x[:2]))
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=12).round(1), rng.integers(0, 4, 12).astype(float)
    counts = np.concatenate(
        [rng.poisson(1.0, (40, 12)), np.eye(12), 2 * np.eye(12)[:, ::-1] + np.eye(12)]
    )
    rows = [np.repeat(np.arange(12), times) for times in counts.astype(int)]
    one_by_one = [agreement.value_of(kind, x[row], y[row]) for row in rows]
    np.testing.assert_allclose(
        agreement.weighted_values(kind, x, y, counts), one_by_one, rtol=1e-12, atol=1e-15
    )
    assert np.isnan(one_by_one).any() and not np.isnan(one_by_one).all()


@KINDS
def test_intervals_cover_the_truth_about_as_often_as_they_say(kind):
    rho = 0.6
    truth = {"pearson": rho, "spearman": 6 / np.pi * np.arcsin(rho / 2)}[kind]
    rng, hits = generator("cover", kind), 0
    for _ in range(300):
        x = rng.normal(size=40)
        found = correlate(kind, x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=40))
        hits += found.low <= truth <= found.high
    assert 0.90 <= hits / 300 <= 0.99


def test_leave_one_out_equals_a_loop_over_raters():
    ratings = generator("loo").integers(1, 8, (5, 12)).astype(float)
    ratings[1, 4] = NAN
    by_hand = []
    for r in range(5):
        seen = ~np.isnan(ratings[r])
        others = np.nanmean(np.delete(ratings, r, axis=0), axis=0)
        by_hand.append(stats.pearsonr(ratings[r, seen], others[seen])[0])
    found = leave_one_out(ratings, generator("b"), resamples=50)
    assert found.value == pytest.approx(np.mean(by_hand))
    assert found.low < found.value < found.high
    assert (found.raters, found.excluded) == (5, 0)  # and a constant rater is counted out:
    ratings = np.array([[1, 2, 3, 4], [2, 2, 3, 5], [4, 4, 4, 4.0]])
    assert leave_one_out(ratings, generator("b"), resamples=5).raters == 2
    refuses("constant", leave_one_out, np.full((3, 5), 4.0), generator("b"))
    refuses("two raters", leave_one_out, np.ones((1, 5)), generator("b"))


# Krippendorff (2011, "Computing Krippendorff's alpha-reliability"), example with missing data, four observers, twelve units
KRIPPENDORFF = np.array([[1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
                         [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN]])  # fmt: skip


def test_alpha_equals_krippendorffs_example_and_is_undefined_if_constant():
    for level, alpha in (("nominal", 0.743), ("interval", 0.849)):
        assert krippendorff_alpha(KRIPPENDORFF, level) == pytest.approx(alpha, abs=5e-4)
    for x in ([1, 1, 1, 1], [1, 2, NAN, NAN]):
        assert math.isnan(correlate("pearson", np.array(x), np.arange(4.0)).value)
    assert math.isnan(krippendorff_alpha(np.ones((2, 4))))
    refuses("no item", krippendorff_alpha, np.array([[1, NAN], [NAN, 2]]))
    refuses("allowed are", krippendorff_alpha, KRIPPENDORFF, "cardinal")
    assert math.isnan(agreement.cohen_kappa([3, 3], [3, 3]))
    refuses("kappa of 1 and 2", agreement.cohen_kappa, [1], [1, 2])


def test_stepwise_keeps_what_was_planted_and_removes_what_others_replace():
    rng = generator("regression", 200)
    columns = {name: rng.normal(size=200) for name in ("first", "second", "noise", "other")}
    columns |= {"copy": columns["first"] + 1e-9 * rng.normal(size=200), "constant": np.ones(200)}
    response = 3 + 2 * columns["first"] - columns["second"] + 0.5 * rng.normal(size=200)
    model = stepwise(columns, response)
    assert {"second"} < set(model.names) and len({"first", "copy"} & set(model.names)) == 1
    assert "constant" not in model.names
    weights = dict(zip(model.names, model.weights / model.scales, strict=True))
    assert weights["second"] == pytest.approx(-1, abs=0.1)
    assert model.predict(columns) @ response > 0
    broken = columns | {"first": np.where(np.arange(200) < 5, np.nan, columns["first"])}
    trimmed = {name: values[5:] for name, values in columns.items()}
    assert stepwise(broken, response).names == stepwise(trimmed, response[5:]).names
    rng = generator("suppressed")
    a, b = rng.normal(size=(2, 300))
    mixed = a + b + 0.3 * rng.normal(size=300)
    model = stepwise({"mixed": mixed, "a": a, "b": b}, a + b + 0.01 * rng.normal(size=300))
    assert set(model.names) == {"a", "b"}
    refuses("all of one rating", stepwise, columns, np.ones(200))


def test_wilson_equals_newcombes_printed_examples():
    """Newcombe (1998), Statistics in Medicine 17:857, Table I, method 3."""
    for given, low, high in (((81, 263), 0.2553, 0.3662), ((15, 148), 0.0624, 0.1605), ((0, 20), 0, 0.1611),
                             ((1, 29), 0.0061, 0.1718)):  # fmt: skip
        assert wilson(*given) == pytest.approx((low, high), abs=5e-5)
    refuses("3 out of 2", wilson, 3, 2)


RULE = ChainRule(("one", "two"), np.array([[1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]], dtype=float), 0.05)
STRICT = np.array([[1, 0, 0, 0], [0.01, 0.99, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]], dtype=float)
STRICT_RULE = ChainRule(("one", "two", "three"), STRICT, 0.05)
GOOD, BAD = ("one", "two"), ("two", "one")
FLIPS = (0.05, 0.1, 0.15, 0.2)


def study(share, articles=300, seed=1, system="s", careless=()):
    cut = round(share * articles)
    chains = {f"{system}/{i}": GOOD if i < cut else BAD for i in range(articles)}
    people = [
        Annotator(f"a{i}", 0.05, flip, 1.0 if i in careless else 0.0)
        for i, flip in enumerate(FLIPS)
    ]
    rows = answer_rows(chains, rule=RULE, annotators=people, system=system, seed=seed, checks=10)
    return judged_items(rows, splits={}, simulated=True)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_planted_share_and_agreement_are_recovered_within_intervals(share):
    units = study(share)
    found = estimate(
        CoherentShare(), CoherentShare().sufficient_statistics(units), generator("share"), 200
    )
    wanted = human_study.expected_share(share, FLIPS)
    # Articles are the only thing resampled, and their truth is fixed here: the interval is wide enough for the flips.
    assert found.low <= wanted <= found.high
    names, ratings = human_study.rating_matrix(units)
    assert len(names) == len(FLIPS)
    draws = generator("alpha")
    alphas = [
        krippendorff_alpha(ratings[:, draws.integers(0, 300, 300)], "nominal") for _ in range(100)
    ]
    low, high = np.quantile(alphas, [0.005, 0.995])
    assert low <= human_study.expected_alpha(share, FLIPS) <= high


def test_measured_error_rates_and_careless_annotators_are_described():
    units = study(0.5)
    found = CoherentShare().describe(units)
    assert found["simulated"] and found["known"]["coherent"] == 0.5
    for flip, rates in zip(FLIPS, found["known"]["rates"].values(), strict=True):
        assert rates["flips"] == pytest.approx(flip, abs=4 * np.sqrt(flip / 300))
    assert found["incoherent"][0][0] == list(BAD)
    counts = [number for _, number in found["incoherent"]]
    assert counts == sorted(counts, reverse=True) and sum(counts) == found[
        "judgements"
    ] - CoherentShare().sufficient_statistics(units).total("coherent")
    units = study(0.5, careless=(2,))  # who is set aside by a share of the checks
    assert all(unit.dropped == ("a2",) and "a2" not in unit.verdicts for unit in units)
    assert CoherentShare().describe(units)["dropped"] == ["a2"]
    rows = [
        {"annotator": n, "answer": a, "gold": "y"}
        for n, said in (("x", "yyyn"), ("y", "yynn"))
        for a in said
    ]
    assert human_study.failing(rows) == ("y",)


def test_exported_words_for_truth_are_read_and_earlier_answers_left_out():
    row = {
        "annotator": "p",
        "item": "i",
        "source": "s",
        "phase": "testing",
        "check": "False",
        "question": "coherent",
    }
    said = (("coherent", "False"), ("incoherent", "True"))
    rows = [row | {"answer": answer, "gold": "", "last": last} for answer, last in said]
    (unit,) = judged_items(rows, splits={}, simulated=False)
    assert unit.verdicts == {"p": False} and not unit.simulated
    row |= {"answer": "maybe", "gold": "", "last": True}
    refuses("allowed are coherent", judged_items, [row], splits={}, simulated=False)


def test_blank_answers_of_both_annotators_are_no_agreement():
    row = {"item": "", "source": "s", "phase": "testing", "check": False, "gold": "", "last": True}
    said = {
        "ann": ["coherent", "incoherent"] * 2,
        "ben": ["coherent", "coherent", "coherent", "incoherent"],
    }
    rows = []
    for name, verdicts in said.items():
        for number, verdict in enumerate([*verdicts, "", " "]):
            answer = {"annotator": name, "item": f"i{number}", "answer": verdict}
            rows.append({**row, **answer, "question": "coherent"})
    rows.append({**rows[0], "question": "section_0", "answer": ""})
    units = judged_items(rows, splits={}, simulated=False)
    names, ratings = human_study.rating_matrix(units)
    # of four items three are agreed on; (3/4 - 1/2) / (1 - 1/2), with the margins 1/2 and 3/4
    assert human_study.agreement(names, ratings)["kappa"] == {"ann ben": pytest.approx(0.5)}
    assert CoherentShare().sufficient_statistics(units).total("excluded") == 2
    assert units[0].labels == {}


def test_mixed_effects_find_the_planted_order_and_spreads():
    draw = generator("mixed")
    logits, people = {"data": 1.5, "good": 0.5, "bad": -1.5}, draw.normal(0, 0.7, 6)
    rows = []
    for system, logit in logits.items():
        for item, own in enumerate(draw.normal(0, 0.5, 30)):
            for name, bias in enumerate(people):
                share = 1 / (1 + np.exp(-(logit + bias + own)))
                rows.append((int(draw.random() < share), system, f"p{name}", f"{system}/{item}"))
    fixed, spreads = mixed_effects(*(list(column) for column in zip(*rows, strict=True)))
    assert [effect.name for effect in fixed] == ["data", "good minus data", "bad minus data"]
    assert fixed[2].value == pytest.approx(-3.0, abs=0.9)
    assert fixed[2].value < fixed[1].value < 0
    assert spreads[0].low < 0.7 < spreads[0].high * 1.5
    for what, verdicts, systems in (
        ("two systems", [1, 0], "aa"),
        ("verdicts", [1, 1], "ab"),
        ("length", [1], "ab"),
    ):
        refuses(what, mixed_effects, verdicts, list(systems), ["p", "q"], ["i", "j"])


def test_rows_have_the_exported_columns_and_depend_on_no_other():
    people = [Annotator("a", 0.5, 0.5), Annotator("b", 0.5, 0.5)]
    chains = {f"d{i}": ("one", "two", "three") for i in range(20)}
    given = {"rule": STRICT_RULE, "system": "s"}
    assert all(
        set(row) == set(COLUMNS)
        for row in answer_rows(chains, annotators=people, seed=1, checks=1, **given)
    )
    whole = answer_rows(chains, annotators=people, seed=1, **given)
    alone = answer_rows({"d7": chains["d7"]}, annotators=people[1:], seed=1, **given)
    assert alone == [row for row in whole if row["item"] == "d7" and row["annotator"] == "b"]
    assert whole != answer_rows(chains, annotators=people, seed=2, **given)
    refuses("probabilities", Annotator, "x", 1.5, 0)
    refuses("name of its own", answer_rows, {}, annotators=people[:1] * 2, seed=1, **given)


def test_the_rule_forbids_improbable_transitions_and_unknown_types():
    chains = (("one", "two"), ("one",), ("one", "one", "two"), (), ("one", "new"))
    assert [STRICT_RULE.coherent(chain) for chain in chains] == [True, False, False, False, False]
    chains = {f"d{i}": ("one", "two") for i in range(1500)}
    people = [Annotator("sure", 0, 0), Annotator("rough", 0.2, 0.3)]
    wrong = {(name, kind): [] for name in ("sure", "rough") for kind in (True, False)}
    for row in answer_rows(chains, rule=STRICT_RULE, annotators=people, system="s", seed=3):
        wrong[row["annotator"], row["question"] == "coherent"].append(row["answer"] != row["gold"])
    assert not any(wrong["sure", True] + wrong["sure", False])
    assert np.mean(wrong["rough", True]) == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 1500))
    assert np.mean(wrong["rough", False]) == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 3000))


def test_a_readout_gives_the_same_judged_articles_as_the_rows():
    chains = {"s/1": ("one", "two"), "s/2": ("three",)}
    people = [Annotator("a", 0.1, 0.1), Annotator("b", 0.1, 0.1, careless=1.0)]
    rows = answer_rows(chains, rule=STRICT_RULE, annotators=people, system="s", seed=1, checks=12)
    splits = dict.fromkeys(chains, "generated")
    found = units_from_predictions(to_predictions(rows, splits))
    assert found == judged_items(rows, splits=splits, simulated=True)
    assert [unit.unit_id for unit in found] == list(chains)
    assert all(
        unit.dropped == ("b",) and set(unit.verdicts) == {"a"} and unit.simulated for unit in found
    )


def test_real_documents_are_judged_by_their_own_titles_without_a_reader(tmp_path):
    good, bad = ("introduction", "method", "result", "discussion"), ("discussion", "introduction")
    documents = [
        Document(f"d{i}", "test", tuple(Section(t, "x") for t in row))
        for i, row in enumerate((good, bad))
    ]
    people = [{"name": "a", "confusion": 0.0, "flips": 0.0}]
    given = {"reader": tmp_path, "name": "row", "seed": 1, "splits": ["test"], "domain": "pubmed", "systems": ["data"],
             "per_system": 5, "checks": 0, "least": 0.02, "max_length": 9}  # fmt: skip
    units = units_from_predictions(read(documents=documents, annotators=people, **given))
    refuses("no document", read, documents=[], annotators=[], **given)
    assert {unit.unit_id: unit.verdicts["a"] for unit in units} == {"d0": True, "d1": False}
    assert set(good) <= set(domain("pubmed").chain.types)


def test_nobody_expects_an_end_of_an_article_that_was_cut(tmp_path):
    chain = domain("pubmed").chain
    begun = ("introduction", "method")
    places = [chain.types.index(title) for title in begun]
    assert chain.transitions[places[-1] + 1, -1] < 0.02  # articles do not end with their methods
    documents = [
        Document(name, "test", tuple(Section(title, "x") for title in begun))
        for name in ("whole", "cut")
    ]
    given = {"reader": tmp_path, "name": "row", "seed": 1, "splits": ["test"], "domain": "pubmed", "systems": ["data"],
             "per_system": 5, "checks": 0, "least": 0.02, "max_length": 9, "documents": documents,
             "annotators": [{"name": "a", "confusion": 0.0, "flips": 0.0}]}  # fmt: skip
    units = units_from_predictions(read(**given, truth={"cut": np.array([False, True])}))
    assert {unit.unit_id: unit.verdicts["a"] for unit in units} == {"whole": False, "cut": True}
    assert not any(unit.verdicts["a"] for unit in units_from_predictions(read(**given, truth={})))
    assert STRICT_RULE.coherent(("one",), cut=True) and not STRICT_RULE.coherent((), cut=True)


def test_an_item_with_one_answer_says_whether_it_is_a_check():
    row = {"annotator": "a", "question": "coherent", "answer": "yes", "gold": "no", "source": "s"}
    rows = [{**row, "item": "x", "check": True}, {**row, "item": "y", "check": False}]
    found = to_predictions(rows, {"y": "validation"})
    assert found.arrays["check"].tolist() == [True, False]
    assert (found.unit_ids, found.splits) == (("x", "y"), ("test", "validation"))


def test_a_careful_annotator_passes_every_check_and_a_careless_one_guesses():
    labels = ("history", "geography", "people")
    careful, careless = Annotator("a", 0.0, 0.0), Annotator("a", 0.0, 0.0, careless=1.0)
    items = [f"check-{number}" for number in range(60)]
    assert {tuple(careful.check(item, "people", labels, 1)) for item in items} == {
        ("people", "incoherent")
    }
    guesses = [tuple(careless.check(item, "people", labels, 1)) for item in items]
    assert {label for label, _ in guesses} == set(labels)
    assert {verdict for _, verdict in guesses} == {"coherent", "incoherent"}
