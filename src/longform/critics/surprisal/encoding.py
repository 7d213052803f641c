"""A condition of an item as token ids, with the region of every token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedTokenizerBase

from longform.core.documents import BadInput

ENDS = ("legacy_none", "bos", "bos_eos_2021")
SEPARATORS = ("eos", "strip", "literal")
MARK = re.compile(r"\s*\[SEP\]\s*")
UNCOUNTED = -1


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
    """Region contents joined as SyntaxGym joins them: empty ones are skipped, one blank between the others."""
    text, ends = "", []
    for content in contents:
        bare = " ".join(content.split())
        text += f" {bare}" if text and bare else bare
        ends.append(len(text))
    return RegionText(text, tuple(ends))


def token_regions(source: RegionText, starts: Sequence[int]) -> np.ndarray:
    """Region index of each token, int32 of shape (tokens,), from the tokens' start offsets in ``source.text``."""
    size = len(source.text)
    blank = np.array([character.isspace() for character in source.text] + [True])
    visible = np.minimum.accumulate(np.where(blank, size, np.arange(size + 1))[::-1])[::-1]
    places = np.minimum(visible, max(size - 1, 0))[np.minimum(np.asarray(starts, dtype=np.int64), size)]
    return np.searchsorted(np.asarray(source.ends), places, side="right").astype(np.int32)


@dataclass(frozen=True)
class TokenRow:
    """Token ids of one text and, for each, the index of its region (``UNCOUNTED`` for a begin token)."""

    ids: tuple[int, ...]
    regions: np.ndarray


@dataclass(frozen=True)
class Encoder:
    """A tokenizer with the conventions under which texts are read.

    Attributes:
        ends: one of ``ENDS``.
        separator: one of ``SEPARATORS``.
    """

    tokenizer: PreTrainedTokenizerBase
    ends: str = "bos"
    separator: str = "eos"

    def __post_init__(self) -> None:
        for name, value, allowed in (("ends", self.ends, ENDS), ("separator", self.separator, SEPARATORS)):
            if value not in allowed:
                raise BadInput(f"encoder: {name} is {value!r}, allowed are {list(allowed)}; fix the entry")
        if not self.tokenizer.is_fast:
            raise BadInput(f"{type(self.tokenizer).__name__} gives no character offsets; save it with a tokenizer.json")
        if self.ends != "legacy_none":
            self._control("bos_token_id", "eos_token_id")
        if self.ends == "bos_eos_2021":
            self._control("eos_token_id")

    def rows(self, conditions: Sequence[Sequence[str]]) -> list[TokenRow]:
        """Token rows of many conditions, each a list of region texts; all texts are tokenised in one call."""
        sources = [joined([self._clean(text) for text in contents]) for contents in conditions]
        cuts = [self._utterances(source.text) for source in sources]
        texts = [source.text[start:end] for source, spans in zip(sources, cuts, strict=True) for start, end in spans]
        if not texts:
            return []
        encoded = self.tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        pairs = zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        return [
            self._row(source, spans, [next(pairs) for _ in spans]) for source, spans in zip(sources, cuts, strict=True)
        ]

    def _clean(self, text: str) -> str:
        return MARK.sub(" ", text) if self.separator == "strip" else text

    def _utterances(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of each utterance: the whole text, where marks are not read as speakers."""
        marks = list(MARK.finditer(text)) if self.separator == "eos" else []
        return list(zip([0, *(m.end() for m in marks)], [*(m.start() for m in marks), len(text)], strict=True))

    def _row(
        self, source: RegionText, spans: list[tuple[int, int]], encoded: list[tuple[list[int], list[tuple[int, int]]]]
    ) -> TokenRow:
        ids: list[int] = []
        starts: list[int] = []
        for place, ((start, _), (tokens, offsets)) in enumerate(zip(spans, encoded, strict=True)):
            if place:
                ids.append(self._control("eos_token_id"))
                starts.append(source.text.rindex("[SEP]", 0, start))
            ids += tokens
            starts += [start + offset for offset, _ in offsets]
        regions = token_regions(source, starts).tolist()
        if self.ends == "bos":
            ids, regions = [self._control("bos_token_id", "eos_token_id"), *ids], [UNCOUNTED, *regions]
        elif self.ends == "bos_eos_2021":
            ids = [self._control("bos_token_id", "eos_token_id"), *ids, self._control("eos_token_id")]
            regions = [0, *regions, len(source.ends) - 1]
        return TokenRow(tuple(ids), np.array(regions, dtype=np.int32))

    def _control(self, *names: str) -> int:
        """The first control token of those named that the tokenizer has."""
        for name in names:
            if (token := getattr(self.tokenizer, name)) is not None:
                return token
        raise BadInput(
            f"{self.tokenizer.name_or_path or 'the tokenizer'} has no begin or end token, which ends {self.ends!r} and "
            f"separator {self.separator!r} may need; set one, or choose ends 'legacy_none' and separator 'strip'"
        )
