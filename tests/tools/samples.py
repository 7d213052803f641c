"""Small files in the forms that the commands for any model read."""

from pathlib import Path

PAIRS = "good,bad,context\nThe town is old.,Old town the is.,It lies on a river.\nShe sang.,Sang she.,Anna met Ben.\n"


def write_samples(folder: Path) -> None:
    """``pairs.csv``."""
    (folder / "pairs.csv").write_text(PAIRS, encoding="utf-8")
