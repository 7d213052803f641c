"""Texts from a hidden semi-Markov model (deng2022 appendix D).

Each has exactly M segments and begins in state 0.
"""

from pathlib import Path

from longform.documents import Corpus, Document, Section
from longform.errors import ConfigError
from longform.hsmm import HSMM


def generate(*, model: Path, name: str, seed: int, documents: int, segments: int) -> Corpus:
    """Sample texts; a text depends on the model, the seed, the stage's name and its number alone.

    Args:
        model: folder that the training stage wrote.
        name, seed: name of the corpus and seed, which name the random streams.
        documents: number of texts.
        segments: segments of each text.

    Raises ConfigError: fewer than one document or segment.
    """
    if documents < 1 or segments < 1:
        raise ConfigError(
            f"generate {name}: documents={documents}, segments={segments}; "
            "both must be at least one"
        )
    samples = HSMM.load(model).sample(documents, segments, seed=seed, stream=name)
    texts = []
    for number, sample in enumerate(samples):
        text = " ".join(sample.tokens.tolist())
        texts.append(Document(f"{name}-{number}", "generated", (Section(None, text),)))
    return Corpus(texts, facts={"documents": documents, "segments": segments})
