"""Titles and filters: the order of the steps, their boundaries, and every dropped article under its reason."""

import numpy as np
import pytest

from longform.core.documents import Document, Section
from longform.core.text.nouns import lemma
from longform.datasets import titles
from tests.refusals import refuses


def words(text):
    return len(text.split())


def document(unit, *sections, split="train"):
    return Document(unit, split, tuple(Section(title, "w " * length) for title, length in sections))


LOOSE = titles.Filters(min_sections=1, max_tokens=10, min_tokens=1, min_title_count=1)


@pytest.mark.parametrize(("title", "expected"),
                         [("Acknowledgements 2", "acknowledgment"), ("Materials and Methods", "material and method"),
                          ("See also", "see also"), ("External links", "external link"),
                          ("RESULTS & DISCUSSION:", "result and discussion"),
                          ("2.1. Data Analyses", "data analysis"), ("IV. Conclusions", "conclusion"),
                          ("Life and career (1914–1918)", "life and career"), ("1990s", ""),
                          ("19th century", "century"), ("Later years, 2000–present", "later year present"),
                          ("COVID-19 pandemic", "covid-19 pandemic"), ("Demographics", "demographic"),
                          ("Honours", "honor"), ("Track/album listings", "track album listing"),
                          ("[sec:intro]Introduction", "introduction"), ("Women's studies", "women's study"),
                          ("Playing  career ", "playing career"), ("Rock 'n' roll", "rock n roll"),
                          ("Étymologie", "étymologie"), ("", "")])  # fmt: skip
def test_titles_are_normalised_as_the_paper_shows_them(title, expected):
    assert titles.normalise(title) == expected


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("references", "reference"), ("analyses", "analysis"), ("analysis", "analysis"), ("series", "series"),
        ("churches", "church"), ("classes", "class"), ("cities", "city"), ("movies", "movie"), ("women", "woman"),
        ("houses", "house"), ("status", "status"), ("as", "as"), ("boxes", "box"), ("cases", "case"), ("lives", "life"),
        ("archives", "archive"), ("politics", "politics"), ("x-rays", "x-ray"), ("notes", "note"), ("glass", "glass"),
    ],
)  # fmt: skip
def test_lemmas_are_singulars_and_other_words_stay(plural, singular):
    assert lemma(plural) == singular


@pytest.mark.parametrize(("lengths", "reason"),
                         [((30, 30, 30, 2000), None), ((30, 30, 30, 2001), "section too long"),
                          ((30, 30, 30, 29), "section too short"), ((30, 30, 30), "too few sections"),
                          ((29, 2001, 30), "too few sections")])  # fmt: skip
def test_thresholds_themselves_are_kept(lengths, reason):
    article = document("a", *[(f"t{'abcd'[i]}", n) for i, n in enumerate(lengths)])
    selection = titles.select([article], titles.Filters(min_title_count=1), words)
    assert selection.dropped == ({reason: 1} if reason else {})
    assert len(selection.documents) == (reason is None)


def test_titles_are_counted_once_on_training_articles_that_passed_step_three():
    articles = [
        document("a", ("plot", 5), ("cast", 5)),
        document("b", ("plot", 5), ("rare", 5)),
        document("c", ("cast", 5), ("rare", 99)),  # too long: its rare title does not count
        document("d", ("rare", 5), split="test"),  # not training: neither does this one
        document("e", ("plot", 5), split="test"),
    ]
    filters = titles.Filters(min_sections=1, max_tokens=10, min_tokens=1, min_title_count=2)
    selection = titles.select(articles, filters, words)
    # counted before the drop: plot 2, cast 1, rare 1; a falls with cast although b falls only afterwards
    assert [d.id for d in selection.documents] == ["e"]
    assert selection.dropped == {"infrequent title": 3, "section too long": 1}


def test_kept_and_dropped_add_up_to_what_was_read():
    rng = np.random.default_rng(3)
    articles = [
        document(str(i), *[(f"t{'abcdefgh'[k]}", int(n)) for k, n in zip(rng.integers(0, 8, size), rng.integers(0, 14, size), strict=True)])
        for i, size in enumerate(rng.integers(0, 7, 300))
    ]  # fmt: skip
    articles += [articles[0], document("u", (None, 5), ("a", 5))]
    selection = titles.select(
        articles, titles.Filters(min_sections=2, max_tokens=10, min_tokens=2, min_title_count=9), words
    )
    assert len(selection.documents) + selection.dropped.total() == len(articles) == 302
    assert selection.dropped["untitled section"] >= 1
    twice = [document("a", ("plot", 5)), document("a", ("plot", 6))]
    assert titles.select(twice, LOOSE, words).dropped == {"repeated id": 1}
    refuses("only once", titles.select, iter(articles), LOOSE, words)
    assert all(row.min() >= 2 and row.max() <= 10 and len(row) >= 2 for row in selection.lengths)


def test_sections_are_deleted_after_normalising_and_the_short_subset_keeps_an_article_at_its_limit():
    article = document("a", ("Abstract", 5), ("References", 99), ("Plot", 5), ("NOTES 1", 0))
    kept, deleted = titles.cleaned(article, titles.REMOVED)
    assert ([s.title for s in kept.sections], deleted) == (["abstract", "plot"], ["reference", "note"])
    assert len(titles.select([article], LOOSE, words).documents) == 1
    articles = [document("a", ("plot", 5), ("cast", 7)), document("b", ("plot", 8), ("cast", 1))]
    short = titles.shortened(titles.select(articles, LOOSE, words), 7)
    assert ([d.id for d in short.documents], [row.tolist() for row in short.lengths]) == (["a"], [[5, 7]])
    assert short.dropped == {"longer than the short subset allows": 1}


@pytest.mark.parametrize(("text", "film"),
                         [("Alien is a 1979 film. It was born.", True),
                          ("Alien is a 1979\nscience film. It runs.", True),
                          ("She was born in 1950 and is a film director.", False),
                          ("Alien is a novel. It became a film.", False), ("Alien is the 1979 film.", False),
                          ("Alien is a filmed play.", False), ("", False)])  # fmt: skip
def test_a_film_is_told_by_its_first_sentence(text, film):
    article = Document("a", "train", (Section("abstract", text), Section("plot", "is a film")))
    assert titles.is_film(article) is film


def test_table_11_by_hand():
    articles = [document("a", ("plot", 5), ("cast", 7)),
                document("b", ("plot", 1), ("cast", 2), ("plot", 9), split="validation"),
                document("c", ("plot", 4), split="validation"), document("d", ("plot", 4), split="test")]  # fmt: skip
    assert titles.table_11(titles.select(articles, LOOSE, words)) == {
        "train": 1, "validation": 2, "test": 1, "section_types": 2,
        "med_sections": 2.0, "med_section_len": 3.0, "max_section_len": 9,
    }  # fmt: skip
    assert titles.table_11(titles.select(articles[:1], LOOSE, words))["med_sections"] is None


@pytest.mark.parametrize(
    ("text", "pieces"), [("", 0), ("Hello world", 2), ("It's 1990, no?", 6), ("a  b", 3), ("x_y", 3), ("don't!!", 3)]
)
def test_pieces_are_cut_as_gpt2_cuts_before_merging(text, pieces):
    assert titles.piece_count(text) == pieces


def test_a_tokenizer_file_counts_its_own_tokens(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    assert titles.token_counter(tmp_path / "tokenizer.json")("a b zzz a") == 4
    refuses("no such file", titles.token_counter, tmp_path / "absent.json")
