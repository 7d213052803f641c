"""The tables and figures of matrix that its ``params.yaml`` can name.

Each has a class of settings; below stands their registry.
"""

from typing import TYPE_CHECKING

from longform.settings import Number, parameter
from longform_lab.settings.entries import Exhibit, Paper, Sheet

if TYPE_CHECKING:
    from longform_lab.reporting.pivot import ReportInputs


class CorruptionMatrix(Exhibit):
    """Responses at one severity, a row for each critic, a column for each corruption.

    Raises BadInput: there is none at that severity.
    """

    severity: Number = parameter(
        "The share of struck places that is shown.", 0.2, source="ours", gt=0, le=1
    )

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.matrix.report import corruption_matrix

        return corruption_matrix(inputs, severity=self.severity)


class CorruptionResponses(Exhibit):
    """Responses over severity, upward where the critic judges worse.

    A strip for each critic, in it a field for each corruption.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.matrix.report import corruption_responses

        return corruption_responses(inputs)


EXHIBITS: dict[str, type[Exhibit]] = {
    "corruption_matrix": CorruptionMatrix,
    "corruption_responses": CorruptionResponses,
}


class Matrix(Paper):
    """What matrix shows, and which records follow from others."""

    exhibits = EXHIBITS
