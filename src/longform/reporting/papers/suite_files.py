"""Suites handed on: as tasks of lm-evaluation-harness, as SyntaxGym files, and as a sheet for human judges (beyer2021, outlook).

``texts`` is the folder of the suites below ``data/``; no record is used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longform.core.documents import BadInput, Document
from longform.core.results import Results
from longform.datasets.test_suites.exports import harness_task, judgement_sheet, syntaxgym_file
from longform.datasets.test_suites.items import Suite, suites_from_documents
from longform.reporting.printed import Expected


@dataclass(frozen=True)
class Files:
    """Text files by relative path."""

    contents: Mapping[str, str]

    def save(self, folder: Path, stem: str) -> None:
        """Every file below ``folder``; ``stem`` names nothing, since the files bring their names."""
        for name, text in self.contents.items():
            (folder / name).write_text(text, encoding="utf-8")


def harness_tasks(results: Results, expected: Expected, *, data: Path, texts: str) -> Files:
    """A task of lm-evaluation-harness for each suite of a corpus, and a group of all of them."""
    suites = _suites(data / texts)
    contents = {name: text for suite in suites for name, text in harness_task(suite).items()}
    tasks = "".join(f"  - coherencegym_{suite.name}\n" for suite in suites)
    return Files(contents | {"_coherencegym.yaml": f"group: coherencegym\ntask:\n{tasks}"})


def syntaxgym_files(results: Results, expected: Expected, *, data: Path, texts: str) -> Files:
    """Each suite of a corpus in SyntaxGym's JSON."""
    return Files({name: text for suite in _suites(data / texts) for name, text in syntaxgym_file(suite).items()})


def human_sheet(
    results: Results, expected: Expected, *, data: Path, texts: str, suites: Sequence[str], per_suite: int, seed: int
) -> Files:
    """Pairs of texts for human judges from the named suites, sides by seed, the key in a file of its own.

    Raises:
        BadInput: the corpus lacks one of the suites.
    """
    known = {suite.name: suite for suite in _suites(data / texts)}
    missing = sorted(set(suites) - known.keys())
    if missing:
        raise BadInput(f"judgement sheet: no suites {missing} in {texts}; allowed are {sorted(known)}")
    return Files(judgement_sheet([known[name] for name in suites], per_suite, seed))


def _suites(folder: Path) -> list[Suite]:
    if not (folder / "documents.jsonl").is_file():
        raise BadInput(f"{folder}: no such corpus; name a folder below data/ that holds suites")
    lines = (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    documents = [Document.from_record(json.loads(line), str(folder)) for line in lines]
    with np.load(folder / "truth.npz", allow_pickle=False) as truth:
        return suites_from_documents(documents, {name: truth[name] for name in truth.files if name == "suite_heads"})
