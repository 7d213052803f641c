"""Five-sentence stories: the fourth sentence settles the outcome, so one ending is right and its rival is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from longform.core.documents import Corpus, Document, Section
from longform.datasets.synthetic_world import names
from longform.datasets.synthetic_world.draws import Draws, stream
from longform.datasets.synthetic_world.lexicon import TABLE_SIZE, article, plural, vocabulary
from longform.datasets.synthetic_world.tables import table

SCHEMAS: Sequence[Mapping[str, Sequence[str]]] = table("stories")  # opening, turns and endings by outcome
SLOTS = {"thing": "thing", "being": "being", "place": "place", "event": "event", "agent": "person", "adj": "adjective"}
HE, SHE = {"he": "he", "He": "He", "him": "him"}, {"he": "she", "He": "She", "him": "her"}


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
    draws = Draws(stream("stories", seed, index))
    number, outcome = draws.integer(0, len(SCHEMAS) - 1), draws.integer(0, 1)
    words = _words(draws)
    right = draws.integer(0, 1)
    schema = {part: [text.format_map(words) for text in texts] for part, texts in SCHEMAS[number].items()}
    context = (*schema["opening"], schema["turns"][outcome])
    first = outcome ^ right
    return Story(index, context, (schema["endings"][first], schema["endings"][1 - first]), right, number, outcome)


def _words(draws: Draws) -> dict[str, str]:
    topic = draws.pick(vocabulary("everyday").topics)
    male = draws.pick((True, False))
    words = {name: topic.tables[slot][int(draws.uniform() * TABLE_SIZE)] for name, slot in SLOTS.items()}
    words |= {f"a_{slot}": article(word) for slot, word in words.items()}
    words |= {f"{slot}s": plural(words[slot]) for slot in ("agent", "thing", "being")}
    words["A_agent"] = words["a_agent"].capitalize()
    words |= {"name": draws.pick(names.MALE if male else names.FEMALE), "Town": draws.pick(names.PLACES)}
    return words | {"small": str(draws.integer(3, 60))} | (HE if male else SHE)


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
