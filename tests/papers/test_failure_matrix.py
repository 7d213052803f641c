"""The matrix: responses are paired with sound text, verdicts follow the tests, and a figure is drawn from the same numbers."""

import pytest

from longform.critics.perplexity.score import LogProbs, Perplexity
from longform.datasets.synthetic_world.corruption_corpus import build
from longform.documents import BadInput
from longform.evaluation.rows import responses
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


def test_a_matrix_without_critics_is_refused():
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
