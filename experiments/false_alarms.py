"""How often does ``longform criticize`` call human texts different from human texts, and does it see a damage? By critic.

    PYTHONPATH=src python experiments/false_alarms.py --data ../shared/data --trials 1000 --minutes 15

A trial draws texts of one collection at random and halves them at random: one half is the real side, the other the generated one.
Three kinds:

- *halves*: nothing is done; every difference that is called one is a false alarm.
- *unequal*: one side, drawn at random, is cut to its first half or quarter, and again nothing differs but length. Beside it the
  alarms of a comparison that does not cut both sides to equal lengths (``uncut``).
- *damaged*: the generated side has the damage that the critic is meant for; what is called a difference is its power.

p below 0.05 by one critic alone is an alarm. Texts are cut to their first ``SENTENCES`` sentences, so that a trial is quick; a run
that was stopped, or whose minutes are over, goes on where it was. Counts go to a JSON file, their table into a page.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

from longform.criticize.judging import ComparedTexts, judge
from longform.criticize.lengths import MEASURES, EqualLengths, Excerpt, equal_lengths
from longform.criticize.panels import Options, Panel, panels
from longform.critics.coreference.person_mentions import FIRST_NAMES
from longform.datasets import text_files, wikisection
from longform.documents import Document, Section
from longform.errors import BadInput
from longform.files.artefacts import read_json, write_json
from longform.statistics.random_streams import generator
from longform.text.sentences import sentences

SENTENCES = 16  # of each text
TEXTS = 96  # of a trial, as many as HANNA has human stories
SHARES = (0.5, 0.25)  # of a text that is left where lengths are unequal
ALARM = 0.05
PERMUTATIONS = 500  # a halving; p is told from 0.05 well enough
KINDS = ("halves", "unequal", "uncut", "damaged")
FEWER = {"uncut": 10, "damaged": 10}  # one trial in so many
CITIES = "wikisection_city/wikisection_withSections.test.txt"
STORIES = "hanna/hanna_llm_stories.csv"
ELSEWHERE = {
    "section order": "cities",
    "persons": "stories",
}  # where a critic is tried if it does not apply to a draw
OUT = Path("experiments/matrix/measured/false_alarms.json")
PAGE = Path("docs/false_alarms.md")
BEGIN, END = "<!-- false alarms -->", "<!-- end -->"

# its rate was the one whose interval began above 5 % after 1,000 trials, so it was tried on draws of other numbers
AGAIN = ("shared nouns", "unequal")
AGAIN_FROM = 5000
HUMAN = "-human"
COLLECTIONS = ("cities", "stories", "both")

Draw = np.random.Generator
Rows = list[list[str]]  # sentences of each text


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help=f"folder with {CITIES} and {STORIES}")
    parser.add_argument(
        "--trials", type=int, default=1000, help="halves, and as many of unequal lengths (1000)"
    )
    parser.add_argument("--minutes", type=float, default=15.0, help="of work before it stops (15)")
    parser.add_argument(
        "--again", type=int, default=0, help=f"further trials of {' at '.join(AGAIN)} lengths"
    )
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    record = read_json(given.out) if given.out.is_file() else {"done": {}, "counts": {}}
    if given.data is not None:
        cities, stories = _cities(given.data), _stories(given.data)
        collections = {
            "cities": cities,
            "stories": stories,
            "both": [*stories, *cities[: len(stories)]],
        }
        run(collections, record, given.trials, given.minutes, given.out)
        if given.again:
            record["again"] = {AGAIN[0]: again(collections, given.again)}
            write_json(given.out, record)
    text = given.page.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    given.page.write_text(
        f"{head}{BEGIN}\n{table(record)}{END}{rest.partition(END)[2]}", encoding="utf-8"
    )
    print(table(record))


def _cities(data: Path) -> list[Document]:
    """WikiSection's cities (Arnold et al. 2019), with section titles."""
    return [
        _first(document)
        for document in wikisection.build(name="cities", seed=1, raw=data / CITIES).documents
    ]


def _stories(data: Path) -> list[Document]:
    """HANNA's human stories (Chhun et al. 2022)."""
    documents = text_files.hanna(name="stories", seed=1, raw=data / STORIES).documents
    return [_first(document) for document in documents if document.id.endswith(HUMAN)]


def _first(document: Document) -> Document:
    """Its first ``SENTENCES`` sentences."""
    return _cut(replace(document, split="test"), SENTENCES)


def _cut(document: Document, limit: int) -> Document:
    sections = []
    for section in document.sections:
        spans = sentences(section.text)[: max(limit, 0)]
        limit -= len(spans)
        if spans:
            sections.append(replace(section, text=section.text[: spans[-1][1]]))
    return replace(document, sections=tuple(sections))


def run(
    collections: Mapping[str, Sequence[Document]],
    record: dict[str, Any],
    trials: int,
    minutes: float,
    out: Path,
) -> None:
    """Count alarms, a trial of every kind and collection after another, until the time is over or all are done."""
    started = time.monotonic()
    critics = quick_panels()
    for number in range(trials):
        before = dict(record["done"])
        for kind in KINDS:
            every = FEWER.get(kind, 1)
            if number % every or record["done"].get(kind, 0) * every > number:
                continue
            name = COLLECTIONS[number // every % len(COLLECTIONS)]
            verdicts = trial(collections[name], kind, critics, number)
            _count(record, name, kind, verdicts)
            by_name = {panel.name: panel for panel in critics}
            for critic, place in ELSEWHERE.items():
                if critic not in verdicts and name != place:
                    _count(
                        record,
                        place,
                        kind,
                        trial(collections[place], kind, [by_name[critic]], number),
                    )
            if kind == "damaged":
                for critic in STRANGERS:
                    _count(
                        record,
                        "cities",
                        kind,
                        {critic: strangers(collections, by_name[critic], number)},
                    )
            record["done"][kind] = number // every + 1
        if record["done"] == before:
            continue
        seconds = time.monotonic() - started
        if number % 20 == 19 or number + 1 == trials or seconds > 60 * minutes:
            write_json(out, record)
            print(f"trial {number + 1} of {trials}: {seconds:.0f} s", flush=True)
        if seconds > 60 * minutes:
            break


def again(collections: Mapping[str, Sequence[Document]], trials: int) -> list[int]:
    """(alarms, trials) of the critic and kind in ``AGAIN``, on draws that the run did not have."""
    critic, kind = AGAIN
    critics = [panel for panel in quick_panels() if panel.name == critic]
    alarms = 0
    for number in range(AGAIN_FROM, AGAIN_FROM + trials):
        documents = collections[COLLECTIONS[number % len(COLLECTIONS)]]
        alarms += trial(documents, kind, critics, number)[critic]
    return [alarms, trials]


def _count(
    record: dict[str, Any], collection: str, kind: str, verdicts: Mapping[str, bool]
) -> None:
    """Add the verdicts of a trial to the counts of (alarms, trials)."""
    for critic, verdict in verdicts.items():
        counts = record["counts"].setdefault(critic, {}).setdefault(f"{collection} {kind}", [0, 0])
        counts[0] += int(verdict)
        counts[1] += 1


def quick_panels() -> list[Panel]:
    """The critics without a network; they mark nothing, and read each text once where each is read by itself."""
    kept: dict[Any, dict[tuple[str, str], Any]] = {}
    critics = []
    for panel in panels(Options(packaged=False)):
        if panel.absent:
            continue
        if panel.learns == "predictions" or panel.measure == "sections":
            critics.append(replace(panel, spans=None))
        else:
            own = kept.setdefault(panel.reader, {})  # critics of nouns read alike
            critics.append(
                replace(panel, spans=None, reader=partial(_read_once, panel.reader, own))
            )
    return critics


def _read_once(
    read: Callable[[Sequence[Excerpt]], list[Any]],
    kept: dict[tuple[str, str], Any],
    documents: Sequence[Excerpt],
) -> list[Any]:
    new = {(d.id, d.text): d for d in documents if (d.id, d.text) not in kept}
    if new:
        kept.update(zip(new, read(list(new.values())), strict=True))
    return [replace(kept[d.id, d.text], split=d.split) for d in documents]


def trial(
    documents: Sequence[Document], kind: str, critics: Sequence[Panel], number: int
) -> dict[str, bool]:
    """Whether each critic that applies calls the two sides different."""
    rng = generator("false alarms", kind, number, documents[0].id)
    if kind != "damaged":
        real, others = random_halves(documents, TEXTS, rng)
        if kind in ("unequal", "uncut"):
            real, others = one_side_cut(real, others, rng)
        texts = compared(real, others, equal=kind != "uncut")
        verdicts = {panel.name: alarm(panel, texts, number) for panel in critics}
    else:
        verdicts = {}
        for panel in critics:
            if panel.name in DAMAGES:
                damage = DAMAGES[panel.name][1]
                real, others = random_halves(documents, DAMAGED_TEXTS.get(panel.name, TEXTS), rng)
                verdicts[panel.name] = alarm(
                    panel, compared(real, damage(others, rng), equal=True), number
                )
    return {name: verdict for name, verdict in verdicts.items() if verdict is not None}


def random_halves(
    documents: Sequence[Document], count: int, rng: Draw
) -> tuple[list[Document], list[Document]]:
    """So many texts at random: one half as the real side, the other as the generated one."""
    chosen = [documents[row] for row in rng.permutation(len(documents))[:count]]
    middle = len(chosen) // 2
    return chosen[middle:], [replace(document, split="generated") for document in chosen[:middle]]


def one_side_cut(
    real: list[Document], others: list[Document], rng: Draw
) -> tuple[list[Document], list[Document]]:
    """One side, drawn at random, is cut to one of ``SHARES`` of each text."""
    share = SHARES[int(rng.integers(len(SHARES)))]
    if rng.random() < 0.5:
        return [_share(document, share) for document in real], others
    return real, [_share(document, share) for document in others]


def alarm(panel: Panel, texts: ComparedTexts, number: int) -> bool | None:
    """Whether a critic calls the sides different; None where it does not apply to these texts."""
    try:
        judged = judge(panel, texts, number, 2, PERMUTATIONS)
    except BadInput:
        return None
    return judged.difference.p_value < ALARM


def strangers(collections: Mapping[str, Sequence[Document]], panel: Panel, number: int) -> bool:
    """Whether a critic tells cities with a story in them, or stories in their place, from cities."""
    rng = generator("strangers", panel.name, number)
    count = STRANGERS[panel.name][1]
    chosen = [
        collections["cities"][row] for row in rng.permutation(len(collections["cities"]))[:count]
    ]
    stories = [
        collections["stories"][row]
        for row in rng.permutation(len(collections["stories"]))[: count // 3]
    ]
    others = [replace(document, split="generated") for document in chosen[: len(stories)]]
    if panel.name == "topics":
        damaged = [replace(document, split="generated") for document in stories]
    else:
        mixed = []
        for city, story in zip(_rows(others), _rows(stories), strict=True):
            mixed.append(
                [story[i % len(story)] if i % 2 else sentence for i, sentence in enumerate(city)]
            )
        damaged = _rewritten(others, mixed)
    texts = compared(chosen[len(stories) :], damaged, equal=True)
    return judge(panel, texts, number, 2, PERMUTATIONS).difference.p_value < ALARM


def _share(document: Document, share: float) -> Document:
    count = sum(len(sentences(section.text)) for section in document.sections)
    return _cut(document, max(1, round(share * count)))


def compared(
    real: Sequence[Document], generated: Sequence[Document], *, equal: bool
) -> ComparedTexts:
    """The sides as ``criticize`` compares them; the collections hold no copies, so that none are looked for."""
    sides = tuple(real), tuple(generated)
    numbers = {document.id: number for number, document in enumerate([*sides[0], *sides[1]])}
    lengths: dict[str, EqualLengths] = {}
    for measure in MEASURES:
        lengths[measure] = (
            equal_lengths(*sides, measure) if equal else _as_they_are(*sides, measure)
        )
    return ComparedTexts(*sides, numbers, lengths)


def _as_they_are(
    real: Sequence[Document], generated: Sequence[Document], measure: Any
) -> EqualLengths:
    sides = [tuple(Excerpt(d.id, d.split, d.sections) for d in side) for side in (real, generated)]
    return EqualLengths(measure, sides[0], sides[1], (0, 0))


def section_shuffles(documents: Sequence[Document], rng: Draw) -> list[Document]:
    """Sections in a random order."""
    return [
        replace(d, sections=tuple(d.sections[i] for i in rng.permutation(len(d.sections))))
        for d in documents
    ]


def sentence_shuffles(documents: Sequence[Document], rng: Draw) -> list[Document]:
    """Sentences in a random order."""
    return _rewritten(
        documents, [list(rng.permutation(np.array(row, dtype=object))) for row in _rows(documents)]
    )


def dealt_sentences(documents: Sequence[Document], rng: Draw) -> list[Document]:
    """Each sentence from another text, at its place."""
    rows = _rows(documents)
    for place in range(max(map(len, rows))):
        there = [row for row in rows if len(row) > place]
        dealt = [there[i][place] for i in rng.permutation(len(there))]
        for row, sentence in zip(there, dealt, strict=True):
            row[place] = sentence
    return _rewritten(documents, rows)


def repeated_sentences(documents: Sequence[Document], rng: Draw) -> list[Document]:
    """One sentence in eight is an earlier one again."""
    rows = _rows(documents)
    for row in rows:
        for place in range(1, len(row)):
            if rng.random() < 1 / 8:
                row[place] = row[int(rng.integers(place))]
    return _rewritten(documents, rows)


def mixed_halves(documents: Sequence[Document], rng: Draw) -> list[Document]:
    """The second half from a text of the other collection; where there is one collection, from another text."""
    rows = _rows(documents)
    stories = [document.id.endswith(HUMAN) for document in documents]
    mixed = []
    for row, story in zip(rows, stories, strict=True):
        others = [other for other, own in zip(rows, stories, strict=True) if own != story] or rows
        other = others[int(rng.integers(len(others)))]
        mixed.append(row[: len(row) // 2] + other[len(other) // 2 :])
    return _rewritten(documents, mixed)


def names_for_pronouns(documents: Sequence[Document], rng: Draw) -> list[Document]:
    """A first name at random for each third-person pronoun: persons are never referred to again."""
    names = sorted(FIRST_NAMES)

    def other(_: re.Match[str]) -> str:
        return names[int(rng.integers(len(names)))].capitalize()

    damaged = []
    for document in documents:
        sections = [
            replace(section, text=PRONOUNS.sub(other, section.text))
            for section in document.sections
        ]
        damaged.append(replace(document, sections=tuple(sections)))
    return damaged


PRONOUNS = re.compile(r"\b(?:[Hh]e|[Ss]he|[Hh]im|[Hh]is|[Hh]er)\b")


DAMAGES: Mapping[str, tuple[str, Callable[[Sequence[Document], Draw], list[Document]]]] = {
    "section order": ("sections shuffled", section_shuffles),
    "persons": ("a name at random for each pronoun", names_for_pronouns),
    "entity grid": ("each sentence from another text", dealt_sentences),
    "shared nouns": ("each sentence from another text", dealt_sentences),
    "repetition": ("one sentence in eight repeated", repeated_sentences),
    "kept topics": (
        "second half from a text of the other collection, or another text",
        mixed_halves,
    ),
}


# damages by texts of the other collection: what is done, and texts of the trial (topics want many to learn from)
DAMAGED_TEXTS = {"kept topics": 192}  # of a trial with a damage, where more than ``TEXTS``
STRANGERS = {
    "topics": ("stories in place of cities", 288),
    "related nouns (LSA)": ("every second sentence from a story", TEXTS),
}


def _rows(documents: Sequence[Document]) -> Rows:
    return [[s.text[a:b] for s in d.sections for a, b in sentences(s.text)] for d in documents]


def _rewritten(documents: Sequence[Document], rows: Rows) -> list[Document]:
    return [
        replace(d, sections=(Section(None, " ".join(row)),))
        for d, row in zip(documents, rows, strict=True)
    ]


def interval(hits: int, trials: int) -> tuple[float, float]:
    """Exact 95 % interval of a rate (Clopper and Pearson 1934)."""
    low = float(beta.ppf(0.025, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, trials - hits)) if hits < trials else 1.0
    return low, high


def rate(
    record: Mapping[str, Any], critic: str, kind: str, collection: str = ""
) -> tuple[int, int]:
    """Alarms and trials of a critic, in one collection or in all."""
    cells = [
        counts
        for key, counts in record["counts"].get(critic, {}).items()
        if key.endswith(kind) and key.startswith(collection)
    ]
    return sum(cell[0] for cell in cells), sum(cell[1] for cell in cells)


def table(record: Mapping[str, Any]) -> str:
    """Markdown: rates in percent with exact 95 % intervals; power in each collection."""
    lines = [
        "| critic | random halves | unequal lengths | not cut | damage | power: cities | stories | both |",
        "|---|---|---|---|---|---|---|---|",
    ]
    damages = {critic: damage for critic, (damage, _) in DAMAGES.items()}
    damages |= {critic: damage for critic, (damage, _) in STRANGERS.items()}
    for critic in (name for name in damages if name in record["counts"]):
        cells = [_percent(*rate(record, critic, kind)) for kind in ("halves", "unequal", "uncut")]
        power = [_percent(*rate(record, critic, "damaged", name)) for name in COLLECTIONS]
        lines.append(f"| {' | '.join([critic, *cells, damages[critic], *power])} |")
    done = record["done"]
    trials = f"{done['halves']} random halves, {done['unequal']} of unequal lengths, {done['uncut']} not cut"
    lines += ["", f"Trials: {trials}, {done['damaged']} with a damage."]
    for critic, counts in record.get("again", {}).items():
        lines.append(
            f"{critic.capitalize()} at {AGAIN[1]} lengths, {counts[1]} further draws: {_percent(*counts)}."
        )
    return "\n".join(lines) + "\n"


def _percent(hits: int, trials: int) -> str:
    if not trials:
        return "not tried"
    low, high = interval(hits, trials)
    return f"{100 * hits / trials:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


if __name__ == "__main__":
    main()
