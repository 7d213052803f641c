r"""Fitting and reading the mixture of languages of deng2022, appendix C.

A sentence's mix is $z \sim \mathrm{Dirichlet}(\alpha)$. The paper fits with MALLET; here tomotopy
runs the same sampler and the same re-estimation of $\alpha$, with $\beta$ fixed, as the paper says.
To read: $t \sim P(t \mid x; \phi^*)$ by Gibbs sampling, then $z \sim \mathrm{Dirichlet}(\alpha_i +
\#\{n : t_n = i\})$.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
import tomotopy

from longform.critics.code_mixing.mixture import LanguageModel, words_of
from longform.documents import SPLITS, Document, Predictions, of_splits
from longform.errors import ConfigError, InputError
from longform.statistics.random_streams import generator

BETA = 0.01  # Dirichlet of the words of a language (appendix C)
ALPHA_SUM = 1.0  # of the initial alpha, 1/M each (appendix C)
# Of reading: sweeps, those before the first sample of the average, and between samples; as in
# MALLET 2.0.8's inferencer.
SWEEPS, BURN_IN, INTERVAL = 100, 10, 10


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
    """Fit the mixture to the sentences of split train.

    Args:
        documents: one sentence each; empty ones are left out and counted in ``facts``.
        seed: of the first chain; each restart has the next one.
        languages: how many there are.
        sweeps: of the sampler.
        burn_in, optimise_every: sweeps before alpha is estimated, and between its estimates.
        restarts: chains, of which the likeliest is kept.

    Raises ConfigError: fewer than two languages. Raises InputError: fewer than two distinct words.
    """
    if languages < 2:
        raise ConfigError(f"language model: got {languages} language(s), allowed is 2 or more")
    # 1. The sentences with words.
    training = [document for document in documents if document.split == "train"]
    sentences = list(filter(None, map(words_of, training)))
    distinct = len(set().union(*sentences))
    if distinct < 2:
        raise InputError(
            f"language model: {len(training)} training documents hold {distinct} distinct "
            "word(s), 2 are needed"
        )
    # 2. One chain for each restart.
    chains = []
    for start in range(max(1, restarts)):
        chain = tomotopy.LDAModel(
            k=languages, alpha=ALPHA_SUM / languages, eta=BETA, seed=(seed + start) % 2**32
        )
        for sentence in sentences:
            chain.add_doc(sentence)
        chain.burn_in = burn_in
        chain.optim_interval = optimise_every
        chain.train(sweeps, workers=1)
        chains.append(chain)
    # 3. The likeliest chain's words and alpha.
    best = max(chains, key=lambda chain: chain.ll_per_word)
    phi = np.array(list(map(best.get_topic_word_dist, range(languages))), np.float64)
    facts: dict[str, Any] = {
        "documents": len(sentences),
        "empty_documents": len(training) - len(sentences),
        "seed": seed,
        "sweeps": sweeps,
        "library": f"tomotopy {tomotopy.__version__}",
        "nats_per_word": [round(float(chain.ll_per_word), 6) for chain in chains],
    }
    return LanguageModel(tuple(best.used_vocabs), phi, np.array(best.alpha, np.float64), facts)


def read(
    documents: Sequence[Document],
    *,
    reader: LanguageModel | Path,
    seed: int,
    splits: Sequence[str] = SPLITS,
) -> Predictions:
    """Mix of languages of each sentence, which draws the same numbers in any company.

    Args:
        documents: one sentence each.
        reader: a fitted mixture, or its folder.
        seed: names the draws, together with each document's id.
        splits: which documents are read.

    Returns:
        One row per unit: ``share`` (languages,) a draw of the mix; ``posterior`` (languages,) the
        parameters it was drawn from, alpha plus assigned words; ``mean_share`` (languages,) the
        average mix, MALLET's own output; ``tokens``, ``unknown``, ``valid``. And of the model
        ``alpha_names`` (languages,) and ``top_word_names`` (languages, words).

    Raises BadInput: no document of these splits.
    """
    model = reader if isinstance(reader, LanguageModel) else LanguageModel.load(reader)
    chosen = of_splits(documents, splits, "language mixture")
    index = {word: number for number, word in enumerate(model.vocabulary)}
    columns: dict[str, list[Any]] = defaultdict(list)
    for document in chosen:
        # 1. The known words, and the probability of each in each language.
        words = words_of(document)
        terms = np.array([index[word] for word in words if word in index], np.int64)
        likelihoods = np.ascontiguousarray(model.phi[:, terms].T)
        # 2. Words are assigned to languages, then the mix is drawn.
        rng = generator("language mixture", seed, document.id)
        uniforms = rng.random((SWEEPS, len(terms)))
        counts, mean_share = assign(likelihoods, model.alpha, uniforms, (BURN_IN, INTERVAL))
        posterior = model.alpha + counts
        columns["share"].append(rng.dirichlet(posterior))
        columns["posterior"].append(posterior)
        columns["mean_share"].append(mean_share)
        columns["tokens"].append(len(terms))
        columns["unknown"].append(len(words) - len(terms))
        columns["valid"].append(len(terms) > 0)
    arrays = {name: np.array(column) for name, column in columns.items()}
    arrays["alpha_names"] = model.alpha
    arrays["top_word_names"] = np.array(model.top_words(), dtype=np.str_)
    return Predictions.of(chosen, arrays)


@numba.njit(cache=True)
def assign(likelihoods, alpha, uniforms, schedule):
    r"""Assign the words of one sentence to languages, by sweeps of Gibbs sampling.

    $P(t_n = i \mid t_{-n}) \propto \phi_{i w_n} (\alpha_i + \#_{-n} i)$.

    Args:
        likelihoods: probability of each token under each language, (tokens, languages).
        alpha: Dirichlet parameters of the mix, (languages,).
        uniforms: a random number for each step, (sweeps, tokens).
        schedule: sweeps before the first sample of the average, and sweeps between samples.

    Returns:
        Words per language after the last sweep, and the average of (alpha + words) / their sum over
        the sampled sweeps; (languages,) each.
    """
    burn_in, interval = schedule
    tokens, languages = likelihoods.shape
    counts = np.zeros(languages)
    summed_mix = np.zeros(languages)
    cumulated = np.zeros(languages)
    assigned = np.zeros(tokens, np.int64)
    samples = 0
    # 1. Start with each token's likeliest language.
    for n in range(tokens):
        for i in range(1, languages):
            if likelihoods[n, i] > likelihoods[n, assigned[n]]:
                assigned[n] = i
        counts[assigned[n]] += 1
    for sweep in range(len(uniforms)):
        # 2. Draw each token's language given those of all others, by the inverse of the cumulated
        #    weights.
        for n in range(tokens):
            counts[assigned[n]] -= 1
            total = 0.0
            for i in range(languages):
                total += likelihoods[n, i] * (alpha[i] + counts[i])
                cumulated[i] = total
            language = languages - 1
            for i in range(languages - 1):
                if cumulated[i] > uniforms[sweep, n] * total:
                    language = i
                    break
            assigned[n] = language
            counts[language] += 1
        # 3. Sample the mix.
        if sweep >= burn_in and (sweep - burn_in) % interval == 0:
            samples += 1
            for i in range(languages):
                summed_mix[i] += alpha[i] + counts[i]
    return counts, summed_mix / (samples * (alpha.sum() + tokens))
