r"""How far verdicts can be trusted: people's judgements of sentences (massarelli2020, section 6), and a checker's errors taken out.

A checker that gives label $j$ to a sentence of true label $i$ with probability $C_{ij}$ turns true shares $\pi$ into observed
$q = C^\top \pi$; $\hat\pi = \arg\min_{\pi \ge 0, \sum \pi = 1} \lVert C^\top \pi - q \rVert$ (Rogan and Gladen 1978; Forman 2008).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from longform.critics.verifiability.score import (
    LABELS,
    NEI,
    REFUTED,
    SENTENCES,
    SUPPORTED,
    CheckedGeneration,
)
from longform.documents import grouped
from longform.errors import InputError
from longform.files.opening import rows as table_rows
from longform.results import Record
from longform.statistics.arithmetic import ratio
from longform.statistics.estimates import estimate
from longform.statistics.intervals import percentile_interval, share_interval
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums, clustered
from longform.statistics.sum_scored import SumScored

DECODERS = ("top_k", "greedy", "beam", "delayed_beam", "beam_blocked")  # Table 2
PREFIXES = 200  # massarelli2020, section 6
FLAGS = ("repetition", "not_a_claim", "ungrammatical")


def sheet_record(
    units: Sequence[CheckedGeneration], prefixes: int = PREFIXES, decoders: Sequence[str] = DECODERS
) -> Record:
    """Exact repeats among all first sentences, and the sheet as ``details``: items in an order that tells nothing.

    Judged is the decoders' first continuation of prefixes that are drawn at random, the same ones for every decoder.
    """
    chosen = [unit for unit in units if unit.setting in decoders and unit.about[2] == 0]
    pages = list(dict.fromkeys(unit.page for unit in chosen))
    kept = {
        pages[place] for place in generator("annotation sheet").permutation(len(pages))[:prefixes]
    }
    items: list[dict[str, Any]] = []
    for unit in (unit for unit in chosen if unit.page in kept):
        key = {"decoder": unit.setting, "page": unit.page, "generation": unit.unit_id}
        for n, (claim, lines) in enumerate(zip(unit.texts, unit.lines, strict=True)):
            seen = {"claim": claim, "before": " ".join(unit.texts[:n]), "evidence": lines}
            items.append({**seen, "key": {**key, "sentence": n}})  # the key is not for annotators
    order = generator("annotation sheet", "order").permutation(len(items))
    details = {
        "items": [{"item": f"s{number:05d}", **items[place]} for number, place in enumerate(order)],
        "exact_repeats": {
            name: _repeated([u for u in chosen if u.setting == name]) for name in decoders
        },
        "prefixes": len(kept),
    }
    signature = "sentences equal to an earlier one of the text"
    fields: dict[str, Any] = {"better": "lower", "signature": signature, "details": details}
    return Record(
        "verifiability", "exact_repeats", value=_repeated(units), units=len(units), **fields
    )


def _repeated(units: Sequence[CheckedGeneration]) -> float:
    """The share of sentences that stand word for word earlier in their text."""
    repeats = sum(
        int((unit.column("same_as") < np.arange(len(unit.sentences))).sum()) for unit in units
    )
    return float(ratio(repeats, sum(len(unit.sentences) for unit in units)))


Answers = Sequence[Mapping[str, Any]]
CHOICES = {  # what the study app offers, one choice an item: a flag alone says nothing of support
    "supported": {"label": SUPPORTED},
    "refuted": {"label": REFUTED},
    "not enough information": {"label": NEI},
    "repetition": {"label": NEI, "repetition": "1"},
    "not a claim": {"label": NEI, "not_a_claim": "1"},
    "ungrammatical": {"label": NEI, "ungrammatical": "1"},
}


def read_answers(path: Path) -> list[dict[str, str]]:
    """Rows of a filled form, or of the study app's export, of which the last answer to each item counts.

    Raises InputError: no such file, columns are missing, or a choice that the app does not have.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; put the answers there, or leave `answers` out")
    rows = table_rows(path, ("item",))
    columns = set(rows[0]) if rows else set()
    if not {"item", "annotator", "answer"} <= columns:
        if rows and "label" not in columns:
            raise InputError(f"{path}: columns ['label'] are missing; it has {sorted(columns)}")
        return rows
    rows = [row for row in rows if row.get("last", "True") == "True"]
    for row in rows:
        if row["answer"] not in CHOICES:
            raise InputError(
                f"{path}: answer {row['answer']!r} of item {row['item']!r}; allowed are {list(CHOICES)}"
            )
    return [
        {"item": row["item"], "annotator": row["annotator"], **CHOICES[row["answer"]]}
        for row in rows
    ]


def judged(items: Sequence[Mapping[str, Any]], answers: Answers) -> dict[str, Any]:
    """Table 2: REP, NAC, UNG and the four measures of each decoder, and how far annotators agree.

    An answer to one of the sheet's items has item, annotator, label (of ``LABELS``) and the flags (1 or 0, empty for 0).
    """
    keys = {item["item"]: item["key"] for item in items}
    votes: dict[str, list[Mapping[str, Any]]] = {}
    for number, answer in enumerate(answers, 1):
        if answer.get("item") not in keys or answer.get("label") not in LABELS:
            got = f"item {answer.get('item')!r}, label {answer.get('label')!r}"
            raise InputError(
                f"answer {number}: {got}; allowed are items of the sheet and labels {list(LABELS)}; fix it"
            )
        votes.setdefault(answer["item"], []).append(answer)
    if not votes:
        raise InputError(
            "the answers hold no line; give item, annotator, label and flags, one judgement a line"
        )
    rows = [{**keys[item], **_majority(given)} for item, given in votes.items()]
    tables = {
        name: _measures(own) for name, own in grouped(rows, lambda row: row["decoder"]).items()
    }
    counts = {"sentences": len(rows), "unanswered": len(keys) - len(votes)}
    return {"decoders": tables, "agreement": agreement(votes), **counts}


def _majority(given: Answers) -> dict[str, Any]:
    counts = Counter(answer["label"] for answer in given).most_common()
    tied = len(counts) > 1 and counts[0][1] == counts[1][1]
    said = {
        flag: [str(answer.get(flag) or "0").strip().lower() for answer in given] for flag in FLAGS
    }
    flags = {
        flag: 2 * sum(word in ("1", "true", "yes") for word in said[flag]) > len(given)
        for flag in FLAGS
    }
    return {"label": NEI if tied else counts[0][0], **flags}


def _measures(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    named = zip(("REP", "NAC", "UNG"), FLAGS, strict=True)
    made = {name: 100 * float(np.mean([row[flag] for row in rows])) for name, flag in named}
    for prefix, unique in (("", False), ("U", True)):
        shares, recalls = [], []
        for text in grouped(rows, lambda row: row["generation"]).values():
            labels = [row["label"] for row in text if not (unique and row["repetition"])]
            supported, refuted = labels.count(SUPPORTED), labels.count(REFUTED)
            recalls.append(supported / SENTENCES)
            shares += [supported / (supported + refuted)] if supported + refuted else []
        made[f"{prefix}SPG"] = 100 * float(np.mean(recalls))
        made[f"{prefix}SPV"] = 100 * float(np.mean(shares)) if shares else math.nan
    return made


def agreement(votes: Mapping[str, Answers]) -> dict[str, Any]:
    """Cohen's kappa averaged over pairs of annotators with common items, and the majority's mean share by label."""
    by_person: dict[str, dict[str, str]] = {}
    for item, given in votes.items():
        for answer in given:
            by_person.setdefault(str(answer.get("annotator", "")), {})[item] = answer["label"]
    kappas = [cohen(a, b) for a, b in combinations(by_person.values(), 2) if a.keys() & b.keys()]
    known = [value for value in kappas if not math.isnan(value)]
    shares: dict[str, list[float]] = {label: [] for label in LABELS}
    for given in votes.values():
        label = _majority(given)["label"]
        shares[label].append(sum(answer["label"] == label for answer in given) / len(given))
    means = {
        label: 100 * float(np.mean(found)) if found else math.nan for label, found in shares.items()
    }
    kappa = float(np.mean(known)) if known else math.nan
    return {"cohen_kappa": kappa, "annotators": len(by_person), "majority_share": means}


def cohen(first: Mapping[str, str], second: Mapping[str, str]) -> float:
    r"""$\kappa = (p_o - p_e) / (1 - p_e)$ over the items that both have judged; nan where chance alone agrees fully."""
    common = sorted(first.keys() & second.keys())
    observed = sum(first[item] == second[item] for item in common) / len(common)
    rates = [Counter(person[item] for item in common) for person in (first, second)]
    expected = sum(rates[0][label] * rates[1][label] for label in LABELS) / len(common) ** 2
    return (observed - expected) / (1 - expected) if expected < 1 else math.nan


SUM_WEIGHT = 1e3  # of the equation that shares sum to one, beside equations about shares: exact to six digits
PAIRS = tuple(f"{true} as {said}" for true in LABELS for said in LABELS)
MEASURES = (
    "accuracy",
    *(f"{kind} of {label}" for label in LABELS for kind in ("precision", "recall")),
)


@dataclass(frozen=True)
class CheckerAccuracy(SumScored, better="higher", share=True):
    """Share of sentences with the right label, or ``precision of <label>``, or ``recall of <label>``."""

    measure: str = "accuracy"

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise InputError(
                f"checker accuracy: measure {self.measure!r}; allowed are {sorted(MEASURES)}"
            )

    def sufficient_statistics(self, units: Sequence[CheckedGeneration]) -> SufficientStatistics:
        """One column for each true and given label, then how often evidence was found and missing, then excluded."""
        rows = []
        for unit in units:
            if unit.truth is None or not unit.checks.labels:
                rows.append([0] * (len(PAIRS) + 2) + [1])
                continue
            counts = Counter(zip(unit.truth.labels, unit.checks.labels, strict=True))
            known = unit.column("found")[~np.isnan(unit.column("found"))]
            rows.append(
                [
                    *(counts[true, said] for true in LABELS for said in LABELS),
                    known.sum(),
                    len(known),
                    0,
                ]
            )
        return SufficientStatistics.of(
            units, (*PAIRS, "evidence_found", "evidence_known", "excluded"), rows
        )

    def of_sums(self, sums: Sums) -> Any:
        """The measure; nan where nothing has (precision: was given) the label."""
        matrix, (kind, _, label) = confusion_of(sums), self.measure.partition(" of ")
        if not label:
            return ratio(np.trace(matrix), matrix.sum((0, 1)))
        place = LABELS.index(label)
        return ratio(
            matrix[place, place],
            (matrix[:, place] if kind == "precision" else matrix[place]).sum(0),
        )


def accuracy_records(units: Sequence[CheckedGeneration]) -> list[Record]:
    """Accuracy (with the evidence found, the majority's share and the confusion), and precision and recall of each label, the task."""
    statistics = clustered(
        CheckerAccuracy().sufficient_statistics(units), [unit.page for unit in units]
    )
    matrix = confusion_of(statistics)
    about = {
        "retrieved": ratio(statistics.total("evidence_found"), statistics.total("evidence_known")),
        "majority": ratio(matrix.sum(1).max(), matrix.sum()),
        "confusion": {name: int(n) for name, n in zip(PAIRS, matrix.flatten(), strict=True)},
    }
    records = []
    for measure in MEASURES:
        kind, _, label = measure.partition(" of ")
        found = estimate(
            CheckerAccuracy(measure), statistics, generator("checker accuracy", measure), 500
        )
        fields = {
            **asdict(found),
            "task": label,
            "better": "higher",
            "details": {} if label else about,
        }
        records.append(Record("verifiability", f"checker_{kind}", **fields))
    return records


def confusion_of(sums: Sums | SufficientStatistics) -> np.ndarray:
    """Counts (true label, given label), or of each resample (labels, labels, resamples)."""
    totals = np.array([sums.total(name) for name in PAIRS])
    return totals.reshape(len(LABELS), len(LABELS), *totals.shape[1:])


def true_shares(observed: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """Shares (labels,) that explain the observed ones best; nan where labels are confused alike, so that none can be told.

    ``confusion`` counts (true label, given label), at least one in every row.
    """
    rates = confusion / confusion.sum(1, keepdims=True)
    if np.linalg.matrix_rank(rates) < len(rates):
        return np.full(len(rates), math.nan)
    found, _ = nnls(
        np.vstack([rates.T, np.full((1, len(observed)), SUM_WEIGHT)]),
        np.append(observed, SUM_WEIGHT),
    )
    return found / found.sum()


def missing_labels(known: np.ndarray) -> list[str]:
    """Labels that no known sentence truly has: their error rates are not known, so nothing can be corrected."""
    return [
        label
        for label, row in zip(LABELS, known.reshape(len(LABELS), -1), strict=True)
        if not row.any()
    ]


def corrected_records(
    units: Sequence[CheckedGeneration],
    known: Sequence[CheckedGeneration],
    variant: str,
    resamples: int = 500,
) -> list[Record]:
    """Corrected SPG of each decoder: the corrected share of supported sentences, times sentences per generation, over k.

    The error rates are those of the ``known`` sentences that no person wrote; generations (by page) and known sentences are
    resampled alike. ``details``: SPG as given, true SPG where truth is planted, and the labels that no known sentence has.
    """
    told = [unit for unit in known if unit.setting != "human"]
    known_rows = clustered(
        CheckerAccuracy().sufficient_statistics(told), [unit.page for unit in told]
    ).values[:, : len(PAIRS)]
    records = []
    for name, own in grouped(units, lambda unit: unit.setting).items():
        counts = [
            [*(unit.checks.labels[:SENTENCES].count(label) for label in LABELS), 1] for unit in own
        ]
        rows = clustered(
            SufficientStatistics.of(own, (*LABELS, "generations"), counts),
            [unit.page for unit in own],
        ).values
        rng, draws = generator("corrected", name), []
        for _ in range(resamples):
            drawn = rows[rng.integers(0, len(rows), len(rows))].sum(0)
            draws.append(
                corrected_spg(
                    drawn, known_rows[rng.integers(0, len(known_rows), len(known_rows))].sum(0)
                )
            )
        truths = [
            unit.truth.labels[:SENTENCES].count(SUPPORTED) for unit in own if unit.truth is not None
        ]
        details = {
            "given": float(rows[:, 0].sum() / (rows[:, -1].sum() * SENTENCES)),
            "true": sum(truths) / (len(own) * SENTENCES) if len(truths) == len(own) else None,
            "unknown_labels": missing_labels(known_rows.sum(0)),
        }
        value = corrected_spg(rows.sum(0), known_rows.sum(0))
        low, high = share_interval(percentile_interval(np.array(draws)), value, len(rows))
        fields: dict[str, Any] = {
            "variant": variant,
            "better": "higher",
            "signature": "CorrectedSupports",
        }
        fields |= {"value": value, "low": low, "high": high, "units": len(own), "details": details}
        records.append(Record("verifiability", "SPG", system=name, **fields))
    return records


def corrected_spg(counts: np.ndarray, known: np.ndarray) -> float:
    """SPG from counts of given labels and of generations, and of (true, given) labels; nan where it cannot be known."""
    given, generations = counts[: len(LABELS)], counts[len(LABELS)]
    if not given.sum() or not generations or missing_labels(known):
        return math.nan
    share = true_shares(given / given.sum(), known.reshape(len(LABELS), -1))[0]
    return float(share * given.sum() / (generations * SENTENCES))
