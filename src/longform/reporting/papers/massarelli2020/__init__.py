"""Tables and figures of "How Decoding Strategies Affect the Verifiability of Generated Text" (Massarelli et al. 2020).

A record's corpus is a *run* (a language model, prefixes, a list of decoders) and its system a decoder of it; ``variant`` is
``gold`` where exact rules take the checker's place.
"""

from longform.reporting.papers.massarelli2020.figures import figure_2, figure_3, figure_4, figure_5, trade_off
from longform.reporting.papers.massarelli2020.tables import checker, table_1, table_2, table_3, table_4

__all__ = [
    "checker", "figure_2", "figure_3", "figure_4", "figure_5", "table_1", "table_2", "table_3", "table_4", "trade_off"
]  # fmt: skip
