"""Decoders by their settings: which strategy one is, how it is named, and which the validation prefixes choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from longform.core.results import Record, Results
from longform.reporting.printed import Expected

Decoders = Mapping[str, Mapping[str, Any]]
PERCENT = ("proportion_4grams", "link_grammar_percent", "SPG", "SPV", "USPG", "USPV")  # shares, printed in percent
PAPERS_CHOICE: tuple[Mapping[str, Any], ...] = (  # Table 3; beams of the two diverse searches are not printed
    {"kind": "top_k", "k": 2},
    {"kind": "top_p", "p": 0.4},
    {"kind": "greedy"},
    {"kind": "beam", "beams": 15},
    {"kind": "group_beam", "beams": 6, "groups": 2, "penalty": 0.2},
    {"kind": "sibling_beam", "beams": 15, "penalty": 0.1},
    {"kind": "delayed_beam", "top_k": 100, "beams": 6, "delay": 1},
    {"kind": "beam", "beams": 15, "blocking": 20},
)


def strategy(settings: Mapping[str, Any]) -> str:
    """The strategy of a decoder: its kind, but beam search that blocks repeats is one of its own."""
    return "beam_blocked" if settings["kind"] == "beam" and settings.get("blocking") else str(settings["kind"])


def label(name: str, decoders: Decoders, expected: Expected) -> str:
    """``delayed beam search (top k 100, beams 6, delay 1)``; a decoder without known settings keeps its name in words."""
    if name not in decoders:
        return expected.label("system", name)
    settings = [f"{key.replace('_', ' ')} {value:g}" for key, value in decoders[name].items() if key != "kind"]
    shown = expected.label("system", strategy(decoders[name]))
    return f"{shown} ({', '.join(settings)})" if settings else shown


def in_order(records: Iterable[Record], decoders: Decoders, expected: Expected) -> list[Record]:
    """Records by strategy in the paper's order, then by settings as numbers, then by name."""
    known = list(expected["labels"]["system"])

    def place(record: Record) -> tuple[Any, ...]:
        settings = decoders.get(record.system, {"kind": record.system})
        kind = strategy(settings)
        numbers = [value for key, value in settings.items() if key != "kind"]
        return (known.index(kind) if kind in known else len(known), kind, numbers, record.system)

    return sorted(records, key=place)


def chosen(results: Results, decoders: Decoders, run: str) -> dict[str, str]:
    """For each strategy the decoder of a run with the highest USPG; of equals the first, the one with the smaller setting."""
    best: dict[str, Record] = {}
    for record in results.where(critic="verifiability", metric="USPG", corpus=run, variant=""):
        if record.value is None or record.system not in decoders:
            continue
        kind = strategy(decoders[record.system])
        if kind not in best or record.value > (best[kind].value or 0.0):
            best[kind] = record
    return {kind: record.system for kind, record in best.items()}


def alike(name: str, decoders: Decoders, settings: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a decoder has one of these settings."""
    return name in decoders and any(dict(decoders[name]) == dict(other) for other in settings)
