"""What every job shares: its plan, its clock, the ceilings of its card, and its report."""

import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from longform.files.artefacts import write_json
from longform.results import rounded

PACKAGES = ("torch", "transformers", "lightning", "numba", "torch-struct", "minicons")
REPORT = "report.json"
BRING = "bring the data"  # the part of a plan in which published texts and weights travel


@dataclass(frozen=True)
class Ceilings:
    """The highest speeds of a device, which ``share_of_peak`` of a measurement refers to."""

    device: str
    flops: float  # operations a second of a large bfloat16 product (float32 where tiny)
    bandwidth: float  # bytes a second of a large copy, read and written


NOMINAL = Ceilings("one H100, by its data", flops=8.0e14, bandwidth=3.0e12)


def measured_ceilings(device: torch.device, tiny: bool) -> Ceilings:
    """Measure a device's ceilings: the best of eight products of large matrices, and of copies."""
    dtype = torch.float32 if tiny else torch.bfloat16
    width, length = (256, 2**20) if tiny else (8192, 2**31)
    left = torch.randn(width, width, dtype=dtype, device=device)
    right = torch.randn(width, width, dtype=dtype, device=device)
    source = torch.zeros(length, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    product = min(seconds_of(lambda: left @ right, device) for _ in range(8))
    copy = min(seconds_of(lambda: target.copy_(source), device) for _ in range(8))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return Ceilings(name, 2 * width**3 / product, 2 * length / copy)


def synchronise(device: torch.device) -> None:
    """Wait for what was queued on a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(work: Callable[[], Any], device: torch.device) -> float:
    """Wall seconds of one call, the device's queue empty before and after."""
    synchronise(device)
    started = time.perf_counter()
    work()
    synchronise(device)
    return time.perf_counter() - started


# Floating-point operations of a token for each weight: a product and a sum to read it; to learn
# from it, twice as many again for the gradients of states and of weights.
READ_OPERATIONS, LEARN_OPERATIONS = 2, 6
# Bytes of memory that an update moves for each weight: AdamW reads the weight, its gradient and two
# moments in float32, and writes all but the gradient.
UPDATE_BYTES = 7 * 4
WEIGHT_BYTES = 4  # of a weight in float32, which a step of writing reads


@dataclass(frozen=True)
class Part:
    """A piece of a job, with the work that it has to do and the time that we predict."""

    name: str
    operations: float  # floating-point, padding left out
    moved: float  # bytes that must be read or written
    minutes: float  # predicted on one H100
    because: str  # how the minutes follow

    def floor(self, ceilings: Ceilings) -> float:
        """The least seconds that the part can take: operations or bytes, whichever takes longer."""
        return max(self.operations / ceilings.flops, self.moved / ceilings.bandwidth)


@dataclass
class Report:
    """What a job measured, kept in ``report.json`` from its first row on."""

    path: Path
    ceilings: Ceilings
    rows: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    neighbours: Callable[[], list[str]] = list  # other processes of these jobs at work now

    def add(
        self, name: str, seconds: float, *, operations: float = 0.0, moved: float = 0.0, **more: Any
    ) -> None:
        """Add a measurement to the report and print it.

        A measurement with operations or bytes also gets the least seconds that they need, and what
        share of the measured seconds these are.

        Args:
            name: of the part of the job.
            seconds: wall time.
            operations: floating-point operations that it needs, without padding.
            moved: bytes that it must read or write.
            more: further columns (tokens a second, ratios).
        """
        row: dict[str, Any] = {"part": name, "seconds": seconds}
        part = Part(name, operations, moved, minutes=0.0, because="")
        floor_seconds = part.floor(self.ceilings)
        if floor_seconds:
            row |= {"floor_seconds": floor_seconds, "share_of_peak": floor_seconds / seconds}
        row |= more
        neighbours = self.neighbours()
        if neighbours:
            row["shared_with"] = neighbours
        self.rows.append(row)
        columns = [f"{key} {_short(value)}" for key, value in row.items() if key != "part"]
        print(f"{name}: {', '.join(columns)}", flush=True)
        self.write()

    def write(self) -> None:
        """Write the report's file, replacing it at once."""
        machine = {"ceilings": asdict(self.ceilings), "versions": versions()}
        write_json(self.path, rounded({**machine, **self.facts, "measured": self.rows}))


@dataclass(frozen=True)
class AtWork:
    """A list of the running processes of these jobs on this machine, as files named by process.

    Attributes:
        folder: of the list, the same for all processes.
        name: of this process' job.
    """

    folder: Path
    name: str

    def enter(self) -> None:
        """Put this process on the list."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._own.write_text(self.name, encoding="utf-8")

    def leave(self) -> None:
        """Take it off the list."""
        self._own.unlink(missing_ok=True)

    @property
    def _own(self) -> Path:
        """The file of this process."""
        return self.folder / str(os.getpid())

    def others(self) -> list[str]:
        """The jobs of the other processes on the list that are still running, sorted."""
        names = []
        for path in self.folder.iterdir():
            process = int(path.name)
            if process != os.getpid() and _is_running(process):
                with suppress(FileNotFoundError):  # it has just left
                    names.append(path.read_text(encoding="utf-8"))
        return sorted(names)


def _is_running(process: int) -> bool:
    """Whether a process with this number exists."""
    try:
        os.kill(process, 0)  # signal 0 only asks
    except ProcessLookupError:
        return False
    except PermissionError:  # it runs for another user
        return True
    return True


def _short(value: Any) -> str:
    """A value of a report's row as it is printed."""
    return f"{value:.4g}" if isinstance(value, float) else json.dumps(value)


def versions() -> dict[str, str]:
    """The versions of Python and of those packages that decide speed and are installed."""
    numbers = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            numbers[name] = version(name)
    return numbers


@dataclass
class Call:
    """The settings of one run of a job on a machine that is lent for a limited time.

    Attributes:
        device: where it runs.
        tiny: whether it is the job's tiny form, a rehearsal.
        record: whether updates are recorded as CUDA graphs.
        out: the folder for results.
        state: the folder with the state from which the next call resumes.
        deadline: when it has to end, in seconds of ``time.monotonic``.
        report: of what it measures.
        small: whether it is the form that one processor core trains in minutes.
        only: the one training to resume, "NAME-SEED"; None: all in turn.
    """

    device: torch.device
    tiny: bool
    record: bool
    out: Path
    state: Path
    deadline: float
    report: Report
    small: bool = False
    only: str | None = None

    def left(self) -> float:
        """Seconds until the call has to end."""
        return self.deadline - time.monotonic()


@dataclass(frozen=True)
class Job:
    """A job that is no scale.

    Attributes:
        inputs: files below the root that it reads, besides the modules that it imports.
        outputs: names of the files that it writes.
        plan: its parts, each with a floor by arithmetic and predicted minutes; takes whether the
            job is to be tiny.
        run: the work, which says what it measured through the call's report.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    plan: Callable[[bool], list[Part]]
    run: Callable[[Call], None]
