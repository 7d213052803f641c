"""What an update costs the host and how many kernels it launches.

Measured on a processor, with a network that is as deep and very narrow.
"""

import statistics
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import GPT2Config, GPT2LMHeadModel

from experiments.gpu.training import Recipe, Rows, Training

# Bookkeeping and memory, though no views by their schema.
NO_KERNEL = ("_unsafe_view", "empty", "empty_like", "empty_strided")
WIDTH, BATCH, LENGTH, UPDATES = 8, 8, 32, 12  # so small that arithmetic is nothing beside the calls


@dataclass(frozen=True)
class HostCost:
    """Of one update.

    Attributes:
        kernels: calls that compute; each is a kernel on a GPU.
        seconds: of a processor, which an update takes at least where it is not recorded.
    """

    kernels: int
    seconds: float


class Calls(TorchDispatchMode):
    """Counts calls of operators that compute something; views are bookkeeping."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        returned = func._schema.returns
        alias = returned[0].alias_info if returned else None
        computes = alias is None or alias.is_write
        self.count += computes and func.overloadpacket.__name__ not in NO_KERNEL
        return func(*args, **(kwargs or {}))


@cache
def host_cost(layers: int) -> HostCost:
    """Of an unrecorded update of a GPT-2 of so many layers, in the loop that all jobs share."""
    sizes = {"n_layer": layers, "n_embd": WIDTH, "n_head": 1, "n_positions": LENGTH}
    network = GPT2LMHeadModel(GPT2Config(vocab_size=56, bos_token_id=0, eos_token_id=0, **sizes))
    rows = Rows([[1] * LENGTH] * BATCH, torch.device("cpu"))
    training = Training(network, rows, Recipe(BATCH, UPDATES + 2, 1e-4, 10), seed=0)
    training.advance(1)
    with Calls() as calls:
        training.advance(1)
    times = []
    for _ in range(UPDATES):
        started = time.process_time()  # other work on the machine does not count
        training.advance(1)
        times.append(time.process_time() - started)
    return HostCost(calls.count, statistics.median(times))
