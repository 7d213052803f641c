"""Hidden semi-Markov language model: states emit whole n-grams, with an exact likelihood.

As in deng2022 section 5.1. A text is a chain of segments. From state z_{m-1} the chain moves to z_m
by ``transitions``, and z_m emits one n-gram, whose length and wording are drawn together from
``joint[:, z_m]``. The likelihood sums over every segmentation and every state path; the last token
ends a segment; how many segments a text has is not modelled. z_0 is state 0 and emits nothing.

An n-gram of token ids is packed into one unsigned 64-bit key, in base ``len(tokens)``, so that
sorting keys sorts n-grams lexicographically and counting n-grams is sorting integers.
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
from longform.files.artefacts import trained_files
from longform.hsmm.compiled import ROWS_PER_BLOCK, Tables, Workspace, blocks_of, log_partitions

FORMAT = "longform semi-Markov 2"


@dataclass(frozen=True)
class SemiMarkovLM:
    """The language model: its probability tables over C states and G n-grams.

    Attributes:
        ngrams: the n-gram that each row of ``joint`` stands for.
        transitions: P(next state | state), rows sum to 1, (C, C).
        joint: P(duration, n-gram | state), columns sum to 1 over all rows, (G, C); float32 or
            float64.
        facts: JSON-able statements about the fit.
    """

    ngrams: "NgramTable"
    transitions: np.ndarray
    joint: np.ndarray
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        num_states = len(self.transitions)
        is_square = self.transitions.shape == (num_states, num_states)
        if not is_square or self.joint.shape != (self.ngrams.rows, num_states):
            raise InputError(
                f"semi-Markov tables: transitions {self.transitions.shape} and joint "
                f"{self.joint.shape} do not fit {self.ngrams.rows} n-grams, allowed (C, C) and "
                "(n-grams, C); rebuild them with one num_states"
            )

    @property
    def num_states(self) -> int:
        """C, the number of hidden states."""
        return len(self.transitions)

    @property
    def max_duration(self) -> int:
        """K, the largest number of tokens of a segment."""
        return self.ngrams.max_duration

    @property
    def tables(self) -> Tables:
        """The tables in the form of the compiled scan."""
        return Tables.of(self.transitions, self.joint)

    def log_likelihood(
        self, sequences: Sequence, *, rows_per_block: int = ROWS_PER_BLOCK
    ) -> np.ndarray:
        """log P(x) of sequences of tokens, summed over segmentations and states.

        Args:
            sequences: each a sequence of tokens of the table's vocabulary.
            rows_per_block: positions that are scanned at once, which bounds the memory (2 vectors
                of C per position).

        Returns:
            float64 (sequences,), nats; minus infinity where a sequence has no path.

        Raises:
            InputError: an empty sequence, or an unknown token.
        """
        encoded = []
        for number, sequence in enumerate(sequences):
            encoded.append(self.ngrams.encode(sequence, f"sequence {number}"))
        log_probs = np.empty(len(encoded))
        tables = self.tables
        workspace = Workspace()
        for members in blocks_of(list(map(len, encoded)), rows_per_block):
            indices = [self.ngrams.index(encoded[i]) for i in members]
            log_probs[members] = log_partitions(indices, tables, workspace)
        return log_probs

    def mixed(self, weight: float) -> "SemiMarkovLM":
        """The model mixed with a uniform one over next states, lengths, and n-grams of a length.

        EM leaves at zero what training never used, so an unseen text could have no path; the
        paper's softmax tables never reach zero. Every single token of the vocabulary gets some
        mass, so every text gets a path.

        Args:
            weight: weight of the uniform model, 0 to 1.
        """
        # P(n-gram) of the uniform model for each row of the table, (G,).
        ngrams_of_length = np.diff(self.ngrams.starts)
        num_lengths = np.count_nonzero(ngrams_of_length)
        uniform = 1 / (num_lengths * ngrams_of_length[self.ngrams.durations - 1])
        joint = self.joint * (1 - weight)
        joint += (weight * uniform)[:, None].astype(joint.dtype)
        transitions = self.transitions * (1 - weight) + weight / self.num_states
        return replace(self, transitions=transitions.astype(self.transitions.dtype), joint=joint)

    def draw(
        self, num_segments: int, generators: Sequence[np.random.Generator]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Sample the states and n-grams of one text with each generator.

        States do not depend on what is emitted, so all paths are sampled first, then the n-grams
        of one state at a time, duration and wording together. A text depends on its own generator
        only, never on the batch.

        Args:
            num_segments: segments M of each text (50 in deng2022).
            generators: a random generator for each text.

        Returns:
            For each text, its states and its rows of the table of n-grams, each int64 (M,).
        """
        # 1. Two uniform numbers for each segment, for its state and its n-gram.
        uniforms = np.stack([rng.random((2, num_segments)) for rng in generators])
        for_states = uniforms[:, 0]
        for_ngrams = uniforms[:, 1]
        # 2. Paths, all from state 0, by inverting the cumulated transitions of the state before.
        states = np.zeros(for_states.shape, dtype=np.int64)
        cumulated = np.cumsum(self.transitions, axis=1, dtype=np.float64)
        before = np.zeros(len(states), dtype=np.int64)
        for m in range(num_segments):
            for state in np.unique(before):
                is_in_state = before == state
                states[is_in_state, m] = _inverse(cumulated[state], for_states[is_in_state, m])
            before = states[:, m]
        # 3. The n-grams of each state.
        rows = np.empty_like(states)
        for state in np.unique(states):
            is_in_state = states == state
            cumulated_joint = np.cumsum(self.joint[:, state].astype(np.float64))
            rows[is_in_state] = _inverse(cumulated_joint, for_ngrams[is_in_state])
        return list(zip(states, rows, strict=True))

    def tokens_of(self, rows: np.ndarray) -> tuple[str, ...]:
        """The tokens of a sequence of n-grams, one after another.

        Args:
            rows: of the table of n-grams, (M,).
        """
        tokens: list[str] = []
        for row in rows:
            tokens += self.ngrams.text(int(row))
        return tuple(tokens)

    def save(self, folder: Path) -> None:
        """Write ``model.safetensors`` and ``config.json`` into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {
            "transitions": self.transitions,
            "joint": self.joint,
            "keys": self.ngrams.keys,
            "starts": self.ngrams.starts,
            "dropped": self.ngrams.dropped,
        }
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(contiguous, folder / "model.safetensors")
        config = {
            "format": FORMAT,
            "num_states": self.num_states,
            "max_duration": self.max_duration,
            "tokens": list(self.ngrams.tokens),
            "facts": dict(self.facts),
        }
        text = json.dumps(config, indent=1, sort_keys=True) + "\n"
        (folder / "config.json").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "SemiMarkovLM":
        """Load a model that :meth:`save` wrote.

        Raises:
            ArtefactError: no such model, another format, or arrays of another shape.
        """
        # 1. The files.
        where = f"checkpoint {folder.name}"
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            arrays = load_file(folder / "model.safetensors")
        except (OSError, ValueError, SafetensorError) as error:
            raise ArtefactError(
                f"{where}: got {type(error).__name__}, allowed is a folder with config.json and "
                "model.safetensors written by SemiMarkovLM.save; train the model first"
            ) from error
        # 2. Whether all files have this format, and the arrays shapes that fit each other.
        if not isinstance(config, dict) or config.get("format") != FORMAT:
            raise ArtefactError(
                f"{where}: format is not {FORMAT!r}; point to a semi-Markov model or retrain"
            )
        with trained_files(folder, "semi-Markov model"):
            num_states = config["num_states"]
            num_ngrams = len(arrays["keys"])
            shapes = {
                "transitions": (num_states, num_states),
                "joint": (num_ngrams, num_states),
                "starts": (config["max_duration"] + 1,),  # rows at which each length begins
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
    """Sample indices by inverting a cumulative distribution.

    Each is the first index whose cumulated mass exceeds u times the total mass.

    Args:
        cumulated: sums of the masses up to each index, not normalised, (indices,).
        uniforms: u, numbers from 0 to 1, (samples,).

    Returns:
        int64 (samples,).
    """
    # The last index with mass: rounding may not lead beyond it.
    last = np.searchsorted(cumulated, cumulated[-1])
    return np.searchsorted(cumulated, uniforms * cumulated[-1], side="right").clip(max=last)


# deng2022's released vocabularies count <pad> and <unk> inside their limit; here they hold no mass
RESERVED_ROWS = 2
WINDOWS_PER_CHUNK = 4_000_000  # ours: windows sorted at once while counting, 32 MB of keys


@dataclass(frozen=True)
class NgramTable:
    """Numbers the n-grams: first those of length 1, then 2, ... ``max_duration``.

    N-grams of a length are in lexicographic order.

    Attributes:
        tokens: token types in lexicographic order; a token's id is its index.
        keys: packed n-grams, sorted inside each length, uint64 (rows,).
        starts: rows of length n are ``starts[n - 1]:starts[n]``, int64 (max_duration + 1,).
        dropped: distinct n-grams of each length beyond ``max_ngrams``, which have no row, int64
            (max_duration,).
    """

    tokens: tuple[str, ...]
    keys: np.ndarray
    starts: np.ndarray
    dropped: np.ndarray

    @property
    def max_duration(self) -> int:
        """K, the largest number of tokens of an n-gram."""
        return len(self.starts) - 1

    @property
    def rows(self) -> int:
        """G, the number of n-grams."""
        return len(self.keys)

    @property
    def durations(self) -> np.ndarray:
        """Length of each row's n-gram, in tokens; (rows,), int64."""
        return np.repeat(np.arange(1, self.max_duration + 1), np.diff(self.starts))

    @cached_property
    def _ids(self) -> dict[str, int]:
        """Token -> its id."""
        return {token: i for i, token in enumerate(self.tokens)}

    def encode(self, sequence: Sequence[str], where: str = "sequence") -> np.ndarray:
        """Token ids of a sequence, int64 (T,).

        Args:
            sequence: its tokens.
            where: names the sequence in errors.

        Raises:
            InputError: it is empty, or holds a token that the table does not know.
        """
        if not len(sequence):
            raise InputError(
                f"{where}: got no tokens, allowed is one or more; drop the empty document"
            )
        ids = self._ids
        unknown = [token for token in sequence if token not in ids]
        if unknown:
            raise InputError(
                f"{where}: token {unknown[0]!r} is not one of the {len(ids)} of this table; "
                "refit or drop it"
            )
        return np.array([ids[token] for token in sequence], dtype=np.int64)

    def index(self, ids: np.ndarray) -> np.ndarray:
        """Row of each window of a sequence.

        Args:
            ids: token ids, (T,).

        Returns:
            int32 (T, max_duration): entry ``[t, n - 1]`` is the row of ``ids[t:t + n]``, -1 where
            the table does not have it or it would pass the end.
        """
        rows = np.full((len(ids), self.max_duration), -1, dtype=np.int32)
        base = np.uint64(len(self.tokens))
        _lookup(np.asarray(ids, dtype=np.uint64), base, self.keys, self.starts, rows)
        return rows

    def text(self, row: int) -> tuple[str, ...]:
        """The tokens of a row's n-gram."""
        # starts[length - 1] <= row < starts[length]; a key is a number in base len(tokens).
        length = int(np.searchsorted(self.starts, row, side="right"))
        key = int(self.keys[row])
        tokens = []
        for _ in range(length):
            key, last = divmod(key, len(self.tokens))
            tokens.append(self.tokens[last])
        return tuple(reversed(tokens))


def build_ngrams(
    sequences: Sequence[Sequence[str]], *, max_duration: int, max_ngrams: int = 250_000
) -> NgramTable:
    """Count the windows of every length and take the most frequent.

    Args:
        sequences: of tokens.
        max_duration: longest window (11 tokens in deng2022, section 5.1).
        max_ngrams: rows of each length; deng2022's two reserved ones are among them, so the table
            has ``max_ngrams - 2`` n-grams. Ties are broken lexicographically (released code).

    Raises:
        InputError: no sequences.
        ConfigError: n-grams that do not fit a 64-bit key.
    """
    if not len(sequences):
        raise InputError(
            "n-grams: got a corpus of 0 sequences, allowed is one or more; check the split"
        )
    tokens = tuple(sorted(set(itertools.chain.from_iterable(sequences))))
    if len(tokens) ** max_duration > 2**64:
        raise ConfigError(
            f"n-grams: {len(tokens)} token types to the power {max_duration} exceed a 64-bit key; "
            "lower max_duration"
        )
    # 1. Sequences as token ids.
    ids = {token: i for i, token in enumerate(tokens)}
    encoded = []
    for sequence in sequences:
        encoded.append(np.array([ids[token] for token in sequence], dtype=np.uint64))
    # 2. The most frequent windows, length by length.
    keys: list[np.ndarray] = []
    dropped = []
    for length in range(1, max_duration + 1):
        frequent, num_dropped = _frequent(encoded, length, len(tokens), max_ngrams - RESERVED_ROWS)
        keys.append(frequent)
        dropped.append(num_dropped)
    starts = np.concatenate([[0], np.cumsum(list(map(len, keys)))]).astype(np.int64)
    return NgramTable(tokens, np.concatenate(keys), starts, np.array(dropped, dtype=np.int64))


def _frequent(
    sequences: Sequence[np.ndarray], length: int, base: int, limit: int
) -> tuple[np.ndarray, int]:
    """The most frequent windows of one length.

    Args:
        sequences: token ids of each sequence, uint64 (T,).
        length: tokens of a window.
        base: base of the keys, the number of token types.
        limit: largest number of windows.

    Returns:
        Their keys, sorted, uint64; and the number of distinct windows beyond the limit.
    """
    # 1. Distinct windows and how often each occurs, chunk by chunk.
    keys = np.zeros(0, np.uint64)
    counts = np.zeros(0, np.int64)
    for chunk in _window_chunks(sequences, length, base):
        new_keys, new_counts = np.unique(chunk, return_counts=True)
        if len(keys):
            both_counts = np.concatenate([counts, new_counts])
            both_keys = np.concatenate([keys, new_keys])
            new_keys, rows = np.unique(both_keys, return_inverse=True)
            summed = np.bincount(rows, weights=both_counts, minlength=len(new_keys))
            new_counts = summed.astype(np.int64)
        keys = new_keys
        counts = new_counts
    if len(keys) <= limit:
        return keys, 0
    # 2. The most frequent; keys are sorted, so ties fall lexicographically.
    most_frequent = np.argsort(-counts, kind="stable")[:limit]
    return np.sort(keys[most_frequent]), len(keys) - limit


def _window_chunks(sequences: Sequence[np.ndarray], length: int, base: int) -> Iterator[np.ndarray]:
    """Yield the keys of all windows of one length, ``WINDOWS_PER_CHUNK`` or more at a time."""
    chunk: list[np.ndarray] = []
    num_windows = 0
    for ids in sequences:
        if len(ids) < length:
            continue
        keys = np.zeros(len(ids) - length + 1, dtype=np.uint64)
        for offset in range(length):
            keys = keys * np.uint64(base) + ids[offset : offset + len(keys)]
        chunk.append(keys)
        num_windows += len(keys)
        # enough to sort at once
        if num_windows >= WINDOWS_PER_CHUNK:
            yield np.concatenate(chunk)
            chunk = []
            num_windows = 0
    if chunk:
        yield np.concatenate(chunk)


@njit(cache=True, nogil=True)
def _lookup(ids, base, keys, starts, rows):  # pragma: no cover - compiled
    """Find the table's row of every window of a sequence, by binary search for the window's key.

    A key is a number whose digits in ``base`` are the window's ids. Ids are below the base, and
    ``base ** max_duration`` is at most 2^64 (:func:`build_ngrams`), so no key wraps around.

    Args:
        ids: of a sequence's tokens, all of them known to the table, uint64 (T,).
        base: number of token types, uint64.
        keys: of the table's n-grams, uint64 (G,), ascending among those of one length.
        starts: n-grams of n tokens have the keys ``keys[starts[n - 1] : starts[n]]``,
            (max_duration + 1,).
        rows: int32 (T, max_duration), -1 everywhere; receives at [t, n - 1] the row of the n-gram
            of n tokens from t on, where the table has it.
    """
    max_duration = rows.shape[1]
    for t in range(len(ids)):
        key = np.uint64(0)  # not 0: numba computes float64 of an int64 and a uint64
        for n in range(1, min(max_duration, len(ids) - t) + 1):
            key = key * base + ids[t + n - 1]
            low = starts[n - 1]
            high = starts[n]
            while low < high:
                middle = (low + high) // 2
                if keys[middle] < key:
                    low = middle + 1
                else:
                    high = middle
            if low < starts[n] and keys[low] == key:
                rows[t, n - 1] = low
