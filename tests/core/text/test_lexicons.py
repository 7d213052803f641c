"""Reading word nets: both formats give the same net, another reader agrees, and broken files are named."""

import numpy as np
import pytest

from longform.core.text.lexicon import (
    HOLONYM,
    HORIZONTAL,
    HYPERNYM,
    HYPONYM,
    MERONYM,
    lexicon_from_arrays,
    read_lmf,
    read_wordnet,
)
from tests.critics.lexical.tiny_wordnet import NAMES, NOUNS, write_database, write_lmf
from tests.refusals import refuses


@pytest.fixture(scope="module")
def lmf(tmp_path_factory):
    return read_lmf(write_lmf(tmp_path_factory.mktemp("lmf") / "tiny.xml"))


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return read_wordnet(write_database(tmp_path_factory.mktemp("wordnet") / "dict"))


def test_both_formats_give_the_same_net_closed_under_inverse_in_the_order_of_the_lexicon(lmf, database):
    assert lmf.glosses == database.glosses == tuple(row[0] for row in NOUNS.values())
    np.testing.assert_array_equal(lmf.links, database.links)
    assert lmf.nouns == database.nouns
    links = {tuple(link) for link in lmf.links.tolist()}
    house, door, dog, animal = (NAMES.index(name) for name in ("house", "door", "dog", "animal"))
    assert {(dog, HYPERNYM, animal), (animal, HYPONYM, dog)} <= links
    assert {(house, MERONYM, door), (door, HOLONYM, house)} <= links
    day, night = NAMES.index("day"), NAMES.index("night")
    assert {(day, HORIZONTAL, night), (night, HORIZONTAL, day)} <= links
    assert [lmf.synsets[i] for i in lmf.noun_senses("bank")] == ["tiny-16-n", "tiny-18-n"]
    assert lmf.words[NAMES.index("doghouse")] == ["dog house", "doghouse"]


@pytest.mark.parametrize(
    ("form", "lemma"), [("Dogs", "dog"), ("puppies", "puppy"), ("dog_house", "dog house"), ("houses", "house")]
)
def test_inflected_forms_find_their_entry(lmf, form, lemma):
    assert lmf.noun_lemmas(form) == (lemma,)


def test_counts_and_irregular_nouns_come_from_the_database_and_survive_its_arrays(database, tmp_path):
    assert database.uses["bank"]["n"] == (5 + 4, 2)
    assert database.irregular == {"mice": "mouse"}
    back = lexicon_from_arrays(database.to_arrays())
    assert (back.nouns, back.glosses, back.irregular) == (database.nouns, database.glosses, database.irregular)
    np.testing.assert_array_equal(back.links, database.links)
    refuses("no lexicon", lexicon_from_arrays, {})
    refuses("no such file", read_wordnet, tmp_path)


def test_the_wn_package_reads_the_same_net(tmp_path, lmf):
    wn = pytest.importorskip("wn")
    wn.config.data_directory = tmp_path / "wn"
    wn.add(write_lmf(tmp_path / "tiny.xml"), progress_handler=None)
    theirs = wn.Wordnet("tiny:1")
    for i, (name, targets) in enumerate(zip(lmf.synsets, lmf.targets(HYPERNYM), strict=True)):
        synset = theirs.synset(name)
        assert synset.definition() == lmf.glosses[i]
        assert sorted(h.id for h in synset.hypernyms()) == sorted(lmf.synsets[t] for t in targets)
        assert sorted(synset.lemmas()) == sorted(lmf.words[i])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a>", "not a readable"),
        ("<LexicalResource/>", "zero Synset"),
        (
            "<LexicalResource><Synset id='a' partOfSpeech='n'><SynsetRelation relType='hypernym' target='b'/></Synset>"
            "</LexicalResource>",
            "'b' is pointed to",
        ),
    ],
)
def test_a_broken_file_is_named(tmp_path, text, message):
    path = tmp_path / "broken.xml"
    path.write_text(text)
    refuses(message, read_lmf, path)
