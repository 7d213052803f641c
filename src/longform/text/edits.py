"""Seeded edits that make a text less coherent: shuffles, re-mentions, connectives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from longform.core.documents import BadInput

Unit = TypeVar("Unit")
Edit = Mapping[str, Any]
TRIES = 1000  # an order of two or more different units is the identity with probability <= 1/2, so this never runs out


def shuffled(units: Sequence[Unit], rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """All units in another order (beyer2021 section 4.1, condition "all")."""
    order = another_order(units, lambda: rng.permutation(len(units)))
    return [units[i] for i in order], {"kind": "shuffle", "order": order}


def context_shuffled(units: Sequence[Unit], rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """All units but the last in another order (beyer2021 section 4.1, condition "context")."""
    order = another_order(units[:-1], lambda: rng.permutation(len(units) - 1))
    return [*(units[i] for i in order), units[-1]], {"kind": "context_shuffle", "order": [*order, len(units) - 1]}


def another_order(units: Sequence[Unit], draw: Callable[[], np.ndarray]) -> list[int]:
    """The first drawn order under which the units read differently."""
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


def restored(units: Sequence[Unit], edit: Edit) -> list[Unit]:
    """The units before an edit that changed their order."""
    original: list[Unit] = list(units)
    for place, source in enumerate(edit["order"]):
        original[source] = units[place]
    return original


def span_replaced(text: str, start: int, end: int, new: str, kind: str) -> tuple[str, Edit]:
    """Characters ``start`` to ``end`` replaced; the record undoes it."""
    if not 0 <= start < end <= len(text) or text[start:end] == new:
        raise BadInput(
            f"{kind}: span {start}..{end} with {new!r} in a text of {len(text)}; it must lie inside and change it"
        )
    edit = {"kind": kind, "start": start, "old": text[start:end], "new": new}
    return text[:start] + new + text[end:], edit


def rementioned(text: str, start: int, end: int, antecedent: str, possessive: bool) -> tuple[str, Edit]:
    """A pronoun replaced by the words of its antecedent (beyer2021 section 4.4)."""
    words = re.sub(r"^an?\b", "the", antecedent, flags=re.IGNORECASE)
    words += ("'" if words.endswith("s") else "'s") if possessive else ""
    return span_replaced(text, start, end, _case_of_place(words, text[start:end], antecedent), "re_mention")


def _case_of_place(words: str, pronoun: str, antecedent: str) -> str:
    if pronoun[:1].isupper() and pronoun != "I":
        return words[:1].upper() + words[1:]
    return words[:1].lower() + words[1:] if re.match(r"(?:the|an?)\b", antecedent, re.IGNORECASE) else words


def connective_replaced(text: str, start: int, end: int, connective: str, match_case: bool = False) -> tuple[str, Edit]:
    """A connective replaced by another one, in lower case (beyer2021 section 4.5) or in the case of the original's first letter."""
    capital = match_case and text[start : start + 1].isupper()
    return span_replaced(text, start, end, connective.capitalize() if capital else connective.lower(), "connective")
