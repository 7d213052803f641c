"""The tables and figures of lapata2005 that its ``params.yaml`` can name.

Each has a class of settings; below stands their registry.
"""

from typing import TYPE_CHECKING

from longform_lab.settings.entries import Exhibit, Paper, Sheet

if TYPE_CHECKING:
    from longform_lab.reporting.pivot import ReportInputs


class Correlations(Exhibit):
    """The paper's own models with people's mean marks and with each other (Pearson).

    All other models stand in the meta-evaluation.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.lapata2005.report import correlations

        return correlations(inputs)


class MetaEvaluation(Exhibit):
    """Correlations of every scorer with people's mean marks; higher is better in all rows.

    A note lists the scorers that correlate better than others.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.lapata2005.report import meta_evaluation

        return meta_evaluation(inputs)


class Regression(Exhibit):
    """The combined model: stepwise regression (ours) on two thirds of the clusters.

    Its correlation with marks is that on the rest.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.lapata2005.report import regression

        return regression(inputs)


class Matrix(Exhibit):
    """Pairwise accuracy of every scorer on every shuffle task.

    A scorer that ties on every pair is blind to order and has a dash.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.lapata2005.report import matrix

        return matrix(inputs)


EXHIBITS: dict[str, type[Exhibit]] = {
    "correlations": Correlations,
    "meta_evaluation": MetaEvaluation,
    "regression": Regression,
    "matrix": Matrix,
}


class Lapata2005(Paper):
    """What lapata2005 shows, and which records follow from others."""

    exhibits = EXHIBITS
