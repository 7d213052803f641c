"""Small files in the forms that the commands for any model read."""

from pathlib import Path

from longform.examples import write_examples

PAIRS = "good,bad,context\nThe town is old.,Old town the is.,It lies on a river.\nShe sang.,Sang she.,Anna met Ben.\n"


PROMPTS = (
    '{"id": "a", "text": "The town lies on a river"}\n{"id": "b", "text": "Many old houses"}\n'
)


def write_samples(folder: Path) -> None:
    """``pairs.csv``, ``prompts.jsonl``, ``texts``."""
    write_examples(folder / "texts")
    (folder / "prompts.jsonl").write_text(PROMPTS, encoding="utf-8")
    (folder / "pairs.csv").write_text(PAIRS, encoding="utf-8")
