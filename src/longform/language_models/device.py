"""The device and the precision of networks, from two environment variables.

They hold for training, sampling and reading.

``LONGFORM_DEVICE`` is a name of torch ("cpu", "cuda", "cuda:1"); unset, it is the first GPU, else
the processor. It changes no result beyond rounding. ``LONGFORM_PRECISION`` is one of
``PRECISIONS``:

- ``float32``, the default;
- ``tf32``: products of float32 matrices with 10 bits of mantissa, on GPUs that have them. Sampled
  documents stay the same bytes, since the float64 passes decide what is not certain
  (:mod:`longform.decoding.exact_sampling`); they decide more often;
- ``bfloat16``: networks that are not trained have bfloat16 weights, and float32 products elsewhere
  are as in ``tf32``. Log-probabilities then have two or three digits. A training has the
  ``precision`` of its schedule.
"""

import os
from typing import Any

import torch

from longform.errors import BadInput

PRECISIONS = ("float32", "tf32", "bfloat16")


def chosen_device() -> torch.device:
    """Where models run: what ``LONGFORM_DEVICE`` names, else the first GPU, else the processor.

    Raises:
        BadInput: no device has that name, or it is a GPU that is not there.
    """
    has_gpu = torch.cuda.is_available()
    name = os.environ.get("LONGFORM_DEVICE") or ("cuda" if has_gpu else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise BadInput(
            f"LONGFORM_DEVICE is {name!r}; allowed are torch's names such as cpu, cuda, cuda:1"
        ) from error
    num_gpus = torch.cuda.device_count() if has_gpu else 0
    if device.type == "cuda" and (device.index or 0) >= num_gpus:
        raise BadInput(
            f"LONGFORM_DEVICE is {name!r}, and torch sees {num_gpus} GPUs; set cpu, or unset it"
        )
    return device


def chosen_precision() -> str:
    """One of ``PRECISIONS``: what ``LONGFORM_PRECISION`` names, else float32.

    Raises:
        BadInput: another name.
    """
    name = os.environ.get("LONGFORM_PRECISION") or PRECISIONS[0]
    if name not in PRECISIONS:
        raise BadInput(
            f"LONGFORM_PRECISION is {name!r}, allowed are {list(PRECISIONS)}; "
            "set it right or unset it"
        )
    return name


def set_products() -> None:
    """Let torch multiply float32 matrices as ``LONGFORM_PRECISION`` says, in this process."""
    exact = chosen_precision() == "float32"
    torch.set_float32_matmul_precision("highest" if exact else "high")


def placed(network: Any, reading: bool = False) -> Any:
    """Move a network to the chosen device; with ``reading``, also to the chosen precision."""
    set_products()
    network = network.to(chosen_device())
    if reading and chosen_precision() == "bfloat16":
        return network.to(torch.bfloat16)
    return network


def trainer_devices(processes: int) -> dict[str, Any]:
    """``accelerator`` and ``devices`` of Lightning's Trainer for processes on the chosen device.

    Raises:
        BadInput: several processes, and one GPU by its number.
    """
    device = chosen_device()
    accelerator = "gpu" if device.type == "cuda" else device.type
    if device.index is None or device.type == "cpu":
        return {"accelerator": accelerator, "devices": processes}
    if processes > 1:
        raise BadInput(
            f"LONGFORM_DEVICE names one GPU, {device}, and LONGFORM_DEVICES asks for {processes}; "
            "set LONGFORM_DEVICE=cuda, or unset it"
        )
    return {"accelerator": accelerator, "devices": [device.index]}
