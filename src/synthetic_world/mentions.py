r"""Mentions of persons as a Markov chain of order four over relabelled symbols.

It is sampled, and its Latent PPL is exact.

A symbol is a sentence stop ``.`` or a mention ``(tag, person)``. As in deng2022 section 4.4 the
persons of a window are renumbered 0, 1, ... by first appearance within it, and the next symbol
depends on the relabelled last four symbols alone. A sentence holds at most three mentions, so a
window always shows where in its sentence it stands. A pronoun always refers to the most recent
person of its gender, so chains can be read back from text by string rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate

import numpy as np

from synthetic_world.draws import Draws

STOP, BEGIN = (".", -1), ("<bos>", -1)
ORDER = 4
MAX_MENTIONS = 3  # per sentence
# A name's tag is the majority gender of its chain (section 4.3).
MALE, FEMALE, PLURAL = "MALE", "FEMALE", "PLURAL"
GENDERS = (MALE, FEMALE, PLURAL)
# Subjects open their sentence, so they are capitalised.
SUBJECT = {MALE: "He", FEMALE: "She", PLURAL: "They"}
OBJECT = {MALE: "him", FEMALE: "her", PLURAL: "them"}
POSSESSIVE = {MALE: "his", FEMALE: "her", PLURAL: "their"}
GENDER_OF = {gender: gender for gender in GENDERS}  # of each tag
for _forms in (SUBJECT, OBJECT, POSSESSIVE):
    for _gender, _form in _forms.items():
        GENDER_OF[_form] = _gender
# A person new to the window has been met before with this probability, where there is one.
RETURN = 0.75
PROTAGONIST = 0.6  # and is then the one met first
# Shares of the pronouns that may follow a sentence's subject.
IN_OBJECT = ((OBJECT, 0.7), (POSSESSIVE, 0.3))
FORMS = {"S": SUBJECT, "O": OBJECT, "P": POSSESSIVE}  # by role in the sentence
WRONG_GENDER = {MALE: FEMALE, FEMALE: MALE, PLURAL: MALE}
NEW_WEIGHT = {MALE: 0.45, FEMALE: 0.45, PLURAL: 0.12}

Symbol = tuple[str, int]
Window = tuple[Symbol, ...]
# The window before the first mention of a document.
OPENING: Window = (BEGIN,) * (ORDER - 1) + (STOP,)


@lru_cache(maxsize=100_000)
def relabel(window: Window) -> Window:
    """Renumber persons by first appearance in the window."""
    numbers: dict[int, int] = {}
    relabelled = []
    for tag, person in window:
        local = numbers.setdefault(person, len(numbers)) if person >= 0 else -1
        relabelled.append((tag, local))
    return tuple(relabelled)


@dataclass(frozen=True)
class MentionProcess:
    """Settings of one kind of page; every weight is the world's own choice.

    Attributes:
        quiet: probability that a sentence mentions nobody.
        stop_after: probability of a sentence's stop after one and after two mentions.
        pronoun: weight of a pronoun against 1 for the name, where a pronoun is possible.
        newcomer: weight of a person who is not in the window, against 1 for one who is.
        opens_with_person: the first sentence names a man or a woman, as on a page about a person.
    """

    quiet: float
    stop_after: tuple[float, float] = (0.5, 0.75)
    pronoun: float = 2.5
    newcomer: float = 0.6
    opens_with_person: bool = False

    def distribution(self, window: Window) -> dict[Symbol, float]:
        """P(next symbol | relabelled last four symbols), by symbol.

        A person who is not in the window has the next free number.
        """
        # 1. Mentions of the sentence so far.
        num_mentions = 0
        for symbol in reversed(window):
            if symbol in (STOP, BEGIN):
                break
            num_mentions += 1
        if window[-1] == BEGIN or num_mentions == MAX_MENTIONS or self.quiet == 1.0:
            return {STOP: 1.0}
        # 2. Weights of persons of the window, then of a new one.
        weights = self._known_persons(window, num_mentions)
        num_persons = len({person for _, person in window if person >= 0})
        opens = self.opens_with_person and window == OPENING
        for gender, share in NEW_WEIGHT.items():
            if not (opens and gender == PLURAL):
                weights[gender, num_persons] = self.newcomer * share
        # 3. The stop has a probability of its own.
        stop = (0.0 if opens else self.quiet, *self.stop_after)[num_mentions]
        probabilities = {STOP: stop} if stop else {}
        total = sum(weights.values())
        for symbol, weight in weights.items():
            probabilities[symbol] = (1 - stop) * weight / total
        return probabilities

    def _known_persons(self, window: Window, num_mentions: int) -> dict[Symbol, float]:
        """Unnormalised weights of mentions of the persons of a window, by symbol.

        Args:
            window: relabelled.
            num_mentions: how many of its last symbols are mentions of the current sentence, in
                which a person is not named twice.
        """
        # 1. Persons by their last mention, the latest first, and who was last of each gender.
        genders: dict[int, str] = {}
        latest: dict[str, int] = {}
        for tag, person in reversed(window):
            if person >= 0:
                genders[person] = GENDER_OF[tag]
                latest.setdefault(GENDER_OF[tag], person)
        inside = {person for _, person in window[len(window) - num_mentions :]}
        # 2. By name, or by a pronoun where it is clear whom it means.
        weights: dict[Symbol, float] = {}
        for rank, (person, gender) in enumerate(genders.items()):
            recency = 1.0 / (1 + rank)
            if person not in inside:
                weights[gender, person] = recency
            if latest[gender] != person:
                continue
            for form, share in _pronouns(num_mentions == 0, person in inside):
                symbol = (form[gender], person)
                weights[symbol] = weights.get(symbol, 0.0) + self.pronoun * recency * share
        return weights

    def sample(self, sentences: int, draws: Draws) -> list[Symbol]:
        """Draw a chain of ``sentences`` sentences, persons numbered by first mention in it."""
        window: list[Symbol] = [BEGIN] * ORDER
        # A stop opens each sentence, so the chain ends before the stop that would open another.
        chain: list[Symbol] = []
        genders: list[str] = []  # of each person
        stops = 0
        while True:
            options, cumulative = _row(self, relabel(tuple(window)))
            tag, local = options[draws.index(cumulative)]
            if tag == ".":
                stops += 1
                if stops > sentences:
                    return chain
            person = local
            if local >= 0:
                person = _person(tag, local, window, genders, draws)
            chain.append((tag, person))
            window = [*window[1:], (tag, person)]

    def latent_nll(self, sentences: Sequence[int]) -> tuple[float, float]:
        """Exact expected negative log-probability and number of symbols of documents.

        A symbol is a mention or the stop that opens a sentence; the next one depends on the window
        of the last four. As deng2022 section 4.4 counts: the four begin symbols of the first window
        are not scored, every stop is, and no symbol ends a document: it ends where the stop of one
        sentence more would stand.

        Args:
            sentences: the number of sentences of each document.

        Returns:
            Expected nats and expected symbols, each summed over all documents.
        """
        # 1. The graph of windows. ``behind`` is the probability of each window just after the most
        #    recent stop, (windows,): at first that of window 0, which the begin symbols fill.
        source, target, probability, stop = _edges(self)
        cost = -np.log(probability)
        states = int(target.max()) + 1
        behind: np.ndarray = np.zeros(states)
        behind[0] = 1.0
        # 2. Each round carries all probability to the next stop, at most MAX_MENTIONS + 1 symbols
        #    on; the first has the opening stop alone. Round n + 1 ends with a stop that a document
        #    of n sentences lacks: totals[n] leaves it out.
        totals: list[tuple[float, float]] = []
        nats = symbols = 0.0
        for _ in range(max(sentences) + 1):
            mass, behind = behind, np.zeros(states)
            spent = count = stop_nats = 0.0
            for _ in range(MAX_MENTIONS + 1):
                moved = mass[source] * probability
                spent += float((moved * cost).sum())
                count += float(moved.sum())
                stop_nats += float((moved * cost)[stop].sum())
                behind += np.bincount(target[stop], moved[stop], states)
                mass = np.bincount(target[~stop], moved[~stop], states)
            totals.append((nats + spent - stop_nats, symbols + count - 1.0))
            nats += spent
            symbols += count
        # 3. Over all documents.
        all_nats = all_symbols = 0.0
        for num_sentences in sentences:
            document_nats, document_symbols = totals[num_sentences]
            all_nats += document_nats
            all_symbols += document_symbols
        return all_nats, all_symbols


Forms = tuple[tuple[Mapping[str, str], float], ...]  # a pronoun by gender, and its share


def _pronouns(opens: bool, inside: bool) -> Forms:
    """The pronouns that a mention may be, with their shares.

    Args:
        opens: whether it opens its sentence.
        inside: whether the sentence has mentioned the person.
    """
    if opens:
        return ((SUBJECT, 1.0),)
    return ((POSSESSIVE, 0.5),) if inside else IN_OBJECT


def _person(
    tag: str, local: int, window: Sequence[Symbol], genders: list[str], draws: Draws
) -> int:
    """The number in the document of a person with a number in a window.

    A person who is new to the window may have been mentioned before it.

    Args:
        tag: of the mention.
        local: the person's number in the relabelled window.
        window: with numbers in the document.
        genders: of all persons of the document, to which a new one is added.
        draws: of the document.
    """
    present = list(dict.fromkeys(person for _, person in window if person >= 0))
    if local < len(present):
        return present[local]
    absent = []  # of this gender, met before the window; the first one met leads
    for person, gender in enumerate(genders):
        if gender == tag and person not in present:
            absent.append(person)
    if absent and draws.uniform() < RETURN:
        return absent[0] if draws.uniform() < PROTAGONIST else draws.pick(absent)
    genders.append(tag)
    return len(genders) - 1


@cache
def _row(process: MentionProcess, window: Window) -> tuple[list[Symbol], list[float]]:
    """The possible next symbols after a window, and their cumulative probabilities."""
    options = process.distribution(window)
    return list(options), list(accumulate(options.values()))


@cache
def _edges(process: MentionProcess) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All transitions between windows that can be reached from a document's start, window 0.

    Returns:
        For each transition, (transitions,): the indices of its source and target window, its
        probability, and whether its symbol is a stop.
    """
    queue: list[Window] = [(BEGIN,) * ORDER]
    index = {queue[0]: 0}
    edges: list[tuple[int, int, float, bool]] = []
    for window in queue:
        for symbol, probability in process.distribution(window).items():
            after = relabel((*window[1:], symbol))
            if after not in index:
                index[after] = len(queue)
                queue.append(after)
            edges.append((index[window], index[after], probability, symbol == STOP))
    source, target, probabilities, stop = map(np.array, zip(*edges, strict=True))
    return source, target, probabilities, stop
