"""An entity named in one sentence and taken up by a pronoun in the next, from three kinds of coreference annotation.

- ARRAU (Uryupina et al. 2020): MMAX2 stand-off folders (words, sentences, coreference markables).
- CoNLL-2012 columns, as LitBank has them.
- GAP (Webster et al. 2018): snippets with character offsets.

The rules are ours where beyer2021 (section 4.4) states none: personal pronouns of the third person and their
possessives; the antecedent is the latest mention of the same chain, not a pronoun, in the sentence before; one pair for
each sentence pair and chain, the first pronoun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from longform.core.documents import BadInput
from longform.core.malformed import refusing
from longform.datasets.coreference import GapItem, read_brackets, read_gap
from longform.text.sentences import sentences

POSSESSIVE = frozenset(["his", "her", "its", "their"])
PRONOUNS = POSSESSIVE | {"he", "him", "she", "it", "they", "them"}
OTHER_PRONOUNS = """
    i me my mine myself you your yours yourself yourselves we us our ours ourselves himself herself itself themselves hers
    theirs who whom whose which that this these those one oneself
"""
NAMELESS = PRONOUNS | set(OTHER_PRONOUNS.split())  # words that cannot stand for an antecedent
FOLLOWERS = """
    a an the and or but as at by for from in into of on out over that to up was with when while who . , ; : ! ? '' "
"""
NOT_OWNED = frozenset(FOLLOWERS.split())  # "her" before one of these owns nothing


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
    words = {mention: list(texts[mention.sentence][mention.start : mention.end]) for mention in ordered}
    named = {(m.sentence, m.chain): m for m in ordered if len(words[m]) > 1 or words[m][0].lower() not in NAMELESS}
    pairs: dict[tuple[int, str], ReMention] = {}
    for mention in ordered:
        place, text = (mention.sentence, mention.chain), texts[mention.sentence]
        antecedent = named.get((mention.sentence - 1, mention.chain))
        if antecedent and place not in pairs and len(words[mention]) == 1 and words[mention][0].lower() in PRONOUNS:
            start = len(" ".join([*text[: mention.start], ""]))
            pairs[place] = ReMention(
                f"{source}:{mention.sentence}:{mention.chain}",
                " ".join(texts[antecedent.sentence]),
                " ".join(text),
                start,
                start + len(text[mention.start]),
                " ".join(words[antecedent]),
            )
    return list(pairs.values())


def read_re_mentions(path: Path) -> list[ReMention]:
    """A GAP file, a CoNLL file or a folder of them, or an ARRAU folder, told apart by suffix."""
    if path.suffix == ".tsv":
        return [pair for item in read_gap(path) for pair in _gap_pair(item)]
    files = [path] if path.is_file() else sorted(path.rglob("*conll"))
    return [mention for file in files for mention in read_conll(file)] if files else read_arrau(path)


@refusing("a CoNLL file")
def read_conll(path: Path) -> list[ReMention]:
    """CoNLL-2012 columns; mentions that cross a sentence's end are left out.

    Raises:
        BadInput: a bracket that closes what was not opened.
    """
    texts, found = read_brackets(path.read_text(encoding="utf-8").splitlines(), str(path))
    within = [m for m in found if m.first[0] == m.last[0]]
    return pairs_from_chains(path.stem, texts, [Mention(*m.first, m.last[1] + 1, m.chain) for m in within])


def _gap_pair(item: GapItem) -> Iterator[ReMention]:
    """A GAP snippet whose right name stands in the sentence before the pronoun's."""
    names = [span for span, coreferent in zip(item.names, item.labels, strict=True) if coreferent]
    if not names or item.text[slice(*item.pronoun)].lower() not in PRONOUNS:
        return
    spans, (start, end) = sentences(item.text), item.pronoun
    here = next((i for i, (first, last) in enumerate(spans) if first <= start < last), 0)
    if here and spans[here - 1][0] <= names[0][0] < spans[here - 1][1]:
        before, now = (item.text[slice(*span)] for span in spans[here - 1 : here + 1])
        offset = spans[here][0]
        yield ReMention(item.id, before, now, start - offset, end - offset, item.text[slice(*names[0])])


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
