r"""Surprisal of every token of every condition of every item, in bits, with its region.

$s(t_i) = -\log_2 p(t_i | t_0 \ldots t_{i-1})$ (beyer2021, equation 1). What is stored is the
token's bits and its region; sums and means of a region are taken afterwards, without the model. A
region owns its content and the blank before it; a token belongs to the region of its first letter.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from transformers import PreTrainedTokenizerBase

from longform.datasets.test_suites.items import (
    Condition,
    Suite,
    SuiteItem,
    suite_head,
    suites_from_documents,
)
from longform.documents import Document, Predictions, ragged
from longform.errors import ConfigError
from longform.language_models.log_probs import LogProbReader, open_reader
from longform.language_models.tokenizers import start_ids
from longform.language_models.trial import open_language_model

ENDS = ("legacy_none", "bos", "bos_eos_2021")
SEPARATORS = ("eos", "strip", "literal")
MARK = re.compile(r"\s*\[SEP\]\s*")
UNCOUNTED = -1  # region of a begin token


def joined(contents: Sequence[str]) -> tuple[str, list[int]]:
    """Join region contents as SyntaxGym does: with one blank between them, empty ones skipped.

    Returns:
        The text, and the ends of the regions: region k is ``text[ends[k - 1] : ends[k]]``, possibly
        empty.
    """
    text = ""
    ends = []
    for content in contents:
        bare = " ".join(content.split())
        if text and bare:
            text += " "
        text += bare
        ends.append(len(text))
    return text, ends


def token_regions(text: str, ends: Sequence[int], starts: Sequence[int]) -> np.ndarray:
    """The index of each token's region: that of the first visible character from its start on.

    A blank before a word belongs to the word's region, and blanks at the end of the text to that of
    its last character.

    Args:
        text: the regions joined; not empty.
        ends: where each region ends in the text, exclusive.
        starts: where each token starts in the text.

    Returns:
        int32 (tokens,).
    """
    size = len(text)
    # 1. For each position, the next one with a visible character; ``size`` where there is none.
    #    The end of the text is a position too: an end token starts there.
    is_blank = np.array([character.isspace() for character in text] + [True])
    visible = np.where(is_blank, size, np.arange(size + 1))
    next_visible = np.minimum.accumulate(visible[::-1])[::-1]
    # 2. The first visible character of each token; after the last one it is the text's end.
    last = max(size - 1, 0)
    token_starts = np.minimum(np.asarray(starts, dtype=np.int64), size)
    first_letters = np.minimum(next_visible, last)[token_starts]
    return np.searchsorted(np.asarray(ends), first_letters, side="right").astype(np.int32)


class Source(NamedTuple):
    """One condition's text.

    Attributes:
        text: its regions joined.
        ends: where each region ends in the text.
        utterances: start and end of each piece that is tokenised by itself.
    """

    text: str
    ends: list[int]
    utterances: list[tuple[int, int]]


Row = tuple[tuple[int, ...], np.ndarray]  # token ids, and the region of each


@dataclass(frozen=True)
class Encoder:
    """A tokenizer with the conventions under which texts are read.

    Attributes:
        tokenizer: one that tells the offsets of its tokens.
        ends: ``legacy_none`` adds nothing, and the first token counts 0 bits (beyer2021's setting:
            lm-zoo of March 2021); ``bos`` puts what every reader puts before a text (``start_ids``:
            the begin token, else the end token) in front, uncounted, and where the tokenizer has
            neither the first token is context only; ``bos_eos_2021`` counts the begin token 0 bits
            in the first region and the end token in the last (lm-zoo from August 2021 on, commit
            923f21e).
        separator: of a change of speaker, ``[SEP]``: ``eos`` reads each utterance by itself with
            the end token between (DialoGPT), ``strip`` takes the marks out, ``literal`` leaves
            them.
    """

    tokenizer: PreTrainedTokenizerBase
    ends: str = "bos"
    separator: str = "eos"

    def __post_init__(self) -> None:
        choices = (("ends", self.ends, ENDS), ("separator", self.separator, SEPARATORS))
        for name, value, allowed in choices:
            if value not in allowed:
                raise ConfigError(
                    f"encoder: {name} is {value!r}, allowed are {list(allowed)}; fix the entry"
                )
        if not self.tokenizer.is_fast:
            raise ConfigError(
                f"{type(self.tokenizer).__name__} gives no character offsets; "
                "save it with a tokenizer.json"
            )
        if self.ends == "bos_eos_2021":
            self._end()

    def rows(self, conditions: Sequence[Sequence[str]]) -> list[Row]:
        """Token ids of many conditions, and the region of each token.

        All texts are tokenised in one call.

        Args:
            conditions: region texts of each.

        Returns:
            A row a condition; the region of a begin token is ``UNCOUNTED``.
        """
        # 1. The utterances of all conditions.
        sources = list(map(self._source, conditions))
        texts = []
        for source in sources:
            for start, end in source.utterances:
                texts.append(source.text[start:end])
        if not texts:
            return []
        # 2. Their tokens.
        encoded = self.tokenizer(
            texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        tokens = zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        # 3. Back to conditions: each row takes the tokens of its own utterances, which come next.
        return [self._row(source, tokens) for source in sources]

    def _source(self, contents: Sequence[str]) -> Source:
        """A condition's regions as one text, cut into utterances where the separator is ``eos``."""
        if self.separator == "strip":
            contents = list(map(partial(MARK.sub, " "), contents))
        text, ends = joined(contents)
        utterances = []
        start = 0
        if self.separator == "eos":
            for mark in MARK.finditer(text):
                utterances.append((start, mark.start()))
                start = mark.end()
        utterances.append((start, len(text)))
        return Source(text, ends, utterances)

    def _row(
        self, source: Source, tokens: Iterator[tuple[list[int], list[tuple[int, int]]]]
    ) -> Row:
        """One condition's row.

        Args:
            source: its text.
            tokens: ids and offsets of each utterance; those of this condition come next.
        """
        # 1. Utterances one after another, an end token between, which stands at the mark.
        ids: list[int] = []
        starts: list[int] = []
        for number, (start, _) in enumerate(source.utterances):
            utterance_ids, offsets = next(tokens)
            if number:
                ids.append(self._end())
                starts.append(source.text.rindex("[SEP]", 0, start))
            ids += utterance_ids
            for offset, _ in offsets:
                starts.append(start + offset)
        regions = token_regions(source.text, source.ends, starts).tolist()
        # 2. What stands before and behind a text.
        if self.ends == "bos":
            begin = start_ids(self.tokenizer)
            ids = [*begin, *ids]
            regions = [UNCOUNTED, *(regions if begin else regions[1:])]
        elif self.ends == "bos_eos_2021":
            ids = [*start_ids(self.tokenizer), *ids, self._end()]
            regions = [0, *regions, len(source.ends) - 1]
        return tuple(ids), np.array(regions[: len(ids)], dtype=np.int32)

    def _end(self) -> int:
        """The end token. Raises ConfigError: the tokenizer has none."""
        if self.tokenizer.eos_token_id is not None:
            return int(self.tokenizer.eos_token_id)
        raise ConfigError(
            f"{self.tokenizer.name_or_path or 'the tokenizer'} has no end token, which ends "
            f"{self.ends!r} and separator {self.separator!r} need; set its eos_token, or choose "
            "ends 'bos' and separator 'strip'"
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
    """Token surprisals of a corpus of suites.

    Args:
        documents, truth: of the corpus.
        reader: folder of a causal language model.
        name: of the stage, for messages.
        ends, separator: conventions, see :class:`Encoder`.
        budget: padded tokens of a batch; changes no result beyond rounding.
        share: whether common prefixes are read once; changes no result beyond rounding.

    Returns:
        The arrays of :func:`suite_predictions`.
    """
    tokenizer, network = open_language_model(reader)
    encoder = Encoder(tokenizer, ends, separator)
    log_prob_reader = open_reader(network, budget, share=share, label=f"infer {name}")
    return suite_predictions(suites_from_documents(documents, truth), encoder, log_prob_reader)


Version = tuple[Suite, SuiteItem, Condition]


def conditions_of(suites: Sequence[Suite]) -> Iterator[Version]:
    """Every condition of every item of every suite, in that order, with its item and suite."""
    for suite in suites:
        for item in suite.items:
            for condition in item.conditions:
                yield suite, item, condition


def condition_bits(
    suites: Sequence[Suite], encoder: Encoder, reader: LogProbReader
) -> list[list[np.ndarray]]:
    """Surprisal, in bits, of every condition of every item of every suite, in that order.

    Returns:
        For each condition an array (tokens,) a region; begin tokens, which are ``UNCOUNTED``, are
        in none.

    Raises BadInput: an item without tokens or longer than the model's window, by name.
    """
    # 1. Token ids, and a name for each row.
    contents, names = [], []
    for suite, item, condition in conditions_of(suites):
        contents.append([region.content for region in condition.regions])
        names.append(f"suite {suite.name}, item {item.number}, condition {condition.name}")
    rows = encoder.rows(contents)
    ids, regions_of = zip(*rows, strict=True) if rows else ((), ())
    reader.check(ids, names)
    # 2. Bits by region; nothing precedes the first token, which counts 0.
    bits_of_conditions = []
    for region_of_token, log_probs, texts in zip(
        regions_of, reader.read(ids), contents, strict=True
    ):
        bits = np.concatenate([[0.0], -log_probs.astype(np.float64) / math.log(2)])
        bits_by_region = []
        for region in range(len(texts)):
            bits_by_region.append(bits[region_of_token == region])
        bits_of_conditions.append(bits_by_region)
    return bits_of_conditions


def suite_predictions(
    suites: Sequence[Suite], encoder: Encoder, reader: LogProbReader
) -> Predictions:
    """Predictions with one unit per item, id ``suite/item``.

    Args:
        suites: whose items are read.
        encoder: of texts into tokens.
        reader: of tokens into log-probabilities.

    Returns:
        suite: int64 (items,), an index into ``suite_names`` and ``suite_head_names`` (the suites'
            JSON without items).
        region_condition, region_number, region_tokens: int64, ragged over the regions of all
            conditions of the item; the condition is an index into ``condition_names``.
        token_bits: float32, ragged over tokens, region after region.
    """
    # 1. The suites, and the conditions that any of them has.
    names: set[str] = set()
    suite_names, heads = [], []
    for suite in suites:
        suite_names.append(suite.name)
        heads.append(json.dumps(suite_head(suite), sort_keys=True))
        names.update(condition.name for condition in suite.items[0].conditions)
    condition_names = sorted(names)
    # 2. One row an item, its regions one after another.
    unit_ids = []
    suite_of_item = []
    conditions, numbers, tokens, token_bits = [], [], [], []
    bits_by_region = iter(condition_bits(suites, encoder, reader))
    for index, suite in enumerate(suites):
        for item in suite.items:
            unit_ids.append(f"{suite.name}/{item.number}")
            suite_of_item.append(index)
            item_conditions, item_numbers, item_bits = [], [], []
            for condition in item.conditions:
                item_bits += next(bits_by_region)
                for region in condition.regions:
                    item_conditions.append(condition_names.index(condition.name))
                    item_numbers.append(region.number)
            conditions.append(item_conditions)
            numbers.append(item_numbers)
            tokens.append(list(map(len, item_bits)))
            token_bits.append(np.concatenate(item_bits))
    # 3. Flat arrays, with the length of each row beside those that are ragged.
    arrays = {
        "suite": np.array(suite_of_item, dtype=np.int64),
        "suite_names": np.array(suite_names, dtype=np.str_),
        "suite_head_names": np.array(heads, dtype=np.str_),
        "condition_names": np.array(condition_names, dtype=np.str_),
        **ragged("region_condition", conditions, np.int64),
        **ragged("region_number", numbers, np.int64),
        **ragged("region_tokens", tokens, np.int64),
        **ragged("token_bits", token_bits, np.float32),
    }
    return Predictions(tuple(unit_ids), ("test",) * len(unit_ids), arrays)
