"""Every field of the records of ratings, with the resampling in the test's hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from longform.evaluation import agreement, human_ratings
from longform.results import Record
from tests.refusals import refuses

NAN = float("nan")
COLUMNS = {
    "a": np.array([1.0, 2.0, 4.0, 7.0, NAN, 6.0]),
    "b": np.array([2.0, 1.0, 5.0, 3.0, 4.0, 8.0]),
}
RATINGS = np.array([[1.0, 2.0], [1.0, 4.0], [3.0, 3.0], [NAN, 5.0], [6.0, 6.0], [7.0, 2.0]])
PEOPLE = np.array([1.5, 2.5, 3.0, 5.0, 6.0, 4.5])  # the mean of each row
SYSTEMS = ["s", "s", "t", "t", "u", "u"]
CLUSTERS = ["x", "x", "y", "y", "z", "z"]
BOTH = [0, 1, 2, 3, 5]  # texts that both scorers have


def pearson(x, y):
    return pytest.approx(np.corrcoef(x, y)[0, 1])


@pytest.fixture
def asked(monkeypatch):
    """Streams are their names; intervals and tests are numbers that say what they were asked."""
    calls = []

    def interval(kind, x, y, clusters, rng, resamples):
        calls.append((kind, rng, list(clusters), resamples))
        return -len(calls), len(calls)

    def compared(x, y, rated, clusters, rng):
        calls.append((x.tolist(), y.tolist(), rated.tolist(), clusters, rng))
        return 0.25

    def resampled(clusters, count, rng, resamples):
        calls.append((clusters.tolist(), count, rng, resamples))
        yield np.array([[1.0, 1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0, 1.0]])

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
    directions = {"a": ("lower", "signed")}
    records = human_ratings.rating_records(
        COLUMNS, RATINGS, CLUSTERS, SYSTEMS, directions, name="N"
    )
    a, b, people = COLUMNS["a"][BOTH], COLUMNS["b"], PEOPLE[BOTH]
    texts = {
        "a": {"low": -1, "high": 1, "value": pearson(a, people), "units": 5, "excluded": 1},
        "b": {"low": -3, "high": 3, "value": pearson(b, PEOPLE), "units": 6, "excluded": 0},
    }
    says = {"a": {"better": "lower", "signature": "signed"}, "b": {"better": "higher"}}
    for scorer, (of_texts, ranked, of_systems) in {
        "a": (records[0], records[2], records[1]), "b": (records[4], records[6], records[5]),
    }.items():  # fmt: skip
        p_value = of_texts.p_value
        assert of_texts == Record(
            scorer, "pearson", task="text", p_value=p_value, **texts[scorer], **says[scorer]
        )
        assert (ranked.metric, ranked.task, ranked.signature) == (
            "spearman", "text", says[scorer].get("signature", ""),
        )  # fmt: skip
        assert (of_systems.metric, of_systems.task, of_systems.units) == ("pearson", "system", 3)
        assert of_systems.better == says[scorer]["better"]
    assert records[1].value == pearson([1.5, 5.5, 6.0], [2.0, 4.0, 4.5])
    assert records[5].value == pearson([1.5, 4.0, 6.0], [2.0, 4.0, 5.25])
    between = records[8]
    assert between == Record(
        "b", "intercorrelation", variant="a", value=pearson(a, b[BOTH]), low=-5, high=5,
        p_value=between.p_value, units=5, excluded=1,
    )  # fmt: skip
    # the interval of the difference is that of two resamples, each without one text
    differences = []
    for rows in (slice(0, 4), slice(1, 5)):
        of_first = np.corrcoef(-a[rows], people[rows])[0, 1]
        differences.append(of_first - np.corrcoef(b[BOTH][rows], people[rows])[0, 1])
    low, high = sorted(differences)
    value = np.corrcoef(-a, people)[0, 1] - np.corrcoef(b[BOTH], people)[0, 1]
    assert records[9] == Record(
        "a", "pearson_difference", variant="b", value=pytest.approx(value),
        low=pytest.approx(low), high=pytest.approx(high), p_value=0.25, units=5, excluded=1,
        paired=True,
    )  # fmt: skip
    assert records[10:] == [
        Record(
            "raters", "rater_agreement", value=0.5, low=0.4, high=0.6, units=7, excluded=8,
            better="higher",
        )
    ]  # fmt: skip
    assert asked == [
        ("pearson", ("N", "a", "pearson"), CLUSTERS, 1000),
        ("spearman", ("N", "a", "spearman"), CLUSTERS, 1000),
        ("pearson", ("N", "b", "pearson"), CLUSTERS, 1000),
        ("spearman", ("N", "b", "spearman"), CLUSTERS, 1000),
        ("pearson", ("N", "a", "b", "intercorrelation"), CLUSTERS, 1000),
        ([0, 0, 1, 1, 2], 3, ("N", "a", "b", "difference"), 1000),
        ((-a).tolist(), b[BOTH].tolist(), people.tolist(), [0, 0, 1, 1, 2],
         ("N", "a", "b", "permutation")),
        (pytest.approx(RATINGS.T, nan_ok=True), ("N", "agreement"), 1000),
    ]  # fmt: skip


def test_two_systems_and_one_rater_have_no_records_of_their_own(asked):
    columns = {"b": COLUMNS["b"]}
    records = human_ratings.rating_records(
        columns, PEOPLE[:, None], CLUSTERS, ["s", "t"] * 3, name="N"
    )
    assert [(record.metric, record.task) for record in records] == [
        ("pearson", "text"), ("spearman", "text"),
    ]  # fmt: skip


def test_the_combined_scorer_is_fitted_on_two_thirds_of_the_clusters(asked, monkeypatch):
    """Clusters z and x are drawn; of six texts four are fitted, and b goes with people there."""
    stream = SimpleNamespace(permutation=lambda count: np.array([2, 0, 1][:count]))
    monkeypatch.setattr(human_ratings, "generator", lambda *names: stream)
    fitted = []
    model = human_ratings.LinearModel(
        ("b",), np.array([2.0]), np.array([0.03]), 10.0, np.array([1.0]), np.array([4.0])
    )
    monkeypatch.setattr(
        human_ratings, "stepwise", lambda columns, people: fitted.append((columns, people)) or model
    )
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
    assert model.predict({"b": np.array([1.0, 3.0, NAN])}) == pytest.approx(
        [10.0, 11.0, NAN], nan_ok=True
    )
    refuses("1 clusters", human_ratings.combined_scorers, columns, PEOPLE, ["x"] * 6)
