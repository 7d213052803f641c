"""How much the exact values of Table 1's language vary with the draw of the language itself: the authors' draw is not published, as JSON.

PYTHONPATH=src python experiments/deng2022/drawn_languages.py --seeds 200 --out experiments/deng2022/measured/drawn_languages.json
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


def by_chance(drawn: SyntheticLanguage) -> float:
    """Exact Latent PPL of states drawn without regard to the one before, each as often as at its place in the language."""
    marginals = drawn.state_marginals()
    return float(
        np.exp(-np.mean((marginals[:-1] @ np.log(drawn.transitions) * marginals[1:]).sum(axis=1)))
    )


def main() -> None:
    """Closed forms of one language a seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    drawn = (
        language(seed=seed, temperatures=TEMPERATURES, **SIZES)
        for seed in [*range(1, given.seeds + 1), OURS]
    )
    *exact, ours = [(one.word_ppl(), one.latent_ppl(), by_chance(one)) for one in drawn]
    found: dict[str, object] = {
        "command": "experiments/deng2022/drawn_languages.py",
        "languages": given.seeds,
    }
    for name, values, own in zip(PRINTED, np.array(exact).T, ours, strict=True):
        low, high = np.percentile(values, [2.5, 97.5])
        spread = {
            "mean": values.mean(),
            "low": low,
            "high": high,
            "ours": own,
            "printed": PRINTED[name],
        }
        found[name] = {
            key: round(float(value), 4) for key, value in spread.items() if value is not None
        }
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
