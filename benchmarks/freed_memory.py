"""A training step where the C library keeps freed memory, as a stage has it, against one where it gives it back.

``PYTHONPATH=src python -m benchmarks.freed_memory --json out.json`` (Linux with glibc; about four minutes on two cores). The
default run's GPT-2 shape trains in fresh processes, one alone and two side by side as two workers have it; the two ways take
turns, and a round's ratio is of turns that follow each other. Time is by the clock from the first to the last step after
warming up, the slower process's where there are two; page faults are the kernel's count.

Floor before the measurement: a step holds some five tensors of logits (1,024 tokens x 2,048 words x 4 bytes = 8 MB) that glibc
maps anew, so 10,000 pages of 4 KB; at a microsecond a fault in a virtual machine that is 10 ms beside 40 ms of arithmetic.
Prediction: 1.2 times faster alone, and more where two processes wait for the same kernel.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.training import SHAPES, network, tell
from longform.core.stages import keep_freed_memory

SHAPE = SHAPES["small"]
WAYS = ("kept", "given back")
WARM = 10  # steps


def train(steps: int) -> dict[str, float]:
    """Seconds and minor page faults a step, from the moment that standard input says to go."""
    model = network(SHAPE)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    words = torch.randint(0, SHAPE["vocab_size"], (SHAPE["batch"], SHAPE["context"]))
    for step in range(WARM + steps):
        if step == WARM:
            print("ready", flush=True)
            sys.stdin.readline()
            began, faults = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        logits = model(input_ids=words, use_cache=False).logits
        torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), words[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    seconds = time.perf_counter() - began
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    return {"seconds": seconds / steps, "faults": faults / steps}


def turn(way: str, processes: int, steps: int) -> dict[str, float]:
    """Some trainings at once: the slowest one's seconds a step, and its faults."""
    command = [sys.executable, "-m", "benchmarks.freed_memory", "--child", way, "--steps", str(steps)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = [subprocess.Popen(command, **pipes) for _ in range(processes)]
    for child in children:
        child.stdout.readline()
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    found = [json.loads(child.communicate()[0]) for child in children]
    return max(found, key=lambda one: one["seconds"])


def compare(processes: int, rounds: int, steps: int) -> dict[str, object]:
    """Ratios of turns that follow each other, and the medians behind them."""
    turns: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for number in range(rounds):
        for way in WAYS if number % 2 else WAYS[::-1]:
            turns[way].append(turn(way, processes, steps))
        print(f"{processes} at once, round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    ratios = [b["seconds"] / a["seconds"] for a, b in zip(*(turns[way] for way in WAYS), strict=True)]
    return {
        "times_faster": statistics.median(ratios),
        "rounds": ratios,
        "milliseconds_a_step": {way: 1e3 * statistics.median(t["seconds"] for t in turns[way]) for way in WAYS},
        "page_faults_a_step": {way: statistics.median(t["faults"] for t in turns[way]) for way in WAYS},
    }


def main() -> None:
    """Measure and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--child", choices=WAYS, help="be one of the trainings")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.child:
        if chosen.child == "kept":
            keep_freed_memory()
        print(json.dumps(train(chosen.steps)))
        return
    found: dict[str, Any] = {
        name: compare(count, chosen.rounds, chosen.steps) for name, count in (("alone", 1), ("two at once", 2))
    }
    found |= {
        "shape": SHAPE | {"steps": chosen.steps},
        "platform": {"torch": torch.__version__, "libc": " ".join(platform.libc_ver())},
    }
    tell(found, chosen.json)


if __name__ == "__main__":
    main()
