"""The seven suites of CoherenceGym, one edit an item, from a folder of sources in their native formats (beyer2021 section 4).

Suites are named as in the paper's tables (``N_all``, ``D_context``, ``winograd_partial``, ``connective_<connective>_<sense>_as_<other>``).
Items that cannot be edited (fewer than two different units to shuffle) are counted in ``meta.excluded`` by reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.documents import BadInput, Corpus
from longform.core.malformed import refusing
from longform.core.resampling import generator
from longform.core.text.permutations import Edit, connective_replaced, context_shuffled, rementioned, shuffled
from longform.core.text.sentences import sentence_texts
from longform.datasets.coreference import ReMention, read_re_mentions
from longform.datasets.test_suites.items import Suite, SuiteItem, checked, pair, read_suite, suites_to_corpus
from longform.datasets.test_suites.sources import (
    CONNECTIVES,
    ConnectiveUse,
    Schema,
    StatementPair,
    Story,
    in_sentence_case,
    read_dialogue_nli,
    read_persona_chat,
    read_schemas,
    read_stories,
    read_uses,
)

MARK = "[SEP]"
SHUFFLES: dict[str, tuple[Callable[[Sequence[str], np.random.Generator], tuple[list[str], Edit]], str]] = {
    "all": (shuffled, "(*;%shuffled%) > (*;%original%)"),
    "context": (context_shuffled, "(2;%shuffled%) > (2;%original%)"),
}


def sentence_order(
    name: str, texts: Sequence[tuple[str, Sequence[str]]], kind: str, seed: object, speakers: bool = False
) -> Suite:
    """Units in their order against a shuffle of all of them or of all but the last (section 4.1).

    Args:
        texts: (id, units) with sentences or utterances as units.
        kind: "all" or "context".
        seed: together with the id, what the permutation depends on.
        speakers: put ``[SEP]`` between units.
    """
    if kind not in SHUFFLES:
        raise BadInput(f"suite {name}: kind {kind!r}, allowed are {sorted(SHUFFLES)}; fix the entry")
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
    return _suite(name, formula, items, ["context", "last"], excluded)


def _context_and_last(units: Sequence[str], speakers: bool) -> tuple[str, str]:
    if not speakers:
        return " ".join(units[:-1]), units[-1]
    return " ".join(f"{unit} {MARK}" for unit in units[:-1]), units[-1]


def story_cloze(name: str, stories: Iterable[Story]) -> Suite:
    """The right against the wrong ending (section 4.2)."""
    items = [
        pair(
            number,
            {"original_ending": (" ".join(s.context), s.right), "distractor_ending": (" ".join(s.context), s.wrong)},
            [{"kind": "ending", "source": s.story_id}],
        )
        for number, s in enumerate(stories, 1)
    ]
    return _suite(name, "(2;%distractor_ending%) > (2;%original_ending%)", items, ["story", "ending"])


def winograd(name: str, schemas: Iterable[Schema], kind: str, seed: object, lower: bool = True) -> Suite:
    """The right candidate against the other, judged by the whole text or by what follows (section 4.3).

    Args:
        kind: "full" or "partial".
        seed: for the order in which the two sides are written, since the source lists the right one first.
        lower: articles of candidates in lower case inside a sentence, as printed; False keeps the source's case.
    """
    formulas = {"full": "(*;%distractor%) > (*;%target%)", "partial": "(3;%distractor%) > (3;%target%)"}
    if kind not in formulas:
        raise BadInput(f"suite {name}: kind {kind!r}, allowed are {sorted(formulas)}; fix the entry")
    items = []
    for number, schema in enumerate(schemas, 1):
        candidates = [in_sentence_case(c, schema.before) if lower else c for c in schema.candidates]
        sides = {"target": candidates[schema.right], "distractor": candidates[1 - schema.right]}
        first = ("target", "distractor")[int(generator(seed, "sides", schema.schema_id).integers(2))]
        ordered = sorted(sides, key=lambda side: side != first)
        conditions = {side: (schema.before, sides[side], schema.after) for side in ordered}
        items.append(pair(number, conditions, [{"kind": "candidate", "source": schema.schema_id, "first": first}]))
    return _suite(name, formulas[kind], items, ["before", "candidate", "after"])


def entity_re_mention(name: str, mentions: Iterable[ReMention]) -> Suite:
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
    return _suite(name, "(2;%repetition%) > (2;%pronoun%)", items, ["antecedent", "re-mention"], excluded)


def connectives(
    uses: Sequence[ConnectiveUse], prefix: str = "", least: int = 1, match_case: bool = False
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
                suites.append(_suite(name, "(3;%manipulated%) > (3;%original%)", items, regions, excluded))
    return suites


def _connective_item(number: int, use: ConnectiveUse, other: str, match_case: bool) -> SuiteItem:
    _, edit = connective_replaced(use.text, use.start, use.end, other, match_case)
    before, after = use.text[: use.start], use.text[use.end :]
    conditions = {"original": (before, edit["old"], after), "manipulated": (before, edit["new"], after)}
    return pair(number, conditions, [{**edit, "source": use.use_id}])


def speaker_commitment(name: str, pairs: Iterable[StatementPair]) -> Suite:
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
    return _suite(name, formula, items, ["first", "second"], excluded)


def _suite(name: str, formula: str, items: Sequence[SuiteItem], regions: Sequence[str], excluded: Any = None) -> Suite:
    names = {str(number): region for number, region in enumerate(regions, 1)}
    meta = {"reference": "beyer2021", "excluded": dict(excluded or {})}
    return checked(Suite(name, "mean", (formula,), tuple(items), names, meta))


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    sources: Mapping[str, str | Mapping[str, str]],
    metric: str = "mean",
    drop_last: bool = False,
    lower: bool = True,
    least: int = 1,
    match_case: bool = False,
) -> Corpus:
    """Every suite that the sources allow, as one corpus.

    Args:
        raw: the folder below which the sources lie.
        sources: path below ``raw`` by kind: ``stories``, ``dialogues``, ``schemas``, ``connectives``, ``statements``,
            and ``re_mentions`` (by genre), ``texts`` (by language), ``suites`` (a folder of SyntaxGym files).
        metric: of a region; the paper takes the mean.
        drop_last: the paper's count of dialogues, one short.
        lower: articles of Winograd candidates in lower case inside a sentence.
        least: fewest uses of a connective in a sense for which suites are built.
        match_case: of :func:`longform.datasets.test_suites.native.connectives`.

    Raises BadInput: an unknown kind of source, or a file that its reader refuses.
    """
    draws = (seed, name)
    builders: dict[str, Callable[..., Iterator[Suite]]] = {
        "stories": lambda path: _stories(path, draws),
        "dialogues": lambda path: _orders("D", _dialogues(path, drop_last), draws, speakers=True),
        "schemas": lambda path: _schemas(path, draws, lower),
        "re_mentions": lambda **paths: (
            entity_re_mention(f"coreference_{genre}", read_re_mentions(path)) for genre, path in paths.items()
        ),
        "connectives": lambda path: iter(connectives(read_uses(path), "connective_", least, match_case)),
        "statements": lambda path: iter([speaker_commitment("speaker_commitment", read_dialogue_nli(path))]),
        "texts": lambda **paths: _texts(paths, draws),
        "suites": lambda path: (read_suite(file) for file in sorted(path.glob("*.json"))),
    }
    unknown = sorted(sources.keys() - builders.keys())
    if unknown:
        raise BadInput(f"prepare {name}: sources {unknown}; allowed are {sorted(builders)}; fix the entry")
    suites: list[Suite] = []
    for kind, place in sources.items():
        below = {key: raw / value for key, value in place.items()} if isinstance(place, Mapping) else raw / place
        made = builders[kind](**below) if isinstance(below, dict) else builders[kind](below)
        suites += made if kind == "suites" else (checked(replace(suite, metric=metric)) for suite in made)
    return suites_to_corpus(suites, {"excluded": {suite.name: suite.meta.get("excluded", {}) for suite in suites}})


def _orders(
    name: str, texts: Sequence[tuple[str, Sequence[str]]], draws: object, speakers: bool = False
) -> Iterator[Suite]:
    for kind in ("all", "context"):
        yield sentence_order(f"{name}_{kind}", texts, kind, draws, speakers)


def _stories(path: Path, draws: object) -> Iterator[Suite]:
    stories = read_stories(path)
    yield from _orders("N", [(story.story_id, (*story.context, story.right)) for story in stories], draws)
    yield story_cloze("story_cloze", stories)


def _dialogues(path: Path, drop_last: bool) -> list[tuple[str, Sequence[str]]]:
    return [(dialogue.dialogue_id, dialogue.utterances) for dialogue in read_persona_chat(path, drop_last)]


def _schemas(path: Path, draws: object, lower: bool) -> Iterator[Suite]:
    schemas = read_schemas(path)
    return (winograd(f"winograd_{kind}", schemas, kind, draws, lower) for kind in ("full", "partial"))


def _texts(paths: Mapping[str, Path], draws: object) -> Iterator[Suite]:
    for language, path in paths.items():
        lines = [line for line in _lines(path) if line.strip()]
        texts = [(f"{language}-{number}", tuple(sentence_texts(line))) for number, line in enumerate(lines, 1)]
        yield from _orders(language, texts, draws)


@refusing("plain text in UTF-8, one text a line")
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
