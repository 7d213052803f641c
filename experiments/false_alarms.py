"""How often does ``longform criticize`` call human texts different from human texts? By critic.

    PYTHONPATH=src python experiments/false_alarms.py --data FOLDER --trials 1000

A trial draws texts of one collection at random and halves them at random: one half is the real
side, the other the generated one. Four kinds:

- *halves*: nothing is done; every difference that is called one is a false alarm.
- *unequal*: one side, drawn at random, is cut to its first half or quarter, and again nothing
  differs but length.
- *uncut*: the same, by a comparison that does not cut both sides to equal lengths.
- *damaged*: the generated side has the damage that the critic is meant for; what is called a
  difference is its power.

p below 0.05 by one critic alone is an alarm. Texts are cut to their first ``SENTENCES`` sentences,
so that a trial is quick; a run that was stopped, or whose minutes are over, goes on where it was.
Counts go to a JSON file, their table into a page.
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
RESAMPLES = 2  # for intervals, which no trial uses
PERMUTATIONS = 500  # of a test; enough to tell p from 0.05
KINDS = ("halves", "unequal", "uncut", "damaged")
FEWER = {"uncut": 10, "damaged": 10}  # tried only where the trial's number is a multiple of this
CITIES = "wikisection_city/wikisection_withSections.test.txt"
STORIES = "hanna/hanna_llm_stories.csv"
# The collection in which a critic is tried where it does not apply to the one whose turn it is.
ELSEWHERE = {"section order": "cities", "persons": "stories"}
OUT = Path("experiments/matrix/measured/false_alarms.json")
PAGE = Path("docs/false_alarms.md")
BEGIN, END = "<!-- false alarms -->", "<!-- end -->"
# Critic and kind whose interval alone began above 5 % after 1,000 trials; so it was tried again, on
# draws whose numbers begin at AGAIN_FROM.
AGAIN = ("shared nouns", "unequal")
AGAIN_FROM = 5000
HUMAN = "-human"  # end of the id of a human story in HANNA
COLLECTIONS = ("cities", "stories", "both")

PRONOUNS = re.compile(r"\b(?:[Hh]e|[Ss]he|[Hh]im|[Hh]is|[Hh]er)\b")

Documents = Sequence[Document]
Collections = Mapping[str, Documents]
Rng = np.random.Generator
Rows = list[list[str]]  # sentences of each text


def arguments() -> argparse.ArgumentParser:
    """The command line; without ``--data`` no trial is run and the table alone is written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help=f"folder with {CITIES} and {STORIES}")
    trials = "trials of halves, and as many of unequal lengths (1000)"
    parser.add_argument("--trials", type=int, default=1000, help=trials)
    parser.add_argument("--minutes", type=float, default=15.0, help="stop after so many (15)")
    critic, kind = AGAIN
    again = f"further trials of the critic {critic} at {kind} lengths (0)"
    parser.add_argument("--again", type=int, default=0, help=again)
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file of the counts")
    parser.add_argument("--page", type=Path, default=PAGE, help="page with the table")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Go on with the trials where there are data, and write the table into the page."""
    options = arguments().parse_args(argv)
    record = read_json(options.out) if options.out.is_file() else {"done": {}, "counts": {}}
    if options.data is not None:
        collections = read_collections(options.data)
        run(collections, record, options.trials, options.minutes, options.out)
        if options.again:
            record["again"] = {AGAIN[0]: again(collections, options.again)}
            write_json(options.out, record)
    # The table stands between two comments of the page.
    before, _, after = options.page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = after.partition(END)
    rates = table(record)
    text = f"{before}{BEGIN}\n{rates}{END}{after}"
    options.page.write_text(text, encoding="utf-8")
    print(rates)


def read_collections(data: Path) -> Collections:
    """WikiSection's cities (Arnold et al. 2019), HANNA's human stories (Chhun et al. 2022), both.

    Texts are cut to their first sentences; cities have section titles.
    """
    cities = []
    for document in wikisection.build(name="cities", seed=1, raw=data / CITIES).documents:
        cities.append(_first(document))
    stories = []
    for document in text_files.hanna(name="stories", seed=1, raw=data / STORIES).documents:
        if document.id.endswith(HUMAN):
            stories.append(_first(document))
    return {"cities": cities, "stories": stories, "both": [*stories, *cities[: len(stories)]]}


def _first(document: Document) -> Document:
    """The first ``SENTENCES`` sentences of a document, which goes to the real side (split test)."""
    return _cut(replace(document, split="test"), SENTENCES)


def _cut(document: Document, limit: int) -> Document:
    """A document's first sentences, as many as ``limit``, in their sections."""
    sections = []
    for section in document.sections:
        spans = sentences(section.text)[: max(limit, 0)]
        limit -= len(spans)
        if spans:
            sections.append(replace(section, text=section.text[: spans[-1][1]]))
    return replace(document, sections=tuple(sections))


def run(
    collections: Collections, record: dict[str, Any], trials: int, minutes: float, out: Path
) -> None:
    """Count alarms until the time is over or all trials are done.

    Args:
        collections: texts by collection.
        record: changed in place. ``done``: trials by kind; ``counts``: by critic and
            ``"<collection> <kind>"`` the list [alarms, trials].
        trials: of random halves.
        minutes: after which it stops.
        out: where the record is saved.
    """
    start = time.monotonic()
    critics = {panel.name: panel for panel in quick_panels()}
    for number in range(trials):
        # A trial of every kind that is due.
        waiting = [kind for kind in KINDS if _is_due(record, kind, number)]
        for kind in waiting:
            count_trial(collections, record, kind, critics, number)
        # Save now and then.
        seconds = time.monotonic() - start
        is_over = seconds > 60 * minutes
        if waiting and (number % 20 == 19 or number + 1 == trials or is_over):
            write_json(out, record)
            print(f"trial {number + 1} of {trials}: {seconds:.0f} s", flush=True)
        if waiting and is_over:
            break


def _is_due(record: Mapping[str, Any], kind: str, number: int) -> bool:
    """Whether the trial with this number is one of the kind's trials and is not done yet."""
    every = FEWER.get(kind, 1)  # done counts the kind's own trials, one in so many numbers
    return number % every == 0 and record["done"].get(kind, 0) * every <= number


def count_trial(
    collections: Collections,
    record: dict[str, Any],
    kind: str,
    critics: Mapping[str, Panel],
    number: int,
) -> None:
    """Run the trial of a kind with this number on the collection whose turn it is.

    Its verdicts are added to ``record``, as :func:`run` describes it.
    """
    turn = number // FEWER.get(kind, 1)
    name = COLLECTIONS[turn % len(COLLECTIONS)]
    verdicts = trial(collections[name], kind, list(critics.values()), number)
    _count(record, name, kind, verdicts)
    # Critics that do not apply to this collection.
    for critic, other in ELSEWHERE.items():
        if critic not in verdicts and name != other:
            elsewhere = trial(collections[other], kind, [critics[critic]], number)
            _count(record, other, kind, elsewhere)
    # Critics whose damage takes stories into cities: those of STRANGERS.
    if kind == "damaged":
        for critic in STRANGERS:
            verdict = strangers(collections, critics[critic], number)
            _count(record, "cities", kind, {critic: verdict})
    record["done"][kind] = turn + 1


def again(collections: Collections, trials: int) -> list[int]:
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
    """Add one trial's verdicts by critic (whether it raised an alarm) to ``record["counts"]``."""
    for critic, verdict in verdicts.items():
        cells = record["counts"].setdefault(critic, {})
        counts = cells.setdefault(f"{collection} {kind}", [0, 0])
        counts[0] += int(verdict)
        counts[1] += 1


def quick_panels() -> list[Panel]:
    """The critics of ``longform criticize`` that need no network, without their marks in texts.

    Trials draw the same texts over and over: a critic that reads each text by itself reads it once
    and takes the predictions from a cache, which critics with the same reader share.
    """
    caches: dict[Any, dict[tuple[str, str], Any]] = {}
    critics = []
    for panel in panels(Options(packaged=False)):
        if panel.absent:
            continue
        quick = replace(panel, spans=None)
        if panel.learns != "predictions" and panel.measure != "sections":
            cache = caches.setdefault(panel.reader, {})
            quick = replace(quick, reader=partial(_read_once, panel.reader, cache))
        critics.append(quick)
    return critics


def _read_once(
    read: Callable[[Sequence[Excerpt]], list[Any]],
    cache: dict[tuple[str, str], Any],
    documents: Sequence[Excerpt],
) -> list[Any]:
    """Predictions of a reader for documents, in their order and with their splits.

    Args:
        read: the reader.
        cache: its predictions by (id, text); those of new texts are added.
        documents: the texts.
    """
    new = {}
    for document in documents:
        key = document.id, document.text
        if key not in cache:
            new[key] = document
    if new:
        cache.update(zip(new, read(list(new.values())), strict=True))
    predictions = []
    for document in documents:
        cached = cache[document.id, document.text]
        predictions.append(replace(cached, split=document.split))
    return predictions


def trial(
    documents: Documents, kind: str, critics: Sequence[Panel], number: int
) -> dict[str, bool]:
    """Whether each critic calls the two sides of a trial different, by critic.

    A critic that does not apply to these texts is left out. ``number`` seeds the draw and tests.
    """
    rng = generator("false alarms", kind, number, documents[0].id)
    if kind == "damaged":
        return damaged_trial(documents, critics, number, rng)
    real, others = random_halves(documents, TEXTS, rng)
    if kind in ("unequal", "uncut"):
        real, others = one_side_cut(real, others, rng)
    texts = compared(real, others, equal=kind != "uncut")
    verdicts = {}
    for panel in critics:
        verdict = alarm(panel, texts, number)
        if verdict is not None:
            verdicts[panel.name] = verdict
    return verdicts


def damaged_trial(
    documents: Documents, critics: Sequence[Panel], number: int, rng: Rng
) -> dict[str, bool]:
    """Whether each critic sees the damage that it is meant for, by critic as in :func:`trial`.

    Each critic has a draw of its own; those without an entry in :data:`DAMAGES` are left out.
    """
    verdicts = {}
    for panel in critics:
        if panel.name not in DAMAGES:
            continue
        _, damage = DAMAGES[panel.name]
        real, others = random_halves(documents, DAMAGED_TEXTS.get(panel.name, TEXTS), rng)
        texts = compared(real, damage(others, rng), equal=True)
        verdict = alarm(panel, texts, number)
        if verdict is not None:
            verdicts[panel.name] = verdict
    return verdicts


def random_halves(
    documents: Documents, count: int, rng: Rng
) -> tuple[list[Document], list[Document]]:
    """``count`` texts at random: one half as the real side, the other as the generated one."""
    sample = random_texts(documents, count, rng)
    middle = len(sample) // 2
    return sample[middle:], generated(sample[:middle])


def random_texts(documents: Documents, count: int, rng: Rng) -> list[Document]:
    """``count`` different texts at random, or all in a random order where there are fewer."""
    return [documents[row] for row in rng.permutation(len(documents))[:count]]


def generated(documents: Documents) -> list[Document]:
    """Copies of texts in the split ``generated``, as the generated side needs them."""
    return [replace(document, split="generated") for document in documents]


def one_side_cut(
    real: list[Document], others: list[Document], rng: Rng
) -> tuple[list[Document], list[Document]]:
    """Both sides; one of them, drawn at random, has each text cut to one of ``SHARES`` of it."""
    share = SHARES[int(rng.integers(len(SHARES)))]
    if rng.random() < 0.5:
        return _shares(real, share), others
    return real, _shares(others, share)


def alarm(panel: Panel, texts: ComparedTexts, number: int) -> bool | None:
    """Whether a critic calls the sides different; None where it does not apply to these texts."""
    try:
        judgement = judge(panel, texts, seed=number, resamples=RESAMPLES, permutations=PERMUTATIONS)
    except BadInput:
        return None
    return judgement.difference.p_value < ALARM


def strangers(collections: Collections, panel: Panel, number: int) -> bool:
    """Whether a critic of :data:`STRANGERS` raises an alarm between cities and damaged texts.

    These are stories for the critic of topics, else cities with sentences of stories in them.
    """
    rng = generator("strangers", panel.name, number)
    _, count = STRANGERS[panel.name]
    cities = random_texts(collections["cities"], count, rng)
    stories = random_texts(collections["stories"], count // 3, rng)
    if panel.name == "topics":
        damaged = generated(stories)
    else:
        damaged = with_stories(generated(cities[: len(stories)]), stories)
    texts = compared(cities[len(stories) :], damaged, equal=True)
    judgement = judge(panel, texts, seed=number, resamples=RESAMPLES, permutations=PERMUTATIONS)
    return judgement.difference.p_value < ALARM


def with_stories(cities: Documents, stories: Documents) -> list[Document]:
    """Cities in which every second sentence is that of a story at the same position.

    A story shorter than its city begins anew at its end.
    """
    mixed = []
    for city, story in zip(_rows(cities), _rows(stories), strict=True):
        row = list(city)
        for position in range(1, len(row), 2):
            row[position] = story[position % len(story)]
        mixed.append(row)
    return _rewritten(cities, mixed)


def _shares(documents: Documents, share: float) -> list[Document]:
    """The first sentences of each text: ``share`` of all its sentences, at least one."""
    beginnings = []
    for document in documents:
        count = sum(len(sentences(section.text)) for section in document.sections)
        beginnings.append(_cut(document, max(1, round(share * count))))
    return beginnings


def compared(real: Documents, others: Documents, *, equal: bool) -> ComparedTexts:
    """The two sides in the form that ``criticize`` compares.

    Args:
        real, others: texts of the real and of the generated side.
        equal: whether both are cut to equal lengths.
    """
    sides = tuple(real), tuple(others)
    # The collections have no near copies: each text is a source of its own.
    sources = {document.id: number for number, document in enumerate([*real, *others])}
    lengths: dict[str, EqualLengths] = {}
    for measure in MEASURES:
        if equal:
            lengths[measure] = equal_lengths(*sides, measure)
        else:
            lengths[measure] = EqualLengths(
                measure, real=_uncut(real), generated=_uncut(others), cut=(0, 0)
            )
    return ComparedTexts(*sides, sources=sources, equal=lengths)


def _uncut(documents: Documents) -> tuple[Excerpt, ...]:
    """Excerpts that hold the whole of each document."""
    excerpts = []
    for document in documents:
        excerpts.append(Excerpt(document.id, document.split, document.sections))
    return tuple(excerpts)


def section_shuffles(documents: Documents, rng: Rng) -> list[Document]:
    """Texts with their sections in a random order."""
    shuffled = []
    for document in documents:
        order = rng.permutation(len(document.sections))
        sections = tuple(document.sections[index] for index in order)
        shuffled.append(replace(document, sections=sections))
    return shuffled


def dealt_sentences(documents: Documents, rng: Rng) -> list[Document]:
    """Texts in which the sentences at each position are dealt anew among all texts."""
    rows = _rows(documents)
    for position in range(max(map(len, rows))):
        # Only texts that have a sentence there; each keeps its length.
        long_rows = [row for row in rows if len(row) > position]
        column = [row[position] for row in long_rows]
        for row, other in zip(long_rows, rng.permutation(len(long_rows)), strict=True):
            row[position] = column[other]
    return _rewritten(documents, rows)


def repeated_sentences(documents: Documents, rng: Rng) -> list[Document]:
    """Texts in which one sentence in eight is replaced by an earlier one of the same text."""
    rows = _rows(documents)
    for row in rows:
        for position in range(1, len(row)):
            if rng.random() < 1 / 8:
                row[position] = row[int(rng.integers(position))]
    return _rewritten(documents, rows)


def mixed_halves(documents: Documents, rng: Rng) -> list[Document]:
    """Texts whose second half of sentences is that of a text of the other collection.

    Where all texts are of one collection, it is that of any text among them.
    """
    rows = _rows(documents)
    by_collection: dict[bool, Rows] = {True: [], False: []}  # stories, cities
    are_stories = [document.id.endswith(HUMAN) for document in documents]
    for row, is_story in zip(rows, are_stories, strict=True):
        by_collection[is_story].append(row)
    mixed = []
    for row, is_story in zip(rows, are_stories, strict=True):
        others = by_collection[not is_story] or rows
        other = others[int(rng.integers(len(others)))]
        mixed.append(row[: len(row) // 2] + other[len(other) // 2 :])
    return _rewritten(documents, mixed)


def names_for_pronouns(documents: Documents, rng: Rng) -> list[Document]:
    """Texts with a random first name for each pronoun, so that no person is referred to again."""
    names = sorted(FIRST_NAMES)

    def random_name(_: re.Match[str]) -> str:
        return names[int(rng.integers(len(names)))].capitalize()

    damaged = []
    for document in documents:
        sections = []
        for section in document.sections:
            sections.append(replace(section, text=PRONOUNS.sub(random_name, section.text)))
        damaged.append(replace(document, sections=tuple(sections)))
    return damaged


# By critic the damage that it is meant for: in words for the table, and its function.
DAMAGES: Mapping[str, tuple[str, Callable[[Documents, Rng], list[Document]]]] = {
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
DAMAGED_TEXTS = {"kept topics": 192}  # in a damaged trial of this critic, instead of ``TEXTS``
# By critic the damage in which stories stand among cities: in words, and the number of texts of a
# trial (topics are learnt from many).
STRANGERS = {
    "topics": ("stories in place of cities", 288),
    "related nouns (LSA)": ("every second sentence from a story", TEXTS),
}


def _rows(documents: Documents) -> Rows:
    """The sentences of each document."""
    rows = []
    for document in documents:
        row: list[str] = []
        for section in document.sections:
            row += [section.text[start:end] for start, end in sentences(section.text)]
        rows.append(row)
    return rows


def _rewritten(documents: Documents, rows: Rows) -> list[Document]:
    """Documents with these sentences in one untitled section instead of their own."""
    rewritten = []
    for document, row in zip(documents, rows, strict=True):
        rewritten.append(replace(document, sections=(Section(None, " ".join(row)),)))
    return rewritten


def interval(hits: int, trials: int) -> tuple[float, float]:
    """Exact 95 % interval of a rate (Clopper and Pearson 1934)."""
    low = float(beta.ppf(0.025, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, trials - hits)) if hits < trials else 1.0
    return low, high


def rate(
    record: Mapping[str, Any], critic: str, kind: str, collection: str = ""
) -> tuple[int, int]:
    """(alarms, trials) of a critic in trials of a kind, in one collection or (empty) in all."""
    alarms = trials = 0
    for name, counts in record["counts"].get(critic, {}).items():
        if name.endswith(kind) and name.startswith(collection):
            alarms += counts[0]
            trials += counts[1]
    return alarms, trials


def table(record: Mapping[str, Any]) -> str:
    """Markdown table of alarm rates in percent with exact 95 % intervals, a row a critic.

    Rates of trials without a damage are over all collections, power stands for each of them.
    """
    lines = [
        "| critic | random halves | unequal lengths | not cut | damage | power: cities | stories"
        " | both |",
        "|---|---|---|---|---|---|---|---|",
    ]
    # A row for each critic.
    for critic, (damage, _) in (DAMAGES | STRANGERS).items():
        if critic in record["counts"]:
            cells = [critic]
            for kind in ("halves", "unequal", "uncut"):
                cells.append(_percent(*rate(record, critic, kind)))
            cells.append(damage)
            for collection in COLLECTIONS:
                cells.append(_percent(*rate(record, critic, "damaged", collection)))
            lines.append(f"| {' | '.join(cells)} |")
    # The numbers of trials.
    done = record["done"]
    trials = (
        f"{done['halves']} random halves, {done['unequal']} of unequal lengths, {done['uncut']} not"
        f" cut, {done['damaged']} with a damage"
    )
    lines += ["", f"Trials: {trials}."]
    for critic, (alarms, count) in record.get("again", {}).items():
        draws = f"{critic.capitalize()} at {AGAIN[1]} lengths, {count} further draws"
        lines.append(f"{draws}: {_percent(alarms, count)}.")
    return "\n".join(lines) + "\n"


def _percent(hits: int, trials: int) -> str:
    """A rate in percent with its exact 95 % interval, or words where nothing was tried."""
    if not trials:
        return "not tried"
    low, high = interval(hits, trials)
    return f"{100 * hits / trials:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


if __name__ == "__main__":
    main()
