"""Grids: the paper's example, the highest role, the three places that roles come from; word nets in both formats."""

from pathlib import Path

import numpy as np
import pytest

from longform.documents import Document, Section
from longform.text import lexicon
from longform.text.entity_grids import (
    Grid,
    found_grids,
    grid_from_mentions,
    read,
    spacy_mentions,
    spacy_role,
)
from longform.text.lexicon import Lexicon, closed_links, lexicon_from_arrays, read_lmf, read_wordnet
from longform.text.nouns import NOUN, OTHER_SCRIPT, NounRules
from tests.critics.lexical.tiny_wordnet import NAMES, NOUNS, write_database, write_lmf
from tests.refusals import refuses

# The running example of lapata2005 (section 3.1) in its own words and roles; two nouns of sentence 3 have no role in print.
PINOCHET = [[("dictator", "O"), ("augusto", "O"), ("pinochet", "O"), ("london", "X"), ("october", "X")],
            [("pinochet", "S"), ("surgery", "X")], [("arrest", "S"), ("judge", "S")],
            [("pinochet", "O"), ("thousands", "O"), ("spaniards", "O")],
            [("pinochet", "S"), ("hearing", "O"), ("fate", "X"), ("balance", "X")],
            [("scholars", "S"), ("arrest", "O")]]  # fmt: skip


def column(grid: Grid, entity: str) -> str:
    return "".join("SOX-"[code] for code in grid.cells[:, grid.entities.index(entity)])


def document(text: str, split: str = "test", name: str = "d") -> Document:
    return Document(name, split, (Section(None, text),))


def test_the_papers_columns_and_the_highest_of_several_mentions():
    mentions = [(i, noun, role) for i, row in enumerate(PINOCHET) for noun, role in row]
    grid = grid_from_mentions("pinochet", "test", 6, mentions)
    printed = {
        "pinochet": "OS-OS-",
        "arrest": "--S--O",
        "augusto": "O-----",
        "dictator": "O-----",
        "balance": "----X-",
    }
    assert {entity: column(grid, entity) for entity in printed} == printed
    assert len(grid.entities) == 14 and grid.nouns(5) == ["arrest", "scholars"]
    several = [(0, "a", "X"), (0, "a", "S"), (0, "a", "O"), (0, "b", "X"), (0, "b", "O")]
    grid = grid_from_mentions("d", "test", 1, several)
    assert [column(grid, "a"), column(grid, "b")] == ["S", "O"]


def test_known_roles_come_from_the_truth_of_the_corpus():
    cells = [0, 3, 3, 1, 2]  # "a" is a subject of the first sentence, "b" an object of the second
    truth = {
        "grid": np.array(cells, dtype=np.uint8),
        "grid_lengths": np.array([4, 0, 1]),
        "grid_sentences": np.array([2, 1, 1]),
        "entity_names": np.array(["a", "b", "c"]),
        "entity_counts": np.array([2, 0, 1]),
    }
    documents = [
        document("A. B.", name="d"),
        document("C.", "train", "e"),
        document("D.", name="f"),
    ]
    predictions = read(
        documents=documents, truth=truth, reader=Path("nowhere"), roles="truth", splits=["test"]
    )
    assert predictions.unit_ids == ("d", "f")
    assert predictions.arrays["cells"].tolist() == cells
    assert predictions.arrays["entity_names"].tolist() == ["a", "b", "c"]
    refuses(
        "truth lacks", read, documents=documents, truth={}, reader=Path("nowhere"), roles="truth"
    )


def test_the_nouns_of_a_sentence_that_stands_again_are_looked_for_once():
    asked = []

    def finder(sentence: str) -> list[tuple[str, str]]:
        asked.append(sentence)
        return [(sentence.split()[0].lower(), "S")]

    texts = [document("Cats sleep. Dogs bark. Cats sleep."), document("Dogs bark. Birds sing.")]
    first, second = found_grids(texts, finder)
    assert asked == ["Cats sleep.", "Dogs bark.", "Birds sing."]
    assert (column(first, "cats"), column(first, "dogs")) == ("S-S", "-S-")
    assert (column(second, "dogs"), column(second, "birds")) == ("S-", "-S")


def test_rules_find_roles_deep_ones_of_a_passive_and_nouns_of_a_list():
    mentions = dict(NounRules().mentions("The sailor repaired the boat with a rope."))
    assert mentions == {"sailor": "S", "boat": "O", "rope": "X"}
    assert dict(NounRules().mentions("The boat was repaired by the sailor.")) == {
        "boat": "O",
        "sailor": "S",
    }
    [grid] = found_grids([document("It was. He did so too.")], NounRules().mentions)
    assert grid.empty and grid.cells.shape == (2, 0)
    words = ("sailor", "boat", "plan")
    lexicon = Lexicon(
        words,
        ("n",) * 3,
        ("",) * 3,
        closed_links([]),
        words,
        np.arange(3),
        np.zeros(3, dtype=np.int64),
    )
    mentions = dict(
        NounRules(lexicon).mentions("The tall sailor hit the boat and the sailors' plan.")
    )
    assert mentions == {"sailor": "S", "boat": "O", "sailors": "O", "plan": "O"}


class Token:
    def __init__(self, i: int, dep: str, pos: str = "NOUN") -> None:
        self.i, self.dep_, self.pos_, self.head = i, dep, pos, self


def test_nouns_are_whole_words_in_any_latin_letters():
    assert NounRules().mentions("The town of Málaga grew.") == [
        ("town", "S"),
        ("málaga", "X"),
        ("grew", "X"),
    ]
    decomposed = NounRules().mentions(
        "Malaga’s cafe closed.".replace("e c", "e\u0301 c").replace("la", "\u0301la")
    )
    assert decomposed == [("ma\u0301laga", "S"), ("cafe\u0301", "S")]
    assert NounRules().mentions("The ﬁsh and the oﬃce.") == [("ﬁsh", "S"), ("oﬃce", "S")]
    assert NounRules().mentions("Žižkov’s Straße met Ørsted") == [
        (n, "S") for n in ("žižkov", "straße", "met", "ørsted")
    ]


def test_words_in_other_scripts_are_no_nouns_and_change_no_role():
    assert (
        NounRules().mentions("Город стоит на реке.")
        == NounRules().mentions("这个小镇位于河边。")
        == []
    )
    assert (
        NounRules().mentions("Η πόλη είναι παλιά.") == NounRules().mentions("المدينة قديمة.") == []
    )
    words = ["the", "mayor", "Иван", "of", "東京"]
    assert NounRules().classes(words) == [
        "determiner",
        NOUN,
        OTHER_SCRIPT,
        "preposition",
        OTHER_SCRIPT,
    ]
    assert NounRules().mentions("The mayor (Иван) was seen by the priest of 東京 town.") == [
        ("mayor", "O"), ("priest", "S"), ("town", "X"),
    ]  # fmt: skip


def test_a_spacy_token_takes_the_deep_role_of_its_phrase_head():
    parts = ("ROOT", "agent", "nsubjpass", "compound", "pobj")
    verb, by, subject, modifier, agent = (Token(i, part) for i, part in enumerate(parts))
    verb.pos_ = by.pos_ = "VERB"
    subject.head, modifier.head, by.head, agent.head = verb, subject, verb, by
    assert [spacy_role(token) for token in (subject, modifier, agent)] == ["O", "O", "S"]


def test_bad_input_is_named():
    for mention in ((0, "a", "-"), (0, "a", "s"), (3, "a", "S"), (-1, "a", "S")):
        refuses("roles are S, O, X", grid_from_mentions, "d", "test", 3, [mention])
    refuses("allowed are", read, documents=[], truth={}, reader=Path("nowhere"), roles="guess")
    refuses("not installed", spacy_mentions, "no_such_model")
    refuses("make them agree", Grid, "d", "test", ("a",), np.zeros((2, 2), dtype=np.uint8))


@pytest.fixture(scope="module")
def lmf(tmp_path_factory):
    return read_lmf(write_lmf(tmp_path_factory.mktemp("lmf") / "tiny.xml"))


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return read_wordnet(write_database(tmp_path_factory.mktemp("wordnet") / "dict"))


def test_both_formats_give_the_same_net_closed_under_inverse(lmf, database):
    assert lmf.glosses == database.glosses == tuple(row[0] for row in NOUNS.values())
    np.testing.assert_array_equal(lmf.links, database.links)
    assert lmf.nouns == database.nouns
    links = {tuple(link) for link in lmf.links.tolist()}
    house, door, dog, animal = (NAMES.index(name) for name in ("house", "door", "dog", "animal"))
    assert {(dog, lexicon.HYPERNYM, animal), (animal, lexicon.HYPONYM, dog)} <= links
    assert {(house, lexicon.MERONYM, door), (door, lexicon.HOLONYM, house)} <= links
    day, night = NAMES.index("day"), NAMES.index("night")
    assert {(day, lexicon.HORIZONTAL, night), (night, lexicon.HORIZONTAL, day)} <= links
    assert [lmf.synsets[i] for i in lmf.noun_senses("bank")] == ["tiny-16-n", "tiny-18-n"]
    assert lmf.words[NAMES.index("doghouse")] == ["dog house", "doghouse"]
    inflected = {
        "Dogs": ("dog",),
        "puppies": ("puppy",),
        "dog_house": ("dog house",),
        "houses": ("house",),
    }
    assert {form: lmf.noun_lemmas(form) for form in inflected} == inflected


def test_counts_and_irregular_nouns_survive_the_databases_arrays(database, tmp_path):
    assert database.uses["bank"]["n"] == (5 + 4, 2)
    assert database.irregular == {"mice": "mouse"}
    back = lexicon_from_arrays(database.to_arrays())
    assert (back.nouns, back.glosses, back.irregular) == (
        database.nouns,
        database.glosses,
        database.irregular,
    )
    np.testing.assert_array_equal(back.links, database.links)
    refuses("no lexicon", lexicon_from_arrays, {})
    refuses("no such file", read_wordnet, tmp_path)


def test_the_wn_package_reads_the_same_net(tmp_path, lmf):
    wn = pytest.importorskip("wn")
    wn.config.data_directory = tmp_path / "wn"
    wn.add(write_lmf(tmp_path / "tiny.xml"), progress_handler=None)
    theirs = wn.Wordnet("tiny:1")
    for i, (name, targets) in enumerate(
        zip(lmf.synsets, lmf.targets(lexicon.HYPERNYM), strict=True)
    ):
        synset = theirs.synset(name)
        assert synset.definition() == lmf.glosses[i]
        assert sorted(h.id for h in synset.hypernyms()) == sorted(lmf.synsets[t] for t in targets)
        assert sorted(synset.lemmas()) == sorted(lmf.words[i])


def test_a_broken_file_is_named(tmp_path):
    relation = (
        "<Synset id='a' partOfSpeech='n'><SynsetRelation relType='hypernym' target='b'/></Synset>"
    )
    dangling = f"<LexicalResource>{relation}</LexicalResource>"
    path = tmp_path / "broken.xml"
    broken = {"<a>": "not XML", "<LexicalResource/>": "zero Synset", dangling: "'b' is pointed to"}
    for text, told in broken.items():
        path.write_text(text)
        refuses(told, read_lmf, path)
