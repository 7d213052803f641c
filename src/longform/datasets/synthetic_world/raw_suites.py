"""The native files of the suites' sources, filled with planted items; each function returns lines or records."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from longform.datasets.synthetic_world import discourse
from longform.datasets.synthetic_world.articles import Article
from longform.datasets.synthetic_world.claims import REFUTED, SUPPORTED, LabelledClaim
from longform.datasets.synthetic_world.dialogues import SMALL_TALK, Dialogue, Pair
from longform.datasets.synthetic_world.draws import Draws
from longform.datasets.synthetic_world.grammar import Sentence
from longform.datasets.synthetic_world.mentions import GENDER_OF, GENDERS, MALE
from longform.datasets.synthetic_world.ratings import Rated
from longform.datasets.synthetic_world.stories import Story
from longform.resampling import generator

CLOZE_HEADER = ("InputStoryid", "InputSentence1", "InputSentence2", "InputSentence3", "InputSentence4",
                "RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2", "AnswerRightEnding")  # fmt: skip
GAP_HEADER = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL")
GCDC_HEADER = ("text_id", "text", "ratingA1", "ratingA2", "ratingA3", "labelA")
FEVER_LABELS = {SUPPORTED: "SUPPORTS", REFUTED: "REFUTES"}
CANDIDATES = 20  # of a PERSONA-CHAT turn; the last one is what was said


def table(header: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str) -> str:
    """Rows as delimited text with a header, quoted where needed."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def story_cloze(stories: Iterable[Story], delimiter: str = "\t") -> str:
    """The Story Cloze test file: four sentences, two endings, and the right one's number (1 or 2)."""
    rows = [(f"planted-{s.index}", *s.context, *s.endings, s.right + 1) for s in stories]
    return table(CLOZE_HEADER, rows, delimiter)


def roc_stories(stories: Iterable[Story]) -> str:
    """The ROCStories training file: title and five sentences."""
    header = ("storyid", "storytitle", *(f"sentence{i}" for i in range(1, 6)))
    rows = [(f"planted-{s.index}", f"Story {s.index}", *s.context, s.endings[s.right]) for s in stories]
    return table(header, rows, ",")


def persona_chat(dialogues: Sequence[Dialogue], seed: int) -> str:
    """PERSONA-CHAT's both_original text: numbered lines, personas first, then two utterances and candidates a line."""
    lines = []
    for dialogue in dialogues:
        draws = Draws(generator("planted", "candidates", seed, dialogue.index))
        first, second = ([fact.line for fact in persona] for persona in dialogue.personas)
        rows = [f"your persona: {line}" for line in second] + [f"partner's persona: {line}" for line in first]
        for said, answer in zip(dialogue.turns[::2], dialogue.turns[1::2], strict=True):
            wrong = [draws.pick(draws.pick(dialogues).turns) for _ in range(CANDIDATES - 1)]
            spare = [text for text in SMALL_TALK if text != answer]
            others = [text if text != answer else draws.pick(spare) for text in wrong]
            rows.append("\t".join((said, answer, "", "|".join([*others, answer]))))
        lines += [f"{number} {row}" for number, row in enumerate(rows, 1)]
    return "\n".join(lines) + "\n"


def dialogue_nli(pairs: Iterable[Pair]) -> str:
    """DialogueNLI: one JSON array, although its file is named jsonl."""
    records = [
        {
            "id": f"planted-{number}",
            "label": pair.label,
            "sentence1": pair.utterance,
            "sentence2": pair.line,
            "triple1": ["i", pair.facts[0].attribute, pair.facts[0].value],
            "triple2": ["i", pair.facts[1].attribute, pair.facts[1].value],
            "dtype": "up",
        }
        for number, pair in enumerate(pairs)
    ]
    return json.dumps(records)


def gap(articles: Iterable[Article]) -> str:
    """GAP's TSV: a pronoun and two persons of its gender, one of whom it means, with character offsets.

    Two adjacent sentences are taken where the pronoun follows two persons of its gender named in full.
    """
    rows: list[tuple[object, ...]] = []
    for article in articles:
        for text, pronoun, names in _ambiguous(article):
            (a, a_at, a_is), (b, b_at, b_is) = names
            rows.append((f"planted-{len(rows)}", text, *pronoun, a, a_at, str(a_is).upper(), b, b_at, str(b_is).upper(),
                         f"http://planted.example/{article.index}"))  # fmt: skip
    return table(GAP_HEADER, rows, "\t")


def _ambiguous(article: Article) -> Iterator[tuple[str, tuple[str, int], list[tuple[str, int, bool]]]]:
    for _, sentences in article.sections:
        for first, second in pairwise(sentences):
            text, shift = f"{first.text} {second.text}", len(first.text) + 1
            names = [m for m in first.mentions if m.tag in GENDERS[:2]]
            pronoun = next((m for m in second.mentions if m.tag not in GENDERS), None)
            if len(names) != 2 or pronoun is None or {m.tag for m in names} != {GENDER_OF[pronoun.tag]}:
                continue
            if names[0].person == names[1].person or pronoun.person not in (names[0].person, names[1].person):
                continue
            shown = [(text[m.start : m.end], m.start, m.person == pronoun.person) for m in names]
            yield text, (second.text[pronoun.start : pronoun.end], shift + pronoun.start), shown


def mmax_like(articles: Iterable[Article]) -> list[dict[str, object]]:
    """Re-mention items as ARRAU gives them: tokens, sentence spans, and markables with a coreference set."""
    return [_mmax_record(article) for article in articles]


def _mmax_record(article: Article) -> dict[str, object]:
    words: list[str] = []
    sentences, markables = [], []
    for sentence in article.sentences:
        begin, starts = len(words), {}
        position = 0
        for token in [*sentence.text[:-1].replace(",", " ,").split(), "."]:
            position = sentence.text.index(token, position)
            starts[position] = len(words)
            words.append(token)
            position += len(token)
        sentences.append([begin, len(words) - 1])
        for mention in sentence.mentions:
            size = len(sentence.text[mention.start : mention.end].split())
            at = starts[mention.start]
            markables.append({
                "span": [at, at + size - 1],
                "coref_set": f"set_{mention.person}",
                "reference": "new" if mention.tag in GENDERS else "old",
                "pronoun": mention.tag not in GENDERS,
            })  # fmt: skip
    return {"document": f"planted-{article.index}", "words": words, "sentences": sentences, "markables": markables}


def disco_annotation(articles: Iterable[Article]) -> dict[str, str]:
    """Annotated segments by connective: ``sense``, a tab and the segment with the connective in capitals."""
    lines: dict[str, list[str]] = {name: [] for name in discourse.CONNECTIVES[1:]}
    for article in articles:
        for _, sentences in article.sections:
            for before, sentence in zip([None, *sentences], sentences, strict=False):
                if sentence.connective:
                    name, sense = discourse.CONNECTIVES[sentence.connective], discourse.SENSES[sentence.sense]
                    lines[name].append(f"{sense}\t{_segment(before.text if before else '', sentence, name)}")
    return {name: "\n".join(rows) + "\n" for name, rows in lines.items() if rows}


def _segment(before: str, sentence: Sentence, name: str) -> str:
    if sentence.across:
        return f"{before} {name.upper()}{sentence.text[len(name) :]}"
    head, _, tail = sentence.text.rpartition(f" {name} ")
    return f"{head} {name.upper()} {tail}"


WINOGRAD = (  # a sentence with a gap, the two candidates' slots, and which one is right
    ("{a} could not lift the {thing} of {b} because {} was too weak .", 0),
    ("{a} could not lift {b} because {} was too heavy .", 1),
    ("{a} asked {b} for the {thing} because {} had lost the old one .", 0),
    ("{a} asked {b} for the {thing} because {} had bought two of them .", 1),
    ("{a} thanked {b} because {} had found the {thing} .", 1),
    ("{a} thanked {b} after {} had been given the {thing} .", 0),
)


def winograd(articles: Sequence[Article], count: int, seed: int) -> list[dict[str, object]]:
    """Records of WSC273's JSON: two in a row belong together, one per candidate."""
    people = [pair for a in articles if len(pair := [p.full for p in a.cast if p.gender == MALE][:2]) == 2]
    things = [word for a in articles for s in a.sentences for slot, word, *_ in s.words if slot == "thing"]
    records: list[dict[str, object]] = []
    for number in range(count):
        draws = Draws(generator("planted", "winograd", seed, number))
        text, right = WINOGRAD[number % len(WINOGRAD)]
        persons, thing = draws.pick(people), draws.pick(things)
        for choice in (0, 1) if draws.uniform() < 0.5 else (1, 0):
            filled = text.replace("{}", persons[choice]).format(a=persons[0], b=persons[1], thing=thing)
            records.append({"question_id": number, "substitution": filled, "correctness": choice == right})
    return records


def gcdc(rated: Iterable[Rated]) -> str:
    """GCDC's CSV: text, three experts' marks of 1 to 3, and the label of their mean."""
    rows = []
    for version in rated:
        marks = [1 + (int(m) - 1) * 3 // 7 for m in version.marks[:3]]
        mean = sum(marks) / 3
        text = version.document.text
        rows.append((version.document.id, text, *marks, 1 if mean <= 1.8 else 2 if mean <= 2.2 else 3))
    return table(GCDC_HEADER, rows, ",")


def fever_claims(claims: Iterable[LabelledClaim]) -> Iterator[str]:
    """FEVER's claim lines: id, label, claim, and evidence as lists of [annotation, evidence, page, line]."""
    for number, claim in enumerate(claims):
        label = FEVER_LABELS.get(claim.verdict.label, "NOT ENOUGH INFO")
        sets = [[[number, number, fever_title(page), line]] for page, line in sorted(claim.verdict.evidence)]
        yield json.dumps({
            "id": number, "verifiable": "VERIFIABLE" if sets else "NOT VERIFIABLE", "label": label, "claim": claim.text,
            "evidence": sets or [[[number, None, None, None]]],
        })  # fmt: skip


def fever_pages(articles: Iterable[Article]) -> Iterator[str]:
    """FEVER's wiki pages: id, text, and numbered lines with a tab."""
    for article in articles:
        lines = "\n".join(f"{i}\t{s.text}" for i, s in enumerate(article.sentences))
        text = " ".join(s.text for s in article.sentences)
        yield json.dumps({"id": fever_title(article.title), "text": text, "lines": lines})


def fever_title(title: str) -> str:
    """FEVER's spelling of a title: blanks, brackets and colons rewritten."""
    spelt = title.replace(" ", "_").replace("(", "-LRB-").replace(")", "-RRB-")
    return spelt.replace(":", "-COLON-").replace("[", "-LSB-").replace("]", "-RSB-")
