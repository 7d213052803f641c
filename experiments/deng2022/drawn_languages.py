"""Measure how much the exact values of Table 1's language vary with the draw of the language.

    PYTHONPATH=src python experiments/deng2022/drawn_languages.py --seeds 200 \\
        --out experiments/deng2022/measured/drawn_languages.json

The authors' draw is not published.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from synthetic_world.hsmm_language import SyntheticLanguage, language

SIZES = {
    "num_states": 256,
    "subsequences": 10_000,
    "min_length": 4,
    "max_length": 11,
    "steps": 50,
}  # deng2022 appendix D
TEMPERATURES = {"transition": 0.5, "emission": 0.3}
PRINTED = {"word_ppl": 1.99, "latent_ppl": 44.30, "latent_ppl_of_independent_states": None}
OURS = 1234  # seed of params.yaml, so of the language of the scale table_1


def by_chance(world: SyntheticLanguage) -> float:
    """Exact Latent PPL of texts whose states are independent of each other.

    At each position a state is as frequent as in the language.
    """
    marginals = world.state_marginals()  # (positions, states)
    # At each position the expected -log p(state | state before), both drawn from their marginals.
    nats = -(marginals[:-1] @ np.log(world.transitions) * marginals[1:]).sum(axis=1)
    return float(np.exp(nats.mean()))


def closed_forms(seed: int) -> tuple[float, float, float]:
    """The exact values, in the order of ``PRINTED``, of the language that a seed draws."""
    world = language(seed=seed, temperatures=TEMPERATURES, **SIZES)
    return world.word_ppl(), world.latent_ppl(), by_chance(world)


def main() -> None:
    """Write mean and 95 % range over languages of each value, with ours and the printed one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    columns = np.array([closed_forms(seed) for seed in range(1, arguments.seeds + 1)]).T
    report: dict[str, object] = {
        "command": "experiments/deng2022/drawn_languages.py",
        "languages": arguments.seeds,
    }
    for name, values, ours in zip(PRINTED, columns, closed_forms(OURS), strict=True):
        low, high = np.percentile(values, [2.5, 97.5])
        spread = {"mean": values.mean(), "low": low, "high": high, "ours": ours}
        printed = PRINTED[name]
        if printed is not None:
            spread["printed"] = printed
        report[name] = {key: round(float(value), 4) for key, value in spread.items()}
    arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
