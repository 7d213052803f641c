"""Model files of the correlated topic model exchanged with the original program, both ways.

Run from the repository root: ``python -m benchmarks.topic_files --original PATH/TO/ctm``. On
simulated documents ours is fitted and written, the original reads it (its ``inf`` mode) and reads
the documents under it; the original is fitted, ours reads its files. Files have six decimals, as
the original's do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ctm_files import (
    read_model,
    read_posteriors,
    write_corpus,
    write_model,
    write_settings,
)
from benchmarks.topics import simulated
from longform.critics.topics.model import RELEASED, RELEASED_INFERENCE, TermCounts
from longform.critics.topics.train import (
    RELEASED_SEED,
    Expectation,
    expectation,
    maximise,
    seeded_model,
)

ITERATIONS = 10  # of each program's fit
# RELEASED, RELEASED_INFERENCE and RELEASED_SEED are the original program's own settings.
INFERENCE = replace(RELEASED_INFERENCE, floats="float64")  # the original has no other precision


def ours_to_theirs(
    original: Path, counts: TermCounts, topics: int, folder: Path
) -> dict[str, float]:
    """Fit ours and write its files; differences of both programs' inference with them."""
    start = seeded_model(counts, topics=topics, seed=RELEASED_SEED)
    settings = replace(RELEASED, em_iterations=ITERATIONS, floats="float64")
    fitted = maximise(counts, start, settings=settings)  # all iterations of EM
    write_model(folder / "ours", fitted)
    return inference_differences(original, counts, topics, folder=folder, model="ours")


def theirs_to_ours(
    original: Path, counts: TermCounts, topics: int, folder: Path
) -> dict[str, float]:
    """Fit the original, which writes its files; differences of both inferences with them."""
    write_settings(folder / "est.txt", replace(RELEASED, em_iterations=ITERATIONS))
    run(original, "est", folder / "corpus.dat", topics, "seed", folder / "fit", folder / "est.txt")
    return inference_differences(original, counts, topics, folder=folder, model="fit/final")


def inference_differences(
    original: Path, counts: TermCounts, topics: int, folder: Path, model: str
) -> dict[str, float]:
    """Differences of both programs' inference with one model's files, by :func:`agreement`.

    Args:
        original: binary of the original program.
        counts: documents, also in ``corpus.dat``.
        topics: number of topics.
        folder: of ``corpus.dat``, of the model's files and of what the original writes.
        model: prefix of the model's files in ``folder``.
    """
    output = folder / f"inference-{Path(model).name}"
    write_settings(folder / "inf.txt", RELEASED_INFERENCE)
    run(original, "inf", folder / "corpus.dat", folder / model, output, folder / "inf.txt")
    means, variances = read_posteriors(output, topics=topics)
    bounds = numbers(Path(f"{output}-ctm-lhood.dat"))
    ours = expectation(counts, read_model(folder / model), INFERENCE)
    return agreement(ours, means=means, variances=variances, bounds=bounds)


def agreement(
    ours: Expectation, means: np.ndarray, variances: np.ndarray, bounds: np.ndarray
) -> dict[str, float]:
    """Differences of our posteriors and bounds from the original's; gains are ours minus its.

    Args:
        ours: our E-step, with the same arrays (``logits`` are the means).
        means, variances: of the original's posteriors, float64 (documents, topics).
        bounds: the original's bound on each document's log likelihood in nats, (documents,).
    """
    gain = ours.bounds - bounds
    of_means = np.abs(ours.logits - means)
    of_variances = np.abs(ours.variances - variances)
    return {
        "median_absolute_difference_of_means": float(np.median(of_means)),
        "largest_absolute_difference_of_means": float(np.max(of_means)),
        "median_absolute_difference_of_variances": float(np.median(of_variances)),
        "bound_ours": float(ours.bounds.sum()),
        "bound_theirs": float(bounds.sum()),
        "least_gain_of_a_document_nats": float(gain.min()),
        "largest_gain_of_a_document_nats": float(gain.max()),
        "documents_within_a_hundredth_of_a_nat": float(np.mean(np.abs(gain) < 0.01)),
    }


def numbers(path: Path) -> np.ndarray:
    """The numbers of a file with one a line, float64."""
    return np.array(path.read_text(encoding="ascii").split(), np.float64)


def run(original: Path, *arguments: Any) -> None:
    """Run the original program without its output."""
    subprocess.run([str(original), *map(str, arguments)], check=True, capture_output=True)


def main() -> None:
    """Measure and print; with --out, also write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    binary = "binary of the original program"
    parser.add_argument("--original", type=Path, required=True, help=binary)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--topics", type=int, default=8)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    original, topics = options.original, options.topics
    # Both ways, on the same documents.
    counts = simulated(options.documents, length=150, terms=400, topics=topics)
    results: dict[str, Any] = {
        "documents": options.documents,
        "topics": topics,
        "iterations": ITERATIONS,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "corpus.dat", counts)
        ours_read = ours_to_theirs(original, counts, topics, folder)
        theirs_read = theirs_to_ours(original, counts, topics, folder)
    results["our_files_read_by_the_original"] = ours_read
    results["its_files_read_by_ours"] = theirs_read
    text = json.dumps(results, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
