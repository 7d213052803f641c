"""Distinct 4-grams and their proportion, by hand, by sets, and against the paper's own table."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from samples.verifiability import texts

from longform.core.documents import Document, Section
from longform.core.resampling import generator
from longform.core.text.rendering import TokenText, texts_to_readout
from longform.critics.repetition.score import DistinctGrams, GramProportion, first_grams, read, units_from_readout


def text(tokens, reference=(), name="g"):
    return TokenText(name, "generated", np.array(tokens, dtype=np.int64), np.array(reference, dtype=np.int64))


def score(critic, *units):
    return critic.score(critic.tally(units))


def test_grams_are_sets_of_tuples_and_equal_words_have_equal_numbers():
    rng = generator("grams")
    for length in (0, 3, 4, 5, 60):
        tokens = rng.integers(0, 3, length)
        wanted = len({tuple(tokens[i : i + 4].tolist()) for i in range(length - 3)})
        assert first_grams(tokens, 4).sum() == wanted
    assert score(DistinctGrams(), text([7] * 256), text([])) == 0.5
    documents = [Document("a", "test", (Section(None, "b a b"),)), Document("e", "test", (Section(None, ""),))]
    rows = list(read(documents=documents, splits=["test"]).ragged("token"))
    assert rows[0].tolist() == [0, 1, 0] and rows[1].tolist() == []


def test_proportions_and_texts_without_a_human_text():
    units = text(range(8), range(13), "a"), text(range(5), range(5), "b")
    assert score(GramProportion(), *units) == pytest.approx((5 + 2) / (10 + 2))
    assert score(GramProportion("average_of_ratios"), *units) == pytest.approx((0.5 + 1) / 2)
    tally = GramProportion().tally([text(range(9), range(2)), text(range(9), range(9))])
    assert tally.total("excluded") == 1 and GramProportion().score(tally) == 1


def test_printed_proportions_and_precisions_agree_with_their_averages():
    """A number copied wrongly from the paper would disagree."""
    table = yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))["table_1"]
    rows = {name: row for name, row in table.items() if name != "columns"}
    assert len(rows) == 9
    for name, row in rows.items():
        assert 100 * row[0] / rows["human_wikipedia"][0] == pytest.approx(row[1], abs=0.011)
        assert name == "human_wikipedia" or 5 * row[4] < row[5]
    assert all(5 * rows[name][2] < rows[name][3] for name in ("top_k", "top_p"))  # with zeros SPV is at most 5 SPG


def test_texts_survive_the_readout():
    for before, after in zip(texts(), units_from_readout(texts_to_readout(texts())), strict=True):
        assert before.unit_id == after.unit_id
        assert np.array_equal(before.tokens, after.tokens) and np.array_equal(before.reference, after.reference)


EXPECTED = Path(__file__).parents[3] / "experiments" / "massarelli2020" / "expected.yaml"
