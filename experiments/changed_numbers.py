"""Write which printed numbers and verdicts changed since a commit, and why.

``PYTHONPATH=src python experiments/changed_numbers.py [COMMIT]`` writes ``docs/changed_numbers.md``
from the results in git then and now: records of scales, their claims, and the claims on published
text.
"""

import io
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from longform.files.artefacts import atomic_write, read_yaml
from longform.results import NAMES
from longform_lab.reporting.printed import read_expected
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import raw_scale_records

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "changed_numbers.md"
BEFORE = "a5734e11"  # the last commit before the corrections
IDENTITY = list(NAMES[: NAMES.index("seed") + 1])
FIELDS = ("value", "low", "high", "difference", "p_value")
DIGITS = 1e-8  # records of scales have nine digits
# Scales whose records are a new run's.
RUN_AGAIN = ("gpt_neo_longer", "sizes", "slide_by_one", "three_seeds")
OPENINGS = "judged by `real_openings`: three trainings, on first sentences of sections"
# Why a claim's verdict changed, where the rule or the instrument did and not a number.
REASONS = {
    "mentions_above_data_at_every_size": "one size showed every size; now a ladder of sizes does",
    "mauve_prefers_no_titles": "MAUVE read by a judged network, for a claim about LM1",
    "classifier_beats_unified_coherence": "a ranker of ours stood for Unified Coherence",
    "models_stay_below_raters": "three raters, fewer than twenty units",
    "titles_help": OPENINGS,
    "titles_change_latent_ppl_more": OPENINGS,
    "fewer_failures_with_titles": OPENINGS,
    "fewer_repetitions_with_titles": OPENINGS,
    "order_of_repetition": "judged by `gpu_decoders`, whose network knows its pages",
    "delayed_repeats_less": "judged by `gpu_decoders`, whose network knows its pages",
}
MARGIN, TRAININGS = "a margin of equivalence", "intervals cover trainings"
MEASURED = ("holds", "contradicted", "undecided")
WHY = """\
- **Means over trainings.** They carried the first training's test and details, and an interval \
over documents alone, which in seven cells held none of the trainings. Test and interval are now \
over trainings and documents.
- **Equality.** A wide interval around zero passed for equality. It now takes a whole interval \
within a margin.
- **Instruments.** Numbers and claims of a paper are held to its own instruments and systems alone.
- **Titles.** Perplexities with titles counted the titles' tokens too. Tokens of the body count now.
- **Cut texts.** Texts that ran into the limit of length were scored as if they had ended.
- **Shares of all or of none.** Their intervals had no width (567 records). Wilson's stand in the \
records, the claims and the ledgers; the tables of these scales are as their runs drew them."""


def text_at(commit: str, path: str) -> str:
    """A file's text at a commit; empty where it was not there."""
    command = ["git", "show", f"{commit}:{path}"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    return process.stdout if process.returncode == 0 else ""


def text_now(path: str) -> str:
    """A file's text in the working tree; empty where it is not there."""
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def claims_of(text: str) -> pd.Series:
    """Verdicts of claims as a whole by paper and claim, from the text of a ``claims.csv``."""
    columns = ["paper", "claim", "row", "verdict"]
    lines = pd.read_csv(io.StringIO(text or ",".join(columns)), dtype=str, keep_default_na=False)
    claims = lines[lines["row"] == ""]
    return claims.set_index(["paper", "claim"])["verdict"]


def changed_verdicts(commit: str) -> Iterator[list[str]]:
    """Yield a row for each measured verdict that changed: where, claim, before, after, why."""
    files = {"real text, all scales": "experiments/real_claims.csv"}
    for scale in scales("paper_figures/ledger/claims.csv"):
        files[f"`{scale}`"] = f"experiments/scales/{scale}/paper_figures/ledger/claims.csv"
    equalities = claims_of_equality()
    for where, path in files.items():
        before, after = claims_of(text_at(commit, path)), claims_of(text_now(path))
        pairs = pd.DataFrame({"before": before, "after": after}).reindex(after.index)
        was_measured = pairs["before"].isin(MEASURED)
        changed = pairs[was_measured & (pairs["before"] != pairs["after"])]
        for (paper, claim), pair in changed.iterrows():
            why = reason(claim, (paper, claim) in equalities)
            yield [where, f"{paper} {claim}", pair["before"], pair["after"], why]


def scales(file: str) -> list[str]:
    """Names of the scales that have a file, by its path in their folders."""
    folder = ROOT / "experiments" / "scales"
    return [home.name for home in sorted(folder.iterdir()) if (home / file).is_file()]


def claims_of_equality() -> set[tuple[str, str]]:
    """Paper and name of each claim that two numbers are equal."""
    names = set()
    for folder in sorted((ROOT / "experiments").glob("*/expected.yaml")):
        expected = read_expected(folder.parent)
        for claim in expected.claims:
            if claim.within is not None:
                names.add((expected.paper, claim.id))
    return names


def reason(claim: str, is_equality: bool) -> str:
    """Why a verdict changed."""
    return REASONS.get(claim, MARGIN if is_equality else TRAININGS)


def changes_by_field(
    old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> dict[str, int]:
    """Number of records whose field changed, by field; records are matched by ``IDENTITY``."""
    before = pd.DataFrame(old, columns=NAMES)
    after = pd.DataFrame(new, columns=NAMES)
    pairs = before.merge(after, on=IDENTITY, suffixes=("", " now"))
    counts = {}
    # A difference is as exact as the numbers that it is of.
    size = pairs["value"].astype(float).abs().replace(np.inf, np.nan).fillna(0.0).clip(lower=1.0)
    for name in FIELDS:
        was, is_now = pairs[name], pairs[f"{name} now"]
        equal = np.isclose(
            was.astype(float), is_now.astype(float), 0.0, DIGITS * size, equal_nan=True
        )
        counts[name] = int((~equal).sum())
    return counts


def changed_files(commit: str) -> Iterator[list[str]]:
    """Yield a row for each file of records that changed, with the number of records by field.

    Scales that were run again are left out.
    """
    for scale in scales(RECORDS):
        if scale in RUN_AGAIN:
            continue
        files = raw_scale_records(ROOT / "experiments" / "scales" / scale / RECORDS)
        for name in sorted(files):
            old = text_at(commit, f"experiments/scales/{scale}/data/scores/{name}.json")
            if not old:
                continue
            counts = changes_by_field(json.loads(old, object_hook=numbers), files[name])
            if any(counts.values()):
                cells = [str(count or "") for count in counts.values()]
                yield [f"`{scale}` {name.rpartition('/')[2]}", *cells]


def numbers(record: dict[str, Any]) -> dict[str, Any]:
    """A JSON object in which the words "inf" and "-inf", as JSON has no infinity, are numbers."""
    parsed = dict(record)
    for name, value in record.items():
        if value in ("inf", "-inf"):
            parsed[name] = float(value)
    return parsed


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines)


def waiting_rows() -> Iterator[list[str]]:
    """Yield scales, exhibits and reason of each entry of ``superseded.yaml``."""
    for entry in read_yaml(ROOT / "experiments" / "superseded.yaml"):
        names = ", ".join(f"`{scale}`" for scale in entry["scales"])
        yield [names, ", ".join(entry["exhibits"]), entry["why"]]


def page(commit: str) -> str:
    """The page's text."""
    parts = [
        "# Changed numbers",
        f"Which results in git changed since commit {commit}, and why."
        " `python experiments/changed_numbers.py` writes this page.",
        "## Why",
        WHY,
        "## Verdicts",
        table(("where", "claim", "before", "after", "why"), list(changed_verdicts(commit))),
        "## Records, corrected from what they hold",
        "Records whose number changed, by field; no value did. Run again on corrected code, and"
        f" not listed: {', '.join(f'`{scale}`' for scale in RUN_AGAIN)}.",
        table(("file", *FIELDS), list(changed_files(commit))),
        "## Superseded",
        "No record corrects these; they stay, with a note, until a run of the scale makes them"
        " again. Any other number may be quoted, with its interval and its scale. Some would move"
        " under rules that were bettered since: [which](real_text_cost.md#the-other-scales).",
        table(("scales", "tables and figures", "why"), list(waiting_rows())),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with atomic_write(PAGE) as path:
        start = sys.argv[1] if len(sys.argv) > 1 else BEFORE
        path.write_text(page(start), encoding="utf-8")
