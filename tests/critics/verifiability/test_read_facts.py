"""Facts of whole articles: sound ones are supported, falsified ones refuted."""

import pytest

from longform.core.documents import BadInput, Document, Section
from longform.critics.verifiability.read import read_facts, verifier_of
from longform.critics.verifiability.score import units_from_readout
from longform.datasets.synthetic_world import corpora


def test_false_facts_are_refuted_and_sound_ones_supported():
    corpus = corpora.corrupted(
        name="m", seed=3, domain="wiki", documents={"test": 12}, severities=[1.0], corruptions=["false_fact"]
    )
    labels = {
        unit.unit_id: unit.labels
        for unit in units_from_readout(read_facts(documents=corpus.documents, name="x", domain="wiki"))
    }
    sound = [label for key, row in labels.items() if key.startswith("sound") for label in row]
    false = [label for key, row in labels.items() if key.startswith("false") for label in row]
    assert sound.count("refuted") == 0 < sound.count("supported")
    assert false.count("refuted") > 0.8 * sound.count("supported")
    with pytest.raises(BadInput, match="0 sound articles"):
        read_facts(documents=[d for d in corpus.documents if d.id.startswith("false")], name="x", domain="wiki")


def test_the_facts_read_back_are_those_that_the_world_wrote():
    corpus = corpora.build(name="pages", seed=1, domain="encyclopedia", documents=40)
    found = verifier_of(corpus.documents, "encyclopedia", "full_stops", "definition").stated
    truth = {page["title"]: page["facts"] for page in corpus.facts["pages"].values()}
    assert len(found) > 100
    assert all(truth[title][relation] == value for (title, relation), (value, _) in found.items())


def test_of_pages_in_conflict_the_first_one_counts():
    town = [Section("place", "Ulm is a town in Quenovia. Ulm was founded in 1456.")]
    other = [Section("place", "Ulm is a town in Quenovia. Ulm was founded in 1900.")]
    both = [Document("a", "test", tuple(town)), Document("b", "test", tuple(other))]
    found = verifier_of(both, "encyclopedia", "full_stops", "definition")
    assert found.stated["Ulm", "founded"] == ("1456", ("Ulm", 1)) and found.dropped == 1
