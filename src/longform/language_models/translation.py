"""Training translators on sentence pairs, autoregressive and not (deng2022, appendix C).

A pair is a document with a section titled ``source`` and one titled ``target``. One BPE over both
sides, as the paper's parameter counts imply. The paper states the sizes and not the schedule, which
is the entry's choice.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear, scaled_dot_product_attention

from longform.documents import Document
from longform.errors import BadInput
from longform.files.artefacts import read_json, trained_files
from longform.language_models.lightning import Learner, fit_learner
from longform.language_models.tokenizers import padded
from longform.statistics.random_streams import derived_seed

CONTROL = ["<pad>", "<s>", "</s>", "<unk>"]
PAD, BEGIN, END, UNKNOWN = range(4)  # their numbers
IGNORED = -100
# As in fairseq's nonautoregressive_transformer: classes of (target length - source length), from
# -128, and the weight of the length's loss beside the words'.
LENGTHS = 256
LENGTH_WEIGHT = 0.1


@dataclass(frozen=True)
class Shape:
    """Size of a translator; the defaults train on two CPU cores.

    Attributes:
        layers: of the encoder, and as many of the decoder.
        inner: width of the feed-forward layers.
        positions: tokens of a side at most.
    """

    layers: int = 2
    heads: int = 4
    width: int = 128
    inner: int = 512
    dropout: float = 0.1
    positions: int = 256


class Translator(nn.Module):
    """Base of both translators: encoder and decoder; one embedding for source, target and output.

    Args:
        shape: its size.
        vocabulary: number of tokens of both sides.
    """

    positions: Tensor  # (positions, width), added to the source's embeddings

    def __init__(self, shape: Shape, vocabulary: int) -> None:
        super().__init__()
        if shape.width % shape.heads:
            raise BadInput(
                f"translator: width {shape.width} is not a multiple of heads {shape.heads}; "
                "change either"
            )
        self.shape = shape
        self.embedding = nn.Embedding(vocabulary, shape.width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=shape.width**-0.5)
        size = (shape.width, shape.heads, shape.inner, shape.dropout)
        encoder = nn.TransformerEncoderLayer(*size, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder, shape.layers, enable_nested_tensor=False)
        decoder = nn.TransformerDecoderLayer(*size, batch_first=True)
        self.decoder = nn.TransformerDecoder(decoder, shape.layers)
        self.dropout = nn.Dropout(shape.dropout)

    def embed(self, ids: Tensor) -> Tensor:
        """Scaled embeddings of token numbers, without positions."""
        return self.embedding(ids) * math.sqrt(self.shape.width)

    def encode(self, source: Tensor) -> Tensor:
        """Encoder states of sources, (sentences, source tokens, width)."""
        states = self.dropout(self.embed(source) + self.positions[: source.shape[1]])
        return self.encoder(states, src_key_padding_mask=source == PAD)

    def decode(self, states: Tensor, memory: Tensor, source: Tensor, **masks: Any) -> Tensor:
        """Logits of the target's tokens.

        Args:
            states: embeddings of the target, (sentences, target tokens, width).
            memory: states of the source, (sentences, source tokens, width).
            source: token numbers, int64 (sentences, source tokens).
            **masks: of the target.

        Returns:
            (sentences, target tokens, vocabulary).
        """
        padding = source == PAD
        states = self.dropout(states)
        states = self.decoder(states, memory, memory_key_padding_mask=padding, **masks)
        return linear(states, self.embedding.weight)


class AutoregressiveTranslator(Translator):
    r"""$P(x \mid s) = \prod_t P(x_t \mid x_{<t}, s)$.

    Positions are sinusoidal (Vaswani et al. 2017, section 3.5).
    """

    def __init__(self, shape: Shape, vocabulary: int) -> None:
        super().__init__(shape, vocabulary)
        # Angles t / 10000^(2i / width) of position t; columns are their sines and cosines by turns.
        rates = torch.exp(-math.log(10_000.0) * torch.arange(0, shape.width, 2) / shape.width)
        angles = torch.arange(shape.positions)[:, None] * rates[None]
        positions = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
        self.register_buffer("positions", positions, persistent=False)

    def next_scores(self, memory: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """For each target position, logits of the next token.

        Args:
            memory: states of the source, (sentences, source tokens, width).
            source: token numbers, int64 (sentences, source tokens).
            target: token numbers, int64 (sentences, target tokens).

        Returns:
            (sentences, target tokens, vocabulary).
        """
        length = target.shape[1]
        ahead = nn.Transformer.generate_square_subsequent_mask(length, device=target.device)
        states = self.embed(target) + self.positions[:length]
        return self.decode(states, memory, source, tgt_mask=ahead, tgt_is_causal=True)

    def loss(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Mean nats per target token, the end included."""
        labels = batch["labels"]
        before = torch.roll(labels, 1, dims=1)
        before = before.masked_fill(before == IGNORED, PAD)
        before[:, 0] = BEGIN
        logits = self.next_scores(self.encode(batch["source"]), batch["source"], before)
        return cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED)


class TranslationStream:
    """A batch of translations that grow by a token a step.

    Attributes:
        layers: for each decoder layer, keys and values of the source, (rows, heads, source tokens,
            dims), computed once.
        written: for each decoder layer, keys and values of the tokens so far, (rows, heads, tokens,
            dims), or None.
        source: mask of the source, bool (rows, 1, 1, source tokens), false at padding.
        length: number of tokens so far.
    """

    def __init__(self, network: AutoregressiveTranslator, source: Tensor) -> None:
        self.network = network
        self.length = 0
        self.source = (source != PAD)[:, None, None]
        memory = network.encode(source)
        self.layers = []
        for layer in network.decoder.layers:
            _, key, value = self._projected(layer.multihead_attn, memory)
            self.layers.append((key, value))
        self.written: list[tuple[Tensor, Tensor] | None] = [None] * len(self.layers)

    def _projected(self, attention: Any, states: Tensor) -> list[Tensor]:
        """Queries, keys and values (rows, heads, tokens, dims) of states (rows, tokens, width)."""
        mixed = linear(states, attention.in_proj_weight, attention.in_proj_bias)
        rows, tokens, _ = states.shape
        parts = mixed.view(rows, tokens, 3, attention.num_heads, attention.head_dim)
        return list(parts.permute(2, 0, 3, 1, 4))

    def append(self, tokens: Tensor) -> Tensor:
        """Append a token to each row, int64 (rows,); returns the next logits (rows, vocabulary)."""
        network = self.network
        states = network.embed(tokens)[:, None] + network.positions[self.length]
        for number, layer in enumerate(network.decoder.layers):
            states = layer.norm1(states + self._own(number, layer.self_attn, states))
            states = layer.norm2(states + self._of_source(number, layer.multihead_attn, states))
            states = layer.norm3(states + layer.linear2(layer.activation(layer.linear1(states))))
        self.length += 1
        return linear(states[:, 0], network.embedding.weight)

    def _own(self, number: int, attention: Any, states: Tensor) -> Tensor:
        """Self-attention of layer ``number`` over the tokens so far; states (rows, 1, width)."""
        query, key, value = self._projected(attention, states)
        before = self.written[number]
        if before is not None:
            key = torch.cat([before[0], key], dim=2)
            value = torch.cat([before[1], value], dim=2)
        self.written[number] = key, value
        return self._joined(attention, scaled_dot_product_attention(query, key, value))

    def _of_source(self, number: int, attention: Any, states: Tensor) -> Tensor:
        """Attention of layer ``number`` to the source's tokens, (rows, 1, width)."""
        width = attention.embed_dim
        query = linear(states, attention.in_proj_weight[:width], attention.in_proj_bias[:width])
        query = query.view(len(states), 1, attention.num_heads, attention.head_dim).transpose(1, 2)
        attended = scaled_dot_product_attention(query, *self.layers[number], attn_mask=self.source)
        return self._joined(attention, attended)

    def _joined(self, attention: Any, attended: Tensor) -> Tensor:
        """Concatenate heads (rows, heads, 1, dims) and project them, (rows, 1, width)."""
        together = attended.transpose(1, 2).flatten(2)
        return linear(together, attention.out_proj.weight, attention.out_proj.bias)

    def take(self, rows: Tensor) -> None:
        """Replace the rows by those of these indices."""
        self.source = self.source[rows]
        self.layers = [(key[rows], value[rows]) for key, value in self.layers]
        self.written = [pair and (pair[0][rows], pair[1][rows]) for pair in self.written]


class ParallelTranslator(Translator):
    r"""$P(x \mid s) = P(T \mid s) \prod_t P(x_t \mid s, T)$.

    Positions are learned, the length is predicted, and no mask hides what is ahead.
    """

    def __init__(self, shape: Shape, vocabulary: int) -> None:
        super().__init__(shape, vocabulary)
        rows = shape.positions + 2  # fairseq adds two: the paper's number of weights
        self.source_places = nn.Embedding(rows, shape.width)
        self.target_places = nn.Embedding(rows, shape.width)
        self.lengths = nn.Embedding(LENGTHS, shape.width)

    @property
    def positions(self) -> Tensor:  # type: ignore[override]
        return self.source_places.weight

    def length_scores(self, memory: Tensor, source: Tensor) -> Tensor:
        """Logits of target length minus source length plus 128, from the mean state.

        Returns:
            (sentences, LENGTHS).
        """
        real = (source != PAD)[:, :, None].to(memory.dtype)
        return linear((memory * real).sum(1) / real.sum(1), self.lengths.weight)

    def place_scores(self, memory: Tensor, source: Tensor, sizes: Tensor) -> Tensor:
        """Logits of every position of the targets.

        Args:
            memory: states of the source, (sentences, source tokens, width).
            source: token numbers, int64 (sentences, source tokens).
            sizes: the targets' lengths, int64 (sentences,).

        Returns:
            (sentences, longest target, vocabulary).
        """
        # 1. Each place begins as the source word that it copies.
        positions = torch.arange(int(sizes.max()), device=source.device)
        spread = uniform_copy((source != PAD).sum(1), sizes, positions)
        states = self.embed(source).gather(1, spread[:, :, None].expand(-1, -1, self.shape.width))
        states = states + self.target_places.weight[: len(positions)]
        # 2. Places behind a target's end are not seen.
        beyond = positions[None] >= sizes[:, None]
        return self.decode(states, memory, source, tgt_key_padding_mask=beyond)

    def loss(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Mean nats per target token plus a tenth of the mean nats of the length."""
        source, labels = batch["source"], batch["labels"]
        memory = self.encode(source)
        sizes = (labels != IGNORED).sum(1)
        logits = self.place_scores(memory, source, sizes)
        words = cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED)
        offset = (sizes - (source != PAD).sum(1) + LENGTHS // 2).clamp(0, LENGTHS - 1)
        length = cross_entropy(self.length_scores(memory, source).float(), offset)
        return words + LENGTH_WEIGHT * length


def uniform_copy(source_sizes: Tensor, target_sizes: Tensor, places: Tensor) -> Tensor:
    """Index of the source word that each target position copies (Gu et al. 2018, section 3.1).

    Target positions are spread evenly over the source.

    Args:
        source_sizes, target_sizes: lengths in tokens, int64 (sentences,).
        places: positions of the longest target, int64 (places,).

    Returns:
        int64 (sentences, places).
    """
    last = (source_sizes - 1)[:, None]
    ratio = last / (target_sizes - 1).clamp_min(1)[:, None]
    return torch.minimum((places[None] * ratio + 0.5).long(), last)


Network = AutoregressiveTranslator | ParallelTranslator
NETWORKS: dict[str, Any] = {
    "autoregressive": AutoregressiveTranslator,
    "non_autoregressive": ParallelTranslator,
}
SOURCE, TARGET = "source", "target"
Pair = tuple[list[int], list[int]]


class TranslatorTraining(Learner):
    """The translator's own nats per target token."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Mean loss of a batch, nats per target token."""
        return self.network.loss(batch)

    def weight(self, batch: Mapping[str, torch.Tensor]) -> int:
        """Number of target tokens of a batch."""
        return int((batch["labels"] != IGNORED).sum())


@dataclass(frozen=True)
class TrainedTranslator:
    """A translator that was trained.

    Attributes:
        kind: a key of ``NETWORKS``.
        network: the network, in evaluation mode.
        subwords: tokenizer of both languages.
    """

    kind: str
    network: Network
    subwords: Tokenizer

    def save(self, folder: Path) -> None:
        """Write ``model.safetensors``, ``translator.json`` and ``tokenizer.json``."""
        folder.mkdir(parents=True, exist_ok=True)
        weights = {}
        for name, values in self.network.state_dict().items():
            weights[name] = values.contiguous()
        save_file(weights, folder / "model.safetensors")
        record = {"kind": self.kind, "shape": asdict(self.network.shape)}
        (folder / "translator.json").write_text(json.dumps(record, sort_keys=True, indent=1) + "\n")
        self.subwords.save(str(folder / "tokenizer.json"))

    @classmethod
    def load(cls, folder: Path) -> "TrainedTranslator":
        """Load a translator that :meth:`save` wrote, on the CPU.

        Raises:
            BadInput: a file is missing or damaged, or they are not of one translator.
        """
        for name in ("model.safetensors", "translator.json", "tokenizer.json"):
            if not (folder / name).is_file():
                raise BadInput(
                    f"{folder}: no {name}; a translator is a folder that its training wrote"
                )
        with trained_files(folder, "translator", SafetensorError, RuntimeError):
            # An unreadable tokenizer would raise Exception itself; cut JSON does not.
            subwords = Tokenizer.from_str(json.dumps(read_json(folder / "tokenizer.json")))
            record = json.loads((folder / "translator.json").read_text(encoding="utf-8"))
            network = NETWORKS[record["kind"]](Shape(**record["shape"]), subwords.get_vocab_size())
            network.load_state_dict(load_file(folder / "model.safetensors"))
            return cls(record["kind"], network.eval(), subwords)


def fit(
    documents: Sequence[Document],
    *,
    kind: str,
    name: str,
    seed: int,
    scratch: Path,
    schedule: Mapping[str, Any],
    shape: Mapping[str, Any] | None = None,
    subwords: int = 4000,
) -> TrainedTranslator:
    """Train a translator on the pairs of split train.

    The weights of the best validation loss stay.

    Args:
        documents: pairs of the splits train and validation.
        kind: a key of ``NETWORKS``.
        name: of the training, in progress lines and errors.
        seed: of all random numbers.
        scratch: folder of checkpoints.
        schedule: fields of :class:`Schedule`.
        shape: fields of :class:`Shape`; it is small by default.
        subwords: largest size of the joint BPE; if large enough, whole words (about 40,000 in the
            paper).

    Raises:
        BadInput: an unknown kind, a document that is no pair, or no training or validation pair
            that fits.
    """
    if kind not in NETWORKS:
        raise BadInput(f"train {name}: kind is {kind!r}, allowed is one of {sorted(NETWORKS)}")
    size = Shape(**(shape or {}))
    # 1. Pairs by split.
    pairs: dict[str, list[tuple[str, str]]] = {"train": [], "validation": []}
    for document in documents:
        if document.split in pairs:
            pairs[document.split].append(sides_of(document))
    if not pairs["train"]:
        raise BadInput(f"train {name}: got zero pairs of split train; the corpus needs some")
    # 2. Subwords of the training pairs, and all pairs in their numbers.
    texts: list[str] = []
    for pair in pairs["train"]:
        texts.extend(pair)
    tokenizer = fit_subwords(texts, subwords)
    items = {}
    for split, of_split in pairs.items():
        items[split] = encoded(of_split, tokenizer, size.positions)
    # 3. The network.
    torch.manual_seed(derived_seed(seed, "initial weights"))
    network = NETWORKS[kind](size, tokenizer.get_vocab_size())
    fit_learner(
        TranslatorTraining, network, items, collate, schedule, seed=seed, name=name, scratch=scratch
    )
    return TrainedTranslator(kind, network.cpu().eval(), tokenizer)


def sides_of(document: Document) -> tuple[str, str]:
    """Source and target text of a pair.

    Raises:
        BadInput: a side is missing or empty.
    """
    texts = {section.title: section.text for section in document.sections}
    for side in (SOURCE, TARGET):
        if not texts.get(side, "").strip():
            allowed = f"a pair has one section titled {SOURCE!r} and one titled {TARGET!r}"
            raise BadInput(f"translation: document {document.id!r} has no {side} text; {allowed}")
    return texts[SOURCE], texts[TARGET]


def fit_subwords(texts: Sequence[str], size: int) -> Tokenizer:
    """Train one BPE of at most ``size`` subwords on texts of both sides.

    The beginning of a word is marked, not its end: the trainer numbers letters with an end mark in
    the order of a hash map, which differs from process to process.
    """
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    steps = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=CONTROL, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encoded(pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer, positions: int) -> list[Pair]:
    """Token ids of both sides of each pair, each side with its end token.

    Pairs of which a side is longer than ``positions`` are left out.
    """
    if not pairs:
        return []
    sources, targets = zip(*pairs, strict=True)
    rows = []
    for source, target in zip(
        tokenizer.encode_batch(list(sources)), tokenizer.encode_batch(list(targets)), strict=True
    ):
        pair = ([*source.ids, END], [*target.ids, END])
        if max(map(len, pair)) <= positions:
            rows.append(pair)
    return rows


def collate(items: Sequence[Pair]) -> dict[str, torch.Tensor]:
    """Pad both sides to the longest of the batch; padding of the target carries no loss."""
    sources, targets = zip(*items, strict=True)
    return {"source": padded(sources, PAD), "labels": padded(targets, IGNORED)}
