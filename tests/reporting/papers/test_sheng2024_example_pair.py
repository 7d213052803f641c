"""Figure 8's counterpart: the middle pair of the test documents, scored as Table 4 scores them."""

import numpy as np

from experiments.sheng2024.example_pair import Pair, middle, scored_pairs, text_of
from longform.critics.bbscore.bridge import path
from longform.critics.bbscore.score import BBScore
from longform.documents import Document, Section
from longform.evaluation.human_vs_machine import human_vs_machine, sides_of
from longform.statistics.sum_scored import unit_scores


def paths_of(documents, seed=0):
    """A straight path with a little noise for people, one with more for the machine."""
    rng = np.random.default_rng(seed)
    paths = []
    for number in range(documents):
        split = "train" if number < documents // 2 else "test"
        line = np.linspace(0, 1, 6)[:, None] * np.ones((1, 2))
        for side, noise in (("human", 0.2), ("robot", 0.3)):
            latents = line + noise * rng.standard_normal((6, 2))
            paths.append(path(latents, f"d{number}-{side}", split))
    return paths


def test_margins_ascend_and_agree_with_the_pairs_of_table_4():
    paths = paths_of(20)
    pairs = scored_pairs(paths, "robot")
    margins = [pair.margin for pair in pairs]
    assert len(pairs) == 10 and margins == sorted(margins)
    documents = sides_of(paths)
    train = [document for document in documents if document.split == "train"]
    test = [document for document in documents if document.split == "test"]
    records = human_vs_machine({"bbscore": BBScore()}, test, ["robot"], train=train)
    share = next(record.value for record in records if record.metric == "pairwise_accuracy")
    assert share == sum(margin > 0 for margin in margins) / 10


def test_the_variance_comes_from_human_training_texts_alone():
    paths = paths_of(8)
    human = [unit for unit in paths if unit.split == "train" and unit.unit_id.endswith("human")]
    critic = BBScore().fit(human)
    of_d5 = [unit for unit in paths if unit.unit_id.startswith("d5-")]
    expected = unit_scores(critic, of_d5).tolist()
    pair = next(pair for pair in scored_pairs(paths, "robot") if pair.document == "d5")
    assert [pair.human, pair.machine] == expected


def test_a_path_that_is_too_short_has_no_pair():
    short = [path(np.zeros((2, 2)), f"s-{side}") for side in ("human", "robot")]
    assert len(scored_pairs([*paths_of(8), *short], "robot")) == 4


def test_the_middle_of_an_even_number_of_pairs_is_the_smaller_one():
    pairs = [Pair(name, 0.0, float(number)) for number, name in enumerate("abcd")]
    assert middle(pairs).document == "b" and middle(pairs[:3]).document == "b"


def test_a_text_is_one_paragraph_of_its_first_six_sentences():
    document = Document("d", "test", (Section("one", "It is\nA."), Section("two", "It is B. " * 9)))
    assert text_of(document) == "It is A. " + " ".join(["It is B."] * 5)
