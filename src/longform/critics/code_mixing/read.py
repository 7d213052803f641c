r"""Latent Dirichlet allocation over the languages of a sentence (deng2022, appendix C): its mix is $z \sim \mathrm{Dirichlet}(\alpha)$.

The paper fits with MALLET; here tomotopy runs the same sampler and the same re-estimation of $\alpha$, with $\beta$ fixed, as the paper says.
To read: $t \sim P(t \mid x; \phi^*)$ by Gibbs sampling, then $z \sim \mathrm{Dirichlet}(\alpha_i + \#\{n : t_n = i\})$.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba
import numpy as np
import tomotopy

from longform.documents import SPLITS, Document, Predictions, of_splits
from longform.errors import BadInput
from longform.files.artefacts import load_fitted, save_fitted
from longform.statistics.random_streams import generator

BETA = 0.01  # Dirichlet of the words of a language (appendix C)
ALPHA_SUM = 1.0  # of the initial alpha, 1/M each (appendix C)
TARGET = "target"  # title of the section that holds a translation, where a document also holds its source
# of reading, before and between samples of the average; MALLET 2.0.8's inferencer
SWEEPS, BURN_IN, INTERVAL = 100, 10, 10
TOP_WORDS = 20  # per language (Table 10)


@dataclass(frozen=True)
class LanguageModel:
    """A fitted mixture of languages."""

    vocabulary: tuple[str, ...]
    phi: (
        np.ndarray
    )  # (languages, terms) word probabilities given the sampled assignments, smoothed by beta
    alpha: np.ndarray  # (languages,) Dirichlet parameters of the mix
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = len(self.alpha), len(self.vocabulary)
        if self.phi.shape != wanted:
            raise BadInput(
                f"language model: phi has shape {self.phi.shape}, languages x words is {wanted}"
            )
        if not np.all(self.alpha > 0):
            raise BadInput(
                f"language model: alpha is {self.alpha.tolist()}, allowed are positive numbers"
            )

    def top_words(self, count: int = TOP_WORDS) -> list[list[str]]:
        """The most probable words of each language, best first (Table 10)."""
        order = np.argsort(-self.phi, axis=1, kind="stable")[:, :count]
        return [[self.vocabulary[i] for i in row] for row in order.tolist()]

    def save(self, folder: Path | str) -> None:
        record = {"vocabulary": list(self.vocabulary), "facts": dict(self.facts)}
        save_fitted(folder, "languages", {"phi": self.phi, "alpha": self.alpha}, record)

    @classmethod
    def load(cls, folder: Path | str) -> "LanguageModel":
        arrays, record = load_fitted(folder, "languages", "a language model")
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
    sweeps: int = 1000,
    burn_in: int = 200,
    optimise_every: int = 100,
    restarts: int = 5,
) -> LanguageModel:
    """Fit the mixture to the sentences of split train; empty ones are left out and counted in ``facts``."""
    if languages < 2:
        raise BadInput(f"language model: got {languages} language(s), allowed is 2 or more")
    sentences = [words_of(document) for document in documents if document.split == "train"]
    kept = [sentence for sentence in sentences if sentence]
    distinct = len({word for sentence in kept for word in sentence})
    if distinct < 2:
        told = f"{len(sentences)} training documents hold {distinct} distinct word(s), 2 are needed"
        raise BadInput(f"language model: {told}")
    chains = []
    for start in range(max(1, restarts)):
        chain = tomotopy.LDAModel(
            k=languages, alpha=ALPHA_SUM / languages, eta=BETA, seed=(seed + start) % 2**32
        )
        for sentence in kept:
            chain.add_doc(sentence)
        chain.burn_in, chain.optim_interval = burn_in, optimise_every
        chain.train(sweeps, workers=1)
        chains.append(chain)
    model = max(chains, key=lambda chain: chain.ll_per_word)
    phi = np.array([model.get_topic_word_dist(k) for k in range(languages)], np.float64)
    facts: dict[str, Any] = {
        "documents": len(kept),
        "empty_documents": len(sentences) - len(kept),
        "seed": seed,
    }
    facts |= {"sweeps": sweeps, "library": f"tomotopy {tomotopy.__version__}"}
    facts["nats_per_word"] = [round(float(chain.ll_per_word), 6) for chain in chains]
    return LanguageModel(tuple(model.used_vocabs), phi, np.array(model.alpha, np.float64), facts)


def read(
    documents: Sequence[Document],
    *,
    reader: LanguageModel | Path,
    seed: int,
    splits: Sequence[str] = SPLITS,
) -> Predictions:
    """Mix of languages per sentence; a sentence draws the same numbers in any company.

    Returns:
        one row per unit: ``share`` (languages) a draw of the mix; ``posterior`` (languages) the parameters it was drawn
        from, alpha plus assigned words; ``mean_share`` (languages) the average mix, MALLET's own output; ``tokens``,
        ``unknown``, ``valid``; and of the model ``alpha_names`` (languages) and ``top_word_names`` (languages, words).
    """
    model = reader if isinstance(reader, LanguageModel) else LanguageModel.load(reader)
    documents = of_splits(documents, splits, "language mixture")
    index = {word: number for number, word in enumerate(model.vocabulary)}
    rows = []
    for document in documents:
        words = words_of(document)
        terms = np.array([index[word] for word in words if word in index], np.int64)
        rng = generator("language mixture", seed, document.id)
        chances, uniforms = (
            np.ascontiguousarray(model.phi[:, terms].T),
            rng.random((SWEEPS, len(terms))),
        )
        counts, mean = assign(chances, model.alpha, uniforms, (BURN_IN, INTERVAL))
        posterior, known = model.alpha + counts, len(terms)
        rows.append(
            (rng.dirichlet(posterior), posterior, mean, known, len(words) - known, bool(known))
        )
    names = ("share", "posterior", "mean_share", "tokens", "unknown", "valid")
    arrays = {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    top_words = np.array(model.top_words(), dtype=np.str_)
    return Predictions.of(
        documents, {**arrays, "alpha_names": model.alpha, "top_word_names": top_words}
    )


@numba.njit(cache=True)
def assign(chances, alpha, uniforms, schedule):
    r"""Gibbs sweeps over one sentence: $P(t_n = i \mid t_{-n}) \propto \phi_{i w_n} (\alpha_i + \#_{-n} i)$.

    From the probability of each token under each language (tokens, languages), a random number for each step (sweeps,
    tokens), and burn-in and interval; to the words per language after the last sweep, and the average of (alpha + words)
    / sum over kept sweeps.
    """
    burn_in, interval = schedule
    tokens, languages = chances.shape
    counts, mean, weights = np.zeros(languages), np.zeros(languages), np.zeros(languages)
    state, kept = np.zeros(tokens, np.int64), 0
    for n in range(tokens):
        for i in range(1, languages):
            state[n] = i if chances[n, i] > chances[n, state[n]] else state[n]
        counts[state[n]] += 1
    for sweep in range(len(uniforms)):
        for n in range(tokens):
            counts[state[n]] -= 1
            total, drawn = 0.0, languages - 1
            for i in range(languages):
                total += chances[n, i] * (alpha[i] + counts[i])
                weights[i] = total
            for i in range(languages - 1):
                if weights[i] > uniforms[sweep, n] * total:
                    drawn = i
                    break
            state[n] = drawn
            counts[drawn] += 1
        if sweep >= burn_in and (sweep - burn_in) % interval == 0:
            kept += 1
            for i in range(languages):
                mean[i] += alpha[i] + counts[i]
    return counts, mean / (kept * (alpha.sum() + tokens))
