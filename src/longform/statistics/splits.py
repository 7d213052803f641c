"""Which documents are for training and which for testing, by their ids and a seed."""

from collections.abc import Mapping, Sequence

import numpy as np

from longform.errors import ConfigError
from longform.statistics.random_streams import generator

SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}  # Arnold et al. 2019, section 3


def split_by_seed(ids: Sequence[str], shares: Mapping[str, float], seed: int) -> list[str]:
    """One split per id: ids are ranked by a draw of their own, and the shares cut the ranking.

    Args:
        ids: documents, in any order; an id's draw is named after it and the seed.
        shares: share of each split.
        seed: another seed gives another ranking.

    Returns:
        The name of each id's split.

    Raises ConfigError: the shares are not positive or do not sum to one.
    """
    all_positive = all(share > 0 for share in shares.values())
    if not all_positive or abs(sum(shares.values()) - 1) > 1e-9:
        raise ConfigError(
            f"shares are {dict(shares)}, allowed are positive fractions that sum to 1; "
            "fix the entry"
        )
    # 1. The split of each rank.
    ends = np.round(np.cumsum(list(shares.values())) * len(ids)).astype(int)
    split_of_rank = np.repeat(list(shares), np.diff(ends, prepend=0))
    # 2. The rank of each id.
    draws = np.array([generator(seed, "split", unit).random() for unit in ids])
    order = np.argsort(draws, kind="stable")
    splits = np.empty(len(ids), dtype=split_of_rank.dtype)
    splits[order] = split_of_rank
    return splits.tolist()
