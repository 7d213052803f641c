"""Tables 4 and 18 of deng2022 and the human study's own table: PPL, MAUVE, Latent PPL and annotators side by side.

Where no person took part the captions say so: SIMULATED annotators flip a known rule at known rates, so these tables show
that the analysis recovers what was planted, and nothing about people. Score rows are named ``<corpus>-<system>-<kind>``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import BadInput
from longform.evaluation.agreement import correlate
from longform.evaluation.human_study import expected_alpha, expected_share
from longform.evaluation.mixed_effects import mixed_effects
from longform.reporting.deng2022 import FAMILIES, SIZE
from longform.reporting.layout import Cell, Table, cell
from longform.reporting.ledger import Finding, judge_ordering

Records = Mapping[str, Mapping[str, Any]]
COLUMNS = {"word": "PPL", "mauve": "MAUVE", "latent": "Latent PPL", "human": "Human"}
PRINTED = {"word": "ppl", "mauve": "mauve", "latent": "latent_ppl", "human": "human"}
FEWEST = 3  # systems below which no correlation is given
SIMULATED = "SIMULATED annotators of known error rates, no person took part"


def by_system(scores: Records) -> dict[str, dict[str, Mapping[str, Any]]]:
    """System -> kind -> record, of one corpus.

    Raises:
        BadInput: rows of several corpora, or a kind that the table has no column for.
    """
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, record in scores.items():
        _, *system, kind = name.split("-")
        if kind not in COLUMNS:
            raise BadInput(f"score row {name!r}: kind {kind!r}; allowed are {sorted(COLUMNS)}; mend the row's list")
        found.setdefault("-".join(system), {})[kind] = record
    if len({name.split("-")[0] for name in scores}) != 1:
        raise BadInput(f"Table 4 is about one corpus; got the rows {sorted(scores)}")
    return found


def _who(scores: Records) -> str:
    people = [r["details"] for name, r in scores.items() if name.endswith("-human")]
    return SIMULATED if any(details["simulated"] for details in people) else "annotators"


def table_4(*, scores: Records, expected: Mapping[str, Any], data: Path) -> Table:
    """PPL, MAUVE, Latent PPL and the share called coherent, of data and of every system; correlations; the claims."""
    systems = by_system(scores)
    cells = [
        _cell(system, kind, record, expected) for system, kinds in systems.items() for kind, record in kinds.items()
    ]
    cells += _correlations(systems)
    findings = [*_printed_claims(expected), *_setting_claims(systems), *_correlation_claims(systems)]
    notes = [f"Human: {_who(scores)}; by the rule that they err from, a chain of section types is coherent or not"]
    notes += [f"{f.claim}: {f.verdict} ({f.why})" for f in findings]
    notes += [_mauve_note(system, kinds["mauve"]) for system, kinds in systems.items() if "mauve" in kinds]
    return Table(f"Table 4. PPL, MAUVE, Latent PPL and Human ({_who(scores)}), 95 % intervals", cells, notes)


def _cell(system: str, kind: str, record: Mapping[str, Any], expected: Mapping[str, Any]) -> Cell:
    paper = _printed(expected, system, kind)
    held = {"printed": paper, "verdict": "not comparable", "why": SIZE} if paper is not None else {}
    return cell(system, COLUMNS[kind], record, **held)


def _printed(expected: Mapping[str, Any], system: str, kind: str) -> float | None:
    block = expected["table_04"]["pubmed"][PRINTED[kind]]
    family, _, setting = system.partition("-")
    return block["data"] if system == "data" else (block.get(FAMILIES.get(family, "")) or {}).get(setting)


def _mauve_note(system: str, record: Mapping[str, Any]) -> str:
    found = record["details"]
    return (
        f"{system}: MAUVE as published, both sides clustered anew: {found['mauve']:.3f}, sd over {len(found['per_seed'])} "
        f"seeds {found['spread']:.3f}, smoothed {found['smoothed']:.3f}, {found['buckets']} clusters"
    )


def _pairs(columns: Mapping[str, Mapping[str, float]], kind: str) -> tuple[np.ndarray, np.ndarray]:
    shared = [s for s, value in columns.get(kind, {}).items() if value is not None and s in columns["human"]]
    return np.array([columns[kind][s] for s in shared]), np.array([columns["human"][s] for s in shared])


def _columns(systems: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, float]]:
    return {
        kind: {s: k[kind]["value"] for s, k in systems.items() if kind in k and k[kind]["value"] is not None}
        for kind in COLUMNS
    }


def _correlations(systems: Mapping[str, Any]) -> list[Cell]:
    columns, cells = _columns(systems), []
    for kind in ("word", "mauve", "latent"):
        values, human = _pairs(columns, kind)
        if len(values) >= FEWEST:
            found = correlate("pearson", values, human)
            rest = {"units": found.items, "excluded": found.excluded, "p_value": found.p_value}
            cells.append(Cell("r with Human, over systems", COLUMNS[kind], found.value, found.low, found.high, **rest))
    return cells


def _strength(kind: str, columns: Mapping[str, Mapping[str, float]]) -> float:
    """Correlation with Human in the direction that a good measure has: PPLs negative, MAUVE positive."""
    values, human = _pairs(columns, kind)
    if len(values) < FEWEST:
        return float("nan")
    return correlate("pearson", values, human).value * (1 if kind == "mauve" else -1)


def _correlation_claims(systems: Mapping[str, Any], where: str = "here") -> list[Finding]:
    """Latent PPL goes with people more closely than PPL and than MAUVE do (section 4)."""
    columns = _columns(systems)
    strengths = {kind: _strength(kind, columns) for kind in ("word", "mauve", "latent")}
    findings = []
    for other in ("word", "mauve"):
        claim = f"{where}: Latent PPL goes with Human more closely than {COLUMNS[other]} does"
        pair = strengths["latent"], strengths[other]
        if any(np.isnan(value) for value in pair):
            findings.append(Finding(claim, "not runnable here", f"fewer than {FEWEST} systems, or one value only"))
            continue
        told = f"r towards good {pair[0]:.2f} against {pair[1]:.2f} over {len(_pairs(columns, other)[0])} systems"
        findings.append(Finding(claim, "ordering holds" if pair[0] > pair[1] else "differs", told))
    return findings


def _printed_claims(expected: Mapping[str, Any]) -> list[Finding]:
    """The same claim of the printed numbers themselves."""
    block = expected["table_04"]["pubmed"]
    systems: dict[str, dict[str, dict[str, float]]] = {}
    for kind, key in PRINTED.items():
        for model, held in block[key].items():
            for setting, value in held.items() if isinstance(held, Mapping) else [("", held)]:
                systems.setdefault(f"{model}-{setting}", {})[kind] = {"value": value}
    return _correlation_claims(systems, "as printed")


def _setting_claims(systems: Mapping[str, Any]) -> list[Finding]:
    """Titles help by Human and by Latent PPL; for LM1, MAUVE says the opposite (section 4)."""
    findings = []
    for family, paper in FAMILIES.items():
        with_titles, without = systems.get(f"{family}-w_title", {}), systems.get(f"{family}-wo_title", {})
        for kind in (k for k in ("human", "latent", "mauve") if k in with_titles and k in without):
            order = [with_titles[kind], without[kind]] if kind == "latent" else [without[kind], with_titles[kind]]
            sides = ("W/O Title", "W/ Title")
            if kind == "mauve" and paper == "lm1":
                order, sides = order[::-1], sides[::-1]
            first, second = sides[::-1] if kind == "latent" else sides
            findings.append(judge_ordering(f"{family}: {COLUMNS[kind]} {first} < {second}", order))
    return findings


def table_18(*, scores: Records, expected: Mapping[str, Any], data: Path, most: int) -> Table:
    """Organisations of the articles called incoherent, most common first, pooled over systems."""
    systems = by_system(scores)
    counts: Counter[tuple[str, ...]] = Counter()
    cells = []
    for system, kinds in systems.items():
        for chain, number in kinds["human"]["details"]["incoherent"]:
            counts[tuple(chain)] += number
            cells.append(Cell(_chain(chain), system, number, signature="judgements"))
    ranked = sorted(counts.items(), key=lambda held: (-held[1], held[0]))
    rank = {_chain(chain): place for place, (chain, _) in enumerate(ranked[:most])}
    shown = [Cell(_chain(chain), "judgements", number, signature="count") for chain, number in ranked[:most]]
    shown += sorted((c for c in cells if c.row in rank), key=lambda c: rank[c.row])
    printed = {tuple(row) for row in expected["table_18"]["rows"] if None not in row}
    total = sum(counts.values())
    notes = [
        f"labels and verdicts: {_who(scores)}",
        f"{len(counts)} organisations in {total} judgements of incoherence; {min(most, len(counts))} shown; the paper "
        f"prints {len(expected['table_18']['rows'])} without counts",
        f"of the paper's organisations, {sum(chain in counts for chain in printed)} of {len(printed)} occur here too: "
        "not comparable (planted section types, other counts)",
    ]
    return Table(
        f"Table 18. Organisations of articles called incoherent, most common first ({_who(scores)})", shown, notes
    )


def _chain(chain: Sequence[str]) -> str:
    return " → ".join(chain)


def human_study(
    *, scores: Records, expected: Mapping[str, Any], data: Path, annotators: Sequence[Mapping[str, Any]] = ()
) -> Table:
    """Share coherent with both intervals, majority, alpha and kappa beside what was planted; mixed effects.

    Args:
        annotators: settings of the simulated annotators, for what is expected of them.
    """
    systems = {system: kinds["human"] for system, kinds in by_system(scores).items()}
    flips = {one["name"]: one["flips"] for one in annotators}
    cells = [one for system, record in systems.items() for one in _study_cells(system, record, flips)]
    effects, notes = _effects(systems)
    dropped = sorted({name for record in systems.values() for name in record["details"]["dropped"]})
    notes.append(f"set aside by the attention checks, with every answer: {', '.join(dropped) or 'nobody'}")
    notes += [f"{f.claim}: {f.verdict} ({f.why})" for f in _recovered(systems, flips)]
    return Table(f"Human study: agreement and mixed effects ({_who(scores)})", [*cells, *effects], notes)


def _study_cells(system: str, record: Mapping[str, Any], flips: Mapping[str, float]) -> list[Cell]:
    found = record["details"]
    low, high = found["wilson"]
    kappas = [value for value in found["agreement"]["kappa"].values() if value is not None]
    cells = [
        cell(system, "coherent, articles resampled", record),
        Cell(
            system, "coherent, Wilson", record["value"], low, high, units=found["judgements"], signature="Wilson 1927"
        ),
        Cell(system, "coherent by majority", found["majority"], units=record["units"]),
        Cell(system, "alpha", found["agreement"]["alpha"], units=record["units"], signature="Krippendorff, nominal"),
        Cell(
            system,
            "mean kappa",
            float(np.mean(kappas)) if kappas else None,
            units=len(kappas),
            signature="Cohen, pairs",
        ),
    ]
    if found["known"] and flips:
        rates = [flips[name] for name in found["annotators"]]
        truth = found["known"]["coherent"]
        cells.append(Cell(system, "planted share", truth, signature="the rule"))
        cells.append(Cell(system, "expected share", expected_share(truth, rates), signature="closed form"))
        cells.append(
            Cell(system, "expected alpha", expected_alpha(truth, rates), signature="closed form, many articles")
        )
    return cells


def _recovered(systems: Records, flips: Mapping[str, float]) -> list[Finding]:
    """Whether what was planted comes back: shares within intervals, and the order of systems whose shares differ."""
    told = {s: r for s, r in systems.items() if r["details"]["known"] and flips}
    findings = []
    for system, record in told.items():
        rates = [flips[name] for name in record["details"]["annotators"]]
        wanted = expected_share(record["details"]["known"]["coherent"], rates)
        low, high = record["details"]["wilson"]
        why = f"expected {wanted:.3f}, got {record['value']:.3f}, Wilson [{low:.3f}, {high:.3f}]"
        verdict = "within interval" if low <= wanted <= high else "differs"
        findings.append(Finding(f"{system}: planted share is recovered", verdict, why))
    if len(told) > 1:
        order = sorted(told, key=lambda s: told[s]["details"]["known"]["coherent"])
        claim = f"planted ranking is recovered: {' < '.join(order)}"
        findings.append(judge_ordering(claim, [told[system] for system in order]))
    return findings


def _effects(systems: Records) -> tuple[list[Cell], list[str]]:
    """Mixed effects over all judgements; a note instead where the fit does not converge."""
    rows = [
        (value, system, name, f"{system}/{unit}")
        for system, record in systems.items()
        for name, answers in zip(record["details"]["annotators"], record["details"]["answers"], strict=True)
        for unit, value in zip(record["details"]["unit_ids"], answers, strict=True)
        if value is not None
    ]
    try:
        found = mixed_effects(*(list(column) for column in zip(*rows, strict=True)))
    except BadInput as error:
        return [], [f"mixed effects: not runnable here ({error})"]
    named = [*((e.name, e) for e in found.fixed), *((f"sd of {e.name}", e) for e in found.spreads)]
    rest = {"units": found.judgements, "signature": found.signature}
    cells = [Cell(name, "logit", e.value, e.low, e.high, **rest) for name, e in named]
    return cells, [f"mixed effects: {found.signature}"]
