"""Training of the entailment network: apart from its use, so that a checker is opened without a trainer's imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from longform.critics.verifiability.fact_checker.entailment import (
    LABELS,
    SHAPES,
    DecomposableAttention,
    Pair,
    TrainedEntailment,
    Vocabulary,
    collate,
    encoded,
)
from longform.documents import BadInput
from longform.language_models.lightning import Items, Learner, Schedule, fit_module
from longform.resampling import derived_seed


class EntailmentLearner(Learner):
    """The network with its loss."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Mean cross-entropy in nats per pair."""
        logits = self.network(batch["claim"], batch["sentence"], batch["equal"])
        return nn.functional.cross_entropy(logits, batch["labels"])


Labelled = tuple[Pair, str]


def train(
    pairs: Mapping[str, Sequence[Labelled]],
    *,
    size: int,
    least: int,
    schedule: Mapping[str, Any],
    seed: int,
    name: str,
    scratch: Any,
) -> TrainedEntailment:
    """Train on ``pairs["train"]``, keeping the round with the best loss on ``pairs["validation"]``.

    Args:
        size: width of the network.
        least: words that occur less often in training have no state of their own.

    Raises:
        BadInput: a label without any training pair.
    """
    counts = Counter(label for _, label in pairs["train"])
    if missing := [label for label in LABELS if not counts[label]]:
        print(f"train {name}: no training pair is labelled {missing}; the checker will hardly ever say so", flush=True)
    if len(counts) < 2:
        raise BadInput(f"train {name}: training pairs have labels {dict(counts)}; at least two labels are needed")
    texts = [text for pair, _ in pairs["train"] for text in (pair.claim, pair.sentence)]
    vocabulary = Vocabulary.of(texts, least)
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
