"""Word nets as tables: synsets, their glosses, typed links and senses; read from WN-LMF, packed as plain arrays.

WN-LMF is the XML exchange format of the Global WordNet Association (schemas 1.0 to 1.4). Only the standard library
reads it here, so a lexicon is one file and needs no database; ``wn`` reads the same files.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from longform.documents import BadInput
from longform.malformed import refusing

HYPERNYM, HYPONYM, MERONYM, HOLONYM, HORIZONTAL, CAUSE = range(6)
INVERSE = {HYPERNYM: HYPONYM, HYPONYM: HYPERNYM, MERONYM: HOLONYM, HOLONYM: MERONYM, HORIZONTAL: HORIZONTAL}
PARTS = ("", "location", "member", "part", "portion", "substance")
LMF_LINKS = {
    "hypernym": HYPERNYM, "instance_hypernym": HYPERNYM, "hyponym": HYPONYM, "instance_hyponym": HYPONYM,
    "antonym": HORIZONTAL, "similar": HORIZONTAL, "also": HORIZONTAL, "attribute": HORIZONTAL, "pertainym": HORIZONTAL,
    "meronym": MERONYM, "holonym": HOLONYM, "causes": CAUSE, "entails": CAUSE,
}  # fmt: skip
LMF_LINKS |= {f"mero_{part}": MERONYM for part in PARTS} | {f"holo_{part}": HOLONYM for part in PARTS}
NOUN_ENDINGS = (
    ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
)  # fmt: skip  # detachment rules for nouns, morphy(7WN)


@dataclass(frozen=True)
class Lexicon:
    """A word net.

    Attributes:
        synsets: (synsets,) identifiers; every other table counts in this order.
        parts_of_speech: (synsets,) ``n``, ``v``, ``a``, ``r`` or ``s``.
        glosses: (synsets,) definitions, without examples.
        links: int64 (links, 3): source, kind (``HYPERNYM`` ...), target; closed under inverse, no repeats.
        sense_words, sense_synsets, sense_counts: (senses,) lower-case lemma, its synset, how often the sense was
            tagged in text (0 where unknown); the senses of a word stand in the order of the lexicon.
        irregular: inflected form -> lemma.
    """

    synsets: tuple[str, ...]
    parts_of_speech: tuple[str, ...]
    glosses: tuple[str, ...]
    links: np.ndarray
    sense_words: tuple[str, ...]
    sense_synsets: np.ndarray
    sense_counts: np.ndarray
    irregular: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def nouns(self) -> dict[str, tuple[int, ...]]:
        """Noun lemma -> its synsets, first sense first."""
        found: dict[str, list[int]] = {}
        for word, synset in zip(self.sense_words, self.sense_synsets.tolist(), strict=True):
            if self.parts_of_speech[synset] == "n" and synset not in found.setdefault(word, []):
                found[word].append(synset)
        return {word: tuple(synsets) for word, synsets in found.items() if synsets}

    @cached_property
    def nouns_only(self) -> bool:
        """Whether every synset is a noun."""
        return set(self.parts_of_speech) <= {"n"}

    @cached_property
    def words(self) -> list[list[str]]:
        """(synsets,) the words of each synset."""
        rows: list[list[str]] = [[] for _ in self.synsets]
        for word, synset in zip(self.sense_words, self.sense_synsets.tolist(), strict=True):
            rows[synset].append(word)
        return rows

    @cached_property
    def uses(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Lemma -> part of speech -> (tagged occurrences, senses)."""
        table: dict[str, dict[str, tuple[int, int]]] = {}
        rows = zip(self.sense_words, self.sense_synsets.tolist(), self.sense_counts.tolist(), strict=True)
        for word, synset, count in rows:
            parts = table.setdefault(word, {})
            tagged, senses = parts.get(self.parts_of_speech[synset], (0, 0))
            parts[self.parts_of_speech[synset]] = tagged + count, senses + 1
        return table

    def targets(self, *kinds: int) -> list[list[int]]:
        """(synsets,) targets of each synset's links of these kinds."""
        rows: list[list[int]] = [[] for _ in self.synsets]
        for source, kind, target in self.links.tolist():
            if kind in kinds:
                rows[source].append(target)
        return rows

    def noun_lemmas(self, word: str) -> tuple[str, ...]:
        """Noun entries that a word form may stand for: itself, an irregular form, or by the detachment rules."""
        form = word.lower().replace("_", " ")
        candidates = [form, self.irregular.get(form, form)]
        candidates += [form[: -len(end)] + stem for end, stem in NOUN_ENDINGS if form.endswith(end)]
        return tuple(dict.fromkeys(candidate for candidate in candidates if candidate in self.nouns))

    def noun_senses(self, word: str) -> tuple[int, ...]:
        """Noun synsets of a word form, those of each entry in turn; empty for a word that the lexicon lacks."""
        return tuple(dict.fromkeys(synset for lemma in self.noun_lemmas(word) for synset in self.nouns[lemma]))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays for an npz; every name ends in ``_names``, since no row belongs to a unit."""
        irregular = sorted(self.irregular.items())
        tables = {
            "synset": self.synsets, "part_of_speech": self.parts_of_speech, "gloss": self.glosses, "sense": self.sense_words,
            "irregular": [form for form, _ in irregular], "regular": [lemma for _, lemma in irregular],
        }  # fmt: skip
        arrays = {f"lexicon_{key}_names": np.array(value, dtype=np.str_) for key, value in tables.items()}
        numbers = {"links": self.links, "sense_synset": self.sense_synsets, "sense_count": self.sense_counts}
        return arrays | {f"lexicon_{key}_names": value.astype(np.int64) for key, value in numbers.items()}


def lexicon_from_arrays(arrays: Mapping[str, np.ndarray]) -> Lexicon:
    """Inverse of :meth:`Lexicon.to_arrays`.

    Raises:
        BadInput: the arrays hold no lexicon.
    """
    if "lexicon_synset_names" not in arrays:
        raise BadInput("readout holds no lexicon; run the entity_grids reader with a folder that has a WN-LMF file")
    strings = {key: tuple(arrays[f"lexicon_{key}_names"].tolist()) for key in _STRINGS}
    numbers = (arrays[f"lexicon_{key}_names"] for key in ("links", "sense_synset", "sense_count"))
    links, sense_synsets, sense_counts = numbers
    irregular = dict(zip(strings["irregular"], strings["regular"], strict=True))
    tables = (strings[key] for key in ("synset", "part_of_speech", "gloss"))
    return Lexicon(*tables, links.reshape(-1, 3), strings["sense"], sense_synsets, sense_counts, irregular)


_STRINGS = ("synset", "part_of_speech", "gloss", "sense", "irregular", "regular")


def closed_links(links: list[tuple[int, int, int]]) -> np.ndarray:
    """Links with their inverses, sorted, each once; int64 (links, 3)."""
    both = links + [(target, INVERSE[kind], source) for source, kind, target in links if kind in INVERSE]
    return np.array(sorted(set(both)), dtype=np.int64).reshape(-1, 3)


@refusing("a lexicon in WN-LMF")
def read_lmf(path: Path) -> Lexicon:
    """Read every lexicon of one WN-LMF file.

    Raises:
        BadInput: not XML, no synset, or a sense or link that points nowhere.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError) as error:
        raise BadInput(f"{path}: not a readable WN-LMF file ({error}); give a LexicalResource in XML") from error
    synsets = {node.get("id", ""): i for i, node in enumerate(root.iter("Synset"))}
    if not synsets:
        raise BadInput(f"{path}: got zero Synset elements, at least one is needed; is it WN-LMF ({root.tag})?")
    where = _Pointers(path, synsets)
    rows = [(lemma, sense) for entry in root.iter("LexicalEntry") for lemma, sense in _senses(entry)]
    links = [link for node in root.iter("Synset") for link in where.links(node, synsets[node.get("id", "")])]
    return Lexicon(
        tuple(synsets),
        tuple(node.get("partOfSpeech", "n") for node in root.iter("Synset")),
        tuple(" ; ".join(d.text or "" for d in node.iter("Definition")) for node in root.iter("Synset")),
        closed_links(links + where.sense_links(root)),
        tuple(lemma for lemma, _ in rows),
        np.array([where.index(sense.get("synset", "")) for _, sense in rows], dtype=np.int64),
        np.array([sum(int(c.text or 0) for c in sense.iter("Count")) for _, sense in rows], dtype=np.int64),
        {form.get("writtenForm", "").lower(): _lemma(e) for e in root.iter("LexicalEntry") for form in e.iter("Form")},
    )


def _lemma(entry: ElementTree.Element) -> str:
    lemma = entry.find("Lemma")
    return "" if lemma is None else lemma.get("writtenForm", "").lower().replace("_", " ")


def _senses(entry: ElementTree.Element) -> list[tuple[str, ElementTree.Element]]:
    return [(_lemma(entry), sense) for sense in entry.iter("Sense")]


@dataclass(frozen=True)
class _Pointers:
    """Identifiers of one file, and the links that name them; links of kinds without a direction are left out."""

    path: Path
    synsets: Mapping[str, int]

    def index(self, name: str) -> int:
        if name not in self.synsets:
            raise BadInput(
                f"{self.path}: {name!r} is pointed to but is no Synset of this file; add it or drop the link"
            )
        return self.synsets[name]

    def links(self, node: ElementTree.Element, source: int) -> list[tuple[int, int, int]]:
        pairs = [(link.get("relType", ""), link.get("target", "")) for link in node.iter("SynsetRelation")]
        return [(source, LMF_LINKS[kind], self.index(target)) for kind, target in pairs if kind in LMF_LINKS]

    def sense_links(self, root: ElementTree.Element) -> list[tuple[int, int, int]]:
        """Sense relations (antonyms, for the most part) raised to their synsets."""
        home = {sense.get("id", ""): sense.get("synset", "") for sense in root.iter("Sense")}
        found = []
        for sense in root.iter("Sense"):
            for link in sense.iter("SenseRelation"):
                kind, target = link.get("relType", ""), home.get(link.get("target", ""), link.get("target", ""))
                if kind in LMF_LINKS:
                    found.append((self.index(sense.get("synset", "")), LMF_LINKS[kind], self.index(target)))
        return found
