"""The singular of an English noun by suffix rules and lists, and American spelling: what section titles need.

The paper used NLTK's WordNet lemmatiser with its default part of speech, noun (deng2022 section 4; NLTK 3.6.7). Its
detachment rules are kept, but its lexicon is a download, so lists stand where the lexicon decides. Known
difference: function words are never touched (WordNet turns ``as`` into ``a`` and ``has`` into ``ha``).
"""

from __future__ import annotations


def _words(block: str) -> frozenset[str]:
    return frozenset(block.split())


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
UNCHANGED = _words(
    """
    series species news physics politics economics mathematics athletics gymnastics genetics linguistics electronics
    logistics robotics aerobics acoustics dynamics mechanics optics kinetics thermodynamics hydrodynamics
    headquarters barracks crossroads means perhaps always besides sometimes towards afterwards
    as is was has his its this thus us plus versus yes does
    specimen abdomen regimen omen acumen stamen
    chaos canvas atlas alias gas bias christmas texas arkansas kansas lens mars paris
    overseas whereas corps debris chassis apropos pathos ethos kudos
    """
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
    """The singular of a lower-case English noun; any other word comes back as it is.

    Hyphenated words are treated in their last part.
    """
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
