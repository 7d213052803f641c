"""Random splits of a corpus into train, validation and test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from longform.core.documents import BadInput
from longform.core.resampling import generator

SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}  # Arnold et al. 2019, section 3


def split_by_seed(ids: Sequence[str], shares: Mapping[str, float], seed: int) -> list[str]:
    """One split per id: ids are ranked by a draw named after seed and id, and the ranking is cut at the shares.

    Raises:
        BadInput: the shares are not positive or do not sum to one.
    """
    if any(share <= 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-9:
        raise BadInput(f"shares are {dict(shares)}, allowed are positive fractions that sum to 1; fix the entry")
    draws = np.array([generator(seed, "split", unit).random() for unit in ids])
    ends = np.round(np.cumsum(list(shares.values())) * len(ids)).astype(int)
    of_rank = np.repeat(list(shares), np.diff(ends, prepend=0))
    splits = np.empty(len(ids), dtype=of_rank.dtype)
    splits[np.argsort(draws, kind="stable")] = of_rank
    return splits.tolist()
