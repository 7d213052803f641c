"""Whether a text is written in English, by its script and its function words.

The splitter's abbreviations, the nouns and the pronouns of this package are English. In a text of
another language they find something too, which means nothing.
"""

import re
from collections.abc import Sequence

from longform.text.nouns import CLOSED, LATIN, WORDS

MIN_WORDS = 30  # ours: in shorter texts function words decide nothing
# Ours. Of three sentences of Parallel UD the lowest share in English is .12; the highest in German,
# French and Spanish is .077.
MIN_ENGLISH = 0.07

# Words such as "in" and "was" are words of other languages too, and "die" of German.
_ENGLISH = frozenset(CLOSED) - frozenset(WORDS["other_languages"].split())
_NO_LETTERS = re.compile(r"[\W\d_]+")
_LATIN_WORD = re.compile(rf"[{LATIN}]+(?:['’][{LATIN}]+)*")


def english_share(text: str) -> float:
    """A number from 0 to 1 that says how English a text is.

    It is the share of its letters that are Latin, times the share of its Latin words that are
    function words of English and of no other language.

    Args:
        text: any text.

    Returns:
        0 to 1: about .3 in English prose, .15 in captions of pictures, .01 in German, French,
        Spanish and Czech, 0 in another script and in a text without letters.
    """
    words = _LATIN_WORD.findall(text)
    return latin_share(text) * _count_english_words(words) / len(words) if words else 0.0


def _count_english_words(words: Sequence[str]) -> int:
    """The number of words that are function words of English and of no other language here."""
    num_english = 0
    for word in words:
        num_english += word.lower().replace("’", "'") in _ENGLISH
    return num_english


def latin_share(text: str) -> float:
    """Share of the letters of ``text`` that are Latin; 1 where there is no letter."""
    letters = _NO_LETTERS.sub("", text)
    latin = "".join(_LATIN_WORD.findall(letters))
    return len(latin) / len(letters) if letters else 1.0


def looks_english(text: str) -> bool:
    """Whether a text is in English, as far as script and function words can tell.

    A text of fewer than ``MIN_WORDS`` words of Latin script passes if at least half of its letters
    are Latin.
    """
    latin = latin_share(text)
    if latin < 0.5:
        return False
    words = _LATIN_WORD.findall(text)
    if len(words) < MIN_WORDS:
        return True
    return latin * _count_english_words(words) / len(words) >= MIN_ENGLISH
