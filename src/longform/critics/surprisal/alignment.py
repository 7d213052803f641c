"""Which region each token belongs to, from character offsets.

The regions of a condition partition its text: a region owns its content and the blank before it. A token belongs to
the region of the first non-blank character at or after the token's start; so a token that is only blanks goes with
the region that follows, and a token that straddles a cut goes with its first character.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RegionText:
    """A text and where its regions end; region k is ``text[ends[k - 1] : ends[k]]``, possibly empty.

    Attributes:
        ends: non-decreasing, the last one is ``len(text)``.
    """

    text: str
    ends: tuple[int, ...]

    def regions(self) -> list[str]:
        """The pieces, blanks included; joined they are the text."""
        return [self.text[start:end] for start, end in zip((0, *self.ends), self.ends, strict=False)]


def joined(contents: Sequence[str]) -> RegionText:
    """Region contents joined as SyntaxGym joins them: empty ones are skipped, one blank between the others.

    Blanks inside a region are made single first: seven of SyntaxGym's own suites have stray ones, and its later
    versions refuse them.
    """
    text, ends = "", []
    for content in contents:
        bare = " ".join(content.split())
        text += f" {bare}" if text and bare else bare
        ends.append(len(text))
    return RegionText(text, tuple(ends))


def token_regions(source: RegionText, starts: Sequence[int]) -> np.ndarray:
    """Region index of each token, int32 of shape (tokens,), from the tokens' start offsets in ``source.text``.

    A token after the last non-blank character goes to the last region that is not empty.
    """
    anchors = _first_visible(source.text)
    places = anchors[np.minimum(np.asarray(starts, dtype=np.int64), len(source.text))]
    return np.searchsorted(np.asarray(source.ends), places, side="right").astype(np.int32)


def _first_visible(text: str) -> np.ndarray:
    """For each position (and the end) the first non-blank character at or after it, else the last character."""
    blank = np.array([character.isspace() for character in text] + [True])
    places = np.where(blank, len(text), np.arange(len(text) + 1))
    nearest = np.minimum.accumulate(places[::-1])[::-1]
    return np.minimum(nearest, max(len(text) - 1, 0))
