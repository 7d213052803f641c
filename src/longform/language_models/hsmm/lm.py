"""Hidden semi-Markov language model: states emit whole n-grams, as in deng2022 section 5.1, with an exact likelihood.

A text is a chain of segments. From state z_{m-1} the chain moves to z_m by ``transitions``, and z_m
emits one n-gram, whose length and wording are drawn together from ``joint[:, z_m]``. The likelihood
sums over every segmentation and every state path; the last token ends a segment; how many segments a
text has is not modelled. z_0 is state 0 and emits nothing.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from longform.documents import BadInput
from longform.language_models.hsmm.blocks import ROWS_PER_BLOCK, blocks_of, pack
from longform.language_models.hsmm.ngrams import NgramTable
from longform.language_models.hsmm.paths import Segmentation, draw, tokens_of, viterbi
from longform.language_models.hsmm.scan import Tables, Workspace, full_scans, log_partitions, segment_posteriors

FORMAT = "longform semi-Markov 1"


@dataclass(frozen=True)
class SemiMarkovLM:
    """The model's tables.

    Attributes:
        ngrams: which n-gram each row of ``joint`` is.
        transitions: P(next state | state), rows sum to 1, (C, C).
        joint: P(duration, n-gram | state), columns sum to 1 over all rows, (G, C); float32 or float64.
    """

    ngrams: NgramTable
    transitions: np.ndarray
    joint: np.ndarray

    def __post_init__(self) -> None:
        states = self.transitions.shape[0]
        if self.transitions.shape != (states, states) or self.joint.shape != (self.ngrams.rows, states):
            raise BadInput(
                f"semi-Markov tables: transitions {self.transitions.shape} and joint {self.joint.shape} do not fit "
                f"{self.ngrams.rows} n-grams, allowed (C, C) and (n-grams, C); rebuild them with one num_states"
            )

    @property
    def num_states(self) -> int:
        """C."""
        return self.transitions.shape[0]

    @property
    def max_duration(self) -> int:
        """K, in tokens."""
        return self.ngrams.max_duration

    @property
    def durations(self) -> np.ndarray:
        """P(duration | state): the joint table summed within each length, (K, C) float64."""
        starts = self.ngrams.starts
        return np.stack([self.joint[a:b].sum(axis=0, dtype=np.float64) for a, b in itertools.pairwise(starts)])

    @property
    def tables(self) -> Tables:
        """The tables as the scan reads them."""
        return Tables.of(self.transitions, self.joint)

    def log_likelihood(self, sequences: Sequence, *, rows_per_block: int = ROWS_PER_BLOCK) -> np.ndarray:
        """log P(x) of each sequence in nats, summed over segmentations and states; (N,) float64.

        Args:
            sequences: token strings or token ids of each sequence.
            rows_per_block: positions scanned at once, which bounds the memory (2 vectors of C per position).
        """
        encoded = [self.ngrams.encode(s, f"sequence {i}") for i, s in enumerate(sequences)]
        out, tables, workspace = np.empty(len(encoded)), self.tables, Workspace()
        for members in blocks_of([len(ids) for ids in encoded], rows_per_block):
            out[members] = log_partitions(pack([self.ngrams.index(encoded[i]) for i in members]), tables, workspace)
        return out

    def marginals(self, sequence: Sequence) -> np.ndarray:
        """P(a segment of length k + 1 starts at t in state z | x), (T, K, C)."""
        block = pack([self.ngrams.index(self.ngrams.encode(sequence))])
        return segment_posteriors(full_scans(block, self.tables)[-1])

    def mixed(self, weight: float) -> SemiMarkovLM:
        """(1 - weight) of the tables and ``weight`` of uniform ones: next states, lengths, n-grams of a length.

        EM leaves at zero what training never used, so an unseen text could have no path; the paper's softmax
        tables never reach zero. Every single token of the vocabulary gets some mass, so every text gets a path.
        """
        sizes = np.diff(self.ngrams.starts)
        uniform = 1 / (np.count_nonzero(sizes) * sizes[self.ngrams.durations - 1])
        joint = self.joint * (1 - weight)
        joint += (weight * uniform)[:, None].astype(joint.dtype)
        transitions = self.transitions * (1 - weight) + weight / self.num_states
        return SemiMarkovLM(self.ngrams, transitions.astype(self.transitions.dtype), joint)

    def viterbi(self, sequence: Sequence) -> Segmentation:
        """See :func:`longform.language_models.hsmm.paths.viterbi`."""
        return viterbi(self, sequence)

    def sample(self, num_segments: int, rng: np.random.Generator) -> tuple[str, ...]:
        """Tokens of one random text of ``num_segments`` segments; for many texts use ``semi_markov_paths.draw``."""
        return tokens_of(self, draw(self, num_segments, [rng])[0])

    def save(self, folder: Path) -> None:
        """Write ``model.safetensors`` and ``config.json`` into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {"transitions": self.transitions, "joint": self.joint, "keys": self.ngrams.keys}
        arrays |= {"starts": self.ngrams.starts, "capped": self.ngrams.capped}
        save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, folder / "model.safetensors")
        config = {"format": FORMAT, "num_states": self.num_states, "max_duration": self.max_duration}
        text = json.dumps(config | {"tokens": list(self.ngrams.tokens)}, indent=1, sort_keys=True)
        (folder / "config.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, *, num_states: int | None = None, max_duration: int | None = None) -> SemiMarkovLM:
        """Read what :meth:`save` wrote, and check it against the shape that the caller expects.

        Raises:
            BadInput: no such model, another format, or another ``num_states`` or ``max_duration``.
        """
        config, arrays = _read(folder)
        for name, want in (("num_states", num_states), ("max_duration", max_duration)):
            if want is not None and config[name] != want:
                raise BadInput(
                    f"checkpoint {folder.name}: {name} is {config[name]}, allowed is {want}; "
                    f"set {name} to {config[name]} or retrain"
                )
        _check_shapes(folder, config, arrays)
        ngrams = NgramTable(tuple(config["tokens"]), arrays["keys"], arrays["starts"], arrays["capped"])
        return cls(ngrams, arrays["transitions"], arrays["joint"])


def _read(folder: Path) -> tuple[dict, dict[str, np.ndarray]]:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        arrays = load_file(folder / "model.safetensors")
    except (OSError, ValueError, SafetensorError) as error:
        raise BadInput(
            f"checkpoint {folder.name}: got {type(error).__name__}, allowed is a folder with config.json and "
            "model.safetensors written by SemiMarkovLM.save; train the model first"
        ) from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise BadInput(f"checkpoint {folder.name}: format is not {FORMAT!r}; point to a semi-Markov model or retrain")
    return config, arrays


def _check_shapes(folder: Path, config: dict, arrays: dict[str, np.ndarray]) -> None:
    states, rows = config["num_states"], len(arrays["keys"])
    want = {"transitions": (states, states), "joint": (rows, states), "starts": (config["max_duration"] + 1,)}
    for name, shape in want.items():
        if arrays[name].shape != shape:
            raise BadInput(f"checkpoint {folder.name}: {name} is {arrays[name].shape}, allowed {shape}; retrain it")
