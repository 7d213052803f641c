"""What ``report`` wrote, shown in a reading guide: nothing here computes a number."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_yaml

ROOT = Path(__file__).parents[3]


@dataclass
class Exhibits:
    """The tables and figures of one paper, at one scale.

    Attributes:
        paper: a folder of ``paper_figures``.
        home: the folder of ``params.yaml``; the repository or a scale.
        shown: exhibits that were asked for, made or not.
    """

    paper: str
    home: Path = ROOT
    shown: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Where ``report`` writes this paper's exhibits."""
        return self.home / "paper_figures" / self.paper

    def show(self, *names: str) -> None:
        """Show each exhibit with the command that makes it; one that no run has made yet is named as such."""
        for name in names:
            self.shown.append(name)
            row = self._row(name)
            made = (self.folder / name).is_dir()
            print(f"== {self.paper}/{name} ==")
            print(_behind(row, made))
            for path in sorted((self.folder / name).glob("*")) if made else []:
                _show(path, self.folder)

    def rest(self) -> None:
        """Show what the run wrote and this guide does not speak of."""
        made = {path.name for path in self.folder.glob("*") if path.is_dir()}
        self.show(*sorted(made - set(self.shown)))

    def scores(self) -> None:
        """Name the score records of this paper, with the signature of the critic that wrote each."""
        paths = sorted((self.home / "data" / "scores" / self.paper).glob("*.json"))
        print(
            f"{len(paths)} score records in data/scores/{self.paper}" + ("" if paths else ": no run has made any yet")
        )
        for path in paths:
            print(f"  {path.stem}: {json.loads(path.read_text(encoding='utf-8')).get('signature', '')}")

    def _row(self, name: str) -> str | None:
        """The report row that writes an exhibit."""
        rows: Mapping[str, Mapping[str, Any]] = read_yaml(self.home / "params.yaml").get("report") or {}
        found = (key for key, row in rows.items() if (row.get("paper"), row.get("table")) == (self.paper, name))
        return next(found, None)


def _behind(row: str | None, made: bool) -> str:
    if row is None:
        return (
            "written by hand-run rows: none of this params.yaml" if made else "not made yet, and no row makes it here"
        )
    return f"{'' if made else 'not made yet; '}dvc repro report@{row}"


def _show(path: Path, folder: Path) -> None:
    """Markdown as text, PNG as a picture, anything else by its name."""
    if path.suffix == ".md":
        _say(path.read_text(encoding="utf-8").splitlines())
    elif path.suffix == ".png":
        _draw(path)
    elif path.suffix != ".pdf":
        print(f"(beside it: {path.relative_to(folder)})")


def _say(lines: Sequence[str]) -> None:
    """A notebook renders the table; a script prints it. A picture's own line is left to the picture."""
    text = "\n".join(line for line in lines if not line.startswith("![")).strip()
    if "ipykernel" in sys.modules:
        from IPython.display import Markdown, display

        display(Markdown(text))
    else:
        print(text)


def _draw(path: Path) -> None:
    import matplotlib.pyplot as plt

    picture = plt.imread(path)
    height, width = picture.shape[:2]
    axes = plt.figure(figsize=(width / 100, height / 100)).add_axes((0, 0, 1, 1))
    axes.imshow(picture)
    axes.set_axis_off()
    plt.show()
    plt.close()
