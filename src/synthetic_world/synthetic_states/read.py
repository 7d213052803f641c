"""The oracle posterior of the synthetic language: every subsequence belongs to one state, so a text shows its states."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from longform.documents import Chain, Document, Predictions, chains_to_predictions
from longform.errors import BadInput
from synthetic_world.hsmm_language import DELIMITER, language_from_truth


def read(
    *,
    documents: Sequence[Document],
    reader_truth: Mapping[str, np.ndarray],
    rule: str,
    splits: Sequence[str],
    max_chunks: int = 100,
) -> Predictions:
    """Chains of state names ``"0".."255"``; texts that the rule rejects are invalid chains."""
    made = language_from_truth(dict(reader_truth))
    owner = dict(zip(made.subsequences, made.owners.tolist(), strict=True))
    rules = {"released": (released_states, made.steps), "strict": (strict_states, max_chunks)}
    if rule not in rules:
        raise BadInput(f"states: rule {rule!r}; allowed are {sorted(rules)}")
    states_of, limit = rules[rule]
    chains = []
    for document in documents:
        if document.split in splits:
            states = states_of(document.text, owner, limit)
            chains.append(
                Chain(
                    document.id,
                    document.split,
                    tuple(map(str, states or ())),
                    valid=states is not None,
                )
            )
    found = chains_to_predictions(chains)
    names = np.array([str(state) for state in range(len(made.transitions))])
    return replace(
        found, arrays={**found.arrays, "state_transitions": made.transitions, "state_names": names}
    )


def _chunks(text: str) -> list[str]:
    return [f"{chunk.strip()} {DELIMITER}" for chunk in text.split(DELIMITER)]


def released_states(text: str, owner: Mapping[str, int], steps: int) -> list[int] | None:
    """States of a text under the released rule; None where it is dropped."""
    states = [owner[chunk] for chunk in takewhile(owner.__contains__, _chunks(text)[:-1])]
    return states if len(states) == steps else None


def strict_states(text: str, owner: Mapping[str, int], max_chunks: int) -> list[int] | None:
    """States of a text under the development rule; None where any chunk is unknown or there are too many or none."""
    chunks = [chunk for chunk in _chunks(text) if chunk != f" {DELIMITER}"]
    if not 0 < len(chunks) <= max_chunks or any(chunk not in owner for chunk in chunks):
        return None
    return [owner[chunk] for chunk in chunks]
