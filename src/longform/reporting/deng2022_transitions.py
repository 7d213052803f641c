"""Section transitions of deng2022: Tables 12 and 13, the error graph of Figure 4, the marked article of Figure 1.

They are read from the ``details`` of the section critic's score records: how often each transition was made, how
probable the critic finds it, and the most improbable articles of the set.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longform.documents import BadInput
from longform.evaluation.intervals import wilson
from longform.markov_chain import BEGIN, END, FAILURE_PROBABILITY
from longform.reporting.deng2022 import SIZE, Records
from longform.reporting.layout import Cell, Figure, Table
from longform.reporting.ledger import Finding, Verdict
from longform.reporting.section_graph import Edge, draw_graph
from longform.reporting.section_page import ArticlePage, MarkedSection

RED = 0.05  # Figure 4 marks transitions with P_c below this; Table 12's threshold is another
TOP_TITLES = 20  # Figure 4
TOP_ERRORS = 5  # Table 12
SHOWN_DIFFERENCE = 0.1  # ours: smaller differences are not drawn, though the CSV has them
COUNTED = "transitions counted as independent (Wilson 1927)"


def table_12(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """The most common improbable transitions of each set, in % of its transitions between sections."""
    cells: list[Cell] = []
    totals: dict[str, tuple[float, float, float]] = {}
    for name, record in scores.items():
        system = " ".join(name.split("-")[1:-1])
        inner = _inner(record)
        total, failed = sum(n for *_, n, _ in inner), [row for row in inner if row[3] < FAILURE_PROBABILITY]
        failed.sort(key=lambda row: (-row[2], row[0], row[1]))
        cells += [_percent(f"{system}: {a} → {b}", count, total) for a, b, count, _ in failed[:TOP_ERRORS]]
        wrong = sum(row[2] for row in failed)
        repeated = sum(row[2] for row in failed if row[0] == row[1])
        with_edges = sum(row[2] for row in record["details"]["transitions"])
        cells.append(_percent(f"{system}: total failures", wrong, total, _printed(expected, system)))
        cells.append(
            _percent(f"{system}: total failures, of all transitions, begin and end included", wrong, with_edges)
        )
        cells.append(_percent(f"{system}: repetitions among failures", repeated, wrong, _repeats(expected, system)))
        same = sum(row[2] for row in inner if row[0] == row[1])
        cells.append(_percent(f"{system}: repeated titles, probable or not", same, total))
        totals[system] = (wrong / max(total, 1), repeated / max(wrong, 1), same / max(total, 1))
    notes = [f"{f.claim}: {f.verdict} ({f.why})" for f in _failure_claims(totals)]
    notes.append(f"a transition fails where the critic's probability is below {FAILURE_PROBABILITY}; {COUNTED}")
    return Table("Table 12. Section transition errors, % of transitions between sections", cells, notes)


def _counts(record: Mapping[str, Any]) -> list[tuple[str, str, int, float]]:
    return [(a, b, int(n), float(p)) for a, b, n, p in record["details"]["transitions"]]


def _inner(record: Mapping[str, Any]) -> list[tuple[str, str, int, float]]:
    """Transitions between two sections."""
    return [row for row in _counts(record) if BEGIN not in row[:2] and END not in row[:2]]


def _percent(row: str, hits: int, trials: int, printed: float | None = None) -> Cell:
    if not trials:
        return Cell(row, "frequency, %", None, signature=COUNTED)
    low, high = wilson(hits, trials)
    held = {"printed": printed, "verdict": "not comparable", "why": SIZE} if printed is not None else {}
    return Cell(
        row, "frequency, %", 100 * hits / trials, 100 * low, 100 * high, units=trials, signature=COUNTED, **held
    )


def _printed(expected: Mapping[str, Any], system: str) -> float | None:
    return expected["table_12"].get(f"{system.split()[-1]}_total_failures_pct")


def _repeats(expected: Mapping[str, Any], system: str) -> float | None:
    return expected["table_12"]["repetition_share_of_failures_pct"].get(system.split()[-1])


def _failure_claims(totals: Mapping[str, tuple[float, float, float]]) -> list[Finding]:
    """Appendix E: fewer failures with titles, fewer repetitions among them; even real text, misread, repeats some."""
    findings = []
    names = ("total failures", "repetitions among failures")
    for system, found in totals.items():
        other = totals.get(system.replace(" w_title", " wo_title"))
        if other is None or system.endswith("wo_title") or not system.endswith("w_title"):
            continue
        for place, what in enumerate(names):
            verdict: Verdict = "ordering holds" if found[place] < other[place] else "differs"
            why = f"{100 * found[place]:.2f} % with, {100 * other[place]:.2f} % without"
            findings.append(Finding(f"{system.split()[0]}: {what}, W/ Title < W/O Title", verdict, why))
    data = totals.get("data")
    if data:
        verdict = "ordering holds" if data[2] > 0 else "differs"
        findings.append(Finding("real text as read repeats some titles", verdict, f"{100 * data[2]:.2f} %"))
    return findings


def figure_4(*, scores: Records) -> Figure:
    """P(z_m | z_{m-1}) of a model less that of real text, on the most common titles; red where the critic objects.

    The first row is real text, the second a model's.
    """
    if len(scores) != 2:
        raise BadInput(f"figure 4 got {len(scores)} score rows, it wants two: real text, then a model")
    (_, data), (name, model) = scores.items()
    edges = _edges(_counts(data), _counts(model))
    cells = [
        Cell(f"{e.earlier} → {e.later}", "P model - P data", e.difference, e.low, e.high, signature="Newcombe 1998")
        for e in edges
    ]
    kept = [e for e in edges if abs(e.difference) >= SHOWN_DIFFERENCE]
    repeats = sum(e.earlier == e.later for e in kept if e.red)
    caption = (
        f"Section transitions of {name.removesuffix('-latent')} less those of real text, {TOP_TITLES} most common titles "
        f"at most, differences of {SHOWN_DIFFERENCE} and more; red: critic's probability below {RED}. Of "
        f"{sum(e.red for e in kept)} red transitions drawn, {repeats} repeat the title (the paper finds mostly "
        "repetitions). Intervals in the CSV count transitions as independent."
    )
    return Figure(caption, cells, lambda canvas: draw_graph(canvas, kept), (8.0, 8.0))


def _edges(data: Sequence[tuple[str, str, int, float]], model: Sequence[tuple[str, str, int, float]]) -> list[Edge]:
    """Edges between the common titles, largest difference first; a title's end counts among what may follow it."""
    probability = {(a, b): p for a, b, _, p in (*data, *model)}
    counts = [{(a, b): n for a, b, n, _ in rows} for rows in (data, model)]
    visits: Counter[str] = Counter()
    for rows in (data, model):
        for _, later, n, _ in rows:
            visits[later] += n
    common = sorted(set(visits) - {BEGIN, END}, key=lambda title: (-visits[title], title))[:TOP_TITLES]
    edges = []
    for (a, b), p in sorted(probability.items()):
        if a in common and b in common:
            first, second = ((c.get((a, b), 0), sum(n for (x, _), n in c.items() if x == a)) for c in counts)
            edges.append(_edge(a, b, first, second, p))
    return sorted(edges, key=lambda e: (-abs(e.difference), e.earlier, e.later))


def _edge(a: str, b: str, data: tuple[int, int], model: tuple[int, int], probability: float) -> Edge:
    """Difference of two shares with Newcombe's (1998) interval from the two Wilson intervals; an unseen title has 0/0."""
    (p, p_low, p_high), (q, q_low, q_high) = (
        (hits / trials, *wilson(hits, trials)) if trials else (0.0, 0.0, 1.0) for hits, trials in (data, model)
    )
    low = q - p - math.hypot(q - q_low, p_high - p)
    high = q - p + math.hypot(q_high - q, p - p_low)
    return Edge(a, b, q - p, low, high, probability < RED)


def table_13(*, scores: Records, data: Path, texts: str) -> ArticlePage:
    """A generated article that repeats a section title where the critic expects another, and is sound otherwise."""
    return _page("Table 13. A repeated section", "repeating", scores, data, texts)


def figure_1(*, scores: Records, data: Path, texts: str) -> ArticlePage:
    """The article with the most improbable order of sections, its bad transitions marked."""
    return _page("Figure 1. Improper section transitions", "worst", scores, data, texts)


def _page(caption: str, kind: str, scores: Records, data: Path, texts: str) -> ArticlePage:
    ((_, record),) = scores.items()
    found = record["details"][kind]
    if not found:
        return ArticlePage(caption, "no such article in this set", ())
    entry, likeliest = found[0], record["details"]["likeliest"]
    sections = _texts(data / texts / "documents.jsonl", entry["unit"])
    before = [BEGIN, *entry["titles"]]
    rows = [
        MarkedSection(title, text, math.exp(log), likeliest[before[place]], math.exp(log) < FAILURE_PROBABILITY)
        for place, (title, text, log) in enumerate(
            zip([*entry["titles"], END], [*sections, ""], entry["log_probs"], strict=True)
        )
    ]
    return ArticlePage(caption, entry["unit"], rows)


def _texts(path: Path, unit: str) -> list[str]:
    if not path.is_file():
        raise BadInput(f"{path}: no such file; the row's texts must name a generated corpus, as generations/<row>")
    for line in path.read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        if document["id"] == unit:
            return [section["text"] for section in document["sections"]]
    raise BadInput(f"{path} has no document {unit!r}; the row's texts must be what its scores were read from")
