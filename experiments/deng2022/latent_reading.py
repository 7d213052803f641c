r"""Latent PPL of a semi-Markov model over the synthetic language, almost without sampling.

A text of the model is read by the oracle as true states when each of its segments is one valid
subsequence. With $B_{sz}$ the probability that state s emits a subsequence owned by z and
$v_s = \sum_z B_{sz}$, texts of M valid segments form a chain with weights $A_{ss'} v_{s'}$, and

$$ T = E[-\log A^*_{0 z_1}] + \sum_{m \ge 2} \sum_{s s'}
   P(s_{m-1} = s, s_m = s' \mid \text{valid}) G_{ss'}, \quad
   G = \bar B (-\log A^*) \bar B^\top, \quad \bar B_{sz} = B_{sz} / v_s. $$

Only texts whose segments straddle subsequences and still read as M valid ones are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longform.errors import BadInput
from longform.hsmm.model import SemiMarkovLM
from synthetic_world.hsmm_language import SyntheticLanguage


@dataclass(frozen=True)
class LatentReading:
    """Expected Latent PPL of texts that read as valid, and the share of texts that do."""

    latent_ppl: float
    parse_rate: float


def emitted_owners(model: SemiMarkovLM, language: SyntheticLanguage) -> np.ndarray:
    """B: probability that each model state emits a subsequence owned by each true state.

    Returns:
        float64 (C, Z), C states of the model and Z of the language.
    """
    vocabulary = set(model.ngrams.tokens)
    owned = np.zeros((len(language.transitions), model.num_states))
    for text, owner in zip(language.subsequences, language.owners, strict=True):
        tokens = text.split()
        if len(tokens) <= model.max_duration and vocabulary.issuperset(tokens):
            row = model.ngrams.index(model.ngrams.encode(tokens))[0, len(tokens) - 1]
            if row >= 0:
                owned[owner] += model.joint[row]
    return owned.T


def latent_reading(model: SemiMarkovLM, language: SyntheticLanguage) -> LatentReading:
    """Latent PPL and survival of texts of ``language.steps`` segments.

    Raises:
        BadInput: the model never emits that many valid subsequences.
    """
    # 1. What each state of the model emits, and what moves between true states cost.
    owned, steps = emitted_owners(model, language), language.steps
    valid = owned.sum(axis=1)
    with np.errstate(divide="ignore"):
        nats = -np.log(language.transitions)
    shares = owned / np.where(valid > 0, valid, 1)[:, None]
    # 2. Weights of the chain of valid segments, forward.
    weights = model.transitions.astype(np.float64) * valid
    forward, total = _forward(weights, steps)
    if total <= -np.inf:
        raise BadInput(
            f"latent reading: {steps} valid subsequences have probability 0; fit the model longer"
        )
    # 3. Backward, with the expected cost of each move; the first comes from the begin.
    backward = np.ones(model.num_states)
    pair_nats = shares @ nats @ shares.T
    moves = 0.0
    for m in range(steps - 1, 0, -1):
        pairs = forward[m][:, None] * weights * backward
        moves += float((pairs / pairs.sum() * pair_nats).sum())
        backward = weights @ backward
        backward /= backward.max()
    first = forward[1] * backward
    moves += float(first / first.sum() @ (shares @ nats[0]))
    return LatentReading(float(np.exp(moves / steps)), float(np.exp(total)))


def _forward(weights: np.ndarray, steps: int) -> tuple[list[np.ndarray], float]:
    """State weights after 0..M segments, each scaled to sum one.

    Beside them is the logarithm of the product of the scales.
    """
    rows, total = [np.eye(len(weights))[0]], 0.0
    for _ in range(steps):
        row = rows[-1] @ weights
        if row.sum() <= 0:
            return rows, -np.inf
        total += float(np.log(row.sum()))
        rows.append(row / row.sum())
    return rows, total
