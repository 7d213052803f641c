"""Articles of the attribution critic: each mark has its own symbol's log probability and likeliest successor."""

from longform.critics.coreference import attribution
from longform.critics.coreference.chains import read_with
from longform.critics.coreference.rules import RuleResolver
from longform.documents import Document, Section
from tests.critics.coreference.test_mention_chains import HELD_OUT, REAL

TEXT = "Anna Lee met Tom Reed. He liked her. She liked him. " * 6


def test_marks_carry_what_the_critic_says_of_their_own_symbols():
    document = Document("a", "generated", (Section(None, TEXT),))
    predictions = read_with(RuleResolver(), [document], ["generated"], False, None, keep_text=True)
    (unit,) = attribution.units_from_predictions(predictions)
    critic = attribution.AttributionCritic(threshold=0.0, held_out=tuple(HELD_OUT)).fit(REAL)
    (log_probs,) = critic.part_values([unit])
    (article,) = critic.describe([unit])["articles"]
    marks = article["marks"]
    assert [mark["log_probability"] for mark in marks] == log_probs.tolist()
    assert [(mark["start"], mark["end"]) for mark in marks] == [tuple(span) for span in unit.spans]
    assert all(mark["bad"] for mark in marks)  # the threshold is certainty
    assert any(mark["best"] for mark in marks)
