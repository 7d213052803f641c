"""Coreference annotation as published (GAP, CoNLL-2012, ARRAU in MMAX2), and re-mentions in it.

A re-mention is an entity that a pronoun takes up in the next sentence. Its rules are ours where
beyer2021 (section 4.4) has none: the antecedent is the latest mention of the chain, no pronoun, in
the sentence before; one pair for each sentence pair and chain, the first pronoun of the third
person.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from longform.errors import InputError, counted
from longform.files.opening import (
    PACKINGS,
    existing_file,
    numbered_rows,
    text_lines,
    whole_number,
    xml_root,
)
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
# words that cannot stand for an antecedent
NAMELESS = PRONOUNS | set(WORDS["other_pronouns"].split())
NOT_OWNED = frozenset(WORDS["not_owned"].split())  # "her" before one of these owns nothing

GAP_FILES = tuple(f".tsv{packing}" for packing in PACKINGS)

Span = tuple[int, int]  # start and end, half-open, in characters (of ARRAU in words)
Token = tuple[int, int]  # (sentence, position of the token in it), both from 0


@dataclass(frozen=True)
class GapItem:
    """A text with a pronoun and two names (Webster et al. 2018).

    Attributes:
        id: of the item.
        text: a paragraph.
        pronoun: its characters, (start, end).
        names: the characters of both.
        labels: whether each name corefers with the pronoun.
    """

    id: str
    text: str
    pronoun: Span
    names: tuple[Span, Span]
    labels: tuple[bool, bool]


@dataclass(frozen=True)
class TokenMention:
    """A mention in tokenised sentences: its first and last token, and its chain."""

    first: Token
    last: Token
    chain: str


def read_gap(path: Path) -> list[GapItem]:
    """Items of a GAP file.

    Raises:
        InputError: a column is missing, an offset does not point at its words, a label is neither
            TRUE nor FALSE, or an id comes twice.
    """
    items: dict[str, GapItem] = {}
    for where, row in numbered_rows(path, sorted(GAP_COLUMNS), delimiter="\t", quoted=False):
        spans = [_gap_span(row, column, where) for column in ("Pronoun", "A", "B")]
        pronoun, first, second = spans
        labels = _gap_label(row, "A", where), _gap_label(row, "B", where)
        name = row["ID"]
        if name in items:
            raise InputError(
                f"{where}: the id {name!r} stands on an earlier line too; rename one of them"
            )
        items[name] = GapItem(name, row["Text"], pronoun, (first, second), labels)
    if not items:
        raise InputError(f"{path}: no item below the header; fetch the file again")
    return list(items.values())


def _gap_span(row: Mapping[str, str], column: str, where: str) -> Span:
    """The characters of a column's words in a row's text."""
    start = whole_number(row[f"{column}-offset"], f"{where}, {column}-offset")
    words = row[column]
    end = start + len(words)
    if not words or row["Text"][start:end] != words:
        raise InputError(f"{where}: {words!r:.60} does not stand at {start} of its text; fix it")
    return start, end


def _gap_label(row: Mapping[str, str], name: str, where: str) -> bool:
    """Whether name "A" or "B" of a row corefers with its pronoun."""
    label = row[f"{name}-coref"].strip().upper()
    if label not in ("TRUE", "FALSE"):
        raise InputError(
            f"{where}: {name}-coref is {label!r:.40}, allowed are TRUE and FALSE; fix it"
        )
    return label == "TRUE"


_BRACKET = re.compile(r"(?P<opens>\()?(?P<chain>[^()]+)(?P<closes>\))?")
_PART_OF_MENTION = re.compile(r"\[\d+/\d+\]")  # of CorefUD: "e5[1/2]"


class _Brackets:
    """Coreference brackets of one document, opened and closed token by token."""

    def __init__(self) -> None:
        self._mentions: list[TokenMention] = []
        # by chain: the first token of each open mention, and where it stands in the file
        self._opened: dict[str, list[tuple[Token, str]]] = {}

    def read(self, column: str, prefix: str, token: Token, where: str) -> None:
        """Take the brackets that stand beside one token.

        Args:
            column: brackets, such as ``(3|4)``.
            prefix: comes before names of chains.
            token: sentence and token.
            where: the row, for messages.

        Raises InputError: a mark of another form, or a mention that is closed without being open.
        """
        for part in column.split("|"):
            match = _BRACKET.fullmatch(part)
            if match is None or not (match["opens"] or match["closes"]):
                raise InputError(
                    f"{where}: coreference field {part!r:.40} is none of (3, 3) and (3); "
                    "fix the file"
                )
            chain = match["chain"]
            if _PART_OF_MENTION.search(chain):
                raise InputError(
                    f"{where}: {part!r:.40} is a part of a mention in several parts, "
                    "which is not read; leave it out or join its parts"
                )
            if match["opens"]:
                self._opened.setdefault(chain, []).append((token, where))
            if match["closes"]:
                if not self._opened.get(chain):
                    raise InputError(
                        f"{where}: {part!r:.40} closes chain {chain} which is not open; fix it"
                    )
                first, _ = self._opened[chain].pop()
                self._mentions.append(TokenMention(first, token, prefix + chain))

    def closed(self) -> list[TokenMention]:
        """All mentions, in the order of their ends. Raises InputError: one is still open."""
        for chain, left in self._opened.items():
            if left:
                _, where = left[-1]
                raise InputError(
                    f"{where}: a mention of chain {chain} is never closed in its document; fix it"
                )
        return self._mentions


def read_brackets(lines: Iterable[str], where: str) -> tuple[list[list[str]], list[TokenMention]]:
    """Sentences and mentions of CoNLL columns.

    The token stands in the fourth column, coreference brackets such as ``(3|4)`` in the last. A
    document ends at ``#begin document``, ``#end document``, ``# newdoc``, and where the first two
    columns (document and part) change. Chains are named within it alone: from the second document
    on ``3`` becomes ``2/3``, ``3/3`` and so on. A blank line ends a sentence; a comment, a
    line from ``#`` on that is no row between tabs, does not.

    Args:
        lines: of a file.
        where: the file, for messages.

    Returns: the tokens of each sentence, and the mentions of all documents.

    Raises:
        InputError: a row of fewer columns, a mark of another form, or a mention that is closed or
            opened alone.
    """
    texts: list[list[str]] = [[]]
    mentions: list[TokenMention] = []
    brackets = _Brackets()
    name: tuple[str, str] | None = None  # document and part; None before its first row
    document = 0
    for number, line in enumerate(lines, 1):
        place_of_row = f"{where}:{number}"
        is_boundary = _BOUNDARY.match(line) is not None
        is_comment = line.startswith("#") and line.count("\t") < 4
        if is_comment and not is_boundary:
            continue
        fields = [] if is_comment else _columns(line)
        if fields and len(fields) < 5:
            raise InputError(
                f"{place_of_row}: {counted(len(fields), 'column')}, at least five are needed; "
                "fix the row"
            )
        # 1. What ends here.
        has_other_name = bool(fields) and name not in (None, (fields[0], fields[1]))
        document_ends = has_other_name or is_boundary
        if document_ends:
            mentions.extend(brackets.closed())
            brackets, name = _Brackets(), None
        if texts[-1] and (document_ends or not fields):
            texts.append([])
        if not fields:
            continue
        # 2. The token and its brackets.
        if name is None:
            name = fields[0], fields[1]
            document += 1
        texts[-1].append(fields[3])
        if fields[-1] not in ("", "_", "-"):
            prefix = f"{document}/" if document > 1 else ""
            token = len(texts) - 1, len(texts[-1]) - 1
            brackets.read(fields[-1], prefix, token, place_of_row)
    if not texts[-1]:
        texts.pop()
    return texts, mentions + brackets.closed()


_BOUNDARY = re.compile(r"#\s*(?:begin document|end document|newdoc)\b")


def _columns(line: str) -> list[str]:
    """Fields of a row, between tabs or else between blanks.

    No-break spaces and their kin belong to tokens.
    """
    if "\t" not in line:
        return [field for field in line.strip("\r").split(" ") if field]
    if not line.strip(" \t\r"):
        return []
    return [field.strip(" ") for field in line.rstrip(" \t\r").split("\t")]


@dataclass(frozen=True)
class ReMention:
    """Two sentences, of which the second takes up an entity of the first.

    Its characters ``start`` to ``end`` are a pronoun for ``antecedent``.
    """

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
    """Every re-mention in tokenised sentences.

    Args:
        source: names the text.
        texts: tokens of each sentence; they are joined by blanks.
        mentions: of the text; those that cross a sentence's end are left out.
    """
    # 1. Mentions from left to right, of those that begin together the longer one first.
    inside = [mention for mention in mentions if mention.first[0] == mention.last[0]]
    inside.sort(key=lambda mention: (*mention.first, -mention.last[1]))
    # 2. The latest mention of a chain in a sentence that can be an antecedent.
    antecedents: dict[tuple[int, str], list[str]] = {}
    for mention in inside:
        words = _words(mention, texts)
        if len(words) > 1 or words[0].lower() not in NAMELESS:
            antecedents[mention.first[0], mention.chain] = words
    # 3. The first pronoun of a chain in the sentence behind one.
    pairs: dict[tuple[int, str], ReMention] = {}
    for mention in inside:
        number, token = mention.first
        antecedent = antecedents.get((number - 1, mention.chain))
        words = _words(mention, texts)
        is_pronoun = len(words) == 1 and words[0].lower() in PRONOUNS
        if antecedent is None or not is_pronoun or (number, mention.chain) in pairs:
            continue
        start = sum(len(word) + 1 for word in texts[number][:token])
        pairs[number, mention.chain] = ReMention(
            source=f"{source}:{number}:{mention.chain}",
            first=" ".join(texts[number - 1]),
            second=" ".join(texts[number]),
            start=start,
            end=start + len(words[0]),
            antecedent=" ".join(antecedent),
        )
    return list(pairs.values())


def _words(mention: TokenMention, texts: Sequence[Sequence[str]]) -> list[str]:
    """The tokens of a mention that lies in one sentence."""
    sentence, first = mention.first
    return list(texts[sentence][first : mention.last[1] + 1])


def read_re_mentions(path: Path) -> list[ReMention]:
    """The re-mentions of a GAP file (.tsv), a CoNLL file, a folder of these, or an ARRAU folder.

    Raises InputError: absent, or of another form.
    """
    if path.name.lower().endswith(GAP_FILES):
        pairs = list[ReMention]()
        for item in read_gap(path):
            pairs.extend(_gap_re_mentions(item))
        return pairs
    if not path.is_dir():
        return read_conll(existing_file(path))
    files = sorted(path.rglob("*conll"))
    if not files:
        return read_arrau(path)
    pairs = list[ReMention]()
    for file in files:
        pairs.extend(read_conll(file))
    return pairs


def _gap_re_mentions(item: GapItem) -> Iterator[ReMention]:
    """The re-mention of a GAP item: its pronoun, if a name that it means is in the sentence before.

    An item's pronoun and names are half-open spans of its text.
    """
    start, end = item.pronoun
    coreferent = [name for name, label in zip(item.names, item.labels, strict=True) if label]
    if not coreferent or item.text[start:end].lower() not in PRONOUNS:
        return
    for before, here in itertools.pairwise(sentences(item.text)):
        names_before = [name for name in coreferent if before[0] <= name[0] < before[1]]
        if names_before and here[0] <= start < here[1]:
            name_start, name_end = names_before[0]
            yield ReMention(
                source=item.id,
                first=item.text[before[0] : before[1]],
                second=item.text[here[0] : here[1]],
                start=start - here[0],
                end=end - here[0],
                antecedent=item.text[name_start:name_end],
            )


def read_conll(path: Path) -> list[ReMention]:
    """The re-mentions of a CoNLL-2012 file.

    Raises InputError: no token in it, or see :func:`read_brackets`.
    """
    texts, mentions = read_brackets(text_lines(path), str(path))
    if not texts:
        raise InputError(f"{path}: no row with a token in it; fetch the file again")
    return pairs_from_chains(path.stem, texts, mentions)


def read_arrau(folder: Path) -> list[ReMention]:
    """The re-mentions of every document of an ARRAU sub-corpus in MMAX2.

    Its files are ``Basedata/*_words.xml`` and ``*_level.xml`` with markables.

    Raises InputError: no document, or a file of one is missing or names words that are not there.
    """
    words = sorted(folder.rglob("*_words.xml"))
    if not words:
        raise InputError(
            f"{folder}: no *_words.xml below it; name a sub-corpus of ARRAU in MMAX2 format"
        )
    pairs = []
    for path in words:
        pairs.extend(_arrau_document(folder, path))
    return pairs


def _arrau_document(folder: Path, words_file: Path) -> list[ReMention]:
    """The re-mentions of the document with these words; ``folder`` has its other files."""
    # 1. Its words, and where each stands.
    name = words_file.name.removesuffix("_words.xml")
    tokens: dict[str, str] = {}
    for word in xml_root(words_file):
        identity = word.get("id", "")
        if identity in tokens:
            raise InputError(f"{words_file}: two words have the id {identity!r}; rename one")
        tokens[identity] = word.text or ""
    index = {identity: number for number, identity in enumerate(tokens)}
    words = list(tokens.values())
    # 2. Its sentences, as spans of words.
    sentence_file = _arrau_level(folder, name, "sentence")
    spans = sorted(
        _arrau_span(markable, index, sentence_file, words_file)
        for markable in xml_root(sentence_file)
    )
    texts = [words[start:end] for start, end in spans]
    # 3. Its mentions in one piece, each in the first sentence that holds it.
    mentions = []
    mention_file = _arrau_level(folder, name, "coref")
    for markable in xml_root(mention_file):
        chain = markable.get("coref_set", "empty")
        if chain == "empty" or "," in markable.get("span", ""):
            continue
        start, end = _arrau_span(markable, index, mention_file, words_file)
        for sentence, (first, last) in enumerate(spans):
            if first <= start and end <= last:
                first_token, last_token = (sentence, start - first), (sentence, end - first - 1)
                mentions.append(TokenMention(first_token, last_token, chain))
                break
    return pairs_from_chains(name, texts, mentions)


def _arrau_level(folder: Path, document: str, level: str) -> Path:
    """The file of a document's markables of one level."""
    files = sorted(folder.rglob(f"{document}_{level}_level.xml"))
    if not files:
        raise InputError(
            f"{folder}: document {document} has no {document}_{level}_level.xml; "
            "copy the corpus whole"
        )
    return files[0]


def _arrau_span(
    markable: ElementTree.Element, index: Mapping[str, int], file: Path, words: Path
) -> Span:
    """``word_3..word_7`` or ``word_3`` as (first word, last word + 1).

    Raises InputError: a word that is not there (``file`` names it, ``words`` lacks it), or one that
        stands before the first.
    """
    span = markable.get("span", "")
    first, _, last = span.split(",")[0].partition("..")
    last = last or first
    if first not in index or last not in index:
        raise InputError(
            f"{file}: span {span!r:.60} names no word of {words.name}; copy the corpus whole"
        )
    if index[last] < index[first]:
        raise InputError(f"{file}: span {span!r:.60} ends before it begins; fix it")
    return index[first], index[last] + 1
