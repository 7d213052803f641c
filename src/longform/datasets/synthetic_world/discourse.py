"""Relations between clauses: the sense is drawn first, then where it stands, a connective by sense, and its clause."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

SENSES = ("none", "contrast", "concession", "causal", "temporal")
SENSE_PROBABILITIES = (0.74, 0.07, 0.07, 0.07, 0.05)
CONNECTIVES = ("", "although", "though", "while", "since", "as", "because", "however", "yet", "meanwhile", "therefore")
INSIDE = {  # P(connective | sense) where the clause follows in the same sentence
    "contrast": {"while": 0.7, "though": 0.3},
    "concession": {"although": 0.5, "though": 0.35, "while": 0.15},
    "causal": {"since": 0.4, "as": 0.35, "because": 0.25},
    "temporal": {"while": 0.5, "as": 0.5},
}
ACROSS = {  # P(connective | sense) where the clause is a sentence of its own, opened by the connective
    "contrast": {"however": 0.5, "meanwhile": 0.3, "yet": 0.2},
    "concession": {"however": 0.6, "yet": 0.4},
    "temporal": {"meanwhile": 1.0},
    "causal": {"therefore": 1.0},
}
ACROSS_PROBABILITY = 0.5  # of a clause without persons that may open with a connective
CLAUSES = {
    "contrast": """
        the {agents} of {Town} preferred {adj} {things}
        the other {things} stayed in the {place}
        most of the {agents} wanted the opposite
        the {agents} in the {dir} had only {things}""",
    "concession": """
        the {things} were far too expensive
        few {agents} had asked for {a_thing}
        the {place} was already closed
        nobody had believed in the {event}
        the {agents} had strongly advised against it""",
    "causal": """
        the {agents} needed {adj} {things}
        the {place} had become too small for {things}
        there was no other {place} in {Town}
        {things} had always been useful to {agents}""",
    "temporal": """
        the {agents} were still waiting in the {place}
        the {place} was being repaired by {agents}
        the {event} was still going on
        {agents} were carrying {things} out of the {place}""",
}
RESULTS = """
    the {agents} moved to {Town}
    the {place} was closed for {small} weeks
    the {agents} bought {adj} {things}
    many {agents} asked for {stuff}"""  # what follows "therefore"; the causal clauses above follow "because"
ALIKE = {"contrast": ("contrast", "concession"), "concession": ("contrast", "concession")}  # told apart by no reader
COMMA_SENSES = ("contrast", "concession")  # ", although" but " because"

CUMULATIVE_SENSES = list(accumulate(SENSE_PROBABILITIES))


def _tables(conditional: dict[str, dict[str, float]]) -> dict[str, tuple[list[str], list[float]]]:
    return {sense: (list(row), list(accumulate(row.values()))) for sense, row in conditional.items()}


INSIDE_TABLES, ACROSS_TABLES = _tables(INSIDE), _tables(ACROSS)


def connective_probabilities() -> np.ndarray:
    """P(connective | place, sense): float64, (inside or across, senses, connectives); undefined rows are zero."""
    values = np.zeros((2, len(SENSES), len(CONNECTIVES)))
    for place, conditional in enumerate((INSIDE, ACROSS)):
        for sense, row in conditional.items():
            for connective, probability in row.items():
                values[place, SENSES.index(sense), CONNECTIVES.index(connective)] = probability
    return values


def wrong_connectives(sense: int, across: bool) -> list[int]:
    """Connectives of the same place in the sentence that never stand for the sense or for one like it."""
    table = connective_probabilities()[int(across)]
    alike = [SENSES.index(name) for name in ALIKE.get(SENSES[sense], (SENSES[sense],))]
    return [c for c in range(len(CONNECTIVES)) if table[:, c].sum() > 0 and table[alike, c].sum() == 0]
