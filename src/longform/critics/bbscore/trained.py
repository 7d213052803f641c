"""Trained bridge heads with the frozen encoder whose features they read, in one folder: a reader needs nothing beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from longform.core.documents import BadInput
from longform.language_models.sentence_features import ENCODER, KeptFeatures, open_encoder


@dataclass(frozen=True)
class HeadShape:
    """Widths of the head: frozen features, hidden and latent (sheng2024 appendix E: 128 and 8)."""

    features: int
    hidden: int = 128
    latent: int = 8


def bridge_head(shape: HeadShape) -> torch.nn.Sequential:
    """The four linear maps; the first two compose to one."""
    widths = (shape.features, shape.hidden, shape.hidden, shape.hidden, shape.latent)
    maps = [torch.nn.Linear(a, b, bias=False) for a, b in pairwise(widths)]
    relu = torch.nn.ReLU
    return torch.nn.Sequential(maps[0], maps[1], relu(), maps[2], relu(), maps[3])


@dataclass(frozen=True)
class TrainedBridge:
    """Heads by name, and the frozen encoder with the features that it has read."""

    heads: Mapping[str, torch.nn.Sequential]
    frozen: KeptFeatures
    splitter: str

    def save(self, folder: Path) -> None:
        """``heads.safetensors``, ``bridge.json`` and a copy of the frozen encoder with its features."""
        weights = {f"{name}/{key}": v for name, head in self.heads.items() for key, v in head.state_dict().items()}
        save_file({key: value.contiguous() for key, value in weights.items()}, folder / "heads.safetensors")
        named = {"heads": list(self.heads), "splitter": self.splitter}
        (folder / "bridge.json").write_text(json.dumps(named, sort_keys=True) + "\n", encoding="utf-8")
        (folder / ENCODER).mkdir()
        self.frozen.save(folder / ENCODER)


def open_bridge(folder: Path) -> TrainedBridge:
    """Inverse of :meth:`TrainedBridge.save`.

    Raises:
        BadInput: the folder holds no bridge, or its frozen encoder is gone.
    """
    if not (folder / "bridge.json").is_file():
        raise BadInput(f"{folder}: no bridge.json; the reader must be a row of bridge_encoder, train it first")
    named = json.loads((folder / "bridge.json").read_text(encoding="utf-8"))
    if not (folder / ENCODER).is_dir():
        raise BadInput(f"{folder} reads features of {folder / ENCODER}, which is not there; run its train row again")
    weights = load_file(folder / "heads.safetensors")
    heads = {name: _opened({k[len(name) + 1 :]: v for k, v in weights.items() if k.startswith(f"{name}/")})
             for name in named["heads"]}  # fmt: skip
    frozen = KeptFeatures(folder / ENCODER, open_encoder(folder / ENCODER))
    return TrainedBridge(heads, frozen, named["splitter"])


def _opened(weights: Mapping[str, torch.Tensor]) -> torch.nn.Sequential:
    head = bridge_head(
        HeadShape(weights["0.weight"].shape[1], weights["0.weight"].shape[0], weights["5.weight"].shape[0])
    )
    head.load_state_dict(dict(weights))
    return head.eval()
