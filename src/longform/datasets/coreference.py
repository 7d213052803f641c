"""Coreference annotation as published (GAP, CoNLL-2012, ARRAU in MMAX2), and entities that a pronoun takes up next.

Rules of re-mentions are ours where beyer2021 (section 4.4) has none: the antecedent is the latest mention of the chain, no pronoun,
in the sentence before; one pair for each sentence pair and chain, the first pronoun of the third person."""

import csv
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from longform.core.documents import BadInput
from longform.core.malformed import refusing
from longform.core.text.nouns import WORDS
from longform.core.text.sentences import sentences

GAP_COLUMNS = {"ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref"}
POSSESSIVE = frozenset(["his", "her", "its", "their"])
PRONOUNS = POSSESSIVE | {"he", "him", "she", "it", "they", "them"}
NAMELESS = PRONOUNS | set(WORDS["other_pronouns"].split())  # words that cannot stand for an antecedent
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


@refusing("a GAP file")
def read_gap(path: Path) -> list[GapItem]:
    """Items of a GAP file. Raises BadInput: a column is missing, or an offset does not point at its words."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows or GAP_COLUMNS - rows[0].keys():
        raise BadInput(f"{path}: not a GAP file; its columns are {sorted(GAP_COLUMNS)}")
    items = []
    for number, row in enumerate(rows, 2):
        spans = [(int(row[f"{name}-offset"]), row[name]) for name in ("Pronoun", "A", "B")]
        for start, words in spans:
            if row["Text"][start : start + len(words)] != words:
                raise BadInput(f"{path}, line {number}: {words!r} does not stand at {start} of its text; fix it")
        pronoun, first, second = ((start, start + len(words)) for start, words in spans)
        labels = row["A-coref"].upper() == "TRUE", row["B-coref"].upper() == "TRUE"
        items.append(GapItem(row["ID"], row["Text"], pronoun, (first, second), labels))
    return items


def read_brackets(lines: Iterable[str], where: str) -> tuple[list[list[str]], list[TokenMention]]:
    """Sentences and mentions of CoNLL columns: the token in the fourth, coreference brackets such as ``(3|4)`` in the last."""
    texts: list[list[str]] = [[]]
    opened: dict[str, list[tuple[int, int]]] = {}
    mentions: list[TokenMention] = []
    for number, line in enumerate(lines, 1):
        fields = line.rstrip().split("\t") if "\t" in line else line.split()
        if line.startswith("#") or len(fields) < 5:
            texts += [[]] if texts[-1] else []
            continue
        texts[-1].append(fields[3])
        place = len(texts) - 1, len(texts[-1]) - 1
        for part in fields[-1].strip().split("|") if fields[-1].strip() not in ("", "_", "-") else []:
            found = re.fullmatch(r"(\()?([^()]+)(\))?", part)
            if found is None or not (found[1] or found[3]):
                raise BadInput(f"{where}:{number}: coreference mark {part!r} is none of (3, 3) and (3); fix the file")
            if found[1]:
                opened.setdefault(found[2], []).append(place)
            if found[3]:
                if not opened.get(found[2]):
                    raise BadInput(f"{where}:{number}: {part!r} closes chain {found[2]} which is not open; fix it")
                mentions.append(TokenMention(opened[found[2]].pop(), place, found[2]))
    return texts[: -1 if not texts[-1] else None], mentions


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


def pairs_from_chains(source: str, texts: Sequence[Sequence[str]], mentions: Sequence[TokenMention]) -> list[ReMention]:
    """Every re-mention in tokenised sentences, tokens joined by blanks; mentions that cross a sentence's end are left out."""
    ordered = sorted((m for m in mentions if m.first[0] == m.last[0]), key=lambda m: (*m.first, -m.last[1]))
    words = {m: list(texts[m.first[0]][m.first[1] : m.last[1] + 1]) for m in ordered}
    named = {(m.first[0], m.chain): m for m in ordered if len(words[m]) > 1 or words[m][0].lower() not in NAMELESS}
    pairs: dict[tuple[int, str], ReMention] = {}
    for mention in ordered:
        number, at = mention.first
        place, text, antecedent = (number, mention.chain), texts[number], named.get((number - 1, mention.chain))
        if antecedent and place not in pairs and len(words[mention]) == 1 and words[mention][0].lower() in PRONOUNS:
            start, name = len(" ".join([*text[:at], ""])), f"{source}:{number}:{mention.chain}"
            first, second, third = (" ".join(row) for row in (texts[number - 1], text, words[antecedent]))
            pairs[place] = ReMention(name, first, second, start, start + len(text[at]), third)
    return list(pairs.values())


def read_re_mentions(path: Path) -> list[ReMention]:
    """A GAP file, a CoNLL file or a folder of them, or an ARRAU folder, told apart by suffix."""
    if path.suffix == ".tsv":
        pairs = []
        for item in read_gap(path):
            start, end = item.pronoun
            named = [name for name, coreferent in zip(item.names, item.labels, strict=True) if coreferent]
            known = named if item.text[start:end].lower() in PRONOUNS else []
            for before, here in itertools.pairwise(sentences(item.text)) if known else ():
                if here[0] <= start < here[1] and before[0] <= known[0][0] < before[1]:
                    first, second, name = (item.text[slice(*span)] for span in (before, here, known[0]))
                    pairs.append(ReMention(item.id, first, second, start - here[0], end - here[0], name))
        return pairs
    files = [path] if path.is_file() else sorted(path.rglob("*conll"))
    return [mention for file in files for mention in read_conll(file)] if files else read_arrau(path)


@refusing("a CoNLL file")
def read_conll(path: Path) -> list[ReMention]:
    """CoNLL-2012 columns. Raises BadInput: a bracket that closes what was not opened."""
    texts, found = read_brackets(path.read_text(encoding="utf-8").splitlines(), str(path))
    return pairs_from_chains(path.stem, texts, found)


def read_arrau(folder: Path) -> list[ReMention]:
    """Every document of an ARRAU sub-corpus in MMAX2: ``Basedata/*_words.xml`` and ``*_level.xml`` markables."""
    words = sorted(folder.rglob("*_words.xml"))
    if not words:
        raise BadInput(f"{folder}: no *_words.xml below it; name a sub-corpus of ARRAU in MMAX2 format")
    return [pair for path in words for pair in _arrau_document(folder, path)]


@refusing("a document of ARRAU")
def _arrau_document(folder: Path, path: Path) -> list[ReMention]:
    name = path.name.removesuffix("_words.xml")
    tokens = {word.get("id", ""): (word.text or "") for word in ElementTree.parse(path).getroot()}
    index = {identity: place for place, identity in enumerate(tokens)}

    def markables(level: str) -> list[ElementTree.Element]:
        found = sorted(folder.rglob(f"{name}_{level}_level.xml"))
        if not found:
            raise BadInput(f"{folder}: document {name} has no {name}_{level}_level.xml; copy the corpus whole")
        return list(ElementTree.parse(found[0]).getroot())

    def tokens_of(markable: ElementTree.Element) -> tuple[int, int]:
        """``word_3..word_7`` or ``word_3`` as (first token, last token + 1)."""
        first, _, last = markable.get("span", "").split(",")[0].partition("..")
        return index[first], index[last or first] + 1

    cuts = sorted(map(tokens_of, markables("sentence")))
    texts = [list(tokens.values())[start:end] for start, end in cuts]
    mentions = []
    for markable in markables("coref"):
        chain = markable.get("coref_set", "empty")
        if chain == "empty" or "," in markable.get("span", ""):
            continue
        start, end = tokens_of(markable)
        sentence = next((i for i, (first, last) in enumerate(cuts) if first <= start and end <= last), None)
        if sentence is not None:
            first = cuts[sentence][0]
            mentions.append(TokenMention((sentence, start - first), (sentence, end - first - 1), chain))
    return pairs_from_chains(name, texts, mentions)
