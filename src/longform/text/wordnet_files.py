"""The database files of the Princeton WordNet (``data.*``, ``index.sense``, ``*.exc``), wndb(5WN), as a lexicon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from longform.documents import BadInput
from longform.malformed import refusing
from longform.text.lexicon import CAUSE, HOLONYM, HORIZONTAL, HYPERNYM, HYPONYM, MERONYM, Lexicon, closed_links

FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
POINTERS = {
    "@": HYPERNYM, "@i": HYPERNYM, "~": HYPONYM, "~i": HYPONYM, "%m": MERONYM, "%s": MERONYM, "%p": MERONYM,
    "#m": HOLONYM, "#s": HOLONYM, "#p": HOLONYM, "!": HORIZONTAL, "&": HORIZONTAL, "^": HORIZONTAL, "=": HORIZONTAL,
    "\\": HORIZONTAL, "*": CAUSE, ">": CAUSE,
}  # fmt: skip  # wninput(5WN)


@refusing("the database files of a WordNet")
def read_wordnet(folder: Path) -> Lexicon:
    """Read the four data files; tag counts from ``index.sense`` and irregular nouns from ``noun.exc`` where present.

    Raises:
        BadInput: a data file is absent, or holds no synset.
    """
    rows = [row for name in FILES for row in _synsets(folder / f"data.{name}", FILES[name])]
    if not rows:
        raise BadInput(
            f"{folder}: got zero synsets, at least one is needed; give the folder with data.noun and its kin"
        )
    order = {row[0]: i for i, row in enumerate(rows)}
    links = [(order[key], kind, order[target]) for key, _, _, _, found in rows for kind, target in found]
    counts = _tag_counts(folder / "index.sense")
    senses = [
        (word, i, counts.get((word, key), (99, 0))) for i, (key, _, words, _, _) in enumerate(rows) for word in words
    ]
    senses.sort(key=lambda sense: (sense[0], sense[2][0], sense[1]))
    return Lexicon(
        tuple(f"{part}{offset}" for (part, offset), *_ in rows),
        tuple(kind for _, kind, *_ in rows),
        tuple(gloss for _, _, _, gloss, _ in rows),
        closed_links(links),
        tuple(word for word, _, _ in senses),
        np.array([synset for _, synset, _ in senses], dtype=np.int64),
        np.array([count for _, _, (_, count) in senses], dtype=np.int64),
        _exceptions(folder / "noun.exc"),
    )


def _synsets(path: Path, part: str) -> Iterator[tuple]:
    """((part, offset), kind, words, definition, [(link kind, target key)]) of each line of a data file."""
    if not path.is_file():
        raise BadInput(f"{path}: no such file; give the folder of a WordNet database (Debian: wordnet-base)")
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("  "):
                head, _, gloss = line.partition(" | ")
                yield _synset(head.split(" "), gloss, part)


def _synset(fields: list[str], gloss: str, part: str) -> tuple:
    count = int(fields[3], 16)
    words = [word.lower().partition("(")[0].replace("_", " ") for word in fields[4 : 4 + 2 * count : 2]]
    first = 5 + 2 * count
    pointers = [fields[first + 4 * i : first + 4 * i + 3] for i in range(int(fields[first - 1]))]
    links = [(POINTERS[sign], (kind, offset)) for sign, offset, kind in pointers if sign in POINTERS]
    definition = gloss.partition('; "')[0].strip()
    return (part, fields[0]), fields[2], words, definition, links


def _tag_counts(path: Path) -> dict[tuple[str, tuple[str, str]], tuple[int, int]]:
    """(word, synset key) -> (sense number, tagged occurrences)."""
    if not path.is_file():
        return {}
    table = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            key, offset, number, count = line.split()
            word, _, sense = key.partition("%")
            table[word.replace("_", " "), ("nvara"[int(sense[0]) - 1], offset)] = int(number), int(count)
    return table


def _exceptions(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {row[0].replace("_", " "): row[1].replace("_", " ") for row in rows if len(row) > 1}
