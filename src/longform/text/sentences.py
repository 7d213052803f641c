"""The one definition of a sentence and of a section boundary, as character offsets into the text.

A sentence ends at a run of ``. ! ? …`` or their kin with the closing marks that follow, unless what
stands before or after speaks against it: an abbreviation, an initial, a list number, a comma, a
lower-case word. A blank line always ends one, a single line break never. Rules, no model;
abbreviations are English. ``benchmarks/sentences.py`` holds them to the gold sentences of Universal
Dependencies, beside other splitters.
"""

import functools
import hashlib
import itertools
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


# Words in small letters before a full stop that may end no sentence, from words.yaml.
TITLES = _listed("titles")  # never end one: "Dr."
BEFORE_NUMBERS = _listed("before_numbers")  # not before a number: "vol. 3"
EITHER = _listed("either")  # only before one of STARTERS: "Inc."
BEFORE_LOWER_CASE = _listed("before_lower_case")  # not before a lower-case word: "min."
STATES = _listed("states")  # after a comma as EITHER: "Hartford, Conn."
WEEKDAYS = _listed("weekdays")  # not before a date: "Mon. 3 May"
# None of them ends a sentence before a lower-case word.
ABBREVIATIONS = TITLES | BEFORE_NUMBERS | EITHER | BEFORE_LOWER_CASE | STATES | WEEKDAYS
# States, a time zone and names, in capitals, that in small letters are in TITLES: "ca.", "rt."
CODES = frozenset(["BP", "CA", "EST", "MT", "RT"])
# Other words that decide.
STARTERS = _listed("starters")  # usual first words of a sentence
MONTHS = _listed("months")  # their first three letters
CAPTIONS = _listed("captions")  # with a number they name what follows: "Figure 1."
LETTERED = _listed("lettered")  # a letter after one is no initial: "vitamin C."
EXCLAMATIVE = _listed("exclamative")  # names with an exclamation mark: "Yahoo!"
SPEECH_VERBS = _listed("speech_verbs")  # after a quotation and a name: '"Stop!" Mary said'
HONORIFICS = _listed("honorifics")  # before a name; they begin one after "p.m." or "Inc."

_CLOSERS = "\"'”’»›)\\]}」』】）》〉］"
# Of „...“, ‚...‘, »...« and ›...‹ in German. Before a blank none of these opens; behind a
# full-width stop, where no blank is needed, they do.
_GERMAN_CLOSERS = "“‘«‹"
_CLOSING_QUOTES = "\"'”’»›" + _GERMAN_CLOSERS
_OPENERS = "\"'“‘«‹([{„‚「『【¿¡-–—`"
_NEVER_FIRST = frozenset(",;:)]}%&/=，；：、）］】》」』")  # of a sentence
_LOWER, _UPPER = "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
# [12], [3, 4], [a], [note 2], [citation needed], [...]
_REFERENCE = r"""
    \[
    (?:
      \d{1,3}(?:\s?[,–-]\s?\d{1,3})*
      | [a-z]
      | (?:note|n)\s\d{1,3}
      | [a-z\s]{1,20}\sneeded
      | \.\.\.
      | …
    )
    \]
"""
_EMOTICON = r"(?: [:;=]['’]?-?[()DPpOo3|/\\]{1,9} | \^_{0,3}\^ | <3 )(?=\s|$)"
_STOP = re.compile(
    rf"""
    # a blank line
    (?P<blank>\n[^\S\n]*\n)

    # full-width stops need no space after them
    | [。！？｡](?P<wide>[。！？｡…{_CLOSERS}]*)

    # "it closed.They left": the space is missing
    | (?<=[{_LOWER}])(?P<glued>[.!?]+|…)(?=[{_UPPER}][{_LOWER}]*(?:['’][a-z]+)?[\s,])

    # . ! ? and runs, also ". . ." apart
    | (?<![.!?…])(?P<marks>[.!?…।॥؟۔።፧‽]++(?:\s[.!?…]++(?=\s|$))*)
      (?P<closers>(?:[{_CLOSERS}{_GERMAN_CLOSERS}]|\s(?:''|”|’’|»)(?=\s|$))*)
      # reference marks stay with their sentence
      (?:
        {_REFERENCE}
        | [¹²³⁰-⁹]
        | (?<=[{_LOWER})]\.)\d{{1,3}}(?:[,–-]\d{{1,3}})*(?=\s+[{_UPPER}])
      )*
      (?=\s|$)
      # also where a space stands before them
      (?:(?:\s+{_REFERENCE}\.?(?=\s|$))+(?!\s*[{_LOWER}]))?
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
# The sign of a list item with its stop, where a line begins or behind a colon.
_ITEM_LINE = re.compile(
    r"(?:^|: )[^\S\n]*[*#(]*(?:\d{1,3}(?:\.\d{1,3})*|[^\W\d_]|[IVX]+|[ivx]+)[.)]\s", re.MULTILINE
)
# A number in Roman numerals: "Henry VIII. was"
_ROMAN = re.compile(r"(?=.)M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_NUMBER = re.compile(r"(?=..)X{0,3}(?:IX|IV|V?I{0,3})")  # "I" is a word
_FIRST_WORD = re.compile(rf"[{re.escape(_OPENERS)}\s]{{0,20}}([^\W_]+)")
_NAME = rf"[{_UPPER}][\w’'.-]*"
# 'Uncle Sam asked'
_SPEAKER = re.compile(
    rf"\s*({_NAME})(?:\s+{_NAME}){{0,2}}\s+(?:{'|'.join(sorted(SPEECH_VERBS))})\b"
)
_BRACKET = re.compile(r"(?P<opening>(?<![^\s\"“(])[(\[](?=\S))|[)\]]")  # no emoticon opens one
_MOST_ASIDE = 400  # characters of a bracket within a sentence
_MOST_TITLE = 80  # characters of a quoted title
_MOST_ITEM = 1000  # characters of a list item without a stop
_QUOTES = {'"': '"', "“": "”", "«": "»"}
# "(1965)", or a bracket before a lower-case word
_ASIDE = re.compile(rf"\s*\((?:\d{{4}}\)|[^()\n]{{0,120}}\)\s+[{_LOWER}])")
_EMOJI = "[☀☹☺♥⚡✅✨❤⭐\U0001f1e6-\U0001faff]"
# With what changes or joins them; a blank may stand before the first.
_EMOJI_BEHIND = re.compile(rf"[^\S\n]?(?:{_EMOJI}[\ufe0f\u200d]*)+(?=\s|$)")
_BEGINS_WITH_EMOJI = re.compile(_EMOJI)
_BRACKET_APART = re.compile(r"\s[)\]](?=\s|$)")
_QUOTE_APART = re.compile(r"\s\"(?=\s|$)")
_CLOSING_QUOTE_APART = re.compile(r"\s(?:\"|''|”)\s")


# Cache: digest of a text -> its sentences' offsets: start, end, start, end, ...
_remembered: dict[bytes, "array[int]"] = {}


def sentences(text: str) -> list[tuple[int, int]]:
    """Half-open character offsets of the sentences of ``text``, in order.

    White space around a sentence is no part of it.
    """
    # Several critics cut the same texts, so results are cached.
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    offsets = _remembered.get(digest)
    if offsets is None:
        if len(_remembered) >= REMEMBERED:
            _remembered.clear()
        offsets = array("q", itertools.chain.from_iterable(_spans(text)))
        _remembered[digest] = offsets
    return list(zip(offsets[::2], offsets[1::2], strict=True))


def _spans(text: str) -> list[tuple[int, int]]:
    """Cut a text into sentences: :func:`sentences` without its cache."""
    caseless = text == text.lower()
    spans: list[tuple[int, int]] = []
    start = _next_visible(text, 0)
    for stop in _STOP.finditer(text):
        end = _sentence_end(text, start, stop, caseless)
        if end is None:
            continue
        if body := text[start:end].rstrip():
            spans.append((start, start + len(body)))
        # A blank line within the white space before ``start`` ends before it.
        start = _next_visible(text, max(start, end))
    if body := text[start:].rstrip():
        spans.append((start, start + len(body)))
    return spans


def _sentence_end(text: str, start: int, stop: re.Match[str], caseless: bool) -> int | None:
    """Where the sentence that begins at ``start`` ends if it ends at this stop, else None.

    Args:
        text: the whole text.
        start: of the sentence, a character offset.
        stop: a match of ``_STOP`` behind ``start``.
        caseless: whether the text has no capitals at all, so that a small letter says nothing of
            where sentences begin.
    """
    end = stop.end()
    if stop["blank"]:
        return end
    bracket = _BRACKET_APART.match(text, end)
    if bracket and _opens_with_bracket(text, start, end):
        end = bracket.end()
        following = _next_visible(text, end)
        goes_on = text[following : following + 1].islower() and not caseless
        return None if goes_on or _continues(text, end) else end
    if _continues(text, end):
        return None
    if stop["wide"] is not None:
        return end
    if stop["glued"]:
        return end if _ends_glued(text, start, stop) else None
    if not _ends_sentence(text, start, stop, caseless):
        return None
    # A closing quotation mark that is set apart belongs to the sentence that opened it.
    quote = _QUOTE_APART.match(text, end)
    if quote and text.count('"', start, end) % 2:
        end = quote.end()
        return None if _continues(text, end) else end
    # An emoji behind the stop belongs to the sentence, unless each sentence begins with one.
    emoji = _EMOJI_BEHIND.match(text, end)
    if emoji and not _BEGINS_WITH_EMOJI.match(text, start):
        return emoji.end()
    return end


def sentence_texts(text: str) -> list[str]:
    """The sentences of a text as strings."""
    return [text[start:end] for start, end in sentences(text)]


def _next_visible(text: str, position: int) -> int:
    """Offset of the next character from ``position`` on that is no white space; else the end."""
    visible = _VISIBLE.search(text, position)
    return visible.start() if visible else len(text)


def _last_visible(text: str, start: int, position: int) -> str:
    """The last character from ``start`` to ``position`` that is no white space, or nothing."""
    while position > start and text[position - 1].isspace():
        position -= 1
    return text[position - 1 : position] if position > start else ""


def _continues(text: str, end: int) -> bool:
    """Whether a stop is followed, in its paragraph, by a sign that begins no sentence: a comma.

    Nor does Japanese "と" behind a closing bracket begin one: it marks the bracket as a quotation.
    """
    following = _next_visible(text, end)
    if following == len(text) or _BLANK_LINE.match(text, end, following):
        return False
    return text[following] in _NEVER_FIRST or (text[end - 1] in "」』" and text[following] == "と")


def _opens_with_bracket(text: str, start: int, end: int) -> bool:
    """Whether a sentence opens with a bracket that is alone open where it ends.

    In tokenised text it is closed behind the stop and a blank: "( It rained . ) We left ."
    """
    if text[start] not in "([":
        return False
    opened = text.count("(", start, end) + text.count("[", start, end)
    closed = text.count(")", start, end) + text.count("]", start, end)
    return opened == closed + 1


def _ends_glued(text: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a stop without a space after it ends a sentence.

    It does between two plain words of which the second may begin a sentence: "it closed.They left",
    not "Node.Js".
    """
    # 1. The words on both sides; the left one is at least three letters and no abbreviation.
    position = stop.start()
    blank = max(text.rfind(" ", start, position), text.rfind("\n", start, position))
    left = text[max(blank + 1, start) : position].strip(_OPENERS)
    right = _LETTERS.match(text, stop.end())
    if len(left) < 3 or not left.isalpha() or left.lower() in ABBREVIATIONS or right is None:
        return False
    # 2. The right one is a usual first word, or the left one is in small letters and so is what
    # follows the right one, behind the blank: in a name both would have capitals.
    if right[0].lower() in STARTERS:
        return True
    return left.islower() and text[right.end() : right.end() + 2][1:].islower()


def _ends_sentence(text: str, start: int, stop: re.Match[str], caseless: bool) -> bool:
    """Whether a stop with white space or nothing after it ends a sentence.

    The first of these rules that has an answer decides.

    Args:
        text: the whole text.
        start: of the sentence, a character offset.
        stop: a match of ``_STOP``: marks, then quotation marks and brackets that close.
        caseless: as of :func:`_sentence_end`.
    """
    position, end = stop.span()
    marks, closers = stop["marks"], stop["closers"]
    first = _FIRST_WORD.match(text, end)
    after = first[1] if first else ""
    # the end of the text or of its paragraph
    if _next_visible(text, end) == len(text) or _BLANK_LINE.match(text, end):
        return True
    # a stop with a space before it comes from tokenised text
    apart = position > start and text[position - 1].isspace()
    if apart and not closers and marks in {".", "?", "!"}:
        spaced_quote = _CLOSING_QUOTE_APART.match(text, end)
        return not (spaced_quote and after[:1].islower() and after not in STARTERS)
    # before an aside, within a bracket or within a title the sentence goes on
    if _ASIDE.match(text, end):
        return False
    if not closers and (_in_bracket(text, start, position, end) or _in_title(text, start, stop)):
        return False
    if marks == "." and closers in {")", "]"} and text[start] not in "([":
        return _bracketed_word_ends(text, start, position, after)
    if marks == "." and not closers:
        return _full_stop_ends(text, start, position, end, after, caseless)
    if after[:1].islower() and not caseless:
        # "wait... and", '"Stop!" he said'; people who write "really? wow" write in lower case
        # throughout
        return set(marks) <= set("?!") and not closers and text[start].islower()
    # '"Stop!" Mary said'
    if any(closer in _CLOSING_QUOTES for closer in closers) and marks != ".":
        speaker = _SPEAKER.match(text, end)
        if speaker and (speaker[1] == "I" or speaker[1].lower() not in CLOSED):
            return False
    if marks == "!" and not closers:
        word = _LAST_WORD.search(text, max(start, position - 40), position)
        return word is None or word[0].lower() not in EXCLAMATIVE or after.lower() in STARTERS
    return True


def _in_bracket(text: str, start: int, position: int, end: int) -> bool:
    """Whether a stop stands in a bracket that opened within its sentence.

    "We left (it rained. It often did.) and slept" is one.
    """
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
    # 2. Whether all brackets that are open at the stop are closed in the same paragraph, those that
    # open after the stop as well.
    stop = opened[0] + _MOST_ASIDE
    blank_line = _BLANK_LINE.search(text, end, stop)
    depth = len(opened)
    for bracket in _BRACKET.finditer(text, end, blank_line.start() if blank_line else stop):
        depth += 1 if bracket["opening"] else -1
        if not depth:
            return True
    return False


def _bracketed_word_ends(text: str, start: int, position: int, after: str) -> bool:
    """Whether a bracket within a sentence ends it, by the word and full stop that it ends with.

    "Capt. (later Col.) Hall left" goes on, "(for Acme Inc.) The firm" and "(it rained.) We" do not.

    Args:
        text: the whole.
        start: of the sentence.
        position: of the full stop.
        after: the next word.
    """
    last_word = _LAST_WORD.search(text, max(start, position - 40), position)
    if last_word is None or after[:1].islower():
        return not after[:1].islower()
    word, folded = last_word[0], last_word[0].lower()
    if folded in TITLES and word not in CODES:
        return False
    if folded in EITHER or _ACRONYM.match(word):
        return after.lower() in STARTERS
    return True


def _in_title(text: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a stop stands in a title between quotation marks.

    'In the song "Gimme! Gimme!" she sings' holds one. What somebody says comes after a comma, a
    colon or a verb of speech, or begins the sentence.
    """
    if "." in stop["marks"]:
        return False
    position = stop.start()
    # 1. The nearest quotation mark before the stop that opens something.
    opening = _opening_quote(text, max(start, position - _MOST_TITLE), position)
    if opening is None:
        return False
    # 2. It is closed behind the stop, in the same line.
    closing = text.find(_QUOTES[text[opening]], opening + 1, opening + _MOST_TITLE)
    if closing < position or text[closing - 1].isspace() or "\n" in text[opening:closing]:
        return False
    # 3. It is no speech.
    before = _WORD_BEFORE.search(text, max(start, opening - 20), opening)
    if before is None or before[1].lower() in SPEECH_VERBS:
        return False
    # 4. All of its words but short ones begin with capitals.
    words = [word for word in _LETTERS.findall(text[opening:closing]) if len(word) > 3]
    return all(word[0].isupper() for word in words)


def _opening_quote(text: str, start: int, position: int) -> int | None:
    """The last quotation mark between ``start`` and ``position`` that opens something."""
    for i in range(position - 1, start, -1):
        if text[i] in _QUOTES and text[i - 1].isspace() and not text[i + 1].isspace():
            return i
    return None


def _full_stop_ends(
    text: str, start: int, position: int, end: int, after: str, caseless: bool
) -> bool:
    """Whether a single full stop at ``position`` ends a sentence.

    The word before it and the word ``after`` it decide, by the first of these rules that has an
    answer: what is special goes before what is general.

    Args:
        text: the whole text; the paragraph goes on behind ``end``.
        start: of the sentence, a character offset.
        position: offset of the full stop.
        end: offset behind the full stop and what belongs to it, such as reference marks.
        after: the next word, empty where none is near.
        caseless: as of :func:`_sentence_end`.
    """
    last_word = _LAST_WORD.search(text, max(start, position - 40), position)
    # no word right before it, but a blank, a quotation mark or an opening bracket
    if last_word is None:
        return not after[:1].islower() or caseless
    word, folded = last_word[0], last_word[0].lower()
    alone = last_word.start() == start
    acronym = bool(_ACRONYM.match(word))
    letter = len(word) == 1 and word.isalpha()
    # "12. The town", "b. The town", "P.S. We left": what a sentence is called is no sentence
    if alone and (_ITEM.match(word) or acronym):
        return False
    if _ITEM.match(word) and _in_list(text, start, last_word.start()):
        return False
    before = _WORD_BEFORE.search(text, max(start, last_word.start() - 20), last_word.start())
    noun = before[1].lower() if before else ""
    # "Figure 1. The town", "Table A. The town"
    numbered = word[0].isdigit() or (letter and word.isupper())
    if before and before.start() == start and noun in CAPTIONS and numbered:
        return False
    # "as follows: 1. The town"
    if word.isdigit() and len(word) <= 2 and _last_visible(text, start, last_word.start()) == ":":
        return False
    # "in Sacramento, CA. He left": capitals are a state's or a zone's, "ca. 1450" is none
    if folded in TITLES and (alone or word not in CODES):
        return False
    following = text[_next_visible(text, end)]
    number = following.isdigit() or _ROMAN_NUMBER.fullmatch(after) is not None
    # "No. 5", "Fig. 3", "vol. II"
    if folded in BEFORE_NUMBERS and number:
        return False
    # "on Wed. 5 May", "Mon. May 3"
    if word.istitle() and folded in WEEKDAYS and (number or after.lower()[:3] in MONTHS):
        return False
    capital = caseless or not after[:1].islower()
    starts = after.lower() in STARTERS and capital and following not in "-–—"
    # "at 6 p.m. Mr. Smith left" and "for Acme Inc. Mr. Smith left" are two,
    # "At 5 a.m. Mr. Smith left" is one
    if after.lower() in HONORIFICS and after[:1].isupper():
        starts = not (alone or _one_phrase(text[start:position]))
    # "for Acme Inc. The firm" ends, "Acme Inc. of Ohio" and "the U.S. Army" do not
    if folded in EITHER or acronym:
        return starts
    # "PORTLAND, Ore. -- Two men": a state behind a comma
    if word.istitle() and folded in STATES and _last_visible(text, start, last_word.start()) == ",":
        return starts
    if letter and word.isupper():
        # "of Vitamin C. Patients" ends, "by J. Smith" and "George W. Bush" do not
        return starts or (noun in LETTERED and not after[:1].islower())
    if letter and not caseless:
        # "plan b is off", "the c. 1450 map"; but "for 4 h. Then": a unit
        unit = _last_visible(text, start, last_word.start()).isdigit()
        return (starts or unit) and not number and not after[:1].islower()
    if after[:1].islower() and not caseless:
        # "it closed. they left" ends; after an abbreviation that is not listed, which seldom has a
        # vowel, it does not; nor does it after "Henry VIII."
        if _ROMAN.fullmatch(word):
            return False
        pronounced = bool(set(folded) & set("aeiouy")) or not word.isascii()
        return len(word) > 2 and word.isalpha() and folded not in ABBREVIATIONS and pronounced
    return True


def _in_list(text: str, start: int, position: int) -> bool:
    """Whether ``position`` begins a line of a list, below a line that begins with an item's sign.

    "1. One thing\\n2. Another" is a list whose items have no stops: its second number ends nothing.
    """
    line = text.rfind("\n", start, position) + 1
    if line <= start or text[line:position].strip():
        return False
    if _ITEM_LINE.match(text[start : start + 20]):
        return True
    return _ITEM_LINE.search(text, max(start, line - _MOST_ITEM), line) is not None


def _one_phrase(opening: str) -> bool:
    """Whether a sentence's opening is a preposition with its noun, as "In the U.S" is.

    It has at most six words and no comma.
    """
    words = opening.split()
    short = len(words) <= 6 and "," not in opening
    return short and CLOSED.get(words[0].lower()) == "preposition"


def full_stop_sentences(text: str) -> list[str]:
    """Cut at blank lines and every full stop that a blank follows (sheng2024, released code)."""
    pieces = []
    for paragraph in re.split(r"\n[^\S\n]*\n", text):
        pieces.extend(re.split(r"(?<=\.) ", paragraph.replace(".\n", ". ").strip()))
    return [piece for piece in pieces if piece.strip(". ")]


def spacy_sentences(text: str) -> list[str]:
    """Sentences by the parser of spaCy's ``en_core_web_sm``, as massarelli2020 cut its texts."""
    pieces = []
    for sentence in spacy_pipeline("en_core_web_sm")(text).sents:
        if piece := sentence.text.strip():
            pieces.append(piece)
    return pieces


@functools.cache
def spacy_pipeline(model: str) -> Any:
    """Load an installed spaCy model. Raises BadInput: spaCy or the model is not installed."""
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
    """Join sentences to a text that a splitter cuts into the same sentences.

    A blank joins two; a blank line does where the splitter would not cut at a blank.

    Args:
        pieces: sentences.
        splitter: a name in ``SPLITTERS``.
    """
    split = SPLITTERS[splitter]
    text = ""
    for before, piece in itertools.pairwise(["", *pieces]):
        if before:
            is_cut = len(split(f"{before} {piece}")) > len(split(before))
            text += " " if is_cut else PARAGRAPH_BREAK
        text += piece
    return text
