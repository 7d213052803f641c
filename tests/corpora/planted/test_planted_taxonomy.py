"""The lexicon of the world's nouns: a tree, with glosses and information content, that a WordNet library reads."""

import math
import xml.etree.ElementTree as ElementTree

import pytest

from longform.datasets.synthetic_world.lexicon import everyday
from longform.datasets.synthetic_world.taxonomy import Taxonomy, to_information_content, to_lmf

TREE = Taxonomy.of(everyday())


def test_every_noun_of_every_topic_is_a_sense_and_some_have_two():
    nouns = {
        n for t in everyday().topics for k, ns in t.kinds.items() if k not in ("adjective", "verb", "deed") for n in ns
    }
    assert all(TREE.senses(noun) for noun in nouns)
    assert sum(len(TREE.senses(noun)) > 1 for noun in nouns) >= 5
    assert len(nouns) > 500


def test_it_is_one_tree_with_a_gloss_everywhere():
    assert [s.number for s in TREE.synsets] == list(range(1, len(TREE.synsets) + 1))
    assert sum(s.hypernym is None for s in TREE.synsets) == 1
    assert all(TREE.path(s.number)[-1] == 1 and s.gloss for s in TREE.synsets)


def test_information_content_grows_downwards_and_the_root_has_none():
    assert TREE.information_content(1) == 0.0
    for synset in TREE.synsets:
        if synset.hypernym and TREE.cumulative[synset.number]:
            assert TREE.information_content(synset.number) >= TREE.information_content(synset.hypernym) - 1e-12
    total = sum(s.frequency for s in TREE.synsets)
    boat = TREE.senses("boat")[0]
    assert TREE.information_content(boat) == pytest.approx(-math.log(TREE.synsets[boat - 1].frequency / total))


def test_nouns_of_one_topic_meet_lower_than_nouns_of_two():
    boat, ship, tractor, fever = (TREE.senses(w)[0] for w in ("boat", "ship", "tractor", "fever"))
    depths = [len(TREE.path(TREE.common_hypernym(boat, other))) for other in (ship, tractor, fever)]
    assert depths == sorted(depths, reverse=True) and len(set(depths)) == 3


def test_the_lmf_file_is_xml_whose_relations_are_the_tree():
    root = ElementTree.fromstring(to_lmf(TREE).split("\n", 2)[2])
    pairs = {
        (s.get("id"), r.get("target"))
        for s in root.iter("Synset")
        for r in s.iter("SynsetRelation")
        if r.get("relType") == "hypernym"
    }
    due = {(s.identifier, TREE.synsets[s.hypernym - 1].identifier) for s in TREE.synsets if s.hypernym}
    assert pairs == due


def test_the_wn_library_reads_the_lexicon_and_its_information_content(tmp_path):
    wn = pytest.importorskip("wn")
    ic = pytest.importorskip("wn.ic")
    (tmp_path / "planted.xml").write_text(to_lmf(TREE), encoding="utf-8")
    (tmp_path / "ic.dat").write_text(to_information_content(TREE), encoding="utf-8")
    before = wn.config.data_directory
    wn.config.data_directory = tmp_path / "data"
    try:
        wn.add(tmp_path / "planted.xml", progress_handler=None)
        lexicon = wn.Wordnet("planted")
        boat = lexicon.synsets("boat")[0]
        assert [s.id for s in boat.hypernym_paths()[0]] == [
            TREE.synsets[n - 1].identifier for n in TREE.path(TREE.senses("boat")[0])[1:]
        ]
        freq = ic.load(tmp_path / "ic.dat", lexicon, get_synset_id=lambda offset, pos: f"planted-{offset:08d}-{pos}")
        assert ic.information_content(boat, freq) == pytest.approx(
            TREE.information_content(TREE.senses("boat")[0]), rel=1e-6
        )
    finally:
        wn.config.data_directory = before


def test_every_noun_that_a_topic_can_say_has_a_sense():
    words = {word for synset in TREE.synsets for word in synset.words}
    slots = ("person", "thing", "being", "stuff", "event", "idea", "place")
    said = {word for topic in everyday().topics for slot in slots for word in topic.tables.get(slot, ())}
    assert said <= words
    assert TREE.senses("sparrow") and TREE.path(TREE.senses("sparrow")[0])[-1] == 1
