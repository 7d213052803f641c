"""What ``params.yaml`` may say: the registries of every room, and where an entry's texts lie."""

import sys
from pathlib import Path

# Of the repository: ``experiments`` lies there, beside ``src``.
ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:
    sys.path.append(ROOT)
