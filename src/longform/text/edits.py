"""Seeded edits that make a text less coherent: shuffles, block and window swaps, re-mentions, connectives.

Each function returns the edited units and a record of what was done, so that one unit carries one record and the edit
can be undone. An edit that leaves the text as it was is no edit: orders are drawn until the text differs, and where no
order can differ (fewer than two different units) :class:`longform.documents.BadInput` says so. Units are compared as text,
since swapping two equal sentences changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from longform.documents import BadInput

Unit = TypeVar("Unit")
Edit = Mapping[str, Any]
WINDOW = 3  # sentences of a local window: sheng2024 section 5.2, after Moon et al. (2019)
TRIES = 1000  # an order of two or more different units is the identity with probability <= 1/2, so this never runs out


def shuffled(units: Sequence[Unit], rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """All units in another order (beyer2021 section 4.1, condition "all")."""
    order = another_order(units, lambda: rng.permutation(len(units)))
    return [units[i] for i in order], {"kind": "shuffle", "order": order}


def context_shuffled(units: Sequence[Unit], rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """All units but the last in another order (beyer2021 section 4.1, condition "context")."""
    order = another_order(units[:-1], lambda: rng.permutation(len(units) - 1))
    return [*(units[i] for i in order), units[-1]], {"kind": "context_shuffle", "order": [*order, len(units) - 1]}


def blocks_shuffled(units: Sequence[Unit], size: int, rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """Consecutive blocks of ``size`` units (the last may be shorter) in another order (sheng2024 section 5.1)."""
    order = another_order(units, lambda: block_order(len(units), size, rng))
    return [units[i] for i in order], {"kind": "block_shuffle", "size": size, "order": order}


def windows_shuffled(units: Sequence[Unit], count: int, rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """``count`` disjoint windows of three units, each shuffled inside (sheng2024 section 5.2).

    Raises:
        BadInput: the windows do not fit.
    """
    order = another_order(units, lambda: window_order(len(units), count, rng))
    return [units[i] for i in order], {"kind": "window_shuffle", "windows": count, "order": order}


def swapped(units: Sequence[Unit], rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """Two units change places."""
    order = another_order(units, lambda: swap_order(len(units), rng))
    return [units[i] for i in order], {"kind": "swap", "order": order}


def distinct_shuffles(
    units: Sequence[Unit], draw: Callable[[], np.ndarray], count: int
) -> tuple[list[list[int]], Mapping[str, int]]:
    """``count`` drawn orders, without those that leave the text as it was or repeat an earlier one.

    Returns:
        The orders kept, and how many draws were dropped as identical or as repeated (sheng2024's data set protocol).
    """
    kept: list[list[int]] = []
    seen = {tuple(units)}
    dropped = {"identical": 0, "repeated": 0}
    for _ in range(count):
        order = [int(i) for i in draw()]
        text = tuple(units[i] for i in order)
        if text in seen:
            dropped["identical" if text == tuple(units) else "repeated"] += 1
            continue
        seen.add(text)
        kept.append(order)
    return kept, dropped


def another_order(units: Sequence[Unit], draw: Callable[[], np.ndarray]) -> list[int]:
    """The first drawn order under which the units read differently.

    Raises:
        BadInput: every order reads the same, or the draw never gives another one.
    """
    if len(set(units)) < 2:
        raise BadInput(
            f"shuffle: {len(units)} units of which {len(set(units))} differ; at least two must differ, drop the text"
        )
    for _ in range(TRIES):
        order = [int(i) for i in draw()]
        if [units[i] for i in order] != list(units):
            return order
    raise BadInput(
        f"shuffle: {TRIES} draws left the {len(units)} units as they were; use smaller blocks or drop the text"
    )


def block_order(length: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """A uniform order of blocks of ``size`` positions; the order inside a block is kept."""
    if size < 1 or size >= length:
        raise BadInput(
            f"blocks of {size} in a text of {length}; allowed are 1 to {length - 1}, else there is one block"
        )
    starts = rng.permutation(np.arange(0, length, size))
    return np.concatenate([np.arange(start, min(start + size, length)) for start in starts])


def window_order(length: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Positions with ``count`` disjoint windows of three shuffled, every placement equally likely.

    Placements of disjoint windows correspond one to one to choices of ``count`` from ``length - 2 * count`` places.
    """
    free = length - (WINDOW - 1) * count
    if count < 1 or free < count:
        raise BadInput(
            f"{count} windows of {WINDOW} in a text of {length}; allowed are 1 to {length // WINDOW} windows"
        )
    places = np.sort(rng.choice(free, count, replace=False)) + (WINDOW - 1) * np.arange(count)
    order = np.arange(length)
    for start in places:
        order[start : start + WINDOW] = start + rng.permutation(WINDOW)
    return order


def swap_order(length: int, rng: np.random.Generator) -> np.ndarray:
    """Positions with two of them exchanged."""
    order = np.arange(length)
    first, second = rng.choice(length, 2, replace=False)
    order[[first, second]] = order[[second, first]]
    return order


def restored(units: Sequence[Unit], edit: Edit) -> list[Unit]:
    """The units before an edit that changed their order."""
    original: list[Unit] = list(units)
    for place, source in enumerate(edit["order"]):
        original[source] = units[place]
    return original


def span_replaced(text: str, start: int, end: int, new: str, kind: str) -> tuple[str, Edit]:
    """Characters ``start`` to ``end`` replaced; the record undoes it.

    Raises:
        BadInput: the span lies outside the text, or nothing would change.
    """
    if not 0 <= start < end <= len(text) or text[start:end] == new:
        raise BadInput(
            f"{kind}: span {start}..{end} with {new!r} in a text of {len(text)}; it must lie inside and change it"
        )
    edit = {"kind": kind, "start": start, "old": text[start:end], "new": new}
    return text[:start] + new + text[end:], edit


def rementioned(text: str, start: int, end: int, antecedent: str, possessive: bool) -> tuple[str, Edit]:
    """A pronoun replaced by the words of its antecedent (beyer2021 section 4.4).

    An indefinite article becomes "the"; a possessive gets its ending; the case of the first letter is that of the place.
    """
    words = re.sub(r"^an?\b", "the", antecedent, flags=re.IGNORECASE)
    words += ("'" if words.endswith("s") else "'s") if possessive else ""
    return span_replaced(text, start, end, _case_of_place(words, text[start:end], antecedent), "re_mention")


def _case_of_place(words: str, pronoun: str, antecedent: str) -> str:
    if pronoun[:1].isupper() and pronoun != "I":
        return words[:1].upper() + words[1:]
    return words[:1].lower() + words[1:] if re.match(r"(?:the|an?)\b", antecedent, re.IGNORECASE) else words


def connective_replaced(text: str, start: int, end: int, connective: str) -> tuple[str, Edit]:
    """A connective replaced by another one in lower case (beyer2021 section 4.5)."""
    return span_replaced(text, start, end, connective.lower(), "connective")


def shuffle_sets(length: int, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
    """Named draws of sheng2024's shuffle sets that fit a text: blocks of 1, 2, 5, 10 and 1, 2, 3 windows."""
    for size in (1, 2, 5, 10):
        if size < length:
            yield f"b{size}", partial(block_order, length, size, rng)
    for count in (1, 2, 3):
        if count * WINDOW <= length:
            yield f"w{count}", partial(window_order, length, count, rng)
