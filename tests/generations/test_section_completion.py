"""Completions keep their prompts, write both sides, and depend on (seed, name, document) alone."""

from __future__ import annotations

import pytest
from tiny import lm_folder

from longform.generations.section_completion import DECODERS, generate
from longform.units import BadInput, Document, Section

TEXT = "The town lies on a river. It has old houses. People work in fields. There are many hills near the town."


def articles(count: int = 3) -> list[Document]:
    sections = (Section("abstract", TEXT), Section("history", "One. Two."))
    return [Document(f"d{i}", ("train", "test")[i % 2], sections) for i in range(count)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("completion") / "lm")


@pytest.mark.parametrize("decoder", sorted(DECODERS))
def test_both_sides_are_written_and_prompts_are_kept(model, decoder):
    corpus = generate(model=model, name="c", seed=1, prefixes=articles(1), decoder=decoder)
    human, machine = corpus.documents
    assert (human.id, machine.id, machine.split) == ("d0-human", "d0-machine", "train")
    assert human.sections[0].text == TEXT
    assert machine.sections[0].text.startswith("The town lies on a river. It has old houses.")
    assert machine.sections[0].text != TEXT and machine.sections[0].text.endswith(".")
    assert machine.sections[1] == human.sections[1]
    assert corpus.facts["sections_completed"] == 1 and corpus.facts["sections_kept"] == 1


def test_a_document_does_not_depend_on_its_company(model):
    together = generate(model=model, name="c", seed=1, prefixes=articles(3), decoder="ancestral")
    alone = generate(model=model, name="c", seed=1, prefixes=articles(3)[2:], decoder="ancestral")
    other = generate(model=model, name="c", seed=2, prefixes=articles(3)[2:], decoder="ancestral")
    assert together.documents[-1] == alone.documents[-1] != other.documents[-1]


def test_so_many_of_each_split_are_completed(model):
    corpus = generate(
        model=model, name="c", seed=1, prefixes=articles(6), decoder="greedy", documents={"test": 2, "train": 1}
    )
    assert [d.id for d in corpus.documents[::2]] == ["d1-human", "d3-human", "d0-human"]


def test_unknown_decoders_are_refused(model):
    with pytest.raises(BadInput, match="'beam'"):
        generate(model=model, name="c", seed=1, prefixes=articles(1), decoder="beam")
