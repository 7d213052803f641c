"""The lexicon of the world's nouns: a tree with glosses that a WordNet library reads."""

import xml.etree.ElementTree as ElementTree
from collections import Counter

from longform.datasets.synthetic_world.lexicon import NOT_NOUNS, synsets, to_lmf, vocabulary

WORDS = vocabulary("everyday")
TREE = synsets(WORDS)
SENSES = Counter(synset.word for synset in TREE)


def path(synset):
    numbers = [synset.number]
    while above := TREE[numbers[-1] - 1].hypernym:
        numbers.append(above)
    return numbers


def test_the_lexicon_is_one_tree_with_every_noun_and_a_gloss_everywhere():
    nouns = {n for t in WORDS.topics for k, words in t.kinds.items() if k not in NOT_NOUNS for n in words}
    slots = ("person", "thing", "being", "stuff", "event", "idea", "place")
    said = {word for topic in WORDS.topics for slot in slots for word in topic.tables[slot]}
    assert nouns | said <= SENSES.keys() and len(nouns) > 500
    assert sum(SENSES[noun] > 1 for noun in nouns) >= 5
    assert [s.number for s in TREE] == list(range(1, len(TREE) + 1))
    assert all(path(s)[-1] == 1 and s.gloss and (s.hypernym or 0) < s.number for s in TREE)


def test_the_lmf_file_is_xml_whose_relations_are_the_tree():
    root = ElementTree.fromstring(to_lmf(WORDS).split("\n", 2)[2])
    relations = [(s.get("id"), r) for s in root.iter("Synset") for r in s.iter("SynsetRelation")]
    pairs = {(here, r.get("target")) for here, r in relations if r.get("relType") == "hypernym"}
    back = {(r.get("target"), here) for here, r in relations if r.get("relType") == "hyponym"}
    assert pairs == back == {(s.identifier, TREE[s.hypernym - 1].identifier) for s in TREE if s.hypernym}
