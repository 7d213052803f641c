"""Stories, dialogues, articles and stories in another language, in one corpus: what a model reads before it meets the suites.

Turns of a dialogue are joined by the end token that the byte-level tokenizer knows, DialoGPT's sign for a change of
speaker; so a model of this corpus gives the suites' ``[SEP]`` the meaning that the paper gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpus import indices, split_of, to_document
from longform.datasets.synthetic_world.stories import write_dialogue, write_story
from longform.datasets.test_suites.planted import LANGUAGE, story_text, translated

SPEAKER = "<|endoftext|>"


def build(*, name: str, seed: int, counts: Mapping[str, Mapping[str, int]]) -> Corpus:
    """Documents of each kind; ``counts`` maps stories, dialogues, articles and translations to counts by split.

    Raises:
        BadInput: an unknown kind.
    """
    writers: dict[str, Callable[[int], Document]] = {
        "stories": lambda index: _text("stories", index, story_text(write_story(seed, index))),
        "dialogues": lambda index: _text("dialogues", index, SPEAKER.join(write_dialogue(seed, index).turns)),
        "articles": lambda index: to_document(write(seed, "wiki", index), "wiki"),
        "translations": lambda index: _text(
            LANGUAGE, index, translated(story_text(write_story(seed, index)), LANGUAGE)
        ),
    }
    unknown = sorted(counts.keys() - writers.keys())
    if unknown:
        raise BadInput(f"prepare {name}: kinds {unknown}; allowed are {sorted(writers)}; fix the entry")
    plain = sorted(kind for kind, splits in counts.items() if not isinstance(splits, Mapping))
    if plain:
        raise BadInput(f"prepare {name}: {plain} have one count, allowed are counts by split; fix the entry")
    documents = [writers[kind](index) for kind, splits in counts.items() for index in indices(splits)]
    return Corpus(
        documents, {}, {"planted": True, "documents": {kind: dict(splits) for kind, splits in counts.items()}}
    )


def _text(kind: str, index: int, text: str) -> Document:
    return Document(f"{kind}-{index:06d}", split_of(index), (Section(None, text),))
