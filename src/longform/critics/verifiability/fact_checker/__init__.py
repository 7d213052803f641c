"""A fact checker over frozen pages: page retrieval, sentence selection, and an entailment model trained or brought.

Its folder holds all that it needs: ``pages.jsonl``, ``checker.json`` and the entailment model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from longform.critics.verifiability.fact_checker.checking import SURE, Checker
from longform.critics.verifiability.fact_checker.entailment import (
    SHAPES,
    DecomposableAttention,
    Entailment,
    Pair,
    TrainedEntailment,
    Vocabulary,
)
from longform.critics.verifiability.fact_checker.retrieval import (
    Bm25Lines,
    PageRetrieval,
    Pages,
    SentenceSelection,
    TitlesAndBm25,
)
from longform.datasets.fever import FeverClaim, claims_of, pages_of
from longform.documents import BadInput, Document

__all__ = ["SavedChecker", "fit", "open_checker"]
Labelled = tuple[Pair, str]
NEGATIVES = 2  # selected lines a claim that say nothing about it, as pairs of "not enough information"


@dataclass(frozen=True)
class SavedChecker:
    """What a train stage saves; ``settings`` are those of retrieval, selection and verdict."""

    pages: Pages
    settings: Mapping[str, Any]
    entailment: Entailment

    def save(self, folder: Path) -> None:
        """Pages, settings, and the entailment model in ``entailment/`` (brought) or ``entailment.safetensors``."""
        rows = [json.dumps({"title": t, "lines": list(lines)}, ensure_ascii=False) for t, lines in self.pages.items()]
        (folder / "pages.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        record: dict[str, Any] = dict(self.settings)
        if isinstance(self.entailment, TrainedEntailment):
            network = self.entailment.network
            record |= {"size": network.embed.embedding_dim, "words": list(self.entailment.vocabulary.words)}
            save_file({k: v.contiguous() for k, v in network.state_dict().items()}, folder / "entailment.safetensors")
        else:
            brought: Any = self.entailment
            brought.network.save_pretrained(folder / "entailment")
            brought.tokenizer.save_pretrained(folder / "entailment")
        (folder / "checker.json").write_text(json.dumps(record, sort_keys=True, indent=1) + "\n", encoding="utf-8")


def fit(
    *,
    documents: Sequence[Document],
    base: Path,
    name: str,
    seed: int,
    scratch: Path,
    entailment: str = "trained",
    size: int = 48,
    least: int = 3,
    schedule: Mapping[str, Any] | None = None,
    retrieval: Mapping[str, Any] | None = None,
    selection: Mapping[str, Any] | None = None,
    sure: float = SURE,
) -> SavedChecker:
    """Train on the claims of split train, or bring an entailment model, and freeze the pages beside it.

    Args:
        documents: pages and claims, see :mod:`longform.datasets.fever`.
        base: read only for ``entailment: brought``: the folder (or pointer) of a classifier or of MiniCheck.
        entailment: "trained" or "brought".
        size, least, schedule: of the trained network.
        retrieval, selection: settings of :class:`TitlesAndBm25` and :class:`Bm25Lines`.
        sure: see :mod:`longform.critics.verifiability.fact_checker.checking`.

    Raises:
        BadInput: no pages, no claims, or an unknown way of entailment.
    """
    pages = pages_of(documents)
    claims = [(document.split, claim) for document, claim in claims_of(documents)]
    if not pages or not claims or entailment not in ("trained", "brought"):
        got = f"{len(pages)} pages, {len(claims)} claims, entailment {entailment!r}"
        raise BadInput(f"train {name}: {got}; needed are pages, claims, and 'trained' or 'brought'; mend texts or row")
    settings = {"retrieval": dict(retrieval or {}), "selection": dict(selection or {}), "sure": sure}
    if entailment == "brought":
        return SavedChecker(pages, settings, _brought(base))
    if schedule is None:
        raise BadInput(f"train {name}: entailment 'trained' needs a schedule; add one, as other train rows have")
    parts = _parts(pages, settings)
    pairs = {
        split: [pair for at, claim in claims if at == split for pair in labelled_pairs(claim, pages, *parts)]
        for split in ("train", "validation")
    }
    from longform.critics.verifiability.fact_checker.learning import (
        train,
    )  # only here: opening a checker needs no trainer

    made = train(pairs, size=size, least=least, schedule=schedule, seed=seed, name=name, scratch=scratch)
    return SavedChecker(pages, settings, made)


def labelled_pairs(
    claim: FeverClaim, pages: Pages, retrieval: PageRetrieval, selection: SentenceSelection, negatives: int = NEGATIVES
) -> Iterator[Labelled]:
    """The claim with its evidence, and with selected lines that are no evidence, which are not enough information.

    As DOMLIN's training: evidence of "not enough info" claims is what the selection finds. Evidence of several lines
    is one pair, its lines joined.
    """
    found = [(page, line) for page, line in claim.evidence if line < len(pages.get(page, ()))]
    if found and claim.label != "not_enough_info":
        text = " ".join(pages[page][line] for page, line in found)
        yield Pair(claim.text, found[0][0], text), claim.label
    lines = [line for line in selection.lines_for(claim.text, retrieval.pages_for(claim.text)) if line not in found]
    wanted = negatives + (claim.label == "not_enough_info")
    for page, line in lines[:wanted]:
        yield Pair(claim.text, page, pages[page][line]), "not_enough_info"


def _parts(pages: Pages, settings: Mapping[str, Any]) -> tuple[PageRetrieval, SentenceSelection]:
    try:
        return TitlesAndBm25(pages, **settings["retrieval"]), Bm25Lines(pages, **settings["selection"])
    except TypeError as error:
        raise BadInput(f"fact checker: {error}; see TitlesAndBm25 and Bm25Lines for their settings") from None


def open_checker(folder: Path) -> Checker:
    """A saved checker; nothing outside its folder is read.

    Raises:
        BadInput: the folder holds none.
    """
    if not (folder / "checker.json").is_file() or not (folder / "pages.jsonl").is_file():
        raise BadInput(f"{folder}: no checker.json and pages.jsonl; name the folder of a fact_checker train row")
    record = json.loads((folder / "checker.json").read_text(encoding="utf-8"))
    with (folder / "pages.jsonl").open(encoding="utf-8") as lines:
        pages = {row["title"]: tuple(row["lines"]) for row in map(json.loads, lines)}
    retrieval, selection = _parts(pages, record)
    return Checker(pages, retrieval, selection, _entailment(folder, record), record["sure"])


def _entailment(folder: Path, record: Mapping[str, Any]) -> Entailment:
    if (folder / "entailment").is_dir():
        return _brought(folder / "entailment")
    vocabulary = Vocabulary({word: len(SHAPES) + i for i, word in enumerate(record["words"])})
    network = DecomposableAttention(len(SHAPES) + len(record["words"]), record["size"])
    network.load_state_dict(load_file(folder / "entailment.safetensors"))
    return TrainedEntailment(network.eval(), vocabulary)


def _brought(folder: Path) -> Entailment:
    from longform.critics.verifiability.fact_checker.hugging_face import (
        open_entailment,
    )  # only here: transformers is slow to import

    return open_entailment(folder)
