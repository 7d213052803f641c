r"""Training of a fact checker on labelled claims: its pages are frozen beside an entailment model.

Ours is a decomposable attention network (Parikh et al. 2016) that also sees which words both sides
share: names and numbers are read by shape and compared, $e_{ij} = F(a_i) \cdot F(b_j) + u m_{ij}$.
Brought are Hugging Face sequence classifiers and MiniCheck's model.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

from longform.critics.verifiability.checker import (
    SURE,
    WORD,
    Checker,
    Entailment,
    Pages,
    Pair,
    frozen,
    selector,
)
from longform.critics.verifiability.checks import LABELS, NEI, REFUTED, SUPPORTED
from longform.datasets.fever import FeverClaim, Line, claims_of, pages_in, pages_of
from longform.documents import Document, grouped
from longform.errors import ConfigError, InputError
from longform.files.artefacts import trained_files
from longform.language_models import capacity
from longform.language_models.checkpoints import load_config, load_model, load_tokenizer
from longform.language_models.device import placed
from longform.language_models.lightning import Learner, fit_learner
from longform.statistics.random_streams import derived_seed

TRAINED, BROUGHT = "entailment.safetensors", "entailment"  # file or folder of a checker's folder
SHAPES = ("<nothing>", "<number>", "<name>", "<word>", "<title>")
# Of a claim or sentence; sentences of more than 50 are not checked (massarelli2020, section 5).
MOST_WORDS = 64
BATCH = 256  # pairs at a time of our own network
BROUGHT_BATCH = 16  # of a brought model
NEGATIVES = 2  # selected lines a claim that are no evidence, labelled "not enough information"
WORDINGS: Mapping[str, tuple[str, ...]] = {  # what published models call the three labels
    SUPPORTED: ("supported", "supports", "entailment", "support"),
    REFUTED: ("refuted", "refutes", "contradiction", "refute"),
    NEI: ("not_enough_info", "not enough info", "neutral", "nei"),
}
MINICHECK_PROMPT = "predict: {premise}</s>{claim}"  # Tang, Laban and Durrett 2024, released code
# T5's tokens of "0" (it begins with the word mark) and "1", the same code.
MINICHECK_ANSWERS = (3, 209)


@dataclass(frozen=True)
class Vocabulary:
    """The ids of words: frequent words have their own, all others that of their shape.

    Attributes:
        words: id of each word with its own.
    """

    words: Mapping[str, int]

    @classmethod
    def of(cls, words: Sequence[str]) -> "Vocabulary":
        """The vocabulary of some words, whose ids follow those of the shapes."""
        return cls({word: number for number, word in enumerate(words, len(SHAPES))})

    def read(self, text: str, title: frozenset[str]) -> tuple[list[int], list[str]]:
        """Ids and lower-case words of a text, cut at ``MOST_WORDS``.

        Args:
            text: a claim or sentence.
            title: words of the page's title, which have an id of their own.
        """
        ids, lowered = [], []
        for number, word in enumerate(WORD.findall(text)[:MOST_WORDS]):
            lower = word.lower()
            lowered.append(lower)
            if lower in title:
                ids.append(SHAPES.index("<title>"))
            elif word[0].isdigit():
                ids.append(SHAPES.index("<number>"))
            elif word[0].isupper() and (number or lower not in self.words):
                ids.append(SHAPES.index("<name>"))
            else:
                ids.append(self.words.get(lower, SHAPES.index("<word>")))
        return ids, lowered


class DecomposableAttention(nn.Module):
    """See the module's text.

    Args:
        symbols: number of word ids.
        size: width of every layer.
    """

    def __init__(self, symbols: int, size: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, size, padding_idx=0)
        self.shared = nn.Embedding(2, size)
        self.near = nn.Conv1d(size, size, 3, padding=1)
        self.attend = nn.Linear(size, size)
        self.equal = nn.Parameter(torch.tensor(4.0))
        self.compare = nn.Sequential(
            nn.Linear(3 * size, size), nn.ReLU(), nn.Linear(size, size), nn.ReLU()
        )
        self.label = nn.Sequential(
            nn.Linear(4 * size, size), nn.ReLU(), nn.Linear(size, len(LABELS))
        )

    def forward(
        self, claim: torch.Tensor, sentence: torch.Tensor, equal: torch.Tensor
    ) -> torch.Tensor:
        """Logits of ``LABELS``.

        Args:
            claim, sentence: ids, (pairs, words of each side), 0 beyond a text's end.
            equal: which words are equal, bool (pairs, words, words).

        Returns:
            (pairs, 3).
        """
        in_claim, in_sentence = claim > 0, sentence > 0
        a = self._states(claim, equal.any(2))
        b = self._states(sentence, equal.any(1))
        # 1. Attend: each word of one side to the words of the other.
        similarity = self.attend(a) @ self.attend(b).transpose(1, 2) / a.shape[-1] ** 0.5
        scores = similarity + self.equal * equal
        beta = _weights(scores, in_sentence[:, None]) @ b
        alpha = _weights(scores.transpose(1, 2), in_claim[:, None]) @ a
        # 2. Compare each word with what it attends to, and aggregate.
        claim_pools = self._pool(a, beta, in_claim)
        sentence_pools = self._pool(b, alpha, in_sentence)
        return self.label(torch.cat([*claim_pools, *sentence_pools], dim=-1))

    def _states(self, ids: torch.Tensor, shared: torch.Tensor) -> torch.Tensor:
        """States of words with their neighbours, (pairs, words, size)."""
        states = (self.embed(ids) + self.shared(shared.long())) * (ids > 0)[..., None]
        return states + torch.relu(self.near(states.transpose(1, 2)).transpose(1, 2))

    def _pool(
        self, words: torch.Tensor, attended: torch.Tensor, in_text: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Compare each word with what it attends to: mean and maximum over words, (pairs, size)."""
        compared = self.compare(torch.cat([words, attended, words * attended], dim=-1))
        compared = compared * in_text[..., None]
        mean = compared.sum(1) / in_text.sum(1, keepdim=True).clamp(min=1)
        return mean, compared.amax(1)


def _weights(scores: torch.Tensor, in_text: torch.Tensor) -> torch.Tensor:
    """Softmax of scores over the words of a text (the last axis), 0 beyond its end."""
    return scores.masked_fill(~in_text, -1e9).softmax(-1) * in_text


@dataclass(frozen=True)
class TrainedEntailment:
    """A trained network with its vocabulary."""

    network: DecomposableAttention
    vocabulary: Vocabulary

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """P(label | claim, sentence), float64 (pairs, labels), columns as ``LABELS``.

        A pair with a side without words is not enough information (NEI) for certain.
        """
        probabilities = np.zeros((len(pairs), len(LABELS)))
        probabilities[:, LABELS.index(NEI)] = 1.0
        # 1. Pairs with words on both sides, sorted by the sentence's length, which saves padding.
        rows = [encoded(pair, self.vocabulary) for pair in pairs]
        readable = [i for i, (claim, sentence, _) in enumerate(rows) if claim and sentence]
        readable.sort(key=lambda i: len(rows[i][1]))
        # 2. Batches of them.
        self.network.eval()
        device = self.network.embed.weight.device
        for start in range(0, len(readable), BATCH):
            part = readable[start : start + BATCH]
            batch = collate([(rows[i], 0) for i in part])  # 0: a label that nothing reads
            claim, sentence, equal = batch["claim"], batch["sentence"], batch["equal"]
            with torch.inference_mode():
                logits = self.network(claim.to(device), sentence.to(device), equal.to(device))
            probabilities[part] = logits.double().softmax(-1).cpu().numpy()
        return probabilities

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the weights, and return width and words, as :class:`Entailment` asks."""
        state = self.network.state_dict()
        weights = {name: value.contiguous() for name, value in state.items()}
        save_file(weights, folder / TRAINED)
        return {"size": self.network.embed.embedding_dim, "words": list(self.vocabulary.words)}


# Ids of the claim's words, of the sentence's, and (place in claim, in sentence) of equal words.
Encoded = tuple[list[int], list[int], list[tuple[int, int]]]


def encoded(pair: Pair, vocabulary: Vocabulary) -> Encoded:
    """A pair as the network reads it; words of the page's title are marked on both sides."""
    title = frozenset(word.lower() for word in WORD.findall(pair.title))
    claim, claim_words = vocabulary.read(pair.claim, title)
    sentence, sentence_words = vocabulary.read(pair.sentence, title)
    positions = grouped(range(len(sentence_words)), sentence_words.__getitem__)
    equal = []
    for i, word in enumerate(claim_words):
        for j in positions.get(word, ()):
            equal.append((i, j))
    return claim, sentence, equal


def collate(items: Sequence[tuple[Encoded, int]]) -> dict[str, torch.Tensor]:
    """A batch of pairs with their labels, both sides padded with zeros.

    Returns:
        ``claim`` and ``sentence`` int64 (pairs, words), ``equal`` bool (pairs, words, words) and
        ``labels`` int64 (pairs,).
    """
    claim_words = sentence_words = 0
    for (claim, sentence, _), _ in items:
        claim_words = max(claim_words, len(claim))
        sentence_words = max(sentence_words, len(sentence))
    claims = np.zeros((len(items), claim_words), dtype=np.int64)
    sentences = np.zeros((len(items), sentence_words), dtype=np.int64)
    equal = np.zeros((len(items), claim_words, sentence_words), dtype=bool)
    labels = []
    for row, ((claim, sentence, positions), label) in enumerate(items):
        claims[row, : len(claim)] = claim
        sentences[row, : len(sentence)] = sentence
        for i, j in positions:
            equal[row, i, j] = True
        labels.append(label)
    return {
        "claim": torch.from_numpy(claims),
        "sentence": torch.from_numpy(sentences),
        "equal": torch.from_numpy(equal),
        "labels": torch.from_numpy(np.array(labels)),
    }


@dataclass(frozen=True)
class _Brought:
    """A model of the Hugging Face layout with its tokenizer."""

    network: Any
    tokenizer: Any

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Probabilities of ``LABELS``, float64 (pairs, 3), some pairs at a time."""
        probabilities = np.zeros((len(pairs), len(LABELS)))
        for start in range(0, len(pairs), BROUGHT_BATCH):
            part = slice(start, start + BROUGHT_BATCH)
            with torch.inference_mode():
                probabilities[part] = self.judged(pairs[part])
        return probabilities

    def judged(self, pairs: Sequence[Pair]) -> np.ndarray:
        """P(label | pair) for one batch of pairs, (pairs, 3), columns as ``LABELS``."""
        raise NotImplementedError

    def save(self, folder: Path) -> dict[str, Any]:
        """Write model and tokenizer, which need no other settings."""
        self.network.save_pretrained(folder / BROUGHT)
        self.tokenizer.save_pretrained(folder / BROUGHT)
        return {}


@dataclass(frozen=True)
class ClassifierEntailment(_Brought):
    """A sequence classifier with three labels, or with MiniCheck's two: not supported, supported.

    Attributes:
        columns: for each of ``LABELS`` the model's label, or None where it has none.
        max_length: tokens that the model reads.
    """

    columns: tuple[int | None, ...] = (0, 1, 2)
    max_length: int = 512

    def judged(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Probabilities for one batch of pairs, (pairs, 3)."""
        inputs = self.tokenizer(
            list(map(premise, pairs)),
            [pair.claim for pair in pairs],
            truncation="only_first",
            max_length=self.max_length,
            padding=True,
            return_tensors="pt",
        )
        logits = self.network(**inputs.to(self.network.device)).logits
        by_column = logits.double().softmax(-1).cpu().numpy()
        probabilities = np.zeros((len(pairs), len(LABELS)))
        for label, column in enumerate(self.columns):
            if column is not None:
                probabilities[:, label] = by_column[:, column]
        return probabilities


@dataclass(frozen=True)
class MiniCheckEntailment(_Brought):
    """MiniCheck's Flan-T5: whether the first token of its answer is 1 rather than 0.

    What it does not support is not enough information.

    Attributes:
        max_length: tokens that the model reads.
    """

    max_length: int = 2048

    def judged(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Probabilities for one batch of pairs, (pairs, 3)."""
        device = self.network.device
        texts = []
        for pair in pairs:
            texts.append(MINICHECK_PROMPT.format(premise=premise(pair), claim=pair.claim))
        encoding = self.tokenizer(
            texts, truncation=True, max_length=self.max_length, padding=True, return_tensors="pt"
        )
        start_token = self.network.config.decoder_start_token_id
        output = self.network(
            input_ids=encoding["input_ids"].to(device),
            attention_mask=encoding["attention_mask"].to(device),
            decoder_input_ids=torch.full((len(pairs), 1), start_token, device=device),
        )
        answers = output.logits[:, 0, list(MINICHECK_ANSWERS)]
        # The probability of "1" against "0": supported, else not enough information; it has no
        # answer for refuted.
        yes = answers.double().softmax(-1)[:, 1].cpu().numpy()
        return np.stack([yes, np.zeros(len(pairs)), 1 - yes], axis=1)


def premise(pair: Pair) -> str:
    """A pair's sentence after its page's title, as ``title: sentence``."""
    return f"{pair.title}: {pair.sentence}" if pair.title else pair.sentence


def brought_entailment(folder: Path) -> Entailment:
    """Open a published entailment model in a folder (or of the hub id in its ``pointer.json``).

    Raises ConfigError: labels that are neither two nor named like the three.
    """
    config = load_config(folder)
    tokenizer = load_tokenizer(folder)
    if config.is_encoder_decoder:
        network = load_model(folder, AutoModelForSeq2SeqLM).eval()
        return MiniCheckEntailment(placed(network, reading=True), tokenizer)
    network = placed(load_model(folder, AutoModelForSequenceClassification).eval(), reading=True)
    room = capacity.window_size(network, 512)
    return ClassifierEntailment(network, tokenizer, columns_of(config, folder), room)


def columns_of(config: Any, folder: Path) -> tuple[int | None, ...]:
    """The column of each of ``LABELS`` in the model's output; None for one that it lacks.

    A model of two labels says "not supported" or "supported", and never refuted.

    Raises ConfigError: labels that are neither two nor named like the three.
    """
    if config.num_labels == 2:
        return (1, None, 0)
    column_of_name = {}
    for column, name in config.id2label.items():
        column_of_name[str(name).lower().replace("-", " ")] = int(column)
    columns = []
    for label in LABELS:
        name = next(filter(column_of_name.__contains__, WORDINGS[label]), None)
        if name is None:
            raise ConfigError(
                f"{folder}: the model's labels are {sorted(column_of_name)}; allowed are two, or "
                f"three named like {dict(WORDINGS)}; fix id2label in its config.json"
            )
        columns.append(column_of_name[name])
    return tuple(columns)


def open_entailment(folder: Path, record: Mapping[str, Any]) -> Entailment:
    """Open the entailment model of a checker's folder, on the chosen device.

    Args:
        folder: of the checker.
        record: settings of the checker, with those that :meth:`Entailment.save` returned.

    Raises:
        ArtefactError: its files are damaged.
    """
    if (folder / BROUGHT).is_dir():
        return brought_entailment(folder / BROUGHT)
    with trained_files(folder, "fact checker", SafetensorError, RuntimeError):
        network = DecomposableAttention(len(SHAPES) + len(record["words"]), record["size"])
        network.load_state_dict(load_file(folder / TRAINED))
        vocabulary = Vocabulary.of(record["words"])
    return TrainedEntailment(placed(network.eval()), vocabulary)


Labelled = tuple[Pair, str]


def fit(
    *,
    documents: Sequence[Document],
    base: Path,
    name: str,
    seed: int,
    scratch: Path,
    entailment: str = "trained",
    size: int = 48,
    min_count: int = 3,
    schedule: Mapping[str, Any] | None = None,
    retrieval: Mapping[str, Any] | None = None,
    selection: Mapping[str, Any] | None = None,
    sure: float = SURE,
) -> Checker:
    """Train on claims, or bring an entailment model, and freeze the pages beside it.

    Args:
        documents: pages and claims, see :mod:`longform.datasets.fever`.
        base: folder that has ``wiki-pages`` in FEVER's format, where the documents hold no pages;
            for ``brought`` the folder (or pointer) of a classifier or of MiniCheck.
        name, seed, scratch: of the training.
        entailment: "trained" or "brought".
        size: width of the trained network.
        min_count: occurrences of a word with a state of its own.
        schedule: of the training.
        retrieval, selection: settings of :class:`TitlesAndBm25` and :class:`Bm25Lines`.
        sure: see :mod:`longform.critics.verifiability.checker`.

    Raises InputError: no pages, no claims, or another entailment. Raises ConfigError: no schedule.
    """
    # 1. Pages and claims.
    page_lines = pages_of(documents)
    pages = frozen(scratch / "pages", page_lines.items() if page_lines else pages_in(base))
    claims = list(claims_of(documents))
    if not pages or not claims or entailment not in ("trained", "brought"):
        raise InputError(
            f"train {name}: {len(pages)} pages, {len(claims)} claims, entailment {entailment!r}; "
            "needed are pages, claims, and 'trained' or 'brought'; fix the entry"
        )
    # 2. What finds the lines of a claim.
    settings = {
        "retrieval": dict(retrieval or {}),
        "selection": dict(selection or {}),
        "sure": sure,
    }
    lines = selector(pages, settings)
    # 3. What judges them.
    if entailment == "brought":
        return Checker(pages, lines, brought_entailment(base), settings)
    if schedule is None:
        raise ConfigError(
            f"train {name}: entailment 'trained' needs a schedule; add one, as other trainings have"
        )
    pairs: dict[str, list[Labelled]] = {"train": [], "validation": []}
    for document, claim in claims:
        if document.split in pairs:
            pairs[document.split] += labelled_pairs(claim, pages, lines)
    trained = train_entailment(
        pairs,
        size=size,
        min_count=min_count,
        seed=seed,
        name=name,
        schedule=schedule,
        scratch=scratch,
    )
    return Checker(pages, lines, trained, settings)


def labelled_pairs(
    claim: FeverClaim, pages: Pages, lines: Callable[[str], Sequence[Line]]
) -> Iterator[Labelled]:
    """The training pairs of a claim: with its evidence, and with lines that are no evidence.

    The latter are labelled not enough information; a claim with this label has one more of them.
    """
    evidence = [(page, line) for page, line in claim.evidence if line < len(pages.get(page, ()))]
    if evidence and claim.label != NEI:
        text = " ".join(pages[page][line] for page, line in evidence)
        yield Pair(claim.text, evidence[0][0], text), claim.label
    others = [line for line in lines(claim.text) if line not in evidence]
    for page, line in others[: NEGATIVES + (claim.label == NEI)]:
        yield Pair(claim.text, page, pages[page][line]), NEI


class EntailmentLearner(Learner):
    """The training of the network."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Cross-entropy of the labels, nats a pair."""
        logits = self.network(batch["claim"], batch["sentence"], batch["equal"])
        return nn.functional.cross_entropy(logits, batch["labels"])


def train_entailment(
    pairs: Mapping[str, Sequence[Labelled]],
    *,
    size: int,
    min_count: int,
    seed: int,
    name: str,
    **training: Any,
) -> TrainedEntailment:
    """Train our network on ``pairs["train"]``.

    It has the weights of the round with the best loss on ``pairs["validation"]``.

    Args:
        pairs: labelled pairs by split.
        size: width of the network.
        min_count: occurrences in training of a lower-case word with a state of its own.
        seed, name: of the training.
        training: the schedule and the scratch folder of :func:`.fit_learner`.

    Raises InputError: fewer than two labels.
    """
    # 1. The labels.
    counts = Counter(label for _, label in pairs["train"])
    missing = [label for label in LABELS if not counts[label]]
    if missing:
        print(
            f"train {name}: no training pair is labelled {missing}; "
            "the checker will hardly ever say so",
            flush=True,
        )
    if len(counts) < 2:
        raise InputError(
            f"train {name}: training pairs have labels {dict(counts)}; "
            "at least two labels are needed"
        )
    # 2. The vocabulary.
    word_counts: Counter[str] = Counter()
    for pair, _ in pairs["train"]:
        for text in (pair.claim, pair.sentence):
            word_counts.update(filter(str.islower, WORD.findall(text)))
    frequent = [word for word, count in word_counts.items() if count >= min_count]
    vocabulary = Vocabulary.of(sorted(frequent))
    # 3. The network, trained on pairs with words on both sides.
    items: dict[str, list[tuple[Encoded, int]]] = {}
    for split, labelled in pairs.items():
        items[split] = []
        for pair, label in labelled:
            row = encoded(pair, vocabulary)
            if row[0] and row[1]:
                items[split].append((row, LABELS.index(label)))
    torch.manual_seed(derived_seed(seed, "initial weights"))
    network = DecomposableAttention(len(SHAPES) + len(vocabulary.words), size)
    fit_learner(EntailmentLearner, network, items, collate, **training, seed=seed, name=name)
    return TrainedEntailment(network, vocabulary)
