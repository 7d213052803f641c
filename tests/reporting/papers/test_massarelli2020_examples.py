"""Table 5's counterpart: two prefixes chosen by rule, verdicts in words, evidence by page and line."""

from dataclasses import replace

from experiments.massarelli2020.examples import (
    DECODERS,
    chosen_pages,
    evidence_text,
    examples,
    num_different,
    table,
    texts_by_page,
    verdict_text,
)
from longform.documents import Document, Section
from tests.critics.verifiability.test_decoder_tables import generation

S, R, N = "supported", "refuted", "not_enough_info"
SENTENCES = ("It is a town.", "It lies in the north.", "It is a town.")
PAGES = {"p": ("It is a town.", "It is in the south.", "It is old.")}


def text(page, setting, repeat=0, same_as=(0, 1, 0), true=(S, N, S)):
    name = f"test-{setting}-{page}-{repeat}"
    made = generation(name, [S, R, S], list(true), setting=setting, page=page, same_as=same_as)
    return replace(made, texts=SENTENCES)


def texts_of(page, **of_beams):
    texts = []
    for setting in DECODERS:
        texts.append(text(page, setting, **(of_beams if setting == "beam" else {})))
    return texts


def test_a_decoder_that_draws_is_shown_by_its_first_text():
    shown = texts_by_page([text("a", "top_k", 1), text("a", "top_k", 0), text("a", "human")])
    assert list(shown) == ["a"] and list(shown["a"]) == ["top_k"]
    assert shown["a"]["top_k"].unit_id == "test-top_k-a-0"


def test_the_first_page_is_where_beam_search_repeats_itself_most():
    generations = (
        texts_of("a") + texts_of("b", same_as=(0, 0, 0)) + texts_of("c", same_as=(0, 0, 0))
    )
    pages = texts_by_page(generations)
    assert [num_different(pages[page]["beam"]) for page in "abc"] == [2, 1, 1]
    first, second = chosen_pages(pages)
    assert first == "b" and second in ("a", "c")
    assert list(chosen_pages(pages)) == [first, second]


def test_a_verdict_says_what_the_pages_state_where_that_is_otherwise():
    checked = text("a", "beam")
    assert verdict_text(checked, 0) == "supported"
    assert verdict_text(checked, 1) == "**refuted** (exact: not enough information)"
    assert verdict_text(replace(checked, truth=None), 1) == "**refuted**"


def test_evidence_is_named_by_page_and_line():
    assert evidence_text(frozenset({("p", 2), ("p", 0)}), PAGES) == (
        "p, line 1: It is a town. p, line 3: It is old."
    )


def test_a_table_has_a_row_a_sentence_and_prints_none_twice():
    generations = texts_of("a") + texts_of("b", same_as=(0, 0, 0))
    documents = {}
    for made in generations:
        sections = (Section("Rivton", "Rivton is a town."), Section("continuation", ""))
        documents[made.unit_id] = Document(made.unit_id, "generated", sections)
    repetitive, drawn = examples(generations, documents)
    assert repetitive.texts["beam"].page == "b" and drawn.texts["beam"].page == "a"
    lines = table(drawn, PAGES).splitlines()
    assert lines[0] == "**Rivton. Rivton is a town. (drawn at random from the others)**"
    assert len(lines) == 4 + 3 * len(DECODERS)
    assert lines[4:7] == [
        "| top-k sampling | It is a town. | supported | p, line 1: It is a town. |",
        "|  | It lies in the north. | **refuted** (exact: not enough information) "
        "| p, line 2: It is in the south. |",
        "|  | *its sentence 1 again* | supported |  |",
    ]
