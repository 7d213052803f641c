"""Completions keep their prompts, write both sides, and depend on (seed, name, document) alone."""

import pytest
from tiny import lm_folder

from longform.core.documents import Document, Section
from longform.decoding import completions
from longform.decoding.completions import DECODERS, generate
from tests.refusals import refuses

TEXT = "The town lies on a river. It has old houses. People work in fields. There are many hills near the town."


def articles(count: int = 3) -> list[Document]:
    sections = (Section("abstract", TEXT), Section("history", "One. Two."))
    return [Document(f"d{i}", ("train", "test")[i % 2], sections) for i in range(count)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("completion") / "lm")


@pytest.mark.parametrize("decoder", sorted(DECODERS))
def test_both_sides_are_written_and_prompts_are_kept(model, decoder):
    corpus = generate(model=model, name="c", seed=1, prefixes=articles(1), sources={"machine": decoder})
    human, machine = corpus.documents
    assert (human.id, machine.id, machine.split) == ("d0-human", "d0-machine", "train")
    assert human.sections[0].text == TEXT
    assert machine.sections[0].text.startswith("The town lies on a river. It has old houses.")
    assert machine.sections[0].text != TEXT and machine.sections[0].text.endswith(".")
    assert machine.sections[1] == human.sections[1]
    assert corpus.facts["sections_completed"] == 1 and corpus.facts["sections_kept"] == 1


def test_a_document_does_not_depend_on_its_company_and_so_many_of_each_split_are_completed(model):
    together = generate(model=model, name="c", seed=1, prefixes=articles(3), sources={"machine": "ancestral"})
    alone = generate(model=model, name="c", seed=1, prefixes=articles(3)[2:], sources={"machine": "ancestral"})
    other = generate(model=model, name="c", seed=2, prefixes=articles(3)[2:], sources={"machine": "ancestral"})
    assert together.documents[-1] == alone.documents[-1] != other.documents[-1]
    corpus = generate(model=model, name="c", seed=1, prefixes=articles(6), sources={"machine": "greedy"},
                      documents={"test": 2, "train": 1})  # fmt: skip
    assert [d.id for d in corpus.documents[::2]] == ["d1-human", "d3-human", "d0-human"]


def test_a_completed_corpus_is_completed_again_and_keeps_its_sides(model):
    first = generate(model=model, name="c", seed=1, prefixes=articles(2), sources={"one": "ancestral"})
    again = generate(
        model=model, name="c", seed=1, prefixes=first.documents, sources={"two": "greedy", "three": "top_k"}
    )
    assert [d.id for d in again.documents[:4]] == ["d0-human", "d0-one", "d0-two", "d0-three"]
    assert again.documents[:2] == first.documents[:2] and again.documents[4].sections == articles(2)[1].sections
    assert generate(model=model, name="c", seed=1, prefixes=articles(2), sources={"one": "ancestral"}, batch=1) == first


def test_names_that_cannot_end_an_id_and_unknown_decoders_are_refused(model):
    given = {"model": model, "name": "c", "seed": 1, "prefixes": articles(1)}
    for name in ("human", "GPT 2", ""):
        refuses("fix the entry", generate, **given, sources={name: "greedy"})
    refuses("'beam'", generate, **given, sources={"machine": "beam"})


def test_a_killed_run_goes_on_with_the_batches_that_it_has_not_finished(model, tmp_path, monkeypatch):
    given = {"model": model, "name": "c", "seed": 1, "prefixes": articles(3), "sources": {"machine": "ancestral"}}
    given["batch"] = 2
    whole, rounds = generate(**given), []
    one_round = completions._round

    def dies(jobs, *rest):
        rounds.append(len(jobs))
        if len(rounds) == limit:
            raise KeyboardInterrupt
        one_round(jobs, *rest)

    monkeypatch.setattr(completions, "_round", dies)
    limit = 0
    assert generate(**given, scratch=tmp_path / "alone") == whole
    needed, limit = len(rounds), len(rounds)
    rounds.clear()
    with pytest.raises(KeyboardInterrupt):
        generate(**given, scratch=tmp_path)
    with (tmp_path / "sections-machine.jsonl").open("a") as file:
        file.write('{"article": "torn')
    rounds.clear()
    limit = 0
    assert generate(**given, scratch=tmp_path) == whole
    assert 0 < len(rounds) < needed
