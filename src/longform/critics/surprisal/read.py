"""Surprisal of every token of every condition of every item, in bits, with the region of each token."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from longform.core.documents import BadInput, Document, Readout
from longform.critics.surprisal.encoding import Encoder
from longform.datasets.test_suites.items import Suite, suite_head, suites_from_documents
from longform.datasets.test_suites.prediction_formulas import (
    COMPARISON,
    METRICS,
    Binary,
    Formula,
    RegionValue,
    evaluate,
)
from longform.language_models.checkpoints import chosen_device, load_reader, load_tokenizer
from longform.language_models.log_probs import LogProbReader, open_reader

FIRST = 16  # closest items of a metric that are always read again: what the error is first measured on
SAFETY = 2.0  # how far beyond the largest change seen a decision must be to stand


@dataclass(frozen=True)
class ConditionBits:
    """One condition of an item as a model read it: bits and region index of each counted token, and the regions' numbers."""

    bits: np.ndarray
    regions: np.ndarray
    numbers: tuple[int, ...]

    def by_region(self) -> list[np.ndarray]:
        """Bits of the tokens of each region; a region without tokens is empty."""
        return [self.bits[self.regions == index] for index in range(len(self.numbers))]

    def of(self, number: int | None) -> np.ndarray:
        """Bits of the region of that number; of all regions for None."""
        return self.bits if number is None else self.bits[self.regions == self.numbers.index(number)]


@dataclass(frozen=True)
class Judged:
    """One item: its suite's metric and predictions, and the place of each of its conditions among all that were read."""

    metric: str
    formulas: tuple[Formula, ...]
    places: Mapping[str, int]

    def differences(self, read: Mapping[int, ConditionBits] | Sequence[ConditionBits]) -> np.ndarray:
        """Left minus right of every comparison; NaN where a region has no tokens, which no reading changes."""

        def value(named: RegionValue) -> float:
            bits = read[self.places[named.condition]].of(named.region)
            return METRICS[self.metric](bits) if len(bits) or self.metric == "sum" else float("nan")

        sides = [pair for formula in self.formulas for pair in _comparisons(formula)]
        return np.array([evaluate(left, value) - evaluate(right, value) for left, right in sides])


def _comparisons(formula: Formula) -> Iterator[tuple[Formula, Formula]]:
    if isinstance(formula, Binary):
        if formula.symbol in COMPARISON:
            yield formula.left, formula.right
        else:
            yield from _comparisons(formula.left)
            yield from _comparisons(formula.right)


def confirmed(
    items: Sequence[Judged], coarse: Sequence[ConditionBits], reread: Callable[[list[int]], list[ConditionBits]]
) -> tuple[list[ConditionBits], int]:
    """The coarse reading with every close item in its place as the fine one reads it, and how many items those were.

    Args:
        reread: reads the conditions at the given places finely, in that order.
    """
    settled, again = list(coarse), 0
    for metric in dict.fromkeys(item.metric for item in items):
        members = [item for item in items if item.metric == metric]
        before = [item.differences(coarse) for item in members]
        margins = np.array([np.nanmin(np.abs(d), initial=np.inf) for d in before])
        order, done, error = np.argsort(margins, kind="stable"), 0, 0.0
        while done < (wanted := _reach(margins[order], error, done)):
            chosen = order[done:wanted]
            places = [place for index in chosen for place in members[index].places.values()]
            for place, bits in zip(places, reread(places), strict=True):
                settled[place] = bits
            changes = [np.abs(members[index].differences(settled) - before[index]) for index in chosen]
            error = max([error, *(float(np.nanmax(change, initial=0.0)) for change in changes)])
            done = wanted
        again += done
    return settled, again


def _reach(sorted_margins: np.ndarray, error: float, done: int) -> int:
    """How many of the closest items must have been read again."""
    if not done:
        return min(FIRST, len(sorted_margins))
    return max(done, int(np.searchsorted(sorted_margins, SAFETY * error, side="right")))


PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float64": torch.float64}


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    name: str,
    ends: str = "bos",
    separator: str = "eos",
    precision: str = "float32",
    budget: int = 1024,
    share: bool = True,
    confirm: bool = True,
) -> Readout:
    """Token surprisals of a corpus of suites; see :func:`suite_readout` for the arrays.

    Args:
        ends, separator: conventions of :class:`longform.critics.surprisal.encoding.Encoder`.
        precision: one of ``PRECISIONS``; bfloat16 becomes float32 on a processor that has to emulate it.
        budget: padded tokens of a batch; changes no result beyond rounding.
        share: read common prefixes once; changes no result beyond rounding.
        confirm: read items in float32 once more where a bfloat16 reading is too close to decide them
            (:mod:`longform.critics.surprisal.read`), so that decisions are those of float32.
    """
    if precision not in PRECISIONS:
        raise BadInput(f"infer {name}: precision {precision!r} is not one of {sorted(PRECISIONS)}; fix the entry")
    if precision == "bfloat16" and not has_bfloat16(chosen_device()):
        print(f"infer {name}: reads in float32, for this processor has no bfloat16 arithmetic (emulated, it is slower)")
        precision = "float32"
    encoder = Encoder(load_tokenizer(reader), ends, separator)
    suites = suites_from_documents(documents, truth)
    kinds = [precision, "float32"] if precision == "bfloat16" and confirm else [precision]
    networks = [load_reader(reader, AutoModelForCausalLM).to(PRECISIONS[kind]) for kind in kinds]
    opened, *fine = (open_reader(network, budget, share, f"infer {name}") for network in networks)
    return suite_readout(suites, encoder, opened, *fine)


def has_bfloat16(device: torch.device) -> bool:
    """Whether a device multiplies bfloat16 natively; without AVX-512 a CPU takes some 50 times as long as in float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type != "cpu" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def condition_bits(
    suites: Sequence[Suite],
    encoder: Encoder,
    reader: LogProbReader,
    fine: LogProbReader | None = None,
) -> list[ConditionBits]:
    """Every condition of every item of every suite, in that order; what is close is read again by ``fine``.

    Raises:
        BadInput: an item without tokens or longer than the model's window, by name.
    """
    places = [(s, item, condition) for s in suites for item in s.items for condition in item.conditions]
    rows = encoder.rows([[region.content for region in condition.regions] for _, _, condition in places])
    names = [f"suite {s.name}, item {item.number}, condition {condition.name}" for s, item, condition in places]
    reader.check([row.ids for row in rows], names)
    numbers = [tuple(region.number for region in condition.regions) for _, _, condition in places]

    def read_by(used: LogProbReader, chosen: Sequence[int]) -> list[ConditionBits]:
        bits = []
        for place, log_probs in zip(chosen, used.read([rows[p].ids for p in chosen]), strict=True):
            every = np.concatenate([[0.0], -log_probs.astype(np.float64) / math.log(2)])  # nothing precedes the first
            counted = rows[place].regions >= 0
            bits.append(ConditionBits(every[counted], rows[place].regions[counted], numbers[place]))
        return bits

    coarse = read_by(reader, range(len(places)))
    if fine is None:
        return coarse
    settled, again = confirmed(_judged(suites), coarse, lambda chosen: read_by(fine, chosen))
    print(f"{reader.label}: {again} of {sum(len(s.items) for s in suites)} items read again in full precision")
    return settled


def _judged(suites: Sequence[Suite]) -> list[Judged]:
    """How every item is judged, its conditions numbered as :func:`condition_bits` reads them."""
    items: list[Judged] = []
    place = 0
    for suite in suites:
        formulas = suite.formulas()
        for item in suite.items:
            items.append(Judged(suite.metric, formulas, {c.name: place + i for i, c in enumerate(item.conditions)}))
            place += len(item.conditions)
    return items


def suite_readout(
    suites: Sequence[Suite],
    encoder: Encoder,
    reader: LogProbReader,
    fine: LogProbReader | None = None,
) -> Readout:
    """One unit per item, id ``suite/item``.

    Arrays:
        suite: int64 per unit, an index into ``suite_names`` and ``suite_head_names`` (the suites' JSON without items).
        region_condition, region_number, region_tokens: ragged over the regions of all conditions of the item;
            the condition is an index into ``condition_names``.
        token_bits: float32, ragged over tokens, region after region.
    """
    read_conditions = iter(condition_bits(suites, encoder, reader, fine))
    names = sorted({condition.name for s in suites for condition in s.items[0].conditions})
    columns: dict[str, list[Any]] = {"region_condition": [], "region_number": [], "region_tokens": [], "token_bits": []}
    items = [(s, item) for s in suites for item in s.items]
    for _, item in items:
        read_item = [(names.index(c.name), next(read_conditions)) for c in item.conditions]
        regions = [(name, *pair) for name, c in read_item for pair in zip(c.numbers, c.by_region(), strict=True)]
        columns["region_condition"].append([name for name, _, _ in regions])
        columns["region_number"].append([number for _, number, _ in regions])
        columns["region_tokens"].append([len(bits) for _, _, bits in regions])
        columns["token_bits"].append(np.concatenate([bits for _, _, bits in regions]))
    arrays = {
        "suite": np.array([index for index, s in enumerate(suites) for _ in s.items], dtype=np.int64),
        "suite_names": np.array([s.name for s in suites], dtype=np.str_),
        "suite_head_names": np.array([json.dumps(suite_head(s), sort_keys=True) for s in suites], dtype=np.str_),
        "condition_names": np.array(names, dtype=np.str_),
    }
    for name, rows in columns.items():
        arrays[name] = np.concatenate(rows).astype(np.float32 if name == "token_bits" else np.int64)
        arrays[name + "_lengths"] = np.array([len(row) for row in rows], dtype=np.int64)
    ids = tuple(f"{s.name}/{item.number}" for s, item in items)
    return Readout(ids, ("test",) * len(ids), arrays)
