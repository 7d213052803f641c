"""A piece of work that a killed stage takes up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.experiment import Experiment


@dataclass(frozen=True)
class Work:
    """What defines a result, and where its checkpoints are kept while it is unfinished.

    Attributes:
        experiment: whose seed and home folder count.
        name: words apart; folders below ``scratch/``.
        settings: of the function that does the work.
    """

    experiment: Experiment
    name: str
    settings: Mapping[str, Any]

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.experiment.seed

    @property
    def scratch(self) -> Path:
        """Outside DVC's outputs: survives a killed run."""
        return self.experiment.home / "scratch" / Path(*self.name.split())
