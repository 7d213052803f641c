"""Facts of whole articles: sound ones are supported, falsified ones refuted, and words become numbers."""

import pytest

from longform.critics.repetition.read import read as read_words
from longform.critics.verifiability.read_facts import read
from longform.critics.verifiability.score import units_from_readout
from longform.datasets.synthetic_world.corruption_corpus import build
from longform.documents import BadInput, Document, Section


def test_false_facts_are_refuted_and_sound_ones_supported():
    corpus = build(name="m", seed=3, domain="wiki", documents={"test": 12}, severities=[1.0], corruptions=["false_fact"])
    labels = {
        unit.unit_id: unit.labels
        for unit in units_from_readout(read(documents=corpus.documents, name="x", domain="wiki"))
    }
    sound = [label for key, row in labels.items() if key.startswith("sound") for label in row]
    false = [label for key, row in labels.items() if key.startswith("false") for label in row]
    assert sound.count("refuted") == 0 < sound.count("supported")
    assert false.count("refuted") > 0.8 * sound.count("supported")
    with pytest.raises(BadInput, match="0 sound articles"):
        read(documents=[d for d in corpus.documents if d.id.startswith("false")], name="x", domain="wiki")


def test_equal_words_have_equal_numbers():
    documents = [Document("a", "test", (Section(None, "b a b"),)), Document("e", "test", (Section(None, ""),))]
    rows = list(read_words(documents=documents, splits=["test"]).ragged("token"))
    assert rows[0].tolist() == [0, 1, 0] and rows[1].tolist() == []
