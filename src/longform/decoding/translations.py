"""Translations of source sentences by a trained translator: sampled, each sentence with its own random numbers."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from longform.documents import Corpus, Document, Section
from longform.errors import BadInput
from longform.language_models import translation
from longform.language_models.device import placed
from longform.language_models.tokenizers import padded
from longform.language_models.translation import (
    BEGIN,
    END,
    PAD,
    UNKNOWN,
    TrainedTranslator,
    sides_of,
)
from longform.statistics.random_streams import generator

LONGER = 2  # a translation may be this many times as long as its source, plus ROOM tokens; then it is cut
ROOM = 10
Uniforms = list[np.ndarray]


@torch.no_grad()
def generate(
    *,
    model: Path | TrainedTranslator,
    name: str,
    seed: int,
    prefixes: Sequence[Document],
    split: str = "test",
    temperature: float = 1.0,
    batch: int = 64,
) -> Corpus:
    """One translation per pair of ``split``, as documents of split ``generated`` with both sections; facts count those cut at the length
    limit and those left empty. Lengths are the most probable ones, as are words at ``temperature`` 0, by which logits are divided.

    Raises BadInput: no pair of the split, or a negative temperature.
    """
    chosen = [document for document in prefixes if document.split == split]
    if not chosen:
        raise BadInput(f"generate {name}: no pair of split {split!r}; fix split or the corpus")
    if not 0 <= temperature < math.inf:
        raise BadInput(f"generate {name}: temperature is {temperature}, allowed is 0 or more")
    translator = model if isinstance(model, TrainedTranslator) else TrainedTranslator.load(model)
    network = placed(translator.network.eval())
    write: Any = (
        _one_by_one if isinstance(network, translation.AutoregressiveTranslator) else _all_at_once
    )
    sources = [[*translator.subwords.encode(sides_of(document)[0]).ids, END] for document in chosen]
    order = sorted(range(len(chosen)), key=lambda i: len(sources[i]))
    written: dict[int, list[int]] = {}
    for first in range(0, len(order), batch):
        part = order[first : first + batch]
        limits = [min(LONGER * len(sources[i]) + ROOM, network.shape.positions) for i in part]
        rngs = [generator("translation", name, seed, chosen[i].id) for i in part]
        uniforms = [rng.random(limit) for rng, limit in zip(rngs, limits, strict=True)]
        source = padded([sources[i] for i in part], PAD).to(network.embedding.weight.device)
        written |= zip(part, write(network, source, uniforms, temperature), strict=True)
    documents = []
    for i, pair in enumerate(chosen):
        ids = written[i]
        text = translator.subwords.decode(ids[: ids.index(END)] if END in ids else ids)
        sections = (
            Section(translation.SOURCE, sides_of(pair)[0]),
            Section(translation.TARGET, text),
        )
        documents.append(Document(f"{name}-{pair.id}", "generated", sections))
    cut = sum(END not in ids for ids in written.values())
    empty = sum(not document.sections[1].text for document in documents)
    return Corpus(
        documents, facts={"name": name, "documents": len(documents), "cut": cut, "empty": empty}
    )


def _one_by_one(
    network: Any, source: Tensor, uniforms: Uniforms, temperature: float
) -> list[list[int]]:
    """Tokens of each sentence up to its end or its limit; a step reads one new token of those that are not finished."""
    stream = translation.TranslationStream(network, source)
    rows: list[list[int]] = [[] for _ in uniforms]
    busy = list(range(len(rows)))
    tokens = torch.full((len(rows),), BEGIN, device=source.device)
    for step in range(max(map(len, uniforms))):
        logits = stream.append(tokens)
        tokens = pick(logits, np.array([uniforms[row][step] for row in busy]), temperature)
        for row, token in zip(busy, tokens.tolist(), strict=True):
            rows[row].append(token)
        going = [
            place
            for place, row in enumerate(busy)
            if rows[row][-1] != END and step + 1 < len(uniforms[row])
        ]
        if not going:
            break
        if len(going) < len(busy):
            busy, places = (
                [busy[place] for place in going],
                torch.tensor(going, device=source.device),
            )
            stream.take(places)
            tokens = tokens[places]
    return rows


def _all_at_once(
    network: Any, source: Tensor, uniforms: Uniforms, temperature: float
) -> list[list[int]]:
    """Tokens of each sentence, drawn at all places of its most probable length."""
    memory = network.encode(source)
    offset = network.length_scores(memory, source).argmax(1) - translation.LENGTHS // 2
    limits = torch.tensor([len(row) for row in uniforms], device=source.device)
    sizes = torch.minimum(((source != PAD).sum(1) + offset).clamp_min(1), limits)
    places = zip(network.place_scores(memory, source, sizes), sizes.tolist(), uniforms, strict=True)
    return [pick(scores[:size], row[:size], temperature).tolist() for scores, size, row in places]


def pick(logits: Tensor, uniforms: np.ndarray, temperature: float) -> Tensor:
    """One token per row of logits, by inversion at the row's uniform number; never a control token other than the end."""
    logits = logits.clone()
    logits[:, [PAD, BEGIN, UNKNOWN]] = -torch.inf
    if temperature == 0:
        return logits.argmax(1)
    chances = torch.softmax(logits.double() / temperature, dim=1).cumsum(1)
    aims = torch.from_numpy(uniforms).to(logits.device)[:, None] * chances[:, -1:]
    return (chances < aims).sum(1)
