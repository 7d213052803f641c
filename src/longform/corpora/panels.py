"""Several critics at one task in one row: a stage costs seconds before it starts, so a table's models share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from longform.numerics import generator
from longform.protocol import Better, Tally, estimate
from longform.units import BadInput


@dataclass(frozen=True)
class Panel:
    """Critics of the same units side by side; the row's own number is the first one's, the others stand in the details.

    Attributes:
        members: critic by the name that tables know it by.
        resamples: of the members' intervals; 0 leaves them to whoever reads the details.
    """

    members: Mapping[str, Any]
    resamples: int = 0
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
        """By name of member: what it describes, and its own number with its interval where the panel resamples."""
        return {"models": {name: self._described(name, member, units) for name, member in self.members.items()}}

    def _described(self, name: str, member: Any, units: Sequence[Any]) -> dict[str, Any]:
        details = {"details": member.describe(units)}
        if not self.resamples:
            return details
        found = estimate(member, member.tally(units), generator("panel", name), self.resamples)
        return {**asdict(found), **details}


Settings = Mapping[str, Mapping[str, Any] | None]


def panel(models: Settings, make: Callable[..., Any]) -> Panel:
    """A panel of ``make(model, **settings)``, ``models`` naming each with its settings.

    A setting ``model`` stands for the critic where a table knows it by another name, as two sizes of one critic.
    """
    chosen = {name: dict(settings or {}) for name, settings in models.items()}
    return Panel({name: make(settings.pop("model", name), **settings) for name, settings in chosen.items()})
