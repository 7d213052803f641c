"""Training translators on sentence pairs, autoregressive and not (deng2022, appendix C).

A pair is a document with a section titled ``source`` and one titled ``target``. One BPE over both sides, as the
paper's parameter counts imply. The paper states the sizes and not the schedule, which is a row's choice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from longform.core.documents import BadInput, Document
from longform.core.resampling import derived_seed
from longform.language_models.lightning import Items, Learner, Schedule, fit_module
from longform.language_models.translation_networks import (
    END,
    IGNORED,
    NETWORKS,
    PAD,
    PAPER,
    AutoregressiveTranslator,
    ParallelTranslator,
    Shape,
)

CONTROL = ["<pad>", "<s>", "</s>", "<unk>"]
SOURCE, TARGET = "source", "target"
Pair = tuple[list[int], list[int]]
Network = AutoregressiveTranslator | ParallelTranslator


class TranslatorTraining(Learner):
    """A translator with its optimiser."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The network's own: nats per target token."""
        return self.network.loss(batch)

    def weight(self, batch: Mapping[str, torch.Tensor]) -> int:
        """Target tokens."""
        return int((batch["labels"] != IGNORED).sum())


@dataclass(frozen=True)
class TrainedTranslator:
    """Network and subwords; ``kind`` is a key of ``NETWORKS``."""

    kind: str
    network: Network
    subwords: Tokenizer

    def save(self, folder: Path) -> None:
        """``model.safetensors``, ``translator.json`` and ``tokenizer.json``."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file({k: v.contiguous() for k, v in self.network.state_dict().items()}, folder / "model.safetensors")
        record = {"kind": self.kind, "shape": asdict(self.network.shape)}
        (folder / "translator.json").write_text(json.dumps(record, sort_keys=True, indent=1) + "\n")
        self.subwords.save(str(folder / "tokenizer.json"))

    @classmethod
    def load(cls, folder: Path) -> TrainedTranslator:
        """Read what :meth:`save` wrote, on the CPU, ready to translate.

        Raises:
            BadInput: a file is missing.
        """
        for name in ("model.safetensors", "translator.json", "tokenizer.json"):
            if not (folder / name).is_file():
                raise BadInput(f"{folder}: no {name}; a translator is a folder that its train row wrote")
        record = json.loads((folder / "translator.json").read_text())
        subwords = Tokenizer.from_file(str(folder / "tokenizer.json"))
        network = NETWORKS[record["kind"]](Shape(**record["shape"]), subwords.get_vocab_size())
        network.load_state_dict(load_file(folder / "model.safetensors"))
        return cls(record["kind"], network.eval(), subwords)


def fit(
    documents: Sequence[Document],
    *,
    kind: str,
    name: str,
    seed: int,
    scratch: Path,
    schedule: Mapping[str, Any],
    shape: Mapping[str, Any] | str | None = None,
    subwords: int = 4000,
) -> TrainedTranslator:
    """Train on the pairs of split train; the weights of the best validation loss are kept.

    Args:
        kind: ``autoregressive`` or ``non_autoregressive``.
        schedule: fields of :class:`Schedule`.
        shape: fields of :class:`Shape`, or ``paper``; by default small.
        subwords: size of the joint BPE at most; large enough, it is the list of words (about 40,000 in the paper).

    Raises:
        BadInput: an unknown kind, a document that is no pair, or no training or validation pair that fits.
    """
    if kind not in NETWORKS:
        raise BadInput(f"train {name}: kind is {kind!r}, allowed is one of {sorted(NETWORKS)}")
    size = PAPER if shape == "paper" else Shape(**(shape or {}))  # type: ignore[arg-type]
    sides = {split: [sides_of(d) for d in documents if d.split == split] for split in ("train", "validation")}
    if not sides["train"]:
        raise BadInput(f"train {name}: got zero pairs of split train; the corpus needs some")
    tokenizer = fit_subwords([text for pair in sides["train"] for text in pair], subwords)
    items = {split: encoded(pairs, tokenizer, size.positions) for split, pairs in sides.items()}
    torch.manual_seed(derived_seed(seed, "initial weights"))
    network = NETWORKS[kind](size, tokenizer.get_vocab_size())
    plan = Schedule.from_settings(schedule)
    module = TranslatorTraining(network, plan, plan.updates(len(items["train"])))
    fit_module(module, Items(items["train"], items["validation"], collate), plan, seed=seed, name=name, scratch=scratch)
    return TrainedTranslator(kind, network.cpu().eval(), tokenizer)


def sides_of(document: Document) -> tuple[str, str]:
    """Source and target text of a pair.

    Raises:
        BadInput: a side is missing or empty.
    """
    texts = {section.title: section.text for section in document.sections}
    for side in (SOURCE, TARGET):
        if not texts.get(side, "").strip():
            raise BadInput(
                f"translation: document {document.id!r} has no {side} text; a pair has one section titled "
                f"{SOURCE!r} and one titled {TARGET!r}"
            )
    return texts[SOURCE], texts[TARGET]


def fit_subwords(texts: Sequence[str], size: int) -> Tokenizer:
    """One BPE over both sides; words stay whole where ``size`` allows.

    A word is marked at its beginning: the trainer numbers letters that carry an end mark in the order of a hash map,
    which differs from process to process.
    """
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(words)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=CONTROL, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encoded(pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer, positions: int) -> list[Pair]:
    """Token numbers of both sides, each with its end; pairs longer than ``positions`` are left out."""
    sides = [[[*part.ids, END] for part in tokenizer.encode_batch(list(side))] for side in zip(*pairs, strict=True)]
    rows = zip(*sides, strict=True) if pairs else iter(())
    return [(source, target) for source, target in rows if max(len(source), len(target)) <= positions]


def collate(items: Sequence[Pair]) -> dict[str, torch.Tensor]:
    """Pad both sides to the longest of the batch; padding of the target carries no loss."""
    return {
        "source": padded([source for source, _ in items], PAD),
        "labels": padded([target for _, target in items], IGNORED),
    }


def padded(rows: Sequence[Sequence[int]], fill: int) -> torch.Tensor:
    """(rows, longest) numbers."""
    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows])
