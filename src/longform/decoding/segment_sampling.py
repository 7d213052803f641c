"""Texts from a hidden semi-Markov model: exactly M segments each, begun in state 0 (deng2022 appendix D)."""

from pathlib import Path

from longform.documents import Corpus, Document, Section
from longform.errors import BadInput
from longform.hsmm.model import SemiMarkovLM
from longform.statistics.random_streams import generator


def generate(*, model: Path, name: str, seed: int, documents: int, segments: int) -> Corpus:
    """Sample ``documents`` texts; a text depends on (model, seed, stage name, index) alone."""
    if documents < 1 or segments < 1:
        raise BadInput(
            f"generate {name}: documents={documents}, segments={segments}; both must be at least one"
        )
    fitted = SemiMarkovLM.load(model)
    drawn = fitted.draw(segments, [generator(seed, name, index) for index in range(documents)])
    texts = [" ".join(fitted.tokens_of(rows)) for _, rows in drawn]
    made = [
        Document(f"{name}-{i}", "generated", (Section(None, text),)) for i, text in enumerate(texts)
    ]
    return Corpus(made, facts={"documents": documents, "segments": segments})
