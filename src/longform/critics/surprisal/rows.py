"""A condition of an item as token ids, with the region of every token.

Three conventions for the ends of a text:

- ``legacy_none``: nothing is added; the first token has no prediction, counts as 0 bits and stays in its region's mean
  (beyer2021's setting: lm-zoo's transformers image of March 2021).
- ``bos``: a begin token is put in front and counted nowhere, so the first token is predicted too.
- ``bos_eos_2021``: begin and end token; the begin counts 0 bits in the first region, the end in the last (lm-zoo from
  August 2021 on, commit 923f21e).

The mark ``[SEP]`` in a text is a change of speaker: ``eos`` reads each utterance by itself and puts the end token
between (DialoGPT's convention), ``strip`` takes the marks out (for models of plain text), ``literal`` leaves them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedTokenizerBase

from longform.critics.surprisal.alignment import RegionText, joined, token_regions
from longform.documents import BadInput

ENDS = ("legacy_none", "bos", "bos_eos_2021")
SEPARATORS = ("eos", "strip", "literal")
MARK = re.compile(r"\s*\[SEP\]\s*")
UNCOUNTED = -1


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
                raise BadInput(f"encoder: {name} is {value!r}, allowed are {list(allowed)}; mend the row")
        if not self.tokenizer.is_fast:
            raise BadInput(f"{type(self.tokenizer).__name__} gives no character offsets; save it with a tokenizer.json")
        if self.ends != "legacy_none":
            self._first()
        if self.ends == "bos_eos_2021":
            self._last()

    def rows(self, conditions: Sequence[Sequence[str]]) -> list[TokenRow]:
        """Token rows of many conditions, each a list of region texts; all texts are tokenised in one call."""
        sources = [joined([self._clean(text) for text in contents]) for contents in conditions]
        cuts = [self._utterances(source.text) for source in sources]
        texts = [source.text[start:end] for source, spans in zip(sources, cuts, strict=True) for start, end in spans]
        encoded = iter(self._encode(texts))
        return [
            self._row(source, spans, [next(encoded) for _ in spans])
            for source, spans in zip(sources, cuts, strict=True)
        ]

    def _clean(self, text: str) -> str:
        return MARK.sub(" ", text) if self.separator == "strip" else text

    def _utterances(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of each utterance: the whole text, where marks are not read as speakers."""
        if self.separator != "eos":
            return [(0, len(text))]
        marks = list(MARK.finditer(text))
        return list(zip([0, *(m.end() for m in marks)], [*(m.start() for m in marks), len(text)], strict=True))

    def _encode(self, texts: list[str]) -> list[tuple[list[int], list[int]]]:
        """Token ids and the character at which each token starts, per text."""
        if not texts:
            return []
        found = self.tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [
            (ids, [start for start, _ in offsets])
            for ids, offsets in zip(found["input_ids"], found["offset_mapping"], strict=True)
        ]

    def _row(
        self, source: RegionText, spans: list[tuple[int, int]], encoded: list[tuple[list[int], list[int]]]
    ) -> TokenRow:
        ids: list[int] = []
        starts: list[int] = []
        for place, ((start, _), (tokens, offsets)) in enumerate(zip(spans, encoded, strict=True)):
            if place:
                ids.append(self._last())
                starts.append(source.text.rindex("[SEP]", 0, start))
            ids += tokens
            starts += [start + offset for offset in offsets]
        regions = token_regions(source, starts)
        return TokenRow(*self._with_ends(ids, regions, source))

    def _with_ends(self, ids: list[int], regions: np.ndarray, source: RegionText) -> tuple[tuple[int, ...], np.ndarray]:
        if self.ends == "legacy_none":
            return tuple(ids), regions
        if self.ends == "bos":
            return (self._first(), *ids), np.concatenate([[UNCOUNTED], regions]).astype(np.int32)
        edges = [0], [len(source.ends) - 1]
        return (self._first(), *ids, self._last()), np.concatenate([edges[0], regions, edges[1]]).astype(np.int32)

    def _first(self) -> int:
        token = self.tokenizer.bos_token_id
        return self._last() if token is None else token

    def _last(self) -> int:
        token = self.tokenizer.eos_token_id
        if token is None:
            raise BadInput(
                f"{self.tokenizer.name_or_path or 'the tokenizer'} has no begin or end token, which ends {self.ends!r} and "
                f"separator {self.separator!r} may need; set one, or choose ends 'legacy_none' and separator 'strip'"
            )
        return token
