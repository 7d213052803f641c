"""Documents as word counts: which words are terms, and how often each term occurs in each document."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from longform.core.documents import BadInput, Document

# English function words, written for this project: words that every document uses, whatever its topic.
_ARTICLES = "a an the this that these those such same other another each every either neither both all any some no none"
_PRONOUNS = """i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves who whom whose which what whoever whatever whichever one
ones someone somebody something anyone anybody anything everyone everybody everything nobody nothing"""
_PREPOSITIONS = """about above across after against along alongside amid among amongst around as at before behind below
beneath beside besides between beyond by despite down during except for from in inside into like near of off on onto out
outside over past per since than through throughout till to toward towards under underneath until unto up upon versus via
with within without"""
_CONJUNCTIONS = """and but or nor so yet if unless although though because while whereas whether when whenever where
wherever why how once lest provided hence thus therefore however moreover furthermore nevertheless nonetheless otherwise
instead meanwhile then else"""
_VERBS = """am is are was were be been being do does did done doing have has had having can could may might must shall
should will would ought need dare get gets got getting let lets make makes made making go goes went gone going come comes
came coming take takes took taken say says said saying see seen seem seems seemed use used uses using become becomes
became give given gives know known knows"""
_SHORT_FORMS = """isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't cannot couldn't won't
wouldn't shouldn't mustn't i'm i've i'll i'd you're you've you'll he's she's it's we're we've we'll they're they've
they'll that's there's here's what's who's let's ain't"""
_ADVERBS = """again ago almost already also always anyway apart away back barely even ever far first further here
indeed just largely last least less likely mainly many maybe more most mostly much namely nearly never next not now often
only particularly perhaps possibly probably quite rather really several simply sometimes somewhat somewhere soon still
there together too twice usually very well whole etc eg ie viz vs et al few fewer little lot lots own able"""
_NUMBERS = "zero two three four five six seven eight nine ten second third half"

STOP_WORDS = frozenset(
    " ".join([_ARTICLES, _PRONOUNS, _PREPOSITIONS, _CONJUNCTIONS, _VERBS, _SHORT_FORMS, _ADVERBS, _NUMBERS]).split()
) | frozenset(string.ascii_lowercase)

# Where formulas went in Cohan et al.'s articles ("@xmath12"; authors' code), and LaTeX commands (ours).
FORMULAS = re.compile(r"xmath|\\[A-Za-z]", re.IGNORECASE)


@dataclass(frozen=True)
class TermCounts:
    """A document-term matrix by rows.

    Attributes:
        starts: (documents + 1,) int64, where each document's terms start.
        terms: (nonzeros,) int64 term numbers, each once per document.
        counts: (nonzeros,) float64 occurrences.
        size: number of terms in the vocabulary.
    """

    starts: np.ndarray
    terms: np.ndarray
    counts: np.ndarray
    size: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def tokens(self) -> np.ndarray:
        """(documents,) in-vocabulary tokens of each document."""
        return np.add.reduceat(np.append(self.counts, 0.0), self.starts[:-1]) * (np.diff(self.starts) > 0)

    def rows(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(terms, counts) of each document."""
        for first, last in zip(self.starts[:-1], self.starts[1:], strict=True):
            yield self.terms[first:last], self.counts[first:last]

    def take(self, documents: np.ndarray) -> TermCounts:
        """The numbered documents, in that order."""
        kept = [slice(self.starts[d], self.starts[d + 1]) for d in documents.tolist()]
        pairs = [(self.terms[part], self.counts[part]) for part in kept]
        return from_rows(pairs, self.size)


def from_rows(rows: Sequence[tuple[np.ndarray, np.ndarray]], size: int) -> TermCounts:
    """Pack (terms, counts) pairs, one per document."""
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms, _ in rows])]).astype(np.int64)
    terms = np.concatenate([np.zeros(0, np.int64), *(terms for terms, _ in rows)]).astype(np.int64)
    counts = np.concatenate([np.zeros(0), *(counts for _, counts in rows)]).astype(np.float64)
    return TermCounts(starts, terms, counts, size)


def words_of(document: Document) -> list[str]:
    """White-space tokens over all sections, case kept, punctuation kept (deng2022, released preprocessing)."""
    return " ".join(section.text for section in document.sections).split()


def build_vocabulary(
    documents: Iterable[Document],
    *,
    min_count: int = 5,
    max_share: float = 0.5,
    stop_words: Collection[str] = STOP_WORDS,
    formulas: re.Pattern[str] = FORMULAS,
) -> tuple[str, ...]:
    """Terms of a topic model, most frequent first, ties by first occurrence (deng2022, released preprocessing).

    Args:
        min_count: occurrences that a word needs in ``documents``.
        max_share: a word in this share of the documents or more is left out.
        stop_words: left out where the lower-cased word is one of these.
        formulas: left out where this matches inside the word.

    Raises:
        BadInput: fewer than two words are left.
    """
    totals: Counter[str] = Counter()
    spread: Counter[str] = Counter()
    size = 0
    for document in documents:
        found = words_of(document)
        totals.update(found)
        spread.update(set(found))
        size += 1
    kept = [w for w, n in totals.items() if n >= min_count and spread[w] < max_share * size]
    kept = [w for w in kept if w.lower() not in stop_words and not formulas.search(w)]
    if len(kept) < 2:
        raise BadInput(
            f"vocabulary: {len(kept)} of {len(totals)} words of {size} documents pass (at least {min_count} times, in "
            f"less than {max_share:.0%} of documents, no stop word), 2 or more are needed; add documents or lower "
            "min_count"
        )
    return tuple(sorted(kept, key=lambda word: -totals[word]))


def count_terms(
    documents: Iterable[Document],
    vocabulary: Sequence[str],
    words: Callable[[Document], list[str]] = words_of,
) -> tuple[TermCounts, np.ndarray]:
    """Counts of vocabulary words, and per document the number of tokens outside the vocabulary."""
    index = {word: number for number, word in enumerate(vocabulary)}
    rows, unknown = [], []
    for document in documents:
        found = words(document)
        counted = Counter(index[word] for word in found if word in index)
        rows.append((np.fromiter(counted, np.int64), np.fromiter(counted.values(), np.float64)))
        unknown.append(len(found) - sum(counted.values()))
    return from_rows(rows, len(vocabulary)), np.array(unknown, np.int64)
