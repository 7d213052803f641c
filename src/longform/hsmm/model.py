"""Hidden semi-Markov language model: states emit whole n-grams, as in deng2022 section 5.1, with an exact likelihood.

A text is a chain of segments. From state z_{m-1} the chain moves to z_m by ``transitions``, and z_m
emits one n-gram, whose length and wording are drawn together from ``joint[:, z_m]``. The likelihood
sums over every segmentation and every state path; the last token ends a segment; how many segments a
text has is not modelled. z_0 is state 0 and emits nothing.

An n-gram of token ids is packed into one unsigned 64-bit key, in base ``len(tokens)``, so that sorting keys sorts n-grams
lexicographically and counting n-grams is sorting integers.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from longform.errors import ArtefactError, ConfigError, InputError
from longform.hsmm.compiled import ROWS_PER_BLOCK, Tables, Workspace, blocks_of, log_partitions

FORMAT = "longform semi-Markov 2"


@dataclass(frozen=True)
class SemiMarkovLM:
    """The model's tables."""

    ngrams: "NgramTable"  # which n-gram each row of ``joint`` is
    transitions: np.ndarray  # P(next state | state), rows sum to 1, (C, C)
    joint: (
        np.ndarray
    )  # P(duration, n-gram | state), columns sum to 1 over all rows, (G, C); float32 or float64
    facts: Mapping[str, Any] = field(default_factory=dict)  # JSON-able statements about the fit

    def __post_init__(self) -> None:
        states = len(self.transitions)
        if self.transitions.shape != (states, states) or self.joint.shape != (
            self.ngrams.rows,
            states,
        ):
            got = f"transitions {self.transitions.shape} and joint {self.joint.shape} do not fit {self.ngrams.rows} n-grams"
            allowed = "allowed (C, C) and (n-grams, C)"
            raise InputError(
                f"semi-Markov tables: {got}, {allowed}; rebuild them with one num_states"
            )

    @property
    def num_states(self) -> int:
        return len(self.transitions)

    @property
    def max_duration(self) -> int:
        return self.ngrams.max_duration

    @property
    def tables(self) -> Tables:
        return Tables.of(self.transitions, self.joint)

    def log_likelihood(
        self, sequences: Sequence, *, rows_per_block: int = ROWS_PER_BLOCK
    ) -> np.ndarray:
        """log P(x) in nats of each sequence of tokens, summed over segmentations and states; (N,) float64.

        ``rows_per_block`` positions are scanned at once, which bounds the memory (2 vectors of C per position).
        """
        encoded = [self.ngrams.encode(s, f"sequence {i}") for i, s in enumerate(sequences)]
        out, tables, workspace = np.empty(len(encoded)), self.tables, Workspace()
        for members in blocks_of([len(ids) for ids in encoded], rows_per_block):
            out[members] = log_partitions(
                [self.ngrams.index(encoded[i]) for i in members], tables, workspace
            )
        return out

    def mixed(self, weight: float) -> "SemiMarkovLM":
        """(1 - weight) of the tables and ``weight`` of uniform ones: next states, lengths, n-grams of a length.

        EM leaves at zero what training never used, so an unseen text could have no path; the paper's softmax
        tables never reach zero. Every single token of the vocabulary gets some mass, so every text gets a path.
        """
        sizes = np.diff(self.ngrams.starts)
        uniform = 1 / (np.count_nonzero(sizes) * sizes[self.ngrams.durations - 1])
        joint = self.joint * (1 - weight)
        joint += (weight * uniform)[:, None].astype(joint.dtype)
        transitions = self.transitions * (1 - weight) + weight / self.num_states
        return replace(self, transitions=transitions.astype(self.transitions.dtype), joint=joint)

    def draw(
        self, num_segments: int, generators: Sequence[np.random.Generator]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """States and n-gram rows, each (M,), of one text per generator, of exactly M = ``num_segments`` (50 in deng2022).

        States do not depend on what is emitted, so all paths are drawn first, then the n-grams of one state
        at a time, duration and wording together. A text depends on its own generator only, never on the batch.
        """
        uniforms = np.stack([rng.random((2, num_segments)) for rng in generators])
        states = np.zeros(uniforms[:, 0].shape, dtype=np.int64)
        rows, cumulated = (
            np.empty_like(states),
            np.cumsum(self.transitions, axis=1, dtype=np.float64),
        )
        for m in range(num_segments):
            before = states[:, m - 1].copy() if m else np.zeros(len(states), dtype=np.int64)
            for state in np.unique(before):
                here = before == state
                states[here, m] = _inverse(cumulated[state], uniforms[here, 0, m])
        for state in np.unique(states):
            here = states == state
            rows[here] = _inverse(
                np.cumsum(self.joint[:, state].astype(np.float64)), uniforms[:, 1][here]
            )
        return list(zip(states, rows, strict=True))

    def tokens_of(self, rows: np.ndarray) -> tuple[str, ...]:
        """The text that n-grams spell."""
        return tuple(itertools.chain.from_iterable(self.ngrams.text(int(row)) for row in rows))

    def save(self, folder: Path) -> None:
        """Write ``model.safetensors`` and ``config.json`` into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {"transitions": self.transitions, "joint": self.joint, "keys": self.ngrams.keys}
        arrays |= {"starts": self.ngrams.starts, "dropped": self.ngrams.dropped}
        save_file(
            {k: np.ascontiguousarray(v) for k, v in arrays.items()}, folder / "model.safetensors"
        )
        config = {
            "format": FORMAT,
            "num_states": self.num_states,
            "max_duration": self.max_duration,
        }
        config |= {"tokens": list(self.ngrams.tokens), "facts": dict(self.facts)}
        (folder / "config.json").write_text(
            json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )

    @classmethod
    def load(cls, folder: Path) -> "SemiMarkovLM":
        """Read what :meth:`save` wrote. Raises ArtefactError: no such model, another format, or arrays of another shape."""
        where = f"checkpoint {folder.name}"
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            arrays = load_file(folder / "model.safetensors")
        except (OSError, ValueError, SafetensorError) as error:
            allowed = "a folder with config.json and model.safetensors written by SemiMarkovLM.save"
            got = type(error).__name__
            raise ArtefactError(
                f"{where}: got {got}, allowed is {allowed}; train the model first"
            ) from error
        if not isinstance(config, dict) or config.get("format") != FORMAT:
            raise ArtefactError(
                f"{where}: format is not {FORMAT!r}; point to a semi-Markov model or retrain"
            )
        states, rows = config["num_states"], len(arrays["keys"])
        shapes = {
            "transitions": (states, states),
            "joint": (rows, states),
            "starts": (config["max_duration"] + 1,),
        }
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ArtefactError(
                    f"{where}: {name} is {arrays[name].shape}, allowed {shape}; retrain it"
                )
        ngrams = NgramTable(
            tuple(config["tokens"]), arrays["keys"], arrays["starts"], arrays["dropped"]
        )
        return cls(ngrams, arrays["transitions"], arrays["joint"], config["facts"])


def _inverse(cumulated: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """First place whose cumulative mass exceeds u times the total; never a place without mass."""
    last = np.searchsorted(cumulated, cumulated[-1])
    return np.searchsorted(cumulated, uniforms * cumulated[-1], side="right").clip(max=last)


RESERVED_ROWS = 2  # deng2022's released vocabularies count <pad> and <unk> inside their limit; here they hold no mass
WINDOWS_PER_CHUNK = 4_000_000  # ours: windows sorted at once while counting, 32 MB of keys


@dataclass(frozen=True)
class NgramTable:
    """Rows of n-grams: first those of length 1, then 2, ... ``max_duration``; inside a length lexicographic."""

    tokens: tuple[str, ...]  # token types in lexicographic order; a token's id is its place
    keys: np.ndarray  # packed n-grams, sorted inside each length (rows,), uint64
    starts: (
        np.ndarray
    )  # rows of length n are ``starts[n - 1]:starts[n]``; (max_duration + 1,), int64
    dropped: np.ndarray  # distinct n-grams of each length beyond ``max_ngrams``, without a row; (max_duration,), int64

    @property
    def max_duration(self) -> int:
        return len(self.starts) - 1

    @property
    def rows(self) -> int:
        return len(self.keys)

    @property
    def durations(self) -> np.ndarray:
        """Length of each row's n-gram, in tokens; (rows,), int64."""
        return np.repeat(np.arange(1, self.max_duration + 1), np.diff(self.starts))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    def encode(self, sequence: Sequence[str], where: str = "sequence") -> np.ndarray:
        """Token ids of a sequence, (T,) int64. Raises InputError: it is empty, or holds a token that the table does not know."""
        if not len(sequence):
            raise InputError(
                f"{where}: got no tokens, allowed is one or more; drop the empty document"
            )
        place = self._places
        if unknown := [token for token in sequence if token not in place]:
            known = f"one of the {len(place)} of this table"
            raise InputError(f"{where}: token {unknown[0]!r} is not {known}; refit or drop it")
        return np.array([place[token] for token in sequence], dtype=np.int64)

    def index(self, ids: np.ndarray) -> np.ndarray:
        """Row of each window of a sequence's token ids (T,): entry ``[t, n - 1]`` is that of ``ids[t:t + n]``.

        -1 where it is absent or does not fit; (T, max_duration) int32.
        """
        out = np.full((len(ids), self.max_duration), -1, dtype=np.int32)
        _lookup(
            np.asarray(ids, dtype=np.uint64),
            np.uint64(len(self.tokens)),
            self.keys,
            self.starts,
            out,
        )
        return out

    def text(self, row: int) -> tuple[str, ...]:
        key, spelt = int(self.keys[row]), []
        for _ in range(int(np.searchsorted(self.starts, row, side="right"))):
            key, place = divmod(key, len(self.tokens))
            spelt.append(self.tokens[place])
        return tuple(reversed(spelt))


def build_ngrams(
    sequences: Sequence[Sequence[str]], *, max_duration: int, max_ngrams: int = 250_000
) -> NgramTable:
    """Count the windows of every length up to ``max_duration`` tokens (11 in deng2022, section 5.1) and keep the most frequent.

    ``max_ngrams`` rows per length count deng2022's two reserved ones, so ``max_ngrams - 2`` n-grams are kept; ties are
    broken lexicographically (released code).

    Raises InputError: no sequences. Raises ConfigError: n-grams that do not fit a 64-bit key.
    """
    if not len(sequences):
        raise InputError(
            "n-grams: got a corpus of 0 sequences, allowed is one or more; check the split"
        )
    tokens = tuple(sorted({token for sequence in sequences for token in sequence}))
    if len(tokens) ** max_duration > 2**64:
        power = f"{len(tokens)} token types to the power {max_duration}"
        raise ConfigError(f"n-grams: {power} exceed a 64-bit key; lower max_duration")
    place = {token: i for i, token in enumerate(tokens)}
    encoded = [
        np.array([place[token] for token in sequence], dtype=np.uint64) for sequence in sequences
    ]
    found = [
        _frequent(encoded, n, len(tokens), max_ngrams - RESERVED_ROWS)
        for n in range(1, max_duration + 1)
    ]
    keys, dropped = zip(*found, strict=True)
    starts = np.concatenate([[0], np.cumsum([len(own) for own in keys])]).astype(np.int64)
    return NgramTable(tokens, np.concatenate(keys), starts, np.array(dropped, dtype=np.int64))


def _frequent(
    sequences: Sequence[np.ndarray], length: int, base: int, limit: int
) -> tuple[np.ndarray, int]:
    """Sorted keys of the most frequent windows of one length, and how many there are beyond the limit."""
    keys, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    for chunk in _window_chunks(sequences, length, base):
        more, times = np.unique(chunk, return_counts=True)
        if len(keys):
            more, place = np.unique(np.concatenate([keys, more]), return_inverse=True)
            times = np.bincount(
                place, weights=np.concatenate([counts, times]), minlength=len(more)
            ).astype(np.int64)
        keys, counts = more, times
    if len(keys) <= limit:
        return keys, 0
    best = np.argsort(-counts, kind="stable")[
        :limit
    ]  # keys are sorted, so ties fall lexicographically
    return np.sort(keys[best]), len(keys) - limit


def _window_chunks(sequences: Sequence[np.ndarray], length: int, base: int) -> Iterator[np.ndarray]:
    """Keys of all windows of one length, some millions at a time."""
    held, size = [], 0
    for ids in sequences:
        if len(ids) >= length:
            keys = np.zeros(len(ids) - length + 1, dtype=np.uint64)
            for offset in range(length):
                keys = keys * np.uint64(base) + ids[offset : offset + len(keys)]
            held.append(keys)
            size += len(keys)
            if size >= WINDOWS_PER_CHUNK:
                yield np.concatenate(held)
                held, size = [], 0
    if held:
        yield np.concatenate(held)


@njit(cache=True, nogil=True)
def _lookup(ids, base, keys, starts, out):  # pragma: no cover - compiled
    for t in range(len(ids)):
        key = np.uint64(0)
        for n in range(1, min(out.shape[1], len(ids) - t) + 1):
            key = key * base + ids[t + n - 1]
            low, high = starts[n - 1], starts[n]
            while low < high:
                middle = (low + high) // 2
                if keys[middle] < key:
                    low = middle + 1
                else:
                    high = middle
            if low < starts[n] and keys[low] == key:
                out[t, n - 1] = low
