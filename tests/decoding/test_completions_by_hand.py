"""Which sections are completed, how far and in which company, with stand-ins for the network."""

import pytest

from longform.decoding import completions
from longform.decoding.completions import _Job, opening, whole_sentences
from longform.documents import Document, Section
from longform.files.artefacts import read_lines
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("text", "sentences", "prompt"),
    [
        ("One. Two. Three.", 2, "One. Two."),
        ("One. Two.", 2, None),
        ("One. Two. Three.", 3, None),
        ("One.\n\nTwo. Three.", 2, "One.\nTwo."),
        ("One. Two.\n\nThree.", 2, "One. Two."),
        ("One.\n\nTwo.\n\nThree.", 1, "One."),
        ("", 1, None),
    ],
)
def test_a_section_opens_with_its_first_sentences_if_there_are_more(text, sentences, prompt):
    assert opening(text, "full_stops", sentences) == prompt


@pytest.mark.parametrize(
    ("written", "prompt", "kept"),
    [
        ("One. Two. Thr", "One.", "One. Two."),
        ("One. Two.", "One.", "One. Two."),
        ("One. Tw", "One.", "One. Tw."),
        ("One two", "One", "One two."),
        ("One. Two. Three. f", "One.", "One. Two. Three."),
        ("One 1.5 more", "One", "One 1.5 more."),
        ("One.\nTwo. Th", "One.", "One.\n\nTwo."),
        ("One. x", "One. x", "One. x."),
    ],
)
def test_a_section_ends_with_its_last_full_stop_behind_the_prompt(written, prompt, kept):
    assert whole_sentences(written, prompt) == kept


def article(name, split="test", *sections):
    return Document(name, split, tuple(Section(None, text) for text in sections or ("One. Two.",)))


def test_articles_are_the_first_of_each_split_or_the_human_sides():
    plain = [article("a", "train"), article("b"), article("c"), article("d")]
    assert completions._articles(plain, None) == (plain, {})
    chosen, _ = completions._articles(plain, {"test": 2, "train": 5, "validation": 1})
    assert [one.id for one in chosen] == ["b", "c", "a"]
    sides = [article("a-human"), article("a-gpt2"), article("b-human"), article("a-top_k")]
    humans, others = completions._articles(sides, None)
    assert [one.id for one in humans] == ["a", "b"]
    assert {name: [one.id for one in own] for name, own in others.items()} == {
        "a": ["a-gpt2", "a-top_k"]
    }


@pytest.mark.parametrize(
    ("sources", "splitter", "sound"),
    [
        ({"gpt2_1": "top_k"}, "full_stops", True),
        ({}, "full_stops", False),
        ({"a": "top_k"}, "commas", False),
        ({"a": "beam"}, "full_stops", False),
        ({"human": "top_k"}, "full_stops", False),
        ({"A": "top_k"}, "full_stops", False),
        ({"a-b": "top_k"}, "full_stops", False),
        ({"A": "top_k", "b": "greedy"}, "full_stops", False),
    ],
)
def test_sources_need_a_name_and_a_decoder(sources, splitter, sound):
    if sound:
        completions._check_settings("x", sources, splitter)
    else:
        refuses("^generate x: sources", completions._check_settings, "x", sources, splitter)


def test_decoders_are_those_of_the_paper():
    made = {name: (one.top_k, one.top_p) for name, one in completions.DECODERS.items()}
    default = completions.Sampled()
    assert made["ancestral"] == (default.top_k, default.top_p)
    assert made["top_k"][0] == 40 and made["nucleus"][1] == 0.95 and made["greedy"][0] == 1


@pytest.fixture
def rounds(monkeypatch):
    """A network that writes a 7 for each token that it may; gives contexts and limits."""
    asked = []

    def sample(network, contexts, settings, limits, rngs, ends):
        asked.append(([list(context) for context in contexts], list(limits), rngs, ends))
        return [([7] * limit, None) for limit in limits]

    monkeypatch.setattr(completions, "sample", sample)
    monkeypatch.setattr(completions.capacity, "window_size", lambda network: 8)
    return asked


def job(ids, length, key=("a", 0), rng="rng"):
    return _Job(key, list(ids), length, "", rng)


def test_a_round_fills_the_window_behind_at_most_its_half(rounds):
    """Of a window of eight: three tokens stand whole, of four or more the last four."""
    jobs = [job([1, 2, 3], 5), job([1, 2, 3], 30), job([1, 2, 3, 4], 30), job([1, 2, 3, 4, 5], 30)]
    completions._round(jobs, "network", "settings", 0)
    ((contexts, limits, rngs, ends),) = rounds
    assert contexts == [[1, 2, 3], [1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
    assert (limits, rngs, ends) == ([2, 5, 4, 4], ["rng"] * 4, [0])
    assert [len(one.ids) for one in jobs] == [5, 8, 8, 9]
    assert jobs[0].ids == [1, 2, 3, 7, 7]


def test_sections_are_written_shortest_first_in_batches_to_their_end(rounds, tmp_path):
    """What is missing: 10, 2 and 0 tokens; two at a time."""
    jobs = [job([1], 11, ("a", 0)), job([1], 3, ("a", 1)), job([1, 1], 2, ("b", 0))]
    path = tmp_path / "sections"
    completions._complete(jobs, "network", "settings", 0, 2, path)
    assert [len(one.ids) for one in jobs] == [11, 3, 2]
    assert [limits for _, limits, *_ in rounds] == [[2], [7], [3]]
    lines = list(read_lines(path))
    assert [(line["article"], line["section"]) for line in lines] == [("b", 0), ("a", 1), ("a", 0)]
    assert lines[1]["ids"] == [1, 7, 7]
    rounds.clear()
    again = [job([1], 11, ("a", 0)), job([1], 3, ("a", 1)), job([1, 1], 2, ("b", 0))]
    completions._complete(again, "network", "settings", 0, 2, path)
    assert rounds == [] and again == jobs
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    again = [job([1], 11, ("a", 0)), job([1], 3, ("a", 1)), job([1, 1], 2, ("b", 0))]
    completions._complete(again, "network", "settings", 0, 2, path)
    assert [limits for _, limits, *_ in rounds] == [[2], [7], [3]]
    completions._complete([job([1], 3)], "network", "settings", 0, 2, None)


def test_progress_is_said_after_ten_seconds(rounds, monkeypatch, capsys):
    seconds = iter([0.0, 10.0, 10.5, 10.5, 20.5])
    monkeypatch.setattr(completions.time, "monotonic", lambda: next(seconds))
    completions._complete([job([1], 2) for _ in range(5)], "network", "settings", 0, 2, None)
    assert capsys.readouterr().out == "complete: 4/5 sections\n"


def test_every_side_of_an_article_is_kept_and_counted(monkeypatch, tmp_path, capsys):
    """A section of three sentences is completed behind its first two, one of two stays."""
    words, given = [], []

    class Tokenizer:
        def decode(self, ids, skip_special_tokens):
            assert skip_special_tokens
            return " ".join(words[i] for i in ids)

    def encode(text, tokenizer):
        for word in text.split():
            if word not in words:
                words.append(word)
        return [words.index(word) for word in text.split()]

    def complete(jobs, network, settings, end, batch, path):
        given.append(
            (network, settings, end, batch, path, [(j.key, j.length, j.prompt) for j in jobs])
        )
        for one in jobs:
            one.ids += encode("And more. Wro", None)

    monkeypatch.setattr(
        completions, "open_language_model", lambda model: (Tokenizer(), f"{model} opened")
    )
    monkeypatch.setattr(completions, "start_ids", lambda tokenizer: [0])
    monkeypatch.setattr(completions, "end_of_writing", lambda tokenizer, label: f"end of {label}")
    monkeypatch.setattr(completions, "encode", encode)
    monkeypatch.setattr(completions, "_complete", complete)
    streams = []
    monkeypatch.setattr(completions, "generator", lambda *names: streams.append(names))
    articles = [article("a", "test", "One. Two. Three four.", "One. Two."), article("b")]
    corpus = completions.generate(
        model="m", name="x", seed=5, prefixes=articles, sources={"k": "top_k", "g": "greedy"},
        documents={"test": 2}, batch=3, scratch=tmp_path,
    )  # fmt: skip
    assert [one.id for one in corpus.documents] == [
        "a-human",
        "a-k",
        "a-g",
        "b-human",
        "b-k",
        "b-g",
    ]
    assert [section.text for section in corpus.documents[1].sections] == [
        "One. Two. And more.",
        "One. Two.",
    ]
    assert (
        corpus.documents[0].sections == articles[0].sections and corpus.documents[5].split == "test"
    )
    facts = {"sections_completed": 2, "sections_kept": 4, "sources": {"k": "top_k", "g": "greedy"}}
    assert corpus.facts == {"corpus": "x", **facts}
    jobs = [(("a", 0), 5, "One. Two.")]
    assert given == [
        (
            "m opened",
            completions.DECODERS[kind],
            "end of generate x",
            3,
            tmp_path / f"sections-{name}.jsonl",
            jobs,
        )
        for name, kind in (("k", "top_k"), ("g", "greedy"))
    ]
    assert streams == [("completion", 5, "x", name, "a", 0) for name in ("k", "g")]
    assert capsys.readouterr().out == "generate x: 2 articles by k\ngenerate x: 2 articles by g\n"
    again = completions.generate(
        model="m",
        name="x",
        seed=5,
        prefixes=corpus.documents,
        sources={"n": "nucleus"},
        prompt_sentences=1,
    )
    assert [one.id for one in again.documents][:4] == ["a-human", "a-k", "a-g", "a-n"]
    assert again.facts["sections_completed"] == 3 and given[-1][3:5] == (128, None)
