r"""Next-token log-probabilities of many rows: $\log p(x_t \mid x_{<t})$ for $t = 2..T$.

Rows are batched by length under a budget of tokens. Those that share a prefix are packed into
trees: under a mask that shows each node its ancestors, with its depth as position, a causal model
reads every row as if it stood alone. The output layer sees only positions that predict something.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from longform.errors import BadInput
from longform.language_models import capacity

# Least share of a row in its shared prefix: below it, mask and bookkeeping cost more than the
# tokens saved (measured on CPU).
MIN_SHARED = 0.2
TREE_NODES = 512  # most nodes of a tree, in which attention is quadratic
# Most padded tokens of a batch, whatever the model could read: 16 windows of GPT-2.
MOST_TOKENS = 16_384
LOGITS_BYTES = 2**28  # most of a batch, where a network returns the logits of all positions
# Output rows at a time: 256 x 16k float32 logits stay in a core's cache share; 2,048 do not.
POSITIONS = 256
# Types of networks tested to do what a tree needs: attend as a 4-D mask says, at given positions.
READS_TREES = frozenset({"gpt2", "gpt_neox", "llama", "qwen2"})
# Tolerance for logits computed in two ways; it is small, so that a cap on logits still shows.
SAME_LOGITS = 1e-6
REPORT_SECONDS = 10


@dataclass
class Tree:
    """Rows that share a prefix, as a tree with a token at each node.

    Attributes:
        tokens: token of each node.
        runs: (first node, its parent) of each branch, whose nodes are consecutive; the root's
            parent is -1.
        rows: (index, nodes) of each row, its nodes from the root on.
    """

    tokens: list[int] = field(default_factory=list)
    runs: list[tuple[int, int]] = field(default_factory=list)
    rows: list[tuple[int, np.ndarray]] = field(default_factory=list)

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
        """Whether node j is node i or an ancestor of it, bool (nodes i, nodes j)."""
        size = len(self.tokens)
        # All nodes before a node, but those of later branches: before a branch begins only its
        # parent and the parent's ancestors.
        is_ancestor = np.tri(size, dtype=bool)
        stops = [first for first, _ in self.runs[1:]] + [size]
        for (first, parent), stop in zip(self.runs[1:], stops[1:], strict=True):
            is_ancestor[first:stop, :first] = is_ancestor[parent, :first]
        return is_ancestor

    def add(self, index: int, row: tuple[int, ...], common: int) -> None:
        """Add a row that shares its first ``common`` tokens with the row added last."""
        shared = self.rows[-1][1][:common] if self.rows else np.zeros(0, dtype=np.int64)
        first = len(self.tokens)
        self.tokens += row[common:]
        if len(row) > common:
            self.runs.append((first, int(shared[-1]) if common else -1))
        self.rows.append((index, np.concatenate([shared, np.arange(first, len(self.tokens))])))


def grow(rows: Sequence[tuple[int, ...]], share: bool) -> list[Tree]:
    """Group rows with common prefixes into trees.

    Equal rows always share a tree, others only if ``share`` is true and it pays. Rows are taken in
    lexicographic order, in which the longest common prefix with any earlier row is the one with the
    row just before.
    """
    trees: list[Tree] = []
    last: tuple[int, ...] = ()
    longest = 0
    for index, row in sorted(enumerate(rows), key=lambda numbered: numbered[1]):
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
    """Number of leading tokens that two rows share."""
    length = min(len(first), len(second))
    differ = np.flatnonzero(np.asarray(first[:length]) != np.asarray(second[:length]))
    return int(differ[0]) if len(differ) else length


def batches(trees: Sequence[Tree], budget: int, equal: bool) -> Iterator[list[Tree]]:
    """Batch trees of similar size, plain rows apart from branched ones.

    Args:
        trees: trees to read.
        budget: most padded tokens of a batch.
        equal: whether a batch has trees of one size only, for networks whose reading of a row
            depends on the batch's longest.
    """
    for branched in (False, True):
        chosen = [tree for tree in trees if (len(tree.runs) > 1) == branched]
        batch: list[Tree] = []
        for tree in sorted(chosen, key=lambda tree: len(tree.tokens)):
            size = len(tree.tokens)
            full = size * (len(batch) + 1) > budget
            if batch and (full or (equal and size != len(batch[0].tokens))):
                yield batch
                batch = []
            batch.append(tree)
        if batch:
            yield batch


@torch.inference_mode()
def open_reader(
    network: Any, budget: int = 1024, share: bool = True, label: str = "log-probs"
) -> "LogProbReader":
    """Make a reader of a network, on its device and in its precision.

    The network is put in evaluation mode.

    Args:
        network: a causal language model of transformers.
        budget: padded tokens of a batch. Never more than :data:`MOST_TOKENS` are read at once (nor
            more than one row), and fewer where the network gives the logits of all positions, so
            that memory follows the texts and the vocabulary.
        share: whether rows with common prefixes may be read as one tree.
        label: what progress lines begin with.
    """
    network.eval()
    budget = min(budget, MOST_TOKENS)
    parts = split_network(network)
    if parts is not None:
        return LogProbReader(network, *parts, budget, share, label)
    budget = min(budget, max(1, LOGITS_BYTES // (4 * capacity.vocabulary_size(network))))

    def body(**inputs: torch.Tensor) -> torch.Tensor:
        return network(**inputs).logits

    return LogProbReader(network, body, nn.Identity(), budget, share, label)


Body = Callable[..., torch.Tensor]  # inputs to states
Head = Callable[[torch.Tensor], torch.Tensor]  # states to logits


def split_network(network: Any) -> tuple[Body, Head] | None:
    """Split a network into its body, up to the last states, and its head, from them to logits.

    Some architectures multiply their logits (Cohere, Granite) or cap them (Gemma 2:
    $c \\tanh(x / c)$). Which one does is tried on three tokens: only a head that gives the
    network's own logits is taken.

    Returns:
        None where the two cannot be told apart.
    """
    # 1. States and logits of three tokens, or of as many as the network reads.
    base, layer = network.base_model, network.get_output_embeddings()
    if layer is None or base is network:
        return None
    count = capacity.window_size(network, 3)
    ids = torch.arange(count, device=network.device)[None] % capacity.vocabulary_size(network)
    states = base(input_ids=ids, use_cache=False)[0]
    logits = network(input_ids=ids, use_cache=False).logits
    if states.shape[-1] != layer.weight.shape[-1]:
        return None

    def body(**inputs: torch.Tensor) -> torch.Tensor:
        return base(**inputs)[0]

    # 2. Heads that the configuration makes possible.
    config = capacity.text_config(network)
    cap = getattr(config, "final_logit_softcapping", None)
    scale, divisor = getattr(config, "logit_scale", None), getattr(config, "logits_scaling", None)
    heads: list[Head] = [layer]
    if cap:
        heads.append(lambda states: torch.tanh(layer(states) / cap) * cap)
    if scale:
        heads.append(lambda states: layer(states) * scale)
    if divisor:
        heads.append(lambda states: layer(states) / divisor)
    # 3. The head that gives the network's logits.
    for head in heads:
        of_head = head(states).to(logits.dtype)
        if torch.allclose(of_head, logits, rtol=SAME_LOGITS, atol=SAME_LOGITS):
            return body, head
    return None


@dataclass(frozen=True)
class LogProbReader:
    """A causal LM ready to read rows.

    Attributes:
        network: of transformers, in evaluation mode.
        body: the network below its output layer.
        head: its output layer.
        budget: padded tokens of a batch; 1,024 is fastest on one CPU core (measured up to 4,096),
            GPUs want more.
        share: whether rows with common prefixes are read as one tree, if the network can
            (:meth:`reads_trees`).
        label: what progress lines and errors begin with.
    """

    network: Any
    body: "Body"
    head: "Head"
    budget: int
    share: bool
    label: str

    def check(self, rows: Sequence[tuple[int, ...]], names: Sequence[str]) -> None:
        """Refuse rows that the model cannot read whole.

        Args:
            rows: token ids of each text.
            names: name of each, for errors.

        Raises:
            BadInput: a row is empty or longer than the window.
        """
        window = capacity.positions(self.network)
        for row, name in zip(rows, names, strict=True):
            if not row:
                raise BadInput(
                    f"{name}: the tokenizer gives no token; give the text at least one word"
                )
            if window is not None and len(row) > window:
                raise BadInput(
                    f"{name}: {len(row)} tokens, the model reads {window}; "
                    "shorten it or change the model"
                )

    def reads_trees(self, longest: int) -> bool:
        """Whether rows of at most ``longest`` tokens that share a prefix may be read as one tree.

        The caller must allow it (``share``), and a row must be read as if it stood alone. A tree's
        mask shows each node all its ancestors: too many where an attention window is shorter than
        the row. And where rotary angles depend on the batch's longest row (dynamic NTK, LongRoPE),
        a longer row of the tree would change those of a short one.
        """
        if not self.share or self.network.config.model_type not in READS_TREES:
            return False
        window = capacity.sliding_window(self.network)
        return not capacity.turns_by_length(self.network) and (window is None or longest <= window)

    def read(self, rows: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
        """Log-probabilities of tokens 2..T of each row; a row of one token or none has none.

        Returns:
            float32 (tokens - 1,) a row, in nats; float64 of a network in double precision.

        Raises:
            BadInput: a token that the network does not know, or a log-probability that is no
                number.
        """
        values: list[np.ndarray] = [np.zeros(0, dtype=np.float32)] * len(rows)
        numbers = [number for number, row in enumerate(rows) if len(row) > 1]
        scored = [tuple(rows[number]) for number in numbers]  # of the rows with these numbers
        if not scored:
            return values
        self._check_tokens(scored)
        # 1. Some networks keep the rotary angles of the longest row until they read a short one: so
        # one is read. Batches then have rows of one length.
        equal = capacity.turns_by_length(self.network)
        if equal:
            self._tree_log_probs(grow([scored[0][:2]], share=False))
        # 2. Rows by batch.
        share = self.reads_trees(max(map(len, scored)))
        planned = list(batches(grow(scored, share), self.budget, equal))
        reported = time.monotonic()
        for done, batch in enumerate(planned, start=1):
            for tree, log_probs in zip(batch, self._tree_log_probs(batch), strict=True):
                for index, nodes in tree.rows:
                    values[numbers[index]] = log_probs[nodes[1:]]
            if time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                print(f"{self.label}: {done}/{len(planned)} batches", flush=True)
        # 3. Damaged weights give nan.
        if any(np.isnan(row).any() for row in values):
            raise BadInput(
                f"{self.label}: the network gives log-probabilities that are no numbers (nan); "
                "its weights are damaged, or its precision is too low for them: "
                "take another checkpoint"
            )
        return values

    def _check_tokens(self, rows: Sequence[tuple[int, ...]]) -> None:
        """Raises BadInput: a row has a token that the network does not know."""
        largest = max(map(max, rows))
        vocabulary = capacity.vocabulary_size(self.network)
        if largest >= vocabulary:
            raise BadInput(
                f"{self.label}: a text has token {largest}, the network knows tokens 0 to "
                f"{vocabulary - 1}; give the tokenizer that the network was trained with"
            )

    @torch.inference_mode()
    def _tree_log_probs(self, trees: list[Tree]) -> list[np.ndarray]:
        """Log-probability of every node's token given its ancestors, 0 at the roots.

        Returns:
            For each tree, float32 or float64 (nodes,), in nats.
        """
        # 1. States of all nodes, (trees * width, dims): node i of tree k is row k * width + i.
        sizes = [len(tree.tokens) for tree in trees]
        width = max(sizes)
        inputs = {}
        for name, value in self._inputs(trees, width).items():
            inputs[name] = value.to(self.network.device)
        hidden = self.body(**inputs, use_cache=False).flatten(0, 1)
        # 2. Each node but a root is predicted from the state of its parent.
        starts = np.repeat(np.arange(len(trees)) * width, sizes)
        parents = np.concatenate([tree.parents for tree in trees])
        tokens = np.concatenate([tree.tokens for tree in trees]).astype(np.int64)
        has_parent = parents >= 0
        dtype = np.float64 if hidden.dtype == torch.float64 else np.float32
        values = np.zeros(len(tokens), dtype=dtype)
        state_rows = (starts + parents)[has_parent]
        values[has_parent] = self._token_log_probs(hidden, state_rows, tokens[has_parent])
        return np.split(values, np.cumsum(sizes)[:-1])

    def _inputs(self, trees: list[Tree], width: int) -> dict[str, torch.Tensor]:
        """The network's inputs for a batch of trees.

        Args:
            trees: all with branches, or all without, as :func:`batches` keeps them.
            width: nodes of the largest; smaller trees are padded behind with token 0.

        Returns:
            ``input_ids``, int64 (trees, width). With branches also ``attention_mask``,
            (trees, 1, width, width), which is added to the attention of node i (third axis) to node
            j, and ``position_ids``, each node's distance from the root, int64 (trees, width).
        """
        branched = len(trees[0].runs) > 1
        ids = np.zeros((len(trees), width), dtype=np.int64)
        for row, tree in enumerate(trees):
            ids[row, : len(tree.tokens)] = tree.tokens
        inputs = {"input_ids": torch.from_numpy(ids)}
        # Plain rows need no more: a causal model never looks at padding behind a token.
        if not branched:
            return inputs
        # Each node sees itself and its ancestors; padding sees itself, not nothing.
        positions = np.zeros((len(trees), width), dtype=np.int64)
        visible = np.repeat(np.eye(width, dtype=bool)[None], len(trees), axis=0)
        for row, tree in enumerate(trees):
            size = len(tree.tokens)
            visible[row, :size, :size] = tree.ancestors()
            positions[row, :size] = tree.depths()
        dtype = self.network.dtype
        mask = torch.zeros((len(trees), 1, width, width), dtype=dtype)
        mask[~torch.from_numpy(visible)[:, None]] = torch.finfo(dtype).min
        return inputs | {"attention_mask": mask, "position_ids": torch.from_numpy(positions)}

    def _token_log_probs(
        self, hidden: torch.Tensor, parents: np.ndarray, tokens: np.ndarray
    ) -> np.ndarray:
        """Log-probability of each token after the state of its parent.

        The head is applied once to each state, ``POSITIONS`` of them at a time.

        Args:
            hidden: states of the batch's nodes, (nodes, dims).
            parents: row of ``hidden`` of each token's parent, int64 (tokens,).
            tokens: int64 (tokens,).

        Returns:
            float64 (tokens,), in nats.
        """
        values = np.zeros(len(parents), dtype=np.float64)
        # 1. Distinct states, and the tokens of each block of them.
        states, state_of = np.unique(parents, return_inverse=True)
        order = np.argsort(state_of, kind="stable")
        firsts = np.arange(0, len(states), POSITIONS)
        cuts = np.searchsorted(state_of[order], firsts)
        # 2. The logits of each block.
        for first, chosen in zip(firsts.tolist(), np.split(order, cuts[1:]), strict=False):
            block = torch.from_numpy(states[first : first + POSITIONS]).to(hidden.device)
            logits = self.head(hidden[block])
            logits = logits if logits.dtype == torch.float64 else logits.float()
            rows = torch.from_numpy(state_of[chosen] - first)
            of_tokens = logits[rows, torch.from_numpy(tokens[chosen])]
            values[chosen] = (of_tokens - logits.logsumexp(-1)[rows]).cpu().numpy()
        return values
