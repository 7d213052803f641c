"""The seven suites of CoherenceGym from their sources (beyer2021 section 4): one function each, one edit an item.

Items whose text cannot be edited (fewer than two different units to shuffle) are left out and counted in
``meta.excluded`` by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.datasets.test_suites.items import Suite, SuiteItem, checked, pair
from longform.datasets.test_suites.re_mentions import ReMention
from longform.datasets.test_suites.sources import (
    CONNECTIVES,
    ConnectiveUse,
    Schema,
    StatementPair,
    Story,
    in_sentence_case,
)
from longform.text.edits import Edit, connective_replaced, context_shuffled, rementioned, shuffled

MARK = "[SEP]"
SHUFFLES: dict[str, tuple[Callable[[Sequence[str], np.random.Generator], tuple[list[str], Edit]], str]] = {
    "all": (shuffled, "(*;%shuffled%) > (*;%original%)"),
    "context": (context_shuffled, "(2;%shuffled%) > (2;%original%)"),
}


def sentence_order(
    name: str,
    texts: Sequence[tuple[str, Sequence[str]]],
    kind: str,
    seed: object,
    speakers: bool = False,
    metric: str = "mean",
) -> Suite:
    """Units in their order against a shuffle of all of them or of all but the last (section 4.1).

    Args:
        texts: (id, units) with sentences or utterances as units.
        kind: "all" or "context".
        seed: together with the id, what the permutation depends on.
        speakers: put ``[SEP]`` between units.
    """
    if kind not in SHUFFLES:
        raise BadInput(f"suite {name}: kind {kind!r}, allowed are {sorted(SHUFFLES)}; fix the row")
    edit, formula = SHUFFLES[kind]
    items: list[SuiteItem] = []
    excluded: Counter[str] = Counter()
    for number, (text_id, units) in enumerate(texts, 1):
        try:
            changed, record = edit(units, generator(seed, "sentence order", kind, text_id))
        except BadInput:
            excluded["no other order"] += 1
            continue
        conditions = {"original": _context_and_last(units, speakers), "shuffled": _context_and_last(changed, speakers)}
        items.append(pair(number, conditions, [{**record, "source": text_id}]))
    return _suite(name, metric, formula, items, ["context", "last"], excluded)


def _context_and_last(units: Sequence[str], speakers: bool) -> tuple[str, str]:
    if not speakers:
        return " ".join(units[:-1]), units[-1]
    return " ".join(f"{unit} {MARK}" for unit in units[:-1]), units[-1]


def story_cloze(name: str, stories: Iterable[Story], metric: str = "mean") -> Suite:
    """The right against the wrong ending (section 4.2)."""
    items = [
        pair(
            number,
            {"original_ending": (" ".join(s.context), s.right), "distractor_ending": (" ".join(s.context), s.wrong)},
            [{"kind": "ending", "source": s.story_id}],
        )
        for number, s in enumerate(stories, 1)
    ]
    return _suite(name, metric, "(2;%distractor_ending%) > (2;%original_ending%)", items, ["story", "ending"])


def winograd(
    name: str, schemas: Iterable[Schema], kind: str, seed: object, lower: bool = True, metric: str = "mean"
) -> Suite:
    """The right candidate against the other, judged by the whole text or by what follows (section 4.3).

    Args:
        kind: "full" or "partial".
        seed: for the order in which the two sides are written, since the source lists the right one first.
        lower: articles of candidates in lower case inside a sentence, as printed; False keeps the source's case.
    """
    formulas = {"full": "(*;%distractor%) > (*;%target%)", "partial": "(3;%distractor%) > (3;%target%)"}
    if kind not in formulas:
        raise BadInput(f"suite {name}: kind {kind!r}, allowed are {sorted(formulas)}; fix the row")
    items = []
    for number, schema in enumerate(schemas, 1):
        candidates = [in_sentence_case(c, schema.before) if lower else c for c in schema.candidates]
        sides = {"target": candidates[schema.right], "distractor": candidates[1 - schema.right]}
        first = ("target", "distractor")[int(generator(seed, "sides", schema.schema_id).integers(2))]
        ordered = sorted(sides, key=lambda side: side != first)
        conditions = {side: (schema.before, sides[side], schema.after) for side in ordered}
        items.append(pair(number, conditions, [{"kind": "candidate", "source": schema.schema_id, "first": first}]))
    return _suite(name, metric, formulas[kind], items, ["before", "candidate", "after"])


def entity_re_mention(name: str, mentions: Iterable[ReMention], metric: str = "mean") -> Suite:
    """A pronoun against the antecedent's words in its place (section 4.4)."""
    items: list[SuiteItem] = []
    excluded: Counter[str] = Counter()
    for number, mention in enumerate(mentions, 1):
        try:
            repeated, edit = rementioned(
                mention.second, mention.start, mention.end, mention.antecedent, mention.possessive
            )
        except BadInput:
            excluded["nothing to replace"] += 1
            continue
        conditions = {"pronoun": (mention.first, mention.second), "repetition": (mention.first, repeated)}
        items.append(pair(number, conditions, [{**edit, "source": mention.source}]))
    return _suite(name, metric, "(2;%repetition%) > (2;%pronoun%)", items, ["antecedent", "re-mention"], excluded)


def connectives(
    uses: Sequence[ConnectiveUse], prefix: str = "", metric: str = "mean", least: int = 1, match_case: bool = False
) -> list[Suite]:
    """A suite for each connective, sense and replacement: the original against another connective (section 4.5).

    Uses that open their segment are left out, as in the paper; so are senses with fewer than ``least`` uses.

    Args:
        match_case: a replacement is capitalised where the original is; False is the paper's, lower case everywhere,
            so that every use which opens a sentence (all of "However") is also spoilt by its case.
    """
    groups: dict[tuple[str, str], list[ConnectiveUse]] = {}
    opening = Counter(use.connective for use in uses if not use.text[: use.start].strip())
    for use in uses:
        if use.connective in CONNECTIVES and use.text[: use.start].strip() and use.text[use.end :].strip():
            groups.setdefault((use.connective, use.sense), []).append(use)
    suites = []
    for (connective, sense), kept in sorted(groups.items()):
        excluded = Counter({"opens its segment": opening[connective]} if opening[connective] else {})
        for other in CONNECTIVES if len(kept) >= least else ():
            if other != connective:
                items = [_connective_item(number, use, other, match_case) for number, use in enumerate(kept, 1)]
                name, regions = f"{prefix}{connective}_{sense}_as_{other}", ["before", "connective", "continuation"]
                suites.append(_suite(name, metric, "(3;%manipulated%) > (3;%original%)", items, regions, excluded))
    return suites


def _connective_item(number: int, use: ConnectiveUse, other: str, match_case: bool) -> SuiteItem:
    _, edit = connective_replaced(use.text, use.start, use.end, other, match_case)
    before, after = use.text[: use.start], use.text[use.end :]
    conditions = {"original": (before, edit["old"], after), "manipulated": (before, edit["new"], after)}
    return pair(number, conditions, [{**edit, "source": use.use_id}])


def speaker_commitment(name: str, pairs: Iterable[StatementPair], metric: str = "mean") -> Suite:
    """A contradiction by the same speaker against one by another (section 4.6)."""
    items: list[SuiteItem] = []
    excluded: Counter[str] = Counter()
    for statement in pairs:
        if statement.label != "negative":
            excluded[f"label {statement.label}"] += 1
            continue
        first, second = statement.first, statement.second
        conditions = {"speaker_change": (f"{first} {MARK}", second), "same_speaker": (first, second)}
        items.append(pair(len(items) + 1, conditions, [{"kind": "speaker_change", "source": statement.pair_id}]))
    formula = "(2;%same_speaker%) > (2;%speaker_change%)"
    return _suite(name, metric, formula, items, ["first", "second"], excluded)


def _suite(
    name: str, metric: str, formula: str, items: Sequence[SuiteItem], regions: Sequence[str], excluded: Any = None
) -> Suite:
    names = {str(number): region for number, region in enumerate(regions, 1)}
    meta = {"reference": "beyer2021", "excluded": dict(excluded or {})}
    return checked(Suite(name, metric, (formula,), tuple(items), names, meta))
