"""Each rule of the resolvers for persons, by hand on mentions without a text."""

from types import SimpleNamespace

import pytest

from longform.critics.coreference import person_mentions, rules
from longform.critics.coreference.chains import Mention
from longform.critics.coreference.person_mentions import (
    FEMALE,
    GROUP,
    LIKELY,
    MALE,
    NAME,
    NOUN,
    PLURAL,
    PRONOUN,
    STRONG,
    WEAK,
    Candidate,
)
from longform.critics.coreference.rules import (
    NearestResolver,
    RuleResolver,
    _Entity,
    _may_be_one_person,
    _of_name,
)

RULES = RuleResolver(first_names={})


def mention(
    kind, words, start=0, sentence=0, gender=None, sure=STRONG, subject=False, clause=0, length=2
):
    return Candidate(
        start,
        start + length,
        start,
        sentence,
        0,
        kind,
        tuple(words.split()),
        gender,
        sure,
        subject,
        clause,
    )


def name(words, start=0, **more):
    return mention(NAME, words, start, **more)


def pronoun(word, start=0, **more):
    return mention(PRONOUN, word, start, **more)


def entity(*mentions, number=0):
    made = _Entity(number)
    for one in mentions:
        made.add(one)
    return made


def test_an_entity_keeps_names_the_first_gender_and_how_sure_it_is():
    made = entity(name("ann lee", gender=None, sure=WEAK), name("lee", gender=FEMALE, sure=LIKELY))
    assert made.names == {("ann", "lee"), ("lee",)} and (made.gender, made.sure) == (FEMALE, LIKELY)
    made.add(name("lee", gender=MALE, sure=WEAK))
    assert (made.gender, made.sure) == (FEMALE, LIKELY)
    made.add(pronoun("she", gender=FEMALE))
    assert made.sure == STRONG and made.names == {("ann", "lee"), ("lee",)}
    assert entity(mention(NOUN, "the king", sure=WEAK)).sure == STRONG
    assert entity(mention(GROUP, "ann bob", sure=LIKELY)).sure == LIKELY


@pytest.mark.parametrize(
    ("own", "gender", "allowed"),
    [
        (None, None, True), (None, MALE, True), (None, PLURAL, False), (MALE, None, True),
        (MALE, MALE, True), (MALE, FEMALE, False), (PLURAL, PLURAL, True),
    ],
)  # fmt: skip
def test_a_gender_must_agree_and_an_open_one_is_no_group(own, gender, allowed):
    made = _Entity(0)
    made.gender = own
    assert made.allows(gender) is allowed


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("lee", "ann lee", True), ("ann", "ann lee", True), ("lee", "ann lee smith", False),
        ("smith", "ann lee smith", True), ("lee", "lee", False), ("l", "l lee", False),
        ("ann lee", "ann lee", True), ("a lee", "ann lee", True), ("ann lee", "a lee", True),
        ("amy lee", "ann lee", False), ("bob lee", "ann lee", False), ("ann lee", "ann smith", False),
        ("ann lee", "ann b lee", True), ("a lee", "ann b lee", True), ("b lee", "ann b lee", False),
    ],
)  # fmt: skip
def test_a_name_may_be_a_part_of_another_or_have_its_initial(first, second, alike):
    first, second = tuple(first.split()), tuple(second.split())
    assert _may_be_one_person(first, second) is alike
    assert _may_be_one_person(second, first) is alike


def test_a_name_is_of_the_last_very_name_else_of_a_like_one():
    old, new = entity(name("lee", 0)), entity(name("lee", 10))
    whole = entity(name("ann lee", 20, gender=FEMALE))
    other = entity(name("bob lee", 5, gender=MALE), pronoun("he", 30, gender=MALE))
    everyone = [old, new, whole, other]
    assert _of_name(name("lee", 40), everyone) is new
    assert _of_name(name("ann", 40), everyone) is whole
    assert _of_name(name("lee", 40), [whole, other]) is other
    assert _of_name(name("lee", 40, gender=FEMALE), [whole, other]) is whole
    assert _of_name(name("smith", 40), everyone) is None


def group_and_nouns():
    return {
        "group": entity(mention(GROUP, "ann bob", 0)),
        "a king": entity(mention(NOUN, "a king", 10, sentence=1)),
        "the king": entity(mention(NOUN, "the king", 20, sentence=2)),
        "his son": entity(mention(NOUN, "his son", 30, sentence=2)),
    }


@pytest.mark.parametrize(
    ("kind", "words", "sentence", "again"),
    [
        (NOUN, "the king", 2, "the king"), (NOUN, "this king", 2, "a king"), (NOUN, "a king", 2, None),
        (NOUN, "this king", 4, "a king"), (NOUN, "this king", 5, None), (NOUN, "the king", 5, "the king"),
        (NOUN, "the king", 6, None), (NOUN, "the son", 2, None), (NOUN, "his son", 2, "his son"),
        (GROUP, "ann bob", 9, "group"), (GROUP, "ann", 0, None),
    ],
)  # fmt: skip
def test_a_noun_is_mentioned_again_within_three_sentences(kind, words, sentence, again):
    known = group_and_nouns()
    found = RULES._antecedent("", mention(kind, words, 50, sentence), list(known.values()))
    assert found is known.get(again)


@pytest.mark.parametrize(
    ("word", "last", "more", "may"),
    [
        ("he", {"sentence": 2}, {"sentence": 5}, True),
        ("he", {"sentence": 1}, {"sentence": 5}, False),
        ("himself", {"sentence": 5}, {"sentence": 5}, True),
        ("himself", {"sentence": 4}, {"sentence": 5}, False),
        ("he", {"gender": FEMALE}, {}, False),
        ("his", {"start": 39, "length": 5}, {}, False),  # stands inside the last mention
        ("his", {"start": 40, "length": 5}, {}, False),
        ("his", {"start": 35, "length": 5}, {}, True),  # which ends where it begins
        ("him", {"subject": True}, {}, False),
        ("himself", {"subject": True}, {}, True),
        ("he", {"subject": True}, {}, True),
        ("him", {"subject": True}, {"clause": 1}, True),
        ("him", {"subject": True, "sentence": 1}, {"sentence": 2}, True),
        ("him", {"subject": False}, {}, True),
    ],
)
def test_a_pronoun_means_who_is_near_agrees_and_is_no_subject(word, last, more, may):
    candidate = pronoun(word, 40, gender=MALE, **more)
    assert RULES._may_mean("", candidate, entity(name("x", **last))) is may


@pytest.mark.parametrize(
    ("mentions", "own", "rank", "preference"),
    [
        ([{}], {}, 0, 0.0),
        ([{}], {"sentence": 2}, 0, -2.0),
        ([{}], {}, 3, -0.75),
        ([{"subject": True}], {}, 0, 0.6),
        ([{"subject": True}], {"subject": True}, 0, 0.9),
        ([{}], {"subject": True}, 0, 0.0),
        ([{"gender": MALE}], {}, 0, 1.0),
        ([{"gender": FEMALE}], {}, 0, 0.0),
        ([{"sure": WEAK}], {}, 0, -1.0),
        ([{"sure": LIKELY}], {}, 0, -0.5),
        ([{"subject": True}, {"sentence": 1}], {"sentence": 1}, 0, 0.0),
        ([{"subject": True}, {}], {}, 0, 0.6),
    ],
)
def test_preferences_are_for_the_near_the_subject_and_the_known(mentions, own, rank, preference):
    candidate = pronoun("he", 40, gender=MALE, **own)
    made = entity(*(name("x", **one) for one in mentions))
    assert RULES._preference(candidate, rank, made) == pytest.approx(preference)


def test_weights_of_a_resolver_replace_those_by_hand():
    other = RuleResolver({}, 1, distance=3.0, subject=0.0, parallel=0.5, known=2.0, order=0.125)
    candidate = pronoun("he", 40, gender=MALE, sentence=1, subject=True)
    made = entity(name("x", gender=MALE, subject=True))
    assert other._preference(candidate, 2, made) == pytest.approx(-3 - 0.25 + 0.5 + 2)


def test_of_equals_the_more_recent_is_meant_and_a_subject_before_it():
    first, second = entity(name("ann", 0)), entity(name("amy", 10))
    she = pronoun("she", 40)
    assert RULES._of_pronoun("", she, [first, second]) is second
    assert RULES._of_pronoun("", she, [second, first]) is second
    subject = entity(name("ada", 5, subject=True))
    assert RULES._of_pronoun("", she, [subject, second]) is subject
    assert RULES._of_pronoun("", pronoun("she", 40, sentence=9), [first]) is None
    flat = RuleResolver({}, order=0.0)
    assert flat._of_pronoun("", she, [first, second]) is second


def test_a_first_pronoun_is_of_the_next_new_name_in_its_sentence():
    early = entity(pronoun("she", 0, gender=FEMALE))
    man, woman = entity(name("bob", 5, gender=MALE)), entity(name("ann", 9, sure=LIKELY))
    later = entity(name("amy", 12, gender=FEMALE))
    rules._resolve_forwards([early, later, man, woman])
    assert early.mentions == [] and [one.start for one in woman.mentions] == [9, 0]
    assert (woman.gender, woman.sure, len(later.mentions)) == (FEMALE, STRONG, 1)


@pytest.mark.parametrize(
    "named",
    [
        entity(name("ann", 9, sentence=1)),
        entity(name("ann", 5)),
        entity(name("ann", 0), name("ann", 9)),
        entity(mention(NOUN, "the queen", 9)),
    ],
)
def test_a_pronoun_stays_alone_without_a_new_name_after_it(named):
    early = entity(pronoun("she", 5, gender=FEMALE))
    rules._resolve_forwards([named, early])
    assert len(early.mentions) == 1


def test_a_pronoun_that_a_name_follows_in_its_own_entity_stays():
    one = entity(pronoun("she", 0, gender=FEMALE), name("ann", 5))
    rules._resolve_forwards([one])
    assert len(one.mentions) == 2


@pytest.mark.parametrize(
    ("kind", "sure", "named"),
    [
        (NAME, LIKELY, True),
        (NAME, WEAK, False),
        (GROUP, STRONG, True),
        (NOUN, STRONG, False),
        (PRONOUN, STRONG, False),
    ],
)
def test_names_and_groups_are_named_where_they_are_likely_persons(kind, sure, named):
    made = entity(mention(kind, "x y", 3, gender=MALE, sure=sure), number=4)
    made.sure = sure
    assert rules._as_mention(made.mentions[0], made) == Mention(3, 5, 4, named, 3, MALE)


def resolved(monkeypatch, resolver, *mentions):
    monkeypatch.setattr(rules, "candidates", lambda text, names: list(mentions))
    (found,) = resolver.resolve(["text"])
    return [(one.start, one.entity) for one in found]


def test_entities_are_numbered_as_they_begin_and_groups_repeat(monkeypatch):
    ann, bob = name("ann", 0, gender=FEMALE), name("bob", 10, gender=MALE)
    she = pronoun("she", 20, gender=FEMALE)
    pair = mention(GROUP, "ann bob", 30, gender=PLURAL)
    assert resolved(monkeypatch, RULES, ann, bob, she, pair) == [(0, 0), (10, 1), (20, 0)]
    again = mention(GROUP, "ann bob", 40, gender=PLURAL)
    assert resolved(monkeypatch, RULES, ann, pair, again) == [(0, 0), (30, 1), (40, 1)]
    he = pronoun("he", 5, gender=MALE)
    assert resolved(monkeypatch, RULES, he, bob) == [(5, 1), (10, 1)]


def test_the_nearest_resolver_takes_the_last_mention_of_its_number(monkeypatch):
    nearest = NearestResolver({})
    mentions = [
        name("ann lee", 0), pronoun("he", 5, gender=MALE), pronoun("they", 10, gender=PLURAL),
        mention(NOUN, "the king", 12), name("bob", 15, sure=WEAK), pronoun("she", 20, gender=FEMALE),
        pronoun("them", 25, gender=PLURAL), name("lee", 30, gender=FEMALE), pronoun("he", 35, gender=MALE),
    ]  # fmt: skip
    assert resolved(monkeypatch, nearest, *mentions) == [
        (0, 0), (5, 0), (10, 1), (15, 2), (20, 2), (25, 1), (30, 0), (35, 0),
    ]  # fmt: skip
    (found,) = nearest.resolve(["text"])
    assert [one.named for one in found] == [True, False, False, False, False, False, True, False]
    assert [one.gender for one in found if one.start == 30] == [FEMALE]
    assert {one.gender for one in found if one.start != 30} == {None}
    assert resolved(monkeypatch, nearest, pronoun("he", 5, gender=MALE)) == [(5, 0)]


@pytest.mark.parametrize(
    ("words", "entity"),
    [({"lee"}, 2), ({"ann", "lee", "smith"}, 2), ({"bob"}, 1), ({"amy"}, None), ({"ann"}, 0)],
)
def test_a_like_name_has_all_words_of_another_or_only_words_of_it(words, entity):
    assert rules._last_of_like_name(words, [{"ann", "lee"}, {"bob"}, {"lee"}, set()]) == entity


def test_clusters_are_mentions_by_place_and_named_by_a_likely_head(monkeypatch):
    heads = [name("ann", 2), name("x", 8, sure=WEAK), mention(NOUN, "the king", 12)]
    monkeypatch.setattr(rules, "candidates", lambda text, names: heads)
    found = rules._mentions_of_clusters("text", [[(8, 10), (0, 2)], [(2, 4), (0, 3), (12, 14)]])
    assert [(one.start, one.end, one.entity, one.named) for one in found] == [
        (0, 2, 0, False), (0, 3, 1, True), (2, 4, 1, True), (8, 10, 0, False), (12, 14, 1, False),
    ]  # fmt: skip


def test_texts_without_words_are_not_given_to_the_model():
    asked = []

    class Model:
        def predict(self, texts, max_tokens_in_batch):
            asked.append((texts, max_tokens_in_batch))
            return [SimpleNamespace(get_clusters=lambda as_strings: [[(0, 1)]]) for _ in texts]

    resolver = rules.FcorefResolver(Model(), "c")
    assert [len(found) for found in resolver.resolve(["a b", " ", "c d"])] == [1, 0, 1]
    assert asked == [(["a b", "c d"], 10000)]
    assert rules.FcorefResolver(Model(), "c").resolve([" "]) == [[]] and len(asked) == 1


@pytest.mark.parametrize(("subject", "parallel"), [(0.6, 0.3), (0.0, 0.0), (0.2, 0.2)])
def test_without_a_gain_of_subjects_there_is_none_of_parallel_ones(subject, parallel, monkeypatch):
    calls = []
    monkeypatch.setattr(
        rules, "read_with", lambda resolver, **settings: calls.append((resolver, settings))
    )
    rules.read(documents="d", splits="s", subject=subject)
    rules.read_nearest(documents="d", splits="s", singletons=True, film_filter="paper")
    (by_rules, rule_settings), (by_nearest, nearest_settings) = calls
    assert (by_rules.subject, by_rules.parallel) == (subject, parallel)
    texts = {"documents": "d", "splits": "s"}
    defaults = {"singletons": False, "film_filter": None, "keep_text": False}
    assert rule_settings == {**texts, **defaults}
    assert isinstance(by_nearest, NearestResolver)
    assert nearest_settings == {**texts, "singletons": True, "film_filter": "paper"}


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("J . Smith", 1), ("J .", 0), ("Mrs . Lee", 1), ("Jones . Lee", 0), ("Ann van Dyck", 2),
        ("Ann van dyck", 0), ("Ann van", 0), ("Ann Jr", 1), ("Ann Lee", 1), ("Ann I", 0),
        ("Ann left", 0),
    ],
)  # fmt: skip
def test_a_name_goes_on_over_initials_particles_and_suffixes(words, step):
    tokens = [SimpleNamespace(text=word) for word in words.split()]
    sentence = person_mentions._Sentence(0, tokens, {}, frozenset())
    assert sentence._name_step(1) == step
