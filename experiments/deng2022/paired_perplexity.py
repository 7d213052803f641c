"""How much likelier one network finds the same documents than another: the ratio of their perplexities, paired by document, as JSON.

    PYTHONPATH=src python experiments/deng2022/paired_perplexity.py \
        scales/real/data/readings/articles/perplexity/wiki/smollm2-{with,without}_titles-seed_1/log_probs.npz \
        --out experiments/deng2022/measured/paired_perplexity_smollm2.json

Tables give each perplexity its own interval over documents; documents differ far more than networks, so a ratio wants pairs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

DRAWS = 10_000


def nats(reading: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Ids, summed -log p in nats and tokens of each document."""
    with np.load(reading, allow_pickle=False) as arrays:
        ends = np.cumsum(arrays["token_logprob_lengths"])
        sums = [-row.sum(dtype=np.float64) for row in np.split(arrays["token_logprob"], ends[:-1])]
        return arrays["unit_ids"].tolist(), np.array(sums), arrays["token_logprob_lengths"].astype(np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reading", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    (ids, own, tokens), (names, their, words) = nats(args.reading), nats(args.other)
    if ids != names:
        raise SystemExit("the readings are of other documents")
    rows = np.random.default_rng(1234).integers(0, len(ids), (DRAWS, len(ids)))
    logs = their[rows].sum(1) / words[rows].sum(1) - own[rows].sum(1) / tokens[rows].sum(1)
    low, high = np.exp(np.percentile(logs, [2.5, 97.5]))
    made = {
        "command": "experiments/deng2022/paired_perplexity.py",
        "documents": len(ids),
        "perplexity": float(np.exp(own.sum() / tokens.sum())),
        "other_perplexity": float(np.exp(their.sum() / words.sum())),
        "ratio": float(np.exp(their.sum() / words.sum() - own.sum() / tokens.sum())),
        "low": float(low),
        "high": float(high),
    }
    args.out.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(made))


if __name__ == "__main__":
    main()
