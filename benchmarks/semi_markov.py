"""Speed and memory of the semi-Markov likelihood with all its gradients, against torch-struct.

Run it with one thread: ``OMP_NUM_THREADS=1 PYTHONPATH=src python -m benchmarks.semi_markov [--json]``.

Peers: torch-struct's own ``SemiMarkovCRF`` where its potentials fit the memory limit, and a memory-lean
scan in torch-struct's log semiring, which keeps transitions, lengths and emissions apart as the authors'
patch of it does (deng2022, released code) and is differentiated by autograd. The lean scan runs at its
best batch size. A tuned variant of it, ours, runs beside it. The sides alternate; figures are medians of
processor time, which with one thread each is wall time where nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
import torch_struct
from torch_struct.semirings import LogSemiring

from longform.hsmm.compiled import Workspace
from longform.hsmm.gradient import LogPartition
from longform.statistics.random_streams import generator

TOKENS, DURATIONS, ROWS = (
    375,
    11,
    2_000,
)  # deng2022's mean length and K; a table that stays in cache for both sides
STATES = (50, 100, 200, 400, 800)
PEER_BATCHES = (1, 2, 4, 8)  # deng2022 trains on 8 sequences at once
CLASS_LIMIT = 2e9  # bytes of torch-struct's first product that this benchmark is willing to ask for
torch_struct.StructDistribution.arg_constraints = {}


@dataclass(frozen=True)
class Case:
    """Log tables, and for each of some sequences the table row of every segment (all of them present)."""

    log_transitions: torch.Tensor
    log_joint: torch.Tensor
    indices: list[np.ndarray]

    @classmethod
    def random(cls, states: int, sequences: int) -> Case:
        """Random tables, the same for both sides."""
        draw = generator("semi-Markov benchmark", states)
        tables = (
            draw.standard_normal((states, states)),
            draw.standard_normal((ROWS, states)) - np.log(ROWS),
        )
        log_transitions, log_joint = (
            torch.from_numpy(t.astype(np.float32)).log_softmax(1) for t in tables
        )
        overhanging = np.add.outer(np.arange(TOKENS), np.arange(1, DURATIONS + 1)) > TOKENS
        rows = draw.integers(0, ROWS, (sequences, TOKENS, DURATIONS)).astype(np.int32)
        return cls(
            log_transitions,
            log_joint,
            [np.where(overhanging, -1, r).astype(np.int32) for r in rows],
        )

    def to(self, device: torch.device) -> Case:
        """The same case with its tables on a device."""
        return replace(
            self,
            log_transitions=self.log_transitions.to(device),
            log_joint=self.log_joint.to(device),
        )


Gradients = tuple[float, torch.Tensor, torch.Tensor]


def ours(case: Case, batch: int, workspace: Workspace | None = None) -> Gradients:
    """Scaled factored scan with its hand-written backward pass."""
    tables = [t.clone().requires_grad_(True) for t in (case.log_transitions, case.log_joint)]
    return _differentiated(LogPartition.apply(*tables, case.indices[:batch], workspace), *tables)


def lean(case: Case, batch: int) -> Gradients:
    """torch-struct's linear scan (``_dp_standard``) with transitions and emissions kept apart, as the authors patch it.

    Position by position: all segments that start there, then all that end at the next; emissions are one
    tensor (batch, T, K, C), indexed at each step. Autograd differentiates it.
    """
    transitions, joint, emitted, ended = _leaves(case, batch)
    charts = []
    for t in range(TOKENS):
        moved = LogSemiring.dot(ended[:, None, :], transitions.t()[None])
        charts.append(LogSemiring.times(moved[:, None, :], emitted[:, t]))
        parts = [charts[t - k][:, k] for k in range(min(DURATIONS, t + 1))]
        ended = LogSemiring.sum(torch.stack(parts, dim=-1))
    return _differentiated(LogSemiring.sum(ended).sum(), transitions, joint)


def tuned(case: Case, batch: int) -> Gradients:
    """The same scan with every tensor unbound before the loop, which spares autograd the zero-filled slices.

    Nobody ships this; it is the strongest log-space scan under autograd that we could write.
    """
    transitions, joint, emitted, ended = _leaves(case, batch)
    columns = [position.unbind(1) for position in emitted.unbind(1)]
    moved = []
    for t in range(TOKENS):
        moved.append(LogSemiring.sum(LogSemiring.times(ended[:, None, :], transitions.t()[None])))
        parts = [
            LogSemiring.times(moved[t - k], columns[t - k][k]) for k in range(min(DURATIONS, t + 1))
        ]
        ended = LogSemiring.sum(torch.stack(parts, dim=-1))
    return _differentiated(LogSemiring.sum(ended).sum(), transitions, joint)


def _leaves(case: Case, batch: int) -> tuple[torch.Tensor, ...]:
    transitions, joint = (
        t.clone().requires_grad_(True) for t in (case.log_transitions, case.log_joint)
    )
    device = joint.device
    index = torch.from_numpy(np.stack(case.indices[:batch])).long().to(device)
    emitted = joint[index.clamp(min=0)].masked_fill((index < 0)[..., None], -1e9)
    start = torch.full((batch, transitions.shape[0]), -1e9, device=device)
    start[:, 0] = 0
    return transitions, joint, emitted, start


def _differentiated(
    total: torch.Tensor, transitions: torch.Tensor, joint: torch.Tensor
) -> Gradients:
    total.backward()
    return float(total.detach()), transitions.grad, joint.grad


def own_class(case: Case, batch: int) -> Gradients:
    """torch-struct's ``SemiMarkovCRF`` on materialised potentials."""
    transitions, joint, emitted, _ = _leaves(case, batch)
    edges = emitted[..., :, None] + transitions.t()
    void = torch.full_like(edges[:, :, :1], -1e9)
    first = torch.zeros(edges.shape[-1]).index_fill(0, torch.arange(1, edges.shape[-1]), -1e9)
    edges = torch.cat([void, edges], dim=2)
    edges = torch.cat([edges[:, :1] + first, edges[:, 1:]], dim=1)
    return _differentiated(torch_struct.SemiMarkovCRF(edges).partition.sum(), transitions, joint)


def agreement(left: Gradients, right: Gradients) -> float:
    """Largest relative distance of value and gradients (gradients relative to their largest entry)."""
    gaps = [abs(left[0] - right[0]) / abs(right[0])]
    gaps += [
        float((a - b).abs().max() / b.abs().max()) for a, b in zip(left[1:], right[1:], strict=True)
    ]
    return max(gaps)


def seconds(run: Callable[[], object]) -> float:
    """Processor time of one call, user and system: with one thread it is wall time on a machine of one's own."""
    started = time.process_time()
    run()
    return time.process_time() - started


def bytes_per_sequence(case: Case, batch: int) -> float:
    """Memory that one more sequence costs us: traced array allocations of a batch over those of half of it."""
    peaks = []
    for size in (batch // 2, batch):
        tracemalloc.start()
        ours(case, size)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return (peaks[1] - peaks[0]) / (batch - batch // 2)


def saved_bytes(run: Callable[[], object]) -> float:
    """What autograd keeps for the backward pass of one call, each storage counted once."""
    storages = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        run()
    return float(sum(storages.values()))


@dataclass(frozen=True)
class Machine:
    """What one thread can do at most, measured here: float32 GEMM and streaming memory."""

    flops: float
    bandwidth: float

    @classmethod
    def measured(cls) -> Machine:
        """Best of several runs."""
        square, vector = torch.randn(1536, 1536), np.ones(30_000_000, np.float32)
        target = np.empty_like(vector)
        gemm = min(seconds(lambda: torch.mm(square, square)) for _ in range(8))
        copy = min(seconds(lambda: np.copyto(target, vector)) for _ in range(8))
        return cls(2 * 1536**3 / gemm, 2 * vector.nbytes / copy)

    def floor(self, states: int, batch: int) -> tuple[float, float, float]:
        """Operations and bytes per token, and the seconds that the larger of the two needs at least.

        Operations: three C x C products (forward, backward, transition counts) and three gather-multiply-adds
        of K rows. Bytes: four vectors written and read once, the table read thrice and its gradient written, per batch.
        """
        operations = 6 * states**2 + 3 * 3 * DURATIONS * states
        moved = 8 * 4 * states + 4 * ROWS * states * 4 / (batch * TOKENS)
        return operations, moved, max(operations / self.flops, moved / self.bandwidth)


@dataclass(frozen=True)
class Row:
    """What is printed for one number of states; speeds are tokens per second, value and all gradients.

    ``ratio`` is against the lean scan, ``ratio_tuned`` against its unbound variant, each at its best batch size.
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
    """One comparison: agreement first, then every side's best batch, then alternated rounds."""
    case, workspace = Case.random(states, max(batch, *PEER_BATCHES)), Workspace()
    reference = ours(case, 1)
    gap = max(agreement(reference, peer(case, 1)) for peer in (lean, tuned))
    runs = {lean: best_batch(lean, case), tuned: best_batch(tuned, case), ours: batch}
    ours(case, batch, workspace)
    speeds = {side: [] for side in runs}
    for _ in range(rounds):
        for side, size in runs.items():
            extra = (workspace,) if side is ours else ()
            speeds[side].append(
                size * TOKENS / seconds(lambda side=side, size=size, x=extra: side(case, size, *x))
            )
    medians = {side: statistics.median(values) for side, values in speeds.items()}
    operations, moved, floor = machine.floor(states, batch)
    product = (
        4.0 * 256 * (DURATIONS * states) ** 3
    )  # its first merge: 512 padded positions, (KC)^3 products a pair
    return Row(
        states=states,
        ratio=medians[ours] / medians[lean],
        ratio_tuned=medians[ours] / medians[tuned],
        bytes_per_sequence=bytes_per_sequence(case, batch),
        fraction_of_roofline=medians[ours] * floor,
        tokens_per_second=medians[ours],
        batch=batch,
        lean_tokens_per_second=medians[lean],
        lean_batch=runs[lean],
        lean_bytes_per_sequence=saved_bytes(lambda: lean(case, 1)),
        tuned_tokens_per_second=medians[tuned],
        tuned_batch=runs[tuned],
        class_tokens_per_second=_class_speed(case, product),
        class_bytes=product,
        operations_per_token=operations,
        bytes_per_token=moved,
        floor_tokens_per_second=1 / floor,
        largest_disagreement=gap,
    )


def best_batch(peer: Callable[[Case, int], Gradients], case: Case) -> int:
    """The batch size at which a peer is fastest, one run each; it stops growing where it has clearly become slower."""
    speeds = {}
    for size in PEER_BATCHES:
        speeds[size] = size / seconds(lambda size=size: peer(case, size))
        if speeds[size] < 0.6 * max(speeds.values()):
            break
    return max(speeds, key=speeds.get)


def _class_speed(case: Case, chart: float) -> float | None:
    return TOKENS / seconds(lambda: own_class(case, 1)) if chart < CLASS_LIMIT else None


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Measure every number of states in turn."""
    machine = Machine.measured()
    print(
        f"one thread: {machine.flops / 1e9:.0f} GFLOP/s, {machine.bandwidth / 1e9:.1f} GB/s",
        file=sys.stderr,
    )
    for states in arguments.states:
        yield measure(states, machine=machine, batch=arguments.batch, rounds=arguments.rounds)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per number of states")
    parser.add_argument("--states", type=int, nargs="+", default=list(STATES))
    parser.add_argument("--batch", type=int, default=64, help="our sequences per scan")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for row in rows(arguments):
        if arguments.json:
            print(json.dumps(asdict(row)), flush=True)
        else:
            print(
                f"C={row.states}: {row.tokens_per_second:,.0f} tok/s against {row.lean_tokens_per_second:,.0f} "
                f"(batch {row.lean_batch}): {row.ratio:.1f} times, {row.ratio_tuned:.1f} of tuned; {row.bytes_per_sequence / 1e6:.2f} MB/sequence; "
                f"{row.fraction_of_roofline:.0%} of the floor ({row.operations_per_token / 1e6:.2f} MFLOP, "
                f"{row.bytes_per_token / 1e3:.1f} kB per token); gap {row.largest_disagreement:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
