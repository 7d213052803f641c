"""A fact checker's verdicts on generated texts, and on texts whose truth is known.

A text becomes claims in the paper's order (massarelli2020 section 3): the first five sentences; an
opening pronoun, or determiner with its noun, replaced by the page's title; more than 50 tokens not
verifiable. Beside the verdicts stand planted truth and the counts of Table 4.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.verifiability import text_measures
from longform.critics.verifiability.checker import Checker, PageIndex, Verdict, selector
from longform.critics.verifiability.checks import (
    NEI,
    SENTENCE_COLUMNS,
    SENTENCES,
    UNIT_COLUMNS,
    CheckedGeneration,
    CheckedText,
    Evidence,
    generations_to_predictions,
)
from longform.critics.verifiability.train import open_entailment
from longform.datasets.fever import MOST_TOKENS, FeverClaim, PageFile
from longform.datasets.fever import claims_of as known_claims
from longform.decoding.continuations import CONTINUATION
from longform.documents import Document, Predictions
from longform.errors import ArtefactError, InputError
from longform.files.artefacts import read_json, trained_files
from longform.text.nouns import ADJECTIVE, NOUN, NounRules
from longform.text.paragraphs import from_lines, single_spaced
from longform.text.rendering import TokenText
from longform.text.sentences import SPLITTERS

Label = tuple[str, Evidence]
Judge = Callable[[str], Label]  # the exact label of a sentence and the lines that show it
ExactChecker = Callable[[Mapping[str, Sequence[str]]], Judge]  # of pages: titles and their lines
POSSESSIVE = frozenset(["his", "its", "their", "hers", "theirs"])
PRONOUNS = POSSESSIVE | {"he", "she", "it", "they", "him", "them", "her"}
# Arrays of a generation's truth: one value each, or (tokens,). Nats are log-probabilities under
# the generating model, also of human texts, so at most 0.
GENERATION_ARRAYS = (
    "setting",  # name of the decoder, or "human"
    "page",  # id of the prompt's document
    "repeat",  # number of the sample among those of one prompt and decoder, from 0
    "prefix_nats",  # summed over the prompt
    "prefix_tokens",  # the prompt's, less the first, which has no probability
    "token_nats",  # (tokens,)
    "token_marks",  # (tokens,), characters that are no blanks, by which tokens find sentences
    "token",  # (tokens,), ids of the continuation
    "reference",  # (other tokens,), ids of the human text in its place
)
_WORD = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
_CLOSED = re.compile(r"[.!?][\"'”’)\]]*$")


@dataclass(frozen=True)
class Claim:
    """One sentence, ready for a checker.

    Attributes:
        text: what is checked.
        source: the sentence as it was generated.
        verifiable: False where the sentence is too long; it counts as not enough information.
        named: whether the determiner rule put the title in.
        pronouns: how many pronouns were replaced.
        cut: the sentence does not end in a closing mark, so the generation ran out inside it.
    """

    text: str
    source: str
    verifiable: bool
    named: bool
    pronouns: int
    cut: bool


@dataclass(frozen=True)
class Continuation:
    """One generated text with its claims.

    Attributes:
        document: holds its prefix and its continuation.
        title: the page's.
        text: what is read.
        claims: its first sentences.
        truth: the row of each of ``GENERATION_ARRAYS``.
    """

    document: Document
    title: str
    text: str
    claims: list[Claim]
    truth: Mapping[str, Any]

    @property
    def by_human(self) -> bool:
        """Whether a person wrote it."""
        return self.truth["setting"] == "human"


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    name: str,
    exact: ExactChecker | None = None,
    splitter: str = "full_stops",
) -> Predictions:
    """Check the first five sentences of every continuation, and count what Table 4 counts.

    Args:
        documents, truth: generations as ``continuations.py`` writes them.
        reader: folder of a trained checker.
        name: of the stage, for messages.
        exact: knows what the pages state, where exact verdicts are wanted too.
        splitter: how texts are split into sentences, a key of ``SPLITTERS``.

    Returns:
        :class:`CheckedGeneration` units, packed.

    Raises InputError: texts that ``continuations.py`` did not write.
    """
    missing = [array for array in GENERATION_ARRAYS if array not in truth]
    if missing:
        raise InputError(
            f"infer {name}: the texts have no {missing[0]!r} beside them; "
            "texts come from continuations.py"
        )
    rows = len(truth["setting"])
    if rows != len(documents):
        raise InputError(
            f"infer {name}: {len(documents)} documents, truth of {rows}; run generate again"
        )
    # 1. The claims of every text, and the word pairs that similarity counts.
    checker = open_checker(reader)
    continuations, claims, grams = [], [], set[str]()
    truths = Predictions.of(documents, truth).rows(*GENERATION_ARRAYS)
    # A row has the document's id and split before the arrays' values.
    for document, (_, _, *row) in zip(documents, truths, strict=True):
        about = dict(zip(GENERATION_ARRAYS, row, strict=True))
        continuation = _continuation(document, about, name, splitter)
        continuations.append(continuation)
        grams.update(text_measures.grams(continuation.text))
        for claim in continuation.claims:
            grams.update(text_measures.grams(claim.source))
            if claim.verifiable:
                claims.append(claim.text)
    # 2. The verdicts, all at once.
    checker.check(claims)
    # 3. Everything else that is read of a text.
    readers = Readers(
        checker,
        exact(checker.pages) if exact else None,
        PageSimilarity(checker.pages, grams),
        text_measures.link_parser(),
    )
    return generations_to_predictions(list(map(readers.read, continuations)))


def _continuation(
    document: Document, truth: Mapping[str, Any], name: str, splitter: str
) -> Continuation:
    """A generated text and its claims; people's text begins with the prompt's sentence.

    Args:
        document: its first section is the prompt; others are the continuation and people's text.
        truth: of the document.
        name: of the stage, for messages.
        splitter: how a text is cut into sentences.

    Raises:
        InputError: the document has no continuation.
    """
    opening = document.sections[0]
    texts = {}
    for section in document.sections[1:]:
        texts[section.title] = section.text
    if CONTINUATION not in texts:
        raise InputError(
            f"infer {name}: document {document.id!r} has no continuation; "
            "use texts of continuations.py"
        )
    text = texts[CONTINUATION]
    if truth["setting"] == "human":
        blank = "" if text[:1].isspace() else " "
        text = opening.text + blank + text
    text = single_spaced(from_lines(text))
    title = opening.title or ""
    claims = claims_of(text, title, SPLITTERS[splitter])
    return Continuation(document, title, text, claims, truth)


def open_checker(folder: Path) -> Checker:
    """Open a saved checker from its folder. Raises ArtefactError: files are absent or damaged."""
    files = ("checker.json", *PageFile.FILES, *PageIndex.FILES)
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise ArtefactError(
            f"{folder}: no {' and '.join(missing[:2])}; name a folder that verifiability trained"
        )
    record = read_json(folder / "checker.json")
    with trained_files(folder, "fact checker"):
        pages = PageFile(folder)
        choose = selector(pages, record)
    return Checker(pages, choose, open_entailment(folder, record), record)


@dataclass(frozen=True)
class PageSimilarity:
    r"""Unnormalised tf-idf product of a text with a page.

    $\sum_w f(w, \text{text}) f(w, \text{page})$ over words and pairs of words, with
    $f(w, d) = \log(1 + \text{tf}) \max(0, \log\frac{N - n_w + 1/2}{n_w + 1/2})$, the weights of
    DrQA (Chen et al. 2017), whose scale fits the printed values; words are not hashed.

    Attributes:
        pages: the encyclopedia.
        grams: words and pairs of words that are counted, those of the texts to score: counting
            all grams of millions of pages would take too much memory.
    """

    pages: Mapping[str, Sequence[str]]
    grams: Set[str]
    _weights: dict[str, dict[str, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def frequency(self) -> Counter[str]:
        """How many pages have each of the grams."""
        counts: Counter[str] = Counter()
        for lines in self.pages.values():
            counts.update(self.grams & set(text_measures.grams(" ".join(lines))))
        return counts

    def _weigh(self, text: str) -> dict[str, float]:
        """The weight ln(1 + count) * idf of each gram of a text, where it is above 0."""
        pages = len(self.pages)
        weights = {}
        for gram, count in Counter(text_measures.grams(text)).items():
            frequency = self.frequency[gram]
            idf = math.log((pages - frequency + 0.5) / (frequency + 0.5))
            if idf > 0:
                weights[gram] = math.log1p(count) * idf
        return weights

    def score(self, text: str, title: str) -> float:
        """Unnormalised tf-idf product of a text with the page ``title``.

        It grows with the lengths of both, so it has no upper bound; 0 where there is no such page.
        """
        if title not in self.pages:
            return 0.0
        if title not in self._weights:
            self._weights[title] = self._weigh(" ".join(self.pages[title]))
        page_weights = self._weights[title]
        products = []
        for gram, text_weight in self._weigh(text).items():
            products.append(text_weight * page_weights.get(gram, 0.0))
        return sum(products)


@dataclass(frozen=True)
class Readers:
    """The measures that are taken of each generated text.

    Attributes:
        checker: gives verdicts.
        exact: gives exact labels by what the pages state; None where these are not asked for.
        similarity: compares a text with its page.
        links: whether a sentence is parsed by Link Grammar; nan where that is not installed.
    """

    checker: Checker
    exact: Judge | None
    similarity: PageSimilarity
    links: Callable[[str], float]

    def read(self, text: Continuation) -> CheckedGeneration:
        """The verdicts on one generation's first sentences, and everything else known of it.

        The text of a model is its continuation alone; a human text begins with the prefix, which
        is then its first sentence.
        """
        unit, split = text.document.id, text.document.split
        # 1. The checker's verdicts and the planted labels; a sentence that is not verifiable keeps
        #    the default of both, "not enough info" without evidence.
        verdicts, labels, checks, texts, lines = [], [], [], [], []
        for claim in text.claims:
            verdict, label = Verdict(), (NEI, frozenset[tuple[str, int]]())
            if claim.verifiable:
                verdict = self.checker.check([claim.text])[0]
                label = self.exact(claim.text) if self.exact else label
            verdicts.append(verdict)
            labels.append(label)
            checks.append((verdict.label, verdict.evidence))
            texts.append(claim.text)
            lines.append(self._lines_of(verdict))
        # 2. A row for each sentence.
        rows = self._sentence_rows(text, verdicts, labels)
        # 3. What is known of the text; the prefix's nats are its summed log-probability.
        prefix_tokens, prefix_log_prob = text.truth["prefix_tokens"], text.truth["prefix_nats"]
        perplexity = math.nan
        if prefix_tokens:
            perplexity = math.exp(-prefix_log_prob / prefix_tokens)
        about = {
            "prefix_perplexity": perplexity,
            "tfidf": self.similarity.score(text.text, text.title),
            "repeat": text.truth["repeat"],
        }
        return CheckedGeneration(
            unit,
            split,
            setting=str(text.truth["setting"]),
            page=str(text.truth["page"]),
            checks=CheckedText.of(unit, split, checks),
            truth=CheckedText.of(unit, split, labels) if self.exact else None,
            tokens=TokenText(unit, split, text.truth["token"], text.truth["reference"]),
            sentences=_table(rows),
            about=np.array([about[column] for column in UNIT_COLUMNS]),
            texts=tuple(texts),
            lines=tuple(lines),
        )

    def _sentence_rows(
        self, text: Continuation, verdicts: Sequence[Verdict], labels: Sequence[Label]
    ) -> list[dict[str, Any]]:
        """Values of ``SENTENCE_COLUMNS`` of each sentence.

        Args:
            text: the generation.
            verdicts: on its sentences.
            labels: the exact label of each sentence, with the lines that show it.
        """
        sources = [claim.source for claim in text.claims]
        # A human text's first sentence is the prefix, for whose tokens there are no nats.
        num_prefix = 1 if text.by_human and sources else 0
        nats, marks = text.truth["token_nats"].tolist(), text.truth["token_marks"].tolist()
        own_means = text_measures.mean_nats(sources[num_prefix:], nats, marks)
        means = [math.nan] * num_prefix + own_means
        rows = []
        for claim, verdict, (_, evidence), mean in zip(
            text.claims, verdicts, labels, means, strict=True
        ):
            source = claim.source
            # Any line counts: a sentence may state several facts, each shown by a line of its own.
            # A labelled claim needs all lines of its set, see _checked_claim.
            is_found = float(not evidence.isdisjoint(verdict.lines)) if evidence else math.nan
            rows.append(
                {
                    **vars(claim),
                    **vars(verdict),
                    "words": len(source.split()),
                    "entities": text_measures.entities(source),
                    "conjunctions": text_measures.conjunctions(source),
                    "linked": self.links(source),
                    "tfidf": self.similarity.score(source, text.title),
                    "nats": mean,
                    "same_as": sources.index(source),
                    "found": is_found,
                }
            )
        return rows

    def _lines_of(self, verdict: Verdict) -> str:
        """The texts of the lines that a verdict was made on, each as ``title: line``."""
        pages = self.checker.pages
        return " ".join(f"{page}: {pages[page][line]}" for page, line in verdict.lines)


def _table(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """(sentences, SENTENCE_COLUMNS), nan where a row names no value."""
    table = np.full((len(rows), len(SENTENCE_COLUMNS)), math.nan)
    for values, row in zip(table, rows, strict=True):
        for column, name in enumerate(SENTENCE_COLUMNS):
            values[column] = row.get(name, math.nan)
    return table


def check_texts(documents: Sequence[Document], reader: Path, splitter: str) -> list[CheckedText]:
    """Check the first sentences of texts, as claims about the page that their first title names.

    Args:
        documents: the texts.
        reader: folder of a trained checker.
        splitter: how texts are split into sentences, a key of ``SPLITTERS``.
    """
    checked = text_verdicts(documents, open_checker(reader), splitter)
    units = []
    for document, verdicts in zip(documents, checked, strict=True):
        rows = []
        for _, verdict in verdicts:
            rows.append((verdict.label, verdict.evidence))
        units.append(CheckedText.of(document.id, document.split, rows))
    return units


def text_verdicts(
    documents: Sequence[Document], checker: Checker, splitter: str
) -> list[list[tuple[Claim, Verdict]]]:
    """The first sentences of each text as claims about its first title's page, with their verdicts.

    Args:
        documents: the texts; all of their claims are judged at once.
        checker: gives the verdicts; a claim that is not verifiable gets not enough information.
        splitter: how texts are split into sentences, a key of ``SPLITTERS``.
    """
    # 1. The claims of each text; those that can be judged, all at once, so that the checker
    #    remembers its verdicts.
    claims = []
    for document in documents:
        title = document.sections[0].title or ""
        claims.append(claims_of(document.text, title, SPLITTERS[splitter]))
    verifiable = []
    for text_claims in claims:
        verifiable += [claim.text for claim in text_claims if claim.verifiable]
    checker.check(verifiable)
    # 2. Each claim with its verdict, which the checker has now.
    verdicts = []
    for text_claims in claims:
        rows = []
        for claim in text_claims:
            verdict = Verdict()
            if claim.verifiable:
                (verdict,) = checker.check([claim.text])
            rows.append((claim, verdict))
        verdicts.append(rows)
    return verdicts


def claims_of(text: str, title: str, split: Callable[[str], Sequence[str]]) -> list[Claim]:
    """The first five sentences of a text as claims about the page ``title``.

    Args:
        text: an empty one has no claims.
        title: replaces opening pronouns, and opening nouns with their determiner; if empty, both
            stay.
        split: gives the sentences of a text.
    """
    sentences = list(filter(None, map(str.strip, split(text))))
    claims = []
    for sentence in sentences[:SENTENCES]:
        resolved, replaced, renamed = sentence, 0, None
        if title:
            resolved, replaced = replace_pronoun(sentence, title)
            renamed = replace_determiner(resolved, title)
        claim = Claim(
            text=renamed or resolved,
            source=sentence,
            verifiable=len(_WORD.findall(sentence)) <= MOST_TOKENS,
            named=renamed is not None,
            pronouns=replaced,
            cut=_CLOSED.search(sentence) is None,
        )
        claims.append(claim)
    return claims


def replace_determiner(sentence: str, title: str) -> str | None:
    """The sentence with its opening "the" and common noun replaced by the title.

    A noun with a capital is a name, and "The United States" stays. "The war ended" becomes
    "<title> ended": the rule over-applies by design (massarelli2020 section 3), which is why it is
    counted.

    Returns:
        None where the rule does not fire.
    """
    matches = list(_WORD.finditer(sentence))
    words = [match[0] for match in matches]
    if len(words) < 2 or words[0].lower() != "the" or not words[1].islower():
        return None
    if NounRules().classes(words)[1] != NOUN:
        return None
    return title + sentence[matches[1].end() :]


def replace_pronoun(sentence: str, title: str) -> tuple[str, int]:
    """Replace a pronoun of the third person that opens a sentence by the title.

    A baseline for texts about one subject, not coreference resolution.

    Returns:
        The sentence, and how many pronouns were replaced, 0 or 1.
    """
    words = _WORD.findall(sentence)
    if not words or words[0].lower() not in PRONOUNS:
        return sentence, 0
    pronoun = words[0].lower()
    before_noun = len(words) > 1 and NounRules().classes(words)[1] in (NOUN, ADJECTIVE)
    possessive = pronoun in POSSESSIVE or (pronoun == "her" and before_noun)
    name = f"{title}'s" if possessive else title
    return sentence.replace(words[0], name, 1), 1


def read_claims(
    *, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str] = ("test",)
) -> Predictions:
    """Check labelled claims: predictions with a verdict beside each claim's label.

    Each claim is a unit of one sentence.

    Args:
        documents: of a corpus of :mod:`longform.datasets.fever`.
        reader: folder of a trained checker.
        name: of the stage, for messages.
        splits: which claims are read.

    Raises InputError: no claims in these splits.
    """
    claims, claim_splits = [], []
    for document, claim in known_claims(documents):
        if document.split in splits:
            claims.append(claim)
            claim_splits.append(document.split)
    if not claims:
        raise InputError(
            f"infer {name}: no claims in splits {list(splits)}; "
            "fix splits, or name a corpus of fever.py"
        )
    verdicts = open_checker(reader).check([claim.text for claim in claims])
    units = []
    for claim, split, verdict in zip(claims, claim_splits, verdicts, strict=True):
        units.append(_checked_claim(claim, split, verdict))
    return generations_to_predictions(units)


def _checked_claim(claim: FeverClaim, split: str, verdict: Verdict) -> CheckedGeneration:
    """A known claim with its verdict, as a generation of one sentence."""
    unit = f"claim:{claim.id}"
    evidence = frozenset(claim.evidence)
    # FEVER's lines are one set, which shows the label only as a whole: all must be judged.
    is_found = float(evidence <= frozenset(verdict.lines)) if evidence else math.nan
    row = {**vars(verdict), "words": len(claim.text.split()), "found": is_found}
    no_tokens = np.zeros(0, dtype=np.int64)
    return CheckedGeneration(
        unit,
        split,
        setting="claims",
        page=unit,
        checks=CheckedText.of(unit, split, [(verdict.label, verdict.evidence)]),
        truth=CheckedText.of(unit, split, [(claim.label, evidence)]),
        tokens=TokenText(unit, split, no_tokens, no_tokens),
        sentences=_table([row]),
        about=np.full(len(UNIT_COLUMNS), math.nan),
    )
