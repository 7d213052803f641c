"""The lexicon of the world's nouns: a tree with glosses that a WordNet library reads."""

import xml.etree.ElementTree as ElementTree
from collections import Counter

from longform.datasets.synthetic_world.lexicon import NOT_NOUNS, synsets, to_lmf, vocabulary

WORDS = vocabulary("everyday")
TREE = synsets(WORDS)
SENSES = Counter(word for word, _, _ in TREE.values())


def test_the_lexicon_is_one_tree_with_every_noun_and_a_gloss_everywhere():
    nouns = {n for t in WORDS.topics for k, words in t.kinds.items() if k not in NOT_NOUNS for n in words}
    slots = ("person", "thing", "being", "stuff", "event", "idea", "place")
    said = {word for topic in WORDS.topics for slot in slots for word in topic.tables[slot]}
    assert nouns | said <= SENSES.keys() and len(nouns) > 500
    assert sum(SENSES[noun] > 1 for noun in nouns) >= 5
    met = set()
    for key, (_, hypernym, gloss) in TREE.items():  # a hypernym comes first, so all lead to the one root
        assert gloss and (hypernym in met or (hypernym is None and not met))
        met.add(key)


def test_the_lmf_file_is_xml_whose_relations_are_the_tree():
    root = ElementTree.fromstring(to_lmf(WORDS).split("\n", 2)[2])
    relations = [(s.get("id"), r) for s in root.iter("Synset") for r in s.iter("SynsetRelation")]
    pairs = {(here, r.get("target")) for here, r in relations if r.get("relType") == "hypernym"}
    back = {(r.get("target"), here) for here, r in relations if r.get("relType") == "hyponym"}
    names = {key: f"synthetic-{number:08d}-n" for number, key in enumerate(TREE, 1)}
    assert pairs == back == {(names[key], names[above]) for key, (_, above, _) in TREE.items() if above}
