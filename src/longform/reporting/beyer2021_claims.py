"""What "Is Incoherence Surprising?" (beyer2021) claims about its tables, judged on this run; and what any run must show.

A claim of ``expected.yaml`` names suites by the beginning of their names; suites of one beginning are pooled. The six
replacements of one connective share their text and its surprisal, so an interval over them counts texts, not items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longform.documents import BadInput
from longform.evaluation.intervals import newcombe, wilson
from longform.reporting.layout import Cell, Table
from longform.reporting.ledger import judge_ordering

Records = Mapping[str, Mapping[str, Any]]
CHANCE = 0.5  # a model that cannot tell two conditions apart prefers either
CLAIMS: Mapping[str, Any] = {
    "above_chance": ["N_all", "N_context", "D_all", "D_context", "connective_", "story_cloze", "winograd_partial", "speaker_commitment"],
    "orderings": [
        {"claim": "narration: all sentences shuffled is easier than the context alone", "more": "N_all", "less": "N_context"},
        {"claim": "dialogue: all utterances shuffled is easier than the context alone", "more": "D_all", "less": "D_context"},
        {"claim": "shuffled context is easier in dialogue than in narration", "more": "D_context", "less": "N_context"},
        {"claim": "Winograd: the partial score is above the full one", "more": "winograd_partial", "less": "winograd_full"},
        {"claim": "as: temporal is easier than causal", "more": "connective_as_temporal", "less": "connective_as_causal"},
        {"claim": "since: temporal is easier than causal", "more": "connective_since_temporal", "less": "connective_since_causal"},
    ],
}  # fmt: skip
SUPPORTED, REFUTED, ABSENT = "ordering holds", "differs", "not runnable here"


@dataclass(frozen=True)
class Share:
    """Successes among the items of some suites, and the texts that the items are made of."""

    correct: float
    items: float
    texts: float

    @property
    def value(self) -> float:
        """The share of items."""
        return self.correct / self.items

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval with one trial a text."""
        return wilson(self.value * self.texts, self.texts)


def pooled(record: Mapping[str, Any], chosen: Callable[[str], bool]) -> Share | None:
    """All suites whose names are chosen; None where the run has none of them."""
    counts = {name: suite["counts"] for name, suite in record["details"].items() if chosen(name)}
    if not counts:
        return None
    sources = {name.rpartition("_as_")[0] or name: count["items"] for name, count in counts.items()}
    correct, items = (sum(count[key] for count in counts.values()) for key in ("correct", "items"))
    return Share(correct, items, sum(sources.values()))


def beginning(start: str) -> Callable[[str], bool]:
    """Whether a suite's name begins so."""
    return lambda name: name.startswith(start)


def claims(*, scores: Records, expected: Mapping[str, Any], floor: str = "untrained") -> Table:
    """A row for each claim, a column for each system; every number is a share or a difference of two.

    Args:
        floor: the system that has read nothing: held to chance where the others are to be above it.

    Raises:
        BadInput: the floor or every other system is missing.
    """
    systems = {name.split("-")[1]: record for name, record in scores.items()}
    if floor not in systems or len(systems) < 2:
        raise BadInput(f"claims: systems are {list(systems)}, {floor!r} and a trained one are needed; mend the row")
    trained = {system: record for system, record in systems.items() if system != floor}
    cells = [cell for start in CLAIMS["above_chance"] for cell in _against_chance(systems, start, floor)]
    cells += [cell for claim in CLAIMS["orderings"] for cell in _orderings(trained, claim)]
    growth = judge_ordering("all suites: share rises with size", list(trained.values()))
    return Table(
        "What the paper claims, and what a trained and an untrained model are to show; intervals of 95 %",
        cells,
        [
            *_summary(cells),
            f"{growth.claim} ({' < '.join(trained)}): {growth.verdict} ({growth.why})",
            "a claim of order holds only where the interval of the difference (Newcombe) is above 0",
            "connectives: intervals count texts, since six replacements share one",
        ],
    )


def _summary(cells: Sequence[Cell]) -> Iterator[str]:
    """One sentence a claim: how it came out in which systems."""
    for row in dict.fromkeys(cell.row for cell in cells):
        mine = [cell for cell in cells if cell.row == row]
        found = {name: [cell.column for cell in mine if cell.verdict == name] for name in (SUPPORTED, REFUTED, ABSENT)}
        yield f"{row}: " + "; ".join(f"{name} ({', '.join(columns)})" for name, columns in found.items() if columns)


def _against_chance(systems: Records, start: str, floor: str) -> Iterator[Cell]:
    """Trained systems are to be above chance, the floor is not."""
    row = f"{start.rstrip('_')}: above {CHANCE} if trained, not above it if not"
    for system, record in systems.items():
        share = pooled(record, beginning(start))
        if share is None:
            yield Cell(row, system, None, verdict=ABSENT, why="no such suite in this run")
            continue
        low, high = share.interval
        verdict = SUPPORTED if (low > CHANCE) != (system == floor) else REFUTED
        yield Cell(row, system, share.value, low, high, int(share.items), 0, verdict=verdict, signature="Wilson")


def _orderings(systems: Records, claim: Mapping[str, Any]) -> Iterator[Cell]:
    """The difference of two shares in every trained system, in the direction that the paper claims."""
    for system, record in systems.items():
        less, more = (pooled(record, beginning(claim[side])) for side in ("less", "more"))
        if less is None or more is None:
            yield Cell(claim["claim"], system, None, verdict=ABSENT, why="no such suite in this run")
            continue
        low, high = newcombe((more.value, more.texts), (less.value, less.texts))
        yield Cell(
            claim["claim"], system, more.value - less.value, low, high, int(less.items + more.items), 0,
            verdict=SUPPORTED if low > 0 else REFUTED, why=f"{more.value:.2f} against {less.value:.2f}", signature="Newcombe",
        )  # fmt: skip
