r"""How far verdicts can be trusted: people's judgements of sentences (massarelli2020, section 6), and a checker's errors taken out.

A checker that gives label $j$ to a sentence of true label $i$ with probability $C_{ij}$ turns true shares $\pi$ into observed
$q = C^\top \pi$; $\hat\pi = \arg\min_{\pi \ge 0, \sum \pi = 1} \lVert C^\top \pi - q \rVert$ (Rogan and Gladen 1978; Forman 2008).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from longform.core.critic import Better, SumScored, Tally, clustered, estimate
from longform.core.documents import BadInput
from longform.core.resampling import generator, percentile_interval
from longform.core.results import Record
from longform.critics.verifiability.score import LABELS, SENTENCES, CheckedGeneration

DECODERS = ("top_k", "greedy", "beam", "delayed_beam", "beam_blocked")  # Table 2
PREFIXES = 200  # massarelli2020, section 6
FLAGS = ("repetition", "not_a_claim", "ungrammatical")
NEI = LABELS[2]


@dataclass(frozen=True)
class AnnotationSheet(SumScored):
    """Exact repeats among the first sentences as the one number; the sheet is in ``describe``.

    Attributes:
        prefixes: drawn at random, the same ones for every decoder.
        decoders: whose first continuation of each prefix is judged.
    """

    prefixes: int = PREFIXES
    decoders: tuple[str, ...] = DECODERS
    better: ClassVar[Better] = "lower"
    divided: ClassVar[tuple[str, str]] = ("repeats", "sentences")

    def tally(self, units: Sequence[CheckedGeneration]) -> Tally:
        """Columns repeats, sentences, excluded (never): sentences that stand word for word earlier in their text."""
        rows = [(float(repeats(unit).sum()), len(unit.sentences), 0.0) for unit in units]
        return Tally.of(units, ("repeats", "sentences", "excluded"), rows)

    def describe(self, units: Sequence[CheckedGeneration]) -> dict[str, Any]:
        """``items`` in an order that tells nothing, each with what annotators see and, apart, its ``key``."""
        chosen = [unit for unit in units if unit.setting in self.decoders and unit.about[2] == 0]
        pages = list(dict.fromkeys(unit.page for unit in chosen))
        drawn = generator("annotation sheet").permutation(len(pages))[: self.prefixes]
        kept = {pages[place] for place in drawn}
        items = [item for unit in chosen if unit.page in kept for item in _items(unit)]
        order = generator("annotation sheet", "order").permutation(len(items))
        shares = {name: self.score(self.tally([u for u in chosen if u.setting == name])) for name in self.decoders}
        return {
            "items": [{"item": f"s{number:05d}", **items[place]} for number, place in enumerate(order)],
            "exact_repeats": shares,
            "prefixes": len(kept),
        }


def sheet_record(units: Sequence[CheckedGeneration], *, corpus: str, sheet: AnnotationSheet | None = None) -> Record:
    """Exact repeats, with the whole sheet as ``details``."""
    sheet = sheet or AnnotationSheet()
    tally = sheet.tally(units)
    return Record(
        "verifiability", "exact_repeats", corpus, value=sheet.score(tally), units=len(units), better=sheet.better,
        signature="sentences equal to an earlier one of the text", details=sheet.describe(units),
    )  # fmt: skip


def repeats(unit: CheckedGeneration) -> np.ndarray:
    """bool (sentences,): an equal sentence stands before this one."""
    return unit.column("same_as") < np.arange(len(unit.sentences))


def _items(unit: CheckedGeneration) -> list[dict[str, Any]]:
    before: list[str] = []
    made = []
    for place, (claim, lines) in enumerate(zip(unit.texts, unit.lines, strict=True)):
        key = {"decoder": unit.setting, "page": unit.page, "generation": unit.unit_id, "sentence": place}
        made.append({"claim": claim, "before": " ".join(before), "evidence": lines, "key": key})
        before.append(claim)
    return made


Answers = Sequence[Mapping[str, Any]]


def judged(items: Sequence[Mapping[str, Any]], answers: Answers) -> dict[str, Any]:
    """Table 2 from answers: REP, NAC, UNG and the four measures of each decoder, and how far annotators agree.

    Args:
        items: of the sheet, with their keys.
        answers: item, annotator, label (one of ``LABELS``) and the three flags (1 or 0, empty for 0).
    """
    keys = {item["item"]: item["key"] for item in items}
    votes: dict[str, list[Mapping[str, Any]]] = {}
    for number, answer in enumerate(answers, 1):
        if answer.get("item") not in keys or answer.get("label") not in LABELS:
            got = f"item {answer.get('item')!r}, label {answer.get('label')!r}"
            raise BadInput(f"answer {number}: {got}; allowed are items of the sheet and labels {list(LABELS)}; fix it")
        votes.setdefault(answer["item"], []).append(answer)
    if not votes:
        raise BadInput("the answers hold no line; give item, annotator, label and flags, one judgement a line")
    rows = [{**keys[item], **_majority(given)} for item, given in votes.items()]
    decoders = list(dict.fromkeys(row["decoder"] for row in rows))
    tables = {name: _measures([row for row in rows if row["decoder"] == name]) for name in decoders}
    return {
        "decoders": tables,
        "agreement": agreement(votes),
        "sentences": len(rows),
        "unanswered": len(keys) - len(votes),
    }


def _majority(given: Answers) -> dict[str, Any]:
    counts = Counter(answer["label"] for answer in given).most_common()
    tied = len(counts) > 1 and counts[0][1] == counts[1][1]
    flags = {flag: 2 * sum(_set(answer.get(flag)) for answer in given) > len(given) for flag in FLAGS}
    return {"label": NEI if tied else counts[0][0], **flags}


def _set(value: Any) -> bool:
    return str(value or "0").strip().lower() in ("1", "true", "yes")


def _measures(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    texts: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        texts.setdefault(row["generation"], []).append(row)
    made = {
        name: 100 * float(np.mean([row[flag] for row in rows]))
        for name, flag in zip(("REP", "NAC", "UNG"), FLAGS, strict=True)
    }
    for prefix, unique in (("", False), ("U", True)):
        shares, recalls = [], []
        for text in texts.values():
            labels = [row["label"] for row in text if not (unique and row["repetition"])]
            supported, refuted = labels.count(LABELS[0]), labels.count(LABELS[1])
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
    means = {label: 100 * float(np.mean(found)) if found else math.nan for label, found in shares.items()}
    return {
        "cohen_kappa": float(np.mean(known)) if known else math.nan,
        "annotators": len(by_person),
        "majority_share": means,
    }


def cohen(first: Mapping[str, str], second: Mapping[str, str]) -> float:
    r"""$\kappa = (p_o - p_e) / (1 - p_e)$ over the items that both have judged; nan where chance alone agrees fully."""
    common = sorted(first.keys() & second.keys())
    observed = sum(first[item] == second[item] for item in common) / len(common)
    rates = [Counter(person[item] for item in common) for person in (first, second)]
    expected = sum(rates[0][label] * rates[1][label] for label in LABELS) / len(common) ** 2
    return (observed - expected) / (1 - expected) if expected < 1 else math.nan


SUM_WEIGHT = 1e3  # of the equation that shares sum to one, beside equations about shares: exact to six digits
PAIRS = tuple(f"{true} as {said}" for true in LABELS for said in LABELS)
MEASURES = {"accuracy": None} | {f"{kind} of {label}": label for label in LABELS for kind in ("precision", "recall")}


@dataclass(frozen=True)
class CheckerAccuracy:
    """Share of sentences with the right label; precision and recall of each label in ``describe``.

    Attributes:
        measure: "accuracy", or "precision of <label>" or "recall of <label>".
    """

    measure: str = "accuracy"
    better: ClassVar[Better] = "higher"

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise BadInput(f"checker accuracy: measure {self.measure!r}; allowed are {sorted(MEASURES)}")

    def fit(self, real: Sequence[CheckedGeneration]) -> CheckerAccuracy:
        return self

    def tally(self, units: Sequence[CheckedGeneration]) -> Tally:
        """One column for each true and given label, then how often evidence was found and missing, then excluded."""
        rows = [self._row(unit) for unit in units]
        return Tally.of(units, (*PAIRS, "evidence_found", "evidence_known", "excluded"), rows)

    def _row(self, unit: CheckedGeneration) -> tuple[float, ...]:
        if unit.truth is None or not unit.checks.labels:
            return (0.0,) * (len(PAIRS) + 2) + (1.0,)
        counts = dict.fromkeys(PAIRS, 0.0)
        for true, said in zip(unit.truth.labels, unit.checks.labels, strict=True):
            counts[f"{true} as {said}"] += 1
        found = unit.column("found")
        known = found[~np.isnan(found)]
        return (*counts.values(), float(known.sum()), float(len(known)), 0.0)

    def score(self, tally: Tally) -> float:
        """The measure; nan where nothing has (precision: was given) the label."""
        matrix = confusion_of(tally)
        if self.measure == "accuracy":
            return _ratio(float(np.trace(matrix)), float(matrix.sum()))
        kind, _, label = self.measure.split(" ", 2)
        place = LABELS.index(label)
        whole = matrix[:, place] if kind == "precision" else matrix[place]
        return _ratio(float(matrix[place, place]), float(whole.sum()))

    def groups(self, units: Sequence[CheckedGeneration]) -> list[str]:
        return [unit.page for unit in units]

    def describe(self, units: Sequence[CheckedGeneration]) -> dict[str, Any]:
        """Accuracy, precision and recall with intervals, the confusion, and the share of evidence that was retrieved."""
        tally = clustered(self.tally(units), self.groups(units))
        made: dict[str, Any] = {}
        for measure in MEASURES:
            critic = CheckerAccuracy(measure)
            made[measure] = asdict(estimate(critic, tally, generator("checker accuracy", measure), 500))
        matrix = confusion_of(tally)
        made["confusion"] = {name: int(n) for name, n in zip(PAIRS, matrix.flatten(), strict=True)}
        made["evidence retrieved"] = _ratio(tally.total("evidence_found"), tally.total("evidence_known"))
        made["majority"] = _ratio(float(matrix.sum(1).max()), float(matrix.sum()))
        return made


def accuracy_records(units: Sequence[CheckedGeneration], *, corpus: str) -> list[Record]:
    """Accuracy (with the evidence found and the majority's share), and precision and recall of each label, the task."""
    held = CheckerAccuracy().describe(units)
    about = {"retrieved": held["evidence retrieved"], "majority": held["majority"], "confusion": held["confusion"]}
    records = []
    for measure in MEASURES:
        kind, _, label = measure.partition(" of ")
        estimated = held[measure]
        records.append(
            Record("verifiability", f"checker_{kind}", corpus, task=label, better="higher",
                   details={} if label else about, **estimated)
        )  # fmt: skip
    return records


def corrected_records(
    units: Sequence[CheckedGeneration],
    known: Sequence[CheckedGeneration],
    *,
    corpus: str,
    variant: str,
    resamples: int = 500,
) -> list[Record]:
    """Corrected SPG of each decoder, with the error rates of ``known`` sentences, which ``variant`` names."""
    records = []
    for name, held in corrected_by(known, resamples).describe(units).items():
        about = {"given": held["given"], "true": held["true"], "unknown_labels": held["labels_without_known_sentences"]}
        fields = {key: held[key] for key in ("value", "low", "high", "units")}
        records.append(
            Record("verifiability", "SPG", corpus, name, variant=variant, better="higher",
                   signature="CorrectedSupports", details=about, **fields)
        )  # fmt: skip
    return records


def confusion_of(tally: Tally) -> np.ndarray:
    """Counts (true label, given label)."""
    return np.array([tally.total(name) for name in PAIRS]).reshape(len(LABELS), len(LABELS))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def true_shares(observed: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """Shares (labels,) that explain the observed ones best; nan where labels are confused alike, so that none can be told.

    Args:
        observed: shares of given labels, (labels,).
        confusion: counts (true label, given label), at least one in every row.
    """
    rates = confusion / confusion.sum(1, keepdims=True)
    if np.linalg.matrix_rank(rates) < len(rates):
        return np.full(len(rates), math.nan)
    equations = np.vstack([rates.T, np.full((1, len(observed)), SUM_WEIGHT)])
    found, _ = nnls(equations, np.append(observed, SUM_WEIGHT))
    return found / found.sum()


def missing_labels(known: np.ndarray) -> list[str]:
    """Labels that no known sentence truly has: their error rates are not known, so nothing can be corrected."""
    counts = known.reshape(len(LABELS), -1).sum(1)
    return [label for label, count in zip(LABELS, counts, strict=True) if not count]


@dataclass(frozen=True)
class CorrectedSupports:
    """Corrected SPG: the corrected share of supported sentences, times sentences per generation, over k.

    Attributes:
        resamples: of the intervals in ``describe``, which resample generations and known sentences alike.
        known: counts (units, labels squared) of the known sentences; set by :func:`corrected_by`.
    """

    sentences: int = SENTENCES
    resamples: int = 500
    known: np.ndarray = field(metadata={"fitted": True}, default_factory=lambda: np.zeros((0, 9)), repr=False)
    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[CheckedGeneration]) -> CorrectedSupports:
        return self

    def tally(self, units: Sequence[CheckedGeneration]) -> Tally:
        """Columns: a count of each given label, generations, excluded (never)."""
        rows = [[*(unit.checks.labels[: self.sentences].count(label) for label in LABELS), 1, 0] for unit in units]
        return Tally.of(units, (*LABELS, "generations", "excluded"), rows)

    def score(self, tally: Tally) -> float:
        """Corrected SPG in [0, 1], nan where it cannot be known; the interval beside it holds the known sentences fixed."""
        return self._spg(tally.values.sum(0), self.known.sum(0))

    def _spg(self, counts: np.ndarray, known: np.ndarray) -> float:
        given, generations = counts[: len(LABELS)], counts[len(LABELS)]
        if not given.sum() or not generations or missing_labels(known):
            return math.nan
        share = true_shares(given / given.sum(), known.reshape(len(LABELS), -1))[0]
        return float(share * given.sum() / (generations * self.sentences))

    def groups(self, units: Sequence[CheckedGeneration]) -> list[str]:
        return [unit.page for unit in units]

    def describe(self, units: Sequence[CheckedGeneration]) -> dict[str, Any]:
        """By decoder: SPG as given, corrected with its interval, and true where truth is planted."""
        groups: dict[str, list[CheckedGeneration]] = {}
        for unit in units:
            groups.setdefault(unit.setting, []).append(unit)
        return {name: self._described(name, group) for name, group in groups.items()}

    def _described(self, name: str, units: Sequence[CheckedGeneration]) -> dict[str, Any]:
        rows = clustered(self.tally(units), self.groups(units)).values
        rng = generator("corrected", name)
        draws = []
        for _ in range(self.resamples):
            counts = rows[rng.integers(0, len(rows), len(rows))].sum(0)
            known = self.known[rng.integers(0, len(self.known), len(self.known))].sum(0)
            draws.append(self._spg(counts, known))
        low, high = percentile_interval(np.array(draws))
        given = rows[:, 0].sum() / (rows[:, len(LABELS)].sum() * self.sentences)
        truths = [u.truth.labels[: self.sentences].count(LABELS[0]) for u in units if u.truth is not None]
        true = sum(truths) / (len(units) * self.sentences) if len(truths) == len(units) else None
        value = self._spg(rows.sum(0), self.known.sum(0))
        missing = missing_labels(self.known.sum(0))
        found = {"given": float(given), "value": value, "low": low, "high": high, "true": true, "units": len(units)}
        return found | {"labels_without_known_sentences": missing}


def corrected_by(known: Sequence[CheckedGeneration], resamples: int = 500) -> CorrectedSupports:
    """The measure with the error rates of sentences whose labels are known; those that people wrote are left out."""
    units = [unit for unit in known if unit.setting != "human"]
    tally = clustered(CheckerAccuracy().tally(units), CheckerAccuracy().groups(units))
    return CorrectedSupports(resamples=resamples, known=tally.values[:, : len(PAIRS)])
