"""Documents damaged on purpose: shuffled, shuffled by class, or struck by corruptions of texts.

Shuffles are documents ``<document>/<task>_<size>/<copy>`` beside ``<document>/original/0``: the
same sentences joined by one blank, or by a blank line where they would run together (after a
heading). A sentence shuffle leaves the sections' lengths and titles where they stood; the task
``section`` moves whole sections.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets import text_files
from longform.documents import Corpus, Document, Section
from longform.errors import BadInput, counted
from longform.files.artefacts import read_documents
from longform.statistics.random_streams import generator
from longform.text.permutations import ORIGINAL, TASKS, distinct_orders, numbered, shuffled_orders
from longform.text.sentences import SPLITTERS, joined

SECTIONS = "section"  # the task that moves whole sections


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    tasks: Sequence[tuple[str, int]],
    documents: Mapping[str, int],
    shuffles: int = 1,
    splitter: str = "rules",
) -> Corpus:
    """The first documents of each split of a prepared corpus, those of split test with shuffles.

    A test document is ``<id>/original/0``, its shuffles are ``<id>/<task>_<size>/<number>``. Each
    document and task has random numbers of its own.

    Args:
        name: of the new corpus; the draws depend on it.
        seed: of the draws.
        raw: the folder of the prepared corpus, which is raw material of this one.
        tasks: (``block`` or ``window``, size) or (``section``, 1), each once.
        documents: how many are taken, by split.
        shuffles: how many are drawn per document and task; the distinct ones are kept.
        splitter: a key of ``SPLITTERS``, which cuts texts into sentences.

    Raises BadInput: an unknown task or splitter, or fewer documents than are to be taken.
    """
    for task, size in tasks:
        _check_task(task, size)
    chosen = _first_documents(_prepared(raw, splitter), documents, raw)
    built = list[Document]()
    shuffle_counts = {f"{task}_{size}": 0 for task, size in tasks}
    for document in chosen:
        sections = cut_sections(document, splitter)
        # 1. The document itself; only split test is shuffled.
        if document.split != "test":
            built.append(_with_sentences(document, document.id, sections, splitter))
            continue
        original_id = f"{document.id}/{ORIGINAL}/0"
        built.append(_with_sentences(document, original_id, sections, splitter))
        # 2. Its shuffles.
        for task, size in tasks:
            rng = generator(seed, name, task, size, document.id)
            copies = shuffled_cuts(sections, task, size, shuffles, rng)
            shuffle_counts[f"{task}_{size}"] += len(copies)
            for number, copy in enumerate(copies):
                copy_id = f"{document.id}/{task}_{size}/{number}"
                built.append(_with_sentences(document, copy_id, copy, splitter))
    facts = {"corpus": name, "documents": len(chosen), "shuffles": shuffle_counts}
    return Corpus(built, {}, facts)


def _check_task(task: str, size: int) -> None:
    """Check a shuffle task. Raises BadInput: an unknown one, or a size that it does not take."""
    whole_sections = task == SECTIONS and size == 1
    sentences = task in TASKS and size >= 1
    if not whole_sections and not sentences:
        raise BadInput(
            f"task {(task, size)}; allowed are {sorted(TASKS)} with a size from 1, ({SECTIONS}, 1)"
        )


def _first_documents(
    documents: Sequence[Document], counts: Mapping[str, int], raw: Path
) -> list[Document]:
    """The first documents of each split. Raises BadInput: there are fewer."""
    chosen = list[Document]()
    for split, count in counts.items():
        available = [document for document in documents if document.split == split]
        if len(available) < count:
            raise BadInput(
                f"{raw} has {counted(len(available), 'document')} of split {split!r}, "
                f"the entry needs {count}; fix it"
            )
        chosen.extend(available[:count])
    return chosen


def _prepared(raw: Path, splitter: str) -> list[Document]:
    """Read a prepared corpus's documents. Raises BadInput: the splitter is unknown."""
    if splitter not in SPLITTERS:
        raise BadInput(f"splitter {splitter!r}; allowed are {sorted(SPLITTERS)}; fix the entry")
    return read_documents(raw / "documents.jsonl")


Cut = list[tuple[str | None, list[str]]]  # title and sentences of each section


def cut_sections(document: Document, splitter: str) -> Cut:
    """Cut a document's sections into sentences; sections without any are left out."""
    cut: Cut = []
    for section in document.sections:
        stripped = [sentence.strip() for sentence in SPLITTERS[splitter](section.text)]
        sentences = [sentence for sentence in stripped if sentence]
        if sentences:
            cut.append((section.title, sentences))
    return cut


def _with_sentences(document: Document, unit: str, cut: Cut, splitter: str) -> Document:
    """A copy of a document with the id ``unit`` and the sentences of ``cut``.

    Where ``cut`` is empty it keeps its own sections.
    """
    sections = tuple(Section(title, joined(row, splitter)) for title, row in cut)
    return Document(unit, document.split, sections or document.sections, document.edits)


def shuffled_cuts(
    cut: Cut, task: str, size: int, shuffles: int, rng: np.random.Generator
) -> list[Cut]:
    """Distinct shuffles of a cut document.

    Args:
        cut: its sections.
        task: a shuffle of sentences leaves the sections' lengths and titles in place.
        size: sentences of a block, or how many windows.
        shuffles: how many are drawn, before repeats are dropped.
        rng: draws the orders.
    """
    copies: list[Cut] = []
    if task == SECTIONS:
        texts = numbered([tuple(row) for _, row in cut])
        orders = TASKS["block"](len(cut), 1, shuffles, rng)
        for order in distinct_orders(orders, texts):
            copies.append([cut[section] for section in order])
        return copies
    sentences = _all_sentences(cut)
    for order in shuffled_orders(task, size, sentences, shuffles, rng):
        # each section takes as many of the moved sentences as it had
        moved = iter([sentences[sentence] for sentence in order])
        copies.append([(title, list(islice(moved, len(row)))) for title, row in cut])
    return copies


BLOCKS = {1: 1, 2: 5, 3: 0}  # class -> sentences of a shuffled block, 0 for no shuffle; ours


def rated(*, name: str, seed: int, raw: Path, splitter: str = "rules") -> Corpus:
    """A planted stand-in for rated texts: known classes of coherence, made by shuffling.

    3 is a text as it was, 2 has its blocks of five sentences shuffled, 1 has all its sentences
    shuffled. Each document of the prepared corpus is in one class only. Sections are joined: the
    order of the whole text is what is damaged.

    Args:
        name: of the new corpus; the draws depend on it.
        seed: of the draws.
        raw: the folder of the prepared corpus.
        splitter: a key of ``SPLITTERS``, which cuts texts into sentences.

    Returns: the texts with ``truth["rating"]``, int64 (units,).
    Raises BadInput: an unknown splitter.
    """
    rated_texts = list[Document]()
    ratings = list[int]()
    for document in _prepared(raw, splitter):
        # 1. Draw the class.
        rating = 1 + int(generator(seed, name, "rating", document.id).integers(3))
        # 2. Shuffle the text's blocks, as the class says.
        sentences: list[str] = []
        for section in document.sections:
            sentences.extend(SPLITTERS[splitter](section.text))
        block = BLOCKS[rating]
        if block:
            rng = generator(seed, name, "shuffle", document.id)
            sentences = _shuffled_blocks(sentences, block, rng)
        section = Section(None, joined(sentences, splitter))
        edit = {"edit": "rated shuffle", "rating": rating, "block": block}
        edits = (*document.edits, edit)
        rated_texts.append(Document(document.id, document.split, (section,), edits))
        ratings.append(rating)
    counts = {str(rating): ratings.count(rating) for rating in BLOCKS}
    truth = {"rating": np.array(ratings, dtype=np.int64)}
    return Corpus(rated_texts, truth, {"corpus": name, "ratings": counts})


def _shuffled_blocks(sentences: Sequence[str], block: int, rng: np.random.Generator) -> list[str]:
    """Blocks of ``block`` sentences, the last one perhaps shorter, in a random order."""
    starts = range(0, len(sentences), block)
    shuffled: list[str] = []
    for number in rng.permutation(len(starts)):
        start = starts[number]
        shuffled.extend(sentences[start : start + block])
    return shuffled


ADVERBIALS = {  # that open a sentence, by what they say of the one before
    "contrast": ("However", "Nevertheless", "In contrast"),
    "cause": ("Therefore", "Thus", "As a result", "Consequently"),
    "addition": ("Moreover", "Furthermore", "In addition", "Additionally"),
    "instance": ("For example", "For instance"),
}
CONJUNCTIONS = {"contrast": ("but", "although"), "cause": ("so", "because")}  # between two clauses


def _any_of(groups: Mapping[str, Sequence[str]]) -> str:
    """A pattern of the words of all groups."""
    return "|".join(chain.from_iterable(groups.values()))


_OPENING = re.compile(rf"^({_any_of(ADVERBIALS)}),")
_BETWEEN = re.compile(rf"(?<=,) ({_any_of(CONJUNCTIONS)}) ")
# behind *her* the object
_NO_NOUN = (
    "a|an|and|as|at|but|by|for|from|her|his|in|into|on|or|out|that|the|to|up|when|while|who|with"
)
_PRONOUN = re.compile(
    rf"\b(he|she|him|his|hers|her|himself|herself)\b(?=(\s+(?!(?:{_NO_NOUN})\b)[a-z])?)",
    re.IGNORECASE,
)
_OTHER_GENDER = {
    "he": "she",
    "she": "he",
    "him": "her",
    "his": "her",
    "hers": "his",
    "himself": "herself",
    "herself": "himself",
}


def _other_gender(match: re.Match[str]) -> str:
    """The pronoun of the other gender in the same case.

    *her* is a possessive where what may be a noun phrase follows.
    """
    pronoun, noun_phrase = match[0], match[2]
    other = _OTHER_GENDER.get(pronoun.lower())
    if other is None:  # her
        other = "his" if noun_phrase else "him"
    return other.capitalize() if pronoun[0].isupper() else other


def _rewritten(corruption: str, text: str, rng: np.random.Generator) -> str:
    """A sentence with its pronouns (``wrong_pronoun``) or else its connectives replaced.

    Args:
        corruption: its name.
        text: the sentence.
        rng: draws connectives.
    """

    def other_sense(match: re.Match[str]) -> str:
        """The match with a connective, drawn evenly, of another sense and the same word class."""
        groups = CONJUNCTIONS if match[0][0] == " " else ADVERBIALS
        others: list[str] = []
        for words in groups.values():
            if match[1] not in words:
                others.extend(words)
        return match[0].replace(match[1], others[int(rng.integers(len(others)))])

    if corruption == "wrong_pronoun":
        return _PRONOUN.sub(_other_gender, text)
    return _BETWEEN.sub(other_sense, _OPENING.sub(other_sense, text))


def _places(corruption: str, cut: Cut) -> list[tuple[int, int]]:
    """Places that a corruption can strike, as (section, sentence) from 0.

    For corruptions of whole sections the sentence is -1. ``section_order`` exchanges a section with
    the next one, so its places are every other section.
    """
    if corruption == "section_order":
        return [(section, -1) for section in range(0, len(cut) - 1, 2)]
    if corruption == "repeated_section":
        return [(section, -1) for section in range(1, len(cut))]
    candidates = []
    for section, (_, sentences) in enumerate(cut):
        for number, text in enumerate(sentences):
            if corruption in REPLACED_SENTENCES:
                possible = number > 0
            else:
                # Any draw tells whether there is a word to replace.
                possible = _rewritten(corruption, text, generator(0)) != text
            if possible:
                candidates.append((section, number))
    return candidates


MIXED = "mixed_language"
CORRUPTIONS = (
    "section_order",
    "repeated_section",
    "off_topic_sentence",
    "repeated_sentence",
    "wrong_pronoun",
    "wrong_connective",
    MIXED,
)
REPLACED_SENTENCES = ("off_topic_sentence", "repeated_sentence", MIXED)  # but a section's first


def corrupted(
    *,
    name: str,
    seed: int,
    raw: Path,
    documents: int,
    severities: Sequence[float],
    splitter: str = "rules",
    beside: Path | None = None,
) -> Corpus:
    """The first test documents of a prepared corpus under each corruption at every severity.

    What is struck needs no truth: neighbouring sections change places, a section is replaced by the
    one before it, a sentence by one of another document, by the one before it or by one of another
    language, third-person pronouns take the other gender, a connective gives way to one of another
    sense. A place is struck where a uniform number named by it is below the severity, so those of a
    lower severity are among those of a higher one.

    Args:
        name: of the new corpus; the draws depend on it.
        seed: of the draws.
        raw: the folder of the prepared corpus.
        documents: how many; one fewer than there are at most, since the next one lends sentences.
        severities: shares of struck places, distinct, above 0 and at most 1.
        splitter: a key of ``SPLITTERS``, which cuts texts into sentences.
        beside: parallel text, as :func:`.text_files.parallel` reads it, with the sentences of other
            languages; without it no language is mixed.

    Returns:
        documents ``sound@0/<document>`` and ``<corruption>@<severity>/<document>``, with one edit a
        struck place; facts count them.

    Raises:
        BadInput: other severities, too few documents, or no sentence of another language.
    """
    _check_severities(name, severities)
    available = [document for document in _prepared(raw, splitter) if document.split == "test"]
    if not 1 <= documents < len(available):
        raise BadInput(
            f"{raw} has {len(available)} test documents, so the entry may use 1 to "
            f"{len(available) - 1} (one more lends its sentences), got {documents}; fix it"
        )
    cuts = {document.id: cut_sections(document, splitter) for document in available}
    foreign = [] if beside is None else _foreign_sentences(beside)
    # 1. The sound documents.
    sound = available[:documents]
    texts = []
    for document in sound:
        unit = f"sound@0/{document.id}"
        texts.append(_with_sentences(document, unit, cuts[document.id], splitter))
    # 2. Each corruption, at each severity, of each of them.
    for corruption in CORRUPTIONS:
        if corruption == MIXED and not foreign:
            continue
        for severity in severities:
            for number, document in enumerate(sound):
                lent_sentences = foreign
                if corruption != MIXED:
                    lender = available[(number + 1) % len(available)]
                    lent_sentences = _all_sentences(cuts[lender.id]) or [""]
                draws = (seed, name, corruption, document.id)
                cut, edits = _struck(corruption, severity, cuts[document.id], lent_sentences, draws)
                unit = f"{corruption}@{severity:g}/{document.id}"
                damaged = _with_sentences(document, unit, cut, splitter)
                texts.append(replace(damaged, edits=(*document.edits, *edits)))
    num_edits = Counter[str]()
    for document in texts:
        num_edits[document.id.split("/")[0]] += len(document.edits)
    return Corpus(texts, {}, {"corpus": name, "documents": documents, "edits": num_edits})


def _check_severities(name: str, severities: Sequence[float]) -> None:
    """Check severities. Raises BadInput: none, one twice, or one not in (0, 1]."""
    are_shares = all(0 < severity <= 1 for severity in severities)
    if not severities or len(set(severities)) < len(severities) or not are_shares:
        raise BadInput(
            f"corpus {name!r}: severities {list(severities)}; "
            "give distinct ones above 0 and at most 1"
        )


def _foreign_sentences(path: Path) -> list[str]:
    """The sentences of parallel text in all other languages. Raises BadInput: there is none."""
    sentences = []
    for _, translations in text_files.sentences(path, text_files.TARGETS):
        for text in translations.values():
            if text.strip():
                sentences.append(text)
    if not sentences:
        raise BadInput(f"{path} has no sentence in {list(text_files.TARGETS)}; fix the file")
    return sentences


def _all_sentences(cut: Cut) -> list[str]:
    """The sentences of all sections, in order."""
    return list(chain.from_iterable(sentences for _, sentences in cut))


def _struck(
    corruption: str,
    severity: float,
    cut: Cut,
    lent_sentences: Sequence[str],
    draws: tuple[object, ...],
) -> tuple[Cut, list[Mapping[str, Any]]]:
    """Damage a document; returns it, and a record of each place that was struck.

    Args:
        corruption: one of ``CORRUPTIONS``.
        severity: the probability with which each eligible place is struck.
        cut: the sound document.
        lent_sentences: sentences of other documents or languages, which replace its own.
        draws: seed and names of the random streams.
    """
    candidates = _places(corruption, cut)
    uniform_draws = generator(*draws).random(len(candidates))
    damaged: Cut = [(title, list(sentences)) for title, sentences in cut]
    edits: list[Mapping[str, Any]] = []
    for (section, number), uniform_draw in zip(candidates, uniform_draws, strict=True):
        if uniform_draw >= severity:
            continue
        edits.append({"corruption": corruption, "section": section, "sentence": number})
        # whole sections, of which ``number`` is -1
        if corruption == "section_order":
            damaged[section], damaged[section + 1] = damaged[section + 1], damaged[section]
            continue
        if corruption == "repeated_section":
            damaged[section] = cut[section - 1]
            continue
        # single sentences
        sentences = cut[section][1]
        rng = generator(*draws, section, number)
        if corruption == "repeated_sentence":
            new = sentences[number - 1]
        elif corruption in ("off_topic_sentence", MIXED):
            new = lent_sentences[int(rng.integers(len(lent_sentences)))]
        else:
            new = _rewritten(corruption, sentences[number], rng)
        damaged[section][1][number] = new
    return damaged, edits
