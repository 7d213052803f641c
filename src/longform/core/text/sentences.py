"""The one definition of a sentence and of a section boundary, as character offsets into the text.

A sentence ends at a run of ``. ! ? …`` or their kin with the closing marks that follow, unless an abbreviation, an initial or a list
number stands before it or a lower-case word follows. A blank line always ends one. Rules, no model; abbreviations are English.
"""

import functools
import importlib
import importlib.util
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from longform.core.documents import BadInput
from longform.core.text.nouns import CLOSED, WORDS

SECTION_BREAK = "\n\n"  # sections joined in a document's text, and in what a model generates (deng2022, released code)


TITLES, BEFORE_NUMBERS, EITHER, STARTERS = (
    frozenset(WORDS[name].split()) for name in ("titles", "before_numbers", "either", "starters")
)
_CLOSERS = "\"'”’»›)\\]}」』】"
_OPENERS = "\"'“‘«‹([{„‚「『【¿¡-–—`"
_STOP = re.compile(
    rf"""
    (?P<blank>\n[^\S\n]*\n)                                           # a blank line
    | [。！？｡](?P<wide>[。！？｡…{_CLOSERS}]*)                          # full-width stops need no space after them
    | (?<![.!?…])(?P<marks>[.!?…।॥؟۔።፧‽]++(?:\s[.!?…]++(?=\s|$))*)               # . ! ? and runs, also ". . ." apart
      (?P<closers>(?:[{_CLOSERS}]|\s(?:''|”|’’)(?=\s|$))*)
      (?:\[\d+\])*                                                    # reference marks stay with their sentence
      (?=\s|$)
    """,
    re.VERBOSE,
)
_VISIBLE = re.compile(r"\S")
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘«—–/]+$")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]$")
_FIRST_WORD = re.compile(rf"[{re.escape(_OPENERS)}\s]{{0,20}}([^\W_]+)")


def sentences(text: str) -> list[tuple[int, int]]:
    """Half-open character offsets of the sentences of ``text``, in order, without surrounding white space."""
    caseless = text == text.lower()
    spans: list[tuple[int, int]] = []
    start = _next_visible(text, 0)
    for stop in _STOP.finditer(text):
        if stop["blank"] or stop["wide"] is not None:
            end = stop.end()
        elif _ends_sentence(text, start, stop, caseless):
            end = _with_spaced_quote(text, start, stop.end())
        else:
            continue
        _append_trimmed(spans, text, start, end)
        start = _next_visible(text, max(start, end))
    _append_trimmed(spans, text, start, len(text))
    return spans


def sentence_texts(text: str) -> list[str]:
    """The sentences themselves."""
    return [text[start:end] for start, end in sentences(text)]


def _next_visible(text: str, position: int) -> int:
    visible = _VISIBLE.search(text, position)
    return visible.start() if visible else len(text)


def _append_trimmed(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    body = text[start:end].rstrip()
    if body:
        spans.append((start, start + len(body)))


def _ends_sentence(text: str, start: int, stop: re.Match[str], caseless: bool) -> bool:
    position = stop.start()
    following = _FIRST_WORD.match(text, stop.end())
    apart = position > start and text[position - 1].isspace()
    if apart and not stop["closers"] and stop["marks"] in {".", "?", "!"}:
        return not _inside_spaced_quote(text, stop.end(), following)
    if following and following[1][0].islower() and not caseless:
        return False
    if stop["marks"] != "." or stop["closers"]:
        return True
    word = _LAST_WORD.search(text, max(start, position - 40), position)
    return word is None or _word_allows_end(word[0], word.start() == start, following)


def _inside_spaced_quote(text: str, end: int, following: re.Match[str] | None) -> bool:
    closes = re.match(r"\s(?:\"|''|”)\s", text[end : end + 4])
    return bool(closes and following and following[1][0].islower() and following[1] not in STARTERS)


def _word_allows_end(word: str, first: bool, following: re.Match[str] | None) -> bool:
    folded = word.lower()
    after = following[1] if following else ""
    if first and word.isdigit() and len(word) <= 3 and after:
        return False  # "12. The town": a list number
    if folded in TITLES:
        return not after
    if folded in BEFORE_NUMBERS:
        return not after[:1].isdigit()
    if folded in EITHER or _ACRONYM.match(word) or (len(word) == 1 and word.isupper()):
        return not after or after.lower() in STARTERS
    return True


def _with_spaced_quote(text: str, start: int, end: int) -> int:
    quote = re.match(r"\s\"(?=\s|$)", text[end : end + 3])
    return end + quote.end() if quote and text.count('"', start, end) % 2 else end


def full_stop_sentences(text: str) -> list[str]:
    """Cut at every full stop followed by a blank and nowhere else, as the released BBScore code does (sheng2024)."""
    pieces = re.split(r"(?<=\.) ", text.replace(".\n", ". ").strip())
    return [piece for piece in pieces if piece.strip(". ")]


def spacy_sentences(text: str) -> list[str]:
    """Sentences by the parser of spaCy's ``en_core_web_sm``, as massarelli2020 cut its texts.

    Raises BadInput: spaCy or the model is not installed.
    """
    return [piece for sentence in _spacy_parser()(text).sents if (piece := sentence.text.strip())]


@functools.cache
def _spacy_parser() -> Any:
    try:
        import spacy

        return spacy.load("en_core_web_sm")
    except (ImportError, OSError) as error:
        raise BadInput(
            f"splitter spacy: spaCy's model en_core_web_sm is not installed ({error}); install it, or use rules"
        ) from error


SPLITTERS: Mapping[str, Callable[[str], list[str]]] = {
    "full_stops": full_stop_sentences,
    "rules": sentence_texts,
    "spacy": spacy_sentences,
}


COORDINATORS = frozenset(["and", "or", "but", "nor", "yet"])
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
SECONDS = 5  # of one sentence under Link Grammar; a timeout counts as a failure


def entities(sentence: str) -> int:
    """Names and numbers in a sentence."""
    found = _WORD.findall(sentence)
    kinds = [_kind(word, place) for place, word in enumerate(found)]
    names = sum(kind == "name" and (not place or kinds[place - 1] != "name") for place, kind in enumerate(kinds))
    opening = int(
        bool(found) and kinds[0] == "name" and found[0].lower() in CLOSED and (len(kinds) < 2 or kinds[1] != "name")
    )
    return names + kinds.count("number") - opening


def _kind(word: str, place: int) -> str:
    if word[0].isdigit():
        return "number"
    if not word[0].isupper() or (not place and word.lower() in CLOSED):
        return "word"
    return "name"


def conjunctions(sentence: str) -> int:
    """Coordinating words and the conjuncts that they join."""
    return 2 * sum(word.lower() in COORDINATORS for word in _WORD.findall(sentence))


def link_parser() -> Callable[[str], float]:
    """Whether a sentence has a linkage without null links under Link Grammar's English dictionary; nan if not installed."""
    if importlib.util.find_spec("linkgrammar") is None:
        return lambda sentence: math.nan
    grammar: Any = importlib.import_module("linkgrammar")
    options = grammar.ParseOptions(max_null_count=0, max_parse_time=SECONDS, verbosity=0)
    dictionary = grammar.Dictionary("en")
    return lambda sentence: float(len(grammar.Sentence(sentence, dictionary, options).parse()) > 0)


@dataclass(frozen=True)
class PageSimilarity:
    r"""Unnormalised tf-idf product of a text with a page, over words and pairs of words.

    $\sum_w f(w, \text{text}) f(w, \text{page})$ with $f(w, d) = \log(1 + \text{tf}) \max(0, \log\frac{N - n_w + 1/2}{n_w + 1/2})$, the
    weights of DrQA (Chen et al. 2017), whose scale fits the printed values; words are not hashed.
    """

    pages: Mapping[str, Sequence[str]]

    @cached_property
    def _frequency(self) -> Counter[str]:
        return Counter(gram for lines in self.pages.values() for gram in set(_grams(" ".join(lines))))

    @cached_property
    def _weights(self) -> dict[str, dict[str, float]]:
        return {}

    def _weigh(self, text: str) -> dict[str, float]:
        total = len(self.pages)
        weights = {}
        for gram, count in Counter(_grams(text)).items():
            seen = self._frequency.get(gram, 0)
            idf = math.log((total - seen + 0.5) / (seen + 0.5))
            if idf > 0:
                weights[gram] = math.log1p(count) * idf
        return weights

    def score(self, text: str, title: str) -> float:
        if title not in self.pages:
            return 0.0
        if title not in self._weights:
            self._weights[title] = self._weigh(" ".join(self.pages[title]))
        page = self._weights[title]
        return sum(weight * page.get(gram, 0.0) for gram, weight in self._weigh(text).items())


def _grams(text: str) -> list[str]:
    found = [word.lower() for word in _WORD.findall(text)]
    return found + [f"{a} {b}" for a, b in itertools.pairwise(found)]


def mean_nats(sentences: Sequence[str], nats: Sequence[float], marks: Sequence[int]) -> list[float]:
    """Mean log-probability of the tokens of each sentence; nan for one without a token.

    Args:
        sentences: in reading order, from the start of the text, blanks of any width.
        nats, marks: of each token, its log-probability and how many characters that are no blanks it has; a token
            belongs to the sentence in which its last such character stands.
    """
    ends, at = [], 0
    for sentence in sentences:
        at += len("".join(sentence.split()))
        ends.append(at)
    sums, counts = [0.0] * len(ends), [0] * len(ends)
    at = place = 0
    for value, width in zip(nats, marks, strict=True):
        at += width
        while place < len(ends) and at > ends[place]:
            place += 1
        if place < len(ends):
            sums[place] += value
            counts[place] += 1
    return [total / count if count else math.nan for total, count in zip(sums, counts, strict=True)]
