"""A fitted mixture of languages: the words of each, and how sentences mix them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import Document
from longform.errors import InputError
from longform.files.artefacts import load_fitted, save_fitted, trained_files

TARGET = "target"  # title of the section of a translation, where a document also holds its source
TOP_WORDS = 20  # per language (Table 10)


@dataclass(frozen=True)
class LanguageModel:
    r"""Latent Dirichlet allocation over the languages of a sentence, fitted.

    Attributes:
        vocabulary: the words that it knows.
        phi: probability of each word in each language, smoothed by beta, (languages, words).
        alpha: Dirichlet parameters of a sentence's mix, (languages,).
        facts: how it was fitted, ready for JSON.
    """

    vocabulary: tuple[str, ...]
    phi: np.ndarray
    alpha: np.ndarray
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.alpha), len(self.vocabulary))
        if self.phi.shape != shape:
            raise InputError(
                f"language model: phi has shape {self.phi.shape}, languages x words is {shape}"
            )
        if not np.all(self.alpha > 0):
            raise InputError(
                f"language model: alpha is {self.alpha.tolist()}, allowed are positive numbers"
            )

    def top_words(self, count: int = TOP_WORDS) -> list[list[str]]:
        """The most probable words of each language, best first (Table 10)."""
        order = np.argsort(-self.phi, axis=1, kind="stable")[:, :count]
        rows = []
        for row in order.tolist():
            rows.append([self.vocabulary[word] for word in row])
        return rows

    def save(self, folder: Path | str) -> None:
        """Write phi and alpha (arrays), vocabulary and facts (JSON) for :meth:`load`."""
        record = {"vocabulary": list(self.vocabulary), "facts": dict(self.facts)}
        save_fitted(folder, "languages", {"phi": self.phi, "alpha": self.alpha}, record)

    @classmethod
    def load(cls, folder: Path | str) -> "LanguageModel":
        """Read what :meth:`save` wrote. Raises ArtefactError: no such model, or a damaged one."""
        arrays, record = load_fitted(folder, "languages", "a language model")
        with trained_files(folder, "language model"):
            vocabulary = tuple(record["vocabulary"])
            return cls(vocabulary, arrays["phi"], arrays["alpha"], record["facts"])


def words_of(document: Document) -> list[str]:
    """Lower-cased white-space tokens of a sentence; of a translation's target side alone."""
    texts, targets = [], []
    for section in document.sections:
        texts.append(section.text)
        if section.title == TARGET:
            targets.append(section.text)
    return " ".join(targets or texts).lower().split()
