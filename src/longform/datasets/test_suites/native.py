"""The seven suites of CoherenceGym, one edit an item, from a folder of sources in their native formats (beyer2021 section 4).

Suites are named as in the paper's tables (``N_all``, ``D_context``, ``winograd_partial``, ``connective_<connective>_<sense>_as_<other>``).
Items that cannot be edited (fewer than two different units to shuffle) are counted in ``meta.excluded`` by reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longform.datasets.coreference import read_re_mentions
from longform.datasets.test_suites import sources as readers
from longform.datasets.test_suites.items import (
    Suite,
    SuiteItem,
    checked,
    pair,
    read_suite,
    suites_to_corpus,
)
from longform.documents import Corpus, grouped
from longform.errors import BadInput
from longform.files.opening import text_lines
from longform.statistics.random_streams import generator
from longform.text.permutations import connective_replaced, context_shuffled, rementioned, shuffled
from longform.text.sentences import sentence_texts

MARK = "[SEP]"
SENTENCES = 5  # of a story in beyer2021 section 4.1 (Story Cloze)
Ordered = tuple[str, Sequence[str]]  # id and units, in their order
CONNECTIVES = (
    "although",
    "as",
    "however",
    "since",
    "though",
    "while",
    "yet",
)  # meanwhile only opens segments


def orders(name: str, texts: Sequence[Ordered], seed: object, mark: str = "") -> Iterator[Suite]:
    """Units (sentences or utterances) in their order against a shuffle of all of them, and of all but the last (section 4.1).

    The permutation depends on the seed and a text's id; ``mark`` stands behind each unit but the last.
    """
    for kind, edit, region in (("all", shuffled, "*"), ("context", context_shuffled, "2")):
        items: list[SuiteItem] = []
        excluded: Counter[str] = Counter()
        for number, (text_id, units) in enumerate(texts, 1):
            try:
                changed, record = edit(units, generator(seed, "sentence order", kind, text_id))
            except BadInput:
                excluded["no other order"] += 1
                continue
            conditions = {
                version: (" ".join(unit + mark for unit in order[:-1]), order[-1])
                for version, order in (("original", units), ("shuffled", changed))
            }
            items.append(pair(number, conditions, [{**record, "source": text_id}]))
        formula = f"({region};%shuffled%) > ({region};%original%)"
        yield _suite(f"{name}_{kind}", formula, items, ["context", "last"], excluded)


def stories(path: Path, seed: object) -> Iterator[Suite]:
    """Orders of sentences, and the right against the wrong ending (section 4.2)."""
    read = readers.read_stories(path)
    yield from orders("N", [(name, (*context, right)) for name, context, right, _ in read], seed)
    items = []
    for number, (name, context, right, wrong) in enumerate(read, 1):
        before = " ".join(context)
        conditions = {"original_ending": (before, right), "distractor_ending": (before, wrong)}
        items.append(pair(number, conditions, [{"kind": "ending", "source": name}]))
    yield _suite(
        "story_cloze", "(2;%distractor_ending%) > (2;%original_ending%)", items, ["story", "ending"]
    )


def winograd(
    name: str, schemas: Iterable[readers.Schema], kind: str, seed: object, lower: bool = True
) -> Suite:
    """The right candidate against the other, judged by the whole text ("full") or by what follows ("partial", section 4.3).

    The seed draws which side is written first, since the source lists the right one first. With ``lower`` articles of
    candidates are in lower case inside a sentence, as printed; without they keep the source's case.
    """
    items = []
    for number, schema in enumerate(schemas, 1):
        candidates = [
            readers.in_sentence_case(c, schema.before) if lower else c for c in schema.candidates
        ]
        sides = {"target": candidates[schema.right], "distractor": candidates[1 - schema.right]}
        first = ("target", "distractor")[
            int(generator(seed, "sides", schema.schema_id).integers(2))
        ]
        ordered = sorted(sides, key=lambda side: side != first)
        conditions = {side: (schema.before, sides[side], schema.after) for side in ordered}
        items.append(
            pair(
                number,
                conditions,
                [{"kind": "candidate", "source": schema.schema_id, "first": first}],
            )
        )
    region = {"full": "*", "partial": "3"}[kind]
    return _suite(
        name,
        f"({region};%distractor%) > ({region};%target%)",
        items,
        ["before", "candidate", "after"],
    )


def re_mentions(genre: str, path: Path) -> Suite:
    """A pronoun against the antecedent's words in its place (section 4.4)."""
    items: list[SuiteItem] = []
    excluded: Counter[str] = Counter()
    for number, m in enumerate(read_re_mentions(path), 1):
        try:
            repeated, edit = rementioned(m.second, m.start, m.end, m.antecedent, m.possessive)
        except BadInput:
            excluded["nothing to replace"] += 1
            continue
        conditions = {"pronoun": (m.first, m.second), "repetition": (m.first, repeated)}
        items.append(pair(number, conditions, [{**edit, "source": m.source}]))
    formula = "(2;%repetition%) > (2;%pronoun%)"
    return _suite(f"coreference_{genre}", formula, items, ["antecedent", "re-mention"], excluded)


def connectives(
    path: Path, least: int, match_case: bool, most: int | None, seed: tuple[object, ...]
) -> Iterator[Suite]:
    """A suite for each connective, sense and replacement: the original against another connective (section 4.5).

    Uses that open their segment are left out, as in the paper; so are senses with fewer than ``least`` uses. With
    ``match_case`` a replacement is capitalised where the original is; without, as in the paper, it is in lower case
    everywhere, so that every use which opens a sentence (all of "However") is also spoilt by its case.
    """
    uses = (
        readers.read_connective_lines(path)
        if path.suffix == ".jsonl"
        else readers.read_disco_annotation(path)
    )
    opening = Counter(use.connective for use in uses if not use.text[: use.start].strip())
    inside = [use for use in uses if use.text[: use.start].strip() and use.text[use.end :].strip()]
    kinds = grouped(
        (use for use in inside if use.connective in CONNECTIVES),
        lambda use: (use.connective, use.sense),
    )
    for (connective, sense), found in sorted(kinds.items()):
        kept = drawn(found, most, (*seed, connective, sense))
        excluded = {"opens its segment": opening[connective]} if opening[connective] else {}
        for other in CONNECTIVES if len(kept) >= least else ():
            if other == connective:
                continue
            items = []
            for number, use in enumerate(kept, 1):
                _, edit = connective_replaced(use.text, use.start, use.end, other, match_case)
                before, after = use.text[: use.start], use.text[use.end :]
                conditions = {
                    "original": (before, edit["old"], after),
                    "manipulated": (before, edit["new"], after),
                }
                items.append(pair(number, conditions, [{**edit, "source": use.use_id}]))
            name, regions = (
                f"connective_{connective}_{sense}_as_{other}",
                ["before", "connective", "continuation"],
            )
            yield _suite(name, "(3;%manipulated%) > (3;%original%)", items, regions, excluded)


def speaker_commitment(path: Path) -> Iterator[Suite]:
    """A contradiction by the same speaker against one by another (section 4.6)."""
    items: list[SuiteItem] = []
    excluded: Counter[str] = Counter()
    for name, first, second, label in readers.read_dialogue_nli(path):
        if label == "negative":
            conditions = {
                "speaker_change": (f"{first} {MARK}", second),
                "same_speaker": (first, second),
            }
            items.append(
                pair(len(items) + 1, conditions, [{"kind": "speaker_change", "source": name}])
            )
        else:
            excluded[f"label {label}"] += 1
    formula = "(2;%same_speaker%) > (2;%speaker_change%)"
    yield _suite("speaker_commitment", formula, items, ["first", "second"], excluded)


def _suite(
    name: str,
    formula: str,
    items: Sequence[SuiteItem],
    regions: Sequence[str],
    excluded: Any = None,
) -> Suite:
    names = {str(number): region for number, region in enumerate(regions, 1)}
    meta = {"reference": "beyer2021", "excluded": dict(excluded or {})}
    return Suite(name, "mean", (formula,), tuple(items), names, meta)


def _lines(path: Path) -> list[str]:
    return [line for line in text_lines(path) if line.strip()]


def _dialogues(path: Path, drop: bool) -> Sequence[Ordered]:
    return (
        readers.read_generated_dialogues(path)
        if path.suffix == ".csv"
        else readers.read_persona_chat(path, drop)
    )


def drawn(texts: Sequence[Any], most: int | None, seed: tuple[object, ...]) -> Sequence[Any]:
    """At most so many of the texts, drawn by seed, in their order."""
    return [
        texts[i] for i in sorted(generator(*seed, "most").permutation(len(texts))[:most].tolist())
    ]


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
    most: int | None = None,
) -> Corpus:
    """Every suite that the sources allow, as one corpus.

    Args:
        sources: path below ``raw`` by kind: ``stories``, ``dialogues``, ``schemas``, ``connectives``, ``statements``,
            ``narration`` (pieces of five sentences, in place of ``stories``), and ``re_mentions`` (by genre), ``texts``
            (by language), ``suites`` (a folder of SyntaxGym files).
        metric: of a region; the paper takes the mean.
        drop_last: the paper's count of dialogues, one short.
        most: dialogues, pieces of narration, or uses of a connective in a sense, drawn by seed where there are more; by default all.
        lower: of :func:`winograd`; ``least`` and ``match_case``: of :func:`connectives`.
    Raises BadInput: an unknown kind of source, or a file that its reader refuses.
    """
    draws = (seed, name)

    def schemas(path: Path) -> Iterator[Suite]:
        read = readers.read_schemas(path)
        return (
            winograd(f"winograd_{kind}", read, kind, draws, lower) for kind in ("full", "partial")
        )

    def texts(paths: Mapping[str, Path]) -> Iterator[Suite]:
        for language, path in paths.items():
            cut = [
                (f"{language}-{i}", sentence_texts(line)) for i, line in enumerate(_lines(path), 1)
            ]
            yield from orders(language, cut, draws)

    builders: dict[str, Callable[[Any], Iterable[Suite]]] = {
        "stories": lambda path: stories(path, draws),
        "dialogues": lambda path: orders(
            "D", drawn(_dialogues(path, drop_last), most, draws), draws, f" {MARK}"
        ),
        "narration": lambda path: orders(
            "N", drawn(readers.read_narration(path, SENTENCES), most, draws), draws
        ),
        "schemas": schemas,
        "re_mentions": lambda paths: (re_mentions(genre, path) for genre, path in paths.items()),
        "connectives": lambda path: connectives(path, least, match_case, most, draws),
        "statements": speaker_commitment,
        "texts": texts,
        "suites": lambda path: (read_suite(file) for file in sorted(path.glob("*.json"))),
    }
    if unknown := sorted(sources.keys() - builders.keys()):
        raise BadInput(
            f"prepare {name}: sources {unknown}; allowed are {sorted(builders)}; fix the entry"
        )
    suites: list[Suite] = []
    for kind, place in sources.items():
        below = (
            {key: raw / value for key, value in place.items()}
            if isinstance(place, Mapping)
            else raw / place
        )
        made = builders[kind](below)
        suites += (
            made if kind == "suites" else (checked(replace(suite, metric=metric)) for suite in made)
        )
    return suites_to_corpus(
        suites, {"excluded": {suite.name: suite.meta.get("excluded", {}) for suite in suites}}
    )
