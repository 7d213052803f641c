"""A fact checker's verdicts on generated texts, beside planted truth and the counts of Table 4, and on texts whose truth is known.

A text becomes claims in the paper's order (massarelli2020 section 3): the first five sentences; an opening pronoun, or determiner with
its noun, replaced by the page's title; more than 50 tokens not verifiable.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.verifiability import score
from longform.critics.verifiability.checker import Checker, PageIndex, Verdict, selector
from longform.critics.verifiability.score import (
    NEI,
    SENTENCE_COLUMNS,
    CheckedGeneration,
    CheckedText,
    Evidence,
)
from longform.critics.verifiability.train import open_entailment
from longform.datasets.fever import MOST_TOKENS, PageFile
from longform.datasets.fever import claims_of as known_claims
from longform.decoding.continuations import CONTINUATION
from longform.documents import Document, Predictions
from longform.errors import BadInput
from longform.text import sentences as text_measures
from longform.text.nouns import ADJECTIVE, NOUN, NounRules
from longform.text.paragraphs import from_lines, single_spaced
from longform.text.rendering import TokenText
from longform.text.sentences import SPLITTERS

Label = tuple[str, Evidence]
Judge = Callable[[str], Label]  # the exact label of a sentence and the lines that show it
ExactChecker = Callable[[Mapping[str, Sequence[str]]], Judge]  # of pages: titles and their lines
POSSESSIVE = frozenset(["his", "its", "their", "hers", "theirs"])
PRONOUNS = POSSESSIVE | {"he", "she", "it", "they", "him", "them", "her"}
WRITTEN: tuple[str, ...] = (
    "setting",
    "page",
    "repeat",
    "prefix_nats",
    "prefix_tokens",
)  # of a generation's truth
WRITTEN += ("token_nats", "token_marks", "token", "reference")
_WORD = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
_CLOSED = re.compile(r"[.!?][\"'”’)\]]*$")


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],  # of the generations, as ``continuations.py`` writes it
    reader: Path,
    name: str,
    exact: ExactChecker
    | None = None,  # knows what the pages state, where exact verdicts are wanted too
    splitter: str = "full_stops",
) -> Predictions:
    """Verdicts on the first five sentences of every continuation; see :class:`CheckedGeneration`.

    Raises BadInput: texts that ``continuations.py`` did not write.
    """
    if missing := [key for key in WRITTEN if key not in truth]:
        raise BadInput(
            f"infer {name}: the texts have no {missing[0]!r} beside them; texts come from continuations.py"
        )
    if (known := len(truth["setting"])) != len(documents):
        raise BadInput(
            f"infer {name}: {len(documents)} documents, truth of {known}; run generate again"
        )
    checker, grams, found = open_checker(reader), set[str](), []
    for document, (_, _, *row) in zip(
        documents, Predictions.of(documents, truth).rows(*WRITTEN), strict=True
    ):
        opening, texts = (
            document.sections[0],
            {section.title: section.text for section in document.sections[1:]},
        )
        if CONTINUATION not in texts:
            raise BadInput(
                f"infer {name}: document {document.id!r} has no continuation; use texts of continuations.py"
            )
        written, text = dict(zip(WRITTEN, row, strict=True)), texts[CONTINUATION]
        if (
            written["setting"] == "human"
        ):  # people's claims begin with the sentence that models were given
            text = opening.text + (text if text[:1].isspace() else f" {text}")
        text = single_spaced(from_lines(text))
        claims = claims_of(text, opening.title or "", SPLITTERS[splitter])
        for part in (text, *(claim.source for claim in claims)):
            grams.update(text_measures.grams(part))
        found.append((document, claims, text, written))
    checker.check([claim.text for _, claims, _, _ in found for claim in claims if claim.verifiable])
    readers = (
        checker,
        exact(checker.pages) if exact else None,
        PageSimilarity(checker.pages, grams),
        text_measures.link_parser(),
    )
    return score.generations_to_predictions(
        [_checked(*generation, readers) for generation in found]
    )


def open_checker(folder: Path) -> Checker:
    """A saved checker; nothing outside its folder is read."""
    if missing := [
        n for n in ("checker.json", *PageFile.FILES, *PageIndex.FILES) if not (folder / n).is_file()
    ]:
        raise BadInput(
            f"{folder}: no {' and '.join(missing[:2])}; name a folder that verifiability trained"
        )
    record, pages = (
        json.loads((folder / "checker.json").read_text(encoding="utf-8")),
        PageFile(folder),
    )
    return Checker(pages, selector(pages, record), open_entailment(folder, record), record)


@dataclass(frozen=True)
class Claim:
    """One sentence, ready for a checker."""

    text: str  # what is checked
    source: str  # the sentence as it was generated
    verifiable: bool  # False where the sentence is too long; it counts as not enough information
    named: bool  # whether the determiner rule put the title in
    pronouns: int  # how many pronouns were replaced
    cut: bool  # the sentence does not end in a closing mark, so the generation ran out inside it


@dataclass(frozen=True)
class PageSimilarity:
    r"""Unnormalised tf-idf product of a text with a page, over those words and pairs of words that are among ``grams``.

    $\sum_w f(w, \text{text}) f(w, \text{page})$ with $f(w, d) = \log(1 + \text{tf}) \max(0, \log\frac{N - n_w + 1/2}{n_w + 1/2})$, the
    weights of DrQA (Chen et al. 2017), whose scale fits the printed values; words are not hashed. Of millions of pages only
    the ``grams`` of some texts are counted; texts with others are not to be scored.
    """

    pages: Mapping[str, Sequence[str]]
    grams: Set[str]
    _weights: dict[str, dict[str, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def frequency(self) -> Counter[str]:
        pages = (" ".join(lines) for lines in self.pages.values())
        return Counter(
            gram for page in pages for gram in self.grams & set(text_measures.grams(page))
        )

    def _weigh(self, text: str) -> dict[str, float]:
        total, weights = len(self.pages), {}
        for gram, count in Counter(text_measures.grams(text)).items():
            seen = self.frequency.get(gram, 0)
            idf = math.log((total - seen + 0.5) / (seen + 0.5))
            if idf > 0:
                weights[gram] = math.log1p(count) * idf
        return weights

    def score(self, text: str, title: str) -> float:
        if title not in self.pages:
            return 0.0
        if title not in self._weights:
            self._weights[title] = self._weigh(" ".join(self.pages[title]))
        page = self._weights[title]
        return sum(weight * page.get(gram, 0.0) for gram, weight in self._weigh(text).items())


Readers = tuple[Checker, Judge | None, PageSimilarity, Callable[[str], float]]


def _checked(
    document: Document,
    claims: Sequence[Claim],
    text: str,
    written: Mapping[str, Any],
    readers: Readers,
) -> CheckedGeneration:
    """Everything about one generation, by its truth; of human texts the prefix is the first sentence."""
    checker, exact, similarity, links = readers
    unit, split, title = document.id, document.split, document.sections[0].title or ""
    sources = [claim.source for claim in claims]
    skipped = 1 if written["setting"] == "human" and sources else 0
    tokens = written["token_nats"].tolist(), written["token_marks"].tolist()
    means = [math.nan] * skipped + text_measures.mean_nats(sources[skipped:], *tokens)
    verdicts = [
        checker.check([claim.text])[0] if claim.verifiable else Verdict() for claim in claims
    ]
    truths = None
    if exact is not None:
        truths = [exact(claim.text) if claim.verifiable else (NEI, frozenset()) for claim in claims]
    rows = []
    for place, (claim, verdict) in enumerate(zip(claims, verdicts, strict=True)):
        source, planted = claim.source, truths[place][1] if truths else frozenset()
        entities, conjunctions = text_measures.entities(source), text_measures.conjunctions(source)
        row: dict[str, float] = {
            "words": len(source.split()),
            "entities": entities,
            "conjunctions": conjunctions,
        }
        row |= {
            "linked": links(source),
            "tfidf": similarity.score(source, title),
            "nats": means[place],
        }
        found = float(bool(planted & frozenset(verdict.lines))) if planted else math.nan
        rows.append(
            {
                **vars(claim),
                **vars(verdict),
                **row,
                "same_as": sources.index(source),
                "found": found,
            }
        )
    count, pages = written["prefix_tokens"], checker.pages
    perplexity = math.exp(-written["prefix_nats"] / count) if count else math.nan
    return CheckedGeneration(
        unit,
        split,
        str(written["setting"]),
        str(written["page"]),
        CheckedText.of(unit, split, [(verdict.label, verdict.evidence) for verdict in verdicts]),
        CheckedText.of(unit, split, truths) if truths is not None else None,
        TokenText(unit, split, written["token"], written["reference"]),
        _table(rows),
        np.array([perplexity, similarity.score(text, title), written["repeat"]]),
        tuple(claim.text for claim in claims),
        tuple(
            " ".join(f"{page}: {pages[page][line]}" for page, line in verdict.lines)
            for verdict in verdicts
        ),
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """(sentences, SENTENCE_COLUMNS), nan where a row names no value."""
    values = [[row.get(name, math.nan) for name in SENTENCE_COLUMNS] for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(SENTENCE_COLUMNS))


def claims_of(text: str, title: str, split: Callable[[str], Sequence[str]]) -> list[Claim]:
    """The first five sentences of a text as claims about the page ``title``; an empty text has none."""
    made = []
    for sentence in [sentence.strip() for sentence in split(text) if sentence.strip()][
        : score.SENTENCES
    ]:
        resolved, replaced = replace_pronoun(sentence, title)
        named = replace_determiner(resolved, title)
        words, cut = _WORD.findall(sentence), _CLOSED.search(sentence) is None
        made.append(
            Claim(
                named or resolved,
                sentence,
                len(words) <= MOST_TOKENS,
                named is not None,
                replaced,
                cut,
            )
        )
    return made


def replace_determiner(sentence: str, title: str) -> str | None:
    """The sentence with its opening "the" and common noun replaced by the title; None where the rule does not fire.

    A noun with a capital is a name, and "The United States" stays. "The war ended" becomes "<title> ended": the rule
    over-applies by design (massarelli2020 section 3), which is why it is counted.
    """
    spans = [match.span() for match in _WORD.finditer(sentence)]
    words = [sentence[start:end] for start, end in spans]
    if (
        len(words) < 2
        or words[0].lower() != "the"
        or NounRules().classes(words)[1] != NOUN
        or not words[1].islower()
    ):
        return None
    return title + sentence[spans[1][1] :]


def replace_pronoun(sentence: str, title: str) -> tuple[str, int]:
    """A pronoun of the third person that opens a sentence means the page's subject; how many were replaced.

    A baseline for texts about one subject, not coreference resolution.
    """
    words = _WORD.findall(sentence)
    if not words or words[0].lower() not in PRONOUNS:
        return sentence, 0
    before_noun = len(words) > 1 and NounRules().classes(words)[1] in (NOUN, ADJECTIVE)
    possessive = words[0].lower() in POSSESSIVE or (words[0].lower() == "her" and before_noun)
    return sentence.replace(words[0], f"{title}'s" if possessive else title, 1), 1


def read_claims(
    *, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str] = ("test",)
) -> Predictions:
    """Verdicts of a trained checker on claims (:mod:`longform.datasets.fever`), each a unit of one sentence, beside their labels."""
    found = [
        (document.split, claim)
        for document, claim in known_claims(documents)
        if document.split in splits
    ]
    if not found:
        raise BadInput(
            f"infer {name}: no claims in splits {list(splits)}; fix splits, or name a corpus of fever.py"
        )
    checker, units = open_checker(reader), []
    for (split, claim), verdict in zip(
        found, checker.check([claim.text for _, claim in found]), strict=True
    ):
        unit, evidence, nothing = (
            f"claim:{claim.id}",
            frozenset(claim.evidence),
            np.zeros(0, dtype=np.int64),
        )
        hit = float(evidence <= frozenset(verdict.lines)) if evidence else math.nan
        checks = CheckedText.of(unit, split, [(verdict.label, verdict.evidence)])
        truth = CheckedText.of(unit, split, [(claim.label, evidence)])
        row = _table([{**vars(verdict), "words": len(claim.text.split()), "found": hit}])
        about = np.full(len(score.UNIT_COLUMNS), math.nan)
        tokens = TokenText(unit, split, nothing, nothing)
        units.append(
            CheckedGeneration(unit, split, "claims", unit, checks, truth, tokens, row, about)
        )
    return score.generations_to_predictions(units)
