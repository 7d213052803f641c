"""A fact checker tried on claims whose labels are known (FEVER's format): how far its verdicts can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longform.core.documents import BadInput, Document, Readout
from longform.critics.verifiability.checker import Checker, open_checker
from longform.critics.verifiability.read import Label, checked
from longform.critics.verifiability.score import (
    SENTENCE_COLUMNS,
    UNIT_COLUMNS,
    CheckedGeneration,
    generations_to_readout,
)
from longform.datasets.fever import claims_of
from longform.text.token_texts import TokenText


def read(*, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str] = ("test",)) -> Readout:
    """Verdicts on the claims of the named splits, each beside its label; see :func:`claim_readout`.

    Args:
        documents: pages and claims, see :mod:`longform.datasets.fever`; the checker uses its own pages.
        reader: folder of a trained checker.

    Raises:
        BadInput: no claim in those splits.
    """
    found = [(document.split, claim) for document, claim in claims_of(documents) if document.split in splits]
    if not found:
        raise BadInput(f"infer {name}: no claims in splits {list(splits)}; fix splits, or name a corpus of fever.py")
    rows = [(f"claim:{claim.id}", split, "claims", claim.text) for split, claim in found]
    return claim_readout(rows, open_checker(reader), [(claim.label, frozenset(claim.evidence)) for _, claim in found])


def claim_readout(claims: Sequence[tuple[str, str, str, str]], checker: Checker, true: Sequence[Label]) -> Readout:
    """Claims with known labels as units of one sentence each, (id, split, kind, text)."""
    verdicts = checker.check([text for _, _, _, text in claims])
    units = []
    for (unit, split, kind, text), verdict, label in zip(claims, verdicts, true, strict=True):
        found = float(label[1] <= frozenset(verdict.lines)) if label[1] else math.nan
        row = np.full((1, len(SENTENCE_COLUMNS)), math.nan)
        known = {"words": len(text.split()), "support": verdict.support, "refutation": verdict.refutation}
        for column, value in {**known, "conflict": verdict.conflict, "found": found}.items():
            row[0, SENTENCE_COLUMNS.index(column)] = value
        nothing = np.zeros(0, dtype=np.int64)
        checks, truth = checked(unit, split, [(verdict.label, verdict.evidence)]), checked(unit, split, [label])
        tokens = TokenText(unit, split, nothing, nothing)
        about = np.full(len(UNIT_COLUMNS), math.nan)
        units.append(CheckedGeneration(unit, split, kind, unit, checks, truth, tokens, row, about))
    return generations_to_readout(units)
