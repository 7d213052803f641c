"""Stages: read parameters, read files, call one function, write files.

``python -m longform_lab STAGE NAME ...`` is what every DVC stage runs; :mod:`longform_lab.repro` runs several at once.
"""

import sys
from pathlib import Path

ROOT = str(
    Path(__file__).parents[2]
)  # of the repository: ``experiments`` lies there, beside ``src``
if ROOT not in sys.path:
    sys.path.append(ROOT)
