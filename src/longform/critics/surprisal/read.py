r"""Surprisal of every token of every condition of every item, in bits, with the region of each token.

$s(t_i) = -\log_2 p(t_i | t_0 \ldots t_{i-1})$ (beyer2021, equation 1). What is kept is the token's bits and its region; sums and means of a
region are taken afterwards, without the model. A region owns its content and the blank before it, a token goes to where its first letter is.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase

from longform.core.documents import BadInput, Document, Readout, ragged
from longform.datasets.test_suites.items import Suite, suite_head, suites_from_documents
from longform.language_models.checkpoints import load_reader, load_tokenizer
from longform.language_models.log_probs import LogProbReader, open_reader

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
        ends: ``legacy_none`` adds nothing, and the first token counts 0 bits (beyer2021's setting: lm-zoo of March 2021);
            ``bos`` puts an uncounted begin token in front; ``bos_eos_2021`` counts the begin token 0 bits in the first
            region and the end token in the last (lm-zoo from August 2021 on, commit 923f21e).
        separator: of a change of speaker, ``[SEP]``: ``eos`` reads each utterance by itself with the end token between
            (DialoGPT), ``strip`` takes the marks out, ``literal`` leaves them.
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
        for name in names:
            if (token := getattr(self.tokenizer, name)) is not None:
                return token
        raise BadInput(
            f"{self.tokenizer.name_or_path or 'the tokenizer'} has no begin or end token, which ends {self.ends!r} and "
            f"separator {self.separator!r} may need; set one, or choose ends 'legacy_none' and separator 'strip'"
        )


@dataclass(frozen=True)
class ConditionBits:
    """One condition of an item as a model read it: bits and region index of each counted token, and the regions' numbers."""

    bits: np.ndarray
    regions: np.ndarray
    numbers: tuple[int, ...]

    def by_region(self) -> list[np.ndarray]:
        """Bits of the tokens of each region; a region without tokens is empty."""
        return [self.bits[self.regions == index] for index in range(len(self.numbers))]


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    name: str,
    ends: str = "bos",
    separator: str = "eos",
    budget: int = 1024,
    share: bool = True,
) -> Readout:
    """Token surprisals of a corpus of suites; see :func:`suite_readout` for the arrays.

    Args:
        ends, separator: conventions of :class:`Encoder`.
        budget: padded tokens of a batch; changes no result beyond rounding.
        share: read common prefixes once; changes no result beyond rounding.
    """
    encoder = Encoder(load_tokenizer(reader), ends, separator)
    network = load_reader(reader, AutoModelForCausalLM)
    return suite_readout(
        suites_from_documents(documents, truth), encoder, open_reader(network, budget, share, f"infer {name}")
    )


def condition_bits(suites: Sequence[Suite], encoder: Encoder, reader: LogProbReader) -> list[ConditionBits]:
    """Every condition of every item of every suite, in that order.

    Raises BadInput: an item without tokens or longer than the model's window, by name.
    """
    places = [(s, item, condition) for s in suites for item in s.items for condition in item.conditions]
    rows = encoder.rows([[region.content for region in condition.regions] for _, _, condition in places])
    names = [f"suite {s.name}, item {item.number}, condition {condition.name}" for s, item, condition in places]
    reader.check([row.ids for row in rows], names)
    bits = []
    for row, log_probs, (_, _, condition) in zip(rows, reader.read([row.ids for row in rows]), places, strict=True):
        every = np.concatenate([[0.0], -log_probs.astype(np.float64) / math.log(2)])  # nothing precedes the first
        counted = row.regions >= 0
        numbers = tuple(region.number for region in condition.regions)
        bits.append(ConditionBits(every[counted], row.regions[counted], numbers))
    return bits


def suite_readout(suites: Sequence[Suite], encoder: Encoder, reader: LogProbReader) -> Readout:
    """One unit per item, id ``suite/item``.

    Arrays:
        suite: int64 per unit, an index into ``suite_names`` and ``suite_head_names`` (the suites' JSON without items).
        region_condition, region_number, region_tokens: ragged over the regions of all conditions of the item;
            the condition is an index into ``condition_names``.
        token_bits: float32, ragged over tokens, region after region.
    """
    read_conditions = iter(condition_bits(suites, encoder, reader))
    names = sorted({condition.name for s in suites for condition in s.items[0].conditions})
    items = [(s, item) for s in suites for item in s.items]
    regions = []  # of each item: (condition, number, bits)
    for _, item in items:
        read_item = [(names.index(c.name), next(read_conditions)) for c in item.conditions]
        regions.append([(name, *pair) for name, c in read_item for pair in zip(c.numbers, c.by_region(), strict=True)])
    arrays = {
        "suite": np.array([index for index, s in enumerate(suites) for _ in s.items], dtype=np.int64),
        "suite_names": np.array([s.name for s in suites], dtype=np.str_),
        "suite_head_names": np.array([json.dumps(suite_head(s), sort_keys=True) for s in suites], dtype=np.str_),
        "condition_names": np.array(names, dtype=np.str_),
        **ragged("region_condition", [[name for name, _, _ in row] for row in regions], np.int64),
        **ragged("region_number", [[number for _, number, _ in row] for row in regions], np.int64),
        **ragged("region_tokens", [[len(bits) for _, _, bits in row] for row in regions], np.int64),
        **ragged("token_bits", [np.concatenate([bits for _, _, bits in row]) for row in regions], np.float32),
    }
    ids = tuple(f"{s.name}/{item.number}" for s, item in items)
    return Readout(ids, ("test",) * len(ids), arrays)
