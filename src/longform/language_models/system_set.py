"""Several causal language models of one corpus in one row: families or sizes, each with and without titles.

At the planted scale a network trains in seconds and a stage starts in as many, so the systems of one table share a
row; at the paper's size each has a row of its own (:mod:`longform.language_models.causal_lm`). A system is a folder
``<family>-<w_title|wo_title>`` below the row's, in the Hugging Face layout, and its weights are those that a row of its
own name would have given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.documents import BadInput, Document
from longform.language_models import causal_lm
from longform.language_models.checkpoints import SavedModel

SETTINGS = {"w_title": True, "wo_title": False}  # deng2022 section 4: W/ Title and W/O Title


@dataclass(frozen=True)
class SavedSystems:
    """Networks by the name of their system."""

    systems: Mapping[str, SavedModel]

    def save(self, folder: Path) -> None:
        """One checkpoint folder per system."""
        for system, model in self.systems.items():
            (folder / system).mkdir()
            model.save(folder / system)


def fit(
    *,
    documents: Sequence[Document],
    base: Path,
    name: str,
    seed: int,
    scratch: Path,
    families: Mapping[str, Mapping[str, Any]],
    packing: str,
    context: int,
    schedule: Mapping[str, Any],
) -> SavedSystems:
    """Train every family with and without titles, one after another; a finished one of a killed run is read back.

    Args:
        families: name of the family or size -> shape, as :func:`longform.language_models.causal_lm.fit` takes it.
        packing, context, schedule: the same for all.

    Raises:
        BadInput: no family, or what training raises.
    """
    if not families:
        raise BadInput(f"train {name}: families is empty; name at least one with its shape")
    saved = {}
    for family, shape in families.items():
        for setting, titles in SETTINGS.items():
            system = f"{family}-{setting}"
            place = scratch / system
            place.mkdir(parents=True, exist_ok=True)
            saved[system] = causal_lm.fit(
                documents=documents, base=base, name=f"{name}-{system}", seed=seed, scratch=place, titles=titles,
                packing=packing, context=context, schedule=schedule, shape=shape,
            )  # fmt: skip
    return SavedSystems(saved)


def systems_of(folder: Path, name: str) -> dict[str, bool]:
    """System -> whether its text holds titles, for the checkpoint folders below a row's.

    Raises:
        BadInput: there is none, or a folder is not named after a setting.
    """
    found = sorted(place.name for place in folder.iterdir() if place.is_dir()) if folder.is_dir() else []
    if not found:
        raise BadInput(f"{name}: {folder} holds no systems; train its row (code: system_set.py) first")
    strange = [system for system in found if system.rpartition("-")[2] not in SETTINGS]
    if strange:
        raise BadInput(f"{name}: system {strange[0]!r} of {folder} must end in one of {list(SETTINGS)}; rename it")
    return {system: SETTINGS[system.rpartition("-")[2]] for system in found}
