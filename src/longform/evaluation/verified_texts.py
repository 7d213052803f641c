"""Questions about checked generations, asked of readings: every decoder's measures, how far the checker can be trusted, the sheet.

massarelli2020. Generations of one page are not independent: pages are resampled.
"""

from __future__ import annotations

from collections.abc import Sequence

from longform.core.documents import Readout
from longform.core.results import Record
from longform.critics.verifiability.annotation_sheet import AnnotationSheet, sheet_record
from longform.critics.verifiability.checker_accuracy import accuracy_records, corrected_records
from longform.critics.verifiability.score import generations_from_readout
from longform.evaluation.decoder_tables import decoder_records


def decoders(*, texts: Readout, correlations: Sequence[str] = (), resamples: int = 500) -> list[Record]:
    """Every measure of every decoder (Tables 1, 3 and 4).

    Args:
        correlations: decoders whose sentences are pooled for Figure 4; none leaves it out.
    """
    return decoder_records(generations_from_readout(texts), corpus="", correlated=correlations, resamples=resamples)


def sheet(*, texts: Readout, prefixes: int) -> list[Record]:
    """The sheet that people fill in (section 6), of the first ``prefixes`` prefixes, with exact repeats by decoder."""
    return [sheet_record(generations_from_readout(texts), corpus="", sheet=AnnotationSheet(prefixes))]


def checker(*, texts: Readout) -> list[Record]:
    """The checker's labels against known ones: accuracy, and precision and recall of each label."""
    return accuracy_records(generations_from_readout(texts), corpus="")


def corrected(*, train: Readout, texts: Readout, variant: str, resamples: int = 500) -> list[Record]:
    """Supported sentences per generation, corrected for the checker's errors on the known labels of ``train``."""
    known, units = generations_from_readout(train), generations_from_readout(texts)
    return corrected_records(units, known, corpus="", variant=variant, resamples=resamples)
