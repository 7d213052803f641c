"""Texts whose truth is known: claims with labels (FEVER's format), read by a fact checker, and facts of whole synthetic articles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from longform.core.documents import BadInput, Document, Readout
from longform.critics.verifiability.checker import Checker, open_checker
from longform.critics.verifiability.read import Label, checked
from longform.critics.verifiability.score import (
    SENTENCE_COLUMNS,
    UNIT_COLUMNS,
    CheckedGeneration,
    CheckedText,
    checks_to_readout,
    generations_to_readout,
)
from longform.datasets.fever import claims_of
from longform.datasets.synthetic_world.corruption_corpus import SOUND
from longform.datasets.synthetic_world.fever_corpus import UNKNOWN, Verifier, read_claim
from longform.decoding.continuations import prefix_of
from longform.text.rendering import TokenText
from longform.text.sentences import SPLITTERS, sentence_texts


def read_claims(
    *, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str] = ("test",)
) -> Readout:
    """Verdicts on the claims of the named splits, each beside its label; see :func:`claim_readout`.

    Args:
        documents: pages and claims, see :mod:`longform.datasets.fever`; the checker uses its own pages.
        reader: folder of a trained checker.
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


def read_facts(*, documents: Sequence[Document], name: str, domain: str, title_from: str = "definition") -> Readout:
    """A verdict on every sentence of every document: supported, refuted, or not enough information."""
    pages = [document for document in documents if document.id.startswith(f"{SOUND}/")]
    verifier = verifier_of(pages, domain, "rules", title_from)
    if not verifier.stated:
        raise BadInput(f"infer {name}: {len(pages)} sound articles state no fact of domain {domain!r}; fix domain")
    units = []
    for document in documents:
        verdicts = [verifier.check(sentence) for sentence in sentence_texts(document.text)]
        labels = tuple("not_enough_info" if v.label == UNKNOWN else v.label for v in verdicts)
        evidence = tuple(frozenset() if v.label == UNKNOWN else v.evidence for v in verdicts)
        units.append(CheckedText(document.id, document.split, labels, evidence))
    return checks_to_readout(units)


def verifier_of(pages: Iterable[Document], domain: str, splitter: str, title_from: str) -> Verifier:
    """What the pages of a corpus state, read back from their texts; of pages with one title the first one counts."""
    stated: dict[tuple[str, str], tuple[str, tuple[str, int]]] = {}
    titles: set[str] = set()
    repeated = 0
    for page in pages:
        title = prefix_of(page, splitter, title_from)[0]
        repeated += title in titles
        if title in titles:
            continue
        titles.add(title)
        for line, sentence in enumerate(SPLITTERS[splitter](" ".join(page.text.split()))):
            for triple in read_claim(sentence, domain):
                if triple.title == title:
                    stated.setdefault((title, triple.relation), (triple.value, (title, line)))
    return Verifier(domain, stated, repeated)
