"""The suites of the default run: texts of the planted world in the formats of published sources.

The readers of the published sources read them. All are from split test, which no model was trained
on. Winograd schemas are cut from stories: the gap stands for the story's thing or its place, each
right equally often; what follows decides: a thing is for sale or lies in the grass, a place is
closed or swept.
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

# the thing and the place of a story, by its opening
CANDIDATES = (
    re.compile(r" (?:wanted|lost) an? \S+ ([a-z]+)(?:\.| near )"),
    re.compile(r"(?:to the ([a-z]+) in |looked behind the ([a-z]+)\.)"),
)
GAP = re.compile(
    r"^The ([a-z]+) ((?:was still for sale|was lying in the grass|was closed that morning"
    r"|had been swept at dawn)\.)$"
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
    """The texts of all source files in their native formats, by the file's name.

    Args:
        seed: of the world.
        counts: the number of stories, dialogues and articles of split test that are used.

    Raises:
        BadInput: counts of other kinds.
    """
    if set(counts) != set(KINDS):
        raise BadInput(
            f"planted suites: counts of {sorted(counts)}, allowed are those of {list(KINDS)}; "
            "fix the entry"
        )
    numbers = {kind: indices({"test": count}) for kind, count in counts.items()}
    # 1. What stories give.
    cloze = ["\t".join(("InputStoryid", *CONTEXT, *ENDINGS, "AnswerRightEnding"))]
    schemas: list[dict[str, object]] = []
    translations = []
    for index in numbers["stories"]:
        story = write_story(seed, index)
        row = (f"planted-{index}", *story.context, *story.endings, str(story.right + 1))
        cloze.append("\t".join(row))
        schemas.extend(_schemas(story))
        translations.append(translated(story_text(story), LANGUAGE))
    # 2. What dialogues give.
    dialogue_lines: list[str] = []
    statements: list[dict[str, str]] = []
    for index in numbers["dialogues"]:
        dialogue = write_dialogue(seed, index)
        dialogue_lines.extend(_dialogue(dialogue))
        statements.extend(_statements(dialogue, seed))
    # 3. What articles give.
    mention_lines: list[str] = []
    connective_lines: list[str] = []
    for index in numbers["articles"]:
        article = write(seed, "wiki", index)
        mention_lines.extend(_conll(article))
        connective_lines.extend(_uses(article))
    return {
        "cloze_test.tsv": _lines(cloze),
        "personachat.txt": _lines(dialogue_lines),
        "dialogue_nli.jsonl": json.dumps(statements),
        "wsc.json": json.dumps(schemas),
        "mentions.conll": _lines(mention_lines),
        "disco.tsv": _lines(connective_lines),
        f"{LANGUAGE}.txt": _lines(translations),
    }


def _lines(lines: Iterable[str]) -> str:
    """A text of lines, each closed by a line break."""
    return "".join(line + "\n" for line in lines)


def _statements(dialogue: Dialogue, seed: int) -> Iterator[dict[str, str]]:
    """Yield records of Dialogue NLI: an utterance, a persona line, and how they relate."""
    for number, (utterance, _, second, label) in enumerate(make_pairs(dialogue, seed)):
        yield {
            "id": f"{dialogue.index}-{number}",
            "label": label,
            "sentence1": utterance,
            "sentence2": second.line,
        }


def story_text(story: Story) -> str:
    """The story with its right ending."""
    return " ".join((*story.context, story.endings[story.right]))


def _dialogue(dialogue: Dialogue) -> Iterator[str]:
    """Yield the lines of a dialogue of PERSONA-CHAT in ParlAI's format.

    The gold answer is the only candidate.
    """
    lines = []
    personas = {"your persona": dialogue.personas[1], "partner's persona": dialogue.personas[0]}
    for whose, facts in personas.items():
        for fact in facts:
            lines.append(f"{whose}: {fact.line}")
    turns = dialogue.turns
    for first, second in zip(turns[::2], turns[1::2], strict=True):
        lines.append(f"{first}\t{second}\t\t{second}")
    for number, line in enumerate(lines, 1):
        yield f"{number} {line}"


def _schemas(story: Story) -> Iterator[dict[str, object]]:
    """Yield a story's Winograd schema as in WSC273: two substituted texts, the right one first.

    The layout is Trinh and Le's. Nothing is yielded for a story without a gap or candidates.
    """
    before = " ".join(story.context[:3])
    gap = GAP.match(story.context[3])
    nouns = set()
    for pattern in CANDIDATES:
        match = pattern.search(before)
        if match:
            nouns.add(next(filter(None, match.groups())))
    if not gap or len(nouns) < len(CANDIDATES):
        return
    for noun in sorted(nouns, key=gap.group(1).__ne__):  # False, the right one, comes first
        yield {
            "question_id": f"planted-{story.index}",
            "substitution": f"{before} The {noun} {gap.group(2)}",
            "correctness": noun == gap.group(1),
        }


def _conll(article: Article) -> Iterator[str]:
    """Yield an article's lines in CoNLL-2012 columns, with its true mention chains.

    Columns are document, part, number and text of a token, none, and mentions: ``(3`` opens one of
    person 3, ``3)`` closes it.
    """
    name = f"planted-{article.index}"
    yield f"#begin document ({name}); part 0"
    for sentence in article.sentences:
        tokens = list(re.finditer(r"[\w'-]+|[^\w\s]", sentence.text))
        marks: list[list[str]] = [[] for _ in tokens]
        # A mention opens at its first token and closes at its last one.
        for mention in sentence.mentions:
            inside = []
            for i, token in enumerate(tokens):
                if mention.start <= token.start() and token.end() <= mention.end:
                    inside.append(i)
            if len(inside) == 1:
                marks[inside[0]].append(f"({mention.person})")
            elif inside:
                marks[inside[0]].append(f"({mention.person}")
                marks[inside[-1]].append(f"{mention.person})")
        for number, token in enumerate(tokens):
            column = "|".join(marks[number]) or "_"
            yield f"{name}\t0\t{number}\t{token.group()}\t_\t{column}"
        yield ""
    yield "#end document"


def _uses(article: Article) -> Iterator[str]:
    """Yield lines of Disco-Annotation: uses of connectives, marked in their sentence.

    A connective that opens its sentence is the word's first use there, another one its last use.
    """
    sentences = article.sentences
    for number, sentence in enumerate(sentences):
        connective = grammar.CONNECTIVES[sentence.connective]
        if not connective:
            continue
        uses = list(re.finditer(rf"\b{connective}\b", sentence.text, re.IGNORECASE))
        if not uses or (sentence.across and number == 0):
            continue
        # An opening one may belong to the sentence before.
        use = uses[-1]
        before = ""
        if sentence.across:
            use = uses[0]
            before = f"{sentences[number - 1].text} "
        head, tail = sentence.text[: use.start()], sentence.text[use.end() :]
        marked = f"{before}{head}<c>{use.group()}</c>{tail}"
        sense = grammar.SENSES[sentence.sense]
        yield f"planted-{article.index}-{number}\t{connective}\t{sense}\t{marked}"


def translated(text: str, language: str) -> str:
    """Translate a text word by word into an invented language.

    Punctuation stays, and sentences still open with a capital.
    """

    def translation(word: re.Match[str]) -> str:
        return translate_word(language, word.group().lower())

    def capitalised(start: re.Match[str]) -> str:
        return start.group(1) + start.group(2).upper()

    words = re.sub(r"[A-Za-z]+", translation, text)
    return re.sub(r"(^|[.!?] )([a-z])", capitalised, words)


def build(
    *,
    name: str,
    seed: int,
    counts: Mapping[str, int],
    metric: str = "mean",
    least: int = 1,
    match_case: bool = False,
) -> Corpus:
    """Build the corpus of all suites from the planted world's test split.

    Args:
        name, seed: of the corpus.
        counts: of stories, dialogues and articles.
        metric, least, match_case: see :func:`native.build`.
    """
    settings: dict[str, Any] = {"metric": metric, "least": least, "match_case": match_case}
    with tempfile.TemporaryDirectory() as folder:
        for file, content in source_files(seed, counts).items():
            (Path(folder) / file).write_text(content, encoding="utf-8")
        return native.build(name=name, seed=seed, raw=Path(folder), sources=SOURCES, **settings)
