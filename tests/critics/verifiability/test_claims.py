"""Claims from generated texts: five sentences, pronouns, the determiner rule, and the limit of 50 tokens."""

import pytest

from longform.core.text.sentences import SPLITTERS
from longform.critics.verifiability.read import (
    claims_of,
    replace_determiner,
    replace_pronoun,
)


def split(text):
    return [part + "." for part in text.split(".") if part.strip()]


def texts(text):
    return [claim.text for claim in claims_of(text, "Ulm", split)]


def test_only_the_first_five_sentences_become_claims():
    made = texts("A is. B is. C is. D is. E is. F is.")
    assert made == ["A is.", "B is.", "C is.", "D is.", "E is."]
    assert len(texts("A is. B is.")) == 2


def test_an_opening_determiner_and_its_noun_become_the_title():
    assert texts("The town lies on a river. The war ended.") == ["Ulm lies on a river.", "Ulm ended."]


@pytest.mark.parametrize(
    "sentence",
    [
        "The United States won.",
        "A town lies here.",
        "In the town he fell.",
        "The famous town lies.",
        "The",
        "The Town x.",
    ],
)
def test_the_determiner_rule_leaves_names_adjectives_and_other_places_alone(sentence):
    assert replace_determiner(sentence, "Ulm") is None


def test_possessives_keep_their_case():
    assert replace_pronoun("Her mayor saw him.", "Ada") == ("Ada's mayor saw him.", 1)
    assert replace_pronoun("Her, he saw.", "Ada")[0] == "Ada, he saw." and replace_pronoun("Rain fell.", "Ada")[1] == 0


def test_the_baseline_resolver_names_the_page_where_a_pronoun_opens():
    made = claims_of("It lies. Rain fell on it. Its town is old.", "Ulm", split)
    assert [claim.text for claim in made] == ["Ulm lies.", "Rain fell on it.", "Ulm's town is old."]
    assert [claim.pronouns for claim in made] == [1, 0, 1] and not any(claim.named for claim in made)


def test_fifty_tokens_can_be_verified_and_fifty_one_cannot():
    fifty = " ".join(["word"] * 49) + "."
    made = claims_of(f"{fifty} more {fifty}", "Ulm", split)
    assert [claim.verifiable for claim in made] == [True, False]


def test_an_endless_sentence_is_one_claim_that_is_marked():
    (claim,) = claims_of("and so on " * 80, "Ulm", lambda text: [text])
    assert not claim.verifiable and claim.cut


def test_an_empty_generation_makes_no_claim():
    assert claims_of("", "Ulm", SPLITTERS["full_stops"]) == [] == claims_of(" \n ", "Ulm", lambda text: [text])


def test_the_repositorys_own_rules_find_common_nouns():
    (claim,) = claims_of("The town lies on a river.", "Ulm", SPLITTERS["full_stops"])
    assert claim.text == "Ulm lies on a river." and claim.named and claim.source == "The town lies on a river."
