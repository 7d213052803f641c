"""Readers of texts, word nets and chains at their edges, worked out by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from longform.documents import Chain, Predictions
from longform.statistics.intervals import wilson
from longform.statistics.markov_chain import END, MarkovCritic, drawn_at_random, true_markov
from longform.statistics.random_streams import generator
from longform.statistics.signatures import signature
from longform.statistics.trainings import two_level_p
from longform.text import entity_grids, markdown
from longform.text import restructured_text as rst
from longform.text.entity_grids import spacy_role
from longform.text.lexicon import HYPERNYM, Lexicon, Taxonomy, read_wordnet
from longform.text.markdown_inline import shown_words
from longform.text.permutations import another_order, block_orders
from longform.text.sentences import _opens_with_bracket, sentence_texts
from tests.refusals import refuses


def test_shares_of_none_and_all_stay_within_none_and_all():
    for items in range(1, 70):
        assert wilson(0, items)[0] == 0.0 and wilson(items, items)[1] == 1.0


def test_a_mean_close_to_its_reference_has_a_p_close_to_one():
    ends = 0.05 - 1.959963984540054, 0.05 + 1.959963984540054
    wanted = math.erfc(0.05 / math.sqrt(2))  # 0.96: no spread of trainings, standard error 1
    assert two_level_p(ends, [0.05, 0.05], 0.0) == pytest.approx(wanted, abs=1e-9)


def test_random_chains_draw_from_all_symbols_and_keep_what_a_unit_is():
    unit = Chain("u", "test", tuple("x" * 40), valid=False, cut=True)
    places = generator("n", "u").integers(0, 3, 40)
    wanted = tuple("abc"[place] for place in places)
    assert set(places) == {0, 1, 2}
    assert drawn_at_random(unit, "abc", "n") == Chain("u", "test", wanted, valid=False, cut=True)


def test_the_true_chain_begins_with_its_first_state():
    matrix = np.array([[0.25, 0.75], [1.0, 0.0]])
    arrays = {"state_names": np.array(["s0", "s1"]), "state_transitions": matrix}
    made = true_markov(real=Predictions((), (), arrays))
    assert (made.names, made.begin, made.end) == (("s0", "s1"), "s0", False)
    assert made.transitions is matrix
    rough = MarkovCritic(made.names, np.eye(2, dtype=np.float32))
    assert rough.log_transitions.dtype == np.float64
    assert signature(made) == "MarkovCritic(begin=s0,end=False)"
    assert (
        signature(MarkovCritic(("a", END), matrix, end=True)) == "MarkovCritic(begin=None,end=True)"
    )


@pytest.mark.parametrize(("text", "sentences"), [
    ("We run.They left.", ["We run.", "They left."]), ("It\nran.They left.", ["It\nran.", "They left."]),
    ("We go.They left.", ["We go.They left."]),
    # one abbreviation of each list
    *((f"Ask {word}.They left.", [f"Ask {word}.They left."]) for word in ("prof", "vol", "inc", "min", "conn", "mon")),
    ("It closed.Foxes iPhones left.", ["It closed.", "Foxes iPhones left."]),
    ("It closed.Foxes Phones left.", ["It closed.Foxes Phones left."]),
])  # fmt: skip
def test_a_stop_without_a_blank_is_judged_by_the_words_beside_it(text, sentences):
    assert sentence_texts(text) == sentences


@pytest.mark.parametrize(("text", "opens"), [
    ("It rained .", False), ("( It rained .", True), ("[ It rained .", True), ("( It (so) .", True), ("[ It [so] .", True),
    ("( It ) rained .", False), ("( It [ rained .", False),
])  # fmt: skip
def test_a_sentence_opens_with_a_bracket_that_is_alone_open(text, opens):
    assert _opens_with_bracket(text, 0, len(text)) is opens


def test_markup_behind_the_sign_of_a_footnote_is_markup():
    assert shown_words("Said [^1]*so*.") == "Saidso."


@pytest.mark.parametrize(("text", "paragraphs"), [
    ("    code\n\nsaid", ["said"]), ("- item\n\n    goes on", ["item", "goes on"]),
    ("- item\n\nsaid\n\n    code", ["item", "said"]), ("> one > two\n> > three", ["one > two three"]),
])  # fmt: skip
def test_prose_has_no_indented_code_and_no_signs_of_quotations(text, paragraphs):
    assert markdown.prose(text.split("\n")) == paragraphs


@pytest.mark.parametrize("tag", ["script", "style"])
def test_programs_and_styles_are_not_seen(tag):
    assert markdown._without_scripts(f"a <{tag}>x = 1</{tag}>b") == "a b"
    assert markdown._without_scripts(f"a <{tag}> b") == f"a <{tag}> b"


@pytest.mark.parametrize(("text", "count"), [
    ("said", 0), ("---\na: 1\n---\nx", 3), ("---\na: 1\n...\nx", 3), ("+++\na = 1\n...\nx", 0),
    ("---\nsaid\n---\nx", 0), ("---\n---\nx", 2), ("---\na: 1", 0), ("+++ \na = 1\n+++\t\nx", 3),
])  # fmt: skip
def test_settings_before_a_text_are_counted_in_lines(text, count):
    assert markdown._front_matter(text.split("\n")) == count


def test_a_substitution_ends_with_its_block_or_at_a_blank_line():
    lines = [".. |a| replace:: one", "   two", "", "   three", ".. |b| replace:: four", "", "   five",
             ".. |c| image:: x.png", ".. |d| unicode:: 0xA9 U+00AE"]  # fmt: skip
    assert rst.substitutions(lines) == {"a": "one two", "b": "four", "c": "", "d": "©®"}


def test_orders_of_no_sentence_draw_nothing():
    rng = np.random.default_rng(0)
    assert block_orders(0, 2, 3, rng).shape == (3, 0)
    assert rng.random() == np.random.default_rng(0).random()


def test_draws_that_change_nothing_are_given_up():
    fixed = SimpleNamespace(permutation=np.arange)
    refuses("1000 draws left the 2 units as they were", another_order, ["a", "b"], fixed)


def test_the_head_of_a_phrase_is_a_noun(monkeypatch):
    verb = SimpleNamespace(i=0, pos_="VERB", dep_="ROOT")
    verb.head = verb
    noun = SimpleNamespace(i=1, pos_="NOUN", dep_="nsubj", head=verb)
    parts = [SimpleNamespace(i=2, pos_="NOUN", dep_="compound", head=head) for head in (verb, noun)]
    assert [spacy_role(token) for token in parts] == ["X", "S"]
    for text, token in zip(("Dog", "Cat", "ran"), (*parts, verb), strict=True):
        token.text = text
    monkeypatch.setattr(
        entity_grids, "spacy_pipeline", lambda model: lambda sentence: [*parts, verb]
    )
    assert entity_grids.spacy_mentions("m")("s") == [("dog", "X"), ("cat", "S")]


LINE = "{} 03 {} 01 {} 0 {} | gloss of it  \n"
LICENCE = "  1 This is a licence.  \n\n"


def test_a_word_net_is_read_past_its_licence_into_whole_tables(tmp_path):
    nouns = LINE.format("01", "n", "Big_Cat", "001 @ 02 n 0000") + LINE.format(
        "02", "n", "pet", "000"
    )
    files = {"data.noun": LICENCE + nouns, "data.verb": "", "data.adj": "", "data.adv": "",
             "index.sense": "big_cat%1:01:: 01 2 7\n"}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    made = read_wordnet(tmp_path)
    arrays = {
        "synset": ["n01", "n02"], "part_of_speech": ["n", "n"], "gloss": ["gloss of it"] * 2,
        "sense": ["big cat", "pet"], "irregular": [], "regular": [],
        "links": [[0, HYPERNYM, 1], [1, made.links[1, 1], 0]], "sense_synset": [0, 1], "sense_count": [7, 0],
    }  # fmt: skip
    found = made.to_arrays()
    assert {name: array.tolist() for name, array in found.items()} == {
        f"lexicon_{name}_names": values for name, values in arrays.items()
    }
    kinds = ["U"] * 6 + ["l"] * 3
    assert [array.dtype.char for array in found.values()] == kinds
    assert entity_grids.folder_lexicon(tmp_path).sense_words == made.sense_words
    assert entity_grids.folder_lexicon(tmp_path / "none") is None
    (tmp_path / "data.noun").write_text(LINE.format("01", "n", "cat", "001 @ 03 n 0000"))
    refuses(r"\('n', '03'\), which is no synset", read_wordnet, tmp_path)
    (tmp_path / "data.noun").write_text("01 03 n 00 000 | gloss\n")
    wordless = read_wordnet(tmp_path)
    assert [array.dtype.char for array in wordless.to_arrays().values()] == kinds
    assert wordless.sense_synsets.dtype == wordless.sense_counts.dtype == np.int64


def net(parts, links, words):
    names = tuple(f"s{i}" for i in range(len(parts)))
    table = np.array([(a, HYPERNYM, b) for a, b in links], dtype=np.int64).reshape(-1, 3)
    places = np.arange(len(words))
    return Taxonomy(Lexicon(names, tuple(parts), names, table, tuple(words), places, 0 * places))


def test_information_of_no_noun_is_infinite_and_warns_of_nothing():
    with np.errstate(all="raise"):
        assert (
            net("vv", [], ["go", "run"]).information_content({"go": 3}).tolist() == [math.inf] * 2
        )
        found = net("nnv", [(1, 0)], ["pet", "cat", "go"]).information_content({"cat": 2})
    assert found.tolist() == pytest.approx([-math.log(4 / 4), -math.log(3 / 4), math.inf])


def test_of_common_subsumers_the_most_informative_counts():
    taxonomy = net("nnnn", [(2, 0), (2, 1), (3, 0), (3, 1)], ["a", "b", "c", "d"])
    for content in ([5.0, 1.0, 7.0, 8.0], [1.0, 5.0, 7.0, 8.0]):
        shared = taxonomy.shared_content(np.array(content), [2, 3, 1])
        other = content[1]
        assert shared.tolist() == [[7.0, 5.0, other], [5.0, 8.0, other], [other, other, other]]
