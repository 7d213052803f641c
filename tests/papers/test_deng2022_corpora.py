"""Table 11: a corpus's own statistics, or those of its documents, beside the printed ones."""

import json

import pytest

from longform.documents import BadInput
from longform.reporting.deng2022_corpora import table_11

EXPECTED = {
    "table_11": {
        "wiki": {
            "train_k": 111.4, "val_k": 13.97, "test_k": 13.98, "section_types": 96,
            "med_sections": 4, "med_section_len": 122, "max_section_len": 1999,
        }
    }
}  # fmt: skip
OWN = {
    "train": 2, "validation": 1, "test": 1, "section_types": 3,
    "med_sections": 4, "med_section_len": 90.5, "max_section_len": 700,
}  # fmt: skip


def corpus(data, name, facts, documents=()):
    folder = data / "corpora" / name
    folder.mkdir(parents=True)
    (folder / "facts.json").write_text(json.dumps(facts))
    (folder / "documents.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))


def values(table, row):
    return {cell.column: (cell.value, cell.printed, cell.verdict) for cell in table.cells if cell.row == row}


def test_own_facts_stand_beside_the_printed_row(tmp_path):
    corpus(tmp_path, "mine", {"table_11": OWN, "token_unit": "tokens", "dropped": {"too few sections": 3}})
    table = table_11(scores={}, expected=EXPECTED, data=tmp_path, corpora={"mine": "wiki"})
    shown = values(table, "mine")
    assert shown["train"] == (2, pytest.approx(111_400), "differs")
    assert shown["median sections"] == (4, 4, "equal")
    assert shown["longest section"] == (700, 1999, "differs")
    assert table.notes == ["mine: lengths in tokens; dropped articles: too few sections 3"]


def test_a_corpus_without_statistics_is_counted_from_its_documents(tmp_path):
    sections = [{"title": "abstract", "text": "One two three."}, {"title": "history", "text": "One two"}]
    documents = [
        {"id": "a", "split": "train", "sections": sections},
        {"id": "b", "split": "validation", "sections": sections[:1]},
    ]
    corpus(tmp_path, "cities", {"corpus": "cities"}, documents)
    shown = values(table_11(scores={}, expected=EXPECTED, data=tmp_path, corpora={"cities": None}), "cities")
    assert shown["train"] == (1, None, "")
    assert shown["section types"][0] == 2
    assert shown["median section length"][0] == shown["longest section"][0] == 4


def test_an_empty_validation_split_has_no_section_statistics(tmp_path):
    own = OWN | {"validation": 0, "med_sections": None, "med_section_len": None, "max_section_len": None}
    corpus(tmp_path, "mine", {"table_11": own, "token_unit": "tokens"})
    table = table_11(scores={}, expected=EXPECTED, data=tmp_path, corpora={"mine": "wiki"})
    assert values(table, "mine")["longest section"] == (None, 1999, "not runnable here")
    table.save(tmp_path, "table_11")
    assert "mine" in (tmp_path / "table_11.md").read_text()


@pytest.mark.parametrize(("name", "counterpart"), [("absent", None), ("mine", "news")])
def test_an_absent_corpus_or_counterpart_is_bad_input(tmp_path, name, counterpart):
    corpus(tmp_path, "mine", {"table_11": OWN, "token_unit": "tokens"})
    with pytest.raises(BadInput):
        table_11(scores={}, expected=EXPECTED, data=tmp_path, corpora={name: counterpart})
