"""What is counted of the sentences of a generation (massarelli2020)."""

import importlib
import importlib.util
import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from longform.text.nouns import CLOSED

COORDINATORS = frozenset(["and", "or", "but", "nor", "yet"])
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
SECONDS = 5  # of one sentence under Link Grammar; a timeout counts as a failure


def entities(sentence: str) -> int:
    """How many names and numbers a sentence has; adjacent capitalised words are one name."""
    count = 0
    in_name = False
    for position, word in enumerate(_WORD.findall(sentence)):
        if word[0].isdigit():
            count += 1
            in_name = False
            continue
        # A function word that opens the sentence has its capital from there.
        opens = position == 0 and word.lower() in CLOSED
        is_name = word[0].isupper() and not opens
        count += is_name and not in_name
        in_name = is_name
    return count


def conjunctions(sentence: str) -> int:
    """How many coordinating words and conjuncts: each such word counts with the one behind it."""
    return 2 * sum(word.lower() in COORDINATORS for word in _WORD.findall(sentence))


def link_parser() -> Callable[[str], float]:
    """A function that says whether Link Grammar can parse a sentence.

    Returns:
        A function of a sentence that gives 1 or 0; nan if Link Grammar is not installed.
    """
    if importlib.util.find_spec("linkgrammar") is None:
        return lambda sentence: math.nan
    grammar: Any = importlib.import_module("linkgrammar")
    options = grammar.ParseOptions(max_null_count=0, max_parse_time=SECONDS, verbosity=0)
    dictionary = grammar.Dictionary("en")
    return lambda sentence: float(len(grammar.Sentence(sentence, dictionary, options).parse()) > 0)


def grams(text: str) -> list[str]:
    """The lower-case words of a text, then the pairs of adjacent words, each with a blank."""
    words = [word.lower() for word in _WORD.findall(text)]
    return words + [f"{first} {second}" for first, second in itertools.pairwise(words)]


def mean_nats(sentences: Sequence[str], nats: Sequence[float], marks: Sequence[int]) -> list[float]:
    """Mean log-probability of the tokens of each sentence.

    A token belongs to the sentence in which its last character stands that is no blank.

    Args:
        sentences: in reading order.
        nats: log-probability of each token.
        marks: how many characters that are no blanks each token has.

    Returns:
        One number a sentence, in nats a token; nan for one without a token.
    """
    # 1. Where each sentence ends, counted in characters that are no blanks.
    widths = [len("".join(sentence.split())) for sentence in sentences]
    ends = list(itertools.accumulate(widths))
    # 2. The tokens of each.
    sums, counts = [0.0] * len(ends), [0] * len(ends)
    position = sentence = 0
    for value, width in zip(nats, marks, strict=True):
        position += width
        while sentence < len(ends) and position > ends[sentence]:
            sentence += 1
        if sentence < len(ends):
            sums[sentence] += value
            counts[sentence] += 1
    means = []
    for total, count in zip(sums, counts, strict=True):
        means.append(total / count if count else math.nan)
    return means
