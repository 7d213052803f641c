"""Coreference annotation as published (GAP, CoNLL-2012, ARRAU in MMAX2), and entities that a pronoun takes up next.

Rules of re-mentions are ours where beyer2021 (section 4.4) has none: the antecedent is the latest mention of the chain, no pronoun,
in the sentence before; one pair for each sentence pair and chain, the first pronoun of the third person."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from longform.errors import InputError
from longform.files.opening import existing_file, numbered_rows, text_lines, whole_number, xml_root
from longform.text.nouns import WORDS
from longform.text.sentences import sentences

GAP_COLUMNS = {
    "ID",
    "Text",
    "Pronoun",
    "Pronoun-offset",
    "A",
    "A-offset",
    "A-coref",
    "B",
    "B-offset",
    "B-coref",
}
POSSESSIVE = frozenset(["his", "her", "its", "their"])
PRONOUNS = POSSESSIVE | {"he", "him", "she", "it", "they", "them"}
NAMELESS = PRONOUNS | set(
    WORDS["other_pronouns"].split()
)  # words that cannot stand for an antecedent
NOT_OWNED = frozenset(WORDS["not_owned"].split())  # "her" before one of these owns nothing


@dataclass(frozen=True)
class GapItem:
    """A text, a pronoun and two names as character spans, and whether each name corefers with it (Webster et al. 2018)."""

    id: str
    text: str
    pronoun: tuple[int, int]
    names: tuple[tuple[int, int], tuple[int, int]]
    labels: tuple[bool, bool]


@dataclass(frozen=True)
class TokenMention:
    """A mention in tokenised sentences: its first and last token as (sentence, token), and its chain."""

    first: tuple[int, int]
    last: tuple[int, int]
    chain: str


def read_gap(path: Path) -> list[GapItem]:
    """Items of a GAP file.

    Raises InputError: a column is missing, an offset does not point at its words, a label is neither TRUE nor FALSE, or
    an id comes twice.
    """
    items: dict[str, GapItem] = {}
    for where, row in numbered_rows(path, sorted(GAP_COLUMNS), delimiter="\t", quoted=False):
        spans = []
        for name in ("Pronoun", "A", "B"):
            start, words = whole_number(row[f"{name}-offset"], f"{where}, {name}-offset"), row[name]
            if not words or row["Text"][start : start + len(words)] != words:
                raise InputError(
                    f"{where}: {words!r:.60} does not stand at {start} of its text; fix it"
                )
            spans.append((start, start + len(words)))
        pronoun, first, second = spans
        labels = _gap_label(row, "A", where), _gap_label(row, "B", where)
        if row["ID"] in items:
            raise InputError(
                f"{where}: the id {row['ID']!r} stands on an earlier line too; rename one of them"
            )
        items[row["ID"]] = GapItem(row["ID"], row["Text"], pronoun, (first, second), labels)
    if not items:
        raise InputError(f"{path}: no item below the header; fetch the file again")
    return list(items.values())


def _gap_label(row: Mapping[str, str], name: str, where: str) -> bool:
    label = row[f"{name}-coref"].strip().upper()
    if label not in ("TRUE", "FALSE"):
        raise InputError(
            f"{where}: {name}-coref is {label!r:.40}, allowed are TRUE and FALSE; fix it"
        )
    return label == "TRUE"


_PART_OF_MENTION = re.compile(r"\[\d+/\d+\]")  # of CorefUD: "e5[1/2]"


class _Brackets:
    """Coreference brackets of one document, opened and closed token by token."""

    def __init__(self) -> None:
        self._mentions: list[TokenMention] = []
        self._opened: dict[
            str, list[tuple[tuple[int, int], str]]
        ] = {}  # chain -> where its open mentions begin

    def read(self, column: str, prefix: str, place: tuple[int, int], where: str) -> None:
        """Take the brackets that stand beside one token, such as ``(3|4)``; ``prefix`` comes before names of chains."""
        for part in column.split("|"):
            found = re.fullmatch(r"(\()?([^()]+)(\))?", part)
            if found is None or not (found[1] or found[3]):
                raise InputError(
                    f"{where}: coreference mark {part!r:.40} is none of (3, 3) and (3); fix the file"
                )
            chain = found[2]
            if _PART_OF_MENTION.search(chain):
                raise InputError(
                    f"{where}: {part!r:.40} is a part of a mention in several parts, which is not read; "
                    "leave it out or join its parts"
                )
            if found[1]:
                self._opened.setdefault(chain, []).append((place, where))
            if found[3]:
                if not self._opened.get(chain):
                    raise InputError(
                        f"{where}: {part!r:.40} closes chain {chain} which is not open; fix it"
                    )
                first, _ = self._opened[chain].pop()
                self._mentions.append(TokenMention(first, place, prefix + chain))

    def closed(self) -> list[TokenMention]:
        """All mentions, in the order of their ends. Raises InputError: one is still open."""
        for chain, left in self._opened.items():
            if left:
                raise InputError(
                    f"{left[-1][1]}: a mention of chain {chain} is never closed in its document; fix it"
                )
        return self._mentions


def read_brackets(lines: Iterable[str], where: str) -> tuple[list[list[str]], list[TokenMention]]:
    """Sentences and mentions of CoNLL columns: the token in the fourth, coreference brackets such as ``(3|4)`` in the last.

    A document ends at ``#begin document``, ``#end document``, ``# newdoc``, and where the first two columns (document and
    part) change. Chains are named within it alone: from the second document on ``3`` becomes ``2/3``, ``3/3`` and so on.
    A blank line ends a sentence.

    Raises InputError: a row of fewer columns, a mark of another form, or a mention that is closed or opened alone.
    """
    texts: list[list[str]] = [[]]
    mentions: list[TokenMention] = []
    brackets, name, document = _Brackets(), None, 0
    for number, line in enumerate(lines, 1):
        fields = [] if line.startswith("#") else _columns(line)
        if fields and len(fields) < 5:
            raise InputError(
                f"{where}:{number}: {len(fields)} columns, at least five are needed; fix the row"
            )
        ends = _BOUNDARY.match(line) is not None or (
            bool(fields) and name not in (None, (fields[0], fields[1]))
        )
        if ends:
            mentions += brackets.closed()
            brackets, name = _Brackets(), None
        if ends or not fields:
            texts += [[]] if texts[-1] else []
        if not fields:
            continue
        if name is None:
            name, document = (fields[0], fields[1]), document + 1
        texts[-1].append(fields[3])
        if fields[-1] not in ("", "_", "-"):
            prefix = f"{document}/" if document > 1 else ""
            brackets.read(
                fields[-1], prefix, (len(texts) - 1, len(texts[-1]) - 1), f"{where}:{number}"
            )
    return texts[: -1 if not texts[-1] else None], mentions + brackets.closed()


_BOUNDARY = re.compile(r"#\s*(?:begin document|end document|newdoc)\b")


def _columns(line: str) -> list[str]:
    """Fields of a row, between tabs or else between blanks; no-break spaces and their kin belong to tokens."""
    if "\t" in line:
        return (
            [part.strip(" ") for part in line.rstrip(" \t\r").split("\t")]
            if line.strip(" \t\r")
            else []
        )
    return [part for part in line.strip("\r").split(" ") if part]


@dataclass(frozen=True)
class ReMention:
    """Two sentences; characters ``start`` to ``end`` of the second are a pronoun for ``antecedent``."""

    source: str
    first: str
    second: str
    start: int
    end: int
    antecedent: str

    @property
    def possessive(self) -> bool:
        """Whether the pronoun owns what follows ("her" only before a word that can be owned)."""
        pronoun = self.second[self.start : self.end].lower()
        if pronoun != "her":
            return pronoun in POSSESSIVE
        following = re.match(r"\s*([\w'-]+|\S)", self.second[self.end :])
        return following is not None and following.group(1).lower() not in NOT_OWNED


def pairs_from_chains(
    source: str, texts: Sequence[Sequence[str]], mentions: Sequence[TokenMention]
) -> list[ReMention]:
    """Every re-mention in tokenised sentences, tokens joined by blanks; mentions that cross a sentence's end are left out."""
    ordered = sorted(
        (m for m in mentions if m.first[0] == m.last[0]), key=lambda m: (*m.first, -m.last[1])
    )
    words = {m: list(texts[m.first[0]][m.first[1] : m.last[1] + 1]) for m in ordered}
    named = {
        (m.first[0], m.chain): m
        for m in ordered
        if len(words[m]) > 1 or words[m][0].lower() not in NAMELESS
    }
    pairs: dict[tuple[int, str], ReMention] = {}
    for mention in ordered:
        number, at = mention.first
        place, text, antecedent = (
            (number, mention.chain),
            texts[number],
            named.get((number - 1, mention.chain)),
        )
        if (
            antecedent
            and place not in pairs
            and len(words[mention]) == 1
            and words[mention][0].lower() in PRONOUNS
        ):
            start, name = len(" ".join([*text[:at], ""])), f"{source}:{number}:{mention.chain}"
            first, second, third = (
                " ".join(row) for row in (texts[number - 1], text, words[antecedent])
            )
            pairs[place] = ReMention(name, first, second, start, start + len(text[at]), third)
    return list(pairs.values())


def read_re_mentions(path: Path) -> list[ReMention]:
    """A GAP file, a CoNLL file or a folder of them, or an ARRAU folder, told apart by suffix."""
    if path.suffix == ".tsv":
        pairs = []
        for item in read_gap(path):
            start, end = item.pronoun
            named = [
                name for name, coreferent in zip(item.names, item.labels, strict=True) if coreferent
            ]
            known = named if item.text[start:end].lower() in PRONOUNS else []
            for before, here in itertools.pairwise(sentences(item.text)) if known else ():
                if here[0] <= start < here[1] and before[0] <= known[0][0] < before[1]:
                    first, second, name = (
                        item.text[slice(*span)] for span in (before, here, known[0])
                    )
                    pairs.append(
                        ReMention(item.id, first, second, start - here[0], end - here[0], name)
                    )
        return pairs
    if not path.is_dir():
        existing_file(path)
    files = [path] if path.is_file() else sorted(path.rglob("*conll"))
    return (
        [mention for file in files for mention in read_conll(file)] if files else read_arrau(path)
    )


def read_conll(path: Path) -> list[ReMention]:
    """CoNLL-2012 columns. Raises InputError: see :func:`read_brackets`."""
    texts, found = read_brackets(text_lines(path), str(path))
    return pairs_from_chains(path.stem, texts, found)


def read_arrau(folder: Path) -> list[ReMention]:
    """Every document of an ARRAU sub-corpus in MMAX2: ``Basedata/*_words.xml`` and ``*_level.xml`` markables."""
    words = sorted(folder.rglob("*_words.xml"))
    if not words:
        raise InputError(
            f"{folder}: no *_words.xml below it; name a sub-corpus of ARRAU in MMAX2 format"
        )
    return [pair for path in words for pair in _arrau_document(folder, path)]


def _arrau_document(folder: Path, path: Path) -> list[ReMention]:
    name = path.name.removesuffix("_words.xml")
    tokens = {word.get("id", ""): (word.text or "") for word in xml_root(path)}
    index = {identity: place for place, identity in enumerate(tokens)}

    def markables(level: str) -> tuple[Path, list[ElementTree.Element]]:
        found = sorted(folder.rglob(f"{name}_{level}_level.xml"))
        if not found:
            raise InputError(
                f"{folder}: document {name} has no {name}_{level}_level.xml; copy the corpus whole"
            )
        return found[0], list(xml_root(found[0]))

    def tokens_of(file: Path, markable: ElementTree.Element) -> tuple[int, int]:
        """``word_3..word_7`` or ``word_3`` as (first token, last token + 1)."""
        span = markable.get("span", "")
        first, _, last = span.split(",")[0].partition("..")
        last = last or first
        if first not in index or last not in index:
            raise InputError(
                f"{file}: span {span!r:.60} names no word of {path.name}; copy the corpus whole"
            )
        return index[first], index[last] + 1

    file, markables_of_sentences = markables("sentence")
    cuts = sorted(tokens_of(file, markable) for markable in markables_of_sentences)
    texts = [list(tokens.values())[start:end] for start, end in cuts]
    mentions = []
    file, markables_of_mentions = markables("coref")
    for markable in markables_of_mentions:
        chain = markable.get("coref_set", "empty")
        if chain == "empty" or "," in markable.get("span", ""):
            continue
        start, end = tokens_of(file, markable)
        sentence = next(
            (i for i, (first, last) in enumerate(cuts) if first <= start and end <= last), None
        )
        if sentence is not None:
            first = cuts[sentence][0]
            mentions.append(
                TokenMention((sentence, start - first), (sentence, end - first - 1), chain)
            )
    return pairs_from_chains(name, texts, mentions)
