"""Word nets as plain arrays: synsets, their glosses, typed links and senses.

They come from WN-LMF, the XML of the Global WordNet Association (schemas 1.0 to 1.4), or the
Princeton WordNet's files, wndb(5WN).
"""

import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

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


def _by_name(names_by_kind: Mapping[int, str]) -> dict[str, int]:
    """Invert a table: name of a relation -> kind of link, from kind -> names parted by blanks."""
    kinds = {}
    for kind, names in names_by_kind.items():
        kinds.update(dict.fromkeys(names.split(), kind))
    return kinds


# Types of relations in WN-LMF.
LMF_LINKS = _by_name(
    {
        HYPERNYM: "hypernym instance_hypernym",
        HYPONYM: "hyponym instance_hyponym",
        MERONYM: "meronym mero_location mero_member mero_part mero_portion mero_substance",
        HOLONYM: "holonym holo_location holo_member holo_part holo_portion holo_substance",
        HORIZONTAL: "antonym similar also attribute pertainym",
        CAUSE: "causes entails",
    }
)
# Signs of pointers in WordNet's files, wninput(5WN).
POINTERS = _by_name(
    {
        HYPERNYM: "@ @i",
        HYPONYM: "~ ~i",
        MERONYM: "%m %s %p",
        HOLONYM: "#m #s #p",
        HORIZONTAL: "! & ^ = \\",
        CAUSE: "* >",
    }
)
DATA_FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
# An inflected noun's ending, and what stands in its place in the lemma: morphy(7WN).
NOUN_ENDINGS = {
    "s": "",
    "ses": "s",
    "ves": "f",
    "xes": "x",
    "zes": "z",
    "ches": "ch",
    "shes": "sh",
    "men": "man",
    "ies": "y",
}


@dataclass(frozen=True)
class Lexicon:
    """A word net; every table counts in the order of ``synsets``.

    Attributes:
        synsets: a name of each.
        parts_of_speech: of each synset, ``n``, ``v``, ``a``, ``r`` or ``s``.
        glosses: of each synset, its definition without examples.
        links: int64 (links, 3): source, kind (``HYPERNYM`` ...), target; closed under inverse,
            no repeats.
        sense_words: the lower-case lemma of each sense; those of a word stand in the order of the
            lexicon.
        sense_synsets: int64 (senses,), the synset of each.
        sense_counts: int64 (senses,), how often each was tagged in text; 0 where that is unknown.
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
        # A word may have one synset twice; keys of a dictionary keep the first place.
        synsets_of: dict[str, dict[int, None]] = {}
        for word, synset in zip(self.sense_words, self.sense_synsets.tolist(), strict=True):
            if self.parts_of_speech[synset] == "n":
                synsets_of.setdefault(word, {})[synset] = None
        return {word: tuple(synsets) for word, synsets in synsets_of.items()}

    @cached_property
    def nouns_only(self) -> bool:
        """Whether the word net has no other part of speech."""
        return set(self.parts_of_speech) <= {"n"}

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of each synset, in the order of ``synsets``."""
        rows: list[list[str]] = [[] for _ in self.synsets]
        for word, synset in zip(self.sense_words, self.sense_synsets.tolist(), strict=True):
            rows[synset].append(word)
        return rows

    @cached_property
    def uses(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Lemma -> part of speech -> (tagged occurrences, senses)."""
        table: dict[str, dict[str, tuple[int, int]]] = {}
        synsets, counts = self.sense_synsets.tolist(), self.sense_counts.tolist()
        for word, synset, count in zip(self.sense_words, synsets, counts, strict=True):
            part = self.parts_of_speech[synset]
            parts = table.setdefault(word, {})
            tagged, senses = parts.get(part, (0, 0))
            parts[part] = (tagged + count, senses + 1)
        return table

    def targets(self, *kinds: int) -> list[list[int]]:
        """For each synset, in their order, the synsets that its links of some kinds lead to."""
        rows: list[list[int]] = [[] for _ in self.synsets]
        for source, kind, target in self.links.tolist():
            if kind in kinds:
                rows[source].append(target)
        return rows

    def noun_lemmas(self, word: str) -> tuple[str, ...]:
        """Noun lemmas of the lexicon that a word form may belong to.

        They are the form itself, the lemma of an irregular form, and the form with its ending
        replaced by ``NOUN_ENDINGS``.
        """
        form = _plain(word.lower())
        candidates = [form, self.irregular.get(form, form)]
        for ending, replacement in NOUN_ENDINGS.items():
            if form.endswith(ending):
                candidates.append(form[: -len(ending)] + replacement)
        return tuple(lemma for lemma in dict.fromkeys(candidates) if lemma in self.nouns)

    def noun_senses(self, word: str) -> tuple[int, ...]:
        """Noun synsets of a word form, those of each entry in turn; empty for an unknown word."""
        synsets: dict[int, None] = {}
        for lemma in self.noun_lemmas(word):
            synsets.update(dict.fromkeys(self.nouns[lemma]))
        return tuple(synsets)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays for an npz; names end in ``_names``, since no row belongs to a unit."""
        strings = {
            "synset": self.synsets,
            "part_of_speech": self.parts_of_speech,
            "gloss": self.glosses,
            "sense": self.sense_words,
            "irregular": list(self.irregular),
            "regular": list(self.irregular.values()),
        }
        numbers = {
            "links": self.links,
            "sense_synset": self.sense_synsets,
            "sense_count": self.sense_counts,
        }
        arrays = {}
        for name, values in strings.items():
            arrays[_array_name(name)] = np.array(values, dtype=np.str_)
        for name, table in numbers.items():
            arrays[_array_name(name)] = table.astype(np.int64)
        return arrays


def _array_name(table: str) -> str:
    """The name of a table of a lexicon among arrays of predictions."""
    return f"lexicon_{table}_names"


def lexicon_from_arrays(arrays: Mapping[str, np.ndarray]) -> Lexicon:
    """Inverse of :meth:`Lexicon.to_arrays`.

    Raises:
        InputError: the arrays hold no lexicon.
    """
    if _array_name("synset") not in arrays:
        raise InputError(
            "predictions holds no lexicon; "
            "run the entity_grids reader with a folder that has a WN-LMF file"
        )

    def strings(table: str) -> tuple[str, ...]:
        return tuple(arrays[_array_name(table)].tolist())

    return Lexicon(
        strings("synset"),
        strings("part_of_speech"),
        strings("gloss"),
        arrays[_array_name("links")].reshape(-1, 3),
        strings("sense"),
        arrays[_array_name("sense_synset")],
        arrays[_array_name("sense_count")],
        dict(zip(strings("irregular"), strings("regular"), strict=True)),
    )


def closed_links(links: Iterable[tuple[int, int, int]]) -> np.ndarray:
    """Links (source, kind, target) with their inverses, sorted, each once; int64 (links, 3)."""
    closed = set()
    for source, kind, target in links:
        closed.add((source, kind, target))
        if kind in INVERSE:
            closed.add((target, INVERSE[kind], source))
    return np.array(sorted(closed), dtype=np.int64).reshape(-1, 3)


def read_lmf(path: Path) -> Lexicon:
    """Read every lexicon of one WN-LMF file.

    Relations between senses, antonyms for the most part, become links between their synsets.

    Raises:
        InputError: the file holds no synset, or points to one that it does not hold.
    """
    root = xml_root(path)
    # 1. Synsets, numbered in the order of the file.
    nodes = list(root.iter("Synset"))
    numbers = {node.get("id", ""): number for number, node in enumerate(nodes)}
    if not numbers:
        raise InputError(
            f"{path}: got zero Synset elements, at least one is needed; is it WN-LMF ({root.tag})?"
        )
    parts_of_speech, glosses = [], []
    for node in nodes:
        parts_of_speech.append(node.get("partOfSpeech", "n"))
        glosses.append(" ; ".join(part.text or "" for part in node.iter("Definition")))
    # 2. Their links.
    links = _lmf_links(root, numbers, path)
    # 3. Words, their senses and their irregular forms.
    words: list[str] = []
    synsets: list[int] = []
    counts: list[int] = []
    irregular: dict[str, str] = {}
    for entry in root.iter("LexicalEntry"):
        lemma = _lemma(entry)
        for sense in entry.iter("Sense"):
            words.append(lemma)
            synsets.append(_synset_number(sense.get("synset", ""), numbers, path))
            counts.append(_tagged(sense, path))
        for form in entry.iter("Form"):
            irregular[form.get("writtenForm", "").lower()] = lemma
    return Lexicon(
        tuple(numbers),
        tuple(parts_of_speech),
        tuple(glosses),
        links,
        tuple(words),
        np.array(synsets, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        irregular,
    )


def _lmf_links(root: ElementTree.Element, numbers: Mapping[str, int], path: Path) -> np.ndarray:
    """Links between the synsets of a WN-LMF file, int64 (links, 3)."""
    # Elements that may have relations, each with its attribute that names the synset.
    sources = [(synset, "id") for synset in root.iter("Synset")]
    synset_of_sense: dict[str, str] = {}
    for sense in root.iter("Sense"):
        sources.append((sense, "synset"))
        synset_of_sense[sense.get("id", "")] = sense.get("synset", "")
    links = []
    for node, attribute in sources:
        for relation in (*node.iter("SynsetRelation"), *node.iter("SenseRelation")):
            kind = LMF_LINKS.get(relation.get("relType", ""))
            if kind is None:
                continue
            source = _synset_number(node.get(attribute, ""), numbers, path)
            name = relation.get("target", "")
            target = _synset_number(synset_of_sense.get(name, name), numbers, path)
            links.append((source, kind, target))
    return closed_links(links)


def _synset_number(name: str, numbers: Mapping[str, int], path: Path) -> int:
    """The number of a synset by its id. Raises InputError: the file ``path`` has no such synset."""
    if name not in numbers:
        raise InputError(
            f"{path}: {name!r} is pointed to but is no Synset of this file; add it or drop the link"
        )
    return numbers[name]


def _lemma(entry: ElementTree.Element) -> str:
    """The word of an entry, in lower case and with blanks; empty where the entry has no lemma."""
    lemma = entry.find("Lemma")
    if lemma is None:
        return ""
    return _plain(lemma.get("writtenForm", "").lower())


def _plain(word: str) -> str:
    """A word with blanks where word nets write underscores."""
    return word.replace("_", " ")


def _tagged(sense: ElementTree.Element, path: Path) -> int:
    """How often a sense was tagged in text: the sum of its Count elements."""
    where = f"{path}: Count of sense {sense.get('id')!r}"
    return sum(whole_number(count.text or "0", where) for count in sense.iter("Count"))


SynsetKey = tuple[str, str]  # part of speech and offset


@dataclass(frozen=True)
class _Synset:
    """A line of a data file."""

    key: SynsetKey
    part_of_speech: str
    words: list[str]
    gloss: str
    pointers: list[tuple[int, SynsetKey]]  # the kind of link, and where it leads


def read_wordnet(folder: Path) -> Lexicon:
    """Read the Princeton WordNet's ``data.*`` files.

    Tag counts come from ``index.sense`` and irregular nouns from ``noun.exc``, if they are there.

    Raises:
        InputError: a data file is missing or damaged, or a pointer leads to no synset.
    """
    # 1. Synsets, in the order of the files.
    synsets: list[_Synset] = []
    for name, part in DATA_FILES.items():
        synsets.extend(_synsets(folder / f"data.{name}", part))
    if not synsets:
        raise InputError(f"{folder}: got zero synsets; give the folder with data.noun and its kin")
    numbers = {synset.key: number for number, synset in enumerate(synsets)}
    # 2. Their links.
    links = []
    for synset in synsets:
        for kind, target in synset.pointers:
            if target not in numbers:
                raise InputError(
                    f"{folder}: {synset.key} points to {target}, which is no synset; "
                    "fetch the folder again"
                )
            links.append((numbers[synset.key], kind, numbers[target]))
    # 3. Senses by word, those of a word by their numbers; 99 puts one without a number last.
    sense_counts = _sense_counts(folder / "index.sense")
    senses = []
    for number, synset in enumerate(synsets):
        for word in synset.words:
            sense_number, count = sense_counts.get((word, synset.key), (99, 0))
            senses.append((word, sense_number, number, count))
    senses.sort(key=lambda sense: sense[:3])
    # 4. Irregular nouns.
    irregular = {}
    for _, forms in _fields(folder / "noun.exc"):
        if len(forms) > 1:
            irregular[_plain(forms[0])] = _plain(forms[1])
    return Lexicon(
        tuple(part + offset for part, offset in numbers),
        tuple(synset.part_of_speech for synset in synsets),
        tuple(synset.gloss for synset in synsets),
        closed_links(links),
        tuple(word for word, *_ in senses),
        np.array([number for _, _, number, _ in senses], dtype=np.int64),
        np.array([count for *_, count in senses], dtype=np.int64),
        irregular,
    )


def _sense_counts(path: Path) -> dict[tuple[str, SynsetKey], tuple[int, int]]:
    """Read ``index.sense``: (word, synset key) -> (sense number, tagged occurrences)."""
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
        part = "nvara"[int(rest[0]) - 1]  # a satellite, 5, stands among the adjectives
        number_and_count = whole_number(sense_number, where), whole_number(count, where)
        counts[_plain(word), (part, offset)] = number_and_count
    return counts


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every line; nothing if the file is absent."""
    if path.is_file():
        for number, line in enumerate(text_lines(path), 1):
            yield number, line.split()


def _synsets(path: Path, part: str) -> Iterator[_Synset]:
    """The synsets of a data file, wndb(5WN).

    A line holds ``offset file kind count``, ``count`` times ``word id``, another ``count``, that
    many times ``sign offset kind words`` (pointers), and behind ``|`` the gloss.
    """
    if not path.is_file():
        raise InputError(
            f"{path}: no such file; give the folder of a WordNet database (Debian: wordnet-base)"
        )
    for number, line in enumerate(text_lines(path), 1):
        if line.startswith("  ") or not line:
            continue  # the lines of the licence are indented
        head, _, gloss = line.partition(" | ")
        fields = head.split(" ")
        where = f"{path}:{number}"
        # 1. How many words there are, and how many pointers of four fields behind them.
        word_count = _hexadecimal(fields[3] if len(fields) > 3 else "", where)
        first_pointer = 5 + 2 * word_count
        counts_pointers = len(fields) >= first_pointer
        pointer_count = whole_number(fields[first_pointer - 1] if counts_pointers else "", where)
        num_fields = first_pointer + 4 * pointer_count
        if len(fields) < num_fields:
            raise InputError(
                f"{where}: {len(fields)} fields, its counts say {num_fields}; fetch it again"
            )
        # 2. The words; a syntactic mark such as "(p)" may follow an adjective.
        words = []
        for word in fields[4 : first_pointer - 1 : 2]:
            words.append(_plain(word.lower().partition("(")[0]))
        # 3. The pointers of a kind that is a link here.
        pointers = []
        for start in range(first_pointer, num_fields, 4):
            sign, offset, kind = fields[start : start + 3]
            if sign in POINTERS:
                pointers.append((POINTERS[sign], (kind, offset)))
        definition = gloss.partition('; "')[0].strip()
        yield _Synset((part, fields[0]), fields[2], words, definition, pointers)


def _hexadecimal(text: str, where: str) -> int:
    """The number of words of a synset. Raises InputError: no one or two hexadecimal digits."""
    if not re.fullmatch("[0-9a-fA-F]{1,2}", text):
        raise InputError(
            f"{where}: {text!r:.40} counts no words; "
            "a line of the database has two hexadecimal digits there"
        )
    return int(text, 16)


NOTHING = Lexicon(
    (), (), (), closed_links([]), (), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
)


@dataclass(frozen=True)
class Taxonomy:
    """A lexicon with cached look-ups: senses of words, and distances along links."""

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
        """Synsets that links of these kinds lead to.

        Args:
            synset: where the walk begins.
            kinds: of the links that are followed.
            limit: links that are followed at most; None is no limit.

        Returns:
            The smallest number of links to each synset; 0 to the first itself.
        """
        key = (synset, kinds, limit)
        if key not in self._walks:
            if kinds not in self._targets:
                self._targets[kinds] = self.lexicon.targets(*kinds)
            self._walks[key] = _distances(synset, self._targets[kinds], limit)
        return self._walks[key]

    def information_content(self, counts: Mapping[str, float]) -> np.ndarray:
        r"""Information content $-\log p(c)$ of every synset $c$ (Resnik 1995).

        A word's count goes to each of its noun senses and to all synsets above these, once however
        many paths lead there. $p(c)$ is the synset's count over the summed direct counts.

        Args:
            counts: how often each word occurs in some texts.

        Returns:
            float64 (synsets,), in nats; infinity for other parts of speech.
        """
        # 1. Direct counts; one is added to each, so that no content is infinite.
        nouns = np.array([part == "n" for part in self.lexicon.parts_of_speech])
        direct = nouns.astype(np.float64)
        for word, count in counts.items():
            direct[list(self.senses(word))] += count
        # 2. What is counted at or below each synset.
        counts_below = np.zeros(len(direct))
        for synset in np.flatnonzero(nouns).tolist():
            counts_below[list(self.walk(synset, HYPERNYM))] += direct[synset]
        with np.errstate(divide="ignore"):
            return -np.log(counts_below / max(direct.sum(), 1e-300))

    def shared_content(self, content: np.ndarray, synsets: Sequence[int]) -> np.ndarray:
        """Content of the most informative common subsumer of every two synsets.

        Args:
            content: of every synset of the word net, float (synsets of the word net,), in nats.
            synsets: the numbers of those that are compared.

        Returns:
            float64 (synsets, synsets); 0 where two have no common subsumer.
        """
        # 1. Which of the synsets lie at or below each subsumer.
        rows_below: dict[int, list[int]] = defaultdict(list)
        for row, synset in enumerate(synsets):
            for subsumer in self.walk(synset, HYPERNYM):
                rows_below[subsumer].append(row)
        # 2. Subsumers enter their content by rising content, so the most informative one stays.
        shared = np.zeros((len(synsets), len(synsets)))
        for subsumer in sorted(rows_below, key=content.__getitem__):
            rows = rows_below[subsumer]
            shared[np.ix_(rows, rows)] = content[subsumer]
        return shared

    @cached_property
    def links(self) -> dict[int, list[tuple[int, int]]]:
        """Source synset -> (kind, target) of each of its links."""
        by_source: dict[int, list[tuple[int, int]]] = {}
        for source, kind, target in self.lexicon.links.tolist():
            by_source.setdefault(source, []).append((kind, target))
        return by_source


def _distances(start: int, targets: Sequence[Sequence[int]], limit: int | None) -> dict[int, int]:
    """Breadth-first search: synset -> fewest links from ``start``.

    Args:
        start: a synset, at distance 0.
        targets: of each synset, the synsets that its links lead to.
        limit: largest distance that is searched; None for no limit.
    """
    distance = {start: 0}
    frontier = [start]
    steps = 0
    while frontier and steps != limit:
        steps += 1
        reached = []
        for source in frontier:
            for target in targets[source]:
                if target not in distance:
                    distance[target] = steps
                    reached.append(target)
        frontier = reached
    return distance
