"""A training loop that costs the host next to nothing.

On a GPU an update is recorded once as a CUDA graph and then replayed: an update of a small network
is hundreds of kernels of microseconds each, which Python cannot launch that fast. All that an
update needs lies on the device: texts, the order in which they are met, learning rates, the number
of the update. So a replay takes no argument. On a processor, and with ``record=False``, the same
function runs as it is.
"""

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector
from transformers import GPT2Config, GPT2LMHeadModel

from longform.statistics.random_streams import derived_seed, generator

IGNORED = -100  # torch's label for "no loss here"
ROUND = 32  # rows are padded to a multiple: a graph for each width that occurs
PLAIN = 3  # updates of a width before it is recorded, in which libraries allocate what they need
CHECK_WIDTH = 256  # rows of a validation batch on a GPU
# Ours: rounding parts two trainings by a few hundredths, updates on wrong texts by about 1.
ALLOWED_GAP = 0.2
# Ours, nats: two dropout masks part a small network's losses by about 0.01.
SEEN_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes:
        batch: texts of an update.
        updates: of the training.
        rate: peak of the learning rate.
        warmup: updates over which it rises, linearly; then it falls with the square root of the
            update.
        betas, weight_decay: AdamW's.
    """

    batch: int
    updates: int
    rate: float
    warmup: int
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 1e-4

    def rates(self, first: int, last: int) -> np.ndarray:
        """Learning rates of updates ``first`` to ``last - 1``: fairseq's inverse square root.

        Updates are counted from 0.
        """
        number = np.arange(first, last) + 1.0
        return self.rate * np.minimum(number / self.warmup, np.sqrt(self.warmup / number))


class Rows:
    """Texts as rows of token ids on a device, padded to the longest."""

    def __init__(self, rows: Sequence[Sequence[int]], device: torch.device) -> None:
        self.lengths = np.array([len(row) for row in rows])
        padded = np.zeros((len(rows), _rounded(int(self.lengths.max()))), dtype=np.int64)
        for index, row in enumerate(rows):
            padded[index, : len(row)] = row
        self.ids = torch.from_numpy(padded).to(device)
        self.sizes = torch.from_numpy(self.lengths).to(device)

    @property
    def predictions(self) -> int:
        """Tokens that carry loss: all but the first of each text."""
        return int(self.lengths.sum() - len(self.lengths))

    def batch(self, numbers: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and labels, int64 (batch, width - 1), of texts by number.

        There is no label beyond the end of a text.
        """
        ids = self.ids.index_select(0, numbers)[:, :width]
        sizes = self.sizes.index_select(0, numbers)
        positions = torch.arange(1, width, device=ids.device)
        is_padding = positions[None] >= sizes[:, None]
        return ids[:, :-1], ids[:, 1:].masked_fill(is_padding, IGNORED)


def _rounded(length: int) -> int:
    return -(-length // ROUND) * ROUND


def gpt2_logits(network: Any, ids: torch.Tensor) -> torch.Tensor:
    """Logits of a GPT-2 after every token, through its blocks alone.

    Its own ``forward`` builds a mask while a graph is recorded; without one the attention is causal
    by itself, and what stands behind the end of a row reaches nothing before it.
    """
    body = network.transformer
    positions = torch.arange(ids.shape[1], device=ids.device)
    states = body.drop(body.wte(ids) + body.wpe(positions))
    for block in body.h:
        output = block(states)
        states = output[0] if isinstance(output, tuple) else output
    return network.lm_head(body.ln_f(states))


def network_logits(network: Any, ids: torch.Tensor) -> torch.Tensor:
    """Logits of any causal network of transformers."""
    return network(input_ids=ids, use_cache=False).logits


class Training:
    """A network in training.

    :meth:`advance` makes updates, :meth:`state` is all that a later call goes on from.

    Attributes:
        update: updates done.
        counter: updates done since :meth:`advance` began, int64 (1,), on the device.
        loss: their losses summed, on the device.
        rate: the learning rate of the current update, on the device.
        order: numbers of the texts of the coming updates, int64 (updates, batch), on the device.
        rates: their learning rates, on the device.
    """

    def __init__(
        self,
        network: Any,
        rows: Rows,
        recipe: Recipe,
        seed: int,
        *,
        record: bool = False,
        logits_of: Callable[[Any, torch.Tensor], torch.Tensor] = gpt2_logits,
    ) -> None:
        """
        Args:
            network: a causal language model on its device, in float32; autocast gives bfloat16
                products on a GPU.
            rows: its texts.
            recipe: how it is trained.
            seed: of the order of texts and of dropout.
            record: whether updates are recorded as CUDA graphs, which needs a GPU.
            logits_of: of the network and token ids, logits after every token.
        """
        self.network = network
        self.rows = rows
        self.recipe = recipe
        self.seed = seed
        self.logits_of = logits_of
        self.device = rows.ids.device
        self.recorder = Recorder(self.device) if record else None
        # What an update reads and writes.
        self.update = 0
        self.counter = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.loss = torch.zeros((), dtype=torch.float64, device=self.device)
        self.rate = torch.zeros((), device=self.device)
        self.optimizer = torch.optim.AdamW(
            [weight for weight in network.parameters() if weight.requires_grad],
            lr=self.rate,
            betas=recipe.betas,
            weight_decay=recipe.weight_decay,
            fused=True,
            capturable=self.device.type == "cuda",
        )
        self.order = torch.zeros(0, recipe.batch, dtype=torch.int64, device=self.device)
        self.rates = torch.zeros(0, device=self.device)

    def advance(self, updates: int) -> float:
        """Make so many updates.

        What they see is a function of the seed and the update's number, so that a training that was
        cut off goes on alike from a saved state (dropout is seeded at each call: begin calls at the
        same updates).

        Returns:
            The mean training loss in nats a token.
        """
        # What the updates read.
        first, last = self.update, self.update + updates
        numbers = self._texts(first, last)
        widths = [_rounded(int(self.rows.lengths[row].max())) for row in numbers]
        self._fill(numbers, self.recipe.rates(first, last))
        torch.manual_seed(derived_seed(self.seed, "updates from", first))
        self.network.train()
        self.counter.zero_()
        self.loss.zero_()
        # The updates, launched or recorded.
        if self.recorder is None:
            for width in widths:
                self._step(width)
        else:
            self.recorder.begin()
            for width in widths:
                self.recorder.run(width, partial(self._step, width))
            self.recorder.finish()
        self.update = last
        return float(self.loss) / updates

    def _texts(self, first: int, last: int) -> np.ndarray:
        """Numbers of the texts of updates ``first`` to ``last - 1``, (updates, batch).

        Each pass over the texts is a new permutation.
        """
        texts, batch = len(self.rows.lengths), self.recipe.batch
        draws = np.arange(first * batch, last * batch)
        passes, ranks = np.divmod(draws, texts)
        numbers = np.empty(len(draws), dtype=np.int64)
        for number in np.unique(passes):
            order = generator(self.seed, "order", int(number)).permutation(texts)
            inside = passes == number
            numbers[inside] = order[ranks[inside]]
        return numbers.reshape(-1, batch)

    def _fill(self, numbers: np.ndarray, rates: np.ndarray) -> None:
        """Put what the next updates read where a recorded update looks for it.

        That is in place if there is room.
        """
        updates, batch = numbers.shape
        if len(self.order) < updates:
            self.order = torch.zeros(updates, batch, dtype=torch.int64, device=self.device)
            self.rates = torch.zeros(updates, device=self.device)
            if self.recorder is not None:
                self.recorder.forget()
        self.order[:updates] = torch.from_numpy(numbers)
        self.rates[:updates] = torch.from_numpy(rates).float()

    def _step(self, width: int) -> None:
        """One update; every tensor that outlives it is written in place."""
        numbers = self.order.index_select(0, self.counter)[0]
        inputs, labels = self.rows.batch(numbers, width)
        loss = self._loss(inputs, labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.rate.copy_(self.rates.index_select(0, self.counter)[0])
        self.optimizer.step()
        self.loss += loss.detach()
        self.counter += 1

    def _loss(self, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean nats a token."""
        half = self.device.type == "cuda"
        # A graph makes its own halves of the weights: a cache would have an earlier update's.
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half, cache_enabled=False):
            logits = self.logits_of(self.network, inputs)
        return cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=IGNORED)

    @torch.no_grad()
    def held_out_loss(self, rows: Rows, dropout: bool = False) -> float:
        """Mean nats a token of other texts, without dropout or with one mask a batch."""
        self.network.train(dropout)
        torch.manual_seed(derived_seed(self.seed, "held out", self.update))
        total = 0.0
        for start in range(0, len(rows.lengths), CHECK_WIDTH):
            stop = min(start + CHECK_WIDTH, len(rows.lengths))
            width = int(rows.lengths[start:stop].max())
            inputs, labels = rows.batch(torch.arange(start, stop, device=self.device), width)
            predictions = int(rows.lengths[start:stop].sum()) - (stop - start)
            total += float(self._loss(inputs, labels)) * predictions
        return total / rows.predictions

    def state(self) -> dict[str, Any]:
        """Weights, optimizer and the number of updates."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "update": self.update,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state` gave."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate  # loading puts a copy in its place, to which no update writes
        self.update = state["update"]


def recording_gap(device: torch.device, record: Callable[[torch.device], "Recorder"]) -> float:
    """How far recorded updates lead from launched ones, as a share of the way that these go.

    It is near 0, or recording is broken. A small GPT-2 is trained twice on the same texts; rounding
    alone may part the two.
    """
    # Texts and a network.
    rng = generator("recording gap")
    texts = []
    for _ in range(16):
        inner = np.sort(rng.integers(1, 20, 30))
        texts.append([0, *inner.tolist(), 0])
    torch.manual_seed(0)
    untrained = _small_network(dropout=0.0).to(device)
    start = parameters_to_vector(untrained.parameters()).detach().clone()
    # The weights after a training of either kind.
    ends = []
    for recorder in (None, record(device)):
        network = copy.deepcopy(untrained)
        training = Training(network, Rows(texts, device), Recipe(4, 40, 1e-3, 10), seed=0)
        training.recorder = recorder
        for _ in range(2):
            training.advance(20)
        ends.append(parameters_to_vector(network.parameters()).detach())
    launched, recorded = ends
    return float((recorded - launched).norm() / (launched - start).norm())


def _small_network(dropout: float) -> GPT2LMHeadModel:
    """A GPT-2 of two layers with random weights."""
    sizes = {"n_layer": 2, "n_head": 2, "n_embd": 32, "n_positions": 64, "vocab_size": 20}
    drops = {"resid_pdrop": dropout, "embd_pdrop": dropout, "attn_pdrop": 0.0}
    return GPT2LMHeadModel(GPT2Config(**sizes, **drops, bos_token_id=0, eos_token_id=0))


@dataclass(frozen=True)
class MaskCheck:
    """How far the losses of two replays of one update lie apart, in nats.

    They have the same texts and the same weights.
    """

    with_dropout: float
    without: float

    @property
    def passes(self) -> bool:
        """Whether a replay draws a new mask, and nothing else differs."""
        return self.with_dropout > SEEN_DIFFERENCE and self.without < SEEN_DIFFERENCE / 100


def mask_check(device: torch.device, record: Callable[[torch.device], "Recorder"]) -> MaskCheck:
    """Whether each replay of a recorded update draws a dropout mask of its own."""
    return MaskCheck(
        with_dropout=_gap_of_two_replays(device, record(device), dropout=0.3),
        without=_gap_of_two_replays(device, record(device), dropout=0.0),
    )


def _gap_of_two_replays(device: torch.device, recorder: "Recorder", dropout: float) -> float:
    """How far the losses of two replays of one recorded update lie apart, in nats.

    Args:
        device: a GPU.
        recorder: of updates.
        dropout: of the network; at 0 replays are equal.
    """
    # 1. A training at rate 0, so that weights stay, on copies of one text, so that texts do too.
    text = [0, *(number % 19 + 1 for number in range(30)), 0]
    torch.manual_seed(0)
    network = _small_network(dropout).to(device)
    training = Training(network, Rows([text] * 4, device), Recipe(4, 40, 0.0, 10), seed=0)
    training.recorder = recorder
    # 2. Updates until one is recorded.
    training.advance(PLAIN + 1)
    # 3. Two replays, with no seed set between them.
    width = _rounded(len(text))
    losses = []
    for _ in range(2):
        training.counter.zero_()
        training.loss.zero_()
        recorder.begin()
        recorder.run(width, partial(training._step, width))
        recorder.finish()
        losses.append(float(training.loss))
    return abs(losses[1] - losses[0])


class Recorder:
    """Runs work on a stream of its own.

    Work of a kind that came ``PLAIN`` times is recorded as a graph and replayed.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.graphs: dict[int, Any] = {}
        self.met: Counter[int] = Counter()
        self.open()

    def open(self) -> None:
        """Make the stream."""
        self.stream = torch.cuda.Stream(self.device)

    def begin(self) -> None:
        """Let the work wait for what is queued."""
        self.stream.wait_stream(torch.cuda.current_stream(self.device))

    def finish(self) -> None:
        """Let what is queued next wait for the work."""
        torch.cuda.current_stream(self.device).wait_stream(self.stream)

    def run(self, kind: int, work: Callable[[], None]) -> None:
        """Do the work once.

        Args:
            kind: names what of it never changes, such as the shape of its arrays.
            work: that is done.
        """
        self.met[kind] += 1
        if self.met[kind] <= PLAIN:
            self.plain(work)
            return
        if kind not in self.graphs:
            self.graphs[kind] = self.recorded(work)
        self.replay(self.graphs[kind])

    def plain(self, work: Callable[[], None]) -> None:
        """Do it as it is."""
        with torch.cuda.stream(self.stream):
            work()

    def recorded(self, work: Callable[[], None]) -> Any:
        """A graph of the work, which is not carried out while it is recorded."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            work()
        return graph

    def replay(self, graph: Any) -> None:
        """Carry out a graph."""
        with torch.cuda.stream(self.stream):
            graph.replay()

    def forget(self) -> None:
        """Drop the graphs: memory that they read lies elsewhere now."""
        self.graphs.clear()
