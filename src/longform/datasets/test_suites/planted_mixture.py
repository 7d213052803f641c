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
WRITERS: dict[str, Callable[[int, int], str]] = {  # texts by kind, from the world's seed and a number
    "stories": lambda seed, index: story_text(write_story(seed, index)),
    "dialogues": lambda seed, index: SPEAKER.join(write_dialogue(seed, index).turns),
    "translations": lambda seed, index: translated(story_text(write_story(seed, index)), LANGUAGE),
}


def build(*, name: str, seed: int, counts: Mapping[str, Mapping[str, int]]) -> Corpus:
    """Documents of each kind; ``counts`` maps stories, dialogues, articles and translations to counts by split.

    Raises:
        BadInput: an unknown kind.
    """
    unknown = sorted(counts.keys() - {*WRITERS, "articles"})
    if unknown:
        raise BadInput(f"prepare {name}: kinds {unknown}; allowed are {sorted({*WRITERS, 'articles'})}; fix the entry")
    plain = sorted(kind for kind, splits in counts.items() if not isinstance(splits, Mapping))
    if plain:
        raise BadInput(f"prepare {name}: {plain} have one count, allowed are counts by split; fix the entry")
    documents = [_document(kind, seed, index) for kind, splits in counts.items() for index in indices(splits)]
    facts = {"planted": True, "documents": {kind: dict(splits) for kind, splits in counts.items()}}
    return Corpus(documents, {}, facts)


def _document(kind: str, seed: int, index: int) -> Document:
    if kind == "articles":
        return to_document(write(seed, "wiki", index), "wiki")
    return text_of(kind, LANGUAGE if kind == "translations" else kind, seed, index)


def text_of(kind: str, prefix: str, seed: int, index: int) -> Document:
    """One text of ``WRITERS``, its id with a prefix."""
    return Document(f"{prefix}-{index:06d}", split_of(index), (Section(None, WRITERS[kind](seed, index)),))
