"""Sentence latents of any text: a frozen encoder reads each sentence once, a trained head places it (sheng2024 section 3)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from longform.documents import Document, Predictions, ragged
from longform.errors import BadInput
from longform.language_models.sentence_features import (
    ENCODER,
    KeptFeatures,
    open_encoder,
    split_sentences,
)
from longform.text.permutations import numbered


def bridge_head(features: int, hidden: int = 128, latent: int = 8) -> torch.nn.Sequential:
    """The four linear maps, the first two of which compose to one; widths of sheng2024 appendix E."""
    maps = [
        torch.nn.Linear(a, b, bias=False)
        for a, b in pairwise((features, hidden, hidden, hidden, latent))
    ]
    return torch.nn.Sequential(maps[0], maps[1], torch.nn.ReLU(), maps[2], torch.nn.ReLU(), maps[3])


@dataclass(frozen=True)
class TrainedBridge:
    """Heads by name, and the frozen encoder with the features that it has read."""

    heads: Mapping[str, torch.nn.Sequential]
    frozen: KeptFeatures
    splitter: str

    def save(self, folder: Path) -> None:
        weights = {
            f"{name}/{key}": v
            for name, head in self.heads.items()
            for key, v in head.state_dict().items()
        }
        save_file(
            {key: value.contiguous() for key, value in weights.items()},
            folder / "heads.safetensors",
        )
        named = {"heads": list(self.heads), "splitter": self.splitter}
        (folder / "bridge.json").write_text(
            json.dumps(named, sort_keys=True) + "\n", encoding="utf-8"
        )
        (folder / ENCODER).mkdir()
        self.frozen.save(folder / ENCODER)


def open_bridge(folder: Path) -> TrainedBridge:
    """Inverse of :meth:`TrainedBridge.save`."""
    if not (folder / "bridge.json").is_file():
        raise BadInput(
            f"{folder}: no bridge.json; the reader must be a folder that bbscore trained; train it first"
        )
    named = json.loads((folder / "bridge.json").read_text(encoding="utf-8"))
    if not (folder / ENCODER).is_dir():
        raise BadInput(
            f"{folder} reads features of {folder / ENCODER}, which is not there; run its train stage again"
        )
    weights = load_file(folder / "heads.safetensors")
    heads = {}
    for name in named["heads"]:
        own = {
            key.removeprefix(f"{name}/"): value
            for key, value in weights.items()
            if key.startswith(f"{name}/")
        }
        (hidden, features), latent = own["0.weight"].shape, own["5.weight"].shape[0]
        heads[name] = bridge_head(features, hidden, latent).eval()
        heads[name].load_state_dict(own)
    return TrainedBridge(
        heads, KeptFeatures(folder / ENCODER, open_encoder(folder / ENCODER)), named["splitter"]
    )


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    name: str,
    splits: Sequence[str] | None = None,
    splitter: str | None = None,
) -> Predictions:
    """Ragged ``latents`` under each head of a trained ``reader``, or features of any frozen encoder, and ``text_ids``; ``rating`` if known."""
    trained = open_bridge(reader) if (reader / "bridge.json").is_file() else None
    encoder = open_encoder(reader) if trained is None else trained.frozen.encoder
    places = [
        place
        for place, document in enumerate(documents)
        if splits is None or document.split in splits
    ]
    chosen = [documents[place] for place in places]
    texts = split_sentences(chosen, splitter or (trained.splitter if trained else "full_stops"))
    if not texts:
        raise BadInput(f"infer {name}: 0 of {len(documents)} documents are left; loosen splits")
    features = encoder.encode([text for pieces in texts for text in pieces], f"infer {name}")
    arrays = ragged("text_ids", [numbered(pieces) for pieces in texts], np.int64)
    arrays["latents"] = features if trained is None else placed(features, trained.heads.values())
    arrays["latents_lengths"] = arrays["text_ids_lengths"]
    if trained is not None:
        arrays["head_names"] = np.array(list(trained.heads), dtype=np.str_)
    if "rating" in truth:
        arrays["rating"] = truth["rating"][places]
    return Predictions.of(chosen, arrays)


@torch.no_grad()
def placed(features: np.ndarray, heads: Iterable[torch.nn.Module]) -> np.ndarray:
    """Latents under each head, float32 (sentences, heads, dims)."""
    return np.stack([head(torch.from_numpy(features)).numpy() for head in heads], axis=1)


def read_gold(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    splits: Sequence[str] | None = None,
) -> Predictions:
    """Ragged ``latents`` and ``text_ids`` from ``bridge_path`` of the truth."""
    if "bridge_path" not in truth:
        raise BadInput(
            "gold bridge paths: the corpus has no 'bridge_path' in its truth; use a planted corpus"
        )
    whole, lengths = truth["bridge_path"], truth["bridge_path_lengths"]
    rows = zip(documents, np.split(whole, np.cumsum(lengths)[:-1]), strict=True)
    kept = [
        (document, path) for document, path in rows if splits is None or document.split in splits
    ]
    arrays = ragged("latents", [path for _, path in kept], whole.dtype, *whole.shape[1:])
    arrays |= ragged("text_ids", [np.arange(len(path)) for _, path in kept], np.int64)
    return Predictions.of([document for document, _ in kept], arrays)
