r"""The hidden semi-Markov model as one class on arrays of token ids.

A document $x_1 \ldots x_T$ is a chain of segments (deng2022 section 5.1 and appendix D). From state
$z_{m-1}$ the chain moves to $z_m$ with $A_{z_{m-1} z_m}$, and $z_m$ writes one n-gram of $k \le K$
tokens, length and wording drawn together with $W_{g, z_m} = P(k, g \mid z_m)$. $z_0$ is state 0 and
writes nothing; the last token ends a segment; the number of segments has no probability. Hence

$$ P(x) = \sum_{\text{segmentations}} \sum_{z_1 \ldots z_M} \prod_m A_{z_{m-1} z_m} W_{g_m, z_m}, $$

summed exactly by the recursions of :mod:`longform.hsmm.compiled`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.errors import ConfigError, InputError, short_repr
from longform.hsmm.compiled import Scan, scan_in_float64
from longform.hsmm.em import Compute, Plan, fit_em
from longform.hsmm.model import SemiMarkovLM
from longform.statistics.random_streams import generator

Documents = Sequence[Any] | np.ndarray


@dataclass(frozen=True)
class Posterior:
    """The posterior distribution of one document's hidden segments.

    Attributes:
        segments: P(a segment of k + 1 tokens in state z starts at token t | x), float64 (T, K, C).
    """

    segments: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """P(a segment starts at token t | x), float64 (T,); 1 at the first token."""
        return self.segments.sum(axis=(1, 2))

    @property
    def states(self) -> np.ndarray:
        """P(token t lies in a segment of state z | x), float64 (T, C); rows sum to one."""
        states = np.zeros((len(self.segments), self.segments.shape[2]))
        # A segment that starts at token t covers the tokens t, ..., t + k.
        for start, by_length in enumerate(self.segments):
            for k, mass in enumerate(by_length):
                states[start : start + k + 1] += mass
        return states

    @property
    def num_segments(self) -> float:
        """Expected number of segments."""
        return float(self.segments.sum())


@dataclass(frozen=True)
class Sample:
    """One document drawn from the model, with the hidden segments that wrote it.

    Attributes:
        tokens: the document, (T,).
        states: state of each segment, int64 (M,).
        durations: tokens of each segment, int64 (M,); they sum to T.
    """

    tokens: np.ndarray
    states: np.ndarray
    durations: np.ndarray


@dataclass(frozen=True)
class HSMM:
    """A hidden semi-Markov model of sequences of tokens.

    Documents are given as a list of 1-D integer arrays of any lengths (or of lists of tokens, words
    among them), or as one padded integer array (N, T) whose rows end where a negative number
    begins, or where ``lengths`` says.

    Attributes:
        num_states: number C of hidden states (800 in deng2022).
        max_duration: largest number K of tokens of a segment (11 in deng2022).
        iterations: passes of EM over the documents, the first with transitions and lengths frozen,
            as in deng2022's pretraining epoch.
        max_ngrams: n-grams of each length that have a probability (250,000 in deng2022), the most
            frequent ones, two reserved rows among them.
        seed: of the random start.
        device: where EM runs, a torch device; results differ by rounding only.
        tables: the fitted probabilities; None before :meth:`fit`.
    """

    num_states: int
    max_duration: int
    iterations: int = 20
    max_ngrams: int = 250_000
    seed: int = 0
    device: str = "cpu"
    tables: SemiMarkovLM | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("num_states", "max_duration", "iterations"):
            value = getattr(self, name)
            if not value >= 1 or value % 1:
                raise ConfigError(f"HSMM: {name} is {value}, allowed is a whole number from 1")

    def fit(self, documents: Documents, lengths: Sequence[int] | None = None) -> "HSMM":
        r"""Maximum likelihood by expectation-maximisation, every E-step exact.

        The M-step is $W = N / \sum_g N$ and $A_{ij} = \xi_{ij} / \sum_j \xi_{ij}$ with the expected
        counts N of segments and $\xi$ of transitions. deng2022 climbs the same likelihood by Adam.

        Args:
            documents, lengths: as the class says; one or more, none empty.

        Returns:
            The fitted model; this one is unchanged.

        Raises InputError: there is no document, or an empty one.
        """
        fitted = fit_em(
            as_sequences(documents, lengths),
            num_states=self.num_states,
            max_duration=self.max_duration,
            max_ngrams=self.max_ngrams,
            plan=Plan(self.iterations),
            seed=self.seed,
            compute=Compute(self.device, dtype="float64"),
        )
        return replace(self, tables=fitted.model)

    def log_prob(self, documents: Documents, lengths: Sequence[int] | None = None) -> np.ndarray:
        """log P(x) of each document in nats, summed over all segmentations and states.

        Args:
            documents, lengths: as the class says; they hold tokens of the documents fitted on.

        Returns:
            float64 (N,), minus infinity where no segmentation explains a document.

        Raises InputError: the model is not fitted, or a document is empty or holds another token.
        """
        return self._fitted().log_likelihood(as_sequences(documents, lengths))

    def posterior(
        self, documents: Documents, lengths: Sequence[int] | None = None
    ) -> list[Posterior]:
        r"""Where segments lie and in which states, given each document.

        $P(\text{segment } (t, k, z) \mid x) = b_t(z) W_{g(t, k), z} \beta_{t+k}(z) / P(x)$, the
        gradient of $\log P(x)$ with respect to $\log W$.

        Args:
            documents, lengths: as for :meth:`log_prob`.

        Returns:
            One :class:`Posterior` a document; all zeros where no segmentation explains it.

        Raises InputError: as :meth:`log_prob`.
        """
        tables = self._fitted()
        posteriors = []
        for number, sequence in enumerate(as_sequences(documents, lengths)):
            ids = tables.ngrams.encode(sequence, f"sequence {number}")
            index = tables.ngrams.index(ids)
            scan, _ = scan_in_float64([index], tables.transitions, tables.joint)
            posteriors.append(Posterior(segment_posterior(scan.backward())))
        return posteriors

    def sample(
        self, num_documents: int, num_segments: int, *, seed: int = 0, stream: str = "sample"
    ) -> list[Sample]:
        """Draw documents of exactly ``num_segments`` segments each (50 in deng2022).

        Args:
            num_documents: number of documents.
            num_segments: segments M of each, from 1.
            seed, stream: name the draw; document i is the same in any number of documents.

        Raises InputError: the model is not fitted.
        """
        tables = self._fitted()
        if num_documents < 1 or num_segments < 1:
            raise ConfigError(
                f"HSMM: num_documents={num_documents} and num_segments={num_segments}; "
                "both must be at least one"
            )
        generators = [generator(seed, stream, number) for number in range(num_documents)]
        durations = tables.ngrams.durations
        samples = []
        for states, rows in tables.draw(num_segments, generators):
            tokens = np.array(tables.tokens_of(rows))
            samples.append(Sample(tokens, states, durations[rows]))
        return samples

    def save(self, folder: Path) -> None:
        """Write ``model.safetensors`` and ``config.json`` into a folder."""
        self._fitted().save(folder)

    @classmethod
    def load(cls, folder: Path) -> "HSMM":
        """Load a model that :meth:`save` or the pipeline's training wrote.

        Raises ArtefactError: there is no such model, or it is damaged.
        """
        tables = SemiMarkovLM.load(folder)
        return cls(tables.num_states, tables.max_duration, tables=tables)

    def _fitted(self) -> SemiMarkovLM:
        """The fitted tables. Raises InputError: there are none."""
        if self.tables is None:
            raise InputError("HSMM is not fitted; call fit(documents), use what it returns")
        return self.tables


def as_sequences(documents: Documents, lengths: Sequence[int] | None = None) -> list[list[Any]]:
    """Documents as lists of tokens, padding removed.

    Args:
        documents: sequences of tokens, or a padded integer array (N, T).
        lengths: tokens of each row of a padded array; by default a row ends before its first
            negative number.

    Raises InputError: no documents, text that is not split into tokens, or padding that is none.
    """
    if isinstance(documents, np.ndarray) and documents.dtype != object:
        return _without_padding(documents, lengths)
    if lengths is not None:
        raise InputError(
            "HSMM: lengths belong to a padded array; a list has documents of any length"
        )
    sequences = []
    for document in documents:
        if isinstance(document, str) or not hasattr(document, "__iter__"):
            raise InputError(
                f"HSMM: a document is {short_repr(document)}; "
                "give a list of documents, each a sequence of tokens"
            )
        is_array = isinstance(document, np.ndarray)
        sequences.append(document.tolist() if is_array else list(document))
    return sequences


def _without_padding(documents: np.ndarray, lengths: Sequence[int] | None) -> list[list[int]]:
    """Rows of a padded array as lists of tokens; arguments, errors as :func:`as_sequences`."""
    if documents.ndim != 2 or not np.issubdtype(documents.dtype, np.integer):
        raise InputError(
            f"HSMM: documents are {documents.dtype} of shape {documents.shape}; "
            "give a list of arrays or a padded integer array (N, T)"
        )
    rows, width = documents.shape
    if lengths is None:
        # A row ends before its first negative number; without one it is full.
        is_padding = np.pad(documents < 0, ((0, 0), (0, 1)), constant_values=True)
        lengths = is_padding.argmax(axis=1).tolist()
        inside = np.arange(width) < np.array(lengths)[:, None]
        if np.any((documents >= 0) & ~inside):
            raise InputError("HSMM: a negative number stands before a token; pad at the end only")
    all_fit = all(0 <= length <= width and not length % 1 for length in lengths)
    if len(lengths) != rows or not all_fit:
        raise InputError(
            f"HSMM: lengths {short_repr(list(lengths))} for documents of shape {documents.shape}; "
            f"give each row one whole number from 0 to {width}"
        )
    return [row[: int(length)].tolist() for row, length in zip(documents, lengths, strict=True)]


def segment_posterior(scan: Scan) -> np.ndarray:
    """P(segment | x) of the one document of a scan that ran forward and backward.

    Returns:
        float64 (T, K, C): by first token, length less one, and state.
    """
    tokens, longest = len(scan.index) - 1, scan.index.shape[1]
    states = scan.tables.joint.shape[1]
    posterior = np.zeros((tokens, longest, states))
    log_partition = scan.log_partition[0]
    if not np.isfinite(log_partition):
        return posterior
    # Logarithms of b, W and beta, with their scales: a product of the numbers could underflow.
    with np.errstate(divide="ignore"):
        log_before = np.log(scan.before) + scan.forward_scales[:, None]
        log_after = np.log(scan.after) + scan.backward_scales[:, None]
        log_joint = np.log(scan.tables.joint)
    for start in range(tokens):
        for k in range(min(longest, tokens - start)):
            row = scan.index[start, k]
            if row >= 0:
                log_mass = log_before[start] + log_joint[row] + log_after[start + k + 1]
                posterior[start, k] = np.exp(log_mass - log_partition)
    return posterior
