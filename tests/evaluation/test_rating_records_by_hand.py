"""Every field of the records of ratings, with the resampling in the test's hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from longform.evaluation import agreement, human_ratings
from longform.results import Record
from tests.refusals import refuses

NAN = float("nan")
A, B = np.array([1.0, 2, 4, 7, NAN, 6]), np.array([2.0, 1, 5, 3, 4, 8])
RATINGS = np.array([[1.0, 2], [1, 4], [3, 3], [NAN, 5], [6, 6], [7, 2]])
PEOPLE = np.array([1.5, 2.5, 3, 5, 6, 4.5])  # the mean of each row
CLUSTERS = ["x", "x", "y", "y", "z", "z"]
BOTH = [0, 1, 2, 3, 5]  # texts that both scorers have


def pearson(x, y):
    return pytest.approx(np.corrcoef(x, y)[0, 1])


@pytest.fixture
def asked(monkeypatch):
    """Streams are their names; intervals and tests are numbers, and what they were asked is noted."""
    calls = []

    def interval(kind, x, y, clusters, rng, resamples):
        calls.append((kind, rng, list(clusters), resamples))
        return -len(calls), len(calls)

    def compared(x, y, rated, clusters, rng):
        calls.append((x.tolist(), y.tolist(), rated.tolist(), clusters, rng))
        return 0.25

    def resampled(clusters, count, rng, resamples):
        calls.append((clusters.tolist(), count, rng, resamples))
        yield np.array([[1.0, 1, 1, 1, 0], [0, 1, 1, 1, 1]])

    def left_out(ratings, rng, resamples):
        calls.append((ratings.tolist(), rng, resamples))
        return agreement.Agreement(0.5, 0.4, 0.6, 7, 8)

    monkeypatch.setattr(human_ratings, "generator", lambda *names: names)
    monkeypatch.setattr(human_ratings, "clustered_interval", interval)
    monkeypatch.setattr(agreement, "compare_correlations", compared)
    monkeypatch.setattr(agreement, "clustered_counts", resampled)
    monkeypatch.setattr(agreement, "leave_one_out", left_out)
    return calls


def test_scorers_pairs_and_raters_have_whole_records(asked):
    records = human_ratings.rating_records(
        {"a": A, "b": B}, RATINGS, CLUSTERS, list("sstuut"), {"a": ("lower", "signed")}, name="N"
    )
    a, b, people = A[BOTH], B[BOTH], PEOPLE[BOTH]
    of_a, a_of_systems, a_ranked, _, of_b, b_of_systems, _, _, between, apart, *rest = records
    # 1. Each scorer by itself; text 5 has no value of a, so that system u has one text.
    signed = {"better": "lower", "signature": "signed"}
    assert of_a == Record(
        "a", "pearson", task="text", value=pearson(a, people), low=-1, high=1, units=5, excluded=1,
        p_value=of_a.p_value, **signed,
    )  # fmt: skip
    assert of_b == Record(
        "b", "pearson", task="text", value=pearson(B, PEOPLE), low=-3, high=3, units=6, excluded=0,
        p_value=of_b.p_value, better="higher",
    )  # fmt: skip
    assert (a_ranked.metric, a_ranked.task, a_ranked.signature) == ("spearman", "text", "signed")
    assert (a_of_systems.metric, a_of_systems.task, a_of_systems.units) == ("pearson", "system", 3)
    assert a_of_systems.value == pearson([1.5, 5, 7], [2, 3.75, 5])
    assert b_of_systems.value == pearson([1.5, 6.5, 3.5], [2, 3.75, 5.5])
    # 2. Both, the difference with an interval over two resamples, each without one text.
    assert between == Record(
        "b", "intercorrelation", variant="a", value=pearson(a, b), low=-5, high=5, units=5,
        excluded=1, p_value=between.p_value,
    )  # fmt: skip
    differences = []
    for rows in (slice(0, 4), slice(1, 5), slice(0, 5)):
        of_first = np.corrcoef(-a[rows], people[rows])[0, 1]
        differences.append(of_first - np.corrcoef(b[rows], people[rows])[0, 1])
    low, high = map(pytest.approx, sorted(differences[:2]))
    assert apart == Record(
        "a", "pearson_difference", variant="b", value=pytest.approx(differences[2]), low=low,
        high=high, p_value=0.25, units=5, excluded=1, paired=True,
    )  # fmt: skip
    # 3. People, and what was asked of whom.
    agreed = {"value": 0.5, "low": 0.4, "high": 0.6, "units": 7, "excluded": 8, "better": "higher"}
    assert rest == [Record("raters", "rater_agreement", **agreed)]
    assert asked == [
        *((kind, ("N", name, kind), CLUSTERS, 1000) for name in "ab" for kind in agreement.KINDS),
        ("pearson", ("N", "a", "b", "intercorrelation"), CLUSTERS, 1000),
        ([0, 0, 1, 1, 2], 3, ("N", "a", "b", "difference"), 1000),
        ((-a).tolist(), b.tolist(), people.tolist(), [0, 0, 1, 1, 2], ("N", "a", "b", "permutation")),
        (pytest.approx(RATINGS.T, nan_ok=True), ("N", "agreement"), 1000),
    ]  # fmt: skip


def test_two_systems_and_one_rater_have_no_records_of_their_own(asked):
    ratings, systems = PEOPLE[:, None], ["s", "t"] * 3
    records = human_ratings.rating_records({"b": B}, ratings, CLUSTERS, systems)
    assert [(record.metric, record.task) for record in records] == [
        ("pearson", "text"), ("spearman", "text"),
    ]  # fmt: skip


def test_the_combined_scorer_is_fitted_on_two_thirds_of_the_clusters(asked, monkeypatch):
    """Clusters z and x are drawn; a is constant there, and b goes with people."""
    stream = SimpleNamespace(permutation=lambda count: np.array([2, 0, 1][:count]))
    fitted = []
    model = human_ratings.LinearModel(
        ("b",), np.array([2.0]), np.array([0.03]), 10.0, np.array([1.0]), np.array([4.0])
    )
    monkeypatch.setattr(human_ratings, "generator", lambda *names: stream)
    monkeypatch.setattr(human_ratings, "stepwise", lambda *given: fitted.append(given) or model)
    columns = {"a": np.array([3.0, 3, 9, 1, 3, 3]), "b": np.array([1.0, 2, 4, 7, 6, 5])}
    combined, best, weight = human_ratings.combined_scorers(columns, PEOPLE, CLUSTERS)
    ((of_fit, people),) = fitted
    assert of_fit["a"].tolist() == [3, 3, 3, 3] and of_fit["b"].tolist() == [1, 2, 6, 5]
    assert people.tolist() == [1.5, 2.5, 6.0, 4.5]
    for record, critic, ends in ((combined, "combined", 1), (best, "b", 2)):
        assert (record.critic, record.metric) == (critic, "held_out_correlation")
        assert (record.low, record.high, record.units) == (-ends, ends, 2)
        assert record.details == {"fitted_on": 4}
    assert weight == Record("b", "weight", value=2.0, p_value=0.03, units=4)
    assert asked == [("pearson", stream, ["y", "y"], 1000)] * 2
    assert model.predict({"b": np.array([1.0, 3.0])}).tolist() == [10.0, 11.0]
    refuses("1 cluster", human_ratings.combined_scorers, columns, PEOPLE, ["x"] * 6)
