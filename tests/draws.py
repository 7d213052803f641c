"""Functions to read without context: ``python -m tests.draws [COMMIT] [FOLDER...]`` prints twenty of them.

The commit's hash is the seed, so that nobody chooses what is read; by default the last commit and the
rooms of statistics and critics. All that it prints belongs into the report of who reads.
"""

import ast
import random
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src/longform/statistics", "src/longform/critics")
NUMBER = 20


@dataclass(frozen=True)
class Function:
    """One function or method with its source."""

    place: str  # file and line
    name: str
    source: str


@cache
def functions(folders: tuple[str, ...] = FOLDERS, root: Path = ROOT) -> list[Function]:
    """All functions below some folders, in order of files and lines."""
    listed = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            lines = text.splitlines()
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    place = f"{path.relative_to(root).as_posix()}:{node.lineno}"
                    source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                    listed.append(Function(place, node.name, source))
    return listed


def drawn(commit: str, folders: tuple[str, ...] = FOLDERS, number: int = NUMBER) -> list[Function]:
    """So many functions, drawn without replacement by the commit's hash."""
    return random.Random(commit).sample(functions(folders), number)


def main() -> None:
    """Print the functions drawn for a commit."""
    commit, *folders = sys.argv[1:] or ["HEAD"]
    command = ["git", "rev-parse", commit]
    full = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    print(f"seed {full.stdout.strip()}")
    for function in drawn(full.stdout.strip(), tuple(folders) or FOLDERS):
        print(f"\n# {function.place} {function.name}\n{function.source}")


if __name__ == "__main__":
    main()
