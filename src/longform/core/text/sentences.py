"""The one definition of a sentence and of a section boundary, as character offsets into the text.

A sentence ends at a run of ``. ! ? …`` or their kin with the closing marks that follow, unless an abbreviation, an initial or a list
number stands before it or a lower-case word follows. A blank line always ends one. Rules, no model; abbreviations are English."""

import functools
import importlib
import importlib.util
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
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

    def close(end: int) -> int:
        """Keep what is seen from ``start`` to ``end``; where the next sentence starts."""
        if body := text[start:end].rstrip():
            spans.append((start, start + len(body)))
        return _next_visible(text, max(start, end))

    for stop in _STOP.finditer(text):
        if stop["blank"] or stop["wide"] is not None:
            start = close(stop.end())
        elif _ends_sentence(text, start, stop, caseless):
            end = stop.end()
            quote = re.match(
                r"\s\"(?=\s|$)", text[end : end + 3]
            )  # set apart, it belongs to the sentence that opened it
            start = close(end + quote.end() if quote and text.count('"', start, end) % 2 else end)
    close(len(text))
    return spans


def sentence_texts(text: str) -> list[str]:
    """The sentences themselves."""
    return [text[start:end] for start, end in sentences(text)]


def _next_visible(text: str, position: int) -> int:
    visible = _VISIBLE.search(text, position)
    return visible.start() if visible else len(text)


def _ends_sentence(text: str, start: int, stop: re.Match[str], caseless: bool) -> bool:
    position, end = stop.span()
    following = _FIRST_WORD.match(text, end)
    after = following[1] if following else ""
    apart = position > start and text[position - 1].isspace()
    if apart and not stop["closers"] and stop["marks"] in {".", "?", "!"}:
        spaced_quote = re.match(r"\s(?:\"|''|”)\s", text[end : end + 4])
        return not (spaced_quote and after[:1].islower() and after not in STARTERS)
    if after[:1].islower() and not caseless:
        return False
    if stop["marks"] != "." or stop["closers"]:
        return True
    found = _LAST_WORD.search(text, max(start, position - 40), position)
    if found is None:
        return True
    word, folded = found[0], found[0].lower()
    if found.start() == start and word.isdigit() and len(word) <= 3 and after:
        return False  # "12. The town": a list number
    if folded in TITLES:
        return not after
    if folded in BEFORE_NUMBERS:
        return not after[:1].isdigit()
    if folded in EITHER or _ACRONYM.match(word) or (len(word) == 1 and word.isupper()):
        return not after or after.lower() in STARTERS
    return True


def full_stop_sentences(text: str) -> list[str]:
    """Cut at every full stop followed by a blank and nowhere else, as the released BBScore code does (sheng2024)."""
    return [piece for piece in re.split(r"(?<=\.) ", text.replace(".\n", ". ").strip()) if piece.strip(". ")]


def spacy_sentences(text: str) -> list[str]:
    """Sentences by the parser of spaCy's ``en_core_web_sm``, as massarelli2020 cut its texts."""
    return [piece for sentence in spacy_pipeline("en_core_web_sm")(text).sents if (piece := sentence.text.strip())]


@functools.cache
def spacy_pipeline(model: str) -> Any:
    """An installed pipeline of spaCy. Raises BadInput: spaCy or the model is not installed."""
    try:
        import spacy

        return spacy.load(model)
    except (ImportError, OSError) as error:
        raise BadInput(f"spaCy's model {model} is not installed ({error}); install it, or use rules") from error


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
    kinds = []
    for place, word in enumerate(_WORD.findall(sentence)):
        lower_case = not word[0].isupper() or (not place and word.lower() in CLOSED)
        kinds.append("number" if word[0].isdigit() else "word" if lower_case else "name")
    names = sum(kind == "name" and (not place or kinds[place - 1] != "name") for place, kind in enumerate(kinds))
    return names + kinds.count("number")


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


def grams(text: str) -> list[str]:
    """Lower-case words of a text, and pairs of them that follow each other."""
    found = [word.lower() for word in _WORD.findall(text)]
    return found + [f"{a} {b}" for a, b in itertools.pairwise(found)]


def mean_nats(sentences: Sequence[str], nats: Sequence[float], marks: Sequence[int]) -> list[float]:
    """Mean log-probability of the tokens of each sentence; nan for one without a token.

    ``nats`` and ``marks`` are of each token its log-probability and how many characters that are no blanks it has; a token belongs to the
    sentence, of those in reading order, in which its last such character stands.
    """
    ends = list(itertools.accumulate(len("".join(sentence.split())) for sentence in sentences))
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
