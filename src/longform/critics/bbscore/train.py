"""Training heads whose sentence latents follow a Brownian bridge (sheng2024 section 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch.nn.functional import cross_entropy

from longform.critics.bbscore.read import TrainedBridge, bridge_head
from longform.documents import Document, in_splits
from longform.errors import ConfigError
from longform.language_models.lightning import Schedule, adamw, fit_module, numbers
from longform.language_models.sentence_features import (
    KeptFeatures,
    SentenceEncoder,
    open_encoder,
    split_sentences,
)
from longform.statistics.random_streams import derived_seed

EPS = 1e-6  # BBScore release and Time Control, which the paper follows
OBJECTIVES = ("paper", "likelihood")
OPTIMISERS = ("sgd", "adamw")
MOMENTUM = 0.9  # sheng2024 appendix E
MIN_SENTENCES = 5  # the release trains on documents of at least five sentences


def paper_loss(latents: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
    r"""Mean of $-\log (e^{d_{jj}} / \sum_k e^{d_{jk}})$ over a batch of triplets.

    $d_{jk}$ takes ends, share and variance of triplet j, and the middle of triplet k.

    Args:
        latents: of first, middle and last sentence, (batch, 3, dims).
        times: numbers of these sentences in their document, (batch, 3).
    """
    first, middle, last = latents.unbind(1)
    s, t, e = times.to(latents.dtype).unbind(1)
    # 1. The bridge's mean and variance at the middle's time.
    share = (t - s) / (e - s)
    variance = (t - s) * (e - t) / (e - s)
    means = (1 - share)[:, None] * first + share[:, None] * last
    # 2. Cross-entropy of finding each triplet's own middle among those of the batch.
    squared = (means[:, None] - middle[None]).square().sum(-1)
    distance = -squared / (2 * variance[:, None])
    return cross_entropy(distance, torch.arange(len(latents), device=latents.device))


def pin_loss(latents: torch.Tensor, times: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """The release's unprinted terms, which pin a document's ends.

    Mean square of first latents that open a document, plus that of (absolute last latent minus one)
    at its end.

    Args:
        latents, times: as for :func:`paper_loss`.
        total: sentences of each triplet's document, (batch,).
    """
    opens = times[:, 0] == 0
    ends = times[:, 2] == total - 1
    loss = latents.new_zeros(())
    if opens.any():
        loss = loss + latents[opens, 0].square().mean()
    if ends.any():
        loss = loss + (latents[ends, 2].abs() - 1).square().mean()
    return loss


def likelihood_loss(documents: Sequence[torch.Tensor]) -> torch.Tensor:
    r"""Half of $\ln\det\Sigma_{bridge} - \ln\det\Sigma_{independent}$, per inner sentence.

    Both are by maximum likelihood. $\Sigma_{bridge}$ is the joint bridge's (scatter of steps less
    that of the chord), $\Sigma_{independent}$ the covariance around the batch's mean. The ratio
    does not change under any invertible linear map of the latents, so it cannot be lowered by
    shrinking them; it falls as neighbours become alike and documents spread. Its form is ours.

    Args:
        documents: latents (sentences, dims) of each; those below three sentences are left out.
    """
    paths = [z for z in documents if len(z) >= 3]
    # 1. The bridge's covariance, from steps and chords.
    steps = torch.cat([z.diff(dim=0) for z in paths])
    chords = torch.stack([(z[-1] - z[0]) / (len(z) - 1) ** 0.5 for z in paths])
    degrees = sum(len(z) - 2 for z in paths)
    bridge = (steps.T @ steps - chords.T @ chords) / degrees
    # 2. That of independent sentences.
    everything = torch.cat(paths)
    centred = everything - everything.mean(0)
    independent = centred.T @ centred / len(everything)
    # 3. Both with the same ridge.
    level = independent.diagonal().mean().detach()
    ridge = EPS * torch.eye(everything.shape[1], device=everything.device)
    log_ratio = torch.logdet(bridge + ridge * level) - torch.logdet(independent + ridge * level)
    return 0.5 * log_ratio


@dataclass(frozen=True)
class Recipe:
    """The loss and the optimiser of a head's training.

    Attributes:
        objective: one of ``OBJECTIVES``.
        pins: add the release's unprinted terms: first sentence near 0, last near 1 in absolute
            value.
        optimiser: ``sgd``, constant rate and momentum (paper), or ``adamw`` with a linear schedule
            (release).
        sgd_rate: the constant rate.
    """

    objective: str = "paper"
    pins: bool = True
    optimiser: str = "sgd"
    sgd_rate: float = 1e-4

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise ConfigError(
                f"objective {self.objective!r}; allowed are {list(OBJECTIVES)}; fix the entry"
            )
        if self.optimiser not in OPTIMISERS:
            raise ConfigError(
                f"optimiser {self.optimiser!r}; allowed are 'sgd' and 'adamw'; fix the entry"
            )


class Sentences:
    """Features of many documents one after another.

    Attributes:
        features: float32 (sentences, features).
        documents: the same, one tensor a document.
        start, total, place: of each sentence the first row of its document, the number of
            sentences in it, and its own number there from 0, (sentences,).
    """

    def __init__(self, features: np.ndarray, lengths: Sequence[int]) -> None:
        self.features = torch.as_tensor(np.asarray(features, dtype=np.float32))
        self.documents = self.features.split(list(lengths))
        sizes = torch.as_tensor(list(lengths), dtype=torch.long)
        self.start = torch.repeat_interleave(torch.cumsum(sizes, 0) - sizes, sizes)
        self.total = torch.repeat_interleave(sizes, sizes)
        self.place = torch.arange(len(self.features)) - self.start


def triplets(anchors: torch.Tensor, sentences: Sentences, draws: torch.Tensor) -> torch.Tensor:
    """First, middle and last sentence of each anchor's triplet.

    Args:
        anchors: rows of the last sentences, (batch,).
        sentences: those of all documents.
        draws: two random numbers in [0, 1) a triplet, (batch, 2).

    Returns:
        Numbers of the sentences in their documents, (batch, 3).
    """
    # The third sentence of a document is the first one with two before it.
    last = sentences.place[anchors].clamp(min=2)
    # A sentence before the last, and a different one: numbers from the first draw's on move up.
    drawn_first = (draws[:, 0] * last).long()
    drawn_second = (draws[:, 1] * (last - 1)).long()
    drawn_second = drawn_second + (drawn_second >= drawn_first)
    first = torch.minimum(drawn_first, drawn_second)
    middle = torch.maximum(drawn_first, drawn_second)
    return torch.stack([first, middle, last], dim=1)


class BridgeEncoder(pl.LightningModule):
    """The training of one head; what a step draws depends on (seed, step) alone."""

    def __init__(
        self,
        head: torch.nn.Module,
        data: Mapping[str, Sentences],
        recipe: Recipe,
        plan: Schedule,
        updates: int,
    ) -> None:
        super().__init__()
        self.head = head
        self.data = dict(data)
        self.recipe = recipe
        self.plan = plan
        self.updates = updates

    def loss(
        self, labels: torch.Tensor, split: str, rng: torch.Generator | None = None
    ) -> torch.Tensor:
        """Loss of a batch in nats per triplet or inner sentence.

        Args:
            labels: rows of anchors, or numbers of documents for ``likelihood``, (batch,).
            split: of the data.
            rng: draws the triplets; torch's own by default.
        """
        sentences = self.data[split]
        if self.recipe.objective == "likelihood":
            paths = []
            for number in labels:
                paths.append(self.head(sentences.documents[int(number)].to(self.device)))
            return likelihood_loss(paths)
        # 1. A triplet of each anchor's document.
        anchors = labels.cpu()
        times = triplets(anchors, sentences, torch.rand((len(labels), 2), generator=rng))
        rows = sentences.start[anchors, None] + times
        latents = self.head(sentences.features[rows].to(self.device))
        # 2. Their loss.
        times = times.to(self.device)
        loss = paper_loss(latents, times)
        if self.recipe.pins:
            loss = loss + pin_loss(latents, times, sentences.total[anchors].to(self.device))
        return loss

    def training_step(self, batch: Mapping[str, torch.Tensor], index: int) -> torch.Tensor:
        """Loss of a training batch."""
        loss = self.loss(batch["labels"], "train")
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Mapping[str, torch.Tensor], index: int) -> None:
        """Log the loss of a validation batch, the same triplets in every round."""
        rng = torch.Generator().manual_seed(derived_seed("validation", index))
        loss = self.loss(batch["labels"], "validation", rng)
        self.log("validation_loss", loss, batch_size=len(batch["labels"]))

    def configure_optimizers(self) -> Any:
        """The recipe's optimiser."""
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
    """Train a head, and return it with the weights of the best validation loss.

    Args:
        data: features by split.
        recipe, plan: what is minimised, and for how long.
        seed, name, scratch: of the training.
        latent: width of the latents.
    """
    anchors = {}
    for split, sentences in data.items():
        if recipe.objective == "likelihood":
            anchors[split] = range(len(sentences.documents))
        else:
            # Rows of sentences but the very last, which no other follows.
            anchors[split] = range(len(sentences.features) - 1)
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
    """Train heads on the documents of split train.

    Each keeps its round of best loss on split validation.

    Args:
        documents: of a corpus.
        base: a causal LM, a sentence encoder, or a ``sentence_features`` row with kept features.
        name, seed, scratch: of the training.
        splitter: how texts are split into sentences, a key of ``SPLITTERS``.
        recipes: fields of :class:`Recipe` by name; heads are ``<recipe>_0`` and so on. Their own
            ``schedule`` is merged over the entry's.
        schedule: fields of :class:`Schedule`.
        seeds: heads of each recipe.
        latent: width of the latents.

    Raises ConfigError: no recipe, or no seed.
    """
    if not recipes or seeds < 1:
        raise ConfigError(
            f"train {name}: {len(recipes)} recipes, {seeds} seeds; at least one of each is needed"
        )
    # 1. Features of the training and validation sentences, and of all others, which are kept.
    encoder = open_encoder(base)
    data = {}
    for split in ("train", "validation"):
        texts = split_sentences(in_splits(documents, [split]), splitter)
        data[split] = long_documents(texts, encoder, name, split)
    every_sentence = chain.from_iterable(split_sentences(documents, splitter))
    encoder.encode(list(every_sentence), f"train {name}")
    # 2. A head for each recipe and seed.
    heads = {}
    for recipe, fields in recipes.items():
        settings = dict(fields)
        plan = Schedule.from_settings({**schedule, **settings.pop("schedule", {})})
        for replica in range(seeds):
            head = f"{recipe}_{replica}"
            heads[head] = train_head(
                data,
                Recipe(**settings),
                plan,
                seed=derived_seed(seed, replica),
                name=f"{name}-{head}",
                scratch=scratch / head,
                latent=latent,
            )
    return TrainedBridge(heads, KeptFeatures(base, encoder), splitter)


def long_documents(
    texts: Sequence[Sequence[str]], encoder: SentenceEncoder, name: str, split: str
) -> Sentences:
    """Features of the documents of ``MIN_SENTENCES`` or more; prints how many are shorter.

    Args:
        texts: sentences of each document.
        encoder: reads each sentence by itself.
        name, split: for messages.

    Returns:
        float32 (sentences, features) of all documents in their order, with each one's length.
    """
    long_enough = [pieces for pieces in texts if len(pieces) >= MIN_SENTENCES]
    too_short = len(texts) - len(long_enough)
    print(f"train {name}: {too_short} of {len(texts)} {split} documents are too short", flush=True)
    features = encoder.encode(list(chain.from_iterable(long_enough)), name)
    return Sentences(features, list(map(len, long_enough)))
