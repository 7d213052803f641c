"""A network over sentence features that is trained to put texts above their shuffles."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from longform.documents import Document, Predictions, in_splits
from longform.errors import ArtefactError, ConfigError
from longform.files.artefacts import read_json, trained_files
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
    """A network that gives each text a value, higher where it is more coherent.

    Args:
        features: width of the sentence features.
        sentence: width of their projection (ours).
        pair: width of a pair of neighbours (ours).
    """

    def __init__(self, features: int, sentence: int, pair: int) -> None:
        super().__init__()
        self.shape = {"features": features, "sentence": sentence, "pair": pair}
        self.sentence = nn.Sequential(
            nn.LayerNorm(features), nn.Linear(features, sentence), nn.Tanh()
        )
        self.adjacent = nn.Sequential(nn.Linear(4 * sentence, pair), nn.ReLU())
        convolutions = []
        for _ in range(2):
            convolutions.append(nn.Conv1d(sentence, sentence, KERNEL, padding=KERNEL // 2))
        self.convolutions = nn.ModuleList(convolutions)
        self.value = nn.Linear(pair + sentence, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Mean value of the adjacent pairs.

        Args:
            features: of texts of one length, two sentences at least; (texts, sentences, features).

        Returns:
            (texts,).
        """
        # 1. The adjacent module sees each pair of neighbours.
        sentences = self.sentence(features)
        first, second = sentences[:, :-1], sentences[:, 1:]
        neighbours = torch.cat([first, second, first * second, (first - second).abs()], dim=-1)
        pairs = self.adjacent(neighbours)
        # 2. The global module sees the text: convolutions over sentences with residuals.
        states = sentences.transpose(1, 2)
        for convolution in self.convolutions:
            states = states + torch.relu(convolution(states))
        text = states.mean(dim=2)[:, None].expand(-1, pairs.shape[1], -1)
        # 3. Each pair is valued beside the text.
        values = self.value(torch.cat([pairs, text], dim=-1)).squeeze(-1)
        return values.mean(dim=1)


# For documents: the features of their sentences, (sentences, features) each, and the sentences.
Features = tuple[Sequence[np.ndarray], Sequence[Sequence[str]]]


class CoherenceRanker(pl.LightningModule):
    """Network, features and shuffle tasks; a step shuffles each document once, by (seed, step)."""

    def __init__(
        self,
        network: RankerNetwork,
        data: Mapping[str, Features],
        tasks: Sequence[tuple[str, int]],
        plan: Schedule,
    ) -> None:
        super().__init__()
        self.network = network
        self.data = dict(data)
        self.tasks = list(tasks)
        self.plan = plan

    def losses(self, split: str, numbers: Sequence[int], rng: np.random.Generator) -> torch.Tensor:
        """log(1 + exp(shuffled - original)) of each document that can be shuffled.

        Args:
            split: of the data.
            numbers: indices of documents in the split.
            rng: draws the task and the shuffle of each.

        Returns:
            (documents that can be shuffled,), or a single zero where there are none.
        """
        features, texts = self.data[split]
        losses = []
        for number in numbers:
            task, size = self.tasks[int(rng.integers(len(self.tasks)))]
            orders = shuffled_orders(task, size, texts[number], shuffles=1, rng=rng)
            if not len(orders):
                continue
            original = features[number]
            both = np.stack([original, original[orders[0]]])
            values = self.network(torch.from_numpy(both).to(self.device))
            losses.append(nn.functional.softplus(values[1] - values[0]))
        if not losses:
            return torch.zeros(1, requires_grad=True)
        return torch.stack(losses)

    def training_step(self, batch: Mapping[str, torch.Tensor], index: int) -> torch.Tensor:
        """Mean loss of a batch; torch gives the seed of its shuffles, so that a run resumes."""
        rng = np.random.Generator(np.random.PCG64(int(torch.randint(2**62, (1,)))))
        loss = self.losses("train", batch["labels"].tolist(), rng).mean()
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Mapping[str, torch.Tensor], index: int) -> None:
        """Log the mean loss of a batch, the same shuffles in every round."""
        rng = generator("ranker validation", index)
        loss = self.losses("validation", batch["labels"].tolist(), rng).mean()
        self.log("validation_loss", loss, batch_size=len(batch["labels"]))

    def configure_optimizers(self) -> Any:
        """AdamW over the schedule's updates."""
        documents = len(self.data["train"][0])
        return adamw(self.network, self.plan, self.plan.updates(documents))


@dataclass(frozen=True)
class TrainedRanker:
    """A network, and the frozen encoder whose features it reads.

    Attributes:
        network: the trained network.
        frozen: the encoder with the features that it computed.
        splitter: how texts are split into sentences, a key of ``SPLITTERS``.
    """

    network: RankerNetwork
    frozen: KeptFeatures
    splitter: str

    def save(self, folder: Path) -> None:
        """Write network and encoder into a folder that exists and holds no ranker yet."""
        save_file(self.network.state_dict(), folder / "ranker.safetensors")
        record = {"splitter": self.splitter, "shape": self.network.shape}
        text = json.dumps(record, sort_keys=True) + "\n"
        (folder / "ranker.json").write_text(text, encoding="utf-8")
        (folder / ENCODER).mkdir()
        self.frozen.save(folder / ENCODER)


def open_ranker(folder: Path) -> TrainedRanker:
    """Load what :meth:`TrainedRanker.save` wrote.

    Raises:
        ArtefactError: ranker or encoder are absent, or the ranker is damaged.
    """
    if not (folder / "ranker.json").is_file():
        raise ArtefactError(
            f"{folder}: no ranker.json; the reader must be a folder that neural_ranker trained; "
            "train it"
        )
    record = read_json(folder / "ranker.json")
    if not (folder / ENCODER).is_dir():
        raise ArtefactError(
            f"{folder} reads features of {folder / ENCODER}, which is not there; "
            "run its train stage again"
        )
    with trained_files(folder, "neural ranker", SafetensorError, RuntimeError):
        network = RankerNetwork(**record["shape"])
        network.load_state_dict(load_file(folder / "ranker.safetensors"))
        splitter = record["splitter"]
    frozen = KeptFeatures(folder / ENCODER, open_encoder(folder / ENCODER))
    return TrainedRanker(network.eval(), frozen, splitter)


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
    """Train a ranker on documents of split train against their own shuffles.

    It has the weights of the round with the best loss on split validation.

    Args:
        documents: of both splits.
        base: a causal LM, a sentence encoder, or a ``sentence_features`` row.
        name, seed, scratch: of the training.
        splitter: how texts are split into sentences, a key of ``SPLITTERS``.
        tasks: (``block`` or ``window``, size) of each kind of shuffle, drawn equally often.
        schedule: fields of :class:`Schedule`.
        sentence, pair: widths of :class:`RankerNetwork`.

    Raises ConfigError: no task, or an unknown one.
    """
    allowed = [task in TASKS and size >= 1 for task, size in tasks]
    if not tasks or not all(allowed):
        raise ConfigError(
            f"ranker tasks {list(tasks)}; allowed are pairs of one of {sorted(TASKS)} "
            "and a size from 1"
        )
    # 1. The frozen features of each split.
    encoder = open_encoder(base)
    data = {}
    for split in ("train", "validation"):
        split_documents = in_splits(documents, [split])
        texts = split_sentences(split_documents, splitter)
        data[split] = [encoder.encode(row, f"train {name}") for row in texts], texts
    # 2. The network, as wide as the first document's features.
    plan = Schedule.from_settings(schedule)
    torch.manual_seed(derived_seed(seed, name, "coherence ranker"))
    dims = next((row.shape[1] for row in data["train"][0] if len(row)), 1)
    module = CoherenceRanker(RankerNetwork(dims, sentence, pair), data, tasks, plan)
    # 3. Training; a batch holds numbers of documents, whose features the module has.
    items = {split: range(len(rows)) for split, (rows, _) in data.items()}
    fit_module(module, items, numbers, plan, seed=seed, name=name, scratch=scratch)
    return TrainedRanker(module.network, KeptFeatures(base, encoder), splitter)


@torch.no_grad()
def read(
    *, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str]
) -> Predictions:
    """The network's number of each text.

    Returns:
        ``text_score`` float64 (texts,), nan for a text of fewer than two sentences.
    """
    ranker = open_ranker(reader)
    chosen = in_splits(documents, splits)
    scores = []
    for sentences in split_sentences(chosen, ranker.splitter):
        features = ranker.frozen.encoder.encode(sentences, f"infer {name}")
        if len(features) < 2:
            scores.append(np.nan)
            continue
        value = ranker.network(torch.from_numpy(features[None]))
        scores.append(value.double().item())
    return Predictions.of(chosen, {"text_score": np.array(scores, dtype=np.float64)})
