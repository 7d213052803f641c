"""Names of random streams: committed numbers and texts hang on them, so another name is another result."""

import hashlib

import numpy as np
import pytest

from longform.critics.topics import score as topics
from longform.datasets import text_files
from longform.documents import Chain
from longform.evaluation import order_discrimination
from longform.statistics import markov_chain, splits
from longform.statistics.random_streams import derived_seed, generator
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform_lab.study import items
from synthetic_world import simulated_annotators


def test_a_stream_is_the_digest_of_its_names_apart():
    digest = hashlib.blake2b(b"doc\x1f7", digest_size=16).digest()
    expected = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little"))).random(4)
    assert generator("doc", 7).random(4).tolist() == expected.tolist()
    assert generator("a", 1).integers(1000, size=3).tolist() == [
        75,
        891,
        577,
    ]  # whatever library's version
    assert derived_seed("a", 1) == 6962120981034877120
    assert generator("ab", "c").random() != generator("a", "bc").random()


@pytest.fixture
def named(monkeypatch):
    """Names of all streams that a module opens while its function runs."""

    def names_of(module, call):
        opened = []

        def recorded(*names):
            opened.append(names)
            return generator(*names)

        with monkeypatch.context() as patch:
            patch.setattr(module, "generator", recorded)
            call()
        return opened

    return names_of


def test_splits_are_drawn_by_seed_and_unit(named):
    shares = {"train": 0.5, "test": 0.5}
    opened = named(splits, lambda: splits.split_by_seed(["u", "v"], shares, 3))
    assert opened == [(3, "split", "u"), (3, "split", "v")]


def test_parallel_text_is_split_by_seed_and_sentence(named, tmp_path):
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "talks.en").write_text("one\n", encoding="utf-8")
    (folder / "talks.de").write_text("eins\n", encoding="utf-8")
    given = {"name": "p", "raw": folder, "source": "en", "targets": ["de"], "seed": 5}
    ((first, seed, _),) = named(text_files, lambda: text_files.parallel(**given))
    assert (first, seed) == ("parallel split", 5)


def test_chains_at_random_are_drawn_by_name_and_document(named):
    chain = Chain("d", "test", ("a", "b", "c"))
    opened = named(
        markov_chain, lambda: markov_chain.drawn_at_random(chain, ["x", "y"], "random titles")
    )
    assert opened == [("random titles", "d")]


def test_topics_at_random_are_drawn_by_document(named):
    made = {"logits": np.zeros((3, 2)), "variances": np.ones((3, 2))}
    critic = topics.RandomTopicCritic(**made)
    unit = topics.TopicPosterior("d", "test", np.zeros(2), np.ones(2), 3)
    assert named(topics, lambda: critic.judged([unit])) == [("random topics", "d")]


def test_tests_against_chance_are_drawn_by_all_names_of_a_number(named):
    statistics = SufficientStatistics(
        ("a",), order_discrimination.COLUMNS, np.array([[1.0, 0, 2, 0, 0, 0]])
    )
    opened = named(
        order_discrimination, lambda: order_discrimination.against_chance(statistics, "x", "y", 2)
    )
    assert opened == [("x", "y", 2, "chance")]


def test_simulated_annotators_draw_by_name_seed_and_item(named):
    person = simulated_annotators.Annotator("ann", 0.5, 0.5)
    opened = named(simulated_annotators, lambda: person.answer("item", ["a"], True, ["a", "b"], 9))
    assert opened == [("simulated annotator", "ann", 9, "item")]
    opened = named(simulated_annotators, lambda: person.check("item", "a", ["a", "b"], 9))
    assert opened == [("simulated annotator", "ann", 9, "item")]


def test_an_annotators_order_is_drawn_by_study_and_person(named):
    study = items.Study("s", "title", "consent", {}, ())
    assert named(items, lambda: study.order("ann")) == [("study", "s", "order", "ann")]
