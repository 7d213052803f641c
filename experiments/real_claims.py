"""Every claim of the five papers judged on published text.

``PYTHONPATH=src python experiments/real_claims.py`` writes ``experiments/real_claims.csv`` and
``.md`` of the results in git: the records of all scales of real text in one ledger. A claim may
take what two scales measured, say a ranker of one and a classifier of the other.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from longform.files.artefacts import atomic_write, read_yaml
from longform.results import FEWEST_UNITS, Record, Results
from longform_lab.reporting.printed import read_expected
from longform_lab.reporting.verdicts import (
    CONTRADICTED,
    HOLDS,
    UNDECIDED,
    UNTESTABLE,
    Judged,
    Row,
    claims_markdown,
    write_claims,
)
from longform_lab.reports import with_derived
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import scale_results

ROOT = Path(__file__).parents[1]
SCALES = (
    "real",
    "real_paths",
    "real_sources",
    "real_matrix",
    "gpu_decoders",
    "real_decoders",
    "real_orders",
    "real_connectives",
    "real_gum",
    "real_read",
    "real_classes",
    "paper_lapata2005",
)
# Records of a scale that no claim takes, since another scale measures the same as the claims need
# it: by scale the patterns (with wildcards) of their fields, and the reason.
ELSEWHERE: dict[str, tuple[dict[str, tuple[str, ...]], str]] = {
    "real_connectives": (
        {"task": ("connective_as_*", "connective_since_*")},
        "Europarl has as and since in one sense each; `real_gum` has both",
    ),
    "real_gum": (
        {"task": ("connectives", "all suites")},
        "it reads two connectives; `real_connectives` has seven",
    ),
    "real_decoders": (
        {"critic": ("verifiability",)},
        "its network has not read the pages; that of `gpu_decoders` has, and writes more from more"
        " openings",
    ),
    "real_read": (
        {"critic": ("verifiability",)},
        "its network is small; that of `gpu_decoders` is a pretrained one",
    ),
}
# Claims that one scale judges by itself, since the other scales have none of their systems, or one
# training of each: by scale what its networks are, and the claims' ids.
ALONE: dict[str, tuple[str, frozenset[str]]] = {
    "real_openings": (
        "SmolLM2 finetuned three times, one pass over the first sentence of every section",
        frozenset(
            [
                "titles_help",
                "generated_above_data",
                "titles_change_latent_ppl_more",
                "fewer_failures_with_titles",
                "fewer_repetitions_with_titles",
            ]
        ),
    ),
    "real_ladder": (
        "networks of 0.2 to 1.4 million weights from nothing, half a pass over cities",
        frozenset(
            [
                "lm1_more_coherent",
                "short_sections_do_not_help",
                "size_lowers_word_ppl",
                "size_does_not_lower_latent_ppl",
                "mentions_above_data",
                "mentions_above_data_at_every_size",
                "size_does_not_lower_mentions",
                "foreign_topics_are_seen",
            ]
        ),
    ),
    "real_ladder_suites": (
        "networks of 0.2 to 1.4 million weights from nothing, one pass over cities",
        frozenset(["larger_models_are_better"]),
    ),
}
SMALL_NETWORKS = ("real_ladder", "real_ladder_suites")  # from nothing, one training of each
POWER = 0.8  # of the test that would find the smallest effect
Z_LEVEL, Z_POWER = 1.960, 0.842  # normal quantiles of a two-sided level of 5 % and of that power
TO_FIND = (Z_LEVEL + Z_POWER) / Z_LEVEL  # smallest effect as a multiple of a 95 % interval's arm
MEASURED = (HOLDS, CONTRADICTED, UNDECIDED)
NAME = "real"  # by which claims give reasons why published text cannot test them
NOWHERE = ROOT / "data" / "no corpora"  # no such folder: the results are all that is read
INTRODUCTION = (
    "Which claims of the five papers hold on published text? Each claim stands below once, with"
    " its verdict from the runs on such text whose results are in git"
    " ([which](../docs/real_text.md)), the comparisons behind it, and what limits it. A claim"
    " *holds* where the 95 % interval of the claimed difference lies on the claimed side, is"
    " *contradicted* where it lies on the other, and is *undecided* otherwise"
    " ([words](../docs/glossary.md)). Read the notes below the table before you quote a count."
)
EFFECTS = (
    "Behind an undecided claim stands the smallest effect that its numbers could have found: with a"
    f" power of {POWER:g}, at a level of 5 %, by each of its undecided comparisons."
)

NOT_RUN = (
    "What *no network that translates* stands for, the job `translators` would train; larger"
    " networks than those from nothing the job `ladder`."
    " They [have not run yet](../docs/one_gpu_ready.md)."
)


@functools.cache
def judged() -> tuple[Judged, ...]:
    """Every claim of every paper with its verdict, from the results in git of the scales above."""
    common = common_results()
    alone = {scale: _results(scale) for scale in ALONE if _records_of(scale).is_file()}
    claims = []
    for path in sorted((ROOT / "experiments").glob("*/expected.yaml")):
        expected = read_expected(path.parent, NAME)
        verdicts = expected.judged(with_derived(expected.paper, common), NOWHERE)
        for scale, results in alone.items():
            by_scale = expected.judged(with_derived(expected.paper, results), NOWHERE)
            for index, claim in enumerate(by_scale):
                if judged_alone(claim) == scale:
                    verdicts[index] = claim
        claims += map(testable, verdicts)
    return tuple(claims)


def testable(claim: Judged) -> Judged:
    """The claim, not testable where each measured row is undecided and rests on too few units."""
    measured = [row for row in claim.rows if row.verdict in MEASURED]
    if not measured or not all(map(_has_few_units, measured)):
        return claim
    units = [row.contrast.units for row in measured if row.contrast and row.contrast.units]
    few, many = min(units), max(units)
    number = str(few) if few == many else f"{few} to {many}"
    why = f"its numbers rest on {number} units"
    rows = []
    for row in claim.rows:
        if row.verdict in MEASURED:
            row = replace(row, verdict=UNTESTABLE, why=why, others={})
        rows.append(row)
    return replace(claim, rows=rows)


def _has_few_units(row: Row) -> bool:
    """Whether a row is undecided and rests on too few units for an interval."""
    units = row.contrast.units if row.contrast else None
    return row.verdict == UNDECIDED and units is not None and units < FEWEST_UNITS


def common_results() -> Results:
    """All records by which claims are judged together, of all scales in ``SCALES``."""
    records = []
    for scale in sorted(SCALES):
        for record in _results(scale):
            if not measured_elsewhere(scale, record):
                records.append(record)
    return Results(records)


def judged_alone(claim: Judged) -> str:
    """The scale that judges a claim by itself; empty where all judge it together."""
    for scale, (_, ids) in ALONE.items():
        if claim.claim.id in ids:
            return scale
    return ""


def _records_of(scale: str) -> Path:
    """The file of a scale's records."""
    return ROOT / "experiments" / "scales" / scale / RECORDS


def _results(scale: str) -> Results:
    """The records of a scale."""
    return Results(scale_results(_records_of(scale)))


def measured_elsewhere(scale: str, record: Record) -> bool:
    """Whether :data:`ELSEWHERE` leaves out a scale's record, since another scale has its like."""
    fields, _ = ELSEWHERE.get(scale, ({}, ""))
    for name, patterns in fields.items():
        value = getattr(record, name) or ""
        if any(fnmatchcase(value, pattern) for pattern in patterns):
            return True
    return False


def smallest_effect(row: Row, scale: str) -> float | None:
    """The smallest effect that a test on as many units finds with a power of 0.8.

    It is 1.43 times the wider arm of the comparison's 95 % interval (2.80 standard errors).

    Args:
        row: a comparison of a claim.
        scale: ``ratio`` or ``difference``.

    Returns:
        A difference, or a factor above 1 on the scale ``ratio``. Two shares without an interval
        are taken to be one half each, which is the widest. None where nothing was compared.
    """
    contrast = row.contrast
    if contrast is None:
        return None
    if contrast.low is None or contrast.high is None:
        if not contrast.units:
            return None
        # The variance of the difference of two shares of one half: 2 * 0.25 / units.
        return min(1.0, TO_FIND * Z_LEVEL * math.sqrt(0.5 / contrast.units))
    if scale == "ratio":
        low, value, high = map(_logarithm, (contrast.low, contrast.value, contrast.high))
        return math.exp(TO_FIND * max(value - low, high - value))
    return TO_FIND * max(contrast.value - contrast.low, contrast.high - contrast.value)


def _logarithm(ratio: float) -> float:
    """Natural logarithm of a ratio; of zero that of a tiny ratio."""
    return math.log(max(ratio, 1e-12))


def could_have_found(claim: Judged) -> str:
    """Words on the smallest effects that a claim's undecided rows could have found.

    Empty where the claim is decided.
    """
    if claim.verdict != UNDECIDED:
        return ""
    effects = []
    for row in claim.rows:
        effect = smallest_effect(row, claim.scale) if row.verdict == UNDECIDED else None
        if effect is not None:
            effects.append(effect)
    if not effects:
        return ""
    low, high = f"{min(effects):.2g}", f"{max(effects):.2g}"
    sizes = low if low == high else f"{low} to {high}"
    what = "a factor of " if claim.scale == "ratio" else ""
    return f"; *the undecided numbers could have found {what}{sizes}*"


def networks(claim: Judged) -> str:
    """Words on the scale that judges a claim by itself and on its networks; empty without one."""
    scale = judged_alone(claim)
    if not scale or claim.verdict not in MEASURED:
        return ""
    what, _ = ALONE[scale]
    return f"; `{scale}`: {what}"


def too_few(claim: Judged) -> str:
    """Words on the units of a claim that rests on too few of them to be tested; else empty."""
    reasons = {row.why for row in claim.rows if row.verdict == UNTESTABLE and row.contrast}
    return "".join(f"; {reason}, fewer than {FEWEST_UNITS}" for reason in sorted(reasons))


def superseded(claim: Judged) -> list[str]:
    """Reasons why a claim's numbers hold only until their scale is run again.

    Empty where they are up to date, or where nothing was measured.
    """
    if claim.verdict not in MEASURED or judged_alone(claim):
        return []
    exhibit = f"{claim.paper}/{claim.claim.exhibit}"
    reasons = []
    for entry in read_yaml(ROOT / "experiments" / "superseded.yaml"):
        if exhibit in entry["exhibits"] and set(entry["scales"]) & set(SCALES):
            reasons.append(entry["why"])
    return reasons


def markdown(claims: Sequence[Judged]) -> str:
    """The page: counts by paper, notes, each paper's claims; last our own checks by paper."""
    parts = ["# Claims on published text", INTRODUCTION, claims_markdown(claims), *notes(claims)]
    papers = list(dict.fromkeys(claim.paper for claim in claims))
    for are_ours, addition in ((False, ""), (True, ", our own checks")):
        for paper in papers:
            lines = []
            for claim in claims:
                if claim.paper == paper and claim.is_ours == are_ours:
                    lines.append(claim_line(claim))
            if lines:
                parts += [f"## {paper}{addition}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def notes(claims: Sequence[Judged]) -> list[str]:
    """Paragraphs that say how far the verdicts go."""
    paragraphs = []
    waiting = sum(bool(superseded(claim)) for claim in claims)
    if waiting:
        paragraphs.append(
            f"{waiting} of the measured verdicts rest on numbers that are superseded until their"
            " scale is run again; they say so."
        )
    of_small_networks = 0
    for claim in claims:
        is_small = judged_alone(claim) in SMALL_NETWORKS
        of_small_networks += is_small and claim.verdict in (HOLDS, CONTRADICTED)
    if of_small_networks:
        paragraphs.append(
            f"{of_small_networks} of the verdicts *holds* and *contradicted* are those of"
            f" small networks from nothing (`{'`, `'.join(SMALL_NETWORKS)}`), which were trained"
            " once, for a pass or half of one, and write word salad: they are no findings about"
            " trained models."
        )
    sources = [f"Not from `{scale}`: {why}." for scale, (_, why) in sorted(ELSEWHERE.items())]
    return [*paragraphs, EFFECTS, " ".join(sources), NOT_RUN]


def claim_line(claim: Judged) -> str:
    """A claim with its verdict, intervals and reasons, and with what limits the verdict."""
    limits = [networks(claim), too_few(claim), could_have_found(claim)]
    for why in superseded(claim):
        limits.append(f"; *superseded until the scale is run again*: {why}")
    return f"- {claim.sentence()}{''.join(limits)}"


if __name__ == "__main__":
    claims = judged()
    write_claims(ROOT / "experiments" / "real_claims.csv", claims)
    with atomic_write(ROOT / "experiments" / "real_claims.md") as page:
        page.write_text(markdown(claims), encoding="utf-8")
