"""What ``params.yaml`` may say: the registries of every room, and where an entry's texts and files lie."""

import sys
from pathlib import Path

ROOT = str(
    Path(__file__).parents[3]
)  # of the repository: ``experiments`` lies there, beside ``src``
if ROOT not in sys.path:
    sys.path.append(ROOT)
