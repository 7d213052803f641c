"""A fact checker tried on claims whose labels are known (FEVER's format): how far its verdicts can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from longform.critics.verifiability.fact_checker import open_checker
from longform.critics.verifiability.read import claim_readout
from longform.datasets.fever import claims_of
from longform.documents import BadInput, Document, Readout


def read(*, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str] = ("test",)) -> Readout:
    """Verdicts on the claims of the named splits, each beside its label; see :func:`claim_readout`.

    Args:
        documents: pages and claims, see :mod:`longform.datasets.fever`; the checker uses its own pages.
        reader: folder of a ``fact_checker`` model.

    Raises:
        BadInput: no claim in those splits.
    """
    found = [(document.split, claim) for document, claim in claims_of(documents) if document.split in splits]
    if not found:
        raise BadInput(f"infer {name}: no claims in splits {list(splits)}; mend splits, or name a corpus of fever.py")
    rows = [(f"claim:{claim.id}", split, "claims", claim.text) for split, claim in found]
    return claim_readout(rows, open_checker(reader), [(claim.label, frozenset(claim.evidence)) for _, claim in found])
