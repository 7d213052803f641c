r"""Causal language models, finetuned or from scratch (deng2022 section 4 and appendix E; section 3 for the synthetic one).

The loss is the mean of $-\log p(x_t \mid x_{<t})$ in nats over the tokens of a block; the first token of a
block is context only. ``stream`` packing cuts one long token stream into blocks that may cross articles, as the
paper's script does; ``documents`` packing gives every document its own row.
"""

from collections.abc import Mapping, Sequence
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


class CausalLanguageModel(Learner):
    """Nats per predicted token of a transformers causal LM."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        inputs = {key: batch[key] for key in ("input_ids", "attention_mask")}
        logits = self.network(**inputs, use_cache=False).logits[:, :-1]
        return cross_entropy(
            logits.flatten(0, 1).float(), batch["labels"][:, 1:].flatten(), ignore_index=IGNORED
        )

    def weight(self, batch: Mapping[str, torch.Tensor]) -> int:
        return int((batch["labels"][:, 1:] != IGNORED).sum())


def fit(
    *,
    documents: Sequence[Document],
    base: Path,  # a checkpoint to finetune, or a tokenizer beside which ``shape`` makes a network from scratch
    name: str,
    seed: int,
    scratch: Path,
    titles: bool,  # whether section titles are part of the text (W/ Title) or not (W/O Title)
    packing: str,  # "stream" or "documents"
    context: int,  # tokens of a block; at most the network's positions
    schedule: Mapping[str, Any],
    shape: Mapping[str, Any] | None = None,
    bases: Path | None = None,
    validation_documents: int | None = None,
) -> SavedModel:
    """Train on the documents of split train, keeping the weights of the best loss on split validation.

    Args:
        shape: ``{"model_type": "gpt2", ...}``, keywords of its transformers configuration.
        bases: pretrained networks, of which the one with the shape is finetuned; None trains the shape from scratch.
        validation_documents: how many documents of split validation choose the weights, the first ones; None for all. A large
            split, which other critics need, would make each validation long.
    """
    if shape is None and not has_model(base):
        raise BadInput(
            f"train {name}: {base} holds no model and the entry gives no shape; add one of the two"
        )
    pack: Any = {"stream": stream_blocks, "documents": document_windows}.get(packing)
    if pack is None:
        raise BadInput(f"train {name}: packing {packing!r}; allowed are 'stream' and 'documents'")
    tokenizer = load_tokenizer(base)
    if shape is not None and bases is None:
        network = from_scratch(shape, tokenizer, context, seed)
    else:
        start = (
            base_of(bases, shape, tokenizer) if shape is not None and bases is not None else base
        )
        network = load_model(start, AutoModelForCausalLM)
    network = (
        network.float()
    )  # some published checkpoints are halves, in which small updates vanish
    texts = {split: [d for d in documents if d.split == split] for split in ("train", "validation")}
    texts["validation"] = texts["validation"][:validation_documents]
    items = {split: pack(chosen, tokenizer, titles, context) for split, chosen in texts.items()}
    names: dict[str, Any] = {"seed": seed, "name": name, "scratch": scratch}
    told = fit_learner(CausalLanguageModel, network, items, collate, schedule, **names)
    return SavedModel(network, tokenizer, (told.COLUMNS, *told.rows))


def base_of(folder: Path, shape: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase) -> Path:
    """The base below a folder whose configuration agrees with the shape, ``{"model_type": "gpt2", ...}``, in every keyword.

    Raises BadInput: no base has the shape, or the bases' vocabulary is another than the tokenizer's.
    """
    if load_tokenizer(folder / "tokenizer").get_vocab() != tokenizer.get_vocab():
        advice = "give tokenizer: {folder: bases/tokenizer}"
        raise BadInput(f"{folder}: the bases have another vocabulary than the study; {advice}")
    configurations = {path.parent: read_json(path) for path in sorted(folder.glob("*/config.json"))}
    for place, configuration in configurations.items():
        if shape.items() <= configuration.items():
            return place
    known = [{key: held.get(key) for key in shape} for held in configurations.values()]
    raise BadInput(
        f"{folder}: no base has the shape {dict(shape)}, there are {known}; say from_scratch: true in the model's entry, add"
        " a base with the scale 'bases', or set training.bases to null, which trains every model of the study from scratch"
    )


def from_scratch(
    shape: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase, context: int, seed: int
) -> Any:
    """A network of the given shape with seeded random weights, for a tokenizer and a context."""
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    ends["pad_token_id"] = (
        None  # whose embedding some networks keep at zero: often the end, with which a text begins
    )
    sizes = {"vocab_size": len(tokenizer), "max_position_embeddings": context}
    network = new_network({**shape, **ends}, AutoModelForCausalLM, seed, **sizes)
    network.config.pad_token_id = network.generation_config.pad_token_id = (
        tokenizer.pad_token_id
    )  # as its files name it
    return network


def untrained(*, base: Path, seed: int, context: int, shape: Mapping[str, Any]) -> SavedModel:
    """A network that has read nothing, with the seeded weights from which training would start: the floor of every trained one."""
    tokenizer = load_tokenizer(base)
    return SavedModel(from_scratch(shape, tokenizer, context, seed), tokenizer)


def collate(items: Sequence[Sequence[int] | Window]) -> dict[str, torch.Tensor]:
    """Pad to the longest row; padding, and what a window has as context alone, carries no loss."""
    rows = [item.ids if isinstance(item, Window) else item for item in items]
    labels = padded(rows, IGNORED)
    for label, item in zip(labels, items, strict=True):
        if isinstance(item, Window):
            label[: item.seen] = IGNORED
    return {**masked(rows), "labels": labels}
