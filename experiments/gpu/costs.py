"""Measure what an update costs the host, and how many kernels it launches.

On a processor, with a network as deep as the job's and very narrow.
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
WIDTH, BATCH, LENGTH = 8, 8, 32  # so small that arithmetic is nothing beside the calls
UPDATES = 12  # timed ones


@dataclass(frozen=True)
class HostCost:
    """Costs of one update.

    Attributes:
        kernels: number of operator calls that compute; each is a kernel on a GPU.
        seconds: processor seconds, which an update takes at least where it is not recorded.
    """

    kernels: int
    seconds: float


class Calls(TorchDispatchMode):
    """Counts calls of operators that compute something; views are bookkeeping."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # A view returns an alias of its input to which it does not write.
        returned = func._schema.returns
        alias = returned[0].alias_info if returned else None
        computes = alias is None or alias.is_write
        self.count += computes and func.overloadpacket.__name__ not in NO_KERNEL
        return func(*args, **(kwargs or {}))


@cache
def host_cost(layers: int) -> HostCost:
    """Costs of an unrecorded update of a GPT-2 with ``layers`` layers, in the jobs' own loop."""
    sizes = {"n_layer": layers, "n_embd": WIDTH, "n_head": 1, "n_positions": LENGTH}
    network = GPT2LMHeadModel(GPT2Config(vocab_size=56, bos_token_id=0, eos_token_id=0, **sizes))
    rows = Rows([[1] * LENGTH] * BATCH, torch.device("cpu"))
    recipe = Recipe(BATCH, updates=UPDATES + 2, rate=1e-4, warmup=10)
    training = Training(network, rows, recipe, seed=0)
    training.advance(1)  # allocates the optimizer's state
    with Calls() as calls:
        training.advance(1)
    times = []
    for _ in range(UPDATES):
        started = time.process_time()  # other work on the machine does not count
        training.advance(1)
        times.append(time.process_time() - started)
    return HostCost(calls.count, statistics.median(times))
