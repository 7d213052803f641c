"""Where programs that track trainings add their loggers; the library itself knows no tracker.

It writes a CSV file.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Mirror = Callable[[str, Path, list[str]], list[Any]]
"""Of a training's name, scratch folder and tags: Lightning's loggers, none if tracking is off."""

mirrors: list[Mirror] = []
