"""Titles and filters: the order of the steps, their boundaries, and every dropped article under its reason."""

from dataclasses import replace

import numpy as np
import pytest

from longform.datasets import titles
from longform.documents import Document, Section
from longform.text.nouns import lemma
from tests.refusals import refuses


def words(text):
    return len(text.split())


def document(unit, *sections, split="train"):
    return Document(unit, split, tuple(Section(title, "w " * length) for title, length in sections))


LOOSE = titles.Filters(min_sections=1, max_tokens=10, min_tokens=1, min_title_count=1)


def test_titles_are_normalised_as_in_the_paper_and_lemmas_singular():
    shown = {
        "Acknowledgements 2": "acknowledgment", "Materials and Methods": "material and method", "See also": "see also",
        "External links": "external link", "RESULTS & DISCUSSION:": "result and discussion", "1990s": "", "": "",
        "2.1. Data Analyses": "data analysis", "IV. Conclusions": "conclusion", "19th century": "century",
        "Life and career (1914–1918)": "life and career", "Later years, 2000–present": "later year present",
        "COVID-19 pandemic": "covid-19 pandemic", "Demographics": "demographic", "Honours": "honor",
        "Track/album listings": "track album listing", "[sec:intro]Introduction": "introduction",
        "Women's studies": "women's study", "Playing  career ": "playing career", "Rock 'n' roll": "rock n roll",
        "Étymologie": "étymologie",
    }  # fmt: skip
    assert {title: titles.normalise(title) for title in shown} == shown
    singulars = {
        "references": "reference", "analyses": "analysis", "churches": "church", "classes": "class", "cities": "city",
        "movies": "movie", "women": "woman", "houses": "house", "boxes": "box", "cases": "case", "lives": "life",
        "archives": "archive", "x-rays": "x-ray", "notes": "note",
    }  # fmt: skip
    assert {plural: lemma(plural) for plural in singulars} == singulars
    names = (
        "AIDS",
        "Rabies",
        "Wales",
        "Diabetes",
        "Honduras",
        "Thomas",
        "Athens",
        "Clothes",
        "Semantics",
        "Yemen",
        "Lumen",
    )
    for name in names:
        assert titles.normalise(name) == name.lower()
    assert (
        titles.normalise("Magpies and Octopuses of the West Indies")
        == "magpie and octopus of the west indies"
    )
    for word in ("analysis", "series", "status", "as", "politics", "glass"):
        assert lemma(word) == word


def test_thresholds_themselves_are_kept():
    outcomes = {(30, 30, 30, 2000): {}, (30, 30, 30, 2001): {"section too long": 1},
                (30, 30, 30, 29): {"section too short": 1}, (30, 30, 30): {"too few sections": 1},
                (29, 2001, 30): {"too few sections": 1}}  # fmt: skip
    for lengths, dropped in outcomes.items():
        article = document("a", *zip(("ta", "tb", "tc", "td"), lengths, strict=False))
        selection = titles.select([article], titles.Filters(min_title_count=1), words)
        assert selection.dropped == dropped and len(selection.documents) == (not dropped)


def test_titles_are_counted_once_on_articles_that_passed_step_three():
    articles = [
        document("a", ("plot", 5), ("cast", 5)),
        document("b", ("plot", 5), ("rare", 5)),
        document("c", ("cast", 5), ("rare", 99)),  # too long: its rare title does not count
        document("d", ("rare", 5), split="test"),  # not training: neither does this one
        document("e", ("plot", 5), split="test"),
    ]
    selection = titles.select(articles, replace(LOOSE, min_title_count=2), words)
    # counted before the drop: plot 2, cast 1, rare 1; a falls with cast although b falls only afterwards
    assert [d.id for d in selection.documents] == ["e"]
    assert selection.dropped == {"infrequent title": 3, "section too long": 1}


def test_kept_and_dropped_add_up_to_what_was_read():
    rng = np.random.default_rng(3)
    articles = [document("u", (None, 5), ("a", 5))]
    for i, size in enumerate(rng.integers(0, 7, 300)):
        sections = zip(
            rng.choice([f"t{c}" for c in "abcdefgh"], size), rng.integers(0, 14, size), strict=True
        )
        articles.append(
            document(str(i), *((str(title), int(length)) for title, length in sections))
        )
    articles.append(articles[1])
    filters = titles.Filters(min_sections=2, max_tokens=10, min_tokens=2, min_title_count=9)
    selection = titles.select(articles, filters, words)
    assert (
        0
        < len(selection.documents)
        == len(articles) - selection.dropped.total()
        < len(articles)
        == 302
    )
    assert selection.dropped["untitled section"] >= 1
    assert all(row.min() >= 2 and row.max() <= 10 and len(row) >= 2 for row in selection.lengths)
    twice = [document("a", ("plot", 5)), document("a", ("plot", 6))]
    assert titles.select(twice, LOOSE, words).dropped == {"repeated id": 1}
    refuses("only once", titles.select, iter(articles), LOOSE, words)


def test_sections_are_deleted_after_normalising_up_to_the_limit():
    article = document("a", ("Abstract", 5), ("References", 99), ("Plot", 5), ("NOTES 1", 0))
    kept, deleted = titles.cleaned(article, titles.REMOVED)
    assert ([s.title for s in kept.sections], deleted) == (
        ["abstract", "plot"],
        ["reference", "note"],
    )
    assert len(titles.select([article], LOOSE, words).documents) == 1
    articles = [document("a", ("plot", 5), ("cast", 7)), document("b", ("plot", 8), ("cast", 1))]
    short = titles.shortened(titles.select(articles, LOOSE, words), 7)
    assert ([d.id for d in short.documents], [row.tolist() for row in short.lengths]) == (
        ["a"],
        [[5, 7]],
    )
    assert short.dropped == {"longer than the short subset allows": 1}


def test_a_film_is_told_by_its_first_sentence():
    films = {"Alien is a 1979 film. It was born.": True, "Alien is a 1979\nscience film. It runs.": True,
             "She was born in 1950 and is a film director.": False, "Alien is a novel. It became a film.": False,
             "Alien is the 1979 film.": False, "Alien is a filmed play.": False, "": False}  # fmt: skip
    for text, film in films.items():
        article = Document("a", "train", (Section("abstract", text), Section("plot", "is a film")))
        assert titles.is_film(article) is film, text
    assert titles.is_film(Document("a", "train", ())) is False


def test_table_11_by_hand():
    articles = [document("a", ("plot", 5), ("cast", 7)),
                document("b", ("plot", 1), ("cast", 2), ("plot", 9), split="validation"),
                document("c", ("plot", 4), split="validation"), document("d", ("plot", 4), split="test")]  # fmt: skip
    assert titles.table_11(titles.select(articles, LOOSE, words)) == {
        "train": 1, "validation": 2, "test": 1, "section_types": 2,
        "med_sections": 2.0, "med_section_len": 3.0, "max_section_len": 9,
    }  # fmt: skip
    assert titles.table_11(titles.select(articles[:1], LOOSE, words))["med_sections"] is None


def test_pieces_are_cut_as_gpt2_cuts_and_tokenizer_files_count_their_own(tmp_path):
    pieces = {"": 0, "Hello world": 2, "It's 1990, no?": 6, "a  b": 3, "x_y": 3, "don't!!": 3}
    assert {text: titles.piece_count(text) for text in pieces} == pieces
    refuses("no such file", titles.token_counter, tmp_path / "absent.json")
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    assert titles.token_counter(tmp_path / "tokenizer.json")("a b zzz a") == 4


@pytest.mark.parametrize(
    ("sections", "lengths", "reason"),
    [
        (["a", ""], [5, 5], "untitled section"),
        (["a"], [5], "too few sections"),
        (["a", "b"], [5, 10], ""),
        (["a", "b"], [5, 11], "section too long"),
        (["a", "b"], [2, 5], ""),
        (["a", "b"], [1, 5], "section too short"),
    ],
)
def test_an_article_at_a_threshold_passes_and_one_beside_it_says_why(sections, lengths, reason):
    filters = titles.Filters(min_sections=2, max_tokens=10, min_tokens=2, min_title_count=1)
    assert titles._reason_to_drop(sections, lengths, filters) == reason


def test_an_article_without_sections_passes_where_none_are_asked_for():
    assert titles._reason_to_drop([], [], titles.Filters(min_sections=0)) == ""


def test_tokens_that_a_tokenizer_adds_to_a_text_are_not_counted(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"a": 0, "[CLS]": 1, "?": 2}, unk_token="?")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 1)]
    )
    made.save(str(tmp_path / "tokenizer.json"))
    assert len(made.encode("a a").ids) == 3
    assert titles.token_counter(tmp_path / "tokenizer.json")("a a") == 2
