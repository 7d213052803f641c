r"""The synthetic language of deng2022 (section 3, appendix D), with its exact perplexities.

$z_0 = 0, z_m \sim A_{z_{m-1}}, w_m \sim E_{z_m}, m = 1..M$: each state emits one of its own
*subsequences*, letters joined by blanks and closed by ``<space>``, so a text reveals its states.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from longform.documents import SPLITS, Corpus, Document, Section
from longform.errors import BadInput
from longform.statistics.random_streams import generator

DELIMITER = "<space>"
LETTERS = string.ascii_letters  # 52 letters (deng2022 appendix D; released generator)


@dataclass(frozen=True)
class SyntheticLanguage:
    """The parameters of a language.

    Attributes:
        transitions: A, float64 (states, states), rows sum to one.
        emissions: E, float64 (states, subsequences), rows sum to one.
        subsequences: texts, each of which ends in the delimiter.
        owners: the state that alone emits each of them, int64 (subsequences,).
        steps: M.
    """

    transitions: np.ndarray
    emissions: np.ndarray
    subsequences: tuple[str, ...]
    owners: np.ndarray
    steps: int

    def state_marginals(self) -> np.ndarray:
        """The probability $P(z_m)$ of each state after m = 0..M steps from $z_0 = 0$.

        Returns:
            float64 (steps + 1, states); row 0 has all its mass on state 0.
        """
        rows = [np.eye(len(self.transitions))[0]]
        for _ in range(self.steps):
            rows.append(rows[-1] @ self.transitions)
        return np.array(rows)

    def latent_ppl(self) -> float:
        r"""Exact Latent PPL.

        $\exp(-\frac1M \sum_m \sum_z P(z_{m-1}=z) \sum_{z'} A_{zz'} \log A_{zz'})$.
        """
        nats = self.state_marginals()[:-1] @ row_entropy(self.transitions)
        return float(np.exp(np.mean(nats)))

    def word_ppl(self) -> float:
        """Exact perplexity per token: exp of a text's entropy in nats over its expected length.

        The delimiter is counted; there is no end token.
        """
        marginals = self.state_marginals()
        lengths = np.array([len(text.split()) for text in self.subsequences])
        transition_nats = marginals[:-1] @ row_entropy(self.transitions)
        emission_nats = marginals[1:] @ row_entropy(self.emissions)
        nats = transition_nats + emission_nats
        tokens = marginals[1:] @ (self.emissions @ lengths)
        return float(np.exp(nats.sum() / tokens.sum()))

    def sample(self, rngs: list[np.random.Generator]) -> tuple[np.ndarray, np.ndarray]:
        """Draw texts: the state at each step and the subsequence that it emits.

        Args:
            rngs: one for each text, so texts are independent.

        Returns:
            States and indices of subsequences, int64 (texts, steps) each.
        """
        to_state = np.cumsum(self.transitions, axis=1)
        to_subsequence = np.cumsum(self.emissions, axis=1)
        states = np.zeros((len(rngs), self.steps), dtype=np.int64)
        emitted = np.zeros_like(states)
        for unit, rng in enumerate(rngs):
            state = 0  # before the first step, which row 0 of the transitions draws
            for step, (u, v) in enumerate(rng.random((self.steps, 2))):
                state = _draw_index(to_state[state], u)
                states[unit, step] = state
                emitted[unit, step] = _draw_index(to_subsequence[state], v)
        return states, emitted


def _draw_index(cumulative: np.ndarray, uniform: float) -> int:
    """Draw an index by inverting the cumulative distribution.

    Args:
        cumulative: cumulative weights of all indices, whose last is their total.
        uniform: a draw from [0, 1).
    """
    return int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))


def row_entropy(rows: np.ndarray) -> np.ndarray:
    r"""$-\sum_j p_j \log p_j$ of each row in nats; $0 \log 0 = 0$."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.nansum(rows * np.log(rows), axis=1)


def language(
    *,
    seed: int,
    num_states: int,
    subsequences: int,
    min_length: int,
    max_length: int,
    steps: int,
    temperatures: Mapping[str, float],
) -> SyntheticLanguage:
    """Draw the parameters of a language.

    Args:
        seed: determines all draws.
        num_states: number of states of the chain.
        subsequences: number of subsequences, of all states together.
        min_length, max_length: tokens of a subsequence, the delimiter included.
        steps: M, the number of subsequences in a text.
        temperatures: ``transition`` and ``emission``, which divide N(0, 1) logits.

    Raises:
        BadInput: no state, states without a subsequence to emit, or more subsequences than the
            lengths allow.
    """
    # Subsequences are drawn until all differ, which is quick below half of all possible strings.
    num_strings = sum(52 ** (length - 1) for length in range(min_length, max_length + 1))
    if not 1 <= num_states <= subsequences <= num_strings // 2:
        raise BadInput(
            f"synthetic language: subsequences={subsequences} with lengths "
            f"{min_length}..{max_length} and {num_states} states; allowed are 1 state or more, "
            "and num_states up to half of all strings; change the entry"
        )
    # 1. Distinct texts.
    texts: dict[str, None] = {}
    rng = generator(seed, "subsequences")
    while len(texts) < subsequences:
        num_letters = rng.integers(min_length, max_length + 1) - 1
        letters = rng.integers(0, len(LETTERS), num_letters)
        texts[" ".join([*(LETTERS[i] for i in letters), DELIMITER])] = None
    # 2. Their states; small languages can leave a state without a text.
    rng = generator(seed, "owners")
    owners = np.zeros(0, np.int64)
    while len(np.unique(owners)) < num_states:
        owners = rng.integers(0, num_states, subsequences)
    # 3. Probabilities.
    transition_logits = generator(seed, "transitions").standard_normal((num_states, num_states))
    emission_logits = generator(seed, "emissions").standard_normal((num_states, subsequences))
    transition_logits = transition_logits / temperatures["transition"]
    emission_logits = emission_logits / temperatures["emission"]
    emission_logits[owners[None, :] != np.arange(num_states)[:, None]] = -np.inf
    return SyntheticLanguage(
        softmax(transition_logits, axis=1),
        softmax(emission_logits, axis=1),
        tuple(texts),
        owners,
        steps,
    )


def build(
    *,
    name: str,
    seed: int,
    documents: Mapping[str, int],
    num_states: int,
    subsequences: int,
    min_length: int,
    max_length: int,
    steps: int,
    temperatures: Mapping[str, float],
) -> Corpus:
    """Build a corpus of texts that a language drawn by :func:`language` writes.

    Args:
        name: of the corpus; texts are drawn from random streams of this name.
        seed, num_states, subsequences, min_length, max_length, steps, temperatures: as of
            :func:`language`.
        documents: the number of documents in each split.

    Returns:
        The documents; as ``truth`` the parameters of the language and the states and subsequences
        of each text; as ``facts`` exact perplexities.

    Raises:
        BadInput: as :func:`language`, unknown splits, a negative count, or no documents.
    """
    drawn_language = language(
        seed=seed,
        num_states=num_states,
        subsequences=subsequences,
        min_length=min_length,
        max_length=max_length,
        steps=steps,
        temperatures=temperatures,
    )
    is_counts = isinstance(documents, Mapping) and set(documents) <= set(SPLITS)
    if not is_counts or min(documents.values(), default=0) < 0:
        raise BadInput(
            f"corpus {name}: documents is {documents!r}, "
            f"allowed are counts from 0 of {list(SPLITS)}"
        )
    # 1. States and subsequences of each document.
    names = []
    rngs = []
    for split, count in documents.items():
        for index in range(count):
            names.append((split, index))
            rngs.append(generator(seed, name, split, index))
    if not names:
        raise BadInput(
            f"corpus {name}: documents={dict(documents)} asks for zero documents, "
            "at least one is needed"
        )
    states, emitted = drawn_language.sample(rngs)
    # 2. Their texts.
    records = []
    for (split, index), row in zip(names, emitted.tolist(), strict=True):
        text = " ".join(drawn_language.subsequences[i] for i in row)
        records.append(Document(f"{name}-{split}-{index}", split, (Section(None, text),)))
    truth = {
        "transitions": drawn_language.transitions,
        "emissions": drawn_language.emissions,
        "owners": drawn_language.owners,
        "subsequence_names": np.array(drawn_language.subsequences),
        "states": states.astype(np.int32),
        "emitted": emitted.astype(np.int32),
    }
    facts = {
        "latent_ppl": drawn_language.latent_ppl(),
        "word_ppl": drawn_language.word_ppl(),
        "steps": steps,
        "num_states": num_states,
        "parameters": drawn_language.transitions.size + drawn_language.emissions.size,
    }
    return Corpus(records, truth, facts)


def language_from_truth(truth: dict[str, np.ndarray]) -> SyntheticLanguage:
    """The language that wrote a corpus, from the corpus' truth arrays.

    Raises:
        BadInput: the truth arrays are not those of a synthetic corpus.
    """
    needed = {"transitions", "emissions", "owners", "subsequence_names", "states"}
    if not needed <= truth.keys():
        raise BadInput(
            f"truth has {sorted(truth)}, needed is {sorted(needed)}; name a synthetic corpus"
        )
    return SyntheticLanguage(
        transitions=truth["transitions"],
        emissions=truth["emissions"],
        subsequences=tuple(truth["subsequence_names"].tolist()),
        owners=truth["owners"],
        steps=truth["states"].shape[1],
    )
