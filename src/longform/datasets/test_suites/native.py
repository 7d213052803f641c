"""All suites of a run from a folder of sources in their native formats (beyer2021 section 4).

Suite names are those of the paper's tables: ``N_all``, ``N_context`` (stories), ``D_all``, ``D_context`` (dialogues),
``story_cloze``, ``winograd_full``, ``winograd_partial``, ``coreference_<genre>``, ``connective_<connective>_<sense>_as_<other>``
and ``speaker_commitment``; ``<language>_all`` and ``<language>_context`` for plain texts in other languages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from longform.core.documents import BadInput, Corpus
from longform.core.malformed import refusing
from longform.datasets.test_suites.builders import (
    connectives,
    entity_re_mention,
    sentence_order,
    speaker_commitment,
    story_cloze,
    winograd,
)
from longform.datasets.test_suites.items import Suite, read_suite, suites_to_corpus
from longform.datasets.test_suites.re_mentions import read_re_mentions
from longform.datasets.test_suites.sources import (
    read_dialogue_nli,
    read_persona_chat,
    read_schemas,
    read_stories,
    read_synthetic_persona_chat,
    read_uses,
)
from longform.text.sentences import sentence_texts


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    sources: Mapping[str, str | Mapping[str, str]],
    metric: str = "mean",
    speakers: bool = True,
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
        speakers: ``[SEP]`` between the utterances of a dialogue.
        drop_last: the paper's count of dialogues, one short.
        lower: articles of Winograd candidates in lower case inside a sentence.
        least: fewest uses of a connective in a sense for which suites are built.
        match_case: of :func:`longform.datasets.test_suites.builders.connectives`.

    Raises:
        BadInput: an unknown kind of source, or a file that its reader refuses.
    """
    draws = (seed, name)
    builders: dict[str, Callable[..., Iterator[Suite]]] = {
        "stories": lambda path: _stories(path, draws, metric),
        "dialogues": lambda path: _dialogues(path, draws, metric, speakers, drop_last),
        "schemas": lambda path: _schemas(path, draws, lower, metric),
        "re_mentions": lambda **paths: _re_mentions(paths, metric),
        "connectives": lambda path: iter(connectives(read_uses(path), "connective_", metric, least, match_case)),
        "statements": lambda path: iter([speaker_commitment("speaker_commitment", read_dialogue_nli(path), metric)]),
        "texts": lambda **paths: _texts(paths, draws, metric),
        "suites": lambda path: (read_suite(file) for file in sorted(path.glob("*.json"))),
    }
    unknown = sorted(sources.keys() - builders.keys())
    if unknown:
        raise BadInput(f"prepare {name}: sources {unknown}; allowed are {sorted(builders)}; fix the row")
    suites: list[Suite] = []
    for kind, place in sources.items():
        below = {key: raw / value for key, value in place.items()} if isinstance(place, Mapping) else raw / place
        suites += builders[kind](**below) if isinstance(below, dict) else builders[kind](below)
    return suites_to_corpus(suites, {"excluded": {suite.name: suite.meta.get("excluded", {}) for suite in suites}})


def _orders(
    name: str, texts: Sequence[tuple[str, Sequence[str]]], draws: object, metric: str, speakers: bool = False
) -> Iterator[Suite]:
    for kind in ("all", "context"):
        yield sentence_order(f"{name}_{kind}", texts, kind, draws, speakers, metric)


def _stories(path: Path, draws: object, metric: str) -> Iterator[Suite]:
    stories = read_stories(path)
    yield from _orders("N", [(story.story_id, (*story.context, story.right)) for story in stories], draws, metric)
    yield story_cloze("story_cloze", stories, metric)


def _dialogues(path: Path, draws: object, metric: str, speakers: bool, drop_last: bool) -> Iterator[Suite]:
    dialogues = read_synthetic_persona_chat(path) if path.suffix == ".csv" else read_persona_chat(path, drop_last)
    texts = [(dialogue.dialogue_id, dialogue.utterances) for dialogue in dialogues]
    return _orders("D", texts, draws, metric, speakers)


def _schemas(path: Path, draws: object, lower: bool, metric: str) -> Iterator[Suite]:
    schemas = read_schemas(path)
    return (winograd(f"winograd_{kind}", schemas, kind, draws, lower, metric) for kind in ("full", "partial"))


def _re_mentions(paths: Mapping[str, Path], metric: str) -> Iterator[Suite]:
    for genre, path in paths.items():
        yield entity_re_mention(f"coreference_{genre}", read_re_mentions(path), metric)


def _texts(paths: Mapping[str, Path], draws: object, metric: str) -> Iterator[Suite]:
    """Order suites of plain texts, one a line."""
    for language, path in paths.items():
        lines = [line for line in _lines(path) if line.strip()]
        texts = [(f"{language}-{number}", tuple(sentence_texts(line))) for number, line in enumerate(lines, 1)]
        yield from _orders(language, texts, draws, metric)


@refusing("plain text in UTF-8, one text a line")
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
