r"""Causal language models, finetuned or from scratch (deng2022 section 4, appendix E).

Section 3 of the paper has the synthetic one. The loss is the mean of $-\log p(x_t \mid x_{<t})$ in
nats over the tokens of a block; the first token of a block is context only. ``stream`` packing cuts
one long token stream into blocks that may cross articles, as the paper's script does; ``documents``
packing gives every document its own row.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase

from longform.documents import Document
from longform.errors import BadInput
from longform.files.artefacts import read_json
from longform.language_models.checkpoints import (
    SavedModel,
    has_model,
    load_model,
    load_tokenizer,
    new_network,
)
from longform.language_models.lightning import Learner, fit_learner
from longform.language_models.tokenizers import (
    Window,
    document_windows,
    masked,
    padded,
    stream_blocks,
)

IGNORED = -100  # transformers' label for "no loss here"
PACKINGS: Mapping[str, Callable[..., Any]] = {
    "stream": stream_blocks,
    "documents": document_windows,
}


class CausalLanguageModel(Learner):
    """Nats per predicted token of a transformers causal LM."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Mean loss of a batch, nats per predicted token."""
        output = self.network(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], use_cache=False
        )
        logits = output.logits[:, :-1].flatten(0, 1).float()
        labels = batch["labels"][:, 1:].flatten()
        return cross_entropy(logits, labels, ignore_index=IGNORED)

    def weight(self, batch: Mapping[str, torch.Tensor]) -> int:
        """Number of predicted tokens of a batch."""
        return int((batch["labels"][:, 1:] != IGNORED).sum())


def fit(
    *,
    documents: Sequence[Document],
    base: Path,
    name: str,
    seed: int,
    scratch: Path,
    titles: bool,
    packing: str,
    context: int,
    schedule: Mapping[str, Any],
    shape: Mapping[str, Any] | None = None,
    bases: Path | None = None,
    validation_documents: int | None = None,
) -> SavedModel:
    """Train on the documents of split train, keeping the weights of the best validation loss.

    Args:
        documents: of splits train and validation; others are ignored.
        base: folder of a checkpoint to finetune, or of the tokenizer for a network of ``shape``.
        name: of the model, in progress lines and errors.
        seed: of initial weights, the order of items, and dropout.
        scratch: folder for unfinished work.
        titles: whether section titles are part of the text (W/ Title) or not (W/O Title).
        packing: "stream" or "documents".
        context: tokens of a block; at most the network's positions.
        schedule: fields of :class:`longform.language_models.schedule.Schedule`.
        shape: ``{"model_type": "gpt2", ...}``, keywords of its transformers configuration.
        bases: folder of pretrained networks, of which the one with the shape is finetuned; None
            trains the shape from scratch.
        validation_documents: number of first documents of split validation that choose the
            weights; None for all. With a large split, which other critics need, each validation
            would take long.

    Raises:
        BadInput: no network to start from, an unknown packing, or no items of a split.
    """
    if shape is None and not has_model(base):
        raise BadInput(
            f"train {name}: {base} holds no model and the entry gives no shape; add one of the two"
        )
    if packing not in PACKINGS:
        raise BadInput(f"train {name}: packing {packing!r}; allowed are 'stream' and 'documents'")
    # 1. The network to start from.
    tokenizer = load_tokenizer(base)
    if shape is None:
        network = load_model(base, AutoModelForCausalLM)
    elif bases is None:
        network = from_scratch(shape, tokenizer, context, seed)
    else:
        network = load_model(base_of(bases, shape, tokenizer), AutoModelForCausalLM)
    # Some published checkpoints have 16 bits, in which small updates vanish.
    network = network.float()
    # 2. Rows of tokens of each split.
    training = [document for document in documents if document.split == "train"]
    validation = [document for document in documents if document.split == "validation"]
    pack = PACKINGS[packing]
    items = {
        "train": pack(training, tokenizer, titles, context),
        "validation": pack(validation[:validation_documents], tokenizer, titles, context),
    }
    # 3. Train.
    progress = fit_learner(
        CausalLanguageModel,
        network,
        items,
        collate,
        schedule,
        seed=seed,
        name=name,
        scratch=scratch,
    )
    return SavedModel(network, tokenizer, (progress.COLUMNS, *progress.rows))


def base_of(folder: Path, shape: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase) -> Path:
    """The folder of the pretrained network whose configuration has all keywords of a shape.

    Args:
        folder: holds the networks' folders and their ``tokenizer``.
        shape: ``{"model_type": "gpt2", ...}``.
        tokenizer: the study's tokenizer.

    Raises:
        BadInput: no base has the shape, or the bases' vocabulary is another than the tokenizer's.
    """
    if load_tokenizer(folder / "tokenizer").get_vocab() != tokenizer.get_vocab():
        raise BadInput(
            f"{folder}: the bases have another vocabulary than the study; "
            "give tokenizer: {folder: bases/tokenizer}"
        )
    other_shapes = []
    for path in sorted(folder.glob("*/config.json")):
        config = read_json(path)
        if shape.items() <= config.items():
            return path.parent
        other_shapes.append({key: config.get(key) for key in shape})
    raise BadInput(
        f"{folder}: no base has the shape {dict(shape)}, there are {other_shapes}; say "
        "from_scratch: true in the model's entry, add a base with the scale 'bases', or set "
        "training.bases to null, which trains every model of the study from scratch"
    )


def from_scratch(
    shape: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase, context: int, seed: int
) -> Any:
    """A network with seeded random weights, for a tokenizer.

    Args:
        shape: ``{"model_type": "gpt2", ...}``, keywords of its configuration.
        tokenizer: gives the vocabulary and the tokens at which texts begin and end.
        context: positions.
        seed: of the weights.

    Raises:
        BadInput: as :func:`longform.language_models.checkpoints.new_network`.
    """
    config = {
        **shape,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        # Some networks keep the padding token's embedding at zero; padding is often the end token,
        # with which texts also begin.
        "pad_token_id": None,
    }
    sizes = {"vocab_size": len(tokenizer), "max_position_embeddings": context}
    network = new_network(config, AutoModelForCausalLM, seed, **sizes)
    # Saved files name the padding token.
    network.config.pad_token_id = tokenizer.pad_token_id
    network.generation_config.pad_token_id = tokenizer.pad_token_id
    return network


def untrained(*, base: Path, seed: int, context: int, shape: Mapping[str, Any]) -> SavedModel:
    """A network with random weights, the baseline of every trained one.

    Its weights are those from which training would start; see :func:`from_scratch`.
    """
    tokenizer = load_tokenizer(base)
    return SavedModel(from_scratch(shape, tokenizer, context, seed), tokenizer)


def collate(items: Sequence[Sequence[int] | Window]) -> dict[str, torch.Tensor]:
    """Make a batch: pad to the longest row; padding and a window's context carry no loss."""
    rows = []
    for item in items:
        rows.append(item.ids if isinstance(item, Window) else item)
    labels = padded(rows, IGNORED)
    for label, item in zip(labels, items, strict=True):
        if isinstance(item, Window):
            label[: item.seen] = IGNORED
    return {**masked(rows), "labels": labels}
