r"""The section-title posterior $q(z \mid x)$ (deng2022 section 4, appendix E): an encoder with a softmax over titles.

$P_c(z_{1:M} \mid x) = \prod_m P_c(z_m \mid x^m)$: each section is classified from its own text, cut at
``max_length`` tokens. Labels are the training titles in alphabetical order, as in the authors' script.
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
from longform.errors import BadInput
from longform.language_models import checkpoints
from longform.language_models.lightning import Learner, fit_learner
from longform.language_models.tokenizers import masked, section_ids
from longform.statistics.random_streams import derived_seed

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
    """Train on the titled sections of split train; the weights of the best validation loss are kept.

    ``base`` is an encoder to finetune, or a tokenizer beside which ``shape`` makes one from scratch; ``max_length`` is the
    tokens of a section that are read (512 in the paper).
    """
    titles = sorted(
        {
            s.title
            for d in documents
            if d.split == "train"
            for s in d.sections
            if s.title is not None
        }
    )
    if len(titles) < 2:
        raise BadInput(
            f"train {name}: got training titles {titles}; a classifier needs at least two, check the corpus"
        )
    tokenizer = checkpoints.load_tokenizer(base)
    index: dict[str | None, int] = {title: i for i, title in enumerate(titles)}
    labels = {"id2label": dict(enumerate(titles)), "label2id": index}
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
        raise BadInput(
            f"train {name}: {base} holds no encoder and the entry gives no shape; add one of the two"
        )
    items = {}
    for split in ("train", "validation"):
        known = [s for d in documents if d.split == split for s in d.sections if s.title in index]
        items[split] = [(section_ids(s.text, tokenizer, max_length), index[s.title]) for s in known]
    fit_learner(
        TitleClassifier, network, items, collate, schedule, seed=seed, name=name, scratch=scratch
    )
    return checkpoints.SavedModel(network, tokenizer)


def collate(items: Sequence[tuple[list[int], int]]) -> dict[str, torch.Tensor]:
    """Sections and labels, padded to the longest section; padding is masked."""
    return {
        **masked([ids for ids, _ in items]),
        "labels": torch.tensor([label for _, label in items]),
    }


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
    """Arg-max titles, with each title's probability and, where the document has them, the gold titles."""
    chosen = of_splits(documents, splits, f"infer {name}")
    tokenizer = checkpoints.load_tokenizer(reader)
    network = checkpoints.load_reader(reader, AutoModelForSequenceClassification)
    titles = [network.config.id2label[i] for i in range(network.config.num_labels)]
    ids = [section_ids(s.text, tokenizer, max_length) for d in chosen for s in d.sections]
    log_posterior = classify(network, ids, batch, name)
    names = np.array(titles)[log_posterior.argmax(axis=1)].tolist()
    lengths = np.array([len(d.sections) for d in chosen], dtype=np.int64)
    rows = [
        tuple(names[end - length : end])
        for end, length in zip(np.cumsum(lengths), lengths, strict=True)
    ]
    out = chains_to_predictions(
        [Chain(d.id, d.split, row) for d, row in zip(chosen, rows, strict=True)]
    )
    gold = [section.title for document in chosen for section in document.sections]
    gold_names = sorted({title for title in gold if title is not None})
    index: dict[str | None, int] = {title: i for i, title in enumerate(gold_names)}
    own = np.array([index.get(title, -1) for title in gold], dtype=np.int32)
    flat = {
        "confidence": np.exp(log_posterior.max(axis=1)),
        "gold": own,
        "log_posterior": log_posterior,
    }
    known = {key: value for key, value in (truth or {}).items() if key in SYNTHETIC}
    known |= {
        "gold_names": np.array(gold_names, dtype=np.str_),
        "title_names": np.array(titles, dtype=np.str_),
    }
    return replace(
        out, arrays={**out.arrays, **flat, **{f"{key}_lengths": lengths for key in flat}, **known}
    )


@torch.no_grad()
def classify(network: Any, rows: Sequence[list[int]], batch: int, name: str) -> np.ndarray:
    """Float32 log posterior (sections, titles); sections are batched by length, which leaves the result as it is."""
    order = sorted(range(len(rows)), key=lambda i: (len(rows[i]), i))
    log_posterior = np.zeros((len(rows), network.config.num_labels), dtype=np.float32)
    reported = time.monotonic()
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        given = {
            key: value.to(network.device)
            for key, value in masked([rows[i] for i in chosen]).items()
        }
        log_posterior[chosen] = network(**given).logits.float().log_softmax(-1).cpu().numpy()
        if time.monotonic() - reported > 10:
            reported = time.monotonic()
            print(f"infer {name}: {start}/{len(order)} sections", flush=True)
    return log_posterior


def read_gold(*, documents: Sequence[Document], splits: Sequence[str]) -> Predictions:
    """One chain of titles per document; a document with an untitled section is an invalid chain."""
    chains = []
    for document in in_splits(documents, splits):
        titles = tuple(section.title for section in document.sections if section.title is not None)
        whole = len(titles) == len(document.sections)
        chains.append(Chain(document.id, document.split, titles if whole else (), valid=whole))
    return chains_to_predictions(chains)
