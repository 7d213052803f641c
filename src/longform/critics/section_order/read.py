r"""The section-title posterior $q(z \mid x)$ (deng2022 section 4, appendix E): an encoder with a
softmax over titles.

$P_c(z_{1:M} \mid x) = \prod_m P_c(z_m \mid x^m)$: each section is classified from its own text, cut
at
``max_length`` tokens. Labels are the training titles in alphabetical order, as in the authors'
script.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from longform.documents import (
    Chain,
    Document,
    Predictions,
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
        logits = self.network(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).logits
        return torch.nn.functional.cross_entropy(logits.float(), batch["labels"])


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
    """Train on the titled sections of split train; the weights of the best validation loss are
    kept.

    Args:
        base: folder of an encoder to finetune, or of a tokenizer beside which ``shape`` makes one.
        max_length: tokens of a section that are read (512 in the paper).
        shape: of a new network, as transformers' configurations have it.

    Raises:
        InputError: fewer than two training titles.
        ConfigError: neither an encoder nor a shape.
    """
    # 1. The labels are the titles of training, in alphabetical order.
    training_titles: set[str | None] = set()
    for document in documents:
        if document.split == "train":
            training_titles.update(section.title for section in document.sections)
    titles = sorted(title for title in training_titles if title is not None)
    if len(titles) < 2:
        raise InputError(
            f"train {name}: got training titles {titles}; "
            "a classifier needs at least two, check the corpus"
        )
    index: dict[str | None, int] = {title: i for i, title in enumerate(titles)}
    labels = {"id2label": dict(enumerate(titles)), "label2id": index}
    # 2. A network with a softmax over them: new from its shape, or a pretrained encoder.
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
    # 3. Sections with one of the titles, as tokens and label.
    items: dict[str, list[tuple[list[int], int]]] = {"train": [], "validation": []}
    for document in documents:
        for section in document.sections if document.split in items else ():
            if section.title in index:
                tokens = section_ids(section.text, tokenizer, max_length)
                items[document.split].append((tokens, index[section.title]))
    fit_learner(
        TitleClassifier, network, items, collate, schedule, seed=seed, name=name, scratch=scratch
    )
    return checkpoints.SavedModel(network, tokenizer)


def collate(items: Sequence[tuple[list[int], int]]) -> dict[str, torch.Tensor]:
    """Sections and labels, padded to the longest section; padding is masked."""
    batch = masked([ids for ids, _ in items])
    batch["labels"] = torch.tensor([label for _, label in items])
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
    """Arg-max titles, with each title's probability and, where there are any, the gold titles.

    Args:
        reader: folder of a trained classifier.
        max_length: tokens of a section that are read.
        batch: sections at a time.
        truth: arrays of the corpus; what it says of the chain that made the titles is kept.

    Returns:
        As :func:`longform.documents.chains_to_predictions`, and ragged by section ``confidence``
        (of the predicted title), ``gold`` (index among ``gold_names``, -1 for none) and
        ``log_posterior`` (sections, titles of ``title_names``).
    """
    chosen = of_splits(documents, splits, f"infer {name}")
    # 1. The posterior over titles of every section of all documents.
    tokenizer = checkpoints.load_tokenizer(reader)
    network = checkpoints.load_reader(reader, AutoModelForSequenceClassification)
    titles = [network.config.id2label[i] for i in range(network.config.num_labels)]
    sections = [section for document in chosen for section in document.sections]
    tokens = [section_ids(section.text, tokenizer, max_length) for section in sections]
    log_posterior = classify(network, tokens, batch, name)
    # 2. The most probable titles, as a chain a document.
    predicted = np.array(titles)[log_posterior.argmax(axis=1)].tolist()
    chains = []
    first = 0
    for document in chosen:
        last = first + len(document.sections)
        chains.append(Chain(document.id, document.split, tuple(predicted[first:last])))
        first = last
    predictions = chains_to_predictions(chains)
    # 3. The documents' own titles, as places among their names.
    gold_names = sorted({section.title for section in sections if section.title is not None})
    index: dict[str | None, int] = {title: i for i, title in enumerate(gold_names)}
    gold = np.array([index.get(section.title, -1) for section in sections], dtype=np.int32)
    by_section = {
        "confidence": np.exp(log_posterior.max(axis=1)),
        "gold": gold,
        "log_posterior": log_posterior,
    }
    arrays = {**predictions.arrays, **by_section}
    for key in by_section:
        arrays[f"{key}_lengths"] = np.array([len(d.sections) for d in chosen], dtype=np.int64)
    for key, values in (truth or {}).items():
        if key in SYNTHETIC:
            arrays[key] = values
    arrays["gold_names"] = np.array(gold_names, dtype=np.str_)
    arrays["title_names"] = np.array(titles, dtype=np.str_)
    return replace(predictions, arrays=arrays)


@torch.no_grad()
def classify(network: Any, rows: Sequence[Sequence[int]], batch: int, name: str) -> np.ndarray:
    """Float32 log posterior (sections, titles) of rows of tokens.

    Sections are batched by length, which leaves the result as it is.
    """
    order = sorted(range(len(rows)), key=lambda i: (len(rows[i]), i))
    log_posterior = np.zeros((len(rows), network.config.num_labels), dtype=np.float32)
    reported = time.monotonic()
    for start in range(0, len(order), batch):
        indices = order[start : start + batch]
        inputs = masked([rows[i] for i in indices])
        on_device = {key: value.to(network.device) for key, value in inputs.items()}
        logits = network(**on_device).logits.float()
        log_posterior[indices] = logits.log_softmax(-1).cpu().numpy()
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            print(f"infer {name}: {start}/{len(order)} sections", flush=True)
    return log_posterior


def read_gold(*, documents: Sequence[Document], splits: Sequence[str]) -> Predictions:
    """One chain of titles per document; a document with an untitled section is an invalid chain."""
    chains = []
    for document in in_splits(documents, splits):
        titles = tuple(section.title for section in document.sections if section.title is not None)
        complete = len(titles) == len(document.sections)
        symbols = titles if complete else ()
        chains.append(Chain(document.id, document.split, symbols, valid=complete))
    return chains_to_predictions(chains)
