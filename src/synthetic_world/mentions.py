r"""Mentions of persons as a Markov chain of order four over relabelled symbols: sample it.

Its Latent PPL exactly.

A symbol is a sentence stop ``.`` or a mention ``(tag, person)``. As in deng2022 section 4.4 the
persons of a window are renumbered 0, 1, ... by first appearance within it, and the next symbol
depends on the relabelled last four symbols alone. A sentence holds at most three mentions, so a
window always shows where in its sentence it stands. A pronoun always refers to the most recent
person of its gender, so chains can be read back from text by string rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate

import numpy as np

from synthetic_world.draws import Draws

STOP, BEGIN = (".", -1), ("<bos>", -1)
ORDER = 4
MAX_MENTIONS = 3  # per sentence
MALE, FEMALE, PLURAL = (
    "MALE",
    "FEMALE",
    "PLURAL",
)  # a name's tag is the majority gender of its chain (section 4.3)
GENDERS = (MALE, FEMALE, PLURAL)
SUBJECT = {
    MALE: "He",
    FEMALE: "She",
    PLURAL: "They",
}  # subjects open their sentence, so they are capitalised
OBJECT = {MALE: "him", FEMALE: "her", PLURAL: "them"}
POSSESSIVE = {MALE: "his", FEMALE: "her", PLURAL: "their"}
GENDER_OF = {form: g for forms in (SUBJECT, OBJECT, POSSESSIVE) for g, form in forms.items()} | {
    g: g for g in GENDERS
}
RETURN = (
    0.75  # a person new to the window has been met before with this probability, where there is one
)
PROTAGONIST = 0.6  # and is then the one met first
IN_OBJECT = (
    (OBJECT, 0.7),
    (POSSESSIVE, 0.3),
)  # shares of the pronouns that may follow a sentence's subject
FORMS = {"S": SUBJECT, "O": OBJECT, "P": POSSESSIVE}  # by role in the sentence
WRONG_GENDER = {MALE: FEMALE, FEMALE: MALE, PLURAL: MALE}
NEW_WEIGHT = {MALE: 0.45, FEMALE: 0.45, PLURAL: 0.12}

Symbol = tuple[str, int]
Window = tuple[Symbol, ...]
OPENING: Window = (BEGIN,) * (ORDER - 1) + (
    STOP,
)  # the window before the first mention of a document


@lru_cache(maxsize=100_000)
def relabel(window: Window) -> Window:
    """Renumber persons by first appearance in the window."""
    seen: dict[int, int] = {}
    return tuple(
        (tag, seen.setdefault(person, len(seen)) if person >= 0 else -1) for tag, person in window
    )


@dataclass(frozen=True)
class MentionProcess:
    """Settings of one kind of page; every weight is the world's own choice."""

    quiet: float  # probability that a sentence mentions nobody
    stop_after: tuple[float, float] = (
        0.5,
        0.75,
    )  # probability of a sentence's stop after one and after two mentions
    pronoun: float = 2.5  # weight of a pronoun against 1 for the name, where a pronoun is possible
    newcomer: float = 0.6  # weight of a person who is not in the window, against 1 for one who is
    opens_with_person: bool = (
        False  # the first sentence names a man or a woman, as on a page about a person
    )

    def distribution(self, window: Window) -> dict[Symbol, float]:
        """P(next symbol | relabelled last four symbols); a new person has the next free number."""
        place = next(i for i, s in enumerate((*reversed(window), STOP)) if s in (STOP, BEGIN))
        if window[-1] == BEGIN or place == MAX_MENTIONS or self.quiet == 1.0:
            return {STOP: 1.0}
        certain = self.opens_with_person and window == OPENING
        people = [(person, GENDER_OF[tag]) for tag, person in reversed(window) if person >= 0]
        latest = {
            gender: person for person, gender in reversed(people)
        }  # people begin with the latest
        genders = dict(people)
        inside = {person for _, person in window[len(window) - place :]}
        weights: dict[Symbol, float] = {}
        for rank, (person, gender) in enumerate(genders.items()):
            recency = 1.0 / (1 + rank)
            if person not in inside:
                weights[(gender, person)] = recency
            if latest[gender] == person:
                forms = (
                    ((SUBJECT, 1.0),)
                    if place == 0
                    else ((POSSESSIVE, 0.5),)
                    if person in inside
                    else IN_OBJECT
                )
                for form, share in forms:
                    symbol = (form[gender], person)
                    weights[symbol] = weights.get(symbol, 0.0) + self.pronoun * recency * share
        for gender, share in NEW_WEIGHT.items():
            if not (certain and gender == PLURAL):
                weights[(gender, len(genders))] = self.newcomer * share
        stop = (0.0 if certain else self.quiet, *self.stop_after)[place]
        total = sum(weights.values())
        return ({STOP: stop} if stop else {}) | {
            s: (1 - stop) * w / total for s, w in weights.items()
        }

    def sample(self, sentences: int, draws: Draws) -> list[Symbol]:
        """A chain of that many sentences; persons are numbered by first mention in the document."""
        window: list[Symbol] = [BEGIN] * ORDER
        chain: list[Symbol] = []
        genders: list[str] = []
        stops = 0
        while True:
            options, cumulative = _row(self, relabel(tuple(window)))
            tag, local = options[draws.index(cumulative)]
            if tag == ".":
                stops += 1
                if stops > sentences:
                    return chain
            person, present = (
                local,
                list(dict.fromkeys(person for _, person in window if person >= 0)),
            )
            if 0 <= local < len(present):
                person = present[local]
            elif local >= 0:  # new to the window, but perhaps met before it
                absent = [
                    p for p, gender in enumerate(genders) if gender == tag and p not in present
                ]
                if absent and draws.uniform() < RETURN:
                    person = absent[0] if draws.uniform() < PROTAGONIST else draws.pick(absent)
                else:
                    person = len(genders)
                    genders.append(tag)
            chain.append((tag, person))
            window = [*window[1:], (tag, person)]

    def latent_nll(self, sentences: Sequence[int]) -> tuple[float, float]:
        """Expected negative log probability (nats) and number of symbols of documents with these sentence counts.

        Conventions of deng2022 section 4.4: four begin symbols pad the left and are not scored, every stop is scored
        and counted, and there is no end symbol; a document closes where its next stop would stand. The mass of each
        window is carried from behind one stop to behind the next.
        """
        source, target, probability, stop = _edges(self)
        cost, states = -np.log(probability), int(target.max()) + 1
        behind: np.ndarray = np.zeros(states)
        behind[0] = 1.0
        totals = [(0.0, 0.0)]
        nats = symbols = 0.0
        for _ in range(max(sentences) + 1):
            mass, behind = behind, np.zeros(states)
            spent = count = stop_nats = 0.0
            for _ in range(MAX_MENTIONS + 1):
                moved = mass[source] * probability
                spent, count = spent + float((moved * cost).sum()), count + float(moved.sum())
                stop_nats += float((moved * cost)[stop].sum())
                behind += np.bincount(target[stop], moved[stop], states)
                mass = np.bincount(target[~stop], moved[~stop], states)
            totals.append((nats + spent - stop_nats, symbols + count - 1.0))
            nats, symbols = nats + spent, symbols + count
        return sum(totals[n + 1][0] for n in sentences), sum(totals[n + 1][1] for n in sentences)


@cache
def _row(process: MentionProcess, window: Window) -> tuple[list[Symbol], list[float]]:
    options = process.distribution(window)
    return list(options), list(accumulate(options.values()))


@cache
def _edges(process: MentionProcess) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Source, target, probability and stop of each transition between reachable windows.

    0 is a document's start.
    """
    queue: list[Window] = [(BEGIN,) * ORDER]
    index, edges = {queue[0]: 0}, []
    for window in queue:
        for symbol, probability in process.distribution(window).items():
            after = relabel((*window[1:], symbol))
            if after not in index:
                index[after] = len(queue)
                queue.append(after)
            edges.append((index[window], index[after], probability, symbol == STOP))
    source, target, probabilities, stop = map(np.array, zip(*edges, strict=True))
    return source, target, probabilities, stop
