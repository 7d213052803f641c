"""Which processor or GPU models run on."""

from __future__ import annotations

import os

import torch

from longform.core.documents import BadInput


def chosen_device() -> torch.device:
    """Where models run: what ``LONGFORM_DEVICE`` names ("cpu", "cuda:1" …), else the first GPU, else the CPU.

    It is no parameter of a row, because it changes no result beyond rounding.

    Raises:
        BadInput: no device has that name.
    """
    name = os.environ.get("LONGFORM_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise BadInput(f"LONGFORM_DEVICE is {name!r}; allowed are torch's names such as cpu, cuda, cuda:1") from error
