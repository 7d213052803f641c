"""The matrix: responses are paired with sound text, verdicts follow the tests, and a figure is drawn from the same numbers."""

import numpy as np
import pytest

from longform.critics.perplexity.score import LogProbs, Perplexity
from longform.datasets.synthetic_world.corruption_corpus import build
from longform.documents import BadInput
from longform.evaluation.corruption_response import parsed, responses
from longform.reporting.failure_matrix import failure_matrix
from longform.resampling import generator


def units(failure, dose, harm):
    made = []
    for i in range(30):
        values = generator("response", i).normal(-2, 0.3, 20)
        made.append(LogProbs(f"{failure}@{dose:g}/d{i}", "test", values - harm))
    return made


@pytest.fixture(scope="module")
def found():
    cases = [("sound", 0.0, 0.0), ("hurt", 0.2, 0.1), ("hurt", 1.0, 0.5), ("idle", 0.2, 0.0), ("idle", 1.0, 0.0)]
    return responses(Perplexity(), [unit for case in cases for unit in units(*case)], 1, "x")


def test_a_response_is_the_paired_difference_with_its_interval(found):
    by = {(one["failure"], one["dose"]): one for one in found}
    hurt = by["hurt", 1.0]
    assert hurt["difference"] == pytest.approx(by["sound", 0.0]["value"] * (np.exp(0.5) - 1))
    assert hurt["low"] < hurt["difference"] < hurt["high"] and hurt["p_value"] == 0.001
    assert by["hurt", 0.2]["p_value"] < 0.01
    assert by["idle", 1.0]["difference"] == 0 and by["idle", 1.0]["p_value"] == 1.0


def test_the_table_says_who_sees_what(tmp_path, found):
    record = {"responses": found, "signature": "Perplexity()"}
    own = {"hurt": ["PPL"], "idle": ["PPL"]}
    made = failure_matrix(scores={"row": record}, critics={"row": "PPL"}, own=own)
    assert {cell.column: cell.verdict for cell in made.table.cells} == {"hurt": "seen", "idle": "not seen"}
    assert [note.split(": ")[1].split(" (")[0] for note in made.table.notes[:2]] == ["ordering holds", "differs"]
    made.save(tmp_path, "failure_matrix")
    first = (tmp_path / "responses.pdf").read_bytes()
    made.save(tmp_path, "failure_matrix")
    assert (tmp_path / "responses.pdf").read_bytes() == first and (tmp_path / "failure_matrix.csv").is_file()


def test_bad_ids_and_unlike_documents_are_refused(found):
    with pytest.raises(BadInput, match="failure>@<dose"):
        parsed("no-dose")
    with pytest.raises(BadInput, match="nothing to compare with"):
        responses(Perplexity(), units("hurt", 0.2, 0), 1, "x")
    with pytest.raises(BadInput, match="same articles"):
        responses(Perplexity(), [*units("sound", 0, 0), *units("hurt", 0.2, 0)[:9]], 1, "x")
    with pytest.raises(BadInput, match="no critics"):
        failure_matrix(scores={}, critics={}, own={"hurt": ["nobody"]})


def test_every_failure_holds_the_same_articles_and_more_dose_is_more_damage():
    corpus = build(name="m", seed=3, domain="wiki", documents={"test": 3}, severities=[0.3, 1.0])
    cases: dict[str, dict[str, str]] = {}
    for document in corpus.documents:
        case, _, article = document.id.partition("/")
        cases.setdefault(case, {})[article] = document.text
    assert len(cases) == 1 + 11 * 2 and all(set(held) == set(cases["sound@0"]) for held in cases.values())
    edits = corpus.facts["edits"]
    assert edits["sound@0"] == 0
    assert all(edits[f"{f}@0.3"] <= edits[f"{f}@1"] > 0 for f in {c.partition("@")[0] for c in cases} - {"sound"})
    with pytest.raises(BadInput, match="above 0"):
        build(name="m", seed=3, domain="wiki", documents={"test": 1}, severities=[0.0])
