"""The tables and figures of beyer2021 that its ``params.yaml`` can name.

Each has a class of settings; below stands their registry.
"""

from typing import TYPE_CHECKING

from longform.settings import parameter
from longform_lab.settings.entries import Exhibit, Paper, Sheet

if TYPE_CHECKING:
    from longform_lab.reporting.pivot import ReportInputs


class Accuracies(Exhibit):
    """Models by suites; the paper's tables but one.

    Beneath them stand the printed rows of models that are not here.
    """

    caption: str = parameter("The table's heading.")
    tasks: list[str] = parameter(
        "Suites or their groups, a column each; ``*`` stands for any ending."
    )
    note: str = parameter("A sentence below the table.", "")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.beyer2021.report import accuracies

        return accuracies(inputs, caption=self.caption, tasks=self.tasks, note=self.note)


class OtherSuites(Exhibit):
    """Suites beyond the paper's: other languages, and whatever SyntaxGym files the run read.

    ``inside`` names those that other tables show.
    """

    caption: str = parameter("The table's heading.")
    inside: list[str] = parameter(
        "Suites of the paper, which are left out; ``*`` stands for any ending."
    )

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.beyer2021.report import other_suites

        return other_suites(inputs, caption=self.caption, inside=self.inside)


class Table4(Exhibit):
    """Explicit connectives: a row for each connective and sense.

    A column for each connective put in its place.
    """

    systems: list[str] = parameter("Models that are shown.")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.beyer2021.report import table_4

        return table_4(inputs, systems=self.systems)


class SizeSweep(Exhibit):
    """Accuracy of every phenomenon over the sizes of a model.

    The paper left it to future work.
    """

    tasks: list[str] = parameter("Suites or their groups, a panel each.")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.beyer2021.report import size_sweep

        return size_sweep(inputs, tasks=self.tasks)


class RegionSurprisal(Exhibit):
    """Bits of the judged region under the conditions predicted ``likelier`` and the others.

    A figure for each model.
    """

    suites: list[str] = parameter("Suites, a panel each.")
    likelier: list[str] = parameter("Conditions that are predicted to be likelier.")
    systems: list[str] = parameter("Models; those that the run has are shown.")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.beyer2021.report import measured_models, region_surprisal
        from longform_lab.reporting.pivot import for_each_system

        def figure(own: "ReportInputs", system: str) -> Sheet:
            return region_surprisal(own, suites=self.suites, likelier=self.likelier, system=system)

        systems = measured_models(inputs, self.suites, self.systems)
        return for_each_system(inputs, systems, figure)


class HumanSheet(Exhibit):
    """Pairs of texts for human judges from the named suites, sides by seed.

    Raises BadInput: the corpus lacks one of the suites.
    """

    texts: str = parameter("The corpus of suites below ``data/``.")
    suites: list[str] = parameter("Suites that are asked about.")
    per_suite: int = parameter("Pairs of each suite.", ge=1)
    seed: int = parameter("Of the draw of pairs and sides.", ge=0)

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.beyer2021.report import human_sheet

        return human_sheet(
            inputs, texts=self.texts, suites=self.suites, per_suite=self.per_suite, seed=self.seed
        )


EXHIBITS: dict[str, type[Exhibit]] = {
    "accuracies": Accuracies,
    "other_suites": OtherSuites,
    "table_4": Table4,
    "size_sweep": SizeSweep,
    "region_surprisal": RegionSurprisal,
    "human_sheet": HumanSheet,
}


class Beyer2021(Paper):
    """What beyer2021 shows, and which records follow from others."""

    exhibits = EXHIBITS
