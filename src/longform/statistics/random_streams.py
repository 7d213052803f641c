"""Random numbers that depend on names alone, so that document 7 is document 7 in any batch."""

import hashlib

import numpy as np


def generator(*names: object) -> np.random.Generator:
    """A generator that depends only on the words that name it.

    Args:
        names: what the draws are for, such as a seed, a purpose and a document's id.
    """
    seed = int.from_bytes(_digest(names, 16), "little")
    return np.random.Generator(np.random.PCG64(seed))


def derived_seed(*names: object) -> int:
    """A 63-bit seed for libraries that take an integer; it depends only on the names."""
    return int.from_bytes(_digest(names, 8), "little") >> 1


def _digest(names: tuple[object, ...], size: int) -> bytes:
    """BLAKE2b of the names, ``size`` bytes."""
    words = "\x1f".join(map(str, names))
    return hashlib.blake2b(words.encode(), digest_size=size).digest()
