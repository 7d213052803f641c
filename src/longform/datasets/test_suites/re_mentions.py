"""An entity named in one sentence and taken up by a pronoun in the next, from three kinds of coreference annotation.

- ARRAU (Uryupina et al. 2020): MMAX2 stand-off folders (words, sentences, coreference markables).
- CoNLL-2012 columns, as LitBank has them.
- GAP (Webster et al. 2018): snippets with character offsets.

The rules are ours where beyer2021 (section 4.4) states none: personal pronouns of the third person and their
possessives; the antecedent is the latest mention of the same chain, not a pronoun, in the sentence before; one pair for
each sentence pair and chain, the first pronoun.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from longform.documents import BadInput
from longform.malformed import refusing
from longform.text.sentences import sentences

PERSONAL = frozenset(["he", "him", "she", "her", "it", "they", "them"])
POSSESSIVE = frozenset(["his", "her", "its", "their"])
PRONOUNS = PERSONAL | POSSESSIVE
NAMELESS = PRONOUNS | frozenset(
    [
        "i",
        "me",
        "my",
        "mine",
        "myself",
        "you",
        "your",
        "yours",
        "yourself",
        "yourselves",
        "we",
        "us",
        "our",
        "ours",
        "ourselves",
        "himself",
        "herself",
        "itself",
        "themselves",
        "hers",
        "theirs",
        "who",
        "whom",
        "whose",
        "which",
        "that",
        "this",
        "these",
        "those",
        "one",
        "oneself",
    ]
)  # words that cannot stand for an antecedent
NOT_OWNED = frozenset(
    [
        "a",
        "an",
        "the",
        "and",
        "or",
        "but",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "out",
        "over",
        "that",
        "to",
        "up",
        "was",
        "with",
        "when",
        "while",
        "who",
        ".",
        ",",
        ";",
        ":",
        "!",
        "?",
        "''",
        '"',
        "''",
    ]
)
MMAX = "{www.eml.org/NameSpaces/%s}"


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


@dataclass(frozen=True)
class Mention:
    """Tokens ``start`` to ``end`` (exclusive) of one sentence, in a chain."""

    sentence: int
    start: int
    end: int
    chain: str


def pairs_from_chains(source: str, texts: Sequence[Sequence[str]], mentions: Sequence[Mention]) -> list[ReMention]:
    """Every re-mention in tokenised sentences, tokens joined by blanks."""
    ordered = sorted(mentions, key=lambda m: (m.sentence, m.start, -m.end))
    antecedents: dict[tuple[int, str], Mention] = {}
    for mention in ordered:
        words = texts[mention.sentence][mention.start : mention.end]
        if not (len(words) == 1 and words[0].lower() in NAMELESS):
            antecedents[mention.sentence, mention.chain] = mention
    pairs, done = [], set()
    for mention in ordered:
        place = (mention.sentence, mention.chain)
        antecedent = antecedents.get((mention.sentence - 1, mention.chain))
        words = texts[mention.sentence][mention.start : mention.end]
        if antecedent is None or place in done or len(words) != 1 or words[0].lower() not in PRONOUNS:
            continue
        done.add(place)
        pairs.append(_pair(f"{source}:{mention.sentence}:{mention.chain}", texts, antecedent, mention))
    return pairs


def _pair(source: str, texts: Sequence[Sequence[str]], antecedent: Mention, pronoun: Mention) -> ReMention:
    words = texts[pronoun.sentence]
    start = len(" ".join([*words[: pronoun.start], ""]))
    named = " ".join(texts[antecedent.sentence][antecedent.start : antecedent.end])
    first, second = " ".join(texts[antecedent.sentence]), " ".join(words)
    return ReMention(source, first, second, start, start + len(words[pronoun.start]), named)


@refusing("a CoNLL file")
def read_conll(path: Path) -> list[ReMention]:
    """CoNLL-2012 columns: token in the fourth, coreference brackets in the last.

    Raises:
        BadInput: a bracket that closes what was not opened.
    """
    texts: list[list[str]] = [[]]
    mentions: list[Mention] = []
    opened: dict[str, list[int]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split()
        if not fields or line.startswith("#"):
            texts += [[]] if texts[-1] else []
            continue
        texts[-1].append(fields[3])
        for part in fields[-1].split("|") if fields[-1] not in "_-" else []:
            mentions += _bracket(part, len(texts) - 1, len(texts[-1]) - 1, opened, f"{path}:{number}")
    return pairs_from_chains(path.stem, texts, mentions)


def _bracket(part: str, sentence: int, token: int, opened: dict[str, list[int]], where: str) -> list[Mention]:
    chain = part.strip("()")
    if part.startswith("("):
        opened.setdefault(chain, []).append(token)
    if not part.endswith(")"):
        return []
    if not opened.get(chain):
        raise BadInput(f"{where}: bracket {part!r} closes chain {chain} which is not open; mend the file")
    return [Mention(sentence, opened[chain].pop(), token + 1, chain)]


@refusing("a GAP file")
def read_gap(path: Path) -> list[ReMention]:
    """GAP snippets whose right name stands in the sentence before the pronoun's."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows or not {"Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref"} <= rows[0].keys():
        raise BadInput(
            f"{path}: not a GAP file; it has columns ID, Text, Pronoun, Pronoun-offset, A, A-offset, A-coref ..."
        )
    return [pair for row in rows for pair in _gap_pair(row)]


def _gap_pair(row: dict[str, str]) -> Iterator[ReMention]:
    side = next((name for name in "AB" if row[f"{name}-coref"].upper() == "TRUE"), None)
    if side is None or row["Pronoun"].lower() not in PRONOUNS:
        return
    spans = sentences(row["Text"])
    place, name = int(row["Pronoun-offset"]), int(row[f"{side}-offset"])
    here = next((i for i, (start, end) in enumerate(spans) if start <= place < end), 0)
    if not here or not spans[here - 1][0] <= name < spans[here - 1][1]:
        return
    (first, last), (start, end) = spans[here - 1], spans[here]
    offset = place - start
    yield ReMention(
        row["ID"], row["Text"][first:last], row["Text"][start:end], offset, offset + len(row["Pronoun"]), row[side]
    )


def read_arrau(folder: Path) -> list[ReMention]:
    """Every document of an ARRAU sub-corpus in MMAX2: ``Basedata/*_words.xml`` and ``*_level.xml`` markables.

    Raises:
        BadInput: no document, or one without its sentence or coreference level.
    """
    words = sorted(folder.rglob("*_words.xml"))
    if not words:
        raise BadInput(f"{folder}: no *_words.xml below it; name a sub-corpus of ARRAU in MMAX2 format")
    return [pair for path in words for pair in _arrau_document(folder, path)]


@refusing("a document of ARRAU")
def _arrau_document(folder: Path, path: Path) -> list[ReMention]:
    name = path.name.removesuffix("_words.xml")
    tokens = {word.get("id", ""): (word.text or "") for word in ElementTree.parse(path).getroot()}
    index = {identity: place for place, identity in enumerate(tokens)}
    cuts = sorted(_span(m.get("span", ""), index) for m in _markables(folder, name, "sentence"))
    texts = [list(tokens.values())[start:end] for start, end in cuts]
    mentions = []
    for markable in _markables(folder, name, "coref"):
        chain, text = markable.get("coref_set", "empty"), markable.get("span", "")
        if chain == "empty" or "," in text:
            continue
        start, end = _span(text, index)
        sentence = next((i for i, (first, last) in enumerate(cuts) if first <= start and end <= last), None)
        if sentence is not None:
            mentions.append(Mention(sentence, start - cuts[sentence][0], end - cuts[sentence][0], chain))
    return pairs_from_chains(name, texts, mentions)


def _markables(folder: Path, name: str, level: str) -> list[ElementTree.Element]:
    found = sorted(folder.rglob(f"{name}_{level}_level.xml"))
    if not found:
        raise BadInput(f"{folder}: document {name} has no {name}_{level}_level.xml; copy the corpus whole")
    return list(ElementTree.parse(found[0]).getroot())


def _span(text: str, index: dict[str, int]) -> tuple[int, int]:
    """``word_3..word_7`` or ``word_3`` as (first token, last token + 1)."""
    first, _, last = text.split(",")[0].partition("..")
    return index[first], index[last or first] + 1
