r"""Surprisal of every token of every condition of every item, in bits, with the region of each token.

$s(t_i) = -\log_2 p(t_i | t_0 \ldots t_{i-1})$ (beyer2021, equation 1). What is kept is the token's bits and its region; sums and means of a
region are taken afterwards, without the model. A region owns its content and the blank before it, a token goes to where its first letter is.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerBase

from longform.datasets.test_suites.items import Suite, suite_head, suites_from_documents
from longform.documents import Document, Predictions, ragged
from longform.errors import BadInput
from longform.language_models.log_probs import LogProbReader, open_reader
from longform.language_models.tokenizers import start_ids
from longform.language_models.trial import open_language_model

ENDS = ("legacy_none", "bos", "bos_eos_2021")
SEPARATORS = ("eos", "strip", "literal")
MARK = re.compile(r"\s*\[SEP\]\s*")
UNCOUNTED = -1


def joined(contents: Sequence[str]) -> tuple[str, list[int]]:
    """Region contents joined as SyntaxGym joins them: empty ones are skipped, one blank between the others.

    Beside the text the ends of the regions: region k is ``text[ends[k - 1] : ends[k]]``, possibly empty.
    """
    text, ends = "", []
    for content in contents:
        bare = " ".join(content.split())
        text += f" {bare}" if text and bare else bare
        ends.append(len(text))
    return text, ends


def token_regions(text: str, ends: Sequence[int], starts: Sequence[int]) -> np.ndarray:
    """Region index of each token, int32 of shape (tokens,), from the tokens' start offsets in the text."""
    size = len(text)
    blank = np.array([character.isspace() for character in text] + [True])
    visible = np.minimum.accumulate(np.where(blank, size, np.arange(size + 1))[::-1])[::-1]
    places = np.minimum(visible, max(size - 1, 0))[
        np.minimum(np.asarray(starts, dtype=np.int64), size)
    ]
    return np.searchsorted(np.asarray(ends), places, side="right").astype(np.int32)


@dataclass(frozen=True)
class Encoder:
    """A tokenizer with the conventions under which texts are read.

    Attributes:
        ends: ``legacy_none`` adds nothing, and the first token counts 0 bits (beyer2021's setting: lm-zoo of March 2021);
            ``bos`` puts what every reader puts before a text (``start_ids``: the begin token, else the end token) in front,
            uncounted, and where the tokenizer has neither the first token is context only; ``bos_eos_2021`` counts the
            begin token 0 bits in the first region and the end token in the last (lm-zoo from August 2021 on, commit 923f21e).
        separator: of a change of speaker, ``[SEP]``: ``eos`` reads each utterance by itself with the end token between
            (DialoGPT), ``strip`` takes the marks out, ``literal`` leaves them.
    """

    tokenizer: PreTrainedTokenizerBase
    ends: str = "bos"
    separator: str = "eos"

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("ends", self.ends, ENDS),
            ("separator", self.separator, SEPARATORS),
        ):
            if value not in allowed:
                raise BadInput(
                    f"encoder: {name} is {value!r}, allowed are {list(allowed)}; fix the entry"
                )
        if not self.tokenizer.is_fast:
            raise BadInput(
                f"{type(self.tokenizer).__name__} gives no character offsets; save it with a tokenizer.json"
            )
        if self.ends == "bos_eos_2021":
            self._end()

    def rows(self, conditions: Sequence[Sequence[str]]) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """Token ids of many conditions, each a list of region texts, and the region of each token (``UNCOUNTED``: a begin token).

        All texts are tokenised in one call.
        """
        sources, spans = (
            [],
            [],
        )  # of a condition: text and ends of regions, and (start, end) of each utterance
        for contents in conditions:
            text, ends = joined(
                [MARK.sub(" ", t) if self.separator == "strip" else t for t in contents]
            )
            marks = list(MARK.finditer(text)) if self.separator == "eos" else []
            sources.append((text, ends))
            cuts = [0, *(place for mark in marks for place in mark.span()), len(text)]
            spans.append(list(zip(cuts[::2], cuts[1::2], strict=True)))
        texts = [
            text[start:end]
            for (text, _), own in zip(sources, spans, strict=True)
            for start, end in own
        ]
        if not texts:
            return []
        encoded = self.tokenizer(
            texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        pairs = zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        rows = []
        for (text, ends), own in zip(sources, spans, strict=True):
            ids: list[int] = []
            starts: list[int] = []
            for place, ((start, _), (tokens, offsets)) in enumerate(
                zip(own, islice(pairs, len(own)), strict=True)
            ):
                if place:
                    ids.append(self._end())
                    starts.append(text.rindex("[SEP]", 0, start))
                ids += tokens
                starts += [start + offset for offset, _ in offsets]
            regions = token_regions(text, ends, starts).tolist()
            if self.ends == "bos":
                begin = start_ids(self.tokenizer)
                ids = [*begin, *ids]
                regions = [UNCOUNTED, *(regions if begin else regions[1:])]
            elif self.ends == "bos_eos_2021":
                ids = [*start_ids(self.tokenizer), *ids, self._end()]
                regions = [0, *regions, len(ends) - 1]
            rows.append((tuple(ids), np.array(regions[: len(ids)], dtype=np.int32)))
        return rows

    def _end(self) -> int:
        if self.tokenizer.eos_token_id is not None:
            return int(self.tokenizer.eos_token_id)
        raise BadInput(
            f"{self.tokenizer.name_or_path or 'the tokenizer'} has no end token, which ends {self.ends!r} and separator "
            f"{self.separator!r} need; set its eos_token, or choose ends 'bos' and separator 'strip'"
        )


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
) -> Predictions:
    """Token surprisals of a corpus of suites; see :func:`suite_predictions` for the arrays and :class:`Encoder` for conventions.

    ``budget``, padded tokens of a batch, and ``share``, common prefixes read once, change no result beyond rounding.
    """
    tokenizer, network = open_language_model(reader)
    encoder = Encoder(tokenizer, ends, separator)
    reader_of_rows = open_reader(network, budget, share, f"infer {name}")
    return suite_predictions(suites_from_documents(documents, truth), encoder, reader_of_rows)


def condition_bits(
    suites: Sequence[Suite], encoder: Encoder, reader: LogProbReader
) -> list[list[np.ndarray]]:
    """Bits of the counted tokens of every condition of every item of every suite, in that order, region by region.

    Raises BadInput: an item without tokens or longer than the model's window, by name.
    """
    places = [
        (s, item, condition) for s in suites for item in s.items for condition in item.conditions
    ]
    rows = encoder.rows(
        [[region.content for region in condition.regions] for _, _, condition in places]
    )
    names = [
        f"suite {s.name}, item {item.number}, condition {condition.name}"
        for s, item, condition in places
    ]
    ids = [own for own, _ in rows]
    reader.check(ids, names)
    found = []
    for (_, regions), log_probs, (_, _, condition) in zip(
        rows, reader.read(ids), places, strict=True
    ):
        bits = np.concatenate(
            [[0.0], -log_probs.astype(np.float64) / math.log(2)]
        )  # nothing precedes the first
        found.append([bits[regions == index] for index in range(len(condition.regions))])
    return found


def suite_predictions(
    suites: Sequence[Suite], encoder: Encoder, reader: LogProbReader
) -> Predictions:
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
        read_item = [
            (c, pair)
            for c in item.conditions
            for pair in zip(c.regions, next(read_conditions), strict=True)
        ]
        regions.append(
            [(names.index(c.name), region.number, bits) for c, (region, bits) in read_item]
        )
    arrays = {
        "suite": np.array(
            [index for index, s in enumerate(suites) for _ in s.items], dtype=np.int64
        ),
        "suite_names": np.array([s.name for s in suites], dtype=np.str_),
        "suite_head_names": np.array(
            [json.dumps(suite_head(s), sort_keys=True) for s in suites], dtype=np.str_
        ),
        "condition_names": np.array(names, dtype=np.str_),
        **ragged("region_condition", [[name for name, _, _ in row] for row in regions], np.int64),
        **ragged("region_number", [[number for _, number, _ in row] for row in regions], np.int64),
        **ragged("region_tokens", [[len(bits) for _, _, bits in row] for row in regions], np.int64),
        **ragged(
            "token_bits",
            [np.concatenate([bits for _, _, bits in row]) for row in regions],
            np.float32,
        ),
    }
    ids = tuple(f"{s.name}/{item.number}" for s, item in items)
    return Predictions(ids, ("test",) * len(ids), arrays)
