r"""The section-title posterior $q(z \mid x)$: an encoder with a softmax over titles.

$P_c(z_{1:M} \mid x) = \prod_m P_c(z_m \mid x^m)$ (deng2022 section 4, appendix E): each section is
classified from its own text, cut at ``max_length`` tokens. Labels are the training titles in
alphabetical order, as in the authors' script.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from longform.documents import (
    Chain,
    Document,
    Predictions,
    Section,
    chains_to_predictions,
    in_splits,
    of_splits,
)
from longform.errors import ConfigError, InputError
from longform.language_models import checkpoints
from longform.language_models.lightning import Learner, fit_learner
from longform.language_models.tokenizers import masked, section_ids
from longform.statistics.random_streams import derived_seed

REPORT_SECONDS = 10  # between two lines of progress
SYNTHETIC = ("section_transitions", "section_symbol_names")  # the known chain of synthetic text


class TitleClassifier(Learner):
    """A transformers sequence classifier with its optimiser."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Mean cross-entropy of the titles of a batch, nats."""
        output = self.network(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        return torch.nn.functional.cross_entropy(output.logits.float(), batch["labels"])


def fit(
    *,
    documents: Sequence[Document],
    base: Path,
    name: str,
    seed: int,
    scratch: Path,
    max_length: int,
    schedule: Mapping[str, Any],
    shape: Mapping[str, Any] | None = None,
) -> checkpoints.SavedModel:
    """Train a title classifier on the titled sections of split train.

    It has the weights of the best validation loss.

    Args:
        documents: of the splits train and validation.
        base: folder of an encoder to finetune, or of a tokenizer beside which ``shape`` makes one.
        name: of the stage, for messages.
        seed: of new weights and of the training.
        scratch: folder for checkpoints.
        max_length: tokens of a section that are read (512 in the paper).
        schedule: of the training, as :class:`~longform.language_models.schedule.Schedule` has it.
        shape: of a new network, as transformers' configurations have it.

    Raises:
        InputError: fewer than two training titles.
        ConfigError: neither an encoder nor a shape.
    """
    titles = training_titles(documents)
    if len(titles) < 2:
        raise InputError(
            f"train {name}: got training titles {titles}; "
            "a classifier needs at least two, check the corpus"
        )
    # 1. A network with a softmax over the titles: new from its shape, or a pretrained encoder.
    index = {title: i for i, title in enumerate(titles)}
    labels = {"id2label": dict(enumerate(titles)), "label2id": index}
    tokenizer = checkpoints.load_tokenizer(base)
    if shape is not None:
        sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        network = checkpoints.new_network(
            shape, AutoModelForSequenceClassification, seed, **sizes, **labels
        )
    elif checkpoints.has_model(base):
        torch.manual_seed(derived_seed(seed, "initial weights"))
        network = checkpoints.load_model(
            base, AutoModelForSequenceClassification, num_labels=len(titles), **labels
        )
    else:
        raise ConfigError(
            f"train {name}: {base} holds no encoder and the entry gives no shape; "
            "add one of the two"
        )
    # 2. Sections with one of the titles, as tokens and label.
    items: dict[str, list[tuple[list[int], int]]] = {"train": [], "validation": []}
    for document in documents:
        if document.split not in items:
            continue
        for section in document.sections:
            if section.title in index:
                tokens = section_ids(section.text, tokenizer, max_length)
                items[document.split].append((tokens, index[section.title]))
    fit_learner(
        TitleClassifier, network, items, collate, schedule, seed=seed, name=name, scratch=scratch
    )
    return checkpoints.SavedModel(network, tokenizer)


def training_titles(documents: Sequence[Document]) -> list[str]:
    """The distinct titles of sections of split train, in alphabetical order."""
    titles = set()
    for document in documents:
        if document.split == "train":
            for section in document.sections:
                if section.title is not None:
                    titles.add(section.title)
    return sorted(titles)


def collate(items: Sequence[tuple[list[int], int]]) -> dict[str, torch.Tensor]:
    """A batch of sections, padded to the longest; padding is masked.

    Args:
        items: token ids and label of each section.
    """
    ids, labels = zip(*items, strict=True)
    batch = masked(list(ids))
    batch["labels"] = torch.tensor(list(labels))
    return batch


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    name: str,
    splits: Sequence[str],
    max_length: int,
    batch: int = 16,
    truth: Mapping[str, np.ndarray] | None = None,
) -> Predictions:
    """Predict the titles of documents' sections: the most probable title of each section.

    Args:
        documents: of a corpus.
        reader: folder of a trained classifier.
        name: of the stage, for messages.
        splits: whose documents are read.
        max_length: tokens of a section that are read.
        batch: sections at a time.
        truth: arrays of the corpus; those of ``SYNTHETIC`` are copied to the predictions.

    Returns:
        As :func:`longform.documents.chains_to_predictions`, and ragged by section ``confidence``
        (probability of the predicted title), ``gold`` (index among ``gold_names``, -1 for none) and
        ``log_posterior`` (sections, titles of ``title_names``), nats.
    """
    chosen = of_splits(documents, splits, f"infer {name}")
    sections: list[Section] = []
    for document in chosen:
        sections += document.sections
    # 1. The posterior over titles of every section of all documents.
    tokenizer = checkpoints.load_tokenizer(reader)
    network = checkpoints.load_reader(reader, AutoModelForSequenceClassification)
    titles = [network.config.id2label[i] for i in range(network.config.num_labels)]
    tokens = [section_ids(section.text, tokenizer, max_length) for section in sections]
    log_posterior = classify(network, tokens, batch, name)
    # 2. The most probable titles, as a chain a document.
    predicted = iter(np.array(titles)[log_posterior.argmax(axis=1)].tolist())
    chains = []
    for document in chosen:
        symbols = tuple(islice(predicted, len(document.sections)))
        chains.append(Chain(document.id, document.split, symbols))
    # 3. Beside them, section by section, the posterior and the documents' own titles.
    gold_names, gold = _gold_titles(sections)
    by_section = {
        "confidence": np.exp(log_posterior.max(axis=1)),
        "gold": gold,
        "log_posterior": log_posterior,
    }
    num_sections = np.array([len(document.sections) for document in chosen], dtype=np.int64)
    predictions = chains_to_predictions(chains)
    arrays = {**predictions.arrays, **by_section}
    for key in by_section:
        arrays[f"{key}_lengths"] = num_sections
    for key, values in (truth or {}).items():
        if key in SYNTHETIC:
            arrays[key] = values
    arrays["gold_names"] = np.array(gold_names, dtype=np.str_)
    arrays["title_names"] = np.array(titles, dtype=np.str_)
    return replace(predictions, arrays=arrays)


def _gold_titles(sections: Sequence[Section]) -> tuple[list[str], np.ndarray]:
    """The distinct titles of sections in alphabetical order, and the index of each section's title.

    Indices are int32 (sections,), -1 for a section without a title.
    """
    names = sorted({section.title for section in sections if section.title is not None})
    index: dict[str | None, int] = {name: i for i, name in enumerate(names)}
    indices = [index.get(section.title, -1) for section in sections]
    return names, np.array(indices, dtype=np.int32)


@torch.no_grad()
def classify(network: Any, rows: Sequence[Sequence[int]], batch: int, name: str) -> np.ndarray:
    """The log posterior over titles of each section.

    Sections of similar length share a batch, which saves padding and does not change the result.

    Args:
        network: a classifier.
        rows: token ids of each section.
        batch: sections at a time.
        name: of the stage, for messages.

    Returns:
        float32 (sections, titles), nats.
    """
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    log_posterior = np.zeros((len(rows), network.config.num_labels), dtype=np.float32)
    reported = time.monotonic()
    for start in range(0, len(order), batch):
        indices = order[start : start + batch]
        inputs = {}
        for key, value in masked([rows[i] for i in indices]).items():
            inputs[key] = value.to(network.device)
        logits = network(**inputs).logits.float()
        log_posterior[indices] = logits.log_softmax(-1).cpu().numpy()
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            print(f"infer {name}: {start}/{len(order)} sections", flush=True)
    return log_posterior


def read_gold(*, documents: Sequence[Document], splits: Sequence[str]) -> Predictions:
    """One chain of titles per document; a document with an untitled section is an invalid chain.

    Args:
        documents: of a corpus.
        splits: whose documents are read.
    """
    chains = []
    for document in in_splits(documents, splits):
        titles = [section.title for section in document.sections]
        is_complete = None not in titles
        symbols = tuple(map(str, titles)) if is_complete else ()
        chains.append(Chain(document.id, document.split, symbols, valid=is_complete))
    return chains_to_predictions(chains)
