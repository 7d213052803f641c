"""Finished batches of continuations, kept on disk so that a killed run goes on where it was and ends with the same bytes.

A batch is written as one line when all of it is done: batches are formed before anything is decoded, so a run that is
taken up again decodes the missing ones in the company that they would have had.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

DIGITS = 6  # of a log-probability in nats; float32 has no more
ROWS = 8  # read at a time when log-probabilities are taken


@dataclass(frozen=True)
class Draft:
    """One continuation: its tokens, their log-probabilities in nats, and the sum over the prefix's tokens."""

    ids: list[int]
    nats: list[float]
    prefix_nats: float


class Drafts:
    """Batches in order; ``scratch`` None keeps nothing."""

    def __init__(self, scratch: Path | None) -> None:
        self.path = None if scratch is None else scratch / "batches.jsonl"
        self.done: dict[int, list[Draft]] = {}
        self.asked = 0
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path and self.path.is_file() else []
        for line in lines:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:  # the line on which the run was killed: its batch is decoded again
                continue
            self.done[record["batch"]] = [Draft(**draft) for draft in record["drafts"]]

    def get(self, rows: Sequence[Any], make: Callable[[Sequence[Any]], list[Draft]]) -> list[Draft]:
        """The next batch, from disk or made and put there."""
        number, self.asked = self.asked, self.asked + 1
        if number not in self.done:
            self.done[number] = make(rows)
            self._keep(number)
        return self.done[number]

    def _keep(self, number: int) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            record = {"batch": number, "drafts": [asdict(draft) for draft in self.done[number]]}
            torn = file.tell() > 0 and self._last_byte() != b"\n"
            file.write(("\n" if torn else "").encode() + json.dumps(record).encode() + b"\n")

    def _last_byte(self) -> bytes:
        assert self.path is not None
        with self.path.open("rb") as file:
            file.seek(-1, 2)
            return file.read(1)


@torch.no_grad()
def token_log_probs(
    network: Any, prompts: Sequence[Sequence[int]], written: Sequence[Sequence[int]]
) -> list[tuple[list[float], float]]:
    """Log-probabilities of the written tokens in nats, and the sum over the prompt's tokens after its first one."""
    made: list[tuple[list[float], float]] = []
    for start in range(0, len(prompts), ROWS):
        part = range(start, min(start + ROWS, len(prompts)))
        rows = [[*prompts[i], *written[i]] for i in part]
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=network.device)
        log_probs = network(input_ids=ids).logits.float().log_softmax(-1)  # padding is on the right: nobody looks there
        found = log_probs[:, :-1].gather(2, ids[:, 1:, None])[..., 0].double().cpu().numpy()
        for place, i in enumerate(part):
            begin, end = len(prompts[i]) - 1, len(rows[place]) - 1
            nats = [round(float(value), DIGITS) for value in found[place, begin:end]]
            made.append((nats, round(float(found[place, :begin].sum()), DIGITS)))
    return made
