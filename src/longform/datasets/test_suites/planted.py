"""The suites of the default run: sources of the planted world in their native formats, read by the very readers of real ones.

All from split test, which no model has met. Winograd schemas are cut from stories: the gap stands for the story's thing or its place,
each right equally often, and what follows decides: one is for sale or lies in the grass, the other is closed or swept.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from longform.core.documents import BadInput, Corpus
from longform.datasets.synthetic_world import grammar
from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.corpus import indices
from longform.datasets.synthetic_world.languages import translate_word
from longform.datasets.synthetic_world.mentions import OBJECT, POSSESSIVE, SUBJECT
from longform.datasets.synthetic_world.stories import Dialogue, Story, make_pairs, write_dialogue, write_story
from longform.datasets.test_suites import native
from longform.datasets.test_suites.sources import CONTEXT, ENDINGS

PRONOUNS = {form.lower() for forms in (SUBJECT, OBJECT, POSSESSIVE) for form in forms.values()}
CANDIDATES = [  # the thing and the place of a story, by its opening
    re.compile(pattern)
    for pattern in (
        r" (?:wanted|lost) an? \S+ ([a-z]+)(?:\.| near )",
        r"(?:to the ([a-z]+) in |looked behind the ([a-z]+)\.)",
    )
]
GAP = re.compile(
    r"^The ([a-z]+) ((?:was still for sale|was lying in the grass|was closed that morning|had been swept at dawn)\.)$"
)
KINDS = ("stories", "dialogues", "articles")
LANGUAGE = "kothic"  # the planted language whose word order is furthest from English


def source_files(seed: int, counts: Mapping[str, int], language: str = LANGUAGE) -> dict[str, str]:
    """Native files by name; ``counts`` says how many stories, dialogues and articles of split test they draw on."""
    if set(counts) != set(KINDS):
        raise BadInput(f"planted suites: counts of {sorted(counts)}, allowed are those of {list(KINDS)}; fix the entry")
    numbers = {kind: indices({"test": count}) for kind, count in counts.items()}
    stories = [write_story(seed, index) for index in numbers["stories"]]
    dialogues = [write_dialogue(seed, index) for index in numbers["dialogues"]]
    articles = [write(seed, "wiki", index) for index in numbers["articles"]]
    schemas = [schema for story in stories for schema in _schemas(story)]
    return {
        "cloze_test.tsv": story_file(stories),
        "personachat.txt": "".join(line + "\n" for dialogue in dialogues for line in dialogue_lines(dialogue)),
        "dialogue_nli.jsonl": json.dumps([row for dialogue in dialogues for row in _statements(dialogue, seed)]),
        "wsc.json": json.dumps(schemas),
        "mentions.conll": "".join(conll(article) for article in articles),
        "disco.tsv": "".join(line + "\n" for article in articles for line in _uses(article)),
        f"{language}.txt": "".join(translated(story_text(story), language) + "\n" for story in stories),
    }


def story_text(story: Story) -> str:
    """The story with its right ending."""
    return " ".join((*story.context, story.endings[story.right]))


def story_file(stories: Sequence[Story]) -> str:
    """The Story Cloze test's columns, tab-separated."""
    rows = [("InputStoryid", *CONTEXT, *ENDINGS, "AnswerRightEnding")]
    rows += [(f"planted-{s.index}", *s.context, *s.endings, str(s.right + 1)) for s in stories]
    return "".join("\t".join(row) + "\n" for row in rows)


def dialogue_lines(dialogue: Dialogue) -> Iterator[str]:
    """PERSONA-CHAT in ParlAI's format, with the gold answer as the only candidate."""
    personas = [("your persona", dialogue.personas[1]), ("partner's persona", dialogue.personas[0])]
    lines = [f"{whose}: {fact.line}" for whose, facts in personas for fact in facts]
    turns = dialogue.turns
    lines += [f"{first}\t{second}\t\t{second}" for first, second in zip(turns[::2], turns[1::2], strict=True)]
    yield from (f"{number} {line}" for number, line in enumerate(lines, 1))


def _statements(dialogue: Dialogue, seed: int) -> Iterator[dict[str, str]]:
    for place, pair in enumerate(make_pairs(dialogue, seed)):
        yield {
            "id": f"{dialogue.index}-{place}",
            "label": pair.label,
            "sentence1": pair.utterance,
            "sentence2": pair.line,
        }


def _schemas(story: Story) -> Iterator[dict[str, object]]:
    """Trinh and Le's layout: two substituted texts, the right one first, as in WSC273."""
    last, before = story.context[3], story.context[:3]
    gap = GAP.match(last)
    found = [pattern.search(" ".join(before)) for pattern in CANDIDATES]
    nouns = {next(filter(None, match.groups())) for match in found if match}
    if gap is None or len(nouns) < len(CANDIDATES):
        return
    for candidate in sorted(nouns, key=gap.group(1).__ne__):  # the right one first
        text = " ".join((*before, f"The {candidate} {gap.group(2)}"))
        yield {"question_id": f"planted-{story.index}", "substitution": text, "correctness": candidate == gap.group(1)}


def conll(article: Article) -> str:
    """Sentences and gold mention chains in CoNLL-2012 columns."""
    name = f"planted-{article.index}"
    lines = [f"#begin document ({name}); part 0"]
    for sentence in article.sentences:
        lines += [*_conll_sentence(name, sentence), ""]
    return "\n".join([*lines, "#end document"]) + "\n"


def _conll_sentence(name: str, sentence: object) -> Iterator[str]:
    tokens = list(re.finditer(r"[\w'-]+|[^\w\s]", sentence.text))  # type: ignore[attr-defined]
    marks: list[list[str]] = [[] for _ in tokens]
    for mention in sentence.mentions:  # type: ignore[attr-defined]
        inside = [i for i, token in enumerate(tokens) if mention.start <= token.start() and token.end() <= mention.end]
        if not inside:
            continue
        if len(inside) == 1:
            marks[inside[0]].append(f"({mention.person})")
            continue
        marks[inside[0]].append(f"({mention.person}")
        marks[inside[-1]].append(f"{mention.person})")
    for number, (token, found) in enumerate(zip(tokens, marks, strict=True)):
        yield f"{name}\t0\t{number}\t{token.group()}\t_\t{'|'.join(found) or '_'}"


def _uses(article: Article) -> Iterator[str]:
    texts = [sentence.text for sentence in article.sentences]
    for place, sentence in enumerate(article.sentences):
        connective = grammar.CONNECTIVES[sentence.connective]
        if not connective or (sentence.across and not place):
            continue
        before = f"{texts[place - 1]} " if sentence.across else ""
        marked = _marked(sentence.text, connective, sentence.across)
        if marked:
            yield f"planted-{article.index}-{place}\t{connective}\t{grammar.SENSES[sentence.sense]}\t{before}{marked}"


def _marked(text: str, connective: str, across: bool) -> str | None:
    """The use in angle brackets: the first word of a sentence that it opens, the last use of the word in another."""
    uses = list(re.finditer(rf"\b{connective}\b", text, re.IGNORECASE))
    if not uses:
        return None
    use = uses[0] if across else uses[-1]
    return f"{text[: use.start()]}<c>{use.group()}</c>{text[use.end() :]}"


def translated(text: str, language: str) -> str:
    """A text word by word in an invented language; punctuation stays, sentences still open with a capital."""
    words = re.sub(r"[A-Za-z]+", lambda word: translate_word(language, word.group().lower()), text)
    return re.sub(r"(^|[.!?] )([a-z])", lambda start: start.group(1) + start.group(2).upper(), words)


SOURCES: Mapping[str, str | Mapping[str, str]] = {
    "stories": "cloze_test.tsv",
    "dialogues": "personachat.txt",
    "schemas": "wsc.json",
    "re_mentions": {"planted": "mentions.conll"},
    "connectives": "disco.tsv",
    "statements": "dialogue_nli.jsonl",
    "texts": {LANGUAGE: f"{LANGUAGE}.txt"},
}


def build(
    *, name: str, seed: int, counts: Mapping[str, int], metric: str = "mean", least: int = 1, match_case: bool = False
) -> Corpus:
    """All suites from ``counts`` stories, dialogues and articles of the planted world's test split.

    Args:
        metric, least, match_case: of :func:`longform.datasets.test_suites.native.build`.
    """
    with tempfile.TemporaryDirectory() as folder:
        for file, content in source_files(seed, counts).items():
            (Path(folder) / file).write_text(content, encoding="utf-8")
        return native.build(
            name=name, seed=seed, raw=Path(folder), sources=SOURCES, metric=metric, least=least, match_case=match_case
        )
