"""The tables and figures of sheng2024 that its ``params.yaml`` can name.

Each has a class of settings; below stands their registry.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from longform.settings import parameter
from longform_lab.settings.entries import Exhibit, Paper, Sheet

if TYPE_CHECKING:
    from longform.results import Record, Results
    from longform_lab.reporting.pivot import ReportInputs


class Table1(Exhibit):
    """Pairs of original and shuffle in each test set."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.sheng2024.report import table_1

        return table_1(inputs)


class Table6(Exhibit):
    """Three rated classes of coherence, beside the commonest class, which the paper leaves out."""

    caption: str = parameter("The table's heading.")
    where: dict[str, Any] = parameter("Fields of the records that are shown.")
    column: str = parameter("The field that names a column.")
    rows: list[str] = parameter("Fields whose labels name a row.", ["critic", "variant"])

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.sheng2024.report import table_6

        return table_6(
            inputs, caption=self.caption, where=self.where, column=self.column, rows=self.rows
        )


class Length(Exhibit):
    """Rank correlation of a score with a document's number of sentences; not in the paper."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.sheng2024.report import length

        return length(inputs)


class Accuracies(Exhibit):
    """Accuracies in percent: scorers by tasks or writers (Tables 2 to 6).

    The paper's scorers that we do not have are shown with their printed numbers.
    """

    caption: str = parameter("The table's heading.")
    where: dict[str, Any] = parameter("Fields of the records that are shown.")
    column: str = parameter("The field that names a column.")
    rows: list[str] = parameter("Fields whose labels name a row.", ["critic", "variant"])

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.sheng2024.report import accuracies

        return accuracies(
            inputs, caption=self.caption, where=self.where, column=self.column, rows=self.rows
        )


class Rocs(Exhibit):
    """ROC curves with their areas: a panel an encoder, a line style a task or writer."""

    what: str = parameter("The figure's heading.")
    where: dict[str, Any] = parameter("Fields of the records that are shown.")
    column: str = parameter("The field that names a stroke.")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.sheng2024.report import rocs

        return rocs(inputs, what=self.what, where=self.where, column=self.column)


class Figure6(Exhibit):
    """Wasserstein distances between the writers' distributions of the diffusion estimate.

    They are scaled to [1, 2] in each row.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.sheng2024.report import figure_6

        return figure_6(inputs)


class Figure7(Exhibit):
    """Mean absolute latent along a document, texts stretched to one length.

    Each writer stands beside human text.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.sheng2024.report import figure_7

        return figure_7(inputs)


class Figure9(Exhibit):
    """Area under the ROC curve by diffusion variance, and pairwise accuracy, which is constant."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.sheng2024.report import figure_9

        return figure_9(inputs)


EXHIBITS: dict[str, type[Exhibit]] = {
    "table_1": Table1,
    "table_6": Table6,
    "length": Length,
    "accuracies": Accuracies,
    "rocs": Rocs,
    "figure_6": Figure6,
    "figure_7": Figure7,
    "figure_9": Figure9,
}


class Sheng2024(Paper):
    """What sheng2024 shows, and which records follow from others."""

    exhibits = EXHIBITS

    @staticmethod
    def derived(results: "Results") -> "Iterable[Record]":
        from experiments.sheng2024.report import derived

        return derived(results)
