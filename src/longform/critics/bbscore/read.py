"""Sentence latents of any text: a frozen encoder reads it, a trained head places each sentence.

Source: sheng2024 section 3.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from longform.documents import Document, Predictions, ragged
from longform.errors import ArtefactError, InputError
from longform.files.artefacts import read_json, trained_files
from longform.language_models.sentence_features import (
    ENCODER,
    KeptFeatures,
    open_encoder,
    split_sentences,
)
from longform.text.permutations import numbered


def bridge_head(features: int, hidden: int = 128, latent: int = 8) -> torch.nn.Sequential:
    """The four linear maps, of which the first two compose to one (sheng2024 appendix E)."""
    return torch.nn.Sequential(
        torch.nn.Linear(features, hidden, bias=False),
        torch.nn.Linear(hidden, hidden, bias=False),
        torch.nn.ReLU(),
        torch.nn.Linear(hidden, hidden, bias=False),
        torch.nn.ReLU(),
        torch.nn.Linear(hidden, latent, bias=False),
    )


@dataclass(frozen=True)
class TrainedBridge:
    """Trained heads and the frozen encoder whose features they take.

    Attributes:
        heads: by name.
        frozen: the encoder with the features that it has read.
        splitter: how texts are split into sentences, a key of ``SPLITTERS``.
    """

    heads: Mapping[str, torch.nn.Sequential]
    frozen: KeptFeatures
    splitter: str

    def save(self, folder: Path) -> None:
        """Write heads and encoder into a folder that exists and holds neither yet."""
        weights = {}
        for name, head in self.heads.items():
            for key, value in head.state_dict().items():
                weights[f"{name}/{key}"] = value.contiguous()
        save_file(weights, folder / "heads.safetensors")
        record = {"heads": list(self.heads), "splitter": self.splitter}
        text = json.dumps(record, sort_keys=True) + "\n"
        (folder / "bridge.json").write_text(text, encoding="utf-8")
        (folder / ENCODER).mkdir()
        self.frozen.save(folder / ENCODER)


def open_bridge(folder: Path) -> TrainedBridge:
    """Load what :meth:`TrainedBridge.save` wrote.

    Raises:
        ArtefactError: heads or encoder are absent, or the heads are damaged.
    """
    if not (folder / "bridge.json").is_file():
        raise ArtefactError(
            f"{folder}: no bridge.json; the reader must be a folder that bbscore trained; "
            "train it first"
        )
    record = read_json(folder / "bridge.json")
    if not (folder / ENCODER).is_dir():
        raise ArtefactError(
            f"{folder} reads features of {folder / ENCODER}, which is not there; "
            "run its train stage again"
        )
    with trained_files(folder, "Brownian bridge", SafetensorError, RuntimeError):
        heads = _opened_heads(folder, record["heads"])
        splitter = record["splitter"]
    frozen = KeptFeatures(folder / ENCODER, open_encoder(folder / ENCODER))
    return TrainedBridge(heads, frozen, splitter)


def _opened_heads(folder: Path, names: Sequence[str]) -> dict[str, torch.nn.Module]:
    """The heads of these names, from the weights that stand together in one file."""
    weights = load_file(folder / "heads.safetensors")
    heads = {}
    for name in names:
        # 1. The weights of this head, under the names of its modules.
        prefix = f"{name}/"
        state = {}
        for key, value in weights.items():
            if key.startswith(prefix):
                state[key.removeprefix(prefix)] = value
        # 2. A head of their widths; modules 0 and 5 are its first and last linear map.
        hidden, features = state["0.weight"].shape
        latent = state["5.weight"].shape[0]
        heads[name] = bridge_head(features, hidden, latent).eval()
        heads[name].load_state_dict(state)
    return heads


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    name: str,
    splits: Sequence[str] | None = None,
    splitter: str | None = None,
) -> Predictions:
    """Latents of every sentence under each head of a trained reader, or features of any encoder.

    Args:
        documents, truth: of the corpus.
        reader: folder of trained heads, or of a frozen encoder.
        name: of the stage, for messages.
        splits: which documents are read; None for all.
        splitter: how texts are split into sentences; by default as the heads were trained, or by
            full stops.

    Returns:
        Ragged ``latents`` float32, (sentences, heads, dims) or (sentences, dims) without heads, and
        ``text_ids``; ``head_names``, and ``rating`` where it is known.

    Raises InputError: no document of these splits.
    """
    # 1. The reader.
    trained = None
    if (reader / "bridge.json").is_file():
        trained = open_bridge(reader)
    encoder = open_encoder(reader) if trained is None else trained.frozen.encoder
    if splitter is None:
        splitter = "full_stops" if trained is None else trained.splitter
    # 2. Sentences of the chosen documents.
    rows = []
    for row, document in enumerate(documents):
        if splits is None or document.split in splits:
            rows.append(row)
    chosen = [documents[row] for row in rows]
    texts = split_sentences(chosen, splitter)
    if not texts:
        raise InputError(f"infer {name}: 0 of {len(documents)} documents are left; loosen splits")
    # 3. The sentences' features, or their latents under each head; both ragged by text_ids.
    latents = encoder.encode(list(chain.from_iterable(texts)), f"infer {name}")
    arrays = ragged("text_ids", map(numbered, texts), np.int64)
    if trained is not None:
        latents = placed(latents, trained.heads.values())
        arrays["head_names"] = np.array(list(trained.heads), dtype=np.str_)
    arrays["latents"] = latents
    arrays["latents_lengths"] = arrays["text_ids_lengths"]
    if "rating" in truth:
        arrays["rating"] = truth["rating"][rows]
    return Predictions.of(chosen, arrays)


@torch.no_grad()
def placed(features: np.ndarray, heads: Iterable[torch.nn.Module]) -> np.ndarray:
    """Latents under each head, float32 (sentences, heads, dims)."""
    latents = [head(torch.from_numpy(features)).numpy() for head in heads]
    return np.stack(latents, axis=1)


def read_gold(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    splits: Sequence[str] | None = None,
) -> Predictions:
    """The paths that a synthetic corpus states, as predictions of a perfect encoder.

    Args:
        documents: of the corpus.
        truth: of the corpus; ``bridge_path`` has the latents of all documents one after another,
            (sentences, dims), and ``bridge_path_lengths`` the sentences of each.
        splits: whose documents are read; all by default.

    Returns:
        Ragged ``latents``, and ``text_ids``, which number the sentences of a document.

    Raises:
        InputError: the corpus has no planted paths.
    """
    if "bridge_path" not in truth:
        raise InputError(
            "gold bridge paths: the corpus has no 'bridge_path' in its truth; use a planted corpus"
        )
    flat = truth["bridge_path"]
    ends = np.cumsum(truth["bridge_path_lengths"])[:-1]
    chosen, paths, ids = [], [], []
    for document, latents in zip(documents, np.split(flat, ends), strict=True):
        if splits is None or document.split in splits:
            chosen.append(document)
            paths.append(latents)
            ids.append(np.arange(len(latents)))
    arrays = ragged("latents", paths, flat.dtype, *flat.shape[1:])
    arrays |= ragged("text_ids", ids, np.int64)
    return Predictions.of(chosen, arrays)
