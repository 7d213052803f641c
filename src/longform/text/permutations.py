"""Permutations of a document's sentences: shuffle tasks that draw them, documents that come with them, and other seeded edits.

An order is a permutation of sentence indices, so any scorer that reads a document once can score all its orders. Tasks are those of
Barzilay and Lapata and of sheng2024 section 5.1. Sentences that read alike count as one: an order that repeats the text is none."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from longform.errors import BadInput
from longform.statistics.random_streams import generator

SHUFFLES = 20  # sheng2024 section 4.1; at most as many in Barzilay and Lapata (2008)
WINDOW = 3  # sentences of a local shuffle (sheng2024 section 4.2)
LONGEST_WITHOUT_LOCAL = (
    10  # sheng2024, released code: local shuffles only of documents with more sentences than this
)
ORIGINAL = "original"  # in the id of a written-out original, where its permutations have their task
Draw = Callable[[int, int, int, np.random.Generator], np.ndarray]


def block_orders(sentences: int, block: int, copies: int, rng: np.random.Generator) -> np.ndarray:
    """(copies, sentences) int64: blocks of consecutive sentences (the last may be shorter) in uniform order, the identity too."""
    if block < 1:
        raise BadInput(f"block is {block}; allowed are positive numbers of sentences")
    block_of = np.arange(sentences) // block
    keys = rng.random((copies, int(block_of[-1]) + 1 if sentences else 0))
    return np.argsort(keys[:, block_of], axis=1, kind="stable")


def local_orders(sentences: int, windows: int, copies: int, rng: np.random.Generator) -> np.ndarray:
    """``windows`` disjoint windows of three sentences, placed uniformly, each shuffled inside."""
    if windows < 1:
        raise BadInput(
            f"windows is {windows}; allowed are positive counts; the paper's are 1, 2, 3"
        )
    if sentences <= LONGEST_WITHOUT_LOCAL or sentences < WINDOW * windows:
        return np.zeros((0, sentences), dtype=np.int64)
    places = np.argsort(rng.random((copies, sentences - (WINDOW - 1) * windows)), axis=1)[
        :, :windows
    ]
    starts = np.sort(places, axis=1) + (WINDOW - 1) * np.arange(windows)
    inside = np.argsort(rng.random((copies, windows, WINDOW)), axis=2)
    orders = np.tile(np.arange(sentences), (copies, 1))
    targets = (starts[:, :, None] + np.arange(WINDOW)).reshape(copies, -1)
    np.put_along_axis(orders, targets, (starts[:, :, None] + inside).reshape(copies, -1), axis=1)
    return orders


TASKS: Mapping[str, Draw] = {"block": block_orders, "window": local_orders}


def distinct_orders(orders: np.ndarray, text_ids: np.ndarray) -> np.ndarray:
    """Orders whose text is neither the original's nor an earlier copy's (sheng2024 section 5.1: copies are removed)."""
    if not len(orders):
        return orders
    rng = np.random.Generator(np.random.PCG64(0))
    weights = rng.integers(0, 2**63, orders.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    codes = (np.asarray(text_ids).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashes = (codes[orders] * weights).sum(axis=1, dtype=np.uint64)
    original = (codes * weights).sum(dtype=np.uint64)
    first = np.sort(np.unique(hashes, return_index=True)[1])
    return orders[first[hashes[first] != original]]


def numbered(keys: Sequence[Any]) -> np.ndarray:
    """int64 (sentences,): numbers of hashable sentences in order of appearance, equal where the sentences are."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def shuffled_orders(
    task: str, size: int, keys: Sequence[Any], shuffles: int, rng: np.random.Generator
) -> np.ndarray:
    """Up to ``shuffles`` orders of a task whose texts differ from the original and from each other."""
    if task not in TASKS:
        raise BadInput(f"shuffle task {task!r}; allowed are {sorted(TASKS)}; fix the entry")
    return distinct_orders(TASKS[task](len(keys), size, shuffles, rng), numbered(keys))


@dataclass(frozen=True)
class ShuffleTask:
    """Permutations of a document's sentences that are drawn, the same ones for every scorer.

    A ``block`` of ``sizes`` sentences changes its place, or so many ``window``s of three are shuffled inside; the permutations of several
    sizes are put together. ``copies`` are drawn per document and size before repeats are dropped, in the name of ``draws``.
    """

    kind: str = "block"
    sizes: tuple[int, ...] = (1,)
    copies: int = SHUFFLES
    draws: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in TASKS or not self.sizes or min(self.sizes) < 1 or self.copies < 1:
            asked = (self.kind, self.sizes, self.copies)
            raise BadInput(
                f"shuffle task {asked}; allowed are {sorted(TASKS)}, sizes and a number of copies from 1"
            )

    @property
    def name(self) -> str:
        """``block_5``, ``window_1_2_3``."""
        return "_".join([self.kind, *map(str, self.sizes)])

    def orders(self, unit: Any) -> np.ndarray:
        """Orders of one unit, int64 (orders, sentences); ``unit.sentence_keys`` are equal where sentences read alike."""
        keys, draws = list(unit.sentence_keys), self.draws or ("shuffles", self.kind)
        rngs = {size: generator(*draws, size, unit.unit_id) for size in self.sizes}
        return np.concatenate(
            [shuffled_orders(self.kind, n, keys, self.copies, rng) for n, rng in rngs.items()]
        )


@dataclass(frozen=True)
class PermutedDocument:
    """What some reader read of a document, and of its permutations by task."""

    unit_id: str
    split: str
    original: Any
    permutations: Mapping[str, Sequence[Any]] = field(default_factory=dict)


Place = tuple[
    str, str
]  # the document, and the task that a text is a permutation of; empty for the original


def written(unit_id: str) -> Place:
    """Place of ``<document>/<task>_<size>/<copy>``; a text with another name is an original."""
    document, *rest = unit_id.rsplit("/", 2)
    return (document, "" if rest[0] == ORIGINAL else rest[0]) if len(rest) == 2 else (unit_id, "")


def permuted_documents(
    units: Sequence[Any], place: Callable[[str], Place] = written
) -> list[PermutedDocument]:
    """Originals with their permutations, grouped by what their ids say."""
    members: dict[str, dict[str, list[Any]]] = {}
    for unit in units:
        document, task = place(unit.unit_id)
        members.setdefault(document, {}).setdefault(task, []).append(unit)
    for document, tasks in members.items():
        if len(tasks.get("", [])) != 1:
            raise BadInput(
                f"document {document!r} has {len(tasks.get('', []))} originals; read it with one, and whole"
            )
    return [
        PermutedDocument(name, tasks[""][0].split, tasks.pop("")[0], tasks)
        for name, tasks in members.items()
    ]


Unit = TypeVar("Unit")
Edit = Mapping[str, Any]
TRIES = 1000  # an order of two or more different units is the identity with probability <= 1/2, so this never runs out


def shuffled(units: Sequence[Unit], rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """All units in another order (beyer2021 section 4.1, condition "all")."""
    order = another_order(units, rng)
    return [units[i] for i in order], {"kind": "shuffle", "order": order}


def context_shuffled(units: Sequence[Unit], rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """All units but the last in another order (beyer2021 section 4.1, condition "context")."""
    order = another_order(units[:-1], rng)
    return [*(units[i] for i in order), units[-1]], {
        "kind": "context_shuffle",
        "order": [*order, len(units) - 1],
    }


def another_order(units: Sequence[Unit], rng: np.random.Generator) -> list[int]:
    """The first drawn order under which the units read differently."""
    if (differ := len(set(units))) < 2:
        raise BadInput(
            f"shuffle: {len(units)} units of which {differ} differ; at least two must differ, drop the text"
        )
    for _ in range(TRIES):
        order = [int(i) for i in rng.permutation(len(units))]
        if [units[i] for i in order] != list(units):
            return order
    raise BadInput(
        f"shuffle: {TRIES} draws left the {len(units)} units as they were; drop the text"
    )


def restored(units: Sequence[Unit], edit: Edit) -> list[Unit]:
    """The units before an edit that changed their order."""
    return [
        unit for _, unit in sorted(zip(edit["order"], units, strict=True), key=lambda pair: pair[0])
    ]


def span_replaced(text: str, start: int, end: int, new: str, kind: str) -> tuple[str, Edit]:
    """Characters ``start`` to ``end`` replaced; the record undoes it."""
    if not 0 <= start < end <= len(text) or text[start:end] == new:
        place = f"span {start}..{end} with {new!r} in a text of {len(text)}"
        raise BadInput(f"{kind}: {place}; it must lie inside and change it")
    return text[:start] + new + text[end:], {
        "kind": kind,
        "start": start,
        "old": text[start:end],
        "new": new,
    }


def rementioned(
    text: str, start: int, end: int, antecedent: str, possessive: bool
) -> tuple[str, Edit]:
    """A pronoun replaced by the words of its antecedent (beyer2021 section 4.4)."""
    words = re.sub(r"^an?\b", "the", antecedent, flags=re.IGNORECASE)
    words += ("'" if words.endswith("s") else "'s") if possessive else ""
    if text[start:end][:1].isupper() and text[start:end] != "I":
        words = words[:1].upper() + words[1:]
    elif re.match(r"(?:the|an?)\b", antecedent, re.IGNORECASE):
        words = words[:1].lower() + words[1:]
    return span_replaced(text, start, end, words, "re_mention")


def connective_replaced(
    text: str, start: int, end: int, connective: str, match_case: bool = False
) -> tuple[str, Edit]:
    """A connective replaced by another one, in lower case (beyer2021 section 4.5) or in the case of the original's first letter."""
    capital = match_case and text[start : start + 1].isupper()
    return span_replaced(
        text, start, end, connective.capitalize() if capital else connective.lower(), "connective"
    )
