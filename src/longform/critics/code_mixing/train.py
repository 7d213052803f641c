r"""Latent Dirichlet allocation over the languages of a sentence, by collapsed Gibbs sampling (tomotopy).

deng2022, appendix C: a document is one target sentence, $z \sim \mathrm{Dirichlet}(\alpha)$ is its mix of languages and
every word belongs to one. The paper fits with MALLET; here the same sampler and the same re-estimation of $\alpha$ run
in tomotopy. $\beta$ stays fixed, as the paper says (MALLET would re-estimate it together with $\alpha$).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomotopy

from longform.core.documents import BadInput, Document
from longform.core.resampling import save_arrays

BETA = 0.01  # Dirichlet of the words of a language (appendix C)
ALPHA_SUM = 1.0  # of the initial alpha, 1/M each (appendix C)
OPTIMISE_EVERY = 100  # sweeps between re-estimations of alpha (appendix C)
SWEEPS = 1000  # MALLET 2.0.8's default
BURN_IN = 200  # sweeps before alpha is first re-estimated; MALLET 2.0.8's default
RESTARTS = 5  # ours: a chain can settle on a wrong partition, which its likelihood shows
TARGET = "target"  # title of the section that holds a translation, where a document also holds its source


@dataclass(frozen=True)
class LanguageModel:
    """A fitted mixture of languages.

    Attributes:
        vocabulary: one word per term.
        phi: (languages, terms) word probabilities given the sampled assignments, smoothed by beta.
        alpha: (languages,) Dirichlet parameters of the mix.
        facts: JSON-able statements about the fit.
    """

    vocabulary: tuple[str, ...]
    phi: np.ndarray
    alpha: np.ndarray
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.phi.shape != (len(self.alpha), len(self.vocabulary)):
            raise BadInput(
                f"language model: phi has shape {self.phi.shape}, languages x words is "
                f"{(len(self.alpha), len(self.vocabulary))}"
            )
        if not np.all(self.alpha > 0):
            raise BadInput(f"language model: alpha is {self.alpha.tolist()}, allowed are positive numbers")

    def top_words(self, count: int = 20) -> list[list[str]]:
        """The most probable words of each language, best first (Table 10)."""
        order = np.argsort(-self.phi, axis=1, kind="stable")[:, :count]
        return [[self.vocabulary[i] for i in row] for row in order.tolist()]

    def save(self, folder: Path | str) -> None:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_arrays(folder / "languages.npz", {"phi": self.phi, "alpha": self.alpha})
        record = {"vocabulary": list(self.vocabulary), "facts": dict(self.facts)}
        text = json.dumps(record, sort_keys=True, ensure_ascii=False, indent=1)
        (folder / "languages.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> LanguageModel:
        folder = Path(folder)
        if not (folder / "languages.json").is_file():
            raise BadInput(f"{folder}: no languages.json; a language model is a folder with languages.npz and .json")
        record = json.loads((folder / "languages.json").read_text(encoding="utf-8"))
        with np.load(folder / "languages.npz", allow_pickle=False) as arrays:
            return cls(tuple(record["vocabulary"]), arrays["phi"], arrays["alpha"], record["facts"])


def words_of(document: Document) -> list[str]:
    """Lower-cased white-space tokens of a sentence: of its target side, where it has one, else of all its text."""
    target = [section.text for section in document.sections if section.title == TARGET]
    return " ".join(target or [section.text for section in document.sections]).lower().split()


def fit(
    documents: Sequence[Document],
    *,
    seed: int,
    languages: int = 3,
    sweeps: int = SWEEPS,
    burn_in: int = BURN_IN,
    optimise_every: int = OPTIMISE_EVERY,
    restarts: int = RESTARTS,
) -> LanguageModel:
    """Fit the mixture to the sentences of split train; empty ones are left out and counted in ``facts``."""
    if languages < 2:
        raise BadInput(f"language model: got {languages} language(s), allowed is 2 or more")
    sentences = [words_of(document) for document in documents if document.split == "train"]
    kept = [sentence for sentence in sentences if sentence]
    distinct = len({word for sentence in kept for word in sentence})
    if distinct < 2:
        raise BadInput(
            f"language model: {len(sentences)} training documents hold {distinct} distinct word(s); 2 or more are needed"
        )
    schedule = (sweeps, burn_in, optimise_every)
    chains = [_chain(kept, languages, (seed + start) % 2**32, schedule) for start in range(max(1, restarts))]
    model = max(chains, key=lambda chain: chain.ll_per_word)
    phi = np.array([model.get_topic_word_dist(k) for k in range(languages)], np.float64)
    facts = {
        "documents": len(kept),
        "empty_documents": len(sentences) - len(kept),
        "seed": seed,
        "sweeps": sweeps,
        "nats_per_word": [round(float(chain.ll_per_word), 6) for chain in chains],
        "library": f"tomotopy {tomotopy.__version__}",
    }
    return LanguageModel(tuple(model.used_vocabs), phi, np.array(model.alpha, np.float64), facts)


def _chain(sentences: list[list[str]], languages: int, seed: int, schedule: tuple[int, int, int]) -> tomotopy.LDAModel:
    model = tomotopy.LDAModel(k=languages, alpha=ALPHA_SUM / languages, eta=BETA, seed=seed)
    for sentence in sentences:
        model.add_doc(sentence)
    sweeps, model.burn_in, model.optim_interval = schedule
    model.train(sweeps, workers=1)
    return model
