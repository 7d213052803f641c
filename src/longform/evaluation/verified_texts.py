"""Records of massarelli2020: every measure of every decoder, how far the checker can be trusted, and the sheet for people.

Each function takes readings of checked generations. Generations of one page are not independent: pages are resampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longform.critics.verifiability.annotation_sheet import annotation_sheet
from longform.critics.verifiability.annotation_sheet import units_from_readout as generations
from longform.critics.verifiability.checker_accuracy import CheckerAccuracy
from longform.critics.verifiability.corrected import corrected_supports
from longform.documents import Readout
from longform.evaluation.decoder_tables import decoder_table
from longform.results import Record

SHOWN = ("value", "low", "high", "units", "excluded", "signature")


def decoders(*, texts: Readout, correlations: Sequence[str] = (), resamples: int = 500) -> list[Record]:
    """Every measure of every decoder; ``variant`` gold where exact rules take the checker's place.

    Args:
        correlations: decoders whose sentences are pooled for Figure 4: ``metric`` correlation, ``task`` what is correlated,
            ``variant`` supported or verified.
    """
    found = decoder_table(resamples=resamples, correlations=correlations).describe(generations(texts))
    records = []
    for decoder, measures in found["settings"].items():
        for measure, estimate in measures.items():
            gold = measure.startswith("true_")
            metric, variant = measure.removeprefix("true_"), "gold" if gold else ""
            fields = {key: estimate[key] for key in SHOWN}
            details = {"pages": estimate["pages"]}
            records.append(Record("verifiability", metric, system=decoder, variant=variant, details=details, **fields))
    for name, estimate in found["correlations"].items():
        task, _, side = name.rpartition("-")
        fields = {key: estimate[key] for key in SHOWN if key in estimate}
        records.append(Record("verifiability", "correlation", task=task, variant=side, **fields))
    return records


def sheet(*, texts: Readout, prefixes: int = 200) -> list[Record]:
    """The sheet that people fill in, with exact repeats by decoder in ``details``."""
    made = annotation_sheet(prefixes=prefixes)
    units = generations(texts)
    tally = made.tally(units)
    return [Record("verifiability", "exact_repeats", value=made.score(tally), details=made.describe(units))]


def checker(*, texts: Readout) -> list[Record]:
    """The checker's labels against known ones: accuracy, and precision and recall of each label (``task``)."""
    found = CheckerAccuracy().describe(generations(texts))
    records = []
    for measure, estimate in found.items():
        if not isinstance(estimate, Mapping) or "value" not in estimate:
            continue
        kind, _, label = measure.partition(" of ")
        details: dict[str, Any] = {}
        if measure == "accuracy":
            details = {
                "retrieved": found["evidence retrieved"],
                "majority": found["majority"],
                "confusion": found["confusion"],
            }
        fields = {key: estimate[key] for key in SHOWN}
        records.append(Record("verifiability", f"checker_{kind}", task=label, details=details, **fields))
    return records


def corrected(*, train: Readout, texts: Readout, resamples: int = 500) -> list[Record]:
    """SPG corrected for the checker's errors on the sentences with known labels of ``train``."""
    critic = corrected_supports(real=train, resamples=resamples)
    records = []
    for decoder, found in critic.describe(generations(texts)).items():
        fields = {key: found[key] for key in ("value", "low", "high", "units")}
        details = {
            "given": found["given"],
            "true": found["true"],
            "unknown_labels": found["labels_without_known_sentences"],
        }
        records.append(Record("verifiability", "SPG", system=decoder, details=details, **fields))
    return records
