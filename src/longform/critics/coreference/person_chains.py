"""Chains of mentions of persons, with the places of the mentions."""

from dataclasses import dataclass

from longform.documents import Chain, Predictions, chains_from_predictions
from longform.text.rendering import unpack

STOP = "."  # opens each sentence of a chain


@dataclass(frozen=True)
class PersonChain(Chain):
    """A chain of mentions with where in the text each symbol stands, and maybe the text.

    Attributes:
        spans: of each symbol; a stop stands at the first character of its sentence.
    """

    spans: tuple[tuple[int, int], ...] = ()
    text: str = ""


def person_chains(predictions: Predictions) -> list[PersonChain]:
    """What the readers of chains wrote, with the texts where they kept them."""
    chains = chains_from_predictions(predictions)
    spans = predictions.ragged("span")
    texts = unpack(predictions)
    persons = []
    for chain, own_spans, text in zip(chains, spans, texts, strict=True):
        pairs = tuple((int(start), int(end)) for start, end in own_spans.tolist())
        persons.append(PersonChain(**vars(chain), spans=pairs, text=text))
    return persons
