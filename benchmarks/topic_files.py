"""Model files of the correlated topic model exchanged with the original program, both ways, on simulated documents.

Run from the repository root:  python -m benchmarks.topic_files --original PATH/TO/ctm --out benchmarks/measured/topic_files.json
Ours is fitted and written, the original reads it (its ``inf`` mode) and reads the documents under it; the original is
fitted, ours reads its files. Written files keep six decimals, as the original's do.
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


def ours_to_theirs(
    original: Path, counts: TermCounts, topics: int, folder: Path
) -> dict[str, float]:
    """We fit and write; the original infers with our files; differences of means, variances and bounds."""
    start = seeded_model(counts, topics=topics, seed=RELEASED_SEED)
    model = maximise(
        counts, start, settings=replace(RELEASED, em_iterations=ITERATIONS, floats="float64")
    )
    write_model(folder / "ours", model)
    found = expectation(
        counts, read_model(folder / "ours"), replace(RELEASED_INFERENCE, floats="float64")
    )
    write_settings(folder / "inf.txt", RELEASED_INFERENCE)
    run(
        original,
        "inf",
        folder / "corpus.dat",
        folder / "ours",
        folder / "theirs",
        folder / "inf.txt",
    )
    return agreement(
        found,
        *read_posteriors(folder / "theirs", topics=topics),
        numbers(folder / "theirs-ctm-lhood.dat"),
    )


def theirs_to_ours(
    original: Path, counts: TermCounts, topics: int, folder: Path
) -> dict[str, float]:
    """The original fits and writes; ours reads its files and infers; compared with its own inference under them."""
    write_settings(folder / "est.txt", replace(RELEASED, em_iterations=ITERATIONS))
    run(original, "est", folder / "corpus.dat", topics, "seed", folder / "fit", folder / "est.txt")
    write_settings(folder / "inf.txt", RELEASED_INFERENCE)
    run(
        original,
        "inf",
        folder / "corpus.dat",
        folder / "fit" / "final",
        folder / "again",
        folder / "inf.txt",
    )
    found = expectation(
        counts, read_model(folder / "fit" / "final"), replace(RELEASED_INFERENCE, floats="float64")
    )
    return agreement(
        found,
        *read_posteriors(folder / "again", topics=topics),
        numbers(folder / "again-ctm-lhood.dat"),
    )


def agreement(
    found: Expectation, means: np.ndarray, variances: np.ndarray, bounds: np.ndarray
) -> dict[str, float]:
    """Largest and median differences over documents, ours minus theirs where signed."""
    gain = found.bounds - bounds
    return {
        "median_absolute_difference_of_means": float(np.median(np.abs(found.logits - means))),
        "largest_absolute_difference_of_means": float(np.max(np.abs(found.logits - means))),
        "median_absolute_difference_of_variances": float(
            np.median(np.abs(found.variances - variances))
        ),
        "bound_ours": float(found.bounds.sum()),
        "bound_theirs": float(bounds.sum()),
        "least_gain_of_a_document_nats": float(gain.min()),
        "largest_gain_of_a_document_nats": float(gain.max()),
        "documents_within_a_hundredth_of_a_nat": float(np.mean(np.abs(gain) < 0.01)),
    }


def numbers(path: Path) -> np.ndarray:
    """One number a line."""
    return np.array(path.read_text(encoding="ascii").split(), np.float64)


def run(original: Path, *arguments: Any) -> None:
    """The original program, quietly."""
    subprocess.run([str(original), *map(str, arguments)], check=True, capture_output=True)


def main() -> None:
    """Measure and print; with --out, also write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--original", type=Path, required=True, help="binary of the original program"
    )
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--topics", type=int, default=8)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    counts = simulated(options.documents, length=150, terms=400, topics=options.topics)
    found: dict[str, Any] = {
        "documents": options.documents,
        "topics": options.topics,
        "iterations": ITERATIONS,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "corpus.dat", counts)
        found["our_files_read_by_the_original"] = ours_to_theirs(
            options.original, counts, options.topics, folder
        )
        found["its_files_read_by_ours"] = theirs_to_ours(
            options.original, counts, options.topics, folder
        )
    text = json.dumps(found, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
