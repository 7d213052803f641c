"""The seven suites of CoherenceGym, one edit an item (beyer2021 section 4).

They are made from a folder of sources in their native formats. Suites are named as in the paper's
tables (``N_all``, ``D_context``, ``winograd_partial``,
``connective_<connective>_<sense>_as_<other>``). Items that cannot be edited (fewer than two
different units to shuffle) are counted in ``meta.excluded`` by reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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

MARK = "[SEP]"  # between speakers
NARRATIVES, DIALOGUES = "N", "D"  # in the names of suites, as in beyer2021's tables
SENTENCES = 5  # of a story in beyer2021 section 4.1 (Story Cloze)
Ordered = tuple[str, Sequence[str]]  # id and units, in their order
# meanwhile only opens segments
CONNECTIVES = ("although", "as", "however", "since", "though", "while", "yet")


def orders(name: str, texts: Sequence[Ordered], seed: object, mark: str = "") -> Iterator[Suite]:
    """Two suites: the original order against a shuffle of all units, or of all but the last.

    (beyer2021 section 4.1.) An item passes where the shuffled version has the higher surprisal: as
    a whole, or in its last unit alone.

    Args:
        name: of the suites, which add ``_all`` and ``_context`` to it.
        texts: id and units (sentences or utterances) of each.
        seed: the permutation depends on it and a text's id.
        mark: stands behind each unit but the last.
    """
    # Region "*" is the whole text, region 2 the last unit.
    for kind, edit, region in (("all", shuffled, "*"), ("context", context_shuffled, "2")):
        items: list[SuiteItem] = []
        excluded: Counter[str] = Counter()
        for number, (text_id, units) in enumerate(texts, 1):
            rng = generator(seed, "sentence order", kind, text_id)
            try:
                changed, record = edit(units, rng)
            except BadInput:
                excluded["no other order"] += 1
                continue
            conditions = {
                "original": _context_and_last(units, mark),
                "shuffled": _context_and_last(changed, mark),
            }
            items.append(pair(number, conditions, [{**record, "source": text_id}]))
        formula = f"({region};%shuffled%) > ({region};%original%)"
        yield _suite(f"{name}_{kind}", formula, items, ["context", "last"], excluded)


def _context_and_last(units: Sequence[str], mark: str) -> tuple[str, str]:
    """All units but the last, each with the mark behind it, and the last."""
    return " ".join(unit + mark for unit in units[:-1]), units[-1]


def stories(path: Path, seed: object) -> Iterator[Suite]:
    """Suites of Story Cloze: orders of sentences, and the right against the wrong ending.

    (beyer2021 sections 4.1 and 4.2.)

    Args:
        path: for :func:`.sources.read_stories`.
        seed: of the orders.
    """
    rows = readers.read_stories(path)
    texts = [(name, (*context, right)) for name, context, right, _ in rows]
    yield from orders(NARRATIVES, texts, seed)
    items = []
    for number, (name, context, right, wrong) in enumerate(rows, 1):
        before = " ".join(context)
        conditions = {"original_ending": (before, right), "distractor_ending": (before, wrong)}
        items.append(pair(number, conditions, [{"kind": "ending", "source": name}]))
    # Region 2 is the ending; a model passes where the wrong one is more surprising.
    formula = "(2;%distractor_ending%) > (2;%original_ending%)"
    yield _suite("story_cloze", formula, items, ["story", "ending"])


def winograd(
    name: str, schemas: Iterable[readers.Schema], kind: str, seed: object, lower: bool = True
) -> Suite:
    """A suite of the right candidate in a schema against the other (beyer2021 section 4.3).

    Args:
        name: of the suite.
        schemas: its items.
        kind: what is judged: the whole text ("full"), or what follows the candidate ("partial").
        seed: draws which side is written first, since the source lists the right one first.
        lower: whether articles of candidates are in lower case inside a sentence, as printed;
            without they keep the source's case.
    """
    items = []
    for number, schema in enumerate(schemas, 1):
        candidates = list(schema.candidates)
        if lower:
            candidates = [readers.in_sentence_case(text, schema.before) for text in candidates]
        sides = {"target": candidates[schema.right], "distractor": candidates[1 - schema.right]}
        order = ["target", "distractor"]
        if generator(seed, "sides", schema.schema_id).integers(2) == 1:
            order.reverse()
        conditions = {side: (schema.before, sides[side], schema.after) for side in order}
        edit = {"kind": "candidate", "source": schema.schema_id, "first": order[0]}
        items.append(pair(number, conditions, [edit]))
    region = {"full": "*", "partial": "3"}[kind]
    formula = f"({region};%distractor%) > ({region};%target%)"
    return _suite(name, formula, items, ["before", "candidate", "after"])


def re_mentions(genre: str, path: Path) -> Suite:
    """A suite of a pronoun against its antecedent's words in its place (beyer2021 section 4.4).

    Args:
        genre: of the texts, which names the suite.
        path: for :func:`longform.datasets.coreference.read_re_mentions`.
    """
    items = []
    excluded: Counter[str] = Counter()
    for number, mention in enumerate(read_re_mentions(path), 1):
        first, second = mention.first, mention.second
        try:
            repeated, edit = rementioned(
                second,
                start=mention.start,
                end=mention.end,
                antecedent=mention.antecedent,
                possessive=mention.possessive,
            )
        except BadInput:
            excluded["nothing to replace"] += 1
            continue
        conditions = {"pronoun": (first, second), "repetition": (first, repeated)}
        items.append(pair(number, conditions, [{**edit, "source": mention.source}]))
    # Region 2 is the sentence with the pronoun.
    formula = "(2;%repetition%) > (2;%pronoun%)"
    return _suite(f"coreference_{genre}", formula, items, ["antecedent", "re-mention"], excluded)


def connectives(
    path: Path,
    least: int,
    match_case: bool,
    most: int | None,
    seed: tuple[object, ...],
    replaced: Sequence[str] = CONNECTIVES,
) -> Iterator[Suite]:
    """Suites of a connective against another: one for each connective, sense and replacement.

    (beyer2021 section 4.5.)

    Uses that open their segment are left out, as in the paper.

    Args:
        path: JSON lines (``.jsonl``), a folder in the Penn Discourse Treebank's format, or
            Disco-Annotation.
        least: uses that a connective must have in a sense; else that sense is left out.
        match_case: whether a replacement is capitalised where the original is. Without, as in the
            paper, it is in lower case everywhere, so that every use which opens a sentence (all of
            "However") is also spoilt by its case.
        most: uses of a connective in a sense that are taken, drawn where there are more.
        seed: of that draw.
        replaced: the connectives whose uses are taken.
    """
    # 1. Uses inside their segments, by connective and sense.
    if path.is_dir():
        uses = readers.read_discourse_treebank(path)
    elif path.suffix == ".jsonl":
        uses = readers.read_connective_lines(path)
    else:
        uses = readers.read_disco_annotation(path)
    opening = Counter[str]()
    inside = []
    for use in uses:
        if not use.text[: use.start].strip():
            opening[use.connective] += 1
        elif use.text[use.end :].strip() and use.connective in replaced:
            inside.append(use)
    uses_of = grouped(inside, lambda use: (use.connective, use.sense))
    # 2. A suite for each replacement of each.
    for (connective, sense), uses_of_sense in sorted(uses_of.items()):
        chosen = sample(uses_of_sense, most, (*seed, connective, sense))
        if len(chosen) < least:
            continue
        excluded = {"opens its segment": opening[connective]} if opening[connective] else {}
        for other in CONNECTIVES:
            if other == connective:
                continue
            yield _suite(
                f"connective_{connective}_{sense}_as_{other}",
                "(3;%manipulated%) > (3;%original%)",
                _connective_items(chosen, other, match_case),
                ["before", "connective", "continuation"],
                excluded,
            )


def _connective_items(
    uses: Sequence[readers.ConnectiveUse], other: str, match_case: bool
) -> list[SuiteItem]:
    """Items of each use: the text as it is against the text with another connective."""
    items = []
    for number, use in enumerate(uses, 1):
        _, edit = connective_replaced(use.text, use.start, use.end, other, match_case)
        before, after = use.text[: use.start], use.text[use.end :]
        conditions = {
            "original": (before, edit["old"], after),
            "manipulated": (before, edit["new"], after),
        }
        items.append(pair(number, conditions, [{**edit, "source": use.use_id}]))
    return items


def speaker_commitment(path: Path) -> Iterator[Suite]:
    """A suite of a contradiction by the same speaker against one by another.

    (beyer2021 section 4.6.) Pairs that do not contradict are left out.
    """
    items: list[SuiteItem] = []
    excluded: Counter[str] = Counter()
    for name, first, second, label in readers.read_dialogue_nli(path):
        if label != "negative":
            excluded[f"label {label}"] += 1
            continue
        conditions = {
            "speaker_change": (f"{first} {MARK}", second),
            "same_speaker": (first, second),
        }
        edit = {"kind": "speaker_change", "source": name}
        items.append(pair(len(items) + 1, conditions, [edit]))
    formula = "(2;%same_speaker%) > (2;%speaker_change%)"
    yield _suite("speaker_commitment", formula, items, ["first", "second"], excluded)


def _suite(
    name: str,
    formula: str,
    items: Sequence[SuiteItem],
    regions: Sequence[str],
    excluded: Mapping[str, int] | None = None,
) -> Suite:
    """A suite of one prediction, ``formula``.

    ``regions`` are the regions' names from number 1 on, ``excluded`` counts items that could not be
    made, by reason.
    """
    names = {str(number): region for number, region in enumerate(regions, 1)}
    meta = {"reference": "beyer2021", "excluded": dict(excluded or {})}
    return Suite(
        name,
        metric="mean",
        predictions=(formula,),
        items=tuple(items),
        region_names=names,
        meta=meta,
    )


def _dialogues(path: Path, drop_last: bool) -> Sequence[Ordered]:
    """Dialogues of Synthetic-Persona-Chat (a ``.csv`` file) or of PERSONA-CHAT."""
    if path.suffix == ".csv":
        return readers.read_generated_dialogues(path)
    return readers.read_persona_chat(path, drop_last)


def sample(texts: Sequence[Any], most: int | None, seed: tuple[object, ...]) -> Sequence[Any]:
    """At most ``most`` of the texts (None: all), drawn by seed, in their order."""
    order = generator(*seed, "most").permutation(len(texts))
    return [texts[number] for number in sorted(order[:most].tolist())]


@dataclass(frozen=True)
class _Builders:
    """Methods that make suites of each kind of source; a method has the name of its kind.

    Attributes:
        draws: name the random draws: seed and name of the corpus.
        min_uses, max_texts: ``least`` and ``most`` of :func:`build`; the others are called alike.
    """

    draws: tuple[object, ...]
    drop_last: bool
    lower: bool
    match_case: bool
    min_uses: int
    max_texts: int | None
    replaced: Sequence[str]

    def stories(self, path: Path) -> Iterable[Suite]:
        return stories(path, self.draws)

    def dialogues(self, path: Path) -> Iterable[Suite]:
        texts = sample(_dialogues(path, self.drop_last), self.max_texts, self.draws)
        return orders(DIALOGUES, texts, self.draws, f" {MARK}")

    def narration(self, path: Path) -> Iterable[Suite]:
        pieces = readers.read_narration(path, SENTENCES)
        texts = sample(pieces, self.max_texts, self.draws)
        return orders(NARRATIVES, texts, self.draws)

    def schemas(self, path: Path) -> Iterable[Suite]:
        schemas = readers.read_schemas(path)
        for kind in ("full", "partial"):
            yield winograd(
                f"winograd_{kind}", schemas, kind=kind, seed=self.draws, lower=self.lower
            )

    def re_mentions(self, paths: Mapping[str, Path]) -> Iterable[Suite]:
        for genre, path in paths.items():
            yield re_mentions(genre, path)

    def connectives(self, path: Path) -> Iterable[Suite]:
        return connectives(
            path,
            least=self.min_uses,
            match_case=self.match_case,
            most=self.max_texts,
            seed=self.draws,
            replaced=self.replaced,
        )

    def statements(self, path: Path) -> Iterable[Suite]:
        return speaker_commitment(path)

    def texts(self, paths: Mapping[str, Path]) -> Iterable[Suite]:
        for language, path in paths.items():
            texts = []
            for number, line in enumerate(filter(str.strip, text_lines(path)), 1):
                texts.append((f"{language}-{number}", sentence_texts(line)))
            yield from orders(language, texts, self.draws)

    def suites(self, path: Path) -> Iterable[Suite]:
        return map(read_suite, sorted(path.glob("*.json")))


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
    replaced: Sequence[str] | None = None,
) -> Corpus:
    """Every suite that the sources allow, as one corpus.

    Args:
        name: of the corpus; the draws depend on it.
        seed: of the draws.
        raw: the folder of the sources.
        sources: path below ``raw`` by kind: ``stories``, ``dialogues``, ``schemas``,
            ``connectives``, ``statements``, ``narration`` (pieces of five sentences, in place of
            ``stories``), and ``re_mentions`` (by genre), ``texts`` (by language), ``suites`` (a
            folder of SyntaxGym files, which keep their metric).
        metric: of a region; the paper takes the mean.
        drop_last: the paper's count of dialogues, one short.
        lower: of :func:`winograd`.
        least, match_case: of :func:`connectives`.
        replaced: of :func:`connectives`; by default all of the paper's.
        most: dialogues, pieces of narration, or uses of a connective in a sense, drawn by seed
            where there are more; by default all.

    Raises BadInput: an unknown kind of source, or a file that its reader refuses.
    """
    builders = _Builders(
        draws=(seed, name),
        drop_last=drop_last,
        lower=lower,
        match_case=match_case,
        min_uses=least,
        max_texts=most,
        replaced=replaced or CONNECTIVES,
    )
    builder_of: dict[str, Callable[[Any], Iterable[Suite]]] = {
        "stories": builders.stories,
        "dialogues": builders.dialogues,
        "narration": builders.narration,
        "schemas": builders.schemas,
        "re_mentions": builders.re_mentions,
        "connectives": builders.connectives,
        "statements": builders.statements,
        "texts": builders.texts,
        "suites": builders.suites,
    }
    # Refuse unknown kinds of sources before any file is read.
    unknown = sorted(sources.keys() - builder_of.keys())
    if unknown:
        raise BadInput(
            f"prepare {name}: sources {unknown}; allowed are {sorted(builder_of)}; fix the entry"
        )
    suites: list[Suite] = []
    for kind, source in sources.items():
        path_or_paths: Any
        if isinstance(source, Mapping):
            path_or_paths = {key: raw / value for key, value in source.items()}
        else:
            path_or_paths = raw / source
        for suite in builder_of[kind](path_or_paths):
            if kind != "suites":
                suite = checked(replace(suite, metric=metric))
            suites.append(suite)
    excluded = {suite.name: suite.meta.get("excluded", {}) for suite in suites}
    return suites_to_corpus(suites, {"excluded": excluded})
