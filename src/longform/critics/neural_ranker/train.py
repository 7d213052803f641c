"""A neural coherence ranker: sentence features, an adjacent module and a global module under a pairwise loss."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from longform.documents import Document, Predictions, in_splits
from longform.errors import BadInput
from longform.files.artefacts import read_json
from longform.language_models.lightning import Schedule, adamw, fit_module, numbers
from longform.language_models.sentence_features import (
    ENCODER,
    KeptFeatures,
    open_encoder,
    split_sentences,
)
from longform.statistics.random_streams import derived_seed, generator
from longform.text.permutations import TASKS, shuffled_orders

KERNEL = 5  # width of a convolution, as in Moon et al.'s lightweight ones


class RankerNetwork(nn.Module):
    """Scores texts of one length: higher is more coherent. Widths, ours: of sentence features, their projection, a pair."""

    def __init__(self, features: int, sentence: int, pair: int) -> None:
        super().__init__()
        self.shape = {"features": features, "sentence": sentence, "pair": pair}
        self.sentence = nn.Sequential(
            nn.LayerNorm(features), nn.Linear(features, sentence), nn.Tanh()
        )
        self.adjacent = nn.Sequential(nn.Linear(4 * sentence, pair), nn.ReLU())
        self.convolutions = nn.ModuleList(
            nn.Conv1d(sentence, sentence, KERNEL, padding=KERNEL // 2) for _ in range(2)
        )
        self.value = nn.Linear(pair + sentence, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Mean value of the adjacent pairs: (texts, sentences, dims) -> (texts,); two sentences at least."""
        sentences = self.sentence(features)
        first, second = sentences[:, :-1], sentences[:, 1:]
        pairs = self.adjacent(
            torch.cat([first, second, first * second, (first - second).abs()], dim=-1)
        )
        states = sentences.transpose(
            1, 2
        )  # the global module: convolutions over sentences with residuals
        for convolution in self.convolutions:
            states = states + torch.relu(convolution(states))
        whole = states.mean(dim=2)[:, None].expand(-1, pairs.shape[1], -1)
        return self.value(torch.cat([pairs, whole], dim=-1)).squeeze(-1).mean(dim=1)


Features = tuple[
    Sequence[np.ndarray], Sequence[Sequence[str]]
]  # of the sentences of documents, beside the sentences


class CoherenceRanker(pl.LightningModule):
    """Network, features and shuffle tasks; each step shuffles each document once, by (seed, step)."""

    def __init__(
        self,
        network: RankerNetwork,
        data: Mapping[str, Features],
        tasks: Sequence[tuple[str, int]],
        plan: Schedule,
    ):
        super().__init__()
        self.network, self.data, self.tasks, self.plan = network, dict(data), list(tasks), plan

    def losses(self, split: str, numbers: Sequence[int], rng: np.random.Generator) -> torch.Tensor:
        """log(1 + exp(shuffled - original)) of each document that can be shuffled; a zero where none can."""
        kept, (rows, texts) = [], self.data[split]
        for number in numbers:
            task, size = self.tasks[int(rng.integers(len(self.tasks)))]
            orders = shuffled_orders(task, size, texts[number], 1, rng)
            if len(orders):
                shown = np.stack([rows[number], rows[number][orders[0]]])
                scores = self.network(torch.from_numpy(shown).to(self.device))
                kept.append(nn.functional.softplus(scores[1] - scores[0]))
        return torch.stack(kept) if kept else torch.zeros(1, requires_grad=True)

    def training_step(self, batch: Mapping[str, torch.Tensor], index: int) -> torch.Tensor:
        rng = np.random.Generator(np.random.PCG64(int(torch.randint(2**62, (1,)))))
        loss = self.losses("train", batch["labels"].tolist(), rng).mean()
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Mapping[str, torch.Tensor], index: int) -> None:
        loss = self.losses(
            "validation", batch["labels"].tolist(), generator("ranker validation", index)
        ).mean()
        self.log("validation_loss", loss, batch_size=len(batch["labels"]))

    def configure_optimizers(self) -> Any:
        return adamw(self.network, self.plan, self.plan.updates(len(self.data["train"][0])))


@dataclass(frozen=True)
class TrainedRanker:
    """A network, and the frozen encoder whose features it reads."""

    network: RankerNetwork
    frozen: KeptFeatures
    splitter: str

    def save(self, folder: Path) -> None:
        save_file(self.network.state_dict(), folder / "ranker.safetensors")
        named = {"splitter": self.splitter, "shape": self.network.shape}
        (folder / "ranker.json").write_text(
            json.dumps(named, sort_keys=True) + "\n", encoding="utf-8"
        )
        (folder / ENCODER).mkdir()
        self.frozen.save(folder / ENCODER)


def open_ranker(folder: Path) -> TrainedRanker:
    """Inverse of :meth:`TrainedRanker.save`."""
    if not (folder / "ranker.json").is_file():
        raise BadInput(
            f"{folder}: no ranker.json; the reader must be a folder that neural_ranker trained; train it"
        )
    named = read_json(folder / "ranker.json")
    if not (folder / ENCODER).is_dir():
        raise BadInput(
            f"{folder} reads features of {folder / ENCODER}, which is not there; run its train stage again"
        )
    network = RankerNetwork(**named["shape"])
    network.load_state_dict(load_file(folder / "ranker.safetensors"))
    frozen = KeptFeatures(folder / ENCODER, open_encoder(folder / ENCODER))
    return TrainedRanker(network.eval(), frozen, named["splitter"])


def fit(
    *,
    documents: Sequence[Document],
    base: Path,
    name: str,
    seed: int,
    scratch: Path,
    splitter: str,
    tasks: Sequence[tuple[str, int]],
    schedule: Mapping[str, Any],
    sentence: int = 64,
    pair: int = 32,
) -> TrainedRanker:
    """Train on documents of split train against their own shuffles, choosing the round of best validation loss.

    ``base``: a causal LM, a sentence encoder, or a ``sentence_features`` row. Each of ``tasks``, (``block`` or ``window``,
    size), is drawn equally often. ``sentence``, ``pair``: widths of :class:`RankerNetwork`.
    """
    if not tasks or any(task not in TASKS or size < 1 for task, size in tasks):
        raise BadInput(
            f"ranker tasks {list(tasks)}; allowed are pairs of one of {sorted(TASKS)} and a size from 1"
        )
    encoder = open_encoder(base)
    data = {}
    for split in ("train", "validation"):
        texts = split_sentences(
            [document for document in documents if document.split == split], splitter
        )
        data[split] = [encoder.encode(row, f"train {name}") for row in texts], texts
    plan = Schedule.from_settings(schedule)
    torch.manual_seed(derived_seed(seed, name, "coherence ranker"))
    dims = next((row.shape[1] for row in data["train"][0] if len(row)), 1)
    module = CoherenceRanker(RankerNetwork(dims, sentence, pair), data, tasks, plan)
    items = {split: range(len(rows)) for split, (rows, _) in data.items()}
    fit_module(module, items, numbers, plan, seed=seed, name=name, scratch=scratch)
    return TrainedRanker(module.network, KeptFeatures(base, encoder), splitter)


@torch.no_grad()
def read(
    *, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str]
) -> Predictions:
    """``text_score`` float64 (units,): nan for a text of fewer than two sentences."""
    ranker = open_ranker(reader)
    chosen = in_splits(documents, splits)
    scores = []
    for text in split_sentences(chosen, ranker.splitter):
        rows = ranker.frozen.encoder.encode(text, f"infer {name}")
        scores.append(
            ranker.network(torch.from_numpy(rows[None])).double().item()
            if len(rows) > 1
            else np.nan
        )
    return Predictions.of(chosen, {"text_score": np.array(scores, dtype=np.float64)})
