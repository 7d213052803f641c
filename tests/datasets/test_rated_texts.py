"""The rating task: correlations with marks over texts and systems, SummEval's reader, and what is excluded."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from longform.critic import Critic, estimate
from longform.datasets.summeval import build
from longform.documents import BadInput, Readout
from longform.evaluation.rated_texts import RatedUnit, RatingCorrelation, rated_units
from longform.resampling import generator


@dataclass(frozen=True)
class Unit:
    unit_id: str
    split: str
    value: float


@dataclass(frozen=True)
class Given:
    better: str = "higher"
    seen: int = 0

    def fit(self, real):
        return Given(seen=len(real))

    def coherence(self, units):
        return [unit.value for unit in units]


def rated(values, marks, systems=None):
    systems = systems or [""] * len(values)
    rows = zip(values, marks, systems, strict=True)
    return [
        RatedUnit(Unit(f"u{i}", "test", v), np.atleast_1d(m).astype(float), "c", s) for i, (v, m, s) in enumerate(rows)
    ]


VALUES, MARKS = [1.0, 2.0, 4.0, 3.0, 7.0], [[1, 2], [2, 2], [5, 4], [1, 6], [7, 7]]


def test_it_correlates_values_with_mean_marks():
    critic = RatingCorrelation(Given())
    expected = np.corrcoef(VALUES, np.mean(MARKS, axis=1))[0, 1]
    assert critic.score(critic.tally(rated(VALUES, MARKS))) == pytest.approx(expected)
    assert isinstance(critic, Critic)


def test_spearman_sees_order_only():
    critic = RatingCorrelation(Given(), "spearman")
    units = rated(np.exp(VALUES), MARKS)
    plain = rated(VALUES, MARKS)
    assert critic.score(critic.tally(units)) == pytest.approx(critic.score(critic.tally(plain)))


def test_systems_are_compared_by_their_means():
    critic = RatingCorrelation(Given(), level="system")
    units = rated([1, 3, 5, 5, 0, 2], [1, 1, 3, 3, 2, 2], ["a", "a", "b", "b", "c", "c"])
    assert critic.score(critic.tally(units)) == pytest.approx(np.corrcoef([2, 5, 1], [1, 3, 2])[0, 1])


def test_texts_without_a_value_or_a_mark_are_counted_out():
    critic = RatingCorrelation(Given())
    units = rated([1, np.nan, 3, 4, 6], [[1], [2], [np.nan], [4], [5]])
    tally = critic.tally(units)
    assert tally.column("excluded").tolist() == [0, 1, 1, 0, 0]
    assert critic.score(tally) == pytest.approx(np.corrcoef([1, 4, 6], [1, 4, 5])[0, 1])
    assert critic.describe(units)["values"][1] is None
    assert estimate(critic, tally, generator("e"), 20).excluded == 2


def test_constant_ratings_have_no_correlation():
    critic = RatingCorrelation(Given())
    assert np.isnan(critic.score(critic.tally(rated(VALUES, [4] * 5))))


def test_fit_takes_rated_and_unrated_texts_and_changes_nothing():
    critic = RatingCorrelation(Given())
    fitted = critic.fit([*rated(VALUES, MARKS), Unit("plain", "train", 1.0)])
    assert (fitted.scorer.seen, critic.scorer.seen) == (6, 0)


def test_marks_travel_in_the_readout():
    arrays = {"marks": np.array([[1, 2], [3, 4]]), "system": np.array(["a", "b"])}
    units = rated_units([Unit("u", "test", 1.0), Unit("v", "test", 2.0)], Readout(("u", "v"), ("test", "test"), arrays))
    assert [(unit.unit_id, unit.rating, unit.cluster, unit.system) for unit in units] == [
        ("u", 1.5, "", "a"),
        ("v", 3.5, "", "b"),
    ]
    with pytest.raises(BadInput, match="no marks"):
        rated_units([], Readout((), (), {}))
    with pytest.raises(BadInput, match="allowed are"):
        RatingCorrelation(Given(), "kendall")


def summeval(folder, **changes):
    for system in ("M1", "M2"):
        record = {
            "id": "article", "model_id": system, "decoded": f"A summary by {system}.", "references": ["One.", "Two."],
            "expert_annotations": [{"coherence": 1, "fluency": 5}, {"coherence": 4, "fluency": 5}],
        } | changes  # fmt: skip
        (folder / f"{system}.jsonl").write_text(json.dumps(record) + "\n")


def test_summeval_gives_summaries_with_marks_and_references_once(tmp_path):
    summeval(tmp_path)
    corpus = build(raw=tmp_path)
    assert [document.split for document in corpus.documents] == ["train", "train", "test", "test"]
    np.testing.assert_array_equal(corpus.truth["marks"][2:], [[1, 4], [1, 4]])
    assert np.isnan(corpus.truth["marks"][:2]).all()
    assert corpus.truth["system"].tolist() == ["reference", "reference", "M1", "M2"]


def test_a_missing_rating_is_named(tmp_path):
    summeval(tmp_path)
    with pytest.raises(BadInput, match="no rating 'beauty'"):
        build(raw=tmp_path, dimension="beauty")


def test_bad_files_are_named(tmp_path):
    with pytest.raises(BadInput, match=r"no \*.jsonl"):
        build(raw=tmp_path)
    (tmp_path / "x.jsonl").write_text("{}\n")
    with pytest.raises(BadInput, match=r"x\.jsonl:1"):
        build(raw=tmp_path)
    (tmp_path / "x.jsonl").write_text("{\n")
    with pytest.raises(BadInput, match="not JSON"):
        build(raw=tmp_path)
