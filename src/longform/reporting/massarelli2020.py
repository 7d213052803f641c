"""Tables of "How Decoding Strategies Affect the Verifiability of Generated Text" (Massarelli et al. 2020), as numbered there.

Score rows are named ``verifiability-<run>-table``, ``-accuracy`` and ``-corrected_by_<sample>``; a run is a model with
the decoders of its row. A decoder of a sweep is named ``<family>_<its settings>``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longform.critics.verifiability.score import LABELS
from longform.reporting.layout import Cell, Table, cell
from longform.reporting.orderings import numbers, ordering

Records = Mapping[str, Mapping[str, Any]]
Expected = Mapping[str, Any]
COLUMNS = ("distinct_4grams", "proportion_4grams", "SPG", "SPV", "USPG", "USPV")
TABLE_4 = ("distinct_sentences", "entities", "tokens", "conjunctions", "link_grammar_percent", "tfidf")
PERCENT = {"proportion_4grams", "link_grammar_percent", "SPG", "SPV", "USPG", "USPV"}
FAMILIES = ("top_k", "top_p", "greedy", "beam_blocked", "beam", "group_beam", "sibling_beam", "delayed",
            "min_p", "typical", "contrastive")  # fmt: skip
ORDER = ("human", "top_k", "top_p", "greedy", "beam", "group_beam", "sibling_beam", "delayed_beam", "beam_blocked")
PAPERS_CHOICE = {  # Table 3 in the names of the sweep; beams of the two diverse searches are not printed
    "top_k": "top_k_2",
    "top_p": "top_p_04",
    "greedy": "greedy",
    "beam": "beam_15",
    "group_beam": "group_beam_6_2_02",
    "sibling_beam": "sibling_beam_15_01",
    "delayed_beam": "delayed_100_6_1",
    "beam_blocked": "beam_blocked_15_20",
}
CLAIMS: Mapping[str, Any] = {"distinct_4grams": ["top_k", "top_p", "delayed_beam", "beam_blocked", "greedy", "sibling_beam", "group_beam", "beam"], "USPG": ["beam_blocked", "delayed_beam", "greedy", "beam", "group_beam", ["sibling_beam", "top_p"], "top_k"], "USPV": ["beam", "beam_blocked", "delayed_beam", "greedy", "sibling_beam", "group_beam", "top_k", "top_p"], "SPG": ["beam", "beam_blocked", "sibling_beam", "group_beam", "greedy", "delayed_beam", "top_p", "top_k"], "SPV": ["beam", "beam_blocked", "sibling_beam", "delayed_beam", "greedy", "group_beam", "top_p", "top_k"], "people_REP": ["beam", "greedy", "beam_blocked", "delayed_beam", "top_k"], "people_USPG_highest": "delayed_beam"}  # fmt: skip
OTHER = "another language model, encyclopedia and checker than the paper's: orderings are compared, not values"
GROUPS = (  # claims of section 6 in words: the measure, who is above, who is below
    ("sampling repeats itself least", "distinct_4grams", ("top_k", "top_p"), ("greedy", "beam", "group_beam", "sibling_beam")),
    ("beam search has the most support of all that do not block", "SPG", ("beam",),
     ("top_k", "top_p", "greedy", "group_beam", "sibling_beam", "delayed_beam")),
    ("beam search has the best share of support among verified", "SPV", ("beam",),
     ("top_k", "top_p", "greedy", "group_beam", "sibling_beam", "delayed_beam", "beam_blocked")),
    ("likelihood is ahead of sampling once repeats are left out", "USPV", ("greedy", "beam", "group_beam", "sibling_beam"),
     ("top_k", "top_p")),
    ("delayed beam search repeats itself less than likelihood", "distinct_4grams", ("delayed_beam",),
     ("greedy", "beam", "group_beam", "sibling_beam")),
    ("delayed beam search is better supported than sampling", "USPG", ("delayed_beam",), ("top_k", "top_p")),
    ("blocking gives the most different supported sentences", "USPG", ("beam_blocked",),
     ("top_k", "top_p", "greedy", "beam", "group_beam", "sibling_beam", "delayed_beam")),
)  # fmt: skip


def run_of(name: str) -> str:
    """The run of a score row."""
    return name.split("-", 1)[1].rsplit("-", 1)[0]


def settings(scores: Records, run: str) -> Mapping[str, Mapping[str, Any]]:
    """``{decoder: {measure: estimate}}`` of a run; empty where the report has no row of it."""
    record = scores.get(f"verifiability-{run}-table", {})
    found = record.get("details", {}).get("settings", {})
    return {name: found[name] for name in sorted(found, key=reading_order)}


def reading_order(setting: str) -> tuple[int, str, tuple[int, ...]]:
    """People first, then the paper's order of strategies, then the settings as numbers."""
    family = family_of(setting)
    place = ORDER.index(family) if family in ORDER else len(ORDER)
    return place, family, tuple(int(part) for part in setting.split("_") if part.isdigit())


def scaled(record: Mapping[str, Any], measure: str) -> dict[str, Any]:
    """The estimate as the paper prints it: shares in percent."""
    factor = 100.0 if measure.removeprefix("true_") in PERCENT else 1.0
    return {**record, **{k: None if record.get(k) is None else factor * record[k] for k in ("value", "low", "high")}}


def family_of(setting: str) -> str:
    """The strategy of a sweep's decoder."""
    found = next((name for name in FAMILIES if setting.startswith(name)), setting)
    return "delayed_beam" if found == "delayed" else found


def chosen(sweep: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """For each strategy the decoder with the highest USPG; of equals the first, which the grid puts at the smaller setting."""
    best: dict[str, str] = {}
    for name, measures in sweep.items():
        family = family_of(name)
        if family not in best or measures["USPG"]["value"] > sweep[best[family]]["USPG"]["value"]:
            best[family] = name
    return best


def table_1(*, scores: Records, expected: Expected) -> Table:
    """Decoders on test prefixes: the paper's settings, those that validation chose here, and later decoders."""
    test = settings(scores, "test")
    printed = {"human": "human_wikipedia"}
    block = expected["table_1"]
    cells = []
    for name, measures in test.items():
        values = block.get(printed.get(name, name))
        for place, measure in enumerate(COLUMNS):
            paper = None if values is None else values[place]
            held = {} if paper is None else {"printed": paper, "verdict": "not comparable", "why": OTHER}
            cells.append(cell(name, measure, scaled(measures[measure], measure), **held))
        cells += [
            cell(name, f"planted {m}", scaled(measures[f"true_{m}"], m)) for m in COLUMNS[2:] if f"true_{m}" in measures
        ]
    cells += _chosen_cells(scores)
    notes = [*_orderings(test, expected), *_group_claims(test), *_choices(scores)]
    caption = "Table 1. Repetition and verifiability by decoder, test prefixes (percent, but for distinct 4-grams)"
    return Table(caption, cells, notes)


def _orderings(test: Mapping[str, Any], expected: Expected) -> list[str]:
    lines = []
    for measure, order in CLAIMS.items():
        if measure in COLUMNS:
            records = {name: scaled(found[measure], measure) for name, found in test.items()}
            lines.append(ordering(f"{measure}, highest first as printed", order, records))
    return lines


def _group_claims(test: Mapping[str, Any]) -> list[str]:
    """Each claim in words: the least of the one side against the most of the other."""
    lines = []
    for text, measure, above, below in GROUPS:
        if not {*above, *below} <= test.keys():
            continue
        sides = [[numbers(scaled(test[name][measure], measure)) for name in names] for names in (above, below)]
        if any(record["value"] != record["value"] for side in sides for record in side):
            lines.append(f"{text} ({measure}): not runnable here (a score is not a number: nothing was verified)")
            continue
        top, rest = min(sides[0], key=lambda r: r["value"]), max(sides[1], key=lambda r: r["value"])
        holds = top["value"] > rest["value"]
        apart = "intervals apart" if top["low"] > rest["high"] else "intervals overlap"
        verdict = f"ordering holds ({apart})" if holds else "differs"
        lines.append(f"{text} ({measure}): {verdict}: {top['value']:.2f} against {rest['value']:.2f}")
    return lines


def _chosen_cells(scores: Records) -> list[Cell]:
    """Test prefixes under the decoder that validation chose for each strategy, both with the small model of the sweep."""
    grid = settings(scores, "grid")
    best = [name for name in chosen(settings(scores, "sweep")).values() if name in grid]
    return [cell(f"small model, chosen: {name}", m, scaled(grid[name][m], m)) for name in best for m in COLUMNS]


def _choices(scores: Records) -> list[str]:
    lines = []
    for family, best in chosen(settings(scores, "sweep")).items():
        papers = PAPERS_CHOICE.get(family)
        if papers is not None:
            told = "the paper's own setting" if best == papers else f"where the paper has {papers}"
            lines.append(f"{family}: validation chooses {best}, {told}")
    return lines


def table_3(*, scores: Records, expected: Expected) -> Table:
    """What validation chooses by USPG, strategy by strategy, beside the paper's choice, over the whole grid."""
    sweep = settings(scores, "sweep")
    best = set(chosen(sweep).values())
    cells = []
    for name, measures in sweep.items():
        mark = " (chosen)" if name in best else ""
        mark += " (the paper's)" if name in PAPERS_CHOICE.values() else ""
        cells += [cell(f"{name}{mark}", measure, scaled(measures[measure], measure)) for measure in COLUMNS]
    printed = ", ".join(f"{name} {values}" for name, values in expected["table_3"].items())
    return Table("Table 3. The sweep on validation prefixes; the highest USPG of each strategy is chosen", cells,
                 [f"the paper chooses: {printed}"])  # fmt: skip


def table_4(*, scores: Records, expected: Expected) -> Table:
    """Counts of sentences by decoder on validation prefixes; by rules, where the paper has spaCy's parser."""
    block = expected["table_4"]
    names = {
        key.replace(".", "").replace("top_p_1", "top_p_10" if key == "top_p_1" else "top_p_1"): key for key in block
    }
    cells = []
    for name, measures in settings(scores, "sweep").items():
        values = block.get(names.get(name, ""))
        for place, measure in enumerate(TABLE_4):
            paper = None if values is None else values[place]
            held = {} if paper is None else {"printed": paper, "verdict": "not comparable", "why": OTHER}
            cells.append(cell(name, measure, scaled(measures[measure], measure), **held))
    missing = all(c.value is None or c.value != c.value for c in cells if c.column == "link_grammar_percent")
    notes = ["entities are runs of capitals and numbers, conjunctions two per coordinating word: see deviations.md"]
    notes += ["Link Grammar's Python binding is not installed here, so its column is empty"] if missing else []
    return Table("Table 4. What sentences are like, by decoder, validation prefixes", cells, notes)


def checker(*, scores: Records, expected: Expected) -> Table:
    """How far the checker can be trusted, and support corrected for it; the paper's lines are its checker against people."""
    cells: list[Cell] = []
    notes: list[str] = []
    for name, record in scores.items():
        run, _, kind = name.removeprefix("verifiability-").partition("-")
        if kind == "accuracy":
            cells += _accuracy_cells(run, record["details"], expected["table_2"]["checker_against_people"])
            found = record["details"]
            shares = f"{100 * found['evidence retrieved']:.1f} % of the planted evidence was among the judged lines"
            notes.append(f"{run}: {shares}; the most frequent true label makes {100 * found['majority']:.1f} %")
        else:
            cells += _corrected_cells(kind.replace("_", " "), record["details"])
            missing = next(iter(record["details"].values()), {}).get("labels_without_known_sentences")
            notes += [f"{kind}: no known sentence is truly {missing}, so nothing is corrected"] if missing else []
    return Table("The checker against the planted truth, and support corrected for its errors (percent)", cells, notes)


def _accuracy_cells(run: str, details: Mapping[str, Any], paper: Mapping[str, Any]) -> list[Cell]:
    cells = [cell(f"checker on {run}", "accuracy", _percent(details["accuracy"]))]
    for label in LABELS:
        for kind in ("precision", "recall"):
            printed = paper[kind].get(label)
            held = {} if printed is None else {"printed": printed, "verdict": "not comparable", "why": OTHER}
            cells.append(
                cell(f"checker on {run}", f"{kind} of {label}", _percent(details[f"{kind} of {label}"]), **held)
            )
    return cells


def _corrected_cells(kind: str, details: Mapping[str, Any]) -> list[Cell]:
    cells = []
    for decoder, found in details.items():
        cells.append(Cell(decoder, "SPG as given", 100 * found["given"], units=found["units"]))
        cells.append(
            cell(decoder, f"SPG {kind}", _percent(found), signature="confusion inverted, both samples resampled")
        )
        if found["true"] is not None:
            cells.append(Cell(decoder, "planted SPG", 100 * found["true"], signature="exact rules"))
    return list({(c.row, c.column): c for c in cells}.values())


def _percent(record: Mapping[str, Any]) -> dict[str, Any]:
    keys: Sequence[str] = ("value", "low", "high")
    return {**record, **{key: None if record.get(key) is None else 100 * record[key] for key in keys}}
