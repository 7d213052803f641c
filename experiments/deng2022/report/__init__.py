"""Tables and figures of "Model Criticism for Long-Form Text Generation" (Deng, Kuleshov, Rush 2022), numbered as printed.

Here: numbers that follow from others, as records, so that tables, claims and the ledger find them by their fields.
"""

import math
from collections.abc import Iterator

from experiments.deng2022.report.human import correlation_records, expected_share_records
from experiments.deng2022.report.mentions import BLAMED, ngram_records
from experiments.deng2022.report.sections import LATENT
from experiments.deng2022.report.topics import LATENT as STATES
from experiments.deng2022.report.transitions import share_records, wilson_fields
from longform.results import Record, Results
from longform_lab.reporting.estimates import select
from longform_lab.reporting.pivot import SYSTEM, beside


def derived(results: Results) -> Iterator[Record]:
    """Every number that follows from the records of the paper's critics."""
    for record in select(results, LATENT):
        yield from share_records(record)
    for record in select(results, BLAMED):
        yield from ngram_records(record)
    for record in select(
        results, STATES
    ):  # the share of generated texts that the oracle reads (section 3)
        if whole := (record.units or 0) + (record.excluded or 0):
            counted = wilson_fields(record.units or 0, whole)
            yield beside(
                record, "parse_rate", **counted, signature="share of texts that the oracle reads"
            )
    # appendix A: the exact value under the critic, the sum of the terms, the distance of a set's own chain to the prior
    for record in select(results, {**LATENT, "variant": "corrected", "system": "data"}):
        exact = record.details.get("exact_latent_ppl")
        if exact is not None:
            yield beside(
                record, "exact_latent_ppl", exact, low=exact, high=exact, signature="closed form"
            )
    for record in select(results, {"critic": "section_order", "metric": "expected_log_prior"}):
        totals = record.details.get("totals", {})
        if totals.get("transitions"):
            value = totals["evidence"] / totals["transitions"]
            yield beside(record, "log_evidence", value, units=record.units, signature="forward sum")
    for record in select(results, {"critic": "section_order", "metric": "chain_entropy"}):
        latent = select(
            results, {**LATENT, **{name: getattr(record, name) for name in (*SYSTEM, "seed")}}
        ).find()
        if latent and latent.value and record.value:
            value = math.log(latent.value / record.value)
            yield beside(
                record,
                "divergence_from_prior",
                value,
                units=record.units,
                signature="log of the ratio",
            )
    yield from correlation_records(results)
    yield from expected_share_records(results)
