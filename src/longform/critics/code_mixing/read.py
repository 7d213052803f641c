r"""Reads the mix of languages of a sentence: Gibbs sampling of its words' languages, then a draw of the mix.

deng2022, appendix C: $t \sim P(t \mid x; \phi^*)$ by Gibbs sampling with the words of the languages fixed, then
$z \sim \mathrm{Dirichlet}(\alpha_i + \#\{n : t_n = i\})$. The settings are those of MALLET's inferencer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numba
import numpy as np

from longform.core.documents import SPLITS, BadInput, Document, Readout, of_splits
from longform.core.resampling import generator
from longform.critics.code_mixing.train import LanguageModel, words_of

SWEEPS = 100  # MALLET 2.0.8's inferencer
BURN_IN = 10  # sweeps before samples enter the average; MALLET 2.0.8's inferencer
TOP_WORDS = 20  # per language (Table 10)
INTERVAL = 10  # sweeps between samples of the average; MALLET 2.0.8's inferencer


def read(
    documents: Sequence[Document],
    *,
    reader: LanguageModel | Path,
    seed: int,
    splits: Sequence[str] = SPLITS,
    sweeps: int = SWEEPS,
    burn_in: int = BURN_IN,
    interval: int = INTERVAL,
) -> Readout:
    """Mix of languages per sentence; a sentence draws the same numbers in any company.

    Returns:
        arrays, one row per unit: ``share`` (languages) a draw of the mix; ``posterior`` (languages) the parameters it
        was drawn from, alpha plus assigned words; ``mean_share`` (languages) the average mix, MALLET's own output;
        ``tokens``, ``unknown``, ``valid``; and of the model ``alpha_names`` (languages) and ``top_word_names``
        (languages, TOP_WORDS or as many as there are), the most probable words of each language, best first.
    """
    model = reader if isinstance(reader, LanguageModel) else LanguageModel.load(reader)
    documents = of_splits(documents, splits, "language mixture")
    if sweeps <= burn_in:
        raise BadInput(f"language mixture: {sweeps} sweeps with a burn-in of {burn_in}; take more sweeps than that")
    index = {word: number for number, word in enumerate(model.vocabulary)}
    rows = [_read_one(document, index, model, seed, (sweeps, burn_in, interval)) for document in documents]
    names = ("share", "posterior", "mean_share", "tokens", "unknown", "valid")
    arrays = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    arrays["alpha_names"] = model.alpha
    arrays["top_word_names"] = np.array(model.top_words(TOP_WORDS), dtype=np.str_)
    return Readout(tuple(d.id for d in documents), tuple(d.split for d in documents), arrays)


def _read_one(
    document: Document, index: dict[str, int], model: LanguageModel, seed: int, schedule: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int, bool]:
    words = words_of(document)
    terms = np.array([index[word] for word in words if word in index], np.int64)
    rng = generator("language mixture", seed, document.id)
    uniforms = rng.random((schedule[0], len(terms)))
    counts, mean = assign(np.ascontiguousarray(model.phi[:, terms].T), model.alpha, uniforms, schedule[1:])
    posterior = model.alpha + counts
    return rng.dirichlet(posterior), posterior, mean, len(terms), len(words) - len(terms), bool(len(terms))


@numba.njit(cache=True)
def assign(
    chances: np.ndarray, alpha: np.ndarray, uniforms: np.ndarray, schedule: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    r"""Gibbs sweeps over one sentence: $P(t_n = i \mid t_{-n}) \propto \phi_{i w_n} (\alpha_i + \#_{-n} i)$.

    Args:
        chances: (tokens, languages) probability of each token under each language.
        uniforms: (sweeps, tokens) random numbers, one per step.
        schedule: (burn-in, interval) of the average.

    Returns:
        words per language after the last sweep, and the average of (alpha + words) / sum over kept sweeps.
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
            state[n] = _draw(chances[n], alpha, counts, weights, uniforms[sweep, n])
            counts[state[n]] += 1
        if sweep >= burn_in and (sweep - burn_in) % interval == 0:
            kept += 1
            for i in range(languages):
                mean[i] += alpha[i] + counts[i]
    total = kept * (alpha.sum() + tokens)
    for i in range(languages):
        mean[i] /= total
    return counts, mean


@numba.njit(cache=True)
def _draw(chances, alpha, counts, weights, uniform):
    total = 0.0
    for i in range(len(weights)):
        total += chances[i] * (alpha[i] + counts[i])
        weights[i] = total
    for i in range(len(weights) - 1):
        if weights[i] > uniform * total:
            return i
    return len(weights) - 1
