"""Word nets as plain arrays: synsets, their glosses, typed links and senses.

They come from WN-LMF, the XML of the Global WordNet Association (schemas 1.0 to 1.4), or the Princeton WordNet's files, wndb(5WN)."""

import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from longform.documents import grouped
from longform.errors import InputError
from longform.files.opening import text_lines, whole_number, xml_root

HYPERNYM, HYPONYM, MERONYM, HOLONYM, HORIZONTAL, CAUSE = range(6)
INVERSE = {
    HYPERNYM: HYPONYM,
    HYPONYM: HYPERNYM,
    MERONYM: HOLONYM,
    HOLONYM: MERONYM,
    HORIZONTAL: HORIZONTAL,
}
PARTS = ("", "location", "member", "part", "portion", "substance")
LMF_LINKS = {
    "hypernym": HYPERNYM, "instance_hypernym": HYPERNYM, "hyponym": HYPONYM, "instance_hyponym": HYPONYM,
    "antonym": HORIZONTAL, "similar": HORIZONTAL, "also": HORIZONTAL, "attribute": HORIZONTAL, "pertainym": HORIZONTAL,
    "meronym": MERONYM, "holonym": HOLONYM, "causes": CAUSE, "entails": CAUSE,
}  # fmt: skip
LMF_LINKS |= {f"mero_{part}": MERONYM for part in PARTS} | {
    f"holo_{part}": HOLONYM for part in PARTS
}
POINTERS = {
    "@": HYPERNYM, "@i": HYPERNYM, "~": HYPONYM, "~i": HYPONYM, "%m": MERONYM, "%s": MERONYM, "%p": MERONYM,
    "#m": HOLONYM, "#s": HOLONYM, "#p": HOLONYM, "!": HORIZONTAL, "&": HORIZONTAL, "^": HORIZONTAL, "=": HORIZONTAL,
    "\\": HORIZONTAL, "*": CAUSE, ">": CAUSE,
}  # fmt: skip  # wninput(5WN)
DATA_FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
NOUN_ENDINGS = (
    ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
)  # fmt: skip  # detachment rules for nouns, morphy(7WN)
_TABLES = (
    "synset",
    "part_of_speech",
    "gloss",
    "sense",
    "irregular",
    "regular",
    "links",
    "sense_synset",
    "sense_count",
)


@dataclass(frozen=True)
class Lexicon:
    """A word net; every table counts in the order of ``synsets``, the senses of a word stand in the order of the lexicon.

    Parts of speech are ``n``, ``v``, ``a``, ``r`` or ``s``, glosses definitions without examples. ``links`` are int64 (links, 3): source,
    kind (``HYPERNYM`` ...), target; closed under inverse, no repeats. Of each sense: the lower-case lemma, its synset, and how often it
    was tagged in text (0 where unknown). ``irregular``: inflected form -> lemma.
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
        senses = zip(self.sense_words, self.sense_synsets.tolist(), strict=True)
        nouns = grouped(
            (sense for sense in senses if self.parts_of_speech[sense[1]] == "n"),
            lambda sense: sense[0],
        )
        return {
            word: tuple(dict.fromkeys(synset for _, synset in own)) for word, own in nouns.items()
        }

    @cached_property
    def nouns_only(self) -> bool:
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
        for word, synset, count in zip(
            self.sense_words, self.sense_synsets.tolist(), self.sense_counts.tolist(), strict=True
        ):
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
        return tuple(
            dict.fromkeys(candidate for candidate in candidates if candidate in self.nouns)
        )

    def noun_senses(self, word: str) -> tuple[int, ...]:
        """Noun synsets of a word form, those of each entry in turn; empty for a word that the lexicon lacks."""
        return tuple(
            dict.fromkeys(
                synset for lemma in self.noun_lemmas(word) for synset in self.nouns[lemma]
            )
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays for an npz; every name ends in ``_names``, since no row belongs to a unit."""
        strings = (
            self.synsets,
            self.parts_of_speech,
            self.glosses,
            self.sense_words,
            [*self.irregular],
        )
        tables = [
            np.array(values, dtype=np.str_) for values in (*strings, [*self.irregular.values()])
        ]
        tables += [
            values.astype(np.int64)
            for values in (self.links, self.sense_synsets, self.sense_counts)
        ]
        return {
            f"lexicon_{name}_names": values for name, values in zip(_TABLES, tables, strict=True)
        }


def lexicon_from_arrays(arrays: Mapping[str, np.ndarray]) -> Lexicon:
    """Inverse of :meth:`Lexicon.to_arrays`."""
    if "lexicon_synset_names" not in arrays:
        raise InputError(
            "predictions holds no lexicon; run the entity_grids reader with a folder that has a WN-LMF file"
        )
    tables = [arrays[f"lexicon_{name}_names"] for name in _TABLES]
    synsets, parts, glosses, words, forms, lemmas = (tuple(table.tolist()) for table in tables[:6])
    links, senses, counts = tables[6:]
    irregular = dict(zip(forms, lemmas, strict=True))
    return Lexicon(synsets, parts, glosses, links.reshape(-1, 3), words, senses, counts, irregular)


def closed_links(links: list[tuple[int, int, int]]) -> np.ndarray:
    """Links with their inverses, sorted, each once; int64 (links, 3)."""
    both = links + [
        (target, INVERSE[kind], source) for source, kind, target in links if kind in INVERSE
    ]
    return np.array(sorted(set(both)), dtype=np.int64).reshape(-1, 3)


def read_lmf(path: Path) -> Lexicon:
    """Read every lexicon of one WN-LMF file; sense relations (antonyms, for the most part) are raised to synsets."""
    root = xml_root(path)
    order = {node.get("id", ""): i for i, node in enumerate(root.iter("Synset"))}
    if not order:
        raise InputError(
            f"{path}: got zero Synset elements, at least one is needed; is it WN-LMF ({root.tag})?"
        )

    def index(name: str) -> int:
        if name not in order:
            raise InputError(
                f"{path}: {name!r} is pointed to but is no Synset of this file; add it or drop the link"
            )
        return order[name]

    home = {sense.get("id", ""): sense.get("synset", "") for sense in root.iter("Sense")}
    links = []
    for node, own in (
        *((n, "id") for n in root.iter("Synset")),
        *((n, "synset") for n in root.iter("Sense")),
    ):
        for link in (*node.iter("SynsetRelation"), *node.iter("SenseRelation")):
            kind, target = LMF_LINKS.get(link.get("relType", "")), link.get("target", "")
            if kind is not None:
                links.append((index(node.get(own, "")), kind, index(home.get(target, target))))
    entries = []
    for entry in root.iter("LexicalEntry"):
        lemma = entry.find("Lemma")
        written = "" if lemma is None else lemma.get("writtenForm", "")
        entries.append((written.lower().replace("_", " "), entry))
    senses = [(lemma, sense) for lemma, entry in entries for sense in entry.iter("Sense")]
    return Lexicon(
        tuple(order),
        tuple(node.get("partOfSpeech", "n") for node in root.iter("Synset")),
        tuple(
            " ; ".join(d.text or "" for d in node.iter("Definition"))
            for node in root.iter("Synset")
        ),
        closed_links(links),
        tuple(lemma for lemma, _ in senses),
        np.array([index(sense.get("synset", "")) for _, sense in senses], dtype=np.int64),
        np.array([_tagged(sense, path) for _, sense in senses], dtype=np.int64),
        {
            form.get("writtenForm", "").lower(): lemma
            for lemma, entry in entries
            for form in entry.iter("Form")
        },
    )


def _tagged(sense: ElementTree.Element, path: Path) -> int:
    """How often a sense was tagged, over all its counts."""
    where = f"{path}: Count of sense {sense.get('id')!r}"
    return sum(whole_number(count.text or "0", where) for count in sense.iter("Count"))


def read_wordnet(folder: Path) -> Lexicon:
    """Read ``data.*``; tag counts from ``index.sense`` and irregular nouns from ``noun.exc`` where present."""
    rows = [
        row for name, part in DATA_FILES.items() for row in _synsets(folder / f"data.{name}", part)
    ]
    if not rows:
        raise InputError(f"{folder}: got zero synsets; give the folder with data.noun and its kin")
    order = {key: i for i, (key, *_) in enumerate(rows)}
    links = []
    for key, *_, pointers in rows:
        for kind, target in pointers:
            if target not in order:
                raise InputError(
                    f"{folder}: {key} points to {target}, which is no synset; fetch the folder again"
                )
            links.append((order[key], kind, order[target]))
    counts = _sense_counts(folder / "index.sense")
    senses = [
        (word, *counts.get((word, key), (99, 0)), i)
        for i, (key, _, words, *_) in enumerate(rows)
        for word in words
    ]
    senses.sort(key=lambda sense: (sense[0], sense[1], sense[3]))
    return Lexicon(
        tuple(f"{part}{offset}" for part, offset in order),
        tuple(kind for _, kind, *_ in rows),
        tuple(gloss for *_, gloss, _ in rows),
        closed_links(links),
        tuple(word for word, *_ in senses),
        np.array([synset for *_, synset in senses], dtype=np.int64),
        np.array([count for _, _, count, _ in senses], dtype=np.int64),
        {
            row[0].replace("_", " "): row[1].replace("_", " ")
            for _, row in _fields(folder / "noun.exc")
            if len(row) > 1
        },
    )


SynsetKey = tuple[str, str]  # part of speech and offset


def _sense_counts(path: Path) -> dict[tuple[str, SynsetKey], tuple[int, int]]:
    """(word, synset key) -> sense number and tagged occurrences."""
    counts = {}
    for number, fields in _fields(path):
        where = f"{path}:{number}"
        if len(fields) != 4:
            raise InputError(
                f"{where}: {len(fields)} fields, a sense has four; fetch the file again"
            )
        sense, offset, sense_number, count = fields
        word, _, rest = sense.partition("%")
        if rest[:1] not in set("12345"):
            raise InputError(
                f"{where}: {sense!r:.60} names no part of speech; fetch the file again"
            )
        key = "nvara"[int(rest[0]) - 1], offset
        counts[word.replace("_", " "), key] = (
            whole_number(sense_number, where),
            whole_number(count, where),
        )
    return counts


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every line; none where there is no file."""
    if path.is_file():
        for number, line in enumerate(text_lines(path), 1):
            yield number, line.split()


def _synsets(path: Path, part: str) -> Iterator[tuple]:
    """((part, offset), kind, words, definition, [(link kind, target key)]) of each line of a data file."""
    if not path.is_file():
        raise InputError(
            f"{path}: no such file; give the folder of a WordNet database (Debian: wordnet-base)"
        )
    for number, line in enumerate(text_lines(path), 1):
        if line.startswith("  ") or not line:
            continue  # the licence
        head, _, gloss = line.partition(" | ")
        fields = head.split(" ")
        where = f"{path}:{number}"
        word_count = _hexadecimal(fields[3] if len(fields) > 3 else "", where)
        first = 5 + 2 * word_count  # of the pointers, four fields each
        pointer_count = whole_number(fields[first - 1] if len(fields) >= first else "", where)
        if len(fields) < first + 4 * pointer_count:
            raise InputError(
                f"{where}: {len(fields)} fields, its counts say {first + 4 * pointer_count}; fetch it again"
            )
        words = [
            word.lower().partition("(")[0].replace("_", " ") for word in fields[4 : first - 1 : 2]
        ]
        pointers = [fields[first + 4 * i : first + 4 * i + 3] for i in range(pointer_count)]
        links = [
            (POINTERS[sign], (kind, offset)) for sign, offset, kind in pointers if sign in POINTERS
        ]
        yield (part, fields[0]), fields[2], words, gloss.partition('; "')[0].strip(), links


def _hexadecimal(text: str, where: str) -> int:
    if not re.fullmatch("[0-9a-fA-F]{1,2}", text):
        raise InputError(
            f"{where}: {text!r:.40} counts no words; a line of the database has two hexadecimal digits there"
        )
    return int(text, 16)


NOTHING = Lexicon(
    (), (), (), closed_links([]), (), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
)


@dataclass(frozen=True)
class Taxonomy:
    """A lexicon whose words are looked up and whose links are walked; both are remembered."""

    lexicon: Lexicon = field(default=NOTHING, repr=False)
    _targets: dict = field(default_factory=dict, repr=False, compare=False)
    _walks: dict = field(default_factory=dict, repr=False, compare=False)
    _senses: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    def senses(self, word: str) -> tuple[int, ...]:
        """Noun synsets of a word form; empty for a word that the lexicon lacks."""
        if word not in self._senses:
            self._senses[word] = self.lexicon.noun_senses(word)
        return self._senses[word]

    def walk(self, synset: int, *kinds: int, limit: int | None = None) -> dict[int, int]:
        """Synsets that links of these kinds lead to, with the least number of links; the synset itself at 0."""
        if kinds not in self._targets:
            self._targets[kinds] = self.lexicon.targets(*kinds)
        if (synset, kinds, limit) not in self._walks:
            targets, distance, frontier, step = self._targets[kinds], {synset: 0}, [synset], 0
            while frontier and step != limit:
                step += 1
                reached = dict.fromkeys(target for source in frontier for target in targets[source])
                frontier = [target for target in reached if target not in distance]
                distance |= dict.fromkeys(frontier, step)
            self._walks[synset, kinds, limit] = distance
        return self._walks[synset, kinds, limit]

    def information_content(self, counted: Mapping[str, float]) -> np.ndarray:
        r"""$-\log p(c)$ of every synset in nats; a word's count goes to each of its noun senses and up (Resnik 1995).

        Each synset counts once for each of its subsumers however many paths lead there. $p$ divides by the summed direct counts. Synsets of
        other parts of speech have content infinity.
        """
        nouns = np.array([part == "n" for part in self.lexicon.parts_of_speech])
        direct = nouns.astype(
            np.float64
        )  # one is added to every count, so that no content is infinite
        for word, count in counted.items():
            direct[list(self.senses(word))] += count
        below = np.zeros(len(direct))
        for synset in np.flatnonzero(nouns).tolist():
            below[list(self.walk(synset, HYPERNYM))] += direct[synset]
        with np.errstate(divide="ignore"):
            return -np.log(below / max(direct.sum(), 1e-300))

    def shared_content(self, content: np.ndarray, synsets: Sequence[int]) -> np.ndarray:
        """Content of the most informative common subsumer of every two synsets; 0 where they have none."""
        members = defaultdict(list)
        for place, synset in enumerate(synsets):
            for subsumer in self.walk(synset, HYPERNYM):
                members[subsumer].append(place)
        shared = np.zeros((len(synsets), len(synsets)))
        for subsumer in sorted(members, key=content.__getitem__):
            shared[np.ix_(members[subsumer], members[subsumer])] = content[subsumer]
        return shared

    @cached_property
    def links(self) -> dict[int, list[tuple[int, int]]]:
        """Kind and target of each link, by source."""
        by_source = grouped(self.lexicon.links.tolist(), lambda link: link[0])
        return {
            source: [(kind, target) for _, kind, target in links]
            for source, links in by_source.items()
        }
