r"""Next-token log-probabilities of many rows: $\log p(x_t \mid x_{<t})$ for $t = 2..T$, batched by length under a token budget.

Rows that share a prefix are packed into trees: under a mask that shows each node its ancestors, with its depth as position, a causal
model reads every row as if it stood alone. The output layer sees only positions that predict something.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from longform.core.documents import BadInput

MIN_SHARED = 0.2  # of a row: below this, mask and bookkeeping cost more than the tokens saved (measured on CPU)
TREE_NODES = 512  # attention is quadratic in the nodes of a tree
POSITIONS = 256  # output rows at a time: 256 x 16k float32 logits stay in a core's cache share; 2,048 do not
READS_TREES = frozenset({"gpt2", "gpt_neox", "llama", "qwen2"})  # attend as a 4-D mask says, positions as given; tested
REPORT_SECONDS = 10


@dataclass
class Tree:
    """Rows that share a prefix."""

    tokens: list[int] = field(default_factory=list)  # of each node
    runs: list[tuple[int, int]] = field(default_factory=list)  # first node of every branch, its parent; -1 at the root
    rows: list[tuple[int, np.ndarray]] = field(default_factory=list)  # number of each row, its nodes from the root on

    @property
    def parents(self) -> np.ndarray:
        """Parent of every node, int64, -1 at the root."""
        parents = np.arange(-1, len(self.tokens) - 1)
        for first, parent in self.runs:
            parents[first] = parent
        return parents

    def depths(self) -> np.ndarray:
        """Distance of every node from the root: its position in its row."""
        depths = np.arange(len(self.tokens))
        for first, parent in self.runs[1:]:
            depths[first:] += depths[parent] + 1 - depths[first]
        return depths

    def ancestors(self) -> np.ndarray:
        """Boolean (nodes, nodes): whether the column is the row's node or one of its ancestors."""
        size = len(self.tokens)
        seen = np.tri(size, dtype=bool)
        stops = [first for first, _ in self.runs[1:]] + [size]
        for (first, parent), stop in zip(self.runs[1:], stops[1:], strict=True):
            seen[first:stop, :first] = seen[parent, :first]
        return seen

    def add(self, index: int, row: tuple[int, ...], common: int) -> None:
        """Hang on a row that shares its first ``common`` tokens with the row added last."""
        shared = self.rows[-1][1][:common] if self.rows else np.zeros(0, dtype=np.int64)
        first = len(self.tokens)
        self.tokens += row[common:]
        if len(row) > common:
            self.runs.append((first, int(shared[-1]) if common else -1))
        self.rows.append((index, np.concatenate([shared, np.arange(first, len(self.tokens))])))


def grow(rows: Sequence[tuple[int, ...]], share: bool) -> list[Tree]:
    """Every row in one tree; equal rows always share, others only if ``share`` is true and it pays.

    Rows are taken in lexicographic order, in which the longest common prefix with any earlier row is the one with
    the row just before.
    """
    trees: list[Tree] = []
    last: tuple[int, ...] = ()
    longest = 0
    for index, row in sorted(enumerate(rows), key=lambda held: held[1]):
        common = common_prefix(row, last)
        nodes = len(trees[-1].tokens) + len(row) - common if trees else 0
        pays = common >= max(1, MIN_SHARED * len(row)) and nodes <= max(TREE_NODES, 2 * longest)
        if not trees or not (row == last or (share and pays)):
            trees.append(Tree())
            common = longest = 0
        trees[-1].add(index, row, common)
        last, longest = row, max(longest, len(row))
    return trees


def common_prefix(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """How many leading tokens two rows share."""
    length = min(len(first), len(second))
    differ = np.flatnonzero(np.asarray(first[:length]) != np.asarray(second[:length]))
    return int(differ[0]) if len(differ) else length


def batches(trees: Sequence[Tree], budget: int) -> Iterator[list[Tree]]:
    """Trees of similar size together, at most ``budget`` padded tokens a batch; plain rows apart from branched ones."""
    for branched in (False, True):
        batch: list[Tree] = []
        for tree in sorted((t for t in trees if (len(t.runs) > 1) == branched), key=lambda t: len(t.tokens)):
            if batch and len(tree.tokens) * (len(batch) + 1) > budget:
                yield batch
                batch = []
            batch.append(tree)
        if batch:
            yield batch


@torch.inference_mode()
def open_reader(network: Any, budget: int = 1024, share: bool = True, label: str = "log-probs") -> "LogProbReader":
    """A reader of a network as it is: its device, its precision; the network is put in evaluation mode.

    The body is what lies below the output layer, the head. A few architectures scale or cap their logits in between: they
    are found by trying three tokens, and then the whole network is the body and nothing is left for the head.
    """
    network.eval()
    base, head = network.base_model, network.get_output_embeddings()
    if head is not None and base is not network:
        ids = torch.arange(3, device=network.device)[None] % network.config.vocab_size
        states, logits = base(input_ids=ids)[0], network(input_ids=ids).logits
        fits = states.shape[-1] == head.weight.shape[-1]
        if fits and torch.allclose(head(states), logits, rtol=1e-3, atol=1e-3):
            return LogProbReader(network, lambda **inputs: base(**inputs)[0], head, budget, share, label)
    return LogProbReader(network, lambda **inputs: network(**inputs).logits, nn.Identity(), budget, share, label)


@dataclass(frozen=True)
class LogProbReader:
    """A causal LM ready to read rows."""

    network: Any  # of transformers, in evaluation mode
    body: Callable[..., torch.Tensor]  # inputs to states
    head: Callable[[torch.Tensor], torch.Tensor]  # states to logits
    budget: int  # padded tokens of a batch; 1,024 is fastest on one CPU core (measured up to 4,096), GPUs want more
    share: bool  # whether rows with common prefixes are read as one tree, by the architectures of ``READS_TREES``
    label: str

    def check(self, rows: Sequence[tuple[int, ...]], names: Sequence[str]) -> None:
        """Refuse rows that the model cannot read whole. Raises BadInput: a row is empty or longer than the window."""
        window = getattr(self.network.config, "max_position_embeddings", None)  # None where it has no limit
        for row, name in zip(rows, names, strict=True):
            if not row:
                raise BadInput(f"{name}: the tokenizer gives no token; give the text at least one word")
            if window is not None and len(row) > window:
                raise BadInput(f"{name}: {len(row)} tokens, the model reads {window}; shorten it or change the model")

    def read(self, rows: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
        """Natural-log probabilities of tokens 2..T of each row, shape (tokens - 1,), float32 (float64 in double)."""
        values: list[np.ndarray] = [np.zeros(0, dtype=np.float32)] * len(rows)
        share = self.share and self.network.config.model_type in READS_TREES
        planned, reported = list(batches(grow(rows, share), self.budget)), time.monotonic()
        for done, batch in enumerate(planned, start=1):
            for tree, log_probs in zip(batch, self._read(batch), strict=True):
                for index, nodes in tree.rows:
                    values[index] = log_probs[nodes[1:]]
            if time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                print(f"{self.label}: {done}/{len(planned)} batches", flush=True)
        return values

    @torch.inference_mode()
    def _read(self, trees: list[Tree]) -> list[np.ndarray]:
        """Log-probability of every node given its ancestors (0 at the roots), one array per tree."""
        sizes = [len(tree.tokens) for tree in trees]
        width, branched = max(sizes), len(trees[0].runs) > 1
        ids, positions = np.zeros((2, len(trees), width), dtype=np.int64)
        seen = np.repeat(np.eye(width, dtype=bool)[None], len(trees) if branched else 0, axis=0)
        for row, (tree, size) in enumerate(zip(trees, sizes, strict=True)):
            ids[row, :size] = tree.tokens
            if branched:
                seen[row, :size, :size], positions[row, :size] = tree.ancestors(), tree.depths()
        inputs = {"input_ids": torch.from_numpy(ids)}
        if branched:  # an additive mask in which each node sees itself and its ancestors
            dtype = self.network.dtype
            mask = torch.zeros((len(trees), 1, width, width), dtype=dtype)
            mask[~torch.from_numpy(seen)[:, None]] = torch.finfo(dtype).min
            inputs |= {"attention_mask": mask, "position_ids": torch.from_numpy(positions)}
        inputs = {name: value.to(self.network.device) for name, value in inputs.items()}
        hidden = self.body(**inputs, use_cache=False).flatten(0, 1)
        starts = np.repeat(np.arange(len(trees)) * width, sizes)
        parents = np.concatenate([tree.parents for tree in trees])
        tokens = np.concatenate([tree.tokens for tree in trees]).astype(np.int64)
        inner = parents >= 0
        values = np.zeros(len(tokens), dtype=np.float64 if hidden.dtype == torch.float64 else np.float32)
        values[inner] = self._targets(hidden, (starts + parents)[inner], tokens[inner])
        return np.split(values, np.cumsum(sizes)[:-1])

    def _targets(self, hidden: torch.Tensor, parents: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Log-probability of each token after the hidden state of its parent; each state meets the head once."""
        states, state_of = np.unique(parents, return_inverse=True)
        order = np.argsort(state_of, kind="stable")
        cuts = np.searchsorted(state_of[order], np.arange(0, len(states), POSITIONS))
        values = np.zeros(len(parents), dtype=np.float64)
        for block, chosen in enumerate(np.split(order, cuts[1:]) if len(parents) else []):
            first = block * POSITIONS
            logits = self.head(hidden[torch.from_numpy(states[first : first + POSITIONS]).to(hidden.device)])
            logits = logits if logits.dtype == torch.float64 else logits.float()
            rows = torch.from_numpy(state_of[chosen] - first)
            picked = logits[rows, torch.from_numpy(tokens[chosen])] - logits.logsumexp(-1)[rows]
            values[chosen] = picked.cpu().numpy()
        return values
