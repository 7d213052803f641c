"""Dialogues of personas: how many questions they hold, and who answers."""

from synthetic_world.stories import write_dialogue


def test_four_to_eight_questions_are_answered_by_their_own_speaker():
    dialogues = [write_dialogue(1, index) for index in range(60)]
    counts = {sum(source >= 0 for source in dialogue.sources) for dialogue in dialogues}
    assert counts == {4, 5, 6, 7, 8}
    for dialogue in dialogues:
        assert len(dialogue.turns) == len(dialogue.sources) and len(dialogue.turns) % 2 == 0
        for turn, source in enumerate(dialogue.sources):
            if source >= 0:
                fact = dialogue.personas[turn % 2][source]
                assert dialogue.turns[turn] in fact.answers
