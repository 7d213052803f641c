"""How many processes share a stage. The environment says it, no entry does: where a stage runs changes no result beyond rounding."""

import os

from longform.core.documents import BadInput


def processes() -> tuple[int, int]:
    """Processes on each machine, and machines: ``LONGFORM_DEVICES`` and ``LONGFORM_NODES``, one where they are not set.

    Raises BadInput: one of them is no whole number from 1.
    """
    asked = {name: os.environ.get(name, "1") for name in ("LONGFORM_DEVICES", "LONGFORM_NODES")}
    for name, value in asked.items():
        if not value.isdecimal() or int(value) < 1:
            raise BadInput(f"{name} is {value!r:.60}, allowed is a whole number from 1; set it right or unset it")
    devices, nodes = map(int, asked.values())
    return devices, nodes


def first_process() -> bool:
    """Whether this process is the one that writes; the others of a distributed stage only work.

    A stage of one process has no others, whatever ranks the process inherits from a launcher that runs many stages;
    Slurm's number counts where Slurm started as many processes as the stage has.
    """
    devices, nodes = processes()
    names = ["RANK", "LOCAL_RANK", "NODE_RANK"]  # torchrun's, and what Lightning gives to those that it starts
    names += ["SLURM_PROCID"] if os.environ.get("SLURM_NTASKS") == str(devices * nodes) else []
    return devices * nodes == 1 or all(os.environ.get(name, "0") == "0" for name in names)
