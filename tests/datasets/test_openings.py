"""Documents cut to the first sentences of their sections, alone and in the corpora of files."""

import pytest

from longform.datasets import proposals, wikisection
from longform.datasets.openings import with_openings
from longform.documents import Document, Section

TEXT = "It is A.\n\nIt is B. It is C."


@pytest.mark.parametrize(("sentences", "text"), [
    (1, "It is A."), (2, "It is A. It is B."), (3, "It is A. It is B. It is C."), (9, "It is A. It is B. It is C."),
])  # fmt: skip
def test_the_first_sentences_of_each_section_stay(sentences, text):
    document = Document(
        "d", "test", (Section("x", TEXT), Section(None, "Dr. No came.")), ({"e": 1},)
    )
    expected = Document(
        "d", "test", (Section("x", text), Section(None, "Dr. No came.")), ({"e": 1},)
    )
    assert with_openings(document, sentences) == expected


def test_proposals_pass_the_filters_with_their_whole_sections(tmp_path):
    """Six pieces a section are too few for one sentence alone: the filters see both."""
    for number in range(8):
        sections = "# Why\n\nSo it is. Or not.\n\n# How\n\nSo it goes, and on. Or not.\n"
        (tmp_path / f"eip-{number}.md").write_text(f"created: 2020-01-01\n\n{sections}")
    filters = {"min_sections": 2, "min_tokens": 7, "min_title_count": 1}
    shares = {"train": 0.5, "validation": 0.25, "test": 0.25}
    given = {"name": "p", "seed": 1, "raw": tmp_path, "filters": filters, "shares": shares}
    whole, cut = proposals.build(**given), proposals.build(**given, opening_sentences=1)
    assert [(doc.id, doc.split) for doc in cut.documents] == [
        (doc.id, doc.split) for doc in whole.documents
    ]
    texts = [section.text for section in cut.documents[0].sections]
    assert texts == ["So it is.", "So it goes, and on."]
    assert whole.truth["section_tokens"].tolist() == [7, 10] * 8
    assert cut.truth["section_tokens"].tolist() == [4, 7] * 8
    assert cut.facts["table_11"]["max_section_len"] == 7
    assert cut.truth["year"].tolist() == [2020] * 8


def test_cities_count_the_sentences_that_are_left(tmp_path):
    line = "[ ABSTRACT ] Town is a town. It is small. [ HISTORY ] It was founded. It burnt. It is."
    (tmp_path / "city.txt").write_text(f"{line}\n" * 8)
    given = {"name": "c", "seed": 1, "raw": tmp_path / "city.txt"}
    whole, cut = wikisection.build(**given), wikisection.build(**given, opening_sentences=1)
    texts = [section.text for section in cut.documents[0].sections]
    assert texts == ["Town is a town.", "It was founded."]
    assert [document.split for document in cut.documents] == [doc.split for doc in whole.documents]
    assert (whole.facts["sentences"], cut.facts["sentences"]) == (40, 16)
