"""Where the parts that a critic blames stand in the text: offsets away from 0, over sections and blanks."""

import numpy as np
import pytest

from longform.criticize import panels
from longform.criticize.lengths import Excerpt
from longform.criticize.panels import Options
from longform.documents import Document, Section, section_starts

FIRST = "  Ann Reed met Bob at the old mill. He saw her dog there."
SECOND = "The dog ran home. Ann Reed called the dog. She saw it run home again."
DOCUMENT = Excerpt("d", "test", (Section("a", FIRST), Section("b", SECOND)))
TEXT = DOCUMENT.text
SENTENCES = ["Ann Reed met Bob at the old mill.", "He saw her dog there.", "The dog ran home.", "Ann Reed called the dog.",
             "She saw it run home again."]  # fmt: skip


@pytest.fixture(scope="module")
def panel():
    options = Options(packaged=False, packaged_encoder=False)
    return {one.name: one for one in panels.panels(options)}


def shown(panel, parts):
    return [TEXT[start:end] for start, end in panel.spans(DOCUMENT, None, np.zeros(parts))]


def test_parts_of_grids_are_sentences_and_pairs_begin_at_the_second(panel):
    assert shown(panel["entity grid"], 4) == SENTENCES[:4]
    assert shown(panel["shared nouns"], 4) == SENTENCES[1:]
    assert shown(panel["related nouns (LSA)"], 2) == SENTENCES[1:3]


def test_parts_of_sentence_paths_lie_in_their_sections(panel):
    assert shown(panel["sentence path (joint density)"], 5) == SENTENCES
    assert shown(panel["sentence path (BBScore)"], 3) == SENTENCES[1:4]


def test_parts_of_the_order_of_sections_are_their_beginnings_and_the_end(panel):
    parts = shown(panel["section order"], 3)
    assert parts == [FIRST, SECOND[:60], TEXT[-30:]]
    assert shown(panel["section order"], 2) == parts[:2]


def test_a_section_begins_after_those_before_it_and_their_breaks():
    three = Document("d", "test", tuple(Section(None, text) for text in ("abc", "de", "f")))
    starts = section_starts(three)
    assert starts == [0, 5, 9] and [three.text[start] for start in starts] == ["a", "d", "f"]


def test_persons_stand_where_they_are_mentioned_after_any_blanks(panel):
    persons = panel["persons"]
    (chain,) = persons.reader([DOCUMENT])
    spans = persons.spans(DOCUMENT, chain, np.zeros(len(chain.symbols)))
    parts = [TEXT[start:end] for start, end in spans]
    of_stops = [part for part, symbol in zip(parts, chain.symbols, strict=True) if symbol == "."]
    of_names = [part for part, symbol in zip(parts, chain.symbols, strict=True) if symbol != "."]
    assert of_stops == SENTENCES
    # of names the head word
    assert of_names[0] == "Reed" and of_names[-1] == "She" and "her" in of_names
    assert parts.index("Reed") < parts.index("her") < parts.index("She")


def test_repeated_grams_stand_in_the_sentence_where_they_begin(panel):
    words = TEXT.split()
    parts = shown(panel["repetition"], len(words))
    assert [part.split()[0] for part in parts] == [
        sentence.split()[0] for sentence in SENTENCES for _ in sentence.split()
    ]
    assert len(shown(panel["repetition"], 3)) == 3


def test_a_reader_that_is_shared_reads_the_same_texts_once():
    read = []
    latest = panels.Latest(lambda texts: read.append(texts) or [len(texts)], users=3)
    texts, others = [DOCUMENT], [DOCUMENT, DOCUMENT]
    assert [latest(texts), latest(texts), latest(others), latest(texts)] == [[1], [1], [2], [1]]
    assert len(read) == 3
