"""The paper's human evaluation as a sheet of sentences to judge, and its Table 2 from the judgements (massarelli2020, section 6).

Annotators see a claim, the sentence as it was generated, what stood before it and the evidence; not which decoder wrote it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import Better, Sums, SumScored, Tally
from longform.core.documents import BadInput
from longform.core.resampling import generator, ratio
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

    def fit(self, real: Sequence[CheckedGeneration]) -> AnnotationSheet:
        """Nothing is fitted."""
        return self

    def tally(self, units: Sequence[CheckedGeneration]) -> Tally:
        """Columns repeats, sentences, excluded (never): sentences that stand word for word earlier in their text."""
        rows = [(float(repeats(unit).sum()), len(unit.sentences), 0.0) for unit in units]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
        return Tally(tuple(unit.unit_id for unit in units), ("repeats", "sentences", "excluded"), values)

    def of_sums(self, sums: Sums) -> Any:
        """Share of sentences."""
        return ratio(sums.total("repeats"), sums.total("sentences"))

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
    """Percent. Generations without any verified sentence are left out of SPV and USPV, as everywhere here."""
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
