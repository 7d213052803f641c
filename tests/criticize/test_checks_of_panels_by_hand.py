"""How many texts must name persons, or have titled sections, before their critic compares them."""

import pytest

from longform.criticize import panels
from longform.criticize.lengths import Excerpt
from longform.critics.coreference.score import STOP
from longform.documents import Chain, Section
from tests.refusals import refuses


def chains(real, generated, others=3):
    """So many chains with a person on each side, and others of stops alone."""
    made = []
    for split, peopled in (("train", real), ("generated", generated)):
        made += [Chain(f"{split}{i}", split, ("he:0", STOP)) for i in range(peopled)]
        made += [Chain(f"{split}-{i}", split, (STOP, STOP)) for i in range(others)]
    return made


def test_persons_are_compared_where_eight_real_texts_name_them():
    check = panels._persons().check
    check(chains(8, 1))
    check([*chains(4, 1), *(Chain(f"t{i}", "test", ("he:0",)) for i in range(4))])
    refuses("7 of 10 real texts mention a person twice; at least 8 are needed", check, chains(7, 9))
    refuses(
        "0 of 3 generated texts mention a person twice; at least 1 is needed", check, chains(8, 0)
    )


def article(name, titles, split="train", ends=True):
    sections = tuple(Section(title, "Text.") for title in titles)
    return Excerpt(name, split, sections, ends=ends)


def corpus(judgeable, others, generated=("a", "b")):
    texts = [article(f"r{i}", ("a", "b")) for i in range(judgeable)]
    texts += [article(f"o{i}", titles) for i, titles in enumerate(others)]
    return [*texts, article("g", generated, "generated")]


@pytest.mark.parametrize(
    ("others", "refused"),
    [
        ([("a",)], False),  # nine of ten are enough
        ([(None, "b")], False),
        ([("a",), (None, "b")], True),
    ],
)
def test_sections_are_compared_where_nine_of_ten_texts_have_two_titles(others, refused):
    read = panels._sections().reader
    if refused:
        refuses("9 of 11 real texts have two or more sections", read, corpus(9, others))
    else:
        found = read(corpus(9, others))
        assert [unit.split for unit in found] == ["train"] * 10 + ["generated"]


def test_a_cut_text_of_one_section_counts_a_generated_one_needs_two():
    read = panels._sections().reader
    cut = [article("c", ("a",), ends=False), article("d", (None,))]
    texts = [*corpus(8, []), *cut]
    assert len(read(texts)) == 11
    reason = "no generated text has two or more sections, all with titles, once all sides are cut"
    refuses(reason, read, corpus(9, [], generated=("a",)))
    refuses("no generated text has two or more", read, corpus(9, [], generated=("a", None)))
