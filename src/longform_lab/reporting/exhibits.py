"""What a paper's tables and figures have in common: settings, a drawing of records, and files that are saved."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from longform.settings import Settings

if TYPE_CHECKING:
    from longform.results import Record, Results
    from longform_lab.reporting.pivot import Given


class Sheet(Protocol):
    """A drawn exhibit: a table, a figure, or files of another kind."""

    def save(self, folder: Path, name: str) -> None:
        """Write its files."""


class Exhibit(Settings):
    """A kind of table or figure, with what an entry may say of it."""

    def draw(self, given: "Given") -> Sheet:
        """Draw it.

        Args:
            given: the records, what the paper printed, and the data folder.
        """
        raise NotImplementedError


class Paper:
    """A paper: its exhibits, and the records that follow from others."""

    exhibits: ClassVar[dict[str, type[Exhibit]]] = {}

    @staticmethod
    def derived(results: "Results") -> "Iterable[Record]":
        """Records that follow from those of the critics; none by default."""
        return ()
