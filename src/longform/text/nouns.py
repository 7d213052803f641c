"""Nouns and their roles by rules, and the singular of a noun by suffix rules and lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from longform.text.lexicon import Lexicon


def _pairs(block: str) -> dict[str, str]:
    words = block.split()
    return dict(zip(words[::2], words[1::2], strict=True))


IRREGULAR = _pairs(
    """
    men man women woman children child feet foot teeth tooth geese goose mice mouse lice louse oxen ox
    analyses analysis hypotheses hypothesis theses thesis diagnoses diagnosis prognoses prognosis crises crisis
    syntheses synthesis parentheses parenthesis oases oasis axes axis metastases metastasis neuroses neurosis
    criteria criterion phenomena phenomenon appendices appendix matrices matrix vertices vertex indices index
    curricula curriculum bacteria bacterium strata stratum errata erratum addenda addendum alumni alumnus
    nuclei nucleus stimuli stimulus fungi fungus foci focus genera genus corpora corpus formulae formula
    antennae antenna larvae larva vertebrae vertebra
    movies movie cookies cookie calories calorie prairies prairie zombies zombie rookies rookie ties tie pies pie
    lives life wives wife knives knife wolves wolf halves half leaves leaf shelves shelf thieves thief
    selves self calves calf loaves loaf scarves scarf hooves hoof
    buses bus viruses virus campuses campus statuses status gases gas lenses lens biases bias atlases atlas
    canvases canvas bonuses bonus censuses census choruses chorus circuses circus
    heroes hero potatoes potato tomatoes tomato echoes echo volcanoes volcano mosquitoes mosquito cargoes cargo
    vetoes veto embargoes embargo mottoes motto tornadoes tornado torpedoes torpedo
    caches cache niches niche headaches headache quizzes quiz
    statistics statistic demographics demographic ethics ethic tactics tactic graphics graphic
    specimens specimen abdomens abdomen regimens regimen
    """
)  # plural, singular
UNCHANGED = frozenset(
    [
        "series",
        "species",
        "news",
        "physics",
        "politics",
        "economics",
        "mathematics",
        "athletics",
        "gymnastics",
        "genetics",
        "linguistics",
        "electronics",
        "logistics",
        "robotics",
        "aerobics",
        "acoustics",
        "dynamics",
        "mechanics",
        "optics",
        "kinetics",
        "thermodynamics",
        "hydrodynamics",
        "headquarters",
        "barracks",
        "crossroads",
        "means",
        "perhaps",
        "always",
        "besides",
        "sometimes",
        "towards",
        "afterwards",
        "as",
        "is",
        "was",
        "has",
        "his",
        "its",
        "this",
        "thus",
        "us",
        "plus",
        "versus",
        "yes",
        "does",
        "specimen",
        "abdomen",
        "regimen",
        "omen",
        "acumen",
        "stamen",
        "chaos",
        "canvas",
        "atlas",
        "alias",
        "gas",
        "bias",
        "christmas",
        "texas",
        "arkansas",
        "kansas",
        "lens",
        "mars",
        "paris",
        "overseas",
        "whereas",
        "corps",
        "debris",
        "chassis",
        "apropos",
        "pathos",
        "ethos",
        "kudos",
    ]
)  # nouns and function words whose last s is no plural
AMERICAN = _pairs(
    """
    acknowledgement acknowledgment honour honor colour color behaviour behavior labour labor neighbour neighbor
    neighbourhood neighborhood favour favor harbour harbor rumour rumor humour humor tumour tumor armour armor
    organisation organization organisational organizational characterisation characterization realisation realization
    optimisation optimization generalisation generalization visualisation visualization randomisation randomization
    normalisation normalization localisation localization colonisation colonization hospitalisation hospitalization
    industrialisation industrialization modernisation modernization nationalisation nationalization
    privatisation privatization specialisation specialization stabilisation stabilization utilisation utilization
    centre center theatre theater metre meter kilometre kilometer litre liter fibre fiber
    defence defense offence offense licence license programme program catalogue catalog dialogue dialog
    judgement judgment travelling traveling modelling modeling labelling labeling aeroplane airplane
    anaesthesia anesthesia aetiology etiology haematology hematology oesophagus esophagus paediatric pediatric
    gynaecology gynecology orthopaedic orthopedic mediaeval medieval grey gray storey story artefact artifact
    manoeuvre maneuver sulphur sulfur aluminium aluminum tyre tire
    """
)  # the paper gives acknowledgement -> acknowledgment as its one example (deng2022 section 4); the rest is ours


def lemma(word: str) -> str:
    """The singular of a lower-case English noun; any other word comes back as it is."""
    head, hyphen, last = word.rpartition("-")
    return head + hyphen + _singular(last)


def _singular(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in UNCHANGED or len(word) <= 3 or not word.isalpha():
        return word
    if word.endswith("men"):
        return word[:-3] + "man"
    return _without_s(word) if word.endswith("s") else word


def _without_s(word: str) -> str:
    if word.endswith(("ss", "us", "is", "'s")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "zzes", "ches", "shes")):
        return word[:-2]
    return word[:-1]


NOUN, VERB, ADJECTIVE, ADVERB = "n", "v", "a", "r"
BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being"])
CLOSED: dict[str, str] = {}
for _kind, _words in {
    "determiner": """the a an this that these those my your his its our their her some any each every no all both several many
        few most another other such own what which whose half two three four five six seven eight nine ten more first second last
        next same former""",
    "preposition": """of in on at by for with from to into onto upon over under between among through during before after
        about against within without toward towards as than per via off above below behind beyond near since until despite across
        along around amid like inside outside following including""",
    "pronoun": """i you he she it we they me him us them who whom himself herself itself themselves someone everyone anyone
        nobody one mine yours hers ours theirs there here""",
    "break": "and or but nor so yet if because while when where whether although though unless that however",
    "auxiliary": """am is are was were be been being has have had having do does did will would shall should can could may might must
        ca n't s t re ve ll d m 's 're 've 'll won't can't don't didn't doesn't isn't wasn't aren't weren't wouldn't couldn't hasn't haven't hadn't""",
    "adverb": """not also very too just only then now even still again already often never always ever once soon perhaps
        rather quite almost nearly ago later today yesterday tomorrow up out down away back more most""",
}.items():
    for _word in _words.split():
        CLOSED.setdefault(_word, _kind)
CLOSED["that"] = "break"
BEFORE_NOUNS = {"determiner", "preposition", "number", ADJECTIVE}
BEFORE_VERBS = {"pronoun", "auxiliary"}
ADJECTIVE_ENDINGS = ("ous", "ful", "ive", "able", "ible", "less", "ish", "ical", "ary")
NOUN_ENDINGS_TEXT = """
    tion sion ment ness ity ship ism ist ance ence hood dom age ery ure
"""
NOUN_ENDINGS = tuple(NOUN_ENDINGS_TEXT.split())
PARTICIPLES_TEXT = """
    been done gone seen taken given known made found told held kept left lost paid put read said sent set shot
    shown sold spent stolen struck taught thought thrown understood won worn written beaten begun born bought
    brought broken built caught chosen cut drawn driven eaten fallen fed felt flown forgotten frozen grown heard
    hidden hit hurt laid led met ridden rung run sung sunk spoken stuck sworn torn
"""
PARTICIPLES = frozenset(PARTICIPLES_TEXT.split())
_TOKEN = re.compile(r"[A-Za-z][A-Za-z'’.-]*[A-Za-z]|[A-Za-z]|\d[\d,.]*|[^\sA-Za-z\d]")


@dataclass(frozen=True)
class NounRules:
    """The finder.

    Attributes:
        lexicon: tells which classes a word may have, and how often; without one, endings decide.
    """

    lexicon: Lexicon | None = field(default=None, repr=False)

    def mentions(self, sentence: str) -> list[tuple[str, str]]:
        """(noun in lower case, role S, O or X) in order of appearance."""
        words = _TOKEN.findall(sentence)
        classes = self.classes(words)
        return list(_roles(words, classes))

    def classes(self, words: Sequence[str]) -> list[str]:
        """The guessed class of each word: n, v, a, r, the name of a closed class, ``number`` or ``mark``."""
        found: list[str] = []
        for place, word in enumerate(words):
            found.append(self._word_class(word, place, found[-1] if found else "start", words))
        return found

    def _word_class(self, word: str, place: int, before: str, words: Sequence[str]) -> str:
        lower = word.lower()
        if lower in CLOSED:
            return CLOSED[lower]
        if not word[0].isalpha():
            return "number" if word[0].isdigit() else "mark"
        weights = self._weights(lower)
        if word[0].isupper() and place and words[place - 1] not in "\"“‘'(":
            return (
                ADJECTIVE
                if weights.get(ADJECTIVE, 0) > weights.get(NOUN, 0) and self._may_continue(words, place)
                else NOUN
            )
        if before == "auxiliary" and (lower in PARTICIPLES or lower.endswith("ed")):
            return VERB
        if (
            before == NOUN
            and NOUN in weights
            and place + 1 < len(words)
            and CLOSED.get(words[place + 1].lower()) == "auxiliary"
        ):
            return NOUN
        follows_to = place > 0 and words[place - 1].lower() == "to"
        if before in BEFORE_VERBS or (follows_to and weights.get(VERB, 0) > weights.get(NOUN, 0)):
            order = (VERB, ADJECTIVE, ADVERB, NOUN) if VERB in weights else (ADJECTIVE, ADVERB, NOUN)
            return _first(weights, order)
        if before in BEFORE_NOUNS:
            noun, adjective = weights.get(NOUN, 0), weights.get(ADJECTIVE, 0)
            if noun >= adjective or not self._may_continue(words, place):
                return NOUN if noun else max(weights, key=weights.__getitem__)
            return ADJECTIVE
        return max(weights, key=weights.__getitem__)

    def _may_continue(self, words: Sequence[str], place: int) -> bool:
        """Whether the next word can belong to the same noun phrase."""
        following = words[place + 1].lower() if place + 1 < len(words) else "."
        return following[0].isalpha() and following not in CLOSED

    def _weights(self, lower: str) -> dict[str, float]:
        """Class -> weight, none zero, at least one; a word that a list of nouns alone lacks is taken for no noun."""
        if self.lexicon is None:
            return _by_ending(lower)
        guessed = {VERB: 1.0, ADJECTIVE: 0.9} if self.lexicon.nouns_only else _by_ending(lower)
        return self._uses(lower) or guessed

    def _uses(self, lower: str) -> dict[str, float]:
        assert self.lexicon is not None
        weights: dict[str, float] = {}
        for form, classes in _forms(self.lexicon, lower):
            for part, (tagged, senses) in self.lexicon.uses.get(form, {}).items():
                part = ADJECTIVE if part == "s" else part
                if part in classes:
                    weights[part] = weights.get(part, 0.0) + tagged + 0.1 * senses
        return weights


def _forms(lexicon: Lexicon, lower: str) -> list[tuple[str, str]]:
    """Entries that a form may stand for, each with the classes it may have there."""
    forms = [(lower, "nvar"), *((lemma, NOUN) for lemma in lexicon.noun_lemmas(lower) if lemma != lower)]
    for ending, stems in (
        ("ing", ("", "e")),
        ("ed", ("", "e")),
        ("ies", ("y",)),
        ("ied", ("y",)),
        ("es", ("",)),
        ("s", ("",)),
    ):
        if lower.endswith(ending) and len(lower) > len(ending) + 1:
            forms += [(lower[: -len(ending)] + stem, VERB) for stem in stems]
    return list(dict.fromkeys(forms))


def _by_ending(lower: str) -> dict[str, float]:
    if lower.endswith("ly"):
        return {ADVERB: 2.0, ADJECTIVE: 0.5}
    if lower.endswith(NOUN_ENDINGS):
        return {NOUN: 2.0}
    if lower.endswith(ADJECTIVE_ENDINGS):
        return {ADJECTIVE: 2.0, NOUN: 0.5}
    if lower.endswith(("ed", "ing")):
        return {VERB: 2.0, NOUN: 0.5}
    return {NOUN: 1.5, VERB: 1.0}


def _first(weights: dict[str, float], order: Sequence[str]) -> str:
    return next((part for part in order if part in weights), max(weights, key=weights.__getitem__))


AGENT = "agent"  # a by-phrase of a passive, until its clause is closed


def _roles(words: Sequence[str], classes: Sequence[str]) -> list[tuple[str, str]]:
    """Roles of the nouns, clause by clause; a conjunction before a new subject and verb closes a clause."""
    found: list[tuple[str, str]] = []
    clause: list[tuple[str, str]] = []
    verb, passive, preposition = False, False, ""
    for place, (word, kind) in enumerate(zip(words, classes, strict=True)):
        if kind == "preposition" and word.lower() not in ("like", "as"):
            preposition = word.lower()
        elif kind in (VERB, "auxiliary"):
            passive = passive or (kind == VERB and _is_passive(words, classes, place))
            verb, preposition = True, ""
        elif kind == "break" and verb and _subject_follows(classes, place):
            found += _deep(clause, passive)
            clause, verb, passive, preposition = [], False, False, ""
        elif kind == "mark":
            preposition = ""
        elif kind == NOUN:
            clause.append((_stripped(word.lower()), _role(verb, passive, preposition)))
    return found + _deep(clause, passive)


def _stripped(noun: str) -> str:
    """Without a possessive ending."""
    return noun.removesuffix("'s").removesuffix("’s").removesuffix("'")


def _role(verb: bool, passive: bool, preposition: str) -> str:
    if preposition:
        return AGENT if passive and preposition == "by" else "X"
    return "O" if verb else "S"


def _deep(clause: list[tuple[str, str]], passive: bool) -> list[tuple[str, str]]:
    """A passive's subject is an object, its by-agent a subject."""
    deep = {"S": "O", AGENT: "S"} if passive else {}
    return [(noun, deep.get(role, role)) for noun, role in clause]


def _is_passive(words: Sequence[str], classes: Sequence[str], place: int) -> bool:
    lower = words[place].lower()
    if not (lower.endswith(("ed", "en")) or lower in PARTICIPLES):
        return False
    back = place - 1
    while back >= 0 and classes[back] in (ADVERB, "adverb"):
        back -= 1
    return back >= 0 and words[back].lower() in BE


def _subject_follows(classes: Sequence[str], place: int) -> bool:
    """Whether a noun and then a verb come after a conjunction before the next mark."""
    seen = False
    for kind in classes[place + 1 :]:
        if kind in (VERB, "auxiliary"):
            return seen
        if kind in ("mark", "break"):
            return False
        seen = seen or kind in (NOUN, "pronoun")
    return False
