"""Texts in plain and published forms: stories, parallel sentences, and what people rated; what cannot be used is named."""

import csv
import gzip
import json

import numpy as np

from longform.datasets.text_files import gcdc, hanna, parallel, summeval
from tests.refusals import refuses


def test_what_cannot_be_used_is_named(tmp_path):
    refuses("no such file or folder", parallel, raw=tmp_path / "none", name="r", seed=1)
    refuses("no pair of en", parallel, raw=tmp_path, name="r", seed=1)
    (tmp_path / "a.jsonl").write_text("nonsense\n")
    refuses(r"a\.jsonl:1", parallel, raw=tmp_path, name="r", seed=1)
    (tmp_path / "a.jsonl").unlink()
    (tmp_path / "t.en").write_text("one\ntwo\n")
    (tmp_path / "t.de").write_text("eins\n")
    refuses("sentence i must stand on line i", parallel, raw=tmp_path, name="r", seed=1, targets=["de"])


COLUMNS = ("", "Prompt", "Human", "Story", "Model")


def table(path, rows, columns=COLUMNS):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def test_all_stories_of_a_prompt_are_in_one_split_and_paragraphs_are_sections(tmp_path):
    rows = [(i, f"Prompt, {i}", f"Human {i}.\n\n  It\nends.", f"Told by {model}.", model)
            for model in ("Llama-7b", "Big-70B") for i in range(10)]  # fmt: skip
    corpus = hanna(name="h", seed=1, raw=table(tmp_path / "h.csv", rows))
    assert corpus.facts["writers"] == ["big_70b", "llama_7b"] and corpus.facts["prompts"] == 10
    for first in range(0, 30, 3):
        human, *machines = corpus.documents[first : first + 3]
        assert [s.text for s in human.sections][1] == "It ends." and human.id.endswith("-human")
        assert [m.id.rpartition("-")[2] for m in machines] == ["big_70b", "llama_7b"]
        assert {m.split for m in machines} == {human.split}
    assert {d.split for d in corpus.documents} == {"train", "validation", "test"}


def test_a_prompt_that_lacks_a_story_is_counted_and_another_file_refused(tmp_path):
    rows = [(0, "a", "One.", "Two.", "m"), (1, "b", "One.", " ", "m")]
    facts = hanna(name="h", seed=1, raw=table(tmp_path / "h.csv", rows)).facts
    assert facts["dropped"] == {"prompt without a story of m": 1}
    refuses("0 of 1 prompts", hanna, name="h", seed=1, raw=table(tmp_path / "h.csv", rows[1:]))
    refuses(r"lacks \['Model'\]", hanna, name="h", seed=1, raw=table(tmp_path / "h.csv", [], COLUMNS[:-1]))
    refuses(r"h2\.csv", hanna, name="h", seed=1, raw=tmp_path / "h2.csv")


def test_json_lines_give_one_pair_per_target_language_in_one_split(tmp_path):
    rows = [{"id": f"s{i}", "en": f"house {i}", "de": f"Haus {i}", "fr": f"maison {i}", "es": ""} for i in range(40)]
    with gzip.open(tmp_path / "all.jsonl.gz", "wt") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    corpus = parallel(raw=tmp_path, name="r", seed=1)
    assert len(corpus.documents) == 80
    assert corpus.facts["pairs_without_a_side"] == 40
    assert [d.id for d in corpus.documents[:2]] == ["s0-de", "s0-fr"]
    assert corpus.documents[1].sections[1].text == "maison 0"
    assert corpus.truth["language"][:2].tolist() == [0, 2]
    splits = {}
    for document in corpus.documents:
        splits.setdefault(document.id.split("-")[0], set()).add(document.split)
    assert all(len(found) == 1 for found in splits.values())
    assert 24 <= sum(found == {"train"} for found in splits.values()) <= 39


def test_aligned_files_are_read_line_by_line(tmp_path):
    (tmp_path / "talks.en").write_text("one\ntwo\n")
    (tmp_path / "talks.de").write_text("eins\nzwei\n")
    corpus = parallel(raw=tmp_path, name="r", seed=1, targets=["de"])
    assert [d.sections[1].text for d in corpus.documents] == ["eins", "zwei"]
    assert corpus.documents[0].id == "talks-000000-de"


HEADER = "text_id,subject,text,ratingA1,labelA\n"


def test_gcdc_rows_become_documents_with_ratings_and_dropped_ones_are_counted(tmp_path):
    rows = ['1,s,"One. Two.\n\nThree.",3,3.0', "2,s,,2,2", "3,s,Four.,1,", "4,s,Five.,1,7", "5,s,Six.,1,1"]
    (tmp_path / "Yelp_train.csv").write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "Yelp_test.csv").write_text(HEADER + "9,s,Nine.,2,2\n", encoding="utf-8")
    corpus = gcdc(name="yelp", raw=tmp_path, validation=0.5)
    places = [(d.id, d.split) for d in corpus.documents]
    assert places == [("test-9", "test"), ("train-1", "validation"), ("train-5", "validation")]
    assert corpus.truth["rating"].tolist() == [2, 3, 1]
    assert [s.text for s in corpus.documents[1].sections] == ["One. Two.", "Three."]
    assert corpus.facts["dropped"] == {"no rating": 1, "no text": 1, "rating outside 1..3": 1}


def test_bad_files_are_named(tmp_path):
    refuses("0 CSV files", gcdc, name="x", raw=tmp_path)
    (tmp_path / "a.csv").write_text("text,labelA\nOne.,1\n", encoding="utf-8")
    refuses("lacks", gcdc, name="x", raw=tmp_path)
    refuses(r"no \*.jsonl", summeval, raw=tmp_path)
    annotated(tmp_path)
    refuses("no rating 'beauty'", summeval, raw=tmp_path, dimension="beauty")
    (tmp_path / "x.jsonl").write_text("{}\n")
    refuses(r"x\.jsonl:1", summeval, raw=tmp_path)
    (tmp_path / "x.jsonl").write_text("{\n")
    refuses("not JSON", summeval, raw=tmp_path)


def annotated(folder, **changes):
    for system in ("M1", "M2"):
        record = {
            "id": "article", "model_id": system, "decoded": f"A summary by {system}.", "references": ["One.", "Two."],
            "expert_annotations": [{"coherence": 1, "fluency": 5}, {"coherence": 4, "fluency": 5}],
        } | changes  # fmt: skip
        (folder / f"{system}.jsonl").write_text(json.dumps(record) + "\n")


def test_summeval_gives_summaries_with_marks_and_references_once(tmp_path):
    annotated(tmp_path)
    corpus = summeval(raw=tmp_path)
    assert [document.split for document in corpus.documents] == ["train", "train", "test", "test"]
    np.testing.assert_array_equal(corpus.truth["marks"][2:], [[1, 4], [1, 4]])
    assert np.isnan(corpus.truth["marks"][:2]).all()
    assert corpus.truth["system"].tolist() == ["reference", "reference", "M1", "M2"]
