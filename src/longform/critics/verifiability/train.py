"""Training of a fact checker on labelled claims: its pages are frozen beside an entailment model, trained or brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from longform.core.documents import BadInput, Document
from longform.core.resampling import derived_seed
from longform.critics.verifiability.checker import (
    SURE,
    PageRetrieval,
    Pages,
    Pair,
    SavedChecker,
    SentenceSelection,
    retrieval_and_selection,
)
from longform.critics.verifiability.entailment import (
    SHAPES,
    DecomposableAttention,
    TrainedEntailment,
    Vocabulary,
    brought_entailment,
    collate,
    encoded,
)
from longform.critics.verifiability.score import LABELS
from longform.datasets.fever import FeverClaim, claims_of, pages_of
from longform.language_models.lightning import Items, Learner, Schedule, fit_module

Labelled = tuple[Pair, str]
NEGATIVES = 2  # selected lines a claim that say nothing about it, as pairs of "not enough information"


def fit(
    *,
    documents: Sequence[Document],
    base: Path,
    name: str,
    seed: int,
    scratch: Path,
    entailment: str = "trained",
    size: int = 48,
    min_count: int = 3,
    schedule: Mapping[str, Any] | None = None,
    retrieval: Mapping[str, Any] | None = None,
    selection: Mapping[str, Any] | None = None,
    sure: float = SURE,
) -> SavedChecker:
    """Train on the claims of split train, or bring an entailment model, and freeze the pages beside it.

    Args:
        documents: pages and claims, see :mod:`longform.datasets.fever`.
        base: read only for ``entailment: brought``: the folder (or pointer) of a classifier or of MiniCheck.
        entailment: "trained" or "brought".
        size, min_count, schedule: of the trained network.
        retrieval, selection: settings of :class:`TitlesAndBm25` and :class:`Bm25Lines`.
        sure: see :mod:`longform.critics.verifiability.checker`.
    """
    pages = pages_of(documents)
    claims = [(document.split, claim) for document, claim in claims_of(documents)]
    if not pages or not claims or entailment not in ("trained", "brought"):
        got = f"{len(pages)} pages, {len(claims)} claims, entailment {entailment!r}"
        raise BadInput(f"train {name}: {got}; needed are pages, claims, and 'trained' or 'brought'; fix the entry")
    settings = {"retrieval": dict(retrieval or {}), "selection": dict(selection or {}), "sure": sure}
    if entailment == "brought":
        return SavedChecker(pages, settings, brought_entailment(base))
    if schedule is None:
        raise BadInput(f"train {name}: entailment 'trained' needs a schedule; add one, as other trainings have")
    parts = retrieval_and_selection(pages, settings)
    pairs = {
        split: [pair for at, claim in claims if at == split for pair in labelled_pairs(claim, pages, *parts)]
        for split in ("train", "validation")
    }
    made = train_entailment(
        pairs, size=size, min_count=min_count, schedule=schedule, seed=seed, name=name, scratch=scratch
    )
    return SavedChecker(pages, settings, made)


def labelled_pairs(
    claim: FeverClaim, pages: Pages, retrieval: PageRetrieval, selection: SentenceSelection, negatives: int = NEGATIVES
) -> Iterator[Labelled]:
    """The claim with its evidence, and with selected lines that are no evidence, which are not enough information."""
    found = [(page, line) for page, line in claim.evidence if line < len(pages.get(page, ()))]
    if found and claim.label != "not_enough_info":
        text = " ".join(pages[page][line] for page, line in found)
        yield Pair(claim.text, found[0][0], text), claim.label
    lines = [line for line in selection.lines_for(claim.text, retrieval.pages_for(claim.text)) if line not in found]
    wanted = negatives + (claim.label == "not_enough_info")
    for page, line in lines[:wanted]:
        yield Pair(claim.text, page, pages[page][line]), "not_enough_info"


class EntailmentLearner(Learner):
    """The network with its loss."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Mean cross-entropy in nats per pair."""
        logits = self.network(batch["claim"], batch["sentence"], batch["equal"])
        return nn.functional.cross_entropy(logits, batch["labels"])


def train_entailment(
    pairs: Mapping[str, Sequence[Labelled]],
    *,
    size: int,
    min_count: int,
    schedule: Mapping[str, Any],
    seed: int,
    name: str,
    scratch: Any,
) -> TrainedEntailment:
    """Train on ``pairs["train"]``, keeping the round with the best loss on ``pairs["validation"]``.

    Args:
        size: width of the network.
        min_count: words that occur less often in training have no state of their own.
    """
    counts = Counter(label for _, label in pairs["train"])
    if missing := [label for label in LABELS if not counts[label]]:
        print(f"train {name}: no training pair is labelled {missing}; the checker will hardly ever say so", flush=True)
    if len(counts) < 2:
        raise BadInput(f"train {name}: training pairs have labels {dict(counts)}; at least two labels are needed")
    texts = [text for pair, _ in pairs["train"] for text in (pair.claim, pair.sentence)]
    vocabulary = Vocabulary.of(texts, min_count)
    torch.manual_seed(derived_seed(seed, "initial weights"))
    network = DecomposableAttention(len(SHAPES) + len(vocabulary.words), size)
    items = {
        split: [(encoded(pair, vocabulary), LABELS.index(label)) for pair, label in rows]
        for split, rows in pairs.items()
    }
    items = {split: [item for item in rows if item[0][0] and item[0][1]] for split, rows in items.items()}
    plan = Schedule.from_settings(schedule)
    module = EntailmentLearner(network, plan, plan.updates(len(items["train"])))
    data = Items(items["train"], items["validation"], lambda rows: collate(rows))
    fit_module(module, data, plan, seed=seed, name=name, scratch=scratch)
    return TrainedEntailment(network, vocabulary)
