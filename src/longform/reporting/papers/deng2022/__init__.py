"""Tables and figures of "Model Criticism for Long-Form Text Generation" (Deng, Kuleshov, Rush 2022), numbered as printed."""

from __future__ import annotations

from longform.reporting.papers.deng2022.articles import generated_articles
from longform.reporting.papers.deng2022.derived import derived
from longform.reporting.papers.deng2022.human import human_study, table_4, table_18
from longform.reporting.papers.deng2022.languages import figure_7, table_10
from longform.reporting.papers.deng2022.mentions import (
    figure_5,
    figure_wrong_pronoun,
    figures_10_13,
    table_6,
    table_7,
    table_8,
    table_15,
    table_16,
    table_17,
    table_resolvers,
)
from longform.reporting.papers.deng2022.sections import (
    appendix_a,
    inference_error,
    table_2,
    table_3,
    table_5,
    table_11,
    title_calibration,
)
from longform.reporting.papers.deng2022.synthetic_language import table_1
from longform.reporting.papers.deng2022.topics import figure_6, figure_8, figure_9, table_9, table_14
from longform.reporting.papers.deng2022.transitions import figure_1, figure_4, table_12, table_13

__all__ = [
    "appendix_a", "derived", "figure_1", "figure_4", "figure_5", "figure_6", "figure_7", "figure_8", "figure_9",
    "figure_wrong_pronoun", "figures_10_13", "generated_articles", "human_study", "inference_error", "table_1",
    "table_2", "table_3", "table_4", "table_5", "table_6", "table_7", "table_8", "table_9", "table_10", "table_11",
    "table_12", "table_13", "table_14", "table_15", "table_16", "table_17", "table_18", "table_resolvers",
    "title_calibration",
]  # fmt: skip
