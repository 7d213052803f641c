r"""Latent PPL of a semi-Markov model over the synthetic language, computed instead of sampled.

Each subsequence of the language is emitted by one true state, its owner. So a text of the model has
known true states where each of its segments is one valid subsequence. With $B_{sz}$ the probability
that state s of the model emits a subsequence owned by the true state z and $v_s = \sum_z B_{sz}$,
texts of M valid segments form a chain with weights $A_{ss'} v_{s'}$. Their expected negative log
probability under the true transitions $A^*$, in nats a text, is

$$ T = E[-\log A^*_{0 z_1}] + \sum_{m = 2}^{M} \sum_{s s'}
   P(s_{m-1} = s, s_m = s' \mid \text{valid}) G_{ss'}, \quad
   G = \bar B (-\log A^*) \bar B^\top, \quad \bar B_{sz} = B_{sz} / v_s, $$

and Latent PPL is $\exp(T / M)$. Left out are only texts whose segments are no subsequences but that
can be cut into M of them at other places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longform.errors import BadInput
from longform.hsmm.model import SemiMarkovLM
from synthetic_world.hsmm_language import SyntheticLanguage


@dataclass(frozen=True)
class LatentReading:
    """Expected Latent PPL of a model's valid texts, and the probability that a text is valid."""

    latent_ppl: float
    parse_rate: float


def emitted_owners(model: SemiMarkovLM, language: SyntheticLanguage) -> np.ndarray:
    """B: probability that each model state emits a subsequence owned by each true state.

    Returns:
        float64 (C, Z), C states of the model and Z of the language.
    """
    vocabulary = set(model.ngrams.tokens)
    probability_of_owner = np.zeros((len(language.transitions), model.num_states))
    for text, owner in zip(language.subsequences, language.owners, strict=True):
        tokens = text.split()
        if len(tokens) <= model.max_duration and vocabulary.issuperset(tokens):
            # The row of the n-gram of all tokens: at position 0, the longest duration.
            row = model.ngrams.index(model.ngrams.encode(tokens))[0, len(tokens) - 1]
            if row >= 0:  # -1: the model's table does not have it
                probability_of_owner[owner] += model.joint[row]
    return probability_of_owner.T


def latent_reading(model: SemiMarkovLM, language: SyntheticLanguage) -> LatentReading:
    """Latent PPL of a model's texts of ``language.steps`` segments, by the module's formula.

    Returns:
        Latent PPL given that all segments are valid, and the probability that they are.

    Raises:
        BadInput: the model never emits that many valid subsequences.
    """
    # 1. Of each model state (C): the probability that it emits a valid subsequence, (C,), and if so
    #    the probability of each owner, (C, Z). Of each true transition its cost in nats, (Z, Z).
    emitted, steps = emitted_owners(model, language), language.steps
    valid_probability = emitted.sum(axis=1)
    owner_given_valid = emitted / np.where(valid_probability > 0, valid_probability, 1)[:, None]
    with np.errstate(divide="ignore"):
        transition_nats = -np.log(language.transitions)
    # 2. The chain of valid segments, forward.
    weights = model.transitions.astype(np.float64) * valid_probability
    forward, log_probability = _forward(weights, steps)
    if log_probability <= -np.inf:
        raise BadInput(
            f"latent reading: {steps} valid subsequences have probability 0; fit the model longer"
        )
    # 3. Backward from the last segment. At the top of the loop ``backward`` is proportional to the
    #    probability (C,) that the segments after m + 1 are valid, by the state of segment m + 1.
    backward = np.ones(model.num_states)
    expected_nats = owner_given_valid @ transition_nats @ owner_given_valid.T  # G, (C, C)
    text_nats = 0.0
    for m in range(steps - 1, 0, -1):
        pairs = (
            forward[m][:, None] * weights * backward
        )  # P(states of segments m and m + 1), (C, C)
        text_nats += float((pairs / pairs.sum() * expected_nats).sum())
        backward = weights @ backward
        backward /= backward.max()
    # 4. The first segment's true state follows the true state 0.
    first = forward[1] * backward
    text_nats += float(first / first.sum() @ (owner_given_valid @ transition_nats[0]))
    return LatentReading(float(np.exp(text_nats / steps)), float(np.exp(log_probability)))


def _forward(weights: np.ndarray, steps: int) -> tuple[list[np.ndarray], float]:
    """Forward pass over a chain of M segments that starts in state 0.

    Args:
        weights: (states, states), the probability of a next state whose segment is valid.
        steps: M.

    Returns:
        The distribution of the state after m = 0..M segments given that these are valid, (states,)
        each, and the log probability that all M are valid (-inf: it is 0, and the list is shorter).
    """
    rows, log_probability = [np.eye(len(weights))[0]], 0.0
    for _ in range(steps):
        row = rows[-1] @ weights
        if row.sum() <= 0:
            return rows, -np.inf
        log_probability += float(np.log(row.sum()))
        rows.append(row / row.sum())
    return rows, log_probability
