"""An encoder whose sentence latents follow a Brownian bridge (sheng2024 section 3, after Time Control)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch.nn.functional import cross_entropy

from longform.critics.bbscore.read import TrainedBridge, bridge_head
from longform.documents import Document
from longform.errors import BadInput
from longform.language_models.lightning import Schedule, adamw, fit_module, numbers
from longform.language_models.sentence_features import KeptFeatures, open_encoder, split_sentences
from longform.statistics.random_streams import derived_seed

EPS = 1e-6  # BBScore release and Time Control


def paper_loss(latents: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
    r"""Mean of $-\log (e^{d_{jj}} / \sum_k e^{d_{jk}})$: ends, share and variance of triplet j, middle of triplet k.

    Latents (batch, 3, dims) of first, middle and last sentence, and their places in time (batch, 3).
    """
    first, middle, last = latents.unbind(1)
    s, t, e = times.to(latents.dtype).unbind(1)
    share, variance = (t - s) / (e - s), (t - s) * (e - t) / (e - s)
    means = (1 - share)[:, None] * first + share[:, None] * last
    distance = -(means[:, None] - middle[None]).square().sum(-1) / (2 * variance[:, None])
    return cross_entropy(distance, torch.arange(len(latents), device=latents.device))


def pin_loss(latents: torch.Tensor, times: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """Mean square of first latents that open a document, plus that of (absolute last latent minus one) at its end."""
    opens, ends = times[:, 0] == 0, times[:, 2] == total - 1
    loss = latents.new_zeros(())
    if opens.any():
        loss = loss + latents[opens, 0].square().mean()
    if ends.any():
        loss = loss + (latents[ends, 2].abs() - 1).square().mean()
    return loss


def likelihood_loss(documents: Sequence[torch.Tensor]) -> torch.Tensor:
    r"""Half of $\ln\det\Sigma_{bridge} - \ln\det\Sigma_{independent}$, per inner sentence, both by maximum likelihood.

    $\Sigma_{bridge}$ is the joint bridge's (scatter of steps less that of the chord), $\Sigma_{independent}$ the
    covariance around the batch's mean. The ratio does not change under any invertible linear map of the latents, so it
    cannot be lowered by shrinking them; it falls as neighbours become alike and documents spread. Its form is ours.
    """
    kept = [z for z in documents if len(z) >= 3]
    steps = torch.cat([z.diff(dim=0) for z in kept])
    chords = torch.stack([(z[-1] - z[0]) / (len(z) - 1) ** 0.5 for z in kept])
    everything = torch.cat(kept)
    centred = everything - everything.mean(0)
    bridge = (steps.T @ steps - chords.T @ chords) / sum(len(z) - 2 for z in kept)
    independent = centred.T @ centred / len(everything)
    ridge = EPS * torch.eye(everything.shape[1], device=everything.device)
    level = independent.diagonal().mean().detach()
    return 0.5 * (torch.logdet(bridge + ridge * level) - torch.logdet(independent + ridge * level))


OBJECTIVES = ("paper", "likelihood")
MOMENTUM = 0.9  # sheng2024 appendix E
MIN_SENTENCES = 5  # the release trains on documents of at least five sentences


@dataclass(frozen=True)
class Recipe:
    """What is minimised, and how."""

    objective: str = "paper"
    pins: bool = True  # add the release's unprinted terms: first sentence near 0, last near 1 in absolute value
    optimiser: str = (
        "sgd"  # constant rate and momentum (paper), or adamw with a linear schedule (release)
    )
    sgd_rate: float = 1e-4

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise BadInput(
                f"objective {self.objective!r}; allowed are {list(OBJECTIVES)}; fix the entry"
            )
        if self.optimiser not in ("sgd", "adamw"):
            raise BadInput(
                f"optimiser {self.optimiser!r}; allowed are 'sgd' and 'adamw'; fix the entry"
            )


class Sentences:
    """Features of many documents one after another, with each sentence's place in its document."""

    def __init__(self, features: np.ndarray, lengths: Sequence[int]) -> None:
        self.features = torch.as_tensor(np.asarray(features, dtype=np.float32))
        self.documents = self.features.split(list(lengths))
        each = torch.as_tensor(list(lengths), dtype=torch.long)
        # of each sentence: first row of its document, length of its document, 0-based place
        self.start = torch.repeat_interleave(torch.cumsum(each, 0) - each, each)
        self.total = torch.repeat_interleave(each, each)
        self.place = torch.arange(len(self.features)) - self.start


def triplets(anchors: torch.Tensor, sentences: Sentences, draws: torch.Tensor) -> torch.Tensor:
    """Places (batch, 3) of first, middle and last sentence of each anchor's triplet, from (batch, 2) draws in [0, 1)."""
    last = sentences.place[anchors].clamp(min=2)
    one = (draws[:, 0] * last).long()
    other = (draws[:, 1] * (last - 1)).long()
    other = other + (other >= one)
    return torch.stack([torch.minimum(one, other), torch.maximum(one, other), last], dim=1)


class BridgeEncoder(pl.LightningModule):
    """Head, features and objective; what a step draws depends on (seed, step) alone."""

    def __init__(
        self,
        head: torch.nn.Module,
        data: Mapping[str, Sentences],
        recipe: Recipe,
        plan: Schedule,
        updates: int,
    ):
        super().__init__()
        self.head, self.data, self.recipe, self.plan, self.updates = (
            head,
            dict(data),
            recipe,
            plan,
            updates,
        )

    def loss(
        self, labels: torch.Tensor, split: str, rng: torch.Generator | None = None
    ) -> torch.Tensor:
        """Loss of a batch of anchors (or, for ``likelihood``, of documents) in nats per triplet or inner sentence."""
        sentences = self.data[split]
        if self.recipe.objective == "likelihood":
            return likelihood_loss(
                [self.head(sentences.documents[int(n)].to(self.device)) for n in labels]
            )
        anchors = labels.cpu()
        times = triplets(anchors, sentences, torch.rand((len(labels), 2), generator=rng))
        latents = self.head(
            sentences.features[sentences.start[anchors, None] + times].to(self.device)
        )
        loss = paper_loss(latents, times.to(self.device))
        if not self.recipe.pins:
            return loss
        return loss + pin_loss(
            latents, times.to(self.device), sentences.total[anchors].to(self.device)
        )

    def training_step(self, batch: Mapping[str, torch.Tensor], index: int) -> torch.Tensor:
        loss = self.loss(batch["labels"], "train")
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Mapping[str, torch.Tensor], index: int) -> None:
        rng = torch.Generator().manual_seed(derived_seed("validation", index) % 2**63)
        self.log(
            "validation_loss",
            self.loss(batch["labels"], "validation", rng),
            batch_size=len(batch["labels"]),
        )

    def configure_optimizers(self) -> Any:
        if self.recipe.optimiser == "adamw":
            return adamw(self.head, self.plan, self.updates)
        return torch.optim.SGD(self.head.parameters(), lr=self.recipe.sgd_rate, momentum=MOMENTUM)


def train_head(
    data: Mapping[str, Sentences],
    recipe: Recipe,
    plan: Schedule,
    *,
    seed: int,
    name: str,
    scratch: Path,
    latent: int,
) -> torch.nn.Sequential:
    """Fit a head on features of the splits train and validation; best validation loss is kept."""
    whole = recipe.objective == "likelihood"
    anchors = {
        split: range(len(s.documents) if whole else len(s.features) - 1)
        for split, s in data.items()
    }
    torch.manual_seed(derived_seed(seed, "bridge head"))
    head = bridge_head(int(data["train"].features.shape[1]), latent=latent)
    module = BridgeEncoder(head, data, recipe, plan, plan.updates(len(anchors["train"])))
    fit_module(module, anchors, numbers, plan, seed=seed, name=name, scratch=scratch)
    return head


def fit(
    *,
    documents: Sequence[Document],
    base: Path,
    name: str,
    seed: int,
    scratch: Path,
    splitter: str,
    recipes: Mapping[str, Mapping[str, Any]],
    schedule: Mapping[str, Any],
    seeds: int = 1,
    latent: int = 8,
) -> TrainedBridge:
    """Train heads on the documents of split train, each keeping its round of best loss on split validation.

    Args:
        base: a causal LM, a sentence encoder, or a ``sentence_features`` row with kept features.
        recipes: of :class:`Recipe` by name, heads ``<recipe>_0`` and so on; their own ``schedule`` is merged over the entry's.
    """
    if not recipes or seeds < 1:
        raise BadInput(
            f"train {name}: {len(recipes)} recipes, {seeds} seeds; at least one of each is needed"
        )
    encoder, data = open_encoder(base), {}
    for split in ("train", "validation"):
        texts = split_sentences([d for d in documents if d.split == split], splitter)
        kept = [pieces for pieces in texts if len(pieces) >= MIN_SENTENCES]
        print(
            f"train {name}: {len(texts) - len(kept)} of {len(texts)} {split} documents are too short",
            flush=True,
        )
        data[split] = Sentences(
            encoder.encode([t for pieces in kept for t in pieces], name), list(map(len, kept))
        )
    encoder.encode(
        [text for texts in split_sentences(documents, splitter) for text in texts], f"train {name}"
    )
    heads = {}
    for recipe, replica in product(recipes, range(seeds)):
        settings, head = dict(recipes[recipe]), f"{recipe}_{replica}"
        plan = Schedule.from_settings({**schedule, **settings.pop("schedule", {})})
        own: dict[str, Any] = {
            "seed": derived_seed(seed, replica),
            "name": f"{name}-{head}",
            "scratch": scratch / head,
        }
        heads[head] = train_head(data, Recipe(**settings), plan, **own, latent=latent)
    return TrainedBridge(heads, KeptFeatures(base, encoder), splitter)
