"""What ``report`` wrote, shown in a reading guide: nothing here computes a number."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from longform.files.artefacts import read_yaml
from longform.results import read_results

ROOT = Path(__file__).parents[1]


@dataclass
class Exhibits:
    """The tables and figures of one paper, at one scale.

    Attributes:
        paper: a folder of ``paper_figures``.
        home: the repository or a scale.
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
            made = sorted((self.folder / name).glob("*"))
            subject = next((key for key, entry in self.reports.items() if name in entry["exhibits"]), None)
            command = f"dvc repro report_{self.paper}_{subject}" if subject else "no report of this paper names it"
            print(f"== {self.paper}/{name} ==\n{'' if made else 'not made yet; '}{command}")
            for path in made:
                _show(path, self.folder)

    def rest(self) -> None:
        """Show what the run wrote and this guide does not speak of."""
        made = {path.name for path in self.folder.glob("*") if path.is_dir()}
        self.show(*sorted(made - set(self.shown)))

    def scores(self) -> None:
        """Name the files of records that the exhibits are drawn from."""
        for place in dict.fromkeys(place for entry in self.reports.values() for place in entry["scores"]):
            path = self.home / "data" / "scores" / f"{place}.json"
            print(
                f"data/scores/{place}.json: {f'{len(read_results(path))} records' if path.is_file() else 'not made yet'}"
            )

    @cached_property
    def reports(self) -> dict[str, Any]:
        """The paper's reports by subject: their exhibits and the scores that these show."""
        reports: dict[str, Any] = read_yaml(self.home / "experiments" / self.paper / "params.yaml")["reports"]
        return reports


def _show(path: Path, folder: Path) -> None:
    """Markdown as text, PNG as a picture, anything else by its name."""
    if path.suffix == ".md":
        _say(path.read_text(encoding="utf-8").splitlines())
    elif path.suffix == ".png":
        _draw(path)
    else:
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
