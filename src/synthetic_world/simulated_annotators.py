"""SIMULATED annotators of known accuracy: no person took part.

They do the task of deng2022's annotators (appendix H): each labels every section's type, wrong at a
known rate, and judges the article's coherence by a known rule on its chain of section types,
flipped at a known rate. Answers depend on the seed, the annotator's name and the document alone.
Rows have the format that the annotation pages export, so one analysis reads both.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import Document, Predictions, chains_from_predictions, grouped, ragged
from longform.errors import BadInput
from longform.statistics.random_streams import generator
from synthetic_world.domains import domain as planted_domain

VERDICTS = ("incoherent", "coherent")
Chains = Mapping[str, Sequence[str]]  # the true section types of each item


@dataclass(frozen=True)
class Annotator:
    """A simulated annotator with known probabilities of errors.

    Attributes:
        name: part of the name of its random streams.
        confusion: probability that a section gets a wrong type, all wrong types equally likely.
        flips: probability that the verdict is not the rule's.
        careless: probability that an attention check is answered at random.
    """

    name: str
    confusion: float
    flips: float
    careless: float = 0.0

    def __post_init__(self) -> None:
        wrong = {}
        for key in ("confusion", "flips", "careless"):
            rate = getattr(self, key)
            if not 0 <= rate <= 1:
                wrong[key] = rate
        if wrong:
            raise BadInput(
                f"simulated annotator {self.name!r}: {wrong}; allowed are probabilities from 0 to 1"
            )

    def answer(
        self, item: str, chain: Sequence[str], coherent: bool, labels: Sequence[str], seed: int
    ) -> list[str]:
        """Answer an item: a label for each section, then the verdict.

        Args:
            item: id of the document.
            chain: true types of its sections.
            coherent: the rule's verdict.
            labels: types to choose from.
            seed: of the draws.
        """
        rng = generator("simulated annotator", self.name, seed, item)
        answers = []
        for title in chain:
            others = [label for label in labels if label != title]
            is_wrong = rng.random() < self.confusion
            other = int(rng.integers(max(1, len(others))))
            answers.append(others[other] if is_wrong and others else title)
        is_flipped = rng.random() < self.flips
        return [*answers, VERDICTS[int(coherent != is_flipped)]]

    def check(self, item: str, label: str, labels: Sequence[str], seed: int) -> list[str]:
        """[label, verdict] that are given in an attention check.

        It asks for ``label`` and “incoherent”; a careless annotator gives both at random.
        """
        rng = generator("simulated annotator", self.name, seed, item)
        if rng.random() < self.careless:
            guess = labels[int(rng.integers(len(labels)))]
            return [guess, VERDICTS[int(rng.integers(2))]]
        return [label, VERDICTS[0]]


@dataclass(frozen=True)
class ChainRule:
    """The rule that an article is coherent if no transition of its section types is improbable.

    The transitions from the begin and to the end count too, but a text that was cut at a length
    limit has no end.

    Attributes:
        types: of sections.
        transitions: probabilities, (types + 1, types + 1): rows are the begin and all types,
            columns all types and the end.
        min_probability: the least probability that a transition may have.
    """

    types: tuple[str, ...]
    transitions: np.ndarray
    min_probability: float

    def coherent(self, chain: Sequence[str], cut: bool = False) -> bool:
        """Whether an article is coherent by the rule.

        An article with an unknown type or without sections is not.

        Args:
            chain: its section types.
            cut: whether it was cut at a length limit.
        """
        numbers = dict(zip(self.types, range(len(self.types)), strict=True))
        if not chain or not numbers.keys() >= set(chain):
            return False
        # Begin is -1, the end the number behind all types.
        steps = [-1, *map(numbers.__getitem__, chain)]
        if not cut:
            steps.append(len(self.types))
        for before, after in pairwise(steps):
            if self.transitions[before + 1, after] < self.min_probability:
                return False
        return True


def answer_rows(
    chains: Chains,
    *,
    rule: ChainRule,
    annotators: Sequence[Annotator],
    system: str,
    seed: int,
    checks: int = 0,
    cut: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Let annotators answer items: a row for each question, annotator and item.

    The column ``gold`` is the right answer.

    Args:
        chains: true section types of each item.
        rule: says which chains are coherent.
        annotators: one or more, of different names.
        system: that wrote the items.
        seed: of the draws.
        checks: attention checks that go beside the items.
        cut: the items that were cut at a limit of length.

    Raises:
        BadInput: two annotators of one name, or none.
    """
    names = [annotator.name for annotator in annotators]
    if not names or len(set(names)) < len(names):
        raise BadInput(
            f"simulated annotators {names}; each needs a name of its own, and one there must be"
        )
    types = rule.types
    check_labels = {}
    for number in range(checks):
        check_labels[f"check-{system}-{number}"] = types[number % len(types)]
    rows: list[dict[str, Any]] = []
    for annotator in annotators:
        # 1. The items.
        for item, chain in chains.items():
            coherent = rule.coherent(chain, item in cut)
            answers = annotator.answer(item, chain, coherent, types, seed)
            gold = [*chain, VERDICTS[int(coherent)]]
            rows.extend(_exported(annotator, item, system, answers, gold, item in check_labels))
        # 2. The attention checks.
        for item, label in check_labels.items():
            answers = annotator.check(item, label, types, seed)
            rows.extend(_exported(annotator, item, "check", answers, [label, VERDICTS[0]], True))
    return rows


def _exported(
    annotator: Annotator,
    item: str,
    source: str,
    answers: Sequence[str],
    gold: Sequence[str],
    is_check: bool,
) -> Iterator[dict[str, Any]]:
    """A row for each section of an item and one for its verdict."""
    questions = [f"section_{i}" for i in range(len(answers) - 1)]
    questions.append("coherent")
    for question, answer, right in zip(questions, answers, gold, strict=True):
        yield {
            "annotator": annotator.name,
            "item": item,
            "source": source,
            "phase": "testing",
            "at": "",
            "last": True,
            "question": question,
            "answer": answer,
            "gold": right,
            "check": is_check,
        }


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    name: str,
    seed: int,
    splits: Sequence[str],
    domain: str,
    systems: Sequence[str],
    per_system: int,
    annotators: Sequence[Mapping[str, Any]],
    checks: int,
    least: float,
    max_length: int,
    truth: Mapping[str, np.ndarray] | None = None,
) -> Predictions:
    """Simulate annotators' answers to documents of each system.

    The true section types of a real document are its own titles. Those of a generated document,
    which nobody knows, are taken from the title classifier. The rule uses the planted domain's
    chain.

    Args:
        documents: of all systems; where there are several, a document's id starts with its system
            and a slash.
        reader: folder of the title classifier.
        name: of the stage, for messages.
        seed: of the draws.
        splits: whose documents are answered.
        domain: the planted one.
        systems: names of them.
        per_system: documents of each.
        annotators: fields of :class:`Annotator` of each.
        checks: attention checks for each system.
        least: ``min_probability`` of :class:`ChainRule`.
        max_length: of the classifier's input.
        truth: of the documents; may say which were ``cut`` at a limit of length.

    Raises:
        BadInput: a system without documents.
    """
    # 1. The documents of each system.
    of_splits = [document for document in documents if document.split in splits]
    chosen = _chosen(of_splits, systems, per_system, seed)
    empty = [system for system, members in chosen.items() if not members]
    if empty:
        raise BadInput(
            f"{name}: no document of splits {list(splits)} by {empty}; "
            "fix splits, systems or the corpus"
        )
    # 2. Their chains of section types.
    everything: list[Document] = []
    for members in chosen.values():
        everything.extend(members)
    chains = _own_titles(everything)
    untitled = [document for document in everything if document.id not in chains]
    if untitled:
        from longform.critics.section_order.read import read as read_titles

        predictions = read_titles(
            documents=untitled, reader=reader, name=name, splits=splits, max_length=max_length
        )
        for chain in chains_from_predictions(predictions):
            chains[chain.unit_id] = chain.symbols
    # 3. The answers.
    planted = planted_domain(domain).chain
    rule = ChainRule(planted.types, planted.transitions, least)
    panel = [Annotator(**settings) for settings in annotators]
    cut = _cut_ids(documents, truth)
    rows: list[dict[str, Any]] = []
    for system, members in chosen.items():
        chains_of_system = {document.id: chains[document.id] for document in members}
        rows += answer_rows(
            chains_of_system,
            rule=rule,
            annotators=panel,
            system=system,
            seed=seed,
            checks=checks,
            cut=cut,
        )
    return to_predictions(rows, {document.id: document.split for document in everything})


def _chosen(
    documents: Sequence[Document], systems: Sequence[str], per_system: int, seed: int
) -> dict[str, list[Document]]:
    """Draw documents of each system without replacement, returned in their original order.

    Args:
        documents: of all systems, as of :func:`read`.
        systems: names of them.
        per_system: documents of each; all where it has fewer.
        seed: of the draws.
    """
    chosen = {}
    for system in systems:
        candidates = []
        for document in documents:
            if len(systems) == 1 or document.id.startswith(f"{system}/"):
                candidates.append(document)
        order = generator("human study", system, seed).permutation(len(candidates))
        selected = sorted(order[:per_system].tolist())
        chosen[system] = [candidates[i] for i in selected]
    return chosen


def _own_titles(documents: Sequence[Document]) -> dict[str, Sequence[str]]:
    """The titles of real documents by id; documents with an untitled section are left out."""
    chains: dict[str, Sequence[str]] = {}
    for document in documents:
        titles = tuple(section.title or "" for section in document.sections)
        if document.split != "generated" and "" not in titles:
            chains[document.id] = titles
    return chains


def _cut_ids(documents: Sequence[Document], truth: Mapping[str, np.ndarray] | None) -> set[str]:
    """The ids of documents that were cut at a limit of length, where truth says it."""
    if truth is None or "cut" not in truth:
        return set()
    cut = set()
    for document, is_cut in zip(documents, truth["cut"], strict=True):
        if is_cut:
            cut.add(document.id)
    return cut


def to_predictions(rows: Sequence[Mapping[str, Any]], splits: Mapping[str, str]) -> Predictions:
    """Turn rows of answers into predictions, one unit per item, marked as simulated.

    Args:
        rows: of :func:`answer_rows`.
        splits: of each item; attention checks are of split test.
    """
    by_item = grouped(rows, lambda row: row["item"])
    arrays: dict[str, np.ndarray] = {"simulated_names": np.array(["True"])}
    for column in ("annotator", "question", "answer", "gold"):
        values = []
        for members in by_item.values():
            values.append([str(row[column]) for row in members])
        arrays |= ragged(column, values, np.str_)
    sources, are_checks, unit_splits = [], [], []
    for item, members in by_item.items():
        sources.append(members[0]["source"])
        are_checks.append(bool(members[0]["check"]))
        unit_splits.append(splits.get(item, "test"))
    arrays["source"] = np.array(sources, dtype=np.str_)
    arrays["check"] = np.array(are_checks)
    return Predictions(tuple(by_item), tuple(unit_splits), arrays)
