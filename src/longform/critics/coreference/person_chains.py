"""Chains of mentions of persons, with the places of the mentions."""

from dataclasses import dataclass

from longform.documents import Chain, Predictions, chains_from_predictions
from longform.text.rendering import unpack

STOP = "."  # opens each sentence of a chain


@dataclass(frozen=True)
class PersonChain(Chain):
    """A chain of mentions with where in the text each symbol stands, and maybe the text.

    Attributes:
        spans: start and end of each symbol; a stop stands at its sentence's first character.
        text: that the spans count in; empty where it was not kept.
    """

    spans: tuple[tuple[int, int], ...] = ()
    text: str = ""


def person_chains(predictions: Predictions) -> list[PersonChain]:
    """What the readers of chains wrote, with the texts where they kept them.

    Args:
        predictions: of :func:`longform.critics.coreference.chains.read_with`.
    """
    chains = chains_from_predictions(predictions)
    spans = predictions.ragged("span")
    texts = unpack(predictions)
    with_spans = []
    for chain, chain_spans, text in zip(chains, spans, texts, strict=True):
        pairs = tuple(map(tuple, chain_spans.tolist()))
        with_spans.append(PersonChain(**vars(chain), spans=pairs, text=text))
    return with_spans
