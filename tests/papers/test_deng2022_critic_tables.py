"""Tables 7 and 9: score records beside the planted exact value and the printed numbers."""

import json

import pytest

from longform.documents import BadInput
from longform.reporting.deng2022_coreference import table_7
from longform.reporting.deng2022_topics import table_9

EXPECTED = {
    "table_07": {"wiki_films": {"latent_ppl": {"data": 6.26, "lm1": {"w_title": 7.22}, "lm2": {"w_title": 6.93}}}},
    "table_09": {"latent_nll": {"wiki": {"data": 124.70, "lm1": 123.30, "lm2": 124.35}}},
}
SYSTEMS = ("data", "gpt2-w_title", "gpt2-wo_title")


def record(value, real=None, excluded=0):
    made = {
        "value": value,
        "low": value - 0.5,
        "high": value + 0.5,
        "units": 20,
        "excluded": excluded,
        "signature": "C()",
    }
    return made if real is None else made | {"real": real, "comparison": {"difference": value - real, "p_value": 0.01}}


def rows(kind, data, with_titles, without, excluded=0):
    values = (record(data), record(with_titles, data), record(without, data, excluded))
    return {f"world-{system}-{kind}": value for system, value in zip(SYSTEMS, values, strict=True)}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "corpora" / "world"
    folder.mkdir(parents=True)
    (folder / "facts.json").write_text(json.dumps({"mention_latent_ppl": 3.25, "topic_latent_nll": 18.5}))
    return tmp_path


def at(table):
    return {(cell.row, cell.column): cell for cell in table.cells}


def test_table_7_sets_the_exact_value_above_the_measured_ones(data):
    scores = {"world-data-mentions_gold": record(3.5)} | rows("mentions_read", 4.0, 6.0, 8.0)
    cells = at(table_7(scores=scores, expected=EXPECTED, data=data))
    exact = cells["world truth (exact)", "Latent PPL, gold chains"]
    assert (exact.value, exact.low, exact.high, exact.signature) == (3.25, 3.25, 3.25, "closed form")
    assert cells["world data", "Latent PPL, gold chains"].value == 3.5
    assert cells["world gpt2 wo_title", "Latent PPL"].value == 8.0
    assert cells["world gpt2 wo_title", "Latent PPL"].p_value == 0.01


def test_table_7_holds_no_planted_number_to_a_printed_one(data):
    scores = rows("mentions_read", 6.26, 7.22, 8.0) | rows("mentions", 5.0, 6.0, 7.0)
    table = table_7(scores=scores, expected=EXPECTED, data=data)
    printed = {key: (cell.printed, cell.verdict) for key, cell in at(table).items() if cell.printed is not None}
    assert printed == {
        ("world data", "Latent PPL"): (6.26, "not comparable"),
        ("world gpt2 w_title", "Latent PPL"): (7.22, "not comparable"),
    }
    assert all(cell.why for cell in table.cells if cell.verdict == "not comparable")


@pytest.mark.parametrize(("with_titles", "verdict"), [(6.0, "ordering holds"), (3.0, "differs")])
def test_table_7_judges_that_a_model_is_above_data(data, with_titles, verdict):
    table = table_7(scores=rows("mentions_read", 4.0, with_titles, 9.0), expected=EXPECTED, data=data)
    line = next(note for note in table.notes if "data < W/ Title (Table 7)" in note)
    assert verdict in line


def test_a_score_that_is_not_finite_is_not_judged(data):
    scores = rows("mentions_read", 4.0, 6.0, 9.0)
    scores["world-gpt2-w_title-mentions_read"] |= {"value": None, "high": None}
    scores["world-gpt2-w_title-mentions_read"]["comparison"]["difference"] = None
    notes = table_7(scores=scores, expected=EXPECTED, data=data).notes
    assert any("data < W/ Title (Table 7): not runnable here" in note for note in notes)
    assert any("score not finite" in note for note in notes)


def test_table_7_says_whether_articles_were_set_aside(data):
    whole = table_7(scores=rows("mentions_read", 4.0, 6.0, 9.0), expected=EXPECTED, data=data)
    films = table_7(scores=rows("mentions_read", 4.0, 6.0, 9.0, excluded=13), expected=EXPECTED, data=data)
    assert "persons of all articles" in whole.notes[-1]
    assert "13 articles" in films.notes[-1]


def test_table_9_prints_models_without_titles_beside_the_posterior_mean_alone(data):
    scores = rows("topics", 28.0, 26.0, 25.0) | rows("topics_expectation", 30.0, 31.0, 32.0)
    table = table_9(scores=scores, expected=EXPECTED, data=data)
    printed = {cell.row: (cell.printed, cell.verdict) for cell in table.cells if cell.printed is not None}
    assert printed == {"world data": (124.70, "not comparable"), "world gpt2 wo_title": (123.30, "not comparable")}
    assert next(cell.value for cell in table.cells if cell.row == "world truth (exact)") == 18.5


def test_table_9_judges_that_a_model_is_below_data_for_each_reading(data):
    scores = rows("topics", 28.0, 26.0, 25.0) | rows("topics_expectation", 30.0, 31.0, 32.0)
    notes = table_9(scores=scores, expected=EXPECTED, data=data).notes
    lines = [note for note in notes if "W/O Title < data (Table 9)" in note]
    assert ["ordering holds" in line for line in lines] == [True, False]


def test_a_row_of_another_kind_is_refused(data):
    with pytest.raises(BadInput, match="kind is 'word'"):
        table_9(scores={"world-data-word": record(2.0)}, expected=EXPECTED, data=data)
    with pytest.raises(BadInput, match="<corpus>-<system>-<kind>"):
        table_7(scores={"world-mentions": record(2.0)}, expected=EXPECTED, data=data)


def test_a_corpus_without_the_fact_has_no_exact_row(data):
    (data / "corpora" / "world" / "facts.json").write_text("{}")
    table = table_9(scores=rows("topics", 28.0, 26.0, 25.0), expected=EXPECTED, data=data)
    assert [cell.row for cell in table.cells] == ["world data", "world gpt2 w_title", "world gpt2 wo_title"]
