"""``dvc repro`` by several DVC processes side by side: ``python -m longform.pipeline.repro --workers 2``.

Studies that share nothing but the machine are reproduced by processes of their own; DVC locks what each of them writes. Then one
``dvc repro`` does what is left, which is what joins them. With one worker, or with targets, it is ``dvc repro`` and nothing else.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

DVC = (sys.executable, "-m", "dvc", "--wait-for-lock", "repro")
INDEPENDENT = (("articles", "sources"), ("suites", "decoding", "facts", "synthetic", "languages", "native"))


def studies_of(stages: Sequence[str], groups: Sequence[Sequence[str]] = INDEPENDENT) -> list[list[str]]:
    """Stages by the group of studies that their names end in; a stage of no study is left for the end.

    Args:
        stages: names as ``dvc stage list`` gives them, ``read_articles@topics``.
    """
    found: list[list[str]] = [[] for _ in groups]
    for stage in stages:
        words = stage.partition("@")[0].split("_")
        for group, names in zip(found, groups, strict=True):
            if any(name in words for name in names):
                group.append(stage)
    return [group for group in found if group]


def main(arguments: list[str] | None = None) -> int:
    """Run; the exit status is the first that is not zero."""
    parser = argparse.ArgumentParser(prog="python -m longform.pipeline.repro", description=__doc__)
    parser.add_argument("targets", nargs="*", help="stages; all by default")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="DVC processes at once")
    chosen = parser.parse_args(arguments)
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PATH": path}
    if chosen.workers > 1 and not chosen.targets:
        listed = subprocess.run(
            [sys.executable, "-m", "dvc", "stage", "list", "--name-only"], capture_output=True, text=True, check=True
        )
        running = [subprocess.Popen([*DVC, *group], env=environment) for group in studies_of(listed.stdout.split())]
        failed = [status for process in running if (status := process.wait())]
        if failed:
            return failed[0]
    return subprocess.run([*DVC, *chosen.targets], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
