"""Tables and figures of "Model Criticism for Long-Form Text Generation", numbered as printed.

Deng, Kuleshov, Rush 2022. Here: numbers that follow from others, as records, so that tables, claims
and the ledger find them by their fields.
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

ORDER = {"critic": "section_order"}
CORRECTED = {**LATENT, "variant": "corrected", "system": "data"}


def derived(results: Results) -> Iterator[Record]:
    """Yield a record for each number that follows from the records of the paper's critics."""
    for record in select(results, LATENT):
        yield from share_records(record)
    for record in select(results, BLAMED):
        yield from ngram_records(record)
    for record in select(results, STATES):
        yield from _parse_rates(record)
    yield from _appendix_a(results)
    yield from correlation_records(results)
    yield from expected_share_records(results)


def _parse_rates(record: Record) -> Iterator[Record]:
    """Yield the share of generated texts that the oracle reads (section 3), if there are any."""
    num_read = record.units or 0
    num_texts = num_read + (record.excluded or 0)
    if num_texts:
        share = wilson_fields(num_read, num_texts)
        signature = "share of texts that the oracle reads"
        yield beside(record, "parse_rate", **share, signature=signature)


def _appendix_a(results: Results) -> Iterator[Record]:
    """Yield the numbers of appendix A.

    The exact Latent PPL under the critic, the log evidence a transition, and the distance of a
    set's own chain to the prior, in nats.
    """
    # 1. The exact value.
    for record in select(results, CORRECTED):
        exact = record.details.get("exact_latent_ppl")
        if exact is not None:
            interval = {"low": exact, "high": exact}
            yield beside(record, "exact_latent_ppl", exact, **interval, signature="closed form")
    # 2. The sum of the terms.
    for record in select(results, {**ORDER, "metric": "expected_log_prior"}):
        totals = record.details.get("totals", {})
        if totals.get("transitions"):
            value = totals["evidence"] / totals["transitions"]
            yield beside(record, "log_evidence", value, units=record.units, signature="forward sum")
    # 3. The distance to the prior.
    for record in select(results, {**ORDER, "metric": "chain_entropy"}):
        same = {name: getattr(record, name) for name in (*SYSTEM, "seed")}
        latent = select(results, {**LATENT, **same}).find()
        if latent and latent.value and record.value:
            value = math.log(latent.value / record.value)
            fields = {"units": record.units, "signature": "log of the ratio"}
            yield beside(record, "divergence_from_prior", value, **fields)
