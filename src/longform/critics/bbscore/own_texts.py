"""Paths of a person's own texts: a head is trained on real ones and applied in NumPy."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from longform.critics.bbscore.bridge import LatentPath, path
from longform.critics.bbscore.train import MIN_SENTENCES, fit
from longform.documents import Document
from longform.errors import InputError
from longform.language_models.sentence_features import open_encoder, split_sentences

SPLITTER = "rules"
FEWEST = 10  # ours: texts to train a head on, every fifth of which validates
VALIDATION_EVERY = 5
# Ours, for a few hundred texts.
SCHEDULE = {
    "learning_rate": 1e-3,
    "batch": 16,
    "epochs": 10,
    "validations": 5,
    "weight_decay": 0.01,
}


def trained_head(
    documents: Sequence[Document], encoder: Path, objective: str, seed: int
) -> tuple[np.ndarray, ...]:
    """Train a head on texts of ``MIN_SENTENCES`` sentences or more.

    Args:
        documents: real texts.
        encoder: folder of the frozen sentence encoder.
        objective: one of ``longform.critics.bbscore.train.OBJECTIVES``.
        seed: of the training.

    Returns:
        Weights of the head's linear maps, (outputs, inputs) each.

    Raises InputError: too few texts.
    """
    long_enough: list[Document] = []
    for document, pieces in zip(documents, split_sentences(documents, SPLITTER), strict=True):
        if len(pieces) >= MIN_SENTENCES:
            split = "train" if len(long_enough) % VALIDATION_EVERY else "validation"
            long_enough.append(replace(document, split=split))
    if len(long_enough) < FEWEST:
        raise InputError(
            f"{len(long_enough)} real texts of {MIN_SENTENCES} sentences to train a path on; "
            f"{FEWEST} are needed"
        )
    recipe = {"objective": objective, "pins": False, "optimiser": "adamw"}
    with TemporaryDirectory() as scratch:
        trained = fit(
            documents=long_enough,
            base=encoder,
            name="bbscore",
            seed=seed,
            scratch=Path(scratch),
            splitter=SPLITTER,
            recipes={"head": recipe},
            schedule=SCHEDULE,
        )
    (head,) = trained.heads.values()
    return tuple(weights.detach().numpy().copy() for weights in head.parameters())


def read_paths(
    documents: Sequence[Document], encoder: Path, head: Sequence[np.ndarray]
) -> list[LatentPath]:
    """Encode each text's sentences, and place them by a trained head: a path for each text.

    Args:
        documents: the texts.
        encoder: folder of the frozen sentence encoder.
        head: as :func:`trained_head` gives it.
    """
    open_network = open_encoder(encoder)
    paths = []
    for document, pieces in zip(documents, split_sentences(documents, SPLITTER), strict=True):
        latents = apply_head(head, open_network.encode(pieces))
        paths.append(path(latents, document.id, document.split))
    return paths


def apply_head(head: Sequence[np.ndarray], features: np.ndarray) -> np.ndarray:
    """What :func:`longform.critics.bbscore.read.bridge_head` does, in NumPy.

    Args:
        head: weights of its four maps; a ReLU follows the second and the third.
        features: float32 (sentences, features).

    Returns:
        (sentences, latent).
    """
    first, second, third, fourth = head
    hidden = np.maximum(features @ first.T @ second.T, 0)
    hidden = np.maximum(hidden @ third.T, 0)
    return hidden @ fourth.T
