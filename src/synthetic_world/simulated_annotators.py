"""SIMULATED annotators of known accuracy, who answer as deng2022's people were asked to (appendix H): no person took part.

Each labels every section's type, wrong at a known rate, and calls the article coherent by a known rule on its chain of
section types, flipped at a known rate. What they answer depends on the seed, their name and the document alone. The rows
are those that the annotation pages export, so one analysis reads both.
"""

from collections.abc import Collection, Mapping, Sequence
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
    """A simulated annotator, by probabilities of errors."""

    name: str
    confusion: float  # that a section gets another type than its own, each other type as likely
    flips: float  # that the verdict is not the rule's
    careless: float = 0.0  # that an attention check is answered at random

    def __post_init__(self) -> None:
        if wrong := {
            key: rate for key, rate in vars(self).items() if key != "name" and not 0 <= rate <= 1
        }:
            raise BadInput(
                f"simulated annotator {self.name!r}: {wrong}; allowed are probabilities from 0 to 1"
            )

    def answer(
        self, item: str, chain: Sequence[str], coherent: bool, labels: Sequence[str], seed: int
    ) -> list[str]:
        """A label per section and the verdict."""
        draw = generator("simulated annotator", self.name, seed, item)
        said = []
        for title in chain:
            others = [label for label in labels if label != title]
            wrong, other = draw.random() < self.confusion, int(draw.integers(max(1, len(others))))
            said.append(others[other] if wrong and others else title)
        return [*said, VERDICTS[int(coherent != (draw.random() < self.flips))]]

    def check(self, item: str, wanted: str, labels: Sequence[str], seed: int) -> list[str]:
        """Label and verdict of an attention check, which asks for ``wanted`` and “incoherent”."""
        draw = generator("simulated annotator", self.name, seed, item)
        if draw.random() < self.careless:
            return [labels[int(draw.integers(len(labels)))], VERDICTS[int(draw.integers(2))]]
        return [wanted, VERDICTS[0]]


@dataclass(frozen=True)
class ChainRule:
    """An article is coherent where no transition of its types, begin and end included, is less probable than ``least``.

    One that was cut at a limit of length has no end, and is none the less coherent for it.
    """

    types: tuple[str, ...]
    transitions: np.ndarray  # (types + 1, types + 1), as ``SectionChain`` has them
    least: float

    def coherent(self, chain: Sequence[str], cut: bool = False) -> bool:
        """The rule; a type that the chain does not know is never coherent, nor is an article without sections."""
        places = {title: i for i, title in enumerate(self.types)}
        if not chain or not all(title in places for title in chain):
            return False
        ending = [] if cut else [len(self.types)]
        steps = [-1, *(places[title] for title in chain), *ending]
        return all(self.transitions[a + 1, b] >= self.least for a, b in pairwise(steps))


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
    """Rows as exported, one per question, annotator and item; ``gold`` is the truth that the annotators err from.

    ``checks`` attention checks go beside the items; ``cut`` names the items that were cut at a limit of length. Raises BadInput: two annotators of one name, or none.
    """
    names = [annotator.name for annotator in annotators]
    if not names or len(set(names)) < len(names):
        raise BadInput(
            f"simulated annotators {names}; each needs a name of its own, and one there must be"
        )
    wanted = {f"check-{system}-{n}": rule.types[n % len(rule.types)] for n in range(checks)}
    rows = []
    for one in annotators:
        given: list[
            tuple[str, str, list[str], list[str]]
        ] = []  # item, source, what is said, what is right
        for item, chain in chains.items():
            verdict = rule.coherent(chain, item in cut)
            said = one.answer(item, chain, verdict, rule.types, seed)
            given.append((item, system, said, [*chain, VERDICTS[int(verdict)]]))
        for item, label in wanted.items():
            given.append(
                (item, "check", one.check(item, label, rule.types, seed), [label, VERDICTS[0]])
            )
        for item, source, said, gold in given:
            fixed = {
                "annotator": one.name,
                "item": item,
                "source": source,
                "phase": "testing",
                "at": "",
                "last": True,
            }
            questions = [*(f"section_{i}" for i in range(len(said) - 1)), "coherent"]
            for question, answer, right in zip(questions, said, gold, strict=True):
                rows.append(
                    {
                        **fixed,
                        "question": question,
                        "answer": answer,
                        "gold": right,
                        "check": item in wanted,
                    }
                )
    return rows


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
    """Simulated answers to ``per_system`` documents: real ones by their own titles, generated ones as ``reader`` reads them.

    Nobody knows the section types of generated text; the title classifier's stand in for what a careful reader sees. Where
    there are several systems, a document's id starts with its system and a slash. The rule is the planted domain's chain.
    ``truth`` of the documents may say which of them were ``cut`` at a limit of length.
    """
    held: dict[str, list[Document]] = {}
    for system in systems:
        named = [
            d
            for d in documents
            if d.split in splits and (len(systems) == 1 or d.id.startswith(f"{system}/"))
        ]
        drawn = generator("human study", system, seed).permutation(len(named))[:per_system]
        held[system] = [named[i] for i in sorted(drawn.tolist())]
    if empty := [system for system, chosen in held.items() if not chosen]:
        raise BadInput(
            f"{name}: no document of splits {list(splits)} by {empty}; fix splits, systems or the corpus"
        )
    everything = [document for chosen in held.values() for document in chosen]
    chains = {
        d.id: tuple(s.title or "" for s in d.sections) for d in everything if d.split != "generated"
    }
    if unread := [d for d in everything if "" in chains.get(d.id, ("",))]:
        from longform.critics.section_order.read import read as read_titles

        found = read_titles(
            documents=unread, reader=reader, name=name, splits=splits, max_length=max_length
        )
        chains |= {chain.unit_id: chain.symbols for chain in chains_from_predictions(found)}
    chain = planted_domain(domain).chain
    given: dict[str, Any] = {
        "rule": ChainRule(chain.types, chain.transitions, least),
        "seed": seed,
        "checks": checks,
    }
    given["annotators"] = [Annotator(**one) for one in annotators]
    if truth is not None and "cut" in truth:
        given["cut"] = {
            document.id for document, cut in zip(documents, truth["cut"], strict=True) if cut
        }
    rows: list[dict[str, Any]] = []
    for system, chosen in held.items():
        rows += answer_rows(
            {document.id: chains[document.id] for document in chosen}, system=system, **given
        )
    return to_predictions(rows, {document.id: document.split for document in everything})


def to_predictions(rows: Sequence[Mapping[str, Any]], splits: Mapping[str, str]) -> Predictions:
    """Exported rows as predictions, one unit per item, that says that they are simulated."""
    by_item = grouped(rows, lambda row: row["item"])
    arrays: dict[str, np.ndarray] = {"simulated_names": np.array(["True"])}
    for column in ("annotator", "question", "answer", "gold"):
        arrays |= ragged(
            column, [[str(row[column]) for row in held] for held in by_item.values()], np.str_
        )
    arrays["source"] = np.array([held[0]["source"] for held in by_item.values()], dtype=np.str_)
    arrays["check"] = np.array([bool(held[0]["check"]) for held in by_item.values()])
    return Predictions(tuple(by_item), tuple(splits.get(item, "test") for item in by_item), arrays)
