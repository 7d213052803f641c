r"""The section-title posterior $q(z \mid x)$: an encoder with a softmax over titles (deng2022 section 4, appendix E).

$P_c(z_{1:M} \mid x) = \prod_m P_c(z_m \mid x^m)$: each section is classified from its own text, cut at
``max_length`` tokens. Labels are the training titles in alphabetical order, as in the authors' script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from longform.core.documents import BadInput, Document
from longform.core.resampling import derived_seed
from longform.language_models.checkpoints import SavedModel, has_model, load_model, load_tokenizer, new_network
from longform.language_models.lightning import Items, Learner, Schedule, fit_module
from longform.language_models.tokenizers import section_ids


class TitleClassifier(Learner):
    """A transformers sequence classifier with its optimiser."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        logits = self.network(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
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
) -> SavedModel:
    """Train on the titled sections of split train; the weights of the best validation loss are kept.

    Args:
        base: an encoder checkpoint to finetune, or a tokenizer beside which ``shape`` makes an encoder from scratch.
        max_length: tokens of a section that are read (512 in the paper).
    """
    titles = sorted({s.title for d in documents if d.split == "train" for s in d.sections if s.title is not None})
    if len(titles) < 2:
        raise BadInput(
            f"train {name}: training sections have titles {titles}; a classifier needs at least two, check the corpus"
        )
    tokenizer = load_tokenizer(base)
    labels = {"id2label": dict(enumerate(titles)), "label2id": {t: i for i, t in enumerate(titles)}}
    if shape is not None:
        sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        network = new_network(shape, AutoModelForSequenceClassification, seed, **sizes, **labels)
    elif has_model(base):
        torch.manual_seed(derived_seed(seed, "initial weights"))
        network = load_model(base, AutoModelForSequenceClassification, num_labels=len(titles), **labels)
    else:
        raise BadInput(f"train {name}: {base} holds no encoder and the entry gives no shape; add one of the two")
    items = {s: sections(documents, s, titles, tokenizer, max_length) for s in ("train", "validation")}
    plan = Schedule.from_settings(schedule)
    module = TitleClassifier(network, plan, plan.updates(len(items["train"])))
    fit_module(module, Items(items["train"], items["validation"], collate), plan, seed=seed, name=name, scratch=scratch)
    return SavedModel(network, tokenizer)


def sections(
    documents: Sequence[Document], split: str, titles: Sequence[str], tokenizer: Any, max_length: int
) -> list[tuple[list[int], int]]:
    """(token ids, title index) of each section with a known title."""
    index = {title: i for i, title in enumerate(titles)}
    chosen = [s for d in documents if d.split == split for s in d.sections if s.title in index]
    return [(section_ids(s.text, tokenizer, max_length), index[s.title]) for s in chosen if s.title is not None]


def collate(items: list[tuple[list[int], int]]) -> dict[str, torch.Tensor]:
    """Pad to the longest section; padding is masked."""
    width = max(len(ids) for ids, _ in items)
    ids, mask = np.zeros((len(items), width), dtype=np.int64), np.zeros((len(items), width), dtype=np.int64)
    for row, (tokens, _) in enumerate(items):
        ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
    labels = torch.tensor([label for _, label in items])
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask), "labels": labels}
