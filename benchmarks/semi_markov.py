"""Speed and memory of the semi-Markov likelihood with all its gradients, against torch-struct.

Run it with one thread: ``OMP_NUM_THREADS=1 PYTHONPATH=src python -m benchmarks.semi_markov``.

Peers: torch-struct's own ``SemiMarkovCRF`` where its potentials fit the memory limit, and a
memory-lean scan in torch-struct's log semiring, which keeps transitions, lengths and emissions
apart as the authors' patch of it does (deng2022, released code) and is differentiated by autograd.
The lean scan runs at its best batch size. A tuned variant of it, ours, runs beside it. The sides
alternate; figures are medians of processor time, which with one thread each is wall time where
nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
import torch
import torch_struct
from torch_struct.semirings import LogSemiring

from longform.hsmm.compiled import Workspace
from longform.hsmm.gradient import LogPartition
from longform.statistics.random_streams import generator

TOKENS, DURATIONS = 375, 11  # of a sequence: deng2022's mean length, and its longest segment K
ROWS = 2_000  # n-grams: a table that stays in cache for both sides
STATES = (50, 100, 200, 400, 800)
PEER_BATCHES = (1, 2, 4, 8)  # deng2022 trains on 8 sequences at once
CLASS_LIMIT = 2e9  # bytes of torch-struct's first product that this benchmark asks for
CLEARLY_SLOWER = 0.6  # of its best speed: where a peer's search for its best batch ends
NEVER = -1e9  # log probability of what cannot be
torch_struct.StructDistribution.arg_constraints = {}  # torch warns of a class without them


@dataclass(frozen=True)
class Case:
    """A semi-Markov model's tables of natural logs, and sequences with all their segments.

    Attributes:
        log_transitions: log p(next state | state), float32 (states, states).
        log_joint: log probability of each segment's content by state, float32 (rows, states).
        indices: int32 (tokens, durations) for each sequence: the row of ``log_joint`` of the
            segment of n + 1 tokens that starts at token t; -1 if it would end behind the sequence.
    """

    log_transitions: torch.Tensor
    log_joint: torch.Tensor
    indices: list[np.ndarray]

    @classmethod
    def random(cls, states: int, sequences: int) -> Case:
        """Random tables and sequences; equal numbers of states give equal ones."""
        rng = generator("semi-Markov benchmark", states)
        transitions = rng.standard_normal((states, states))
        joint = rng.standard_normal((ROWS, states)) - np.log(ROWS)
        is_overhanging = np.add.outer(np.arange(TOKENS), np.arange(1, DURATIONS + 1)) > TOKENS
        indices = []
        for rows in rng.integers(0, ROWS, (sequences, TOKENS, DURATIONS)):
            indices.append(np.where(is_overhanging, -1, rows).astype(np.int32))
        return cls(_log_probabilities(transitions), _log_probabilities(joint), indices)

    @property
    def tables(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Copies of both tables that collect gradients of their own."""
        transitions, joint = self.log_transitions.clone(), self.log_joint.clone()
        return transitions.requires_grad_(True), joint.requires_grad_(True)

    def to(self, device: torch.device) -> Case:
        """The same case with its tables on a device."""
        transitions, joint = self.log_transitions.to(device), self.log_joint.to(device)
        return replace(self, log_transitions=transitions, log_joint=joint)


def _log_probabilities(logits: np.ndarray) -> torch.Tensor:
    """Natural logs of the softmax of each row, float32."""
    return torch.from_numpy(logits.astype(np.float32)).log_softmax(1)


# A batch's summed log likelihood, and its gradients by the log transitions and the log joint.
Gradients = tuple[float, torch.Tensor, torch.Tensor]
Side = Callable[[Case, int], Gradients]  # computes these for the first sequences of a case


def ours(case: Case, batch: int, workspace: Workspace | None = None) -> Gradients:
    """Our scaled scan, with its hand-written backward pass, on a batch of sequences."""
    transitions, joint = case.tables
    total = LogPartition.apply(transitions, joint, case.indices[:batch], workspace)
    return _differentiated(total, transitions, joint)


def lean(case: Case, batch: int) -> Gradients:
    """torch-struct's linear scan (``_dp_standard``) with transitions and emissions apart.

    As the authors patch it; autograd differentiates it. ``ends`` (batch, C) is the log probability
    of the tokens before t with a segment ending there in each state.
    """
    transitions, joint, emissions, ends = _leaves(case, batch)
    charts = []  # of each t the segments that start there, by length and state, (batch, K, C)
    for t in range(TOKENS):
        # Segments that start at t; then those that end before t + 1: of k + 1 tokens from t - k.
        starts = LogSemiring.dot(ends[:, None, :], transitions.t()[None])
        charts.append(LogSemiring.times(starts[:, None, :], emissions[:, t]))
        segments = [charts[t - k][:, k] for k in range(min(DURATIONS, t + 1))]
        ends = LogSemiring.sum(torch.stack(segments, dim=-1))
    return _differentiated(LogSemiring.sum(ends).sum(), transitions, joint)


def tuned(case: Case, batch: int) -> Gradients:
    """:func:`lean` with every tensor unbound before the loop: autograd fills no slices with zeros.

    Nobody ships this; it is the strongest log-space scan under autograd that we could write.
    """
    transitions, joint, emissions, ends = _leaves(case, batch)
    columns = [position.unbind(1) for position in emissions.unbind(1)]
    starts = []
    for t in range(TOKENS):
        moves = LogSemiring.times(ends[:, None, :], transitions.t()[None])
        starts.append(LogSemiring.sum(moves))
        segments = []
        for k in range(min(DURATIONS, t + 1)):
            segments.append(LogSemiring.times(starts[t - k], columns[t - k][k]))
        ends = LogSemiring.sum(torch.stack(segments, dim=-1))
    return _differentiated(LogSemiring.sum(ends).sum(), transitions, joint)


def _leaves(case: Case, batch: int) -> tuple[torch.Tensor, ...]:
    """Both tables, log emissions (batch, T, K, C), and log p of the state before them (batch, C).

    That is always state 0.
    """
    transitions, joint = case.tables
    index = torch.from_numpy(np.stack(case.indices[:batch])).long().to(joint.device)
    emissions = joint[index.clamp(min=0)].masked_fill((index < 0)[..., None], NEVER)
    start = torch.full((batch, len(transitions)), NEVER, device=joint.device)
    start[:, 0] = 0
    return transitions, joint, emissions, start


def _differentiated(
    total: torch.Tensor, transitions: torch.Tensor, joint: torch.Tensor
) -> Gradients:
    """A summed log likelihood with its gradients by both tables."""
    total.backward()
    return float(total.detach()), transitions.grad, joint.grad


def own_class(case: Case, batch: int) -> Gradients:
    """torch-struct's ``SemiMarkovCRF`` on potentials (batch, T, K + 1, next state, state)."""
    transitions, joint, emissions, _ = _leaves(case, batch)
    edges = emissions[..., :, None] + transitions.t()
    # No segment is empty, and the first one comes from state 0.
    empty = torch.full_like(edges[:, :, :1], NEVER)
    edges = torch.cat([empty, edges], dim=2)
    states = edges.shape[-1]
    from_first_state = torch.zeros(states).index_fill(0, torch.arange(1, states), NEVER)
    edges = torch.cat([edges[:, :1] + from_first_state, edges[:, 1:]], dim=1)
    return _differentiated(torch_struct.SemiMarkovCRF(edges).partition.sum(), transitions, joint)


def agreement(left: Gradients, right: Gradients) -> float:
    """Largest relative difference of two sides' values and gradients.

    A gradient's differences are relative to the right side's largest entry.
    """
    gaps = [abs(left[0] - right[0]) / abs(right[0])]
    for ours, theirs in zip(left[1:], right[1:], strict=True):
        gaps.append(float((ours - theirs).abs().max() / theirs.abs().max()))
    return max(gaps)


def seconds(run: Callable[[], object]) -> float:
    """Processor seconds of one call, user and system."""
    started = time.process_time()
    run()
    return time.process_time() - started


def fastest(run: Callable[[], object]) -> float:
    """Least processor seconds of eight calls."""
    return min(seconds(run) for _ in range(8))


def bytes_per_sequence(case: Case, batch: int) -> float:
    """Bytes by which our scan's peak of allocations grows with each sequence of a batch.

    Measured between half a batch and a whole one.
    """
    peaks = []
    for size in (batch // 2, batch):
        tracemalloc.start()
        ours(case, size)
        _, peak = tracemalloc.get_traced_memory()
        peaks.append(peak)
        tracemalloc.stop()
    return (peaks[1] - peaks[0]) / (batch - batch // 2)


def saved_bytes(run: Callable[[], object]) -> float:
    """Bytes that autograd saves for the backward pass of one call, each storage counted once."""
    sizes = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    return float(sum(sizes.values()))


@dataclass(frozen=True)
class Machine:
    """The highest speeds of one thread, measured here.

    Attributes:
        flops: floating-point operations a second of a float32 matrix product.
        bandwidth: bytes a second of a copy, reads and writes both counted.
    """

    flops: float
    bandwidth: float

    @classmethod
    def measured(cls) -> Machine:
        """Measure this machine; the best of several runs counts."""
        side = 1536
        square = torch.randn(side, side)
        source = np.ones(30_000_000, np.float32)
        target = np.empty_like(source)
        product_seconds = fastest(lambda: torch.mm(square, square))
        copy_seconds = fastest(lambda: np.copyto(target, source))
        return cls(flops=2 * side**3 / product_seconds, bandwidth=2 * source.nbytes / copy_seconds)

    def floor(self, states: int, batch: int) -> tuple[float, float, float]:
        """The least work of our scan: operations, bytes and seconds, each per token.

        Operations: three C x C products (forward, backward, transition counts) and three
        gather-multiply-adds of K rows. Bytes: four vectors written and read once, the table read
        thrice and its gradient written, per batch. The larger of the two decides.
        """
        operations = 6 * states**2 + 3 * 3 * DURATIONS * states
        # Numbers have four bytes.
        bytes_of_table = 4 * ROWS * states * 4 / (batch * TOKENS)
        bytes_moved = 8 * 4 * states + bytes_of_table
        least_seconds = max(operations / self.flops, bytes_moved / self.bandwidth)
        return operations, bytes_moved, least_seconds


@dataclass(frozen=True)
class Row:
    """The results for one number of states, ours without a prefix.

    Speeds are tokens per second for the value and all gradients. ``ratio`` is our speed over that
    of the lean scan, ``ratio_tuned`` over that of its tuned variant, each at its best batch size.
    ``class_`` is torch-struct's own class. ``floor_tokens_per_second`` is the highest speed that
    the machine allows (at the roofline), ``fraction_of_roofline`` ours as a fraction of it.
    """

    states: int
    ratio: float
    ratio_tuned: float
    bytes_per_sequence: float
    fraction_of_roofline: float
    tokens_per_second: float
    batch: int
    lean_tokens_per_second: float
    lean_batch: int
    lean_bytes_per_sequence: float
    tuned_tokens_per_second: float
    tuned_batch: int
    class_tokens_per_second: float | None
    class_bytes: float
    operations_per_token: float
    bytes_per_token: float
    floor_tokens_per_second: float
    largest_disagreement: float


def measure(states: int, *, machine: Machine, batch: int, rounds: int) -> Row:
    """Compare the sides at one number of states.

    Sides are ours and its two peers: ``lean``, torch-struct's scan as the authors use it, and
    ``tuned``, our faster variant of that. torch-struct's own class is timed once, where its memory
    allows.

    Args:
        states: number of states.
        machine: the machine's measured limits.
        batch: our number of sequences in a scan; peers run at their own best.
        rounds: how often each side is timed; medians are reported.
    """
    # 1. All sides compute the same value and gradients.
    case, workspace = Case.random(states, max(batch, *PEER_BATCHES)), Workspace()
    reference = ours(case, 1)
    gap_of_lean = agreement(reference, lean(case, 1))
    gap_of_tuned = agreement(reference, tuned(case, 1))
    # 2. Each at its best batch, timed in turns so that a slow moment of the machine meets all.
    batches = {lean: best_batch(lean, case), tuned: best_batch(tuned, case), ours: batch}
    runs = {
        lean: partial(lean, case, batches[lean]),
        tuned: partial(tuned, case, batches[tuned]),
        ours: partial(ours, case, batch, workspace),
    }
    runs[ours]()  # untimed: it fills the workspace
    speeds: dict[Side, list[float]] = defaultdict(list)  # tokens per second
    for _ in range(rounds):
        for side, run in runs.items():
            speeds[side].append(batches[side] * TOKENS / seconds(run))
    medians = {side: statistics.median(values) for side, values in speeds.items()}
    # 3. The machine's limit for our scan.
    operations, bytes_moved, floor_seconds = machine.floor(states, batch)  # each per token
    class_bytes = _class_bytes(states)
    return Row(
        states=states,
        ratio=medians[ours] / medians[lean],
        ratio_tuned=medians[ours] / medians[tuned],
        bytes_per_sequence=bytes_per_sequence(case, batch),
        fraction_of_roofline=medians[ours] * floor_seconds,
        tokens_per_second=medians[ours],
        batch=batch,
        lean_tokens_per_second=medians[lean],
        lean_batch=batches[lean],
        lean_bytes_per_sequence=saved_bytes(partial(lean, case, 1)),
        tuned_tokens_per_second=medians[tuned],
        tuned_batch=batches[tuned],
        class_tokens_per_second=_class_speed(case, class_bytes),
        class_bytes=class_bytes,
        operations_per_token=operations,
        bytes_per_token=bytes_moved,
        floor_tokens_per_second=1 / floor_seconds,
        largest_disagreement=max(gap_of_lean, gap_of_tuned),
    )


def best_batch(peer: Side, case: Case) -> int:
    """The batch size at which a peer is fastest, one run each.

    Larger ones are not tried once it has become clearly slower.
    """
    speeds: dict[int, float] = {}
    for size in PEER_BATCHES:
        speeds[size] = size / seconds(partial(peer, case, size))
        if speeds[size] < CLEARLY_SLOWER * max(speeds.values()):
            break
    return max(speeds, key=lambda size: speeds[size])


def _class_bytes(states: int) -> float:
    """Bytes that torch-struct's class allocates in its first merge of neighbouring positions.

    375 positions are padded to 512, which are 256 pairs with (K C)^3 float32 each.
    """
    bytes_of_number, pairs = 4.0, 256
    return bytes_of_number * pairs * (DURATIONS * states) ** 3


def _class_speed(case: Case, class_bytes: float) -> float | None:
    """Tokens per second of torch-struct's class; None where it would need too much memory."""
    if class_bytes >= CLASS_LIMIT:
        return None
    return TOKENS / seconds(lambda: own_class(case, 1))


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the results for each number of states on the command line."""
    machine = Machine.measured()
    gflops, gigabytes = machine.flops / 1e9, machine.bandwidth / 1e9
    print(f"one thread: {gflops:.0f} GFLOP/s, {gigabytes:.1f} GB/s", file=sys.stderr)
    for states in options.states:
        yield measure(states, machine=machine, batch=options.batch, rounds=options.rounds)


def text_of(row: Row) -> str:
    """The results for one number of states in a line of text."""
    speeds = (
        f"{row.tokens_per_second:,.0f} tok/s against {row.lean_tokens_per_second:,.0f}"
        f" (batch {row.lean_batch})"
    )
    ratios = f"{row.ratio:.1f} times, {row.ratio_tuned:.1f} of tuned"
    memory = f"{row.bytes_per_sequence / 1e6:.2f} MB/sequence"
    floor = (
        f"{row.fraction_of_roofline:.0%} of the floor ({row.operations_per_token / 1e6:.2f} MFLOP,"
        f" {row.bytes_per_token / 1e3:.1f} kB per token)"
    )
    gap = f"gap {row.largest_disagreement:.1e}"
    return f"C={row.states}: {speeds}: {ratios}; {memory}; {floor}; {gap}"


def main() -> None:
    """Print the results for each number of states as soon as they are there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per number of states")
    parser.add_argument("--states", type=int, nargs="+", default=list(STATES))
    parser.add_argument("--batch", type=int, default=64, help="our sequences per scan")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for row in rows(options):
        print(json.dumps(asdict(row)) if options.json else text_of(row), flush=True)


if __name__ == "__main__":
    main()
