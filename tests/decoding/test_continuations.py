"""Continuations and completions: what is written and counted, killed runs that go on, log-probabilities that are the model's own."""

import pytest
from tiny import lm_folder
from toy_language import PROMPT, next_log_probs, toy

from longform.decoding import completions, continuations
from longform.documents import Document, Section
from longform.files.artefacts import write_corpus
from tests.refusals import refuses

DECODERS = {"human": {"kind": "human"}, "top_k": {"kind": "top_k", "k": 9}, "beam": {"kind": "beam", "beams": 3},
            "delayed": {"kind": "delayed_beam", "top_k": 9, "beams": 2},
            "contrastive": {"kind": "contrastive", "k": 3}}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=64)


def articles(count=3):
    text = "The town lies on a river. Its people work in the old fields. It has many houses."
    return [Document(f"d{i}", "test", (Section(f"Town {i}", text),)) for i in range(count)]


def make(model, decoder=None, **over):
    given = {"prefixes": articles(), "decoders": {"one": decoder} if decoder else DECODERS}
    given |= {"name": "row", "seed": 1, "new_tokens": 8, "title_from": "first_section", "batch": 2}
    return continuations.generate(model=model, **(given | over))


def test_generations_have_prefix_continuation_and_human_text_in_any_batch(model):
    made = make(model, {"kind": "delayed_beam", "beams": 2, "top_k": 5})
    assert len(made.documents) == 9 and made.facts["tokens"] == 72 and made.facts["cut_short"] == 0
    title, continuation, reference = made.documents[0].sections
    assert (title.title, title.text) == (
        "Town 0",
        "The town lies on a river.",
    ) and continuation.title == "continuation"
    assert "Its people work in the old fields. It".startswith(reference.text.strip())
    assert reference.text.strip()
    # three seeds, not one text
    assert len({document.sections[1].text for document in made.documents[:3]}) > 1
    top_k = {"kind": "top_k", "k": 20}
    whole = make(model, top_k, batch=16).documents
    assert make(model, top_k, batch=1).documents == whole
    assert make(model, top_k, documents=1).documents == whole[:3]


def test_unusable_prefixes_are_counted_and_titles_come_off_definitions(model, monkeypatch):
    long = Document("long", "test", (Section("Long", "word " * 80 + "."),))
    blank = Document("blank", "test", (Section("Blank", " "),))
    made = make(model, {"kind": "greedy"}, prefixes=[*articles(1), long, blank])
    assert (
        made.facts["prefixes"],
        made.facts["prefixes_too_long"],
        made.facts["prefixes_empty"],
    ) == (1, 1, 1)
    refuses("no prefix of 1", make, model, {"kind": "greedy"}, prefixes=[long])
    for first, title in (("Ulm is a city.", "Ulm"), ("The Hunter of Ulm is a film.", "The Hunter of Ulm"),
                         ("Ann Lee (1 May 1900 - 2 June 1980) was a spy.", "Ann Lee"), ("Rain fell.", "")):  # fmt: skip
        document = Document("d", "test", (Section("abstract", f"{first} More text."),))
        assert continuations.prefix_of(document, "full_stops", "definition")[0] == title
        assert continuations.prefix_of(document, "full_stops", "first_section") == (
            "abstract",
            first,
            " More text.",
        )
    rain = Document("rain", "test", (Section("abstract", "Rain fell. It was cold."),))
    ulm = Document("ulm", "test", (Section("abstract", "Ulm is a town. It was cold."),))
    made = make(model, {"kind": "greedy"}, prefixes=[rain, ulm], title_from="definition")
    assert made.facts["prefixes_untitled"] == 1 and [
        d.sections[0].title for d in made.documents
    ] == ["Ulm"]
    monkeypatch.setattr(
        continuations, "decode", lambda network, prompts, *rest: [[] for _ in prompts]
    )
    made = make(model, {"kind": "greedy"})
    assert made.facts["empty"] == 3 == made.facts["cut_short"]
    assert made.documents[0].sections[1].text == ""


@pytest.mark.long  # every batch; test_a_killed_run_goes_on has one kill
def test_a_run_killed_in_any_batch_ends_with_the_same_bytes(model, tmp_path, monkeypatch):
    write_corpus(tmp_path / "a", make(model))
    decode, calls = continuations.decode, []

    def dies(*given):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return decode(*given)

    monkeypatch.setattr(continuations, "decode", dies)
    with pytest.raises(KeyboardInterrupt):
        make(model, scratch=tmp_path / "cut")
    with (tmp_path / "cut" / "batches.jsonl").open("a") as file:
        file.write('{"batch": 5, "dra')  # and the line that was being written
    write_corpus(tmp_path / "b", make(model, scratch=tmp_path / "cut"))
    for name in ("documents.jsonl", "truth.npz", "facts.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    fresh = len(calls)
    make(model, scratch=tmp_path / "cut")
    # what was done is not done again; a torn line spoils no other
    assert len(calls) == fresh and 5 < fresh < 2 * 5 + 6


def test_log_probabilities_are_the_models_own():
    network, written = toy(3), [[2, 0, 4], [], [1]]
    prompts = [PROMPT, [4, 1], [2]]
    found = continuations.token_log_probs(network, prompts, written)
    for (nats, prefix), prompt, made in zip(found, prompts, written, strict=True):
        rows = [*prompt, *made]
        wanted = [next_log_probs(network, rows[:i])[rows[i]] for i in range(1, len(rows))]
        assert nats == pytest.approx(wanted[len(prompt) - 1 :], abs=2e-6)
        assert prefix == pytest.approx(sum(wanted[: len(prompt) - 1]), abs=2e-6)


def test_every_decoder_is_apart_and_adding_one_moves_no_others_texts(model):
    made = make(model)
    settings = made.truth["setting"].tolist()
    assert {name: settings.count(name) for name in DECODERS} == {
        "human": 3, "top_k": 9, "beam": 3, "delayed": 9, "contrastive": 3,
    }  # fmt: skip
    assert made.documents[0].sections[1].text.strip() == made.documents[0].sections[2].text
    assert (
        made.truth["token_lengths"].sum()
        == len(made.truth["token_nats"])
        == len(made.truth["token_marks"])
    )
    texts = ["".join(d.sections[1].text.split()) for d in made.documents]
    ends = made.truth["token_lengths"].cumsum()
    widths = [
        int(made.truth["token_marks"][a:b].sum()) for a, b in zip([0, *ends], ends, strict=False)
    ]
    assert all(abs(len(text) - width) <= 3 for text, width in zip(texts, widths, strict=True))
    whole = {d.id: d for d in made.documents}
    alone = make(model, decoders={"delayed": DECODERS["delayed"]}).documents
    assert [whole[d.id] for d in alone] == alone


TEXT = "The town lies on a river. It has old houses. People work in fields. There are many hills near the town."


def unfinished(count):
    sections = (Section("abstract", TEXT), Section("history", "One. Two."))
    return [Document(f"d{i}", ("train", "test")[i % 2], sections) for i in range(count)]


def completed(model, prefixes, seed=1, **over):
    return completions.generate(model=model, name="c", seed=seed, prefixes=prefixes, **over)


@pytest.mark.parametrize("decoder", sorted(completions.DECODERS))
def test_both_sides_are_written_and_prompts_are_kept(model, decoder):
    corpus = completed(model, unfinished(1), sources={"machine": decoder})
    human, machine = corpus.documents
    assert (human.id, machine.id, machine.split) == ("d0-human", "d0-machine", "train")
    assert human.sections[0].text == TEXT
    assert machine.sections[0].text.startswith("The town lies on a river. It has old houses.")
    assert machine.sections[0].text != TEXT and machine.sections[0].text.endswith(".")
    assert machine.sections[1] == human.sections[1]
    assert corpus.facts["sections_completed"] == 1 and corpus.facts["sections_kept"] == 1


def test_paragraphs_of_prompts_and_of_what_is_written_survive(model):
    text = "The town lies.\n\nIt has old\nhouses. People work in fields. There are many hills near the town."
    (human, machine) = completed(
        model, [Document("d", "train", (Section("abstract", text),))], sources={"machine": "greedy"}
    ).documents
    assert human.sections[0].text == text
    assert machine.sections[0].text.startswith("The town lies.\n\nIt has old houses.")
    assert completions.opening(text, "rules", 2) == "The town lies.\nIt has old houses."
    assert completions.opening(text, "rules", 1) == "The town lies."
    assert completions.opening(text, "rules", 4) is None
    written = "One.\nTwo two.  Three.\n\nFour goes"
    assert completions.whole_sentences(written, "One.") == "One.\n\nTwo two. Three."
    assert completions.whole_sentences("One.\nTwo two", "One.") == "One.\n\nTwo two."
    assert completions.whole_sentences("One. Two.", "One.") == "One. Two."


def test_people_go_on_after_a_prefix_with_their_own_paragraphs(model):
    sections = (
        Section("Ulm", "Ulm is old.\n\nIt lies\nfar.  Rain fell."),
        Section("Past", "Then more."),
    )
    document = Document("d", "test", sections)
    rest = "\nIt lies far. Rain fell.\n\nThen more."
    assert continuations.prefix_of(document, "rules", "first_section") == (
        "Ulm",
        "Ulm is old.",
        rest,
    )
    made = make(model, {"kind": "human"}, prefixes=[document], new_tokens=45)
    assert made.documents[0].sections[1].text == rest


def test_a_document_does_not_depend_on_its_company(model):
    together = completed(model, unfinished(3), sources={"machine": "ancestral"})
    alone, other = (
        completed(model, unfinished(3)[2:], seed, sources={"machine": "ancestral"})
        for seed in (1, 2)
    )
    assert together.documents[-1] == alone.documents[-1] != other.documents[-1]
    corpus = completed(
        model, unfinished(6), sources={"machine": "greedy"}, documents={"test": 2, "train": 1}
    )
    assert [d.id for d in corpus.documents[::2]] == ["d1-human", "d3-human", "d0-human"]


def test_a_completed_corpus_is_completed_again_and_keeps_its_sides(model):
    first = completed(model, unfinished(2), sources={"one": "ancestral"})
    again = completed(model, first.documents, sources={"two": "greedy", "three": "top_k"})
    assert [d.id for d in again.documents[:4]] == ["d0-human", "d0-one", "d0-two", "d0-three"]
    assert again.documents[:2] == first.documents[:2]
    assert again.documents[4].sections == unfinished(2)[1].sections
    assert completed(model, unfinished(2), sources={"one": "ancestral"}, batch=1) == first
    for name in ("human", "GPT 2", ""):  # which cannot end an id
        refuses("fix the entry", completed, model, unfinished(1), sources={name: "greedy"})
    refuses("'beam'", completed, model, unfinished(1), sources={"machine": "beam"})


def test_a_killed_run_goes_on_with_the_batches_that_it_has_not_finished(
    model, tmp_path, monkeypatch
):
    given = {
        "model": model,
        "prefixes": unfinished(3),
        "sources": {"machine": "ancestral"},
        "batch": 2,
    }
    whole, rounds = completed(**given), []
    one_round = completions._round

    def dies(jobs, *rest):
        rounds.append(len(jobs))
        if len(rounds) == limit:
            raise KeyboardInterrupt
        one_round(jobs, *rest)

    monkeypatch.setattr(completions, "_round", dies)
    limit = 0
    assert completed(**given, scratch=tmp_path / "alone") == whole
    needed, limit = len(rounds), len(rounds)
    rounds.clear()
    with pytest.raises(KeyboardInterrupt):
        completed(**given, scratch=tmp_path)
    with (tmp_path / "sections-machine.jsonl").open("a") as file:
        file.write('{"article": "torn')
    rounds.clear()
    limit = 0
    assert completed(**given, scratch=tmp_path) == whole
    assert 0 < len(rounds) < needed
