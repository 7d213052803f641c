"""The suites of the default run: sources of the planted world in their native formats, read by the very readers of real ones.

All from split test, which no model has met. Winograd schemas are cut from stories: the gap stands for the story's thing or its place,
each right equally often, and what follows decides: one is for sale or lies in the grass, the other is closed or swept.
"""

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from longform.datasets.test_suites import native
from longform.datasets.test_suites.sources import CONTEXT, ENDINGS
from longform.documents import Corpus
from longform.errors import BadInput
from synthetic_world import grammar
from synthetic_world.articles import Article, write
from synthetic_world.corpus import indices
from synthetic_world.languages import translate_word
from synthetic_world.stories import Dialogue, Story, make_pairs, write_dialogue, write_story

CANDIDATES = (  # the thing and the place of a story, by its opening
    re.compile(r" (?:wanted|lost) an? \S+ ([a-z]+)(?:\.| near )"),
    re.compile(r"(?:to the ([a-z]+) in |looked behind the ([a-z]+)\.)"),
)
GAP = re.compile(
    r"^The ([a-z]+) ((?:was still for sale|was lying in the grass|was closed that morning|had been swept at dawn)\.)$"
)
KINDS = ("stories", "dialogues", "articles")
LANGUAGE = "kothic"  # the planted language whose word order is furthest from English
SOURCES: Mapping[str, str | Mapping[str, str]] = {
    "stories": "cloze_test.tsv",
    "dialogues": "personachat.txt",
    "schemas": "wsc.json",
    "re_mentions": {"planted": "mentions.conll"},
    "connectives": "disco.tsv",
    "statements": "dialogue_nli.jsonl",
    "texts": {LANGUAGE: f"{LANGUAGE}.txt"},
}


def source_files(seed: int, counts: Mapping[str, int]) -> dict[str, str]:
    """Native files by name; ``counts`` says how many stories, dialogues and articles of split test they draw on."""
    if set(counts) != set(KINDS):
        raise BadInput(
            f"planted suites: counts of {sorted(counts)}, allowed are those of {list(KINDS)}; fix the entry"
        )
    numbers = {kind: indices({"test": count}) for kind, count in counts.items()}
    stories = [write_story(seed, index) for index in numbers["stories"]]
    dialogues = [write_dialogue(seed, index) for index in numbers["dialogues"]]
    articles = [write(seed, "wiki", index) for index in numbers["articles"]]
    cloze = [("InputStoryid", *CONTEXT, *ENDINGS, "AnswerRightEnding")]
    cloze += [(f"planted-{s.index}", *s.context, *s.endings, str(s.right + 1)) for s in stories]
    statements = [
        {
            "id": f"{dialogue.index}-{place}",
            "label": label,
            "sentence1": said,
            "sentence2": second.line,
        }
        for dialogue in dialogues
        for place, (said, _, second, label) in enumerate(make_pairs(dialogue, seed))
    ]
    return {
        "cloze_test.tsv": _lines("\t".join(row) for row in cloze),
        "personachat.txt": _lines(line for dialogue in dialogues for line in _dialogue(dialogue)),
        "dialogue_nli.jsonl": json.dumps(statements),
        "wsc.json": json.dumps([schema for story in stories for schema in _schemas(story)]),
        "mentions.conll": _lines(line for article in articles for line in _conll(article)),
        "disco.tsv": _lines(line for article in articles for line in _uses(article)),
        f"{LANGUAGE}.txt": _lines(translated(story_text(story), LANGUAGE) for story in stories),
    }


def _lines(lines: Iterable[str]) -> str:
    return "".join(line + "\n" for line in lines)


def story_text(story: Story) -> str:
    """The story with its right ending."""
    return " ".join((*story.context, story.endings[story.right]))


def _dialogue(dialogue: Dialogue) -> Iterator[str]:
    """PERSONA-CHAT in ParlAI's format, with the gold answer as the only candidate."""
    personas = [("your persona", dialogue.personas[1]), ("partner's persona", dialogue.personas[0])]
    lines = [f"{whose}: {fact.line}" for whose, facts in personas for fact in facts]
    turns = dialogue.turns
    lines += [
        f"{first}\t{second}\t\t{second}"
        for first, second in zip(turns[::2], turns[1::2], strict=True)
    ]
    yield from (f"{number} {line}" for number, line in enumerate(lines, 1))


def _schemas(story: Story) -> Iterator[dict[str, object]]:
    """Trinh and Le's layout: two substituted texts, the right one first, as in WSC273."""
    before = " ".join(story.context[:3])
    gap = GAP.match(story.context[3])
    nouns = {
        next(filter(None, match.groups()))
        for pattern in CANDIDATES
        if (match := pattern.search(before))
    }
    if gap and len(nouns) == len(CANDIDATES):
        for noun in sorted(nouns, key=gap.group(1).__ne__):
            text = f"{before} The {noun} {gap.group(2)}"
            yield {
                "question_id": f"planted-{story.index}",
                "substitution": text,
                "correctness": noun == gap.group(1),
            }


def _conll(article: Article) -> Iterator[str]:
    """Sentences and gold mention chains in CoNLL-2012 columns."""
    name = f"planted-{article.index}"
    yield f"#begin document ({name}); part 0"
    for sentence in article.sentences:
        tokens = list(re.finditer(r"[\w'-]+|[^\w\s]", sentence.text))
        marks: list[list[str]] = [[] for _ in tokens]
        for m in sentence.mentions:
            inside = [
                i
                for i, token in enumerate(tokens)
                if m.start <= token.start() and token.end() <= m.end
            ]
            if len(inside) == 1:
                marks[inside[0]].append(f"({m.person})")
            elif inside:
                marks[inside[0]].append(f"({m.person}")
                marks[inside[-1]].append(f"{m.person})")
        for number, (token, found) in enumerate(zip(tokens, marks, strict=True)):
            yield f"{name}\t0\t{number}\t{token.group()}\t_\t{'|'.join(found) or '_'}"
        yield ""
    yield "#end document"


def _uses(article: Article) -> Iterator[str]:
    """Disco-Annotation: a connective is the first word of a sentence that it opens, in another the last use of the word."""
    sentences = article.sentences
    for place, sentence in enumerate(sentences):
        connective = grammar.CONNECTIVES[sentence.connective]
        uses = (
            list(re.finditer(rf"\b{connective}\b", sentence.text, re.IGNORECASE))
            if connective
            else []
        )
        if uses and (place or not sentence.across):
            use = uses[0] if sentence.across else uses[-1]
            before = f"{sentences[place - 1].text} " if sentence.across else ""
            marked = (
                f"{sentence.text[: use.start()]}<c>{use.group()}</c>{sentence.text[use.end() :]}"
            )
            yield f"planted-{article.index}-{place}\t{connective}\t{grammar.SENSES[sentence.sense]}\t{before}{marked}"


def translated(text: str, language: str) -> str:
    """A text word by word in an invented language; punctuation stays, sentences still open with a capital."""
    words = re.sub(r"[A-Za-z]+", lambda word: translate_word(language, word.group().lower()), text)
    return re.sub(
        r"(^|[.!?] )([a-z])", lambda start: start.group(1) + start.group(2).upper(), words
    )


def build(
    *,
    name: str,
    seed: int,
    counts: Mapping[str, int],
    metric: str = "mean",
    least: int = 1,
    match_case: bool = False,
) -> Corpus:
    """All suites from ``counts`` stories, dialogues and articles of the planted world's test split; see :func:`native.build`."""
    settings: dict[str, Any] = {"metric": metric, "least": least, "match_case": match_case}
    with tempfile.TemporaryDirectory() as place:
        for file, content in source_files(seed, counts).items():
            (Path(place) / file).write_text(content, encoding="utf-8")
        return native.build(name=name, seed=seed, raw=Path(place), sources=SOURCES, **settings)
