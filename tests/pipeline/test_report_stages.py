"""A stage of reports names what is not there before it reads a record."""

from pathlib import Path

from longform_lab.reports import report
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]


def test_an_unknown_subject_or_paper_is_named(monkeypatch):
    monkeypatch.chdir(ROOT)
    refuses("has no report 'sectons'.*sections", report, None, "deng2022", "sectons")
    refuses("asked for from the repository's root", report, None, "nobody1999", "sections")
