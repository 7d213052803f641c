"""How many processes share a stage.

The environment says it, no entry does: where a stage runs changes no result beyond rounding.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import wait
from typing import Any

from longform.errors import BadInput

TIE_TO_PARENT = 1  # PR_SET_PDEATHSIG, linux/prctl.h
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def asked(name: str) -> int:
    """The whole number in a variable of the environment; 1 where it is not set.

    Raises:
        BadInput: it is no whole number from 1.
    """
    value = os.environ.get(name, "1")
    if not value.isdecimal() or int(value) < 1:
        raise BadInput(
            f"{name} is {value!r:.60}, allowed is a whole number from 1; set it right or unset it"
        )
    return int(value)


def processes() -> tuple[int, int]:
    """Processes on each machine, and machines: ``LONGFORM_DEVICES`` and ``LONGFORM_NODES``."""
    return asked("LONGFORM_DEVICES"), asked("LONGFORM_NODES")


def first_process() -> bool:
    """Whether this process is the one that writes; the others of a distributed stage only work.

    A stage of one process has no others, whatever ranks the process inherits from a launcher that
    runs many stages; Slurm's number counts where Slurm started as many processes as the stage has.
    """
    devices, nodes = processes()
    if devices * nodes == 1:
        return True
    # torchrun's, and what Lightning gives to those that it starts.
    names = ["RANK", "LOCAL_RANK", "NODE_RANK"]
    if os.environ.get("SLURM_NTASKS") == str(devices * nodes):
        names.append("SLURM_PROCID")
    return all(os.environ.get(name, "0") == "0" for name in names)


def die_with_parent() -> None:
    """Make this process end at Ctrl-C, even if its parent ignores it, and with its parent.

    Ending with the parent works on Linux alone.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if _libc is not None:
        _libc.prctl(TIE_TO_PARENT, signal.SIGKILL)


def side_by_side(work: Callable[[Any], None], items: Mapping[str, Any]) -> None:
    """Call ``work`` with each item, as many at once as ``LONGFORM_SYSTEMS`` says.

    At once means a forked process for each, which ends with this one (on Linux). Nothing may have
    run in the numeric libraries yet: their threads do not survive a fork.

    Args:
        work: what is done with an item.
        items: by the names that their processes and errors have.

    Raises:
        BadInput: an item's process ended badly, by its name; or each of them would be spread over
            processes too.
    """
    at_once = asked("LONGFORM_SYSTEMS")
    if at_once == 1:
        for item in items.values():
            work(item)
        return
    if processes() != (1, 1):
        raise BadInput(
            f"LONGFORM_SYSTEMS (REAL_SYSTEMS of make real) is {at_once} and LONGFORM_DEVICES or "
            "LONGFORM_NODES is set too; set one of them to 1"
        )

    def alone(item: Any) -> None:
        """Do the work of one item in a child process; bad input ends it with a sentence."""
        die_with_parent()
        # Ctrl-C reaches both; the parent ends by it, and this process with its parent.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            work(item)
        except BadInput as error:
            sys.exit(f"longform: {error}")

    # 1. Start them, ``at_once`` at a time.
    fork = multiprocessing.get_context("fork")
    children: list[Any] = []
    for name, item in items.items():
        running = [child.sentinel for child in children if child.is_alive()]
        if len(running) == at_once:
            wait(running)
        child = fork.Process(target=alone, args=(item,), name=name, daemon=True)
        children.append(child)
        child.start()
    # 2. Wait for all, and name those that ended badly.
    failed = []
    for child in children:
        child.join()
        if child.exitcode:
            failed.append(f"{child.name} (exit status {child.exitcode})")
    if failed:
        advice = "fix what it says above and run again; "
        advice += "where it was killed (-9), memory may lack: LONGFORM_SYSTEMS=1"
        raise BadInput(f"{', '.join(failed)} stopped; {advice}")
