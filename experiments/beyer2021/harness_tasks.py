"""Write the suites of a corpus as tasks of lm-evaluation-harness.

``PYTHONPATH=src:. python experiments/beyer2021/harness_tasks.py data/corpora/probes/suites scratch/harness_tasks``, then
``lm_eval --include_path scratch/harness_tasks --tasks coherencegym``. ``dvc repro corpus@suites`` makes the corpus.
"""

import argparse
import sys
from pathlib import Path

from experiments.beyer2021.report import harness_tasks
from longform.errors import BadInput
from longform.files.artefacts import atomic_write


def main(arguments: list[str] | None = None) -> int:
    """Command line: 0 where the tasks are written, 2 where the corpus has none."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, help="the folder of a corpus of suites")
    parser.add_argument("out", type=Path, help="the folder to write; replaced if it is there")
    chosen = parser.parse_args(arguments)
    try:
        tasks = harness_tasks(chosen.corpus)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    with atomic_write(chosen.out) as folder:
        folder.mkdir(parents=True)
        tasks.save(folder, "tasks")
    print(f"{chosen.out}: {len(tasks.texts)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
