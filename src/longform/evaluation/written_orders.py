"""The critics at telling documents from their written-out shuffles: one row per reader, every critic of its readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from longform import markov_chain as chains
from longform.critics.bbscore import joint as bridge_joint
from longform.critics.bbscore import score as bridge
from longform.critics.coreference import score as mention_chains
from longform.critics.topics import score as logistic_normal
from longform.documents import BadInput, Readout
from longform.evaluation.grid_tasks import scorer as grid_scorer
from longform.evaluation.order_pairs import Family, OrderPairs, families
from longform.evaluation.panels import Panel, Settings, panel
from longform.text.entity_grids import grids_from_readout
from longform.text.permutations import TIE

READINGS: Mapping[str, Callable[[Readout], Any]] = {
    "chain": chains.units_from_readout,
    "lambda": logistic_normal.units_from_readout,
    "latents": bridge.units_from_readout,
    "cells": grids_from_readout,
}  # the array that tells what was read
CRITICS: Mapping[str, Callable[..., Any]] = {
    "titles": chains.BigramCritic,
    "mentions": mention_chains.MentionCritic,
    "mentions_kneser_ney": mention_chains.KneserNeyCritic,
    "topics": logistic_normal.LogisticNormalCritic,
    "bridge": bridge.BridgeCritic,
    "joint_bridge": bridge_joint.JointBridgeCritic,
}


def units_from_readout(readout: Readout) -> list[Family]:
    """Originals with their shuffles, as whatever the readout holds.

    Raises:
        BadInput: it holds nothing that a critic reads.
    """
    for name, reading in READINGS.items():
        if name in readout.arrays:
            return families(reading(readout))
    raise BadInput(f"order pairs: the readout holds {sorted(readout.arrays)}, one of {sorted(READINGS)} is needed")


def accuracy(*, models: Settings, task: str = "block", size: int = 1, tolerance: float = TIE) -> Panel:
    """Pairwise accuracy of several critics; the details hold every task of the texts."""
    return panel(models, lambda model, **settings: OrderPairs(_critic(model, **settings), task, size, tolerance))


def _critic(model: str, **settings: Any) -> Any:
    return CRITICS[model](**settings) if model in CRITICS else grid_scorer(model, **settings)
