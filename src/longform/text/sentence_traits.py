"""What Table 4 and Figure 4 of massarelli2020 count in a sentence, by rules; the paper has spaCy's parser and entities.

Entities: runs of capitalised words (a first word alone only where no rule knows it as a common word), and numbers, since
spaCy's entities hold dates and quantities. Conjunctions: a coordinating word and the conjunct that it joins, two of
the dependency tree's relations. Link Grammar's verdict where its Python binding is installed.
"""

from __future__ import annotations

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

from longform.text.nouns import CLOSED

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
        """The product; zero for a page that does not exist."""
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
