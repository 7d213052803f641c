"""Names of the random streams that a record or a text of the synthetic world hangs on, whatever module opens them."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from longform.critics.repetition.score import Repetition
from longform.evaluation import human_ratings, measurements
from longform.evaluation.human_vs_machine import Sides, source_detection
from longform.statistics import random_streams
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored
from synthetic_world import (
    articles,
    corpora,
    fever_corpus,
    languages,
    native_corpus,
    reports,
    stories,
)
from synthetic_world.corruptions import corrupt
from synthetic_world.domains import domain

SCORES = {
    "a": np.array([1.0, 2, 3, 4, 5, 6, 1, 2, 3, 9]),
    "b": np.array([2.0, 1, 4, 3, 6, 5, 1, 3, 2, 7]),
}
MARKS = np.array([[1.0, 2], [2, 3], [3, 3], [4, 5], [5, 5], [6, 4], [1, 1], [2, 2], [2, 3], [8, 9]])
CLUSTERS = [f"c{number // 2}" for number in range(10)]


@pytest.fixture
def opened(monkeypatch):
    """The names of every stream that is opened, in their order."""
    names = []
    digest = random_streams._digest

    def noted(own, size):
        names.append(own)
        return digest(own, size)

    monkeypatch.setattr(random_streams, "_digest", noted)
    return names


def test_correlations_with_people_are_resampled_by_study_scorer_and_kind(opened, monkeypatch):
    monkeypatch.setattr(human_ratings, "RESAMPLES", 5)
    human_ratings.rating_records(SCORES, MARKS, CLUSTERS, name="N")
    assert opened == [
        ("N", "a", "pearson"), ("N", "a", "spearman"), ("N", "b", "pearson"), ("N", "b", "spearman"),
        ("N", "a", "b", "intercorrelation"), ("N", "a", "b", "difference"),
        ("N", "a", "b", "permutation"), ("N", "agreement"),
    ]  # fmt: skip
    opened.clear()
    human_ratings.combined_scorers(SCORES, MARKS.mean(axis=1), CLUSTERS, name="N")
    assert opened == [("N", "regression")]


@dataclass(frozen=True)
class MeanValue(SumScored, better="higher", divided=("value", "units")):
    """Mean of a column."""


def measurement(values):
    columns = np.stack([values, np.ones(len(values)), np.zeros(len(values))], axis=1)
    units = tuple(f"u{number}" for number in range(len(values)))
    statistics = SufficientStatistics(units, ("value", "units", "excluded"), columns)
    return measurements.Measurement(
        {"": MeanValue()}, {"": statistics}, {"critic": "c", "metric": "m"}
    )


def test_a_number_and_a_difference_are_resampled_by_their_names(opened):
    high, low = measurement([1.0, 2.0, 4.0]), measurement([1.0, 1.0, 1.0])
    (record,) = high.records("task", "x")
    assert opened == [("task", "x", "bootstrap")] and high.better == "higher"
    assert (record.value, record.units, record.excluded) == (pytest.approx(7 / 3), 3, 0)
    opened.clear()
    measurements.paired_difference(high, low, "task", "y", critic="c", metric="m")
    assert opened == [("task", "y", "permutation"), ("task", "y", "bootstrap")]


def test_sources_are_told_apart_by_draws_named_after_them(opened):
    documents = [Sides(f"d{i}", "test", float(i), {"x": 10.0 + i}) for i in range(4)]
    source_detection(float, documents, ["x"], documents)
    assert opened == [
        ("source detection", "human", "x"), ("source detection", "human", "x", "bootstrap")
    ]  # fmt: skip


WORLD = "planted"
WRITERS = {
    "article": (lambda: articles.write(3, "wiki", 7), [(WORLD, "wiki", 3, 7)]),
    "dialogue": (lambda: stories.write_dialogue(3, 7), [(WORLD, "dialogues", 3, 7)]),
    "report": (lambda: reports.write_report(3, 7), [(WORLD, "reports", 3, 7)]),
    "page": (
        lambda: native_corpus.write_page(3, 7),
        [(WORLD, "wiki", 3, 7), (WORLD, "markup", 3, 7), (WORLD, "wiki", 3, 6)],
    ),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_text_of_the_world_is_drawn_by_kind_seed_and_number(kind, opened):
    write, names = WRITERS[kind]
    for part in ("wiki", "encyclopedia"):
        domain(part)  # their word lists are drawn once
    opened.clear()
    write()
    assert opened == names


def test_a_story_is_drawn_before_its_words(opened):
    stories.write_story(3, 7)
    assert opened[0] == (WORLD, "stories", 3, 7)


def test_pairs_of_a_dialogue_are_drawn_by_seed_and_its_number(opened):
    dialogue = stories.write_dialogue(3, 7)
    opened.clear()
    list(stories.make_pairs(dialogue, 4))
    assert opened == [(WORLD, "pairs", 4, 7)]


def test_versions_of_a_cluster_share_an_article_and_its_damage(opened):
    domain("wikisection")
    opened.clear()
    versions = reports.write_cluster(3, 7)
    article = [(WORLD, "ratings", 3, 7), (WORLD, "raters", 3), (WORLD, "wikisection", 3, 7)]
    assert opened[:3] == article
    damage = (WORLD, "failure", "repeated_sentence", 3, "wikisection", 7)
    assert opened[3:] == [damage] * len(versions)


def test_damage_is_drawn_by_kind_seed_domain_and_number(opened):
    article = articles.write(3, "wiki", 7)
    opened.clear()
    corrupt(article, domain_name="wiki", corruption="section_order", severity=0.5, seed=5)
    assert opened == [(WORLD, "failure", "section_order", 5, "wiki", 7)]


def test_a_translation_is_drawn_by_number_and_a_word_by_language(opened):
    languages.translate_word.cache_clear()
    languages.parallel_corpus(3, [5], {})
    assert opened[0] == (WORLD, "parallel", 3, 5)
    spelt = [names for names in opened if names[:2] == (WORLD, "language")]
    lengths = [names for names in opened if len(names) == 1]
    assert [(word,) for *_, word in spelt] == lengths and len(spelt) > 5
    assert {language for _, _, language, _ in spelt} <= {*languages.LANGUAGES}


def test_pretraining_texts_are_of_another_world_in_an_order_of_their_own(opened):
    documents = {"wiki": {"train": 2}}
    corpora.pretraining(name="n", seed=3, documents=documents)
    world = random_streams.derived_seed(3, "pretraining")
    drawn = [names for names in opened if names[:2] != (WORLD, "wiki")]
    sections = [(world, "sections", "wiki-000000"), (world, "sections", "wiki-000001")]
    assert drawn[:4] == [(3, "pretraining"), *sections, (world, "order")]
    assert [names[2:] for names in opened if names[:2] == (WORLD, "wiki")] == [
        (world, 0),
        (world, 1),
    ]


def test_each_telling_of_a_page_in_the_news_has_draws_of_its_own(opened):
    domain("encyclopedia")
    opened.clear()
    given = {"form": "news", "pages": {"train": 1}, "tellings": 2, "fillers": 0}
    corpora.readings(name="n", seed=3, **given)
    tellings = [names for names in opened if names[1] == "news"]
    assert tellings == [(WORLD, "news", 3, 0, number) for number in range(3)]


def test_claims_about_a_page_are_drawn_by_its_title(opened):
    article = articles.write(3, "encyclopedia", 1)
    make = partial(fever_corpus.make_claims, [article], domain("encyclopedia").vocabulary)
    opened.clear()
    list(make(4))
    assert opened == [(WORLD, "claims", 4, article.title)]


def test_a_critics_score_and_comparison_are_drawn_by_seed_and_purpose(opened):
    critic = Repetition()
    texts = ["One two three four five. One two three four six.", "A b c d e f g."]
    critic.score(texts, resamples=3, seed=5)
    assert opened == [(5, "score")]
    opened.clear()
    critic.compare(texts, texts[::-1], permutations=3, resamples=3, seed=6)
    assert opened == [(6, "score"), (6, "score"), (6, "difference"), (6, "interval")]
