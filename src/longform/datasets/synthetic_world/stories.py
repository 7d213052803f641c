"""Five-sentence stories: the fourth sentence settles the outcome, so one ending is right and its rival is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.datasets.synthetic_world import names
from longform.datasets.synthetic_world.draws import Draws
from longform.datasets.synthetic_world.lexicon import TABLE_SIZE, Topic, article, everyday, plural
from longform.documents import Corpus, Document, Section
from longform.resampling import generator


@dataclass(frozen=True)
class Schema:
    """A course of events: three opening sentences, then a turn and an ending for each of two outcomes."""

    opening: tuple[str, str, str]
    turns: tuple[str, str]
    endings: tuple[str, str]


SCHEMAS = (
    Schema(
        ("{name} was {a_agent} who wanted {a_adj} {thing}.", "{He} saved money for {small} months.",
         "One day {he} walked to the {place} in {Town}."),
        ("The {thing} was still for sale.", "The {thing} had been sold that morning."),
        ("{He} bought the {thing} and carried it home.", "{He} walked home without the {thing}."),
    ),
    Schema(
        ("{name} wanted to become {a_agent} in {Town}.", "{He} practised with {a_thing} every day.",
         "In spring {he} took the test at the {place}."),
        ("The {agents} praised every answer.", "{He} forgot every answer."),
        ("{name} passed the test and became {a_agent}.", "{name} failed the test and looked for other work."),
    ),
    Schema(
        ("{name} lost {a_adj} {thing} near the {place}.", "{He} asked all the {agents} about it.",
         "Then {he} looked behind the {place}."),
        ("The {thing} was lying in the grass.", "There was nothing in the grass."),
        ("{He} picked up the {thing} with a smile.", "{He} had to buy a new {thing}."),
    ),
    Schema(
        ("{name} kept {a_being} in a small garden.", "One night the gate was left open.",
         "{He} searched {Town} for {small} hours."),
        ("A loud noise came from the {place}.", "Heavy rain covered all the tracks."),
        ("{He} found the {being} in the {place}.", "{He} never saw the {being} again."),
    ),
    Schema(
        ("{name} planned {a_event} for the {agents} of {Town}.", "{He} borrowed {small} {things} for it.",
         "On the day {he} looked at the sky."),
        ("The sun was shining over the {place}.", "A storm was coming over the {place}."),
        ("The {event} was a great success.", "The {event} had to be moved to next year."),
    ),
    Schema(
        ("{name} repaired {things} for the {agents}.", "{A_agent} brought {a_adj} {thing} to {him}.",
         "{He} worked on it for {small} hours."),
        ("At last the {thing} worked again.", "In the end the {thing} fell to pieces."),
        ("The {agent} paid well and thanked {him}.", "The {agent} was angry and paid nothing."),
    ),
)  # fmt: skip
PRONOUNS = {"MALE": {"he": "he", "He": "He", "him": "him"}, "FEMALE": {"he": "she", "He": "She", "him": "her"}}


@dataclass(frozen=True)
class Story:
    """Four sentences of context, two endings, and which of them is right (0 or 1)."""

    index: int
    context: tuple[str, ...]
    endings: tuple[str, str]
    right: int
    schema: int
    outcome: int


def write_story(seed: int, index: int) -> Story:
    """Story ``index``: a function of its arguments alone."""
    draws = Draws(generator("planted", "stories", seed, index))
    number, outcome = draws.integer(0, len(SCHEMAS) - 1), draws.integer(0, 1)
    schema = SCHEMAS[number]
    words = _words(draws, draws.pick(everyday().topics))
    context = (*schema.opening, schema.turns[outcome])
    right = draws.integer(0, 1)
    endings = [schema.endings[outcome], schema.endings[1 - outcome]]
    if right:
        endings.reverse()
    fill = lambda text: text.format_map(words)  # noqa: E731 - one substitution for six sentences
    return Story(index, tuple(map(fill, context)), (fill(endings[0]), fill(endings[1])), right, number, outcome)


def _words(draws: Draws, topic: Topic) -> dict[str, str]:
    gender = draws.pick(("MALE", "FEMALE"))
    words = {
        slot: topic.tables[slot][int(draws.uniform() * TABLE_SIZE)] for slot in ("thing", "being", "place", "event")
    }
    words |= {"agent": topic.tables["person"][int(draws.uniform() * TABLE_SIZE)]}
    words |= {"adj": topic.tables["adjective"][int(draws.uniform() * TABLE_SIZE)]}
    words |= {f"a_{slot}": article(word) for slot, word in list(words.items())}
    words |= {f"{slot}s": plural(words[slot]) for slot in ("agent", "thing", "being")}
    words["A_agent"] = words["a_agent"][0].upper() + words["a_agent"][1:]
    words |= {"name": draws.pick(names.MALE if gender == "MALE" else names.FEMALE), "Town": draws.pick(names.PLACES)}
    return words | {"small": str(draws.integer(3, 60))} | PRONOUNS[gender]


def story_corpus(stories: Sequence[Story], splits: Sequence[str], facts: dict[str, object]) -> Corpus:
    """Stories with their right ending as documents; the wrong ending and the outcome are truth."""
    documents = [
        Document(f"stories-{s.index:06d}", split, (Section(None, " ".join((*s.context, s.endings[s.right]))),))
        for s, split in zip(stories, splits, strict=True)
    ]
    truth = {
        "wrong_ending": np.array([s.endings[1 - s.right] for s in stories], dtype=np.str_),
        "right_ending": np.array([s.endings[s.right] for s in stories], dtype=np.str_),
        "right_index": np.array([s.right for s in stories], dtype=np.int64),
        "schema": np.array([s.schema for s in stories], dtype=np.int64),
        "outcome": np.array([s.outcome for s in stories], dtype=np.int64),
    }
    return Corpus(documents, truth, facts)
