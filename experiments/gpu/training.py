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
ROUND = 32  # rows are padded to a multiple of it, so that few widths, and few graphs, occur
PLAIN = 3  # updates of a width before it is recorded, in which libraries allocate what they need
CHECK_WIDTH = 256  # texts of a validation batch
# Ours: rounding parts two trainings by a few hundredths, updates on wrong texts by about 1.
ALLOWED_GAP = 0.2
# Ours, nats: two dropout masks part a small network's losses by about 0.01.
SEEN_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes:
        batch: number of texts in an update.
        updates: number of updates of the whole training.
        rate: peak learning rate.
        warmup: number of updates over which the rate rises linearly; then it falls as one over the
            square root of the update's number.
        betas, weight_decay: AdamW's.
    """

    batch: int
    updates: int
    rate: float
    warmup: int
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 1e-4

    def rates(self, first: int, last: int) -> np.ndarray:
        """Learning rates of updates ``first`` to ``last - 1``, counted from 0; (last - first,).

        fairseq's ``inverse_sqrt`` schedule.
        """
        number = np.arange(first, last) + 1.0
        return self.rate * np.minimum(number / self.warmup, np.sqrt(self.warmup / number))


class Rows:
    """Texts as rows of token ids on a device, padded to the longest.

    Attributes:
        ids: token ids, int64 (texts, tokens).
        lengths: number of tokens of each text, (texts,), on the host.
        sizes: the same on the device.
    """

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
        """Inputs and labels of a batch of texts, int64 (batch, width - 1) each.

        Args:
            numbers: indices of the texts, int64 (batch,).
            width: tokens of a row; padding has the label ``IGNORED``.
        """
        ids = self.ids.index_select(0, numbers)[:, :width]
        sizes = self.sizes.index_select(0, numbers)
        positions = torch.arange(1, width, device=ids.device)
        is_padding = positions[None] >= sizes[:, None]
        return ids[:, :-1], ids[:, 1:].masked_fill(is_padding, IGNORED)


def _rounded(length: int) -> int:
    """A length rounded up to a multiple of ``ROUND``."""
    return -(-length // ROUND) * ROUND


def gpt2_logits(network: Any, ids: torch.Tensor) -> torch.Tensor:
    """Logits of a GPT-2 after every token, (batch, length, vocabulary), from its blocks alone.

    Its own ``forward`` builds an attention mask, which cannot be recorded. Without a mask the
    attention is causal, so the padding at the end of a row changes nothing before it.

    Args:
        network: GPT2LMHeadModel.
        ids: token ids, int64 (batch, length).
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
        """Make a number of updates.

        Texts and rates depend on the seed and the update's number alone, so that a training that
        resumes from a saved state ends with the same weights. Dropout is seeded once a call, so
        calls must begin at the same updates.

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
        """Put the texts' numbers and learning rates of the next updates into ``order``, ``rates``.

        A recorded update reads fixed memory, so they are written in place; if there is no room, new
        memory is allocated and the recordings are dropped.

        Args:
            numbers: indices of texts, (updates, batch).
            rates: learning rates, (updates,).
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
        """Make one update; every tensor that outlives it is written in place, for recording."""
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
        """Mean cross-entropy in nats a token."""
        half = self.device.type == "cuda"
        # Without autocast's cache each replay converts the weights of its own update to bfloat16.
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half, cache_enabled=False):
            logits = self.logits_of(self.network, inputs)
        return cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=IGNORED)

    @torch.no_grad()
    def held_out_loss(self, rows: Rows, dropout: bool = False) -> float:
        """Mean cross-entropy of other texts in nats a token.

        Args:
            rows: the texts.
            dropout: whether dropout is on, with one mask for each batch.
        """
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
        """Load a state that :meth:`state` returned."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate  # loading puts a copy in its place, to which no update writes
        self.update = state["update"]


def recording_gap(device: torch.device, record: Callable[[torch.device], "Recorder"]) -> float:
    """Relative distance between the weights after recorded and after directly launched updates.

    A small GPT-2 is trained twice on the same texts for 40 updates, once launched kernel by kernel
    and once replayed from CUDA graphs. Only rounding should differ, so the distance is near 0
    (``ALLOWED_GAP``) unless recording is broken.

    Args:
        device: a GPU.
        record: makes a recorder for the device.

    Returns:
        ||recorded - launched|| / ||launched - start||, norms over all weights.
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
    recipe = Recipe(batch=4, updates=40, rate=1e-3, warmup=10)
    for recorder in (None, record(device)):
        network = copy.deepcopy(untrained)
        training = Training(network, Rows(texts, device), recipe, seed=0)
        training.recorder = recorder
        for _ in range(2):  # two calls, so that graphs of the first are replayed in the second
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
    """The difference between the losses of two replays of one update, in nats.

    Texts and weights are the same in both, so only the dropout mask can differ.

    Attributes:
        with_dropout: the difference where the network has dropout.
        without: the difference where it has none.
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
    """The difference between the losses of two replays of one recorded update, in nats.

    Args:
        device: a GPU.
        recorder: records and replays the update.
        dropout: probability of the network's dropout; at 0 replays are equal.
    """
    # 1. A training at rate 0, so that weights stay, on copies of one text, so that texts do too.
    text = [0, *(number % 19 + 1 for number in range(30)), 0]
    torch.manual_seed(0)
    network = _small_network(dropout).to(device)
    recipe = Recipe(batch=4, updates=40, rate=0.0, warmup=10)
    training = Training(network, Rows([text] * 4, device), recipe, seed=0)
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
    """Runs work on a CUDA stream of its own, and replays work that repeats.

    The first ``PLAIN`` times work of a kind is launched as it is; then it is recorded as a CUDA
    graph, which is replayed from there on.

    Attributes:
        graphs: recorded work by its kind.
        met: how often each kind was run.
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
        """Let the coming work wait for what is queued on the current stream."""
        self.stream.wait_stream(torch.cuda.current_stream(self.device))

    def finish(self) -> None:
        """Let what the current stream is given next wait for the work."""
        torch.cuda.current_stream(self.device).wait_stream(self.stream)

    def run(self, kind: int, work: Callable[[], None]) -> None:
        """Do the work once.

        Args:
            kind: equal for calls that differ in the content of their arrays alone, not in shape.
            work: launches kernels.
        """
        self.met[kind] += 1
        if self.met[kind] <= PLAIN:
            self.plain(work)
            return
        if kind not in self.graphs:
            self.graphs[kind] = self.recorded(work)
        self.replay(self.graphs[kind])

    def plain(self, work: Callable[[], None]) -> None:
        """Launch the work on the stream without recording it."""
        with torch.cuda.stream(self.stream):
            work()

    def recorded(self, work: Callable[[], None]) -> Any:
        """A graph of the work, which is not carried out while it is recorded."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            work()
        return graph

    def replay(self, graph: Any) -> None:
        """Run a recorded graph on the stream."""
        with torch.cuda.stream(self.stream):
            graph.replay()

    def forget(self) -> None:
        """Drop all graphs, since memory that they read has been replaced."""
        self.graphs.clear()
