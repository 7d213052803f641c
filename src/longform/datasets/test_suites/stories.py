"""ROCStories and the Story Cloze test (Mostafazadeh et al. 2016): four sentences and two endings, one of them right."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from longform.documents import BadInput
from longform.malformed import refusing

CONTEXT = [f"InputSentence{i}" for i in range(1, 5)]
ENDINGS = ["RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2"]


@dataclass(frozen=True)
class Story:
    """Four context sentences, the right and the wrong fifth one."""

    story_id: str
    context: tuple[str, ...]
    right: str
    wrong: str


@refusing("the Story Cloze test file")
def read_stories(path: Path) -> list[Story]:
    """The cloze test file of spring 2016, tab- or comma-separated.

    Raises:
        BadInput: absent, without the columns, or an answer that is not 1 or 2; by line.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name the Story Cloze test file of spring 2016")
    with path.open(encoding="utf-8", newline="") as file:
        header = file.readline()
        file.seek(0)
        tabs = "\t" in header  # the tab-separated release quotes nothing; the comma-separated one does
        rows = csv.DictReader(
            file, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL
        )
        return [_story(row, f"{path}:{number}") for number, row in enumerate(rows, 2)]


def _story(row: dict[str, str], where: str) -> Story:
    missing = [name for name in ["InputStoryid", *CONTEXT, *ENDINGS, "AnswerRightEnding"] if not row.get(name)]
    if missing:
        raise BadInput(f"{where}: a story lacks {missing}; the file must have the columns of the cloze test")
    answer = row["AnswerRightEnding"].strip()
    if answer not in ("1", "2"):
        raise BadInput(f"{where}: AnswerRightEnding is {answer!r}, allowed are 1 and 2; mend the line")
    endings = [row[name] for name in ENDINGS]
    right = int(answer) - 1
    return Story(row["InputStoryid"], tuple(row[name] for name in CONTEXT), endings[right], endings[1 - right])
