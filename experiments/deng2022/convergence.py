"""Validation loss over updates of every network of a scale's study: has the finetuning of Tables 2 and 5 converged, the training of Table 1?

    PYTHONPATH=src python experiments/deng2022/convergence.py scales/sizes --out experiments/deng2022/measured/convergence.json
    PYTHONPATH=src python experiments/deng2022/convergence.py scales/table_1 --study synthetic --out experiments/deng2022/measured/transformers_paper_size.json

Means over seeds at each validation, nats a token, and what the last of them still gained.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from longform.files.opening import rows


def main() -> None:
    """Read ``training.csv`` beside each network's weights; one entry for each corpus, model and setting of titles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scale", type=Path)
    parser.add_argument("--study", default="articles")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    curves: dict[str, list[list[tuple[int, float]]]] = {}
    models = given.scale / "data" / "models" / given.study
    for path in sorted(models.rglob("training.csv")):
        table = rows(path, ("update", "validation_loss"))
        points = [(int(row["update"]), float(row["validation_loss"])) for row in table]
        place = path.parent.relative_to(models).parts
        curves.setdefault(
            "/".join(part for part in place if not part.startswith("seed_")), []
        ).append(points)
    found = {}
    for name, runs in curves.items():
        losses = np.array([[loss for _, loss in run] for run in runs])
        mean, spread = (
            losses.mean(axis=0),
            losses.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(losses.shape[1]),
        )
        found[name] = {
            "updates": [update for update, _ in runs[0]],
            "validation_loss": np.round(mean, 4).tolist(),
            "deviation_of_seeds": np.round(spread, 4).tolist(),
            "seeds": len(runs),
            "last_gain": round(float(mean[-2] - mean[-1]), 4),
        }
        print(
            f"{name}: {mean[0]:.3f} -> {mean[-1]:.3f} nats a token, the last validation gained {found[name]['last_gain']}"
        )
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
