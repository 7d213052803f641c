"""Machine counterparts of human articles: a model completes each section from its first sentences (sheng2024 section 5.2).

The paper gives neither the number of prompt sentences nor the decoding; ours are settings. The corpus that is written
holds both sides, ``<id>-human`` and ``<id>-machine``, in the split of the original, so that critics can pair them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from longform.corpora.wikisection import SPLITTERS
from longform.models.causal_lm import encode
from longform.models.checkpoints import load_model, load_tokenizer
from longform.numerics import derived_seed
from longform.units import BadInput, Corpus, Document, Section

HUMAN, MACHINE = "-human", "-machine"
DECODERS: Mapping[str, Mapping[str, Any]] = {
    "ancestral": {"do_sample": True, "top_k": 0},
    "top_k": {"do_sample": True, "top_k": 40},
    "nucleus": {"do_sample": True, "top_k": 0, "top_p": 0.95},
    "greedy": {"do_sample": False},
}


def generate(
    *,
    model: Path,
    name: str,
    seed: int,
    prefixes: Sequence[Document],
    decoder: str,
    prompt_sentences: int = 2,
    splitter: str = "paper",
    documents: Mapping[str, int] | None = None,
) -> Corpus:
    """Complete every section of the first so many articles of each split; a continuation is as long as what it replaces.

    Args:
        decoder: one of ``DECODERS``.
        documents: how many of each split; all by default.
        prompt_sentences: human sentences at the start of each section; a section without more is kept as it is.

    Returns:
        Both sides; facts count sections completed and kept.

    Raises:
        BadInput: an unknown decoder or splitter.
    """
    if decoder not in DECODERS or splitter not in SPLITTERS:
        raise BadInput(
            f"generate {name}: {decoder!r}, {splitter!r}; allowed are {sorted(DECODERS)} and {sorted(SPLITTERS)}"
        )
    writer = _Completer(model, DECODERS[decoder], prompt_sentences, splitter)
    sides: list[Document] = []
    for number, document in enumerate(_first(prefixes, documents)):
        torch.manual_seed(derived_seed(seed, name, document.id))
        sections = writer.complete(document.sections)
        sides.append(Document(document.id + HUMAN, document.split, document.sections, document.edits))
        sides.append(Document(document.id + MACHINE, document.split, sections, document.edits))
        if number % 20 == 19:
            print(f"generate {name}: {number + 1} articles", flush=True)
    return Corpus(sides, facts={"corpus": name, "decoder": decoder, **writer.counts})


def _first(prefixes: Sequence[Document], documents: Mapping[str, int] | None) -> list[Document]:
    if documents is None:
        return list(prefixes)
    return [d for split, count in documents.items() for d in [p for p in prefixes if p.split == split][:count]]


class _Completer:
    """A loaded model that finishes sections."""

    def __init__(self, model: Path, settings: Mapping[str, Any], prompt_sentences: int, splitter: str) -> None:
        self.tokenizer = load_tokenizer(model)
        self.network = load_model(model, AutoModelForCausalLM).eval()
        self.settings, self.prompt_sentences, self.split = settings, prompt_sentences, SPLITTERS[splitter]
        self.counts = {"sections_completed": 0, "sections_kept": 0}

    def complete(self, sections: Sequence[Section]) -> tuple[Section, ...]:
        """A document's sections with everything after their prompts written by the model, all at once."""
        pieces = [self.split(section.text) for section in sections]
        chosen = [row for row, found in enumerate(pieces) if len(found) > self.prompt_sentences]
        self.counts["sections_completed"] += len(chosen)
        self.counts["sections_kept"] += len(sections) - len(chosen)
        prompts = [" ".join(pieces[row][: self.prompt_sentences]) for row in chosen]
        end = self.tokenizer.eos_token_id
        ids = [[end, *encode(prompt, self.tokenizer)] for prompt in prompts]
        wanted = [len(encode(sections[row].text, self.tokenizer)) + 1 for row in chosen]
        texts = self.tokenizer.batch_decode([row[1:] for row in self._extend(ids, wanted)], skip_special_tokens=True)
        made = list(sections)
        for row, prompt, text in zip(chosen, prompts, texts, strict=True):
            made[row] = Section(sections[row].title, _whole_sentences(" ".join(text.split()), prompt))
        return tuple(made)

    def _extend(self, rows: list[list[int]], wanted: Sequence[int]) -> list[list[int]]:
        """Token ids of each row up to its wanted number; in a full window its later half is the new context."""
        window = self.network.config.max_position_embeddings
        while open_rows := [row for row, count in enumerate(wanted) if len(rows[row]) < count]:
            contexts = [rows[row] if len(rows[row]) < window // 2 else rows[row][-window // 2 :] for row in open_rows]
            needed = max(wanted[row] - len(rows[row]) for row in open_rows)
            made = self._continue(contexts, min(needed, window - max(map(len, contexts))))
            for row, fresh in zip(open_rows, made, strict=True):
                rows[row] = (rows[row] + fresh)[: max(wanted[row], len(rows[row]))]
        return rows

    def _continue(self, contexts: Sequence[list[int]], fresh: int) -> list[list[int]]:
        """``fresh`` more ids of each context, padded on the left and masked there."""
        width, end = max(map(len, contexts)), self.tokenizer.eos_token_id
        ids = torch.tensor([[end] * (width - len(row)) + row for row in contexts])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in contexts])
        exact = {"max_new_tokens": fresh, "min_new_tokens": fresh, "pad_token_id": end, "suppress_tokens": [end]}
        made = self.network.generate(ids, attention_mask=mask, **exact, **self.settings)
        return made[:, width:].tolist()


def _whole_sentences(text: str, prompt: str) -> str:
    """Cut after the last full stop, but never inside the prompt."""
    end = text.rfind(". ", len(prompt))
    if text.endswith(".") or end < 0:
        return text if text.endswith(".") else f"{text}."
    return text[: end + 1]
