"""The oracle of the synthetic language: each subsequence has one state, so a text shows its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

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
    """Chains of state names ``"0"`` to ``"255"``; texts that the rule rejects are invalid chains.

    Args:
        documents: texts.
        reader_truth: arrays of the language's corpus.
        rule: "released", as the authors' code has it, or "strict", as their development code.
        splits: those that are read.
        max_chunks: subsequences that a text may have under the strict rule.

    Raises:
        BadInput: an unknown rule.
    """
    language = language_from_truth(dict(reader_truth))
    owner = dict(zip(language.subsequences, language.owners.tolist(), strict=True))
    rules = {"released": (released_states, language.steps), "strict": (strict_states, max_chunks)}
    if rule not in rules:
        raise BadInput(f"states: rule {rule!r}; allowed are {sorted(rules)}")
    # A chain for each text, then the language's own transitions beside them.
    states_of, limit = rules[rule]
    chains = []
    for document in documents:
        if document.split in splits:
            states = states_of(document.text, owner, limit)
            names = tuple(map(str, states or ()))
            valid = states is not None
            chains.append(Chain(document.id, document.split, names, valid=valid))
    predictions = chains_to_predictions(chains)
    arrays = {
        **predictions.arrays,
        "state_transitions": language.transitions,
        "state_names": np.array(list(map(str, range(len(language.transitions))))),
    }
    return replace(predictions, arrays=arrays)


def _chunks(text: str) -> list[str]:
    """Subsequences between delimiters, each with its delimiter."""
    return [f"{chunk.strip()} {DELIMITER}" for chunk in text.split(DELIMITER)]


def released_states(text: str, owner: Mapping[str, int], steps: int) -> list[int] | None:
    """State numbers of a text by the rule of the authors' released code.

    Args:
        text: read up to its first unknown subsequence; what is behind the last delimiter is left.
        owner: the state of each subsequence.
        steps: how many states a text has; one with another number is dropped: None.
    """
    states: list[int] = []
    for chunk in _chunks(text)[:-1]:
        if chunk not in owner:
            break
        states.append(owner[chunk])
    return states if len(states) == steps else None


def strict_states(text: str, owner: Mapping[str, int], max_chunks: int) -> list[int] | None:
    """State numbers of a text by the rule of the authors' development code.

    None where any subsequence is unknown, or 0 or more than ``max_chunks`` have a state; empty ones
    do not count. ``owner`` is the state of each subsequence.
    """
    states: list[int] = []
    for chunk in _chunks(text):
        if chunk == f" {DELIMITER}":
            continue
        if chunk not in owner:
            return None
        states.append(owner[chunk])
    return states if 0 < len(states) <= max_chunks else None
