"""Classes and roles of words where the rules decide: each order of words, each ending, each early end."""

import pytest

from longform.text import nouns
from longform.text.nouns import ADJECTIVE, ADVERB, AGENT, NOUN, VERB, NounRules

N, V, A, R = NOUN, VERB, ADJECTIVE, ADVERB


@pytest.mark.parametrize(
    ("word", "weights"),
    [
        ("slowly", {R: 2.0, A: 0.5}), ("nation", {N: 2.0}), ("famous", {A: 2.0, N: 0.5}),
        ("walked", {V: 2.0, N: 0.5}), ("walking", {V: 2.0, N: 0.5}), ("boat", {N: 1.5, V: 1.0}),
    ],
)  # fmt: skip
def test_a_words_ending_says_what_it_may_be(word, weights):
    assert nouns._by_ending(word) == weights


@pytest.mark.parametrize(
    ("words", "classes", "passive"),
    [
        ("was built", "auxiliary v", True),
        ("was never built", "auxiliary adverb v", True),
        ("was slowly and built", "auxiliary r break v", False),
        ("has built", "auxiliary v", False),
        ("was boiled", "auxiliary v", True),
        ("Was eaten", "auxiliary v", True),
        ("was run", "auxiliary v", "run" in nouns.PARTICIPLES),
        ("was boil", "auxiliary v", False),
        ("boiled", "v", False),
        ("slowly boiled", "r v", False),
        ("are boiled", "auxiliary v", True),
    ],
)
def test_a_participle_behind_a_form_of_be_is_passive(words, classes, passive):
    split = words.split()
    assert nouns._is_passive(split, classes.split(), len(split) - 1) is passive


@pytest.mark.parametrize(
    ("classes", "follows"),
    [
        (f"break {N} {V}", True), (f"break pronoun auxiliary {N}", True), (f"break {V} {N}", False),
        (f"break {N} mark {V}", False), (f"break {N} break {V}", False), (f"break {N}", False),
        ("break", False), (f"break {A} {V}", False), (f"break determiner {A} {N} {R} {V}", True),
    ],
)  # fmt: skip
def test_a_new_clause_begins_with_a_subject_before_its_verb(classes, follows):
    assert nouns._subject_follows(classes.split(), 0) is follows


@pytest.mark.parametrize(
    ("words", "classes", "roles"),
    [
        ("dogs chase cats", f"{N} {V} {N}", "dogs S cats O"),
        ("dogs of men chase cats", f"{N} preposition {N} {V} {N}", "dogs S men X cats O"),
        ("dogs run like men", f"{N} {V} preposition {N}", "dogs S men O"),
        ("dogs run as men", f"{N} {V} preposition {N}", "dogs S men O"),
        ("dogs run with men", f"{N} {V} preposition {N}", "dogs S men X"),
        ("in May , dogs run", f"preposition {N} mark {N} {V}", "may X dogs S"),
        ("cats were chased by dogs", f"{N} auxiliary {V} preposition {N}", "cats O dogs S"),
        ("cats were chased near dogs", f"{N} auxiliary {V} preposition {N}", "cats O dogs X"),
        ("cats ran by dogs", f"{N} {V} preposition {N}", "cats S dogs X"),
        (
            "cats were chased and dogs chase men",
            f"{N} auxiliary {V} break {N} {V} {N}",
            "cats O dogs S men O",
        ),
        ("dogs chase cats and men", f"{N} {V} {N} break {N}", "dogs S cats O men O"),
        ("dogs and cats run", f"{N} break {N} {V}", "dogs S cats S"),
        ("Ann's dog's tail wags", f"{N} {N} {N} {V}", "ann S dog S tail S"),
        ("Ann’s dogs' tail", f"{N} {N} {N}", "ann S dogs S tail S"),
        ("", "", ""),
    ],
)
def test_roles_follow_from_verbs_prepositions_and_clauses(words, classes, roles):
    found = nouns._roles(words.split(), classes.split())
    assert " ".join(f"{noun} {role}" for noun, role in found) == roles


def test_agents_are_subjects_and_subjects_objects_in_passives_alone():
    clause = [("a", "S"), ("b", AGENT), ("c", "X"), ("d", "O")]
    assert nouns._deep(clause, True) == [("a", "O"), ("b", "S"), ("c", "X"), ("d", "O")]
    assert nouns._deep(clause, False) == clause


@pytest.mark.parametrize(
    ("words", "classes"),
    [
        ("The famous owl", f"determiner {A} {N}"),
        ("The famous", f"determiner {N}"),  # nothing stands behind that it describes
        ("the famous of", f"determiner {N} preposition"),
        ("They boil", f"pronoun {V}"),
        ("was boiled", f"auxiliary {V}"),
        ("was built", f"auxiliary {V}"),
        ("in Quenovia", f"preposition {N}"),
        ("we saw Famous Owls", f"pronoun {V} {A} {N}"),
        ("“ Walked", f"mark {V}"),
        ("so Walked", f"{nouns.CLOSED['so']} {N}"),
        ("3 owls", f"number {N}"),
        ("slowly", R),
    ],
)
def test_a_words_class_follows_from_those_beside_it(words, classes):
    assert " ".join(NounRules().classes(words.split())) == classes.replace("other script", "other")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Ann's well-known U.S. owl.", ["Ann's", "well-known", "U.S", ".", "owl", "."]),
        ("1,234.5 owls", ["1,234.5", "owls"]),
        ("город x2", ["город", "x", "2"]),
        ("a — b", ["a", "—", "b"]),
        ("e\u0301t", ["e\u0301t"]),
        ("rock'n'roll 'a'", ["rock'n'roll", "'", "a", "'"]),
    ],
)
def test_a_sentence_is_cut_into_words_numbers_and_marks(text, tokens):
    assert nouns._TOKEN.findall(text) == tokens


@pytest.mark.parametrize(
    ("word", "singular"),
    [
        ("abs", "abs"), ("cabs", "cab"), ("dies", "die"), ("flies", "fly"), ("firemen", "fireman"),
        ("x-boxes", "x-box"), ("r2s", "r2s"), ("kisses", "kiss"), ("sizes", "size"), ("virus", "virus"),
        ("axis", "axis"), ("city-men", "city-man"),
    ],
)  # fmt: skip
def test_the_singular_by_ending_and_length(word, singular):
    assert nouns.lemma(word) == singular
