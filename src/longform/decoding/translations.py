"""Translations of source sentences by a trained translator.

They are sampled, each sentence with its own random numbers.
"""

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

# a translation may be this many times as long as its source, plus ROOM tokens; then it is cut
LONGER = 2
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
    """Translate the source of each pair of a split.

    A non-autoregressive translator takes the most probable length.

    Args:
        model: a translator, or the folder of one.
        name: of the corpus.
        seed: of all random numbers, with the name and the pair's id.
        prefixes: the pairs.
        split: split of the pairs that are translated.
        temperature: divisor of the logits; at 0 words are the most probable ones.
        batch: sentences at a time.

    Returns:
        Documents of split ``generated`` with both sections. Facts count those cut at the length
        limit and those left empty.

    Raises:
        BadInput: no pair of the split, or a negative temperature.
    """
    pairs = [document for document in prefixes if document.split == split]
    if not pairs:
        raise BadInput(f"generate {name}: no pair of split {split!r}; fix split or the corpus")
    if not 0 <= temperature < math.inf:
        raise BadInput(f"generate {name}: temperature is {temperature}, allowed is 0 or more")
    translator = model if isinstance(model, TrainedTranslator) else TrainedTranslator.load(model)
    network = placed(translator.network.eval())
    write: Any = _all_at_once
    if isinstance(network, translation.AutoregressiveTranslator):
        write = _one_by_one
    # 1. Sources, shortest first, so that a batch has like lengths.
    sources = []
    for pair in pairs:
        sources.append([*translator.subwords.encode(sides_of(pair)[0]).ids, END])
    order = sorted(range(len(pairs)), key=lambda i: len(sources[i]))
    # 2. Translate batch by batch.
    tokens: dict[int, list[int]] = {}
    for first in range(0, len(order), batch):
        members = order[first : first + batch]
        # Random numbers of each sentence, as many as its translation may have tokens.
        uniforms = []
        for i in members:
            limit = min(LONGER * len(sources[i]) + ROOM, network.shape.positions)
            rng = generator("translation", name, seed, pairs[i].id)
            uniforms.append(rng.random(limit))
        source = padded([sources[i] for i in members], PAD)
        source = source.to(network.embedding.weight.device)
        tokens |= zip(members, write(network, source, uniforms, temperature), strict=True)
    # 3. Documents in the order of the pairs; without an end a translation was cut at its limit.
    documents = []
    cut = empty = 0
    for i, pair in enumerate(pairs):
        ids = tokens[i]
        if END in ids:
            ids = ids[: ids.index(END)]
        else:
            cut += 1
        text = translator.subwords.decode(ids)
        empty += not text
        source_side = Section(translation.SOURCE, sides_of(pair)[0])
        target_side = Section(translation.TARGET, text)
        documents.append(Document(f"{name}-{pair.id}", "generated", (source_side, target_side)))
    facts = {"name": name, "documents": len(documents), "cut": cut, "empty": empty}
    return Corpus(documents, facts=facts)


def _one_by_one(
    network: Any, source: Tensor, uniforms: Uniforms, temperature: float
) -> list[list[int]]:
    """Sample translations token by token, up to their ends or limits.

    Args:
        network: an autoregressive translator.
        source: token ids, int64 (sentences, source tokens).
        uniforms: random numbers of each sentence, as many as it may have tokens.
        temperature: divisor of the logits.

    Returns:
        Token ids of each sentence.
    """
    stream = translation.TranslationStream(network, source)
    rows: list[list[int]] = [[] for _ in uniforms]
    unfinished = list(range(len(rows)))
    tokens = torch.full((len(rows),), BEGIN, device=source.device)
    for step in range(max(map(len, uniforms))):
        # 1. A token for each unfinished row.
        logits = stream.append(tokens)
        step_uniforms = np.array([uniforms[row][step] for row in unfinished])
        tokens = pick(logits, step_uniforms, temperature)
        for row, token in zip(unfinished, tokens.tolist(), strict=True):
            rows[row].append(token)
        # 2. Which of them go on.
        going_on = []
        for i, row in enumerate(unfinished):
            if rows[row][-1] != END and step + 1 < len(uniforms[row]):
                going_on.append(i)
        if not going_on:
            break
        if len(going_on) < len(unfinished):
            unfinished = [unfinished[i] for i in going_on]
            stays = torch.tensor(going_on, device=source.device)
            stream.take(stays)
            tokens = tokens[stays]
    return rows


def _all_at_once(
    network: Any, source: Tensor, uniforms: Uniforms, temperature: float
) -> list[list[int]]:
    """Sample all tokens of each translation at once, at its most probable length.

    Arguments and result as of :func:`_one_by_one`, of a non-autoregressive translator.
    """
    memory = network.encode(source)
    offset = network.length_scores(memory, source).argmax(1) - translation.LENGTHS // 2
    limits = torch.tensor([len(row) for row in uniforms], device=source.device)
    source_lengths = (source != PAD).sum(1)
    lengths = torch.minimum((source_lengths + offset).clamp_min(1), limits)
    scores = network.place_scores(memory, source, lengths)
    rows = []
    for row_scores, length, row_uniforms in zip(scores, lengths.tolist(), uniforms, strict=True):
        tokens = pick(row_scores[:length], row_uniforms[:length], temperature)
        rows.append(tokens.tolist())
    return rows


def pick(logits: Tensor, uniforms: np.ndarray, temperature: float) -> Tensor:
    """Sample one token for each row, by inversion at the row's uniform number.

    Control tokens other than the end are never taken.

    Args:
        logits: (rows, vocabulary).
        uniforms: random numbers from 0 to 1, (rows,).
        temperature: divisor of the logits; 0 takes the most probable token.
    """
    logits = logits.clone()
    logits[:, [PAD, BEGIN, UNKNOWN]] = -torch.inf
    if temperature == 0:
        return logits.argmax(1)
    chances = torch.softmax(logits.double() / temperature, dim=1).cumsum(1)
    aims = torch.from_numpy(uniforms).to(logits.device)[:, None] * chances[:, -1:]
    return (chances < aims).sum(1)
