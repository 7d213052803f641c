r"""Training of a fact checker on labelled claims: its pages are frozen beside an entailment model, trained or brought.

Ours is a decomposable attention network (Parikh et al. 2016) that also sees which words both sides share: names and numbers are read by
shape and compared, $e_{ij} = F(a_i) \cdot F(b_j) + u m_{ij}$. Brought are Hugging Face sequence classifiers and MiniCheck's model.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
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
from longform.critics.verifiability.score import LABELS, NEI, REFUTED, SUPPORTED
from longform.datasets.fever import FeverClaim, Line, claims_of, pages_in, pages_of
from longform.documents import Document, grouped
from longform.errors import BadInput
from longform.language_models import capacity
from longform.language_models.checkpoints import load_config, load_model, load_tokenizer
from longform.language_models.device import placed
from longform.language_models.lightning import Learner, fit_learner
from longform.statistics.random_streams import derived_seed

TRAINED, BROUGHT = "entailment.safetensors", "entailment"  # file or folder of a checker's folder
SHAPES = ("<nothing>", "<number>", "<name>", "<word>", "<title>")
MOST_WORDS = 64  # of a claim or sentence; sentences of more than 50 are not checked (massarelli2020, section 5)
BATCH = 256  # pairs at a time of our own network
BROUGHT_BATCH = 16  # of a brought model
WORDINGS: Mapping[str, tuple[str, ...]] = {  # what published models call the three labels
    SUPPORTED: ("supported", "supports", "entailment", "support"),
    REFUTED: ("refuted", "refutes", "contradiction", "refute"),
    NEI: ("not_enough_info", "not enough info", "neutral", "nei"),
}
MINICHECK_PROMPT = "predict: {premise}</s>{claim}"  # Tang, Laban and Durrett 2024, released code
MINICHECK_ANSWERS = (
    3,
    209,
)  # T5's tokens of "0" (it begins with the word mark) and "1", the same code


@dataclass(frozen=True)
class Vocabulary:
    """Words with a state of their own; all others are read by shape."""

    words: Mapping[str, int]

    @classmethod
    def of(cls, words: Sequence[str]) -> "Vocabulary":
        return cls({word: len(SHAPES) + i for i, word in enumerate(words)})

    def read(self, text: str, title: frozenset[str]) -> tuple[list[int], list[str]]:
        """Ids and lower-case words of a text, cut at ``MOST_WORDS``; words of the title have an id of their own."""
        found = WORD.findall(text)[:MOST_WORDS]
        lowered, ids = [word.lower() for word in found], []
        for place, (word, lower) in enumerate(zip(found, lowered, strict=True)):
            if lower in title:
                ids.append(SHAPES.index("<title>"))
            elif word[0].isdigit():
                ids.append(SHAPES.index("<number>"))
            elif word[0].isupper() and (place or lower not in self.words):
                ids.append(SHAPES.index("<name>"))
            else:
                ids.append(self.words.get(lower, SHAPES.index("<word>")))
        return ids, lowered


class DecomposableAttention(nn.Module):
    """See the module's text; ``size`` is the width of every layer."""

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
        """Logits (pairs, 3) from ids (pairs, words) of each side and which words are equal (pairs, words, words)."""
        here, there = claim > 0, sentence > 0
        a, b = self._states(claim, equal.any(2)), self._states(sentence, equal.any(1))
        scores = (
            self.attend(a) @ self.attend(b).transpose(1, 2) / a.shape[-1] ** 0.5
            + self.equal * equal
        )
        beta = _weights(scores, there[:, None]) @ b
        alpha = _weights(scores.transpose(1, 2), here[:, None]) @ a
        return self.label(
            torch.cat([*self._pool(a, beta, here), *self._pool(b, alpha, there)], dim=-1)
        )

    def _states(self, ids: torch.Tensor, shared: torch.Tensor) -> torch.Tensor:
        states = (self.embed(ids) + self.shared(shared.long())) * (ids > 0)[
            ..., None
        ]  # nothing beyond a text's end
        return states + torch.relu(self.near(states.transpose(1, 2)).transpose(1, 2))

    def _pool(
        self, own: torch.Tensor, other: torch.Tensor, kept: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        made = self.compare(torch.cat([own, other, own * other], dim=-1)) * kept[..., None]
        return made.sum(1) / kept.sum(1, keepdim=True).clamp(min=1), made.amax(1)


def _weights(scores: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    return scores.masked_fill(~kept, -1e9).softmax(-1) * kept


@dataclass(frozen=True)
class TrainedEntailment:
    """A trained network with its vocabulary."""

    network: DecomposableAttention
    vocabulary: Vocabulary

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """See :class:`Entailment`; a claim or sentence without words is not enough information for certain."""
        rows = [encoded(pair, self.vocabulary) for pair in pairs]
        made = np.zeros((len(rows), len(LABELS)))
        made[:, LABELS.index(NEI)] = 1.0
        order = sorted(
            (i for i, row in enumerate(rows) if row[0] and row[1]), key=lambda i: len(rows[i][1])
        )
        self.network.eval()
        device = self.network.embed.weight.device
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            batch = collate([(rows[i], 0) for i in part])
            with torch.inference_mode():
                logits = self.network(
                    *(batch[key].to(device) for key in ("claim", "sentence", "equal"))
                )
            made[part] = logits.double().softmax(-1).cpu().numpy()
        return made

    def save(self, folder: Path) -> dict[str, Any]:
        save_file(
            {k: v.contiguous() for k, v in self.network.state_dict().items()}, folder / TRAINED
        )
        return {"size": self.network.embed.embedding_dim, "words": list(self.vocabulary.words)}


Encoded = tuple[list[int], list[int], list[tuple[int, int]]]


def encoded(pair: Pair, vocabulary: Vocabulary) -> Encoded:
    """Ids of the claim, ids of the sentence, and places of equal words; both sides know the page's title."""
    title = frozenset(word.lower() for word in WORD.findall(pair.title))
    claim, left = vocabulary.read(pair.claim, title)
    sentence, right = vocabulary.read(pair.sentence, title)
    places = grouped(range(len(right)), right.__getitem__)
    return claim, sentence, [(i, j) for i, word in enumerate(left) for j in places.get(word, ())]


def collate(items: Sequence[tuple[Encoded, int]]) -> dict[str, torch.Tensor]:
    """Pad both sides with zeros."""
    widths = [max(len(item[0][side]) for item in items) for side in (0, 1)]
    sides = [np.zeros((len(items), width), dtype=np.int64) for width in widths]
    equal = np.zeros((len(items), *widths), dtype=bool)
    for row, ((claim, sentence, same), _) in enumerate(items):
        sides[0][row, : len(claim)], sides[1][row, : len(sentence)] = claim, sentence
        for i, j in same:
            equal[row, i, j] = True
    named = {
        "claim": sides[0],
        "sentence": sides[1],
        "equal": equal,
        "labels": np.array([label for _, label in items]),
    }
    return {key: torch.from_numpy(array) for key, array in named.items()}


@dataclass(frozen=True)
class _Brought:
    """A model of the Hugging Face layout with its tokenizer."""

    network: Any
    tokenizer: Any

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """See :class:`Entailment`."""
        made = np.zeros((len(pairs), len(LABELS)))
        for start in range(0, len(pairs), BROUGHT_BATCH):
            part = slice(start, start + BROUGHT_BATCH)
            with torch.inference_mode():
                made[part] = self.judged(pairs[part])
        return made

    def judged(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Probabilities for one batch of pairs."""
        raise NotImplementedError

    def save(self, folder: Path) -> dict[str, Any]:
        self.network.save_pretrained(folder / BROUGHT)
        self.tokenizer.save_pretrained(folder / BROUGHT)
        return {}


@dataclass(frozen=True)
class ClassifierEntailment(_Brought):
    """A sequence classifier with three labels, or with two: not supported (0) and supported (1), as MiniCheck's."""

    columns: tuple[int | None, ...] = (
        0,
        1,
        2,
    )  # for each of ``LABELS`` the model's label, or None where it has none
    max_length: int = 512

    def judged(self, pairs: Sequence[Pair]) -> np.ndarray:
        texts = [premise(pair) for pair in pairs], [pair.claim for pair in pairs]
        how = {"max_length": self.max_length, "padding": True, "return_tensors": "pt"}
        feed = self.tokenizer(*texts, truncation="only_first", **how).to(self.network.device)
        found = self.network(**feed).logits.double().softmax(-1).cpu().numpy()
        return np.stack(
            [np.zeros(len(pairs)) if c is None else found[:, c] for c in self.columns], axis=1
        )


@dataclass(frozen=True)
class MiniCheckEntailment(_Brought):
    """MiniCheck's Flan-T5: whether the first token of its answer is 1 rather than 0; what it does not support is not enough."""

    max_length: int = 2048

    def judged(self, pairs: Sequence[Pair]) -> np.ndarray:
        texts, device = (
            [MINICHECK_PROMPT.format(premise=premise(p), claim=p.claim) for p in pairs],
            self.network.device,
        )
        feed = self.tokenizer(
            texts, truncation=True, max_length=self.max_length, padding=True, return_tensors="pt"
        )
        begin = torch.full(
            (len(pairs), 1), self.network.config.decoder_start_token_id, device=device
        )
        inputs = {key: feed[key].to(device) for key in ("input_ids", "attention_mask")}
        logits = self.network(**inputs, decoder_input_ids=begin).logits[
            :, 0, list(MINICHECK_ANSWERS)
        ]
        yes = logits.double().softmax(-1)[:, 1].cpu().numpy()
        return np.stack([yes, np.zeros(len(pairs)), 1 - yes], axis=1)


def premise(pair: Pair) -> str:
    """The sentence behind its page's title."""
    return f"{pair.title}: {pair.sentence}" if pair.title else pair.sentence


def brought_entailment(folder: Path) -> Entailment:
    """The model of a folder (or of a pinned hub id in its ``pointer.json``).

    Raises BadInput: labels that are neither two nor named like the three.
    """
    config = load_config(folder)
    tokenizer = load_tokenizer(folder)
    if config.is_encoder_decoder:
        return MiniCheckEntailment(
            placed(load_model(folder, AutoModelForSeq2SeqLM).eval(), reading=True), tokenizer
        )
    network = placed(load_model(folder, AutoModelForSequenceClassification).eval(), reading=True)
    room = capacity.window_size(network, 512)
    return ClassifierEntailment(network, tokenizer, columns_of(config, folder), room)


def columns_of(config: Any, folder: Path) -> tuple[int | None, ...]:
    """Which column of the model's output is which label."""
    if config.num_labels == 2:
        return (1, None, 0)
    named = {
        str(name).lower().replace("-", " "): int(column) for column, name in config.id2label.items()
    }
    found = [
        next((named[word] for word in WORDINGS[label] if word in named), None) for label in LABELS
    ]
    if None in found:
        raise BadInput(
            f"{folder}: the model's labels are {sorted(named)}; allowed are two, or three named like {dict(WORDINGS)}; "
            "fix id2label in its config.json"
        )
    return tuple(found)


def open_entailment(folder: Path, record: Mapping[str, Any]) -> Entailment:
    """The model of a checker's folder, on the chosen device; ``record`` is what :meth:`Entailment.save` gave."""
    if (folder / BROUGHT).is_dir():
        return brought_entailment(folder / BROUGHT)
    network = DecomposableAttention(len(SHAPES) + len(record["words"]), record["size"])
    network.load_state_dict(load_file(folder / TRAINED))
    return TrainedEntailment(placed(network.eval()), Vocabulary.of(record["words"]))


Labelled = tuple[Pair, str]
NEGATIVES = (
    2  # selected lines a claim that say nothing about it, as pairs of "not enough information"
)


def fit(
    *,
    documents: Sequence[Document],  # pages and claims, see :mod:`longform.datasets.fever`
    base: Path,
    name: str,
    seed: int,
    scratch: Path,
    entailment: str = "trained",  # "trained" or "brought"
    size: int = 48,  # of the trained network
    min_count: int = 3,
    schedule: Mapping[str, Any] | None = None,
    retrieval: Mapping[str, Any]
    | None = None,  # settings of :class:`TitlesAndBm25` and :class:`Bm25Lines`
    selection: Mapping[str, Any] | None = None,
    sure: float = SURE,  # see :mod:`longform.critics.verifiability.checker`
) -> Checker:
    """Train on the claims of split train, or bring an entailment model, and freeze the pages beside it.

    ``base`` is a folder that has ``wiki-pages`` in FEVER's format, where the documents hold no pages; for ``brought`` the
    folder (or pointer) of a classifier or of MiniCheck.
    """
    known = pages_of(documents)
    pages = frozen(scratch / "pages", known.items() if known else pages_in(base))
    claims = [(document.split, claim) for document, claim in claims_of(documents)]
    if not pages or not claims or entailment not in ("trained", "brought"):
        got = f"{len(pages)} pages, {len(claims)} claims, entailment {entailment!r}"
        raise BadInput(
            f"train {name}: {got}; needed are pages, claims, and 'trained' or 'brought'; fix the entry"
        )
    settings = {
        "retrieval": dict(retrieval or {}),
        "selection": dict(selection or {}),
        "sure": sure,
    }
    lines = selector(pages, settings)
    if entailment == "brought":
        return Checker(pages, lines, brought_entailment(base), settings)
    if schedule is None:
        raise BadInput(
            f"train {name}: entailment 'trained' needs a schedule; add one, as other trainings have"
        )
    pairs = {
        split: [
            pair
            for at, claim in claims
            if at == split
            for pair in labelled_pairs(claim, pages, lines)
        ]
        for split in ("train", "validation")
    }
    given: dict[str, Any] = {"schedule": schedule, "seed": seed, "name": name, "scratch": scratch}
    return Checker(
        pages, lines, train_entailment(pairs, size=size, min_count=min_count, **given), settings
    )


def labelled_pairs(
    claim: FeverClaim, pages: Pages, lines: Callable[[str], Sequence[Line]]
) -> Iterator[Labelled]:
    """The claim with its evidence, and with selected lines that are no evidence, which are not enough information."""
    found = [(page, line) for page, line in claim.evidence if line < len(pages.get(page, ()))]
    if found and claim.label != NEI:
        yield (
            Pair(claim.text, found[0][0], " ".join(pages[page][line] for page, line in found)),
            claim.label,
        )
    others = [line for line in lines(claim.text) if line not in found]
    for page, line in others[: NEGATIVES + (claim.label == NEI)]:
        yield Pair(claim.text, page, pages[page][line]), NEI


class EntailmentLearner(Learner):
    """The network with its loss."""

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
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
    """Train on ``pairs["train"]``, keeping the round with the best loss on ``pairs["validation"]``.

    Lower-case words that occur in training ``min_count`` times or more have a state of their own; ``training`` are the schedule
    and the scratch folder of :func:`.fit_learner`.
    """
    counts = Counter(label for _, label in pairs["train"])
    if missing := [label for label in LABELS if not counts[label]]:
        print(
            f"train {name}: no training pair is labelled {missing}; the checker will hardly ever say so",
            flush=True,
        )
    if len(counts) < 2:
        raise BadInput(
            f"train {name}: training pairs have labels {dict(counts)}; at least two labels are needed"
        )
    texts = [text for pair, _ in pairs["train"] for text in (pair.claim, pair.sentence)]
    said = Counter(word for text in texts for word in WORD.findall(text) if word.islower())
    vocabulary = Vocabulary.of(sorted(word for word, count in said.items() if count >= min_count))
    torch.manual_seed(derived_seed(seed, "initial weights"))
    network = DecomposableAttention(len(SHAPES) + len(vocabulary.words), size)
    items = {
        split: [(encoded(pair, vocabulary), LABELS.index(label)) for pair, label in pairs[split]]
        for split in pairs
    }
    items = {
        split: [item for item in rows if item[0][0] and item[0][1]] for split, rows in items.items()
    }
    fit_learner(EntailmentLearner, network, items, collate, **training, seed=seed, name=name)
    return TrainedEntailment(network, vocabulary)
