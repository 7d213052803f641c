"""Permutations of a document's sentences, and other seeded edits.

Shuffle tasks draw permutations; some documents come with theirs. An order is a permutation of
sentence indices, so any scorer that reads a document once can score all its orders. Tasks are those
of Barzilay and Lapata and of sheng2024 section 5.1. Sentences that read alike count as one: an
order that repeats the text is none.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from longform.errors import BadInput, counted
from longform.statistics.random_streams import generator

SHUFFLES = 20  # sheng2024 section 4.1; at most as many in Barzilay and Lapata (2008)
WINDOW = 3  # sentences of a local shuffle (sheng2024 section 4.2)
# sheng2024, released code: local shuffles only of documents with more sentences than this.
LONGEST_WITHOUT_LOCAL = 10
# Stands in the id of a written-out original where its permutations have their task.
ORIGINAL = "original"
Draw = Callable[[int, int, int, np.random.Generator], np.ndarray]


def block_orders(sentences: int, block: int, copies: int, rng: np.random.Generator) -> np.ndarray:
    """Draw orders of blocks of consecutive sentences, uniformly; the identity may be among them.

    Args:
        sentences: how many the document has.
        block: sentences of a block; the last one may be shorter.
        copies: orders to draw.
        rng: draws them.

    Returns:
        int64 (copies, sentences), permutations of the sentences' indices.
    """
    if block < 1:
        raise BadInput(f"block is {block}; allowed are positive numbers of sentences")
    block_of = np.arange(sentences) // block
    num_blocks = int(block_of[-1]) + 1 if sentences else 0
    # Sentences are sorted by a random key of their block; a stable sort leaves each block together.
    keys = rng.random((copies, num_blocks))
    return np.argsort(keys[:, block_of], axis=1, kind="stable")


def local_orders(sentences: int, windows: int, copies: int, rng: np.random.Generator) -> np.ndarray:
    """Draw orders in which disjoint windows of three sentences, placed uniformly, are shuffled.

    Args:
        sentences: how many the document has.
        windows: how many are shuffled inside.
        copies: orders to draw.
        rng: draws them.

    Returns:
        int64 (copies, sentences), permutations of the sentences' indices; no row for a document
        that is too short.
    """
    if windows < 1:
        raise BadInput(
            f"windows is {windows}; allowed are positive counts; the paper's are 1, 2, 3"
        )
    if sentences <= LONGEST_WITHOUT_LOCAL or sentences < WINDOW * windows:
        return np.zeros((0, sentences), dtype=np.int64)
    # 1. Where windows begin. A window counts as one unit among the other sentences, so that windows
    # cannot overlap; each window before it then moves its start by the two sentences left out.
    num_units = sentences - (WINDOW - 1) * windows
    units = np.argsort(rng.random((copies, num_units)), axis=1)
    starts = np.sort(units[:, :windows], axis=1) + (WINDOW - 1) * np.arange(windows)
    # 2. The order inside each window.
    inside = np.argsort(rng.random((copies, windows, WINDOW)), axis=2)
    # 3. All other sentences stay.
    orders = np.tile(np.arange(sentences), (copies, 1))
    targets = (starts[:, :, None] + np.arange(WINDOW)).reshape(copies, -1)
    sources = (starts[:, :, None] + inside).reshape(copies, -1)
    np.put_along_axis(orders, targets, sources, axis=1)
    return orders


TASKS: Mapping[str, Draw] = {"block": block_orders, "window": local_orders}
_HASH_SEED = 0
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: spreads small numbers


def distinct_orders(orders: np.ndarray, text_ids: np.ndarray) -> np.ndarray:
    """Orders whose text is neither the original's nor an earlier copy's (sheng2024 section 5.1).

    Args:
        orders: int (copies, sentences).
        text_ids: int (sentences,), equal where sentences read alike.

    Returns:
        Some of the rows of ``orders``.
    """
    if not len(orders):
        return orders
    # 1. A random odd weight for each position, and a code for each text of a sentence.
    rng = np.random.Generator(np.random.PCG64(_HASH_SEED))
    random = rng.integers(0, 2**63, orders.shape[1], dtype=np.uint64)
    weights = random * np.uint64(2) + np.uint64(1)
    codes = (np.asarray(text_ids).astype(np.uint64) + np.uint64(1)) * _GOLDEN
    # 2. Orders that read alike have the same weighted sum, modulo 2^64.
    hashes = (codes[orders] * weights).sum(axis=1, dtype=np.uint64)
    original = (codes * weights).sum(dtype=np.uint64)
    # 3. The first order of each sum stays.
    _, first_rows = np.unique(hashes, return_index=True)
    first_rows = np.sort(first_rows)
    return orders[first_rows[hashes[first_rows] != original]]


def numbered(keys: Sequence[Any]) -> np.ndarray:
    """Number keys by their first appearance: ``["b", "a", "b"]`` gives [0, 1, 0].

    Args:
        keys: hashable, of each sentence.

    Returns:
        int64 (sentences,).
    """
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def shuffled_orders(
    task: str, size: int, keys: Sequence[Any], shuffles: int, rng: np.random.Generator
) -> np.ndarray:
    """Orders of a task whose texts differ from the original and from each other.

    Args:
        task: ``block`` or ``window``.
        size: sentences of a block, or windows.
        keys: of the sentences, equal where they read alike.
        shuffles: orders to draw.
        rng: what draws them.

    Returns:
        int64 (at most ``shuffles``, sentences).
    """
    if task not in TASKS:
        raise BadInput(f"shuffle task {task!r}; allowed are {sorted(TASKS)}; fix the entry")
    orders = TASKS[task](len(keys), size, shuffles, rng)
    return distinct_orders(orders, numbered(keys))


@dataclass(frozen=True)
class ShuffleTask:
    """A way to draw permutations of a document's sentences, the same ones for every scorer.

    Attributes:
        kind: ``block``, whose blocks change their places, or ``window``, which is shuffled inside.
        sizes: sentences of a block, or windows of three; the permutations of several sizes are put
            together.
        copies: orders that are drawn for each document and size, before repeats are dropped.
        draws: seed and names of the random stream that draws them.
    """

    kind: str = "block"
    sizes: tuple[int, ...] = (1,)
    copies: int = SHUFFLES
    draws: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in TASKS or not self.sizes or min(self.sizes) < 1 or self.copies < 1:
            settings = (self.kind, self.sizes, self.copies)
            raise BadInput(
                f"shuffle task {settings}; allowed are {sorted(TASKS)}, "
                "sizes and a number of copies from 1"
            )

    @property
    def name(self) -> str:
        """``block_5``, ``window_1_2_3``."""
        return "_".join([self.kind, *map(str, self.sizes)])

    def orders(self, unit: Any) -> np.ndarray:
        """Orders of one unit.

        Args:
            unit: whose ``sentence_keys`` are equal where sentences read alike.

        Returns:
            int64 (orders, sentences).
        """
        keys = list(unit.sentence_keys)
        draws = self.draws or ("shuffles", self.kind)
        orders = []
        for size in dict.fromkeys(self.sizes):
            rng = generator(*draws, size, unit.unit_id)
            orders.append(shuffled_orders(self.kind, size, keys, self.copies, rng))
        return np.concatenate(orders)


@dataclass(frozen=True)
class PermutedDocument:
    """A document and, by task, its permutations, each as a unit of some reader (a grid ...)."""

    unit_id: str
    split: str
    original: Any
    permutations: Mapping[str, Sequence[Any]] = field(default_factory=dict)


# (document, task): the document's id, and the task that a text is a permutation of; empty for the
# original.
Place = tuple[str, str]


def written(unit_id: str) -> Place:
    """Document and task of an id ``<document>/<task>_<size>/<copy>``.

    The task is empty for ``<document>/original/0``, and for an id of another form, which is the
    document's own.
    """
    document, *rest = unit_id.rsplit("/", 2)
    if len(rest) != 2:
        return unit_id, ""
    task = rest[0]
    return document, "" if task == ORIGINAL else task


def permuted_documents(
    units: Sequence[Any], place_of: Callable[[str], Place] = written
) -> list[PermutedDocument]:
    """Originals with their permutations, grouped by what their ids say.

    Args:
        units: originals and permutations, in any order.
        place_of: returns document and task of a unit's id.

    Raises:
        BadInput: a document has no original, or several.
    """
    # 1. The texts of each document, by task.
    tasks_of: dict[str, dict[str, list[Any]]] = {}
    for unit in units:
        document, task = place_of(unit.unit_id)
        tasks_of.setdefault(document, {}).setdefault(task, []).append(unit)
    # 2. One of them is the original.
    documents = []
    for document, tasks in tasks_of.items():
        originals = tasks.pop("", [])
        if len(originals) != 1:
            raise BadInput(
                f"document {document!r} has {len(originals)} originals; read it with one, and whole"
            )
        documents.append(PermutedDocument(document, originals[0].split, originals[0], tasks))
    return documents


Unit = TypeVar("Unit")
Edit = Mapping[str, Any]
# An order of two or more different units is the identity with probability 1/2 at most, so that this
# many draws never run out.
TRIES = 1000


def shuffled(units: Sequence[Unit], rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """All units in another order (beyer2021 section 4.1, condition "all").

    Returns:
        The units, and the edit with ``order``: the index of each in ``units``.
    """
    order = another_order(units, rng)
    return [units[i] for i in order], {"kind": "shuffle", "order": order}


def context_shuffled(units: Sequence[Unit], rng: np.random.Generator) -> tuple[list[Unit], Edit]:
    """As :func:`shuffled`, but the last unit stays (beyer2021 section 4.1, condition "context")."""
    order = [*another_order(units[:-1], rng), len(units) - 1]
    return [units[i] for i in order], {"kind": "context_shuffle", "order": order}


def another_order(units: Sequence[Unit], rng: np.random.Generator) -> list[int]:
    """Draw orders until the units read differently; returns the indices of the units.

    Raises:
        BadInput: no two units differ.
    """
    num_different = len(set(units))
    if num_different < 2:
        raise BadInput(
            f"shuffle: {counted(len(units), 'unit')} of which {num_different} differ; "
            "at least two must differ, drop the text"
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
    original = list(units)
    for position, unit in zip(edit["order"], units, strict=True):
        original[position] = unit
    return original


def span_replaced(text: str, start: int, end: int, new: str, kind: str) -> tuple[str, Edit]:
    """Replace characters ``start`` to ``end`` of a text by ``new``.

    Returns:
        The text, and the edit: its ``kind``, ``start``, and the ``old`` and ``new`` characters.

    Raises:
        BadInput: the span does not lie inside the text, or holds ``new`` already.
    """
    if not 0 <= start < end <= len(text) or text[start:end] == new:
        span = f"span {start}..{end} with {new!r} in a text of {len(text)}"
        raise BadInput(f"{kind}: {span}; it must lie inside and change it")
    edit = {"kind": kind, "start": start, "old": text[start:end], "new": new}
    return text[:start] + new + text[end:], edit


def rementioned(
    text: str, start: int, end: int, antecedent: str, possessive: bool
) -> tuple[str, Edit]:
    """Replace a pronoun by the words of its antecedent (beyer2021 section 4.4).

    Args:
        text: where the pronoun stands, from ``start`` to ``end``.
        start: of the pronoun.
        end: of the pronoun.
        antecedent: its words; "a dog" comes back as "the dog".
        possessive: whether the pronoun is one of possession, such as "his".
    """
    # 1. The antecedent's words with a definite article, and in the possessive if need be.
    words = re.sub(r"^an?\b", "the", antecedent, flags=re.IGNORECASE)
    if possessive:
        words += "'" if words.endswith("s") else "'s"
    # 2. In the pronoun's case; only an article loses its own capital.
    pronoun = text[start:end]
    if pronoun[:1].isupper() and pronoun != "I":
        words = words[:1].upper() + words[1:]
    elif re.match(r"(?:the|an?)\b", antecedent, re.IGNORECASE):
        words = words[:1].lower() + words[1:]
    return span_replaced(text, start, end, words, "re_mention")


def connective_replaced(
    text: str, start: int, end: int, connective: str, match_case: bool = False
) -> tuple[str, Edit]:
    """Replace a connective by another one (beyer2021 section 4.5).

    Args:
        text: where the connective stands, from ``start`` to ``end``.
        start: of the connective.
        end: of the connective.
        connective: what stands in its place, in lower case.
        match_case: whether it begins with a capital where the connective did.
    """
    capital = match_case and text[start : start + 1].isupper()
    new = connective.capitalize() if capital else connective.lower()
    return span_replaced(text, start, end, new, "connective")
