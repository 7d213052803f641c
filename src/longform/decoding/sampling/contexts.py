"""Which tokens a draw sees, as a function of the length of the text alone: the two protocols of a full window.

``keep=None`` slides by one token, as deng2022's sampler does: every token sees the last window - 1 tokens, positions
start at zero again, and the whole window is recomputed for each token. ``keep=n`` re-encodes the last n tokens once
the window is full and goes on with the cache: the context varies between n and the window, at about
window / (window - n) forward positions a token instead of window.
"""

from __future__ import annotations


def context_start(length: int, window: int, keep: int | None) -> int:
    """First token that the draw after ``length`` tokens sees."""
    if keep is None:
        return max(0, length - (window - 1))
    stride = window + 1 - keep
    return -(-max(0, length - window) // stride) * stride


def positions_read(length: int, window: int, keep: int | None) -> int:
    """Forward positions that sampling costs up to a length, the first token given."""
    read, start = 0, -1
    for place in range(1, length):
        begin = context_start(place, window, keep)
        read += place - begin if begin != start else 1
        start = begin
    return read
