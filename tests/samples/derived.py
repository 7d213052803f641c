"""Texts as the world's grammar follows them: all of a good text's sentences, few of a worse one's."""

import numpy as np

from longform.core.resampling import generator
from longform.critics.world_grammar.score import REFUSED, DerivableShare, DerivedText, FollowedShare


def texts(share: float, count: int = 24) -> list[DerivedText]:
    """Texts of six to nine sentences, of which a share is derived; the others are followed half way."""
    made = []
    for number in range(count):
        rng = generator("derived", share, number)
        words = rng.integers(6, 14, rng.integers(6, 10))
        good = rng.random(len(words)) < share
        frames, followed = np.where(good, 3, REFUSED), np.where(good, words, words // 2)
        made.append(DerivedText(f"text{number}", "train" if number % 2 else "test", frames, words, followed))
    return made


SAMPLES = {
    "DerivableShare": lambda: (DerivableShare(), texts(0.9), texts(0.3)),
    "FollowedShare": lambda: (FollowedShare(), texts(0.9), texts(0.3)),
}
