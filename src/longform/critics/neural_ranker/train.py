"""A neural coherence ranker: sentence features, an adjacent module and a global module under a pairwise loss."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from longform.core.documents import BadInput, Document, Readout
from longform.core.resampling import derived_seed, generator
from longform.core.text.permutations import TASKS, shuffled_orders
from longform.language_models.lightning import Schedule, adamw, fit_module, numbers
from longform.language_models.sentence_features import (
    ENCODER,
    KeptFeatures,
    SentenceEncoder,
    open_encoder,
    split_sentences,
)

KERNEL = 5  # width of a convolution, as in Moon et al.'s lightweight ones


@dataclass(frozen=True)
class RankerShape:
    """Widths: sentence features, their projection, an adjacent pair; all ours."""

    features: int
    sentence: int = 64
    pair: int = 32


class RankerNetwork(nn.Module):
    """Scores texts of one length: higher is more coherent."""

    def __init__(self, shape: RankerShape) -> None:
        super().__init__()
        self.shape = shape
        self.sentence = nn.Sequential(
            nn.LayerNorm(shape.features), nn.Linear(shape.features, shape.sentence), nn.Tanh()
        )
        self.adjacent = nn.Sequential(nn.Linear(4 * shape.sentence, shape.pair), nn.ReLU())
        self.convolutions = nn.ModuleList(
            nn.Conv1d(shape.sentence, shape.sentence, KERNEL, padding=KERNEL // 2) for _ in range(2)
        )
        self.value = nn.Linear(shape.pair + shape.sentence, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Mean value of the adjacent pairs: (texts, sentences, dims) -> (texts,); two sentences at least."""
        sentences = self.sentence(features)
        first, second = sentences[:, :-1], sentences[:, 1:]
        pairs = self.adjacent(torch.cat([first, second, first * second, (first - second).abs()], dim=-1))
        whole = self.whole(sentences)[:, None].expand(-1, pairs.shape[1], -1)
        return self.value(torch.cat([pairs, whole], dim=-1)).squeeze(-1).mean(dim=1)

    def whole(self, sentences: torch.Tensor) -> torch.Tensor:
        """The global vector: convolutions over sentences with residuals, averaged over the text."""
        states = sentences.transpose(1, 2)
        for convolution in self.convolutions:
            states = states + torch.relu(convolution(states))
        return states.mean(dim=2)


@dataclass(frozen=True)
class Features:
    """Features of documents and what tells their sentences apart."""

    rows: Sequence[np.ndarray]
    texts: Sequence[Sequence[str]]


class CoherenceRanker(pl.LightningModule):
    """Network, features and shuffle tasks; each step shuffles each document once, by (seed, step)."""

    def __init__(
        self, network: RankerNetwork, data: Mapping[str, Features], tasks: Sequence[tuple[str, int]], plan: Schedule
    ):
        super().__init__()
        self.network, self.data, self.tasks, self.plan = network, dict(data), list(tasks), plan

    def losses(self, split: str, numbers: Sequence[int], rng: np.random.Generator) -> torch.Tensor:
        """log(1 + exp(shuffled - original)) of each document that can be shuffled; a zero where none can."""
        values = [self._pair(split, number, rng) for number in numbers]
        kept = [nn.functional.softplus(scores[1] - scores[0]) for scores in values if scores is not None]
        return torch.stack(kept) if kept else torch.zeros(1, requires_grad=True)

    def _pair(self, split: str, number: int, rng: np.random.Generator) -> torch.Tensor | None:
        task, size = self.tasks[int(rng.integers(len(self.tasks)))]
        orders = shuffled_orders(task, size, self.data[split].texts[number], 1, rng)
        if not len(orders):
            return None
        rows = self.data[split].rows[number]
        both = np.stack([rows, rows[orders[0]]])
        return self.network(torch.from_numpy(both).to(self.device))

    def training_step(self, batch: Mapping[str, torch.Tensor], index: int) -> torch.Tensor:
        rng = np.random.Generator(np.random.PCG64(int(torch.randint(2**62, (1,)))))
        loss = self.losses("train", batch["labels"].tolist(), rng).mean()
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Mapping[str, torch.Tensor], index: int) -> None:
        loss = self.losses("validation", batch["labels"].tolist(), generator("ranker validation", index)).mean()
        self.log("validation_loss", loss, batch_size=len(batch["labels"]))

    def configure_optimizers(self) -> Any:
        return adamw(self.network, self.plan, self.plan.updates(len(self.data["train"].rows)))


@dataclass(frozen=True)
class TrainedRanker:
    """A network, and the frozen encoder whose features it reads."""

    network: RankerNetwork
    frozen: KeptFeatures
    splitter: str

    def save(self, folder: Path) -> None:
        save_file(self.network.state_dict(), folder / "ranker.safetensors")
        named = {"splitter": self.splitter, "shape": asdict(self.network.shape)}
        (folder / "ranker.json").write_text(json.dumps(named, sort_keys=True) + "\n", encoding="utf-8")
        (folder / ENCODER).mkdir()
        self.frozen.save(folder / ENCODER)


def open_ranker(folder: Path) -> TrainedRanker:
    """Inverse of :meth:`TrainedRanker.save`."""
    if not (folder / "ranker.json").is_file():
        raise BadInput(
            f"{folder}: no ranker.json; the reader must be a folder that neural_ranker trained; train it first"
        )
    named = json.loads((folder / "ranker.json").read_text(encoding="utf-8"))
    if not (folder / ENCODER).is_dir():
        raise BadInput(f"{folder} reads features of {folder / ENCODER}, which is not there; run its train stage again")
    network = RankerNetwork(RankerShape(**named["shape"]))
    network.load_state_dict(load_file(folder / "ranker.safetensors"))
    frozen = KeptFeatures(folder / ENCODER, open_encoder(folder / ENCODER))
    return TrainedRanker(network.eval(), frozen, named["splitter"])


def document_features(documents: Sequence[Document], encoder: SentenceEncoder, splitter: str, name: str) -> Features:
    """Frozen features of every sentence of every document; a document without a sentence has none."""
    texts = split_sentences(documents, splitter)
    return Features([encoder.encode(row, name) for row in texts], texts)


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

    Args:
        base: a causal LM, a sentence encoder, or a ``sentence_features`` row.
        tasks: (task, size) of the shuffles, each drawn equally often: ``block`` or ``window``.
        sentence, pair: widths of :class:`RankerShape`.
    """
    if not tasks or any(task not in TASKS or size < 1 for task, size in tasks):
        raise BadInput(f"ranker tasks {list(tasks)}; allowed are pairs of one of {sorted(TASKS)} and a size from 1")
    encoder = open_encoder(base)
    data = {
        split: document_features([d for d in documents if d.split == split], encoder, splitter, f"train {name}")
        for split in ("train", "validation")
    }
    plan = Schedule.from_settings(schedule)
    torch.manual_seed(derived_seed(seed, name, "coherence ranker"))
    dims = next((row.shape[1] for row in data["train"].rows if len(row)), 1)
    module = CoherenceRanker(RankerNetwork(RankerShape(dims, sentence, pair)), data, tasks, plan)
    items = {split: range(len(held.rows)) for split, held in data.items()}
    fit_module(module, items, numbers, plan, seed=seed, name=name, scratch=scratch)
    return TrainedRanker(module.network, KeptFeatures(base, encoder), splitter)


@torch.no_grad()
def read(*, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str]) -> Readout:
    """``text_score`` float64 (units,): nan for a text of fewer than two sentences."""
    ranker = open_ranker(reader)
    chosen = [document for document in documents if document.split in splits]
    features = document_features(chosen, ranker.frozen.encoder, ranker.splitter, f"infer {name}")
    scores = [
        ranker.network(torch.from_numpy(rows[None])).double().item() if len(rows) > 1 else np.nan
        for rows in features.rows
    ]
    return Readout.of(chosen, {"text_score": np.array(scores, dtype=np.float64)})
