r"""The synthetic language of deng2022 (section 3, appendix D), with its exact perplexities.

$z_0 = 0, z_m \sim A_{z_{m-1}}, w_m \sim E_{z_m}, m = 1..M$: each state emits one of its own *subsequences*, letters joined by blanks
and closed by ``<space>``, so a text reveals its states."""

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
    """The parameters: ``transitions`` (states, states) and ``emissions`` (states, subsequences) float64, rows sum to one.

    Each text of ``subsequences`` ends in the delimiter; its state among ``owners``, int64, alone emits it. ``steps`` is M.
    """

    transitions: np.ndarray
    emissions: np.ndarray
    subsequences: tuple[str, ...]
    owners: np.ndarray
    steps: int

    def state_marginals(self) -> np.ndarray:
        """$P(z_m)$ for m = 0..M, float64 (steps + 1, states), from $z_0 = 0$."""
        rows = [np.eye(len(self.transitions))[0]]
        for _ in range(self.steps):
            rows.append(rows[-1] @ self.transitions)
        return np.array(rows)

    def latent_ppl(self) -> float:
        r"""Exact Latent PPL: $\exp(-\frac1M \sum_m \sum_z P(z_{m-1}=z) \sum_{z'} A_{zz'} \log A_{zz'})$."""
        return float(np.exp(np.mean(self.state_marginals()[:-1] @ row_entropy(self.transitions))))

    def word_ppl(self) -> float:
        """Exact PPL per token (delimiter counted, no end token): entropy of a text over its expected length."""
        marginals = self.state_marginals()
        lengths = np.array([len(text.split()) for text in self.subsequences])
        nats = marginals[:-1] @ row_entropy(self.transitions) + marginals[1:] @ row_entropy(
            self.emissions
        )
        return float(np.exp(nats.sum() / (marginals[1:] @ (self.emissions @ lengths)).sum()))

    def sample(self, rngs: list[np.random.Generator]) -> tuple[np.ndarray, np.ndarray]:
        """States and subsequence ids, int64 (units, steps) each; one generator per text, so texts are independent."""
        uniforms = np.stack([rng.random((self.steps, 2)) for rng in rngs])
        to_state, to_subsequence = (
            np.cumsum(self.transitions, axis=1),
            np.cumsum(self.emissions, axis=1),
        )
        states = np.zeros((len(rngs), self.steps), dtype=np.int64)
        emitted = np.zeros_like(states)
        for unit in range(len(rngs)):
            state = 0
            for step, (u, v) in enumerate(uniforms[unit]):
                for ends, uniform, drawn in ((to_state, u, states), (to_subsequence, v, emitted)):
                    drawn[unit, step] = np.searchsorted(
                        ends[state], uniform * ends[state, -1], side="right"
                    )
                    state = int(states[unit, step])
        return states, emitted


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
    """Draw the language. Lengths count tokens including the delimiter; temperatures divide N(0, 1) logits.

    Raises BadInput: no state, states without a subsequence to emit, or more subsequences than the lengths allow.
    """
    most = sum(52 ** (n - 1) for n in range(min_length, max_length + 1)) // 2
    if not 1 <= num_states <= subsequences <= most:
        asked = f"subsequences={subsequences} with lengths {min_length}..{max_length} and {num_states} states"
        allowed = "1 state or more, and num_states up to half of all strings"
        raise BadInput(f"synthetic language: {asked}; allowed are {allowed}; change the entry")
    texts: dict[str, None] = {}
    rng = generator(seed, "subsequences")
    while len(texts) < subsequences:
        letters = rng.integers(0, len(LETTERS), rng.integers(min_length, max_length + 1) - 1)
        texts[" ".join([*(LETTERS[i] for i in letters), DELIMITER])] = None
    rng, owners = generator(seed, "owners"), np.zeros(0, np.int64)
    while len(np.unique(owners)) < num_states:  # small languages can leave a state without a text
        owners = rng.integers(0, num_states, subsequences)
    logits = (
        generator(seed, "transitions").standard_normal((num_states, num_states))
        / temperatures["transition"]
    )
    emitting = (
        generator(seed, "emissions").standard_normal((num_states, subsequences))
        / temperatures["emission"]
    )
    emitting[owners[None, :] != np.arange(num_states)[:, None]] = -np.inf
    return SyntheticLanguage(
        softmax(logits, axis=1), softmax(emitting, axis=1), tuple(texts), owners, steps
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
    """The corpus of one entry: documents, the language as truth, its exact perplexities as facts."""
    sizes = {
        "num_states": num_states,
        "subsequences": subsequences,
        "min_length": min_length,
        "max_length": max_length,
    }
    made = language(seed=seed, steps=steps, temperatures=temperatures, **sizes)
    if (
        not isinstance(documents, Mapping)
        or not set(documents) <= set(SPLITS)
        or min(documents.values()) < 0
    ):
        raise BadInput(
            f"corpus {name}: documents is {documents!r}, allowed are counts from 0 of {list(SPLITS)}"
        )
    names = [(split, index) for split, count in documents.items() for index in range(count)]
    if not names:
        raise BadInput(
            f"corpus {name}: documents={dict(documents)} asks for zero documents, at least one is needed"
        )
    states, emitted = made.sample([generator(seed, name, split, index) for split, index in names])
    texts = [" ".join(made.subsequences[i] for i in row) for row in emitted.tolist()]
    records = [
        Document(f"{name}-{split}-{index}", split, (Section(None, text),))
        for (split, index), text in zip(names, texts, strict=True)
    ]
    truth = {"transitions": made.transitions, "emissions": made.emissions, "owners": made.owners}
    truth |= {"subsequence_names": np.array(made.subsequences)}
    truth |= {"states": states.astype(np.int32), "emitted": emitted.astype(np.int32)}
    facts = {
        "latent_ppl": made.latent_ppl(),
        "word_ppl": made.word_ppl(),
        "steps": steps,
        "num_states": num_states,
    }
    return Corpus(
        records, truth, facts | {"parameters": made.transitions.size + made.emissions.size}
    )


def language_from_truth(truth: dict[str, np.ndarray]) -> SyntheticLanguage:
    """The language that wrote a corpus. Raises BadInput: the truth arrays are not those of a synthetic corpus."""
    needed = {"transitions", "emissions", "owners", "subsequence_names", "states"}
    if not needed <= truth.keys():
        raise BadInput(
            f"truth has {sorted(truth)}, needed is {sorted(needed)}; name a synthetic corpus"
        )
    texts = tuple(truth["subsequence_names"].tolist())
    return SyntheticLanguage(
        truth["transitions"], truth["emissions"], texts, truth["owners"], truth["states"].shape[1]
    )
