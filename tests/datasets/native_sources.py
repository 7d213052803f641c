"""Tiny native files of the seven suites, and the suites built from them."""

import json

from longform.datasets.test_suites.items import suites_from_documents
from longform.datasets.test_suites.native import build

STORY_COLUMNS = [
    "InputStoryid", "InputSentence1", "InputSentence2", "InputSentence3", "InputSentence4",
    "RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2", "AnswerRightEnding",
]  # fmt: skip
STORIES = [
    ["s1", "Ann woke up.", "She ate.", 'She said "hi".', "She left.", "She sang.", "She slept.", "2"],
    ["s2", "A dog ran.", "It fell.", "It rose.", "It ran.", "It won.", "It flew.", "1"],
]
DIALOGUES = [
    "1 your persona: i like cats.", "2 partner's persona: i like dogs.",
    "3 hello , how are you ?\ti am fine .\t\tno|i am fine .", "4 good .\tyes .\t\tx|yes .",
    "1 hi .\thi .\t\ta|hi .", "2 hi .\thi .\t\ta|hi .", "1 one\ttwo\t\tc", "2 three\tfour\t\tc",
]  # fmt: skip
STATEMENTS = [
    {"id": "a", "label": "negative", "sentence1": "i am a nurse .", "sentence2": "i am a cook ."},
    {"id": "b", "label": "positive", "sentence1": "i am a nurse .", "sentence2": "i nurse ."},
    {"id": "c", "label": "neutral", "sentence1": "i am a nurse .", "sentence2": "it rains ."},
]
SCHEMA = {
    "id": 0, "sentence": "The city refused the men a permit because [MASK]  feared violence.", "mask": "[MASK]",
    "candidates": ["The city", "The men"], "correct": 0,
}  # fmt: skip
USES = [
    "u1\twhile\tcontrast\tI like tea , while you like coffee .",
    "u2\twhile\tcontrast\tWhile I slept , you worked .",
    "u3\twhile\ttemporal\tA while ago he sang <c>while</c> we danced .",
]


def write_sources(folder):
    stories = "\n".join("\t".join(row) for row in [STORY_COLUMNS, *STORIES])
    (folder / "stories.tsv").write_text(stories + "\n", encoding="utf-8")
    (folder / "dialogues.txt").write_text("\n".join(DIALOGUES) + "\n", encoding="utf-8")
    (folder / "statements.jsonl").write_text(json.dumps(STATEMENTS), encoding="utf-8")
    (folder / "schemas.jsonl").write_text(json.dumps(SCHEMA) + "\n", encoding="utf-8")
    (folder / "uses.tsv").write_text("\n".join(USES) + "\n", encoding="utf-8")
    conll = ["#begin document (d); part 0", *lines("A woman sang .", "(1 1) - -"), "",
             *lines("Then she bowed .", "- (1) - -"), "#end document"]  # fmt: skip
    (folder / "d.conll").write_text("\n".join(conll) + "\n", encoding="utf-8")
    (folder / "zu.txt").write_text("Ka lo. Mi ta. Su re. Do pi.\nKa lo.\n", encoding="utf-8")
    return folder


def lines(words: str, marks: str) -> list[str]:
    return [
        f"d\t0\t{i}\t{word}\t_\t{mark}" for i, (word, mark) in enumerate(zip(words.split(), marks.split(), strict=True))
    ]


SOURCES = {
    "stories": "stories.tsv", "dialogues": "dialogues.txt", "schemas": "schemas.jsonl", "statements": "statements.jsonl",
    "connectives": "uses.tsv", "re_mentions": {"tiny": "d.conll"}, "texts": {"zu": "zu.txt"},
}  # fmt: skip


def build_suites(raw):
    corpus = build(name="row", seed=1, raw=raw, sources=SOURCES)
    return {suite.name: suite for suite in suites_from_documents(corpus.documents, corpus.truth)}
