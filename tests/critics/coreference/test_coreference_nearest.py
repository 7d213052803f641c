"""The resolver without rules, and its agreement with gold chains."""

import pytest

from longform.core.documents import BadInput, Document, Section
from longform.critics.coreference.agreement import against_gold, units_from_readout
from longform.critics.coreference.chains import GivenMentions, Mention, read_with
from longform.critics.coreference.rules import NearestResolver, read_nearest


def entities(text):
    (found,) = NearestResolver().resolve([text])
    return [(text[m.start : m.end], m.entity) for m in found]


def test_a_pronoun_is_the_person_mentioned_last_whatever_its_gender():
    assert entities("Anna Lee met Tom Reed. She smiled. Lee left. He waved.") == [
        ("Anna Lee", 0), ("Tom Reed", 1), ("She", 1), ("Lee", 0), ("He", 0),
    ]  # fmt: skip


def test_plural_pronouns_share_an_entity_of_their_own():
    assert entities("They met Tom Reed. He left them.") == [("They", 0), ("Tom Reed", 1), ("He", 1), ("them", 0)]


@pytest.mark.parametrize("text", ["", "Nobody was there.", "Он пришёл. 彼は来た。", "He.", "she " * 500])
def test_odd_texts_give_mentions_in_order(text):
    (found,) = NearestResolver().resolve([text])
    assert found == sorted(found, key=lambda m: (m.start, m.end)) and len({m.entity for m in found}) <= 1


def documents(*texts):
    return [Document(f"d{i}", "test", (Section(None, text),)) for i, text in enumerate(texts)]


def test_agreement_of_chains_is_one_with_itself_and_falls_with_a_wrong_link():
    pages = documents("Anna Lee met Tom Reed. She smiled. He waved. Reed left.")
    spans = [(0, 8, 0), (13, 21, 1), (23, 26, 0), (35, 37, 1), (45, 49, 1)]
    gold = GivenMentions({pages[0].text: [Mention(a, b, e, True) for a, b, e in spans]})
    truth = read_with(gold, pages, False, None)
    critic = against_gold(real=truth)
    assert critic.score(critic.tally(units_from_readout(truth))) == 1.0
    nearest = units_from_readout(read_nearest(documents=pages, splits=["test"]))
    parts = critic.describe(nearest)
    # found: {Reed, She, He, Reed} alone, Lee being mentioned once; gold: {Lee, She}, {Reed, He, Reed}
    assert parts["muc"] == {
        "recall": pytest.approx(2 / 3),
        "precision": pytest.approx(2 / 3),
        "f1": pytest.approx(2 / 3),
    }
    assert parts["b3"]["recall"] == pytest.approx((1 / 2 + 9 / 3) / 5)


def test_a_document_without_gold_is_refused():
    critic = against_gold(real=read_nearest(documents=documents("Tom Reed left. He ran."), splits=["test"]))
    with pytest.raises(BadInput, match="no gold chain"):
        critic.tally(
            units_from_readout(
                read_nearest(documents=[Document("z", "test", (Section(None, "He ran."),))], splits=["test"])
            )
        )
