"""Summarise the validation loss over updates of every network of a scale's study.

    PYTHONPATH=src python experiments/deng2022/convergence.py scales/sizes \\
        --out experiments/deng2022/measured/convergence.json
    PYTHONPATH=src python experiments/deng2022/convergence.py scales/table_1 --study synthetic \\
        --out experiments/deng2022/measured/transformers_paper_size.json

Means over seeds at each validation, nats a token, and what the last of them still gained.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from longform.errors import BadInput
from longform.files.opening import rows

Curve = list[tuple[int, float]]  # the update and the loss of each validation


def curves_of(models: Path) -> dict[str, list[Curve]]:
    """Curves of all seeds of each network, by its folder: corpus, model and setting of titles."""
    curves: dict[str, list[Curve]] = {}
    for path in sorted(models.rglob("training.csv")):
        table = rows(path, ("update", "validation_loss"))
        curve = [(int(row["update"]), float(row["validation_loss"])) for row in table]
        folder = path.parent
        if folder.name.startswith("seed_"):
            folder = folder.parent
        name = folder.relative_to(models).as_posix()
        curves.setdefault(name, []).append(curve)
    return curves


def summary(curves: list[Curve]) -> dict[str, Any]:
    """The mean curve of several seeds, their deviation, and the last gain.

    Raises:
        BadInput: seeds were validated after different updates, or once alone.
    """
    updates = [[update for update, _ in curve] for curve in curves]
    if any(each != updates[0] for each in updates) or len(updates[0]) < 2:
        raise BadInput(f"validations after {updates}; each seed needs the same two or more")
    losses = np.array(curves)[:, :, 1]  # (seeds, validations)
    mean = losses.mean(axis=0)
    deviation = np.zeros(len(mean))
    if len(curves) > 1:
        deviation = losses.std(axis=0, ddof=1)
    return {
        "updates": updates[0],
        "validation_loss": np.round(mean, 4).tolist(),
        "deviation_of_seeds": np.round(deviation, 4).tolist(),
        "seeds": len(curves),
        "last_gain": round(float(mean[-2] - mean[-1]), 4),
    }


def main() -> None:
    """Summarise ``training.csv`` beside each network's weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scale", type=Path)
    parser.add_argument("--study", default="articles")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    models = arguments.scale / "data" / "models" / arguments.study
    all_curves = curves_of(models)
    if not all_curves:
        parser.error(f"{models}: no training.csv below it; give a folder in which a scale has run")

    # One entry a network, printed as it is made.
    report = {}
    for name, curves in all_curves.items():
        try:
            entry = summary(curves)
        except BadInput as error:
            parser.error(f"{name}: {error}")
        report[name] = entry
        losses = entry["validation_loss"]
        print(
            f"{name}: {losses[0]:.3f} -> {losses[-1]:.3f} nats a token, the last validation gained "
            f"{entry['last_gain']}"
        )
    arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
