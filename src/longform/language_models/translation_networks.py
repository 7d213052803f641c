r"""Two translators of one shape: one writes a word after the other, one writes all words at once (deng2022, appendix C).

Both are the encoder-decoder Transformer of Vaswani et al. (2017) with normalisation after each block, and one embedding
shared by source, target and output. The non-autoregressive one (Gu et al. 2018) predicts the length, spreads copies of
the source over it, and knows of each target word only its place: $P(x \mid s) = P(T \mid s) \prod_t P(x_t \mid s, T)$.
Where a sentence may be translated into several languages, each place then chooses its language by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from longform.core.documents import BadInput

PAD, BEGIN, END, UNKNOWN = range(4)  # numbers of the control tokens
IGNORED = -100
LENGTHS = 256  # classes of (target length - source length), from -128 (fairseq's nonautoregressive_transformer)
LENGTH_WEIGHT = 0.1  # of the length's loss beside the words' (fairseq's nonautoregressive_transformer)


@dataclass(frozen=True)
class Shape:
    """Size of a translator; the defaults train on two CPU cores."""

    layers: int = 2
    heads: int = 4
    width: int = 128
    inner: int = 512
    dropout: float = 0.1
    positions: int = 256


# fairseq's transformer_wmt_en_de, which the paper names: 64.80M and 65.98M parameters with 40,354 subwords
PAPER = Shape(layers=6, heads=8, width=512, inner=2048, dropout=0.1, positions=1024)


class Translator(nn.Module):
    """What both translators share: embedding, encoder, decoder stacks, output tied to the embedding."""

    def __init__(self, shape: Shape, vocabulary: int) -> None:
        super().__init__()
        if shape.width % shape.heads:
            raise BadInput(f"translator: width {shape.width} is not a multiple of heads {shape.heads}; change either")
        self.shape = shape
        self.embedding = nn.Embedding(vocabulary, shape.width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=shape.width**-0.5)
        size = (shape.width, shape.heads, shape.inner, shape.dropout)
        encoder = nn.TransformerEncoderLayer(*size, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder, shape.layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*size, batch_first=True), shape.layers)
        self.dropout = nn.Dropout(shape.dropout)

    def embed(self, ids: Tensor) -> Tensor:
        """Scaled embeddings of token numbers, without positions."""
        return self.embedding(ids) * math.sqrt(self.shape.width)

    def scores(self, states: Tensor) -> Tensor:
        """Logits over the vocabulary."""
        return linear(states, self.embedding.weight)


class AutoregressiveTranslator(Translator):
    r"""$P(x \mid s) = \prod_t P(x_t \mid x_{<t}, s)$, sinusoidal positions."""

    places: Tensor

    def __init__(self, shape: Shape, vocabulary: int) -> None:
        super().__init__(shape, vocabulary)
        self.register_buffer("places", sinusoids(shape.positions, shape.width), persistent=False)

    def encode(self, source: Tensor) -> Tensor:
        """(sentences, source tokens, width) states."""
        states = self.dropout(self.embed(source) + self.places[: source.shape[1]])
        return self.encoder(states, src_key_padding_mask=source == PAD)

    def next_scores(self, memory: Tensor, source: Tensor, written: Tensor) -> Tensor:
        """(sentences, written tokens, vocabulary) logits of the token after each written one."""
        states = self.dropout(self.embed(written) + self.places[: written.shape[1]])
        ahead = nn.Transformer.generate_square_subsequent_mask(written.shape[1], device=written.device)
        return self.scores(
            self.decoder(states, memory, tgt_mask=ahead, tgt_is_causal=True, memory_key_padding_mask=source == PAD)
        )

    def loss(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Mean nats per target token, the end included."""
        labels = batch["labels"]
        before = torch.roll(labels, 1, dims=1).masked_fill(torch.roll(labels, 1, dims=1) == IGNORED, PAD)
        before[:, 0] = BEGIN
        logits = self.next_scores(self.encode(batch["source"]), batch["source"], before)
        return cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED)


class ParallelTranslator(Translator):
    r"""$P(x \mid s) = P(T \mid s) \prod_t P(x_t \mid s, T)$: learned positions, a length predictor, no causal mask."""

    def __init__(self, shape: Shape, vocabulary: int) -> None:
        super().__init__(shape, vocabulary)
        rows = shape.positions + 2  # fairseq keeps two rows for padding, which makes the paper's count
        self.source_places, self.target_places = (nn.Embedding(rows, shape.width) for _ in range(2))
        self.lengths = nn.Embedding(LENGTHS, shape.width)

    def encode(self, source: Tensor) -> Tensor:
        """(sentences, source tokens, width) states."""
        states = self.dropout(self.embed(source) + self.source_places.weight[: source.shape[1]])
        return self.encoder(states, src_key_padding_mask=source == PAD)

    def length_scores(self, memory: Tensor, source: Tensor) -> Tensor:
        """(sentences, LENGTHS) logits of target length minus source length plus 128, from the mean state."""
        real = (source != PAD)[:, :, None].to(memory.dtype)
        return linear((memory * real).sum(1) / real.sum(1), self.lengths.weight)

    def place_scores(self, memory: Tensor, source: Tensor, sizes: Tensor) -> Tensor:
        """(sentences, longest, vocabulary) logits of every place; ``sizes`` are the target lengths."""
        places = torch.arange(int(sizes.max()), device=source.device)
        spread = uniform_copy((source != PAD).sum(1), sizes, places)
        states = self.embed(source).gather(1, spread[:, :, None].expand(-1, -1, self.shape.width))
        states = self.dropout(states + self.target_places.weight[: len(places)])
        beyond = places[None] >= sizes[:, None]
        return self.scores(
            self.decoder(states, memory, tgt_key_padding_mask=beyond, memory_key_padding_mask=source == PAD)
        )

    def loss(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Mean nats per target token plus a tenth of the mean nats of the length."""
        source, labels = batch["source"], batch["labels"]
        memory, sizes = self.encode(source), (labels != IGNORED).sum(1)
        logits = self.place_scores(memory, source, sizes)
        words = cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED)
        offset = (sizes - (source != PAD).sum(1) + LENGTHS // 2).clamp(0, LENGTHS - 1)
        return words + LENGTH_WEIGHT * cross_entropy(self.length_scores(memory, source).float(), offset)


def uniform_copy(source_sizes: Tensor, target_sizes: Tensor, places: Tensor) -> Tensor:
    """Which source word each target place copies: spread evenly over the source (Gu et al. 2018, section 3.1)."""
    ratio = (source_sizes - 1)[:, None] / (target_sizes - 1).clamp_min(1)[:, None]
    return torch.minimum((places[None] * ratio + 0.5).long(), (source_sizes - 1)[:, None])


def sinusoids(positions: int, width: int) -> Tensor:
    """(positions, width) sines and cosines of geometric wave lengths (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(-math.log(10_000.0) * torch.arange(0, width, 2) / width)
    angles = torch.arange(positions)[:, None] * rates[None]
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)


NETWORKS: dict[str, type[AutoregressiveTranslator] | type[ParallelTranslator]] = {
    "autoregressive": AutoregressiveTranslator,
    "non_autoregressive": ParallelTranslator,
}
