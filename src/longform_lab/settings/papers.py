"""The papers whose tables and figures are drawn; each lies in ``experiments/<paper>``.

With :mod:`longform_lab.settings.registries` the only module here that knows them. A new paper is a
line of ``PAPERS``.
"""

from experiments.beyer2021.settings import Beyer2021
from experiments.deng2022.settings import Deng2022
from experiments.lapata2005.settings import Lapata2005
from experiments.massarelli2020.settings import Massarelli2020
from experiments.matrix.settings import Matrix
from experiments.sheng2024.settings import Sheng2024
from longform_lab.settings.entries import Paper

PAPERS: dict[str, type[Paper]] = {
    "beyer2021": Beyer2021,
    "deng2022": Deng2022,
    "lapata2005": Lapata2005,
    "massarelli2020": Massarelli2020,
    "matrix": Matrix,
    "sheng2024": Sheng2024,
}
