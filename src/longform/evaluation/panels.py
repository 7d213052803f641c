"""Several critics at one task in one row: a stage costs seconds before it starts, so a table's models share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from longform.critic import Better, Tally
from longform.documents import BadInput


@dataclass(frozen=True)
class Panel:
    """Critics of the same units side by side; the row's own number is the first one's, the others stand in the details.

    Attributes:
        members: critic by the name that tables know it by.
    """

    members: Mapping[str, Any]
    better: ClassVar[Better] = "higher"

    def __post_init__(self) -> None:
        if not self.members:
            raise BadInput("panel: got no critic, one at least is needed; name the row's models")

    @property
    def first(self) -> Any:
        """The critic whose number the row reports."""
        return next(iter(self.members.values()))

    def fit(self, real: Sequence[Any]) -> Panel:
        """Fit every member on the same units."""
        return replace(self, members={name: member.fit(real) for name, member in self.members.items()})

    def tally(self, units: Sequence[Any]) -> Tally:
        """The first member's."""
        return self.first.tally(units)

    def score(self, tally: Tally) -> float:
        """The first member's."""
        return self.first.score(tally)

    def describe(self, units: Sequence[Any]) -> dict[str, Any]:
        """By name of member: what it describes.

        What all members say alike (the texts' names, people's marks) stands once, under ``shared``.
        """
        told = {name: member.describe(units) for name, member in self.members.items()}
        rows = list(told.values())
        alike = {k for k, value in rows[0].items() if all(k in row and row[k] == value for row in rows[1:])}
        alike = alike if len(rows) > 1 else set()
        own = {name: {key: row[key] for key in row if key not in alike} for name, row in told.items()}
        return {"shared": {key: rows[0][key] for key in rows[0] if key in alike}, "models": own}


Settings = Mapping[str, Mapping[str, Any] | None]


def panel(models: Settings, make: Callable[..., Any]) -> Panel:
    """A panel of ``make(model, **settings)``, ``models`` naming each with its settings.

    A setting ``model`` stands for the critic where a table knows it by another name, as two sizes of one critic.
    """
    chosen = {name: dict(settings or {}) for name, settings in models.items()}
    return Panel({name: make(settings.pop("model", name), **settings) for name, settings in chosen.items()})
