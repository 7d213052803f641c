"""The tables and figures of massarelli2020 that its ``params.yaml`` can name.

Each has a class of settings; below stands their registry.
"""

from typing import TYPE_CHECKING, Any

from longform.settings import parameter
from longform_lab.settings.entries import Exhibit, Paper, Sheet

if TYPE_CHECKING:
    from longform_lab.reporting.pivot import ReportInputs


class Table1(Exhibit):
    """Decoders on test prefixes: the run ``test``, then the small model.

    Of ``grid`` it shows those that validation on ``sweep`` chose.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import table_1

        return table_1(inputs)


class Table3(Exhibit):
    """All decoders of the sweep; each strategy's best by USPG and the paper's choice are marked."""

    papers_choice: list[dict[str, Any]] = parameter("The decoders that the paper chose.")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import table_3

        return table_3(inputs, papers_choice=self.papers_choice)


class Table4(Exhibit):
    """Features of sentences by decoder on validation prefixes, by rules, not spaCy's parser."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import table_4

        return table_4(inputs)


class Checker(Exhibit):
    """How far the checker can be trusted, and support corrected for its errors.

    The paper's lines are its checker against people.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import checker

        return checker(inputs)


class Table2(Exhibit):
    """Labels by the paper's annotators, by ours (with ``answers``), and exact repeats."""

    answers: str | None = parameter(
        "A CSV file of our annotators' answers; without one, repeats alone are counted.", None
    )

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import table_2

        return table_2(inputs, answers=self.answers)


class Figure2(Exhibit):
    """USPV against USPG on validation prefixes, of the decoders that all runs have.

    (a) models of several corpora; (b) sizes, where there are several.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import figure_2

        return figure_2(inputs)


class Figure3(Exhibit):
    """SPG, SPV and proportion of 4-grams by two settings.

    These are the delay length of delayed beam search and the blocking size of beam search.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import figure_3

        return figure_3(inputs)


class Figure4(Exhibit):
    """Pearson correlations of sentences' features with being supported, and with being verified."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import figure_4

        return figure_4(inputs)


class Figure5(Exhibit):
    """Different supported sentences by delay length.

    There is a line for each k that has several; beside them is plain sampling of the same k.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import figure_5

        return figure_5(inputs)


class TradeOff(Exhibit):
    """Support against repetition for every decoder on test prefixes: SPG left, USPG right."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.massarelli2020.report import trade_off

        return trade_off(inputs)


EXHIBITS: dict[str, type[Exhibit]] = {
    "table_1": Table1,
    "table_3": Table3,
    "table_4": Table4,
    "checker": Checker,
    "table_2": Table2,
    "figure_2": Figure2,
    "figure_3": Figure3,
    "figure_4": Figure4,
    "figure_5": Figure5,
    "trade_off": TradeOff,
}


class Massarelli2020(Paper):
    """What massarelli2020 shows, and which records follow from others."""

    exhibits = EXHIBITS
