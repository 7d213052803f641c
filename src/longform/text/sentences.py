"""The one definition of a sentence and of a section boundary, as character offsets into the text.

A sentence ends at a run of ``. ! ? …`` or their kin with the closing marks that follow, unless what stands before or
after speaks against it: an abbreviation, an initial, a list number, a comma, a lower-case word. A blank line always
ends one, a single line break never. Rules, no model; abbreviations are English. ``benchmarks/sentences.py`` holds them
to the gold sentences of Universal Dependencies, beside other splitters."""

import functools
import hashlib
import importlib
import importlib.util
import itertools
import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longform.errors import BadInput
from longform.text.nouns import CLOSED, WORDS
from longform.text.paragraphs import PARAGRAPH_BREAK

REMEMBERED = 1 << 16  # texts whose sentences are kept, about 50 megabytes of articles


def _listed(name: str) -> frozenset[str]:
    return frozenset(WORDS[name].split())


TITLES, BEFORE_NUMBERS, EITHER, STARTERS = map(
    _listed, ("titles", "before_numbers", "either", "starters")
)
BEFORE_LOWER_CASE, STATES, WEEKDAYS, MONTHS = map(
    _listed, ("before_lower_case", "states", "weekdays", "months")
)
CAPTIONS, LETTERED, EXCLAMATIVE, SPEECH_VERBS = map(
    _listed, ("captions", "lettered", "exclamative", "speech_verbs")
)
HONORIFICS = _listed("honorifics")
ABBREVIATIONS = TITLES | BEFORE_NUMBERS | EITHER | BEFORE_LOWER_CASE | STATES | WEEKDAYS

CODES = frozenset(["CA", "EST", "MT"])  # words whose small letters are in TITLES

_CLOSERS = "\"'”’»›)\\]}」』】）》〉］"
_OPENERS = "\"'“‘«‹([{„‚「『【¿¡-–—`"
_NEVER_FIRST = frozenset(",;:)]}%&/=，；：、）］】》」』")  # no sentence begins with one of these
_LOWER, _UPPER = "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
_REFERENCE = r"""
    \[(?: \d{1,3}(?:\s?[,–-]\s?\d{1,3})* | [a-z] | (?:note|n)\s\d{1,3} | [a-z\s]{1,20}\sneeded | \.\.\. | … )\]
"""  # [12], [3, 4], [a], [note 2], [citation needed], [...]
_EMOTICON = r"(?: [:;=]['’]?-?[()DPpOo3|/\\]{1,9} | \^_{0,3}\^ | <3 )(?=\s|$)"
_STOP = re.compile(
    rf"""
    (?P<blank>\n[^\S\n]*\n)                                           # a blank line
    | [。！？｡](?P<wide>[。！？｡…{_CLOSERS}]*)                          # full-width stops need no space after them
    | (?<=[{_LOWER}])(?P<glued>[.!?]+|…)(?=[{_UPPER}][{_LOWER}]*(?:['’][a-z]+)?[\s,])  # "it closed.They left": the space is missing
    | (?<![.!?…])(?P<marks>[.!?…।॥؟۔።፧‽]++(?:\s[.!?…]++(?=\s|$))*)      # . ! ? and runs, also ". . ." apart
      (?P<closers>(?:[{_CLOSERS}]|\s(?:''|”|’’|»)(?=\s|$))*)
      (?:{_REFERENCE}|[¹²³⁰-⁹]|(?<=[{_LOWER})]\.)\d{{1,3}}(?:[,–-]\d{{1,3}})*(?=\s+[{_UPPER}]))*  # reference marks stay with their sentence
      (?=\s|$)
      (?:(?:\s+{_REFERENCE}\.?(?=\s|$))+(?!\s*[{_LOWER}]))?           # also where a space stands before them
      (?:\s?{_EMOTICON})*
    """,
    re.VERBOSE,
)
_VISIBLE = re.compile(r"\S")
_BLANK_LINE = re.compile(r"\s*?\n[^\S\n]*\n")
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘«—–/]+$")
_WORD_BEFORE = re.compile(r"([^\W\d_]+)\s+$")
_LETTERS = re.compile(r"[^\W\d_]+")
_ACRONYM = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}$")
_ITEM = re.compile(r"[*#(]*(?:\d{1,3}(?:\.\d{1,3})*|[^\W\d_]|[IVX]+|[ivx]+)$")
_FIRST_WORD = re.compile(rf"[{re.escape(_OPENERS)}\s]{{0,20}}([^\W_]+)")
_SPEAKER = re.compile(
    rf"\s*([{_UPPER}][\w’'.-]*)(?:\s+[{_UPPER}][\w’'.-]*){{0,2}}\s+(?:{'|'.join(sorted(SPEECH_VERBS))})\b"  # 'Uncle Sam asked'
)
_BRACKET = re.compile(r"(?P<opening>(?<![^\s\"“(])[(\[](?=\S))|[)\]]")  # no emoticon opens one
_MOST_ASIDE = 400  # characters of a bracket within a sentence
_MOST_TITLE = 80  # characters of a quoted title
_QUOTES = {'"': '"', "“": "”", "«": "»"}
_ASIDE = re.compile(
    rf"\s*\((?:\d{{4}}\)|[^()\n]{{0,120}}\)\s+[{_LOWER}])"
)  # "(1965)", or a bracket before a lower-case word


def sentences(text: str) -> list[tuple[int, int]]:
    """Half-open character offsets of the sentences of ``text``, in order, without surrounding white space."""
    # many a critic asks for the same texts: starts and ends by turns, under a digest of the text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    ends = _remembered.get(digest)
    if ends is None:
        if len(_remembered) >= REMEMBERED:
            _remembered.clear()
        ends = array("q", itertools.chain.from_iterable(_spans(text)))
        _remembered[digest] = ends
    one_by_one = iter(ends)
    return list(zip(one_by_one, one_by_one, strict=True))


_remembered: dict[bytes, "array[int]"] = {}


def _spans(text: str) -> list[tuple[int, int]]:
    """As :func:`sentences`."""
    caseless = text == text.lower()
    spans: list[tuple[int, int]] = []
    start = _next_visible(text, 0)

    def close(end: int) -> int:
        """Keep what is seen from ``start`` to ``end``; where the next sentence starts."""
        if body := text[start:end].rstrip():
            spans.append((start, start + len(body)))
        return _next_visible(text, max(start, end))

    for stop in _STOP.finditer(text):
        if stop["blank"]:
            start = close(stop.end())
        elif _continues(text, stop.end()):
            continue
        elif stop["wide"] is not None:
            start = close(stop.end())
        elif stop["glued"]:
            if _ends_glued(text, start, stop):
                start = close(stop.end())
        elif _ends_sentence(text, start, stop, caseless):
            end = stop.end()
            quote = re.match(r"\s\"(?=\s|$)", text[end : end + 3])
            if (
                quote and text.count('"', start, end) % 2
            ):  # set apart, it belongs to the sentence that opened it
                end += quote.end()
                if _continues(text, end):
                    continue
            start = close(end)
    close(len(text))
    return spans


def sentence_texts(text: str) -> list[str]:
    """The sentences themselves."""
    return [text[start:end] for start, end in sentences(text)]


def _next_visible(text: str, position: int) -> int:
    visible = _VISIBLE.search(text, position)
    return visible.start() if visible else len(text)


def _last_visible(text: str, start: int, position: int) -> str:
    """The last character from ``start`` to ``position`` that is no white space; empty where there is none."""
    while position > start and text[position - 1].isspace():
        position -= 1
    return text[position - 1 : position] if position > start else ""


def _continues(text: str, end: int) -> bool:
    """Whether what follows a stop in the same paragraph cannot begin a sentence: a comma, a closing bracket."""
    following = _next_visible(text, end)
    if following == len(text) or _BLANK_LINE.match(text, end, following):
        return False
    return text[following] in _NEVER_FIRST or (text[end - 1] in "」』" and text[following] == "と")


def _ends_glued(text: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a stop without a space after it ends a sentence: two plain words, the second one that begins sentences."""
    token_start = (
        max(text.rfind(" ", start, stop.start()), text.rfind("\n", start, stop.start())) + 1
    )
    left = text[max(token_start, start) : stop.start()].strip(_OPENERS)
    right = _LETTERS.match(text, stop.end())
    if len(left) < 3 or not left.isalpha() or left.lower() in ABBREVIATIONS or right is None:
        return False
    if right[0].lower() in STARTERS:
        return True
    return left.islower() and text[right.end() : right.end() + 2][1:].islower()


def _ends_sentence(text: str, start: int, stop: re.Match[str], caseless: bool) -> bool:
    """Whether a stop with white space or nothing after it ends the sentence that begins at ``start``."""
    position, end = stop.span()
    marks, closers = stop["marks"], stop["closers"]
    first = _FIRST_WORD.match(text, end)
    after = first[1] if first else ""
    if _next_visible(text, end) == len(text) or _BLANK_LINE.match(text, end):
        return True
    # a stop with a space before it comes from tokenised text
    apart = position > start and text[position - 1].isspace()
    if apart and not closers and marks in {".", "?", "!"}:
        spaced_quote = re.match(r"\s(?:\"|''|”)\s", text[end : end + 4])
        return not (spaced_quote and after[:1].islower() and after not in STARTERS)
    if _ASIDE.match(text, end):
        return False
    if not closers and (_in_bracket(text, start, position, end) or _in_title(text, start, stop)):
        return False
    if marks == "." and not closers:
        return _full_stop_ends(text, start, position, end, after, caseless)
    if after[:1].islower() and not caseless:
        # "wait... and", '"Stop!" he said'; people who write "really? wow" write in lower case throughout
        return set(marks) <= set("?!") and not closers and text[start].islower()
    # '"Stop!" Mary said'
    if any(closer in "\"'”’»" for closer in closers) and marks != ".":
        speaker = _SPEAKER.match(text, end)
        if speaker and (speaker[1] == "I" or speaker[1].lower() not in CLOSED):
            return False
    if marks == "!" and not closers:
        word = _LAST_WORD.search(text, max(start, position - 40), position)
        return word is None or word[0].lower() not in EXCLAMATIVE or after.lower() in STARTERS
    return True


def _in_bracket(text: str, start: int, position: int, end: int) -> bool:
    """Whether a stop stands in a bracket that opened within its sentence: "we left (it rained. It often did.) and slept"."""
    begin = max(start, position - _MOST_ASIDE)
    if text.find("(", begin, position) < 0 and text.find("[", begin, position) < 0:
        return False
    # 1. The outermost bracket that is open at the stop.
    opened: list[int] = []
    for bracket in _BRACKET.finditer(text, begin, position):
        if bracket["opening"]:
            opened.append(bracket.start())
        elif opened:
            opened.pop()
    if not opened or opened[0] == start:
        return False
    # 2. Whether it is closed in the same paragraph, not only those that open after the stop.
    stop = opened[0] + _MOST_ASIDE
    blank_line = _BLANK_LINE.search(text, end, stop)
    depth = len(opened)
    for bracket in _BRACKET.finditer(text, end, blank_line.start() if blank_line else stop):
        depth += 1 if bracket["opening"] else -1
        if not depth:
            return True
    return False


def _in_title(text: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a stop stands in a title between quotation marks: 'in the song "Gimme! Gimme!" she sings'.

    What somebody says comes after a comma, a colon or a verb of speech, or begins the sentence.
    """
    if "." in stop["marks"]:
        return False
    position = stop.start()
    for place in range(position - 1, max(start, position - _MOST_TITLE), -1):
        quote = text[place]
        if quote in _QUOTES and text[place - 1].isspace() and not text[place + 1].isspace():
            break
    else:
        return False
    closing = text.find(_QUOTES[quote], place + 1, place + _MOST_TITLE)
    if closing < position or text[closing - 1].isspace() or "\n" in text[place:closing]:
        return False
    before = _WORD_BEFORE.search(text, max(start, place - 20), place)
    if before is None or before[1].lower() in SPEECH_VERBS:
        return False
    words = [word for word in _LETTERS.findall(text[place:closing]) if len(word) > 3]
    return all(word[0].isupper() for word in words)


def _full_stop_ends(
    text: str, start: int, position: int, end: int, after: str, caseless: bool
) -> bool:
    """Whether a single full stop at ``position`` ends a sentence, by the word before it and the word ``after`` it."""
    last_word = _LAST_WORD.search(text, max(start, position - 40), position)
    if last_word is None:
        return not after[:1].islower() or caseless
    word, folded = last_word[0], last_word[0].lower()
    alone = last_word.start() == start
    acronym = bool(_ACRONYM.match(word))
    letter = len(word) == 1 and word.isalpha()
    # "12. The town", "b. The town", "P.S. We left": what a sentence is called is no sentence
    if alone and (_ITEM.match(word) or acronym):
        return False
    before = _WORD_BEFORE.search(text, max(start, last_word.start() - 20), last_word.start())
    # "Figure 1. The town"
    if before and before.start() == start and before[1].lower() in CAPTIONS and word[0].isdigit():
        return False
    # "as follows: 1. The town"
    if word.isdigit() and len(word) <= 2 and _last_visible(text, start, last_word.start()) == ":":
        return False
    # "in Sacramento, CA. He left": capitals are a state's or a zone's, "ca. 1450" is none
    if folded in TITLES and (alone or word not in CODES):
        return False
    following = text[_next_visible(text, end)]
    number = following.isdigit()
    if folded in BEFORE_NUMBERS and number:
        return False
    if word.istitle() and folded in WEEKDAYS and (number or after.lower()[:3] in MONTHS):
        return False
    starts = (
        after.lower() in STARTERS
        and (caseless or not after[:1].islower())
        and following not in "-–—"
    )
    # "at 6 p.m. Mr. Smith left" and "for Acme Inc. Mr. Smith left" are two, "At 5 a.m. Mr. Smith left" is one
    if after.lower() in HONORIFICS and after[:1].isupper():
        starts = not (alone or _one_phrase(text[start:position]))
    if folded in EITHER or acronym:
        return starts
    if word.istitle() and folded in STATES and _last_visible(text, start, last_word.start()) == ",":
        return starts
    if letter and word.isupper():
        # "vitamin C. Patients" ends, "by J. Smith" and "George W. Bush" do not
        return starts or (before is not None and before[1] in LETTERED and not after[:1].islower())
    if letter and not caseless:
        # "plan b is off", "the c. 1450 map"; but "for 4 h. Then": a unit
        unit = _last_visible(text, start, last_word.start()).isdigit()
        return (starts or unit) and not number and not after[:1].islower()
    if after[:1].islower() and not caseless:
        # "it closed. they left" ends; after an abbreviation that is not listed, which seldom has a vowel, it does not
        pronounced = bool(set(folded) & set("aeiouy")) or not word.isascii()
        return len(word) > 2 and word.isalpha() and folded not in ABBREVIATIONS and pronounced
    return True


def _one_phrase(opening: str) -> bool:
    """Whether the words that open a sentence are a preposition and what belongs to it: "In the U.S"."""
    words = opening.split()
    short = len(words) <= 6 and "," not in opening
    return short and CLOSED.get(words[0].lower()) == "preposition"


def full_stop_sentences(text: str) -> list[str]:
    """Cut at blank lines and every full stop followed by a blank, as the released BBScore code does (sheng2024)."""
    pieces = []
    for paragraph in re.split(r"\n[^\S\n]*\n", text):
        pieces.extend(re.split(r"(?<=\.) ", paragraph.replace(".\n", ". ").strip()))
    return [piece for piece in pieces if piece.strip(". ")]


def spacy_sentences(text: str) -> list[str]:
    """Sentences by the parser of spaCy's ``en_core_web_sm``, as massarelli2020 cut its texts."""
    return [
        piece
        for sentence in spacy_pipeline("en_core_web_sm")(text).sents
        if (piece := sentence.text.strip())
    ]


@functools.cache
def spacy_pipeline(model: str) -> Any:
    """An installed pipeline of spaCy. Raises BadInput: spaCy or the model is not installed."""
    try:
        import spacy

        return spacy.load(model)
    except (ImportError, OSError) as error:
        raise BadInput(
            f"spaCy's model {model} is not installed ({error}); install it, or use rules"
        ) from error


SPLITTERS: Mapping[str, Callable[[str], list[str]]] = {
    "full_stops": full_stop_sentences,
    "rules": sentence_texts,
    "spacy": spacy_sentences,
}


def joined(pieces: Sequence[str], splitter: str) -> str:
    """A text whose sentences are ``pieces``: one blank between two, a blank line where they would read as one."""
    split = SPLITTERS[splitter]
    text = ""
    for before, piece in itertools.pairwise(["", *pieces]):
        if before:
            text += " " if len(split(f"{before} {piece}")) > len(split(before)) else PARAGRAPH_BREAK
        text += piece
    return text


COORDINATORS = frozenset(["and", "or", "but", "nor", "yet"])
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
SECONDS = 5  # of one sentence under Link Grammar; a timeout counts as a failure


def entities(sentence: str) -> int:
    """Names and numbers in a sentence."""
    kinds = []
    for place, word in enumerate(_WORD.findall(sentence)):
        lower_case = not word[0].isupper() or (not place and word.lower() in CLOSED)
        kinds.append("number" if word[0].isdigit() else "word" if lower_case else "name")
    names = sum(
        kind == "name" and (not place or kinds[place - 1] != "name")
        for place, kind in enumerate(kinds)
    )
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
