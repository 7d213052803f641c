"""One stage of the pipeline in a folder of its own.

``python -m experiments.gpu.stage HOME DATA STAGE NAME ...``
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from longform.errors import BadInput
from longform_lab.experiment import Experiment


def run(home: Path, data: Path, words: Sequence[str]) -> None:
    """Run a stage as ``python -m longform_lab`` does, without a mirror of trainings.

    Args:
        home: folder of ``params.yaml`` and ``data/``.
        data: folder of published texts and weights, in which Python finds packages of weights.
        words: the stage, its names, and perhaps ``--only SYSTEM``.
    """
    from longform_lab import criticism, scoring, texts

    if str(data) not in sys.path:
        sys.path.append(str(data))
    stages = {
        "corpus": texts.corpus,
        "tokenizer": texts.tokenizer,
        "language_model": texts.language_model,
        "generate": texts.generate,
        "decode": texts.decode,
        "complete": texts.complete,
        "train": criticism.train,
        "read": criticism.read,
        "score": scoring.score,
    }
    # --only SYSTEM, as the pipeline's command has it, comes last.
    only = words[-1] if "--only" in words else None
    names = words[1:-2] if only else words[1:]
    stages[words[0]](Experiment(home, only), *names)


if __name__ == "__main__":
    try:
        run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
    except BadInput as error:
        sys.exit(f"longform: {error}")
