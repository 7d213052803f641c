"""HANNA's stories: prompts stay together, and what is incomplete is counted."""

import csv

import pytest

from longform.core.documents import BadInput
from longform.datasets.text_files import hanna as build

COLUMNS = ("", "Prompt", "Human", "Story", "Model")


def table(path, rows, columns=COLUMNS):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def test_all_stories_of_a_prompt_are_in_one_split_and_paragraphs_are_sections(tmp_path):
    rows = [
        (i, f"Prompt, {i % 10}", f"Human {i % 10}.\n\n  It\nends.", f"Told by {model}.", model)
        for model in ("Llama-7b", "Big-70B")
        for i in range(10)
    ]
    corpus = build(name="h", seed=1, raw=table(tmp_path / "h.csv", rows))
    assert corpus.facts["writers"] == ["big_70b", "llama_7b"] and corpus.facts["prompts"] == 10
    for first in range(0, 30, 3):
        human, *machines = corpus.documents[first : first + 3]
        assert [s.text for s in human.sections][1] == "It ends." and human.id.endswith("-human")
        assert [m.id.rpartition("-")[2] for m in machines] == ["big_70b", "llama_7b"]
        assert {m.split for m in machines} == {human.split}
    assert {d.split for d in corpus.documents} == {"train", "validation", "test"}


def test_a_prompt_that_lacks_a_story_is_counted_and_another_file_refused(tmp_path):
    rows = [(0, "a", "One.", "Two.", "m"), (1, "b", "One.", " ", "m")]
    assert build(name="h", seed=1, raw=table(tmp_path / "h.csv", rows)).facts["dropped"] == {
        "prompt without a story of m": 1
    }
    with pytest.raises(BadInput, match="0 of 1 prompts"):
        build(name="h", seed=1, raw=table(tmp_path / "h.csv", rows[1:]))
    with pytest.raises(BadInput, match=r"lacks \['Model'\]"):
        build(name="h", seed=1, raw=table(tmp_path / "h.csv", [], COLUMNS[:-1]))
    with pytest.raises(BadInput, match=r"h2\.csv"):
        build(name="h", seed=1, raw=tmp_path / "h2.csv")
