"""A parser process that may stall or die without taking its worker with it.

mwparserfromhell is a C extension: no exception or signal handler of this process gets in while it runs. So
it runs in a child, page by page, under a limit of CPU seconds that the kernel enforces (processor time, so
that a busy machine does not change the result), a limit of memory, and a wall clock for a child that sleeps.
A page that breaks a limit is read again by the scanner, also in a child, and counted.
"""

from __future__ import annotations

import json
import math
import resource
import select
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from longform.datasets.wikipedia.wikitext import scanned_sections, sections

MEMORY = 800 * 2**20  # bytes of address space a parser may use, so that worker and parser stay under 1 GB together
WALL_FACTOR = 30  # wall seconds per CPU second before a parser counts as asleep: a crowded machine must not trip it

_FRAME = struct.Struct(">cI")
_BOOT = "import sys; sys.path.insert(0, {!r}); from longform.datasets.wikipedia.parser import serve; serve({}, {})"

Sections = list[tuple[str, str]]


@dataclass
class GuardedParser:
    """Reads pages in a child process; a context manager, since the child must be ended.

    Attributes:
        page_seconds: whole CPU seconds that one page may cost.
        memory: bytes of address space of the child.
        wall_factor: wall-clock seconds per CPU second before the child counts as asleep.
    """

    page_seconds: int = 20
    memory: int = MEMORY
    wall_factor: int = WALL_FACTOR
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def read(self, wikitext: str) -> tuple[Sections | None, str]:
        """Sections and ``parsed``; or the scanner's and why; or None and ``unreadable`` if the scanner fails, too."""
        found, outcome = self._ask(b"T", wikitext)
        if found is not None:
            return found, "parsed"
        scanned, _ = self._ask(b"S", wikitext)
        return (scanned, f"{outcome}: scanned") if scanned is not None else (None, "unreadable")

    def _ask(self, mode: bytes, wikitext: str) -> tuple[Sections | None, str]:
        child = self._child = self._child or self._start()
        body = wikitext.encode("utf-8", "surrogatepass")
        deadline = time.monotonic() + self.wall_factor * self.page_seconds
        try:
            child.stdin.write(_FRAME.pack(mode, len(body)) + body)
            child.stdin.flush()
            status, size = _FRAME.unpack(_receive(child.stdout, _FRAME.size, deadline))
            answer = json.loads(_receive(child.stdout, size, deadline))
        except (BrokenPipeError, EOFError, TimeoutError) as error:
            return None, self._end(stalled=isinstance(error, TimeoutError))
        return ([(title, text) for title, text in answer], "parsed") if status == b"K" else (None, answer)

    def _start(self) -> subprocess.Popen[bytes]:
        code = _BOOT.format(str(Path(__file__).parents[3]), self.page_seconds, self.memory)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-c", code], bufsize=0, **pipes)

    def _end(self, stalled: bool = False) -> str:
        """End the child and say how it ended: ``time-out`` or ``parser died``."""
        child, self._child = self._child, None
        if child is None:
            return "ended"
        child.stdin.close()
        child.kill() if stalled else None
        try:
            child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()
        return "time-out" if stalled or child.returncode == -24 else "parser died"  # 24: SIGXCPU, CPU seconds used up


def _receive(pipe: IO[bytes], size: int, deadline: float) -> bytes:
    pieces: list[bytes] = []
    while size:
        if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError
        piece = pipe.read(min(size, 1 << 20))
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def serve(page_seconds: int, memory: int) -> None:
    """The child's loop: one frame in, one frame out, until its parent is gone.

    The kernel ends the process (SIGXCPU) when a page's CPU seconds are used up, in C code as well.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while header := source.read(_FRAME.size):
        mode, size = _FRAME.unpack(header)
        wikitext = source.read(size).decode("utf-8", "surrogatepass")
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = math.ceil(used.ru_utime + used.ru_stime) + page_seconds
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        try:
            status, answer = b"K", sections(wikitext) if mode == b"T" else scanned_sections(wikitext)
        except MemoryError:
            status, answer = b"E", "out of memory"
        except Exception as error:
            status, answer = b"E", f"parser raised {type(error).__name__}"
        encoded = json.dumps(answer).encode()
        sink.write(_FRAME.pack(status, len(encoded)) + encoded)
        sink.flush()
