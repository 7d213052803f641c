"""The page that says what a run changed beside the last commit, over a small repository."""

import csv

import pytest
from repro_project import git

from experiments.differences import CLAIMS, PAGE, SCORES, main
from longform.files.artefacts import write_json
from longform_lab.reporting.verdicts import HEADER

RECORDS = [
    {"critic": "c", "metric": "m", "corpus": corpus, "value": 2.0, "low": 1.0, "high": 3.0, "details": {"counts": [1, 0.5]}}
    for corpus in ("wiki", "arxiv", "pubmed")
]  # fmt: skip


def moved(**changed):
    return [{**RECORDS[0], **changed}, *RECORDS[1:]]


def write(folder, records, verdict="holds", borderline=""):
    claims = folder / CLAIMS
    claims.parent.mkdir(parents=True, exist_ok=True)
    write_json(folder / "data/scores/articles/c.json", records)
    with claims.open("w", newline="") as file:
        lines = csv.writer(file)
        head = ["paper", "grows", "section 1", "It grows.", "", "", "difference", "", "", ""]
        row = ["paper", "grows", "", "", "wiki", "a < b", "", 1, 0, 2, "holds", "", ""]
        lines.writerows([HEADER, [*head, verdict, "", borderline], row])


@pytest.fixture
def run(tmp_path, capsys):
    """What is printed and what stands on the page, for results of a run after those of a commit."""
    write(tmp_path, RECORDS)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "a run")

    def told(*results):
        write(tmp_path, *results)
        assert main(tmp_path) == 0
        printed, page = capsys.readouterr().out, (tmp_path / PAGE).read_text()
        assert len(printed.splitlines()) <= 10
        assert all(
            f"- {line}" in page for line in printed.splitlines() if not line.startswith("all of it")
        )
        return printed

    return told


def test_rounding_is_no_difference_and_new_gone_and_changed_are_counted(run):
    said = run(moved(value=2.0 + 1e-10, details={"counts": [1, 0.5 - 1e-12]}))
    assert said.startswith(
        "the same as the committed run; records: 2 equal, 1 within 1e-9, 0 differing"
    )
    assert (
        "2 equal, 0 within 1e-9, 0 differing, 0 outside the committed interval, 1 new, 1 gone"
        in run(moved(seed=1))
    )
    said = run(RECORDS, "contradicted")
    assert "verdicts that differ: 1 of 1\npaper grows: holds -> contradicted" in said


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ({"critic": 1}, "not a list of records"),
        (["x"], "'x' is no record"),
        ([{**RECORDS[0], "critic": ["a"]}], "the critic of a record is ['a']"),
        ([{**RECORDS[0], "value": "much"}], "the value of a record is 'much', which is no number"),
    ],
)
def test_a_file_that_holds_no_results_is_named_and_ends_no_run(run, records, reason):
    printed = run(records)
    assert printed.startswith(f"cannot compare this run with the committed one: {SCORES}")
    assert reason in printed


def test_a_fault_of_the_comparison_keeps_its_traceback(run, monkeypatch):
    monkeypatch.setattr("experiments.differences.compared", lambda old, new: None + 1)
    with pytest.raises(TypeError):
        run(RECORDS)


@pytest.mark.parametrize(
    "value, outside, largest",
    [(2.5, 0, "0.2"), (4.0, 1, "0.5"), ("inf", 1, "inf"), (None, 0, "inf")],
)
def test_a_value_that_moved_is_counted_and_held_against_its_interval(run, value, outside, largest):
    said = run(moved(value=value))
    assert (
        f"2 equal, 0 within 1e-9, 1 differing, {outside} outside the committed interval, 0 new, 0 gone"
        in said
    )
    assert f"0 gone; largest relative difference: {largest}\nverdicts that differ: 0 of 1" in said


def test_a_verdict_that_hung_on_a_hair_is_said_to_have_done_so(run):
    said = run(RECORDS, "undecided", "holds at 90 %")
    assert (
        "verdicts that differ: 1 of 1; borderline: a 90 % or a 99 % interval says otherwise" in said
    )
    assert "paper grows: holds -> undecided (borderline)" in said
    assert "borderline" not in run(RECORDS, "contradicted")


def test_without_git_or_committed_results_nothing_is_compared(tmp_path, capsys):
    write(tmp_path, RECORDS)
    for command in (("--version",), ("init", "-q"), ("commit", "-qm", "a", "--allow-empty")):
        git(tmp_path, *command)
        assert main(tmp_path) == 0
        assert capsys.readouterr().out == "no committed results to compare this run with\n"
        assert "no committed results" in (tmp_path / PAGE).read_text()


def test_another_checkout_stands_in_for_the_commit(run, tmp_path_factory, capsys):
    other = tmp_path_factory.mktemp("other")
    write(other, moved(value=4.0))
    assert "1 differing, 1 outside the committed interval" in run(moved(value=4.0))
    assert main(other, other) == 0 and "3 equal" in capsys.readouterr().out
    assert main(tmp_path_factory.mktemp("none"), other) == 0 and "3 gone" in capsys.readouterr().out
