"""Machine counterparts of human articles: a model completes each section from its first sentences (sheng2024 section 5.2).

The corpus holds every side of an article, ``<id>-human`` and ``<id>-<source>``, in the original's split. It can be completed again by
another model: its human sides are the articles then, its other sides are kept.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModelForCausalLM

from longform.core.artefacts import append_lines, read_lines
from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.resampling import generator
from longform.core.text.sentences import SPLITTERS
from longform.decoding.sampling import Sampled, sample
from longform.language_models.checkpoints import chosen_device, load_model, load_tokenizer
from longform.language_models.tokenizers import encode

HUMAN = "-human"
REPORT_EVERY = 10.0  # seconds between lines of progress
SOURCE = re.compile(r"[a-z0-9_]+")
DECODERS: Mapping[str, Sampled] = {
    "ancestral": Sampled(),
    "top_k": Sampled(top_k=40),
    "nucleus": Sampled(top_p=0.95),
    "greedy": Sampled(top_k=1),
}


def generate(
    *,
    model: Path,
    name: str,
    seed: int,
    prefixes: Sequence[Document],
    sources: Mapping[str, str],
    prompt_sentences: int = 2,
    splitter: str = "full_stops",
    documents: Mapping[str, int] | None = None,
    batch: int = 128,
    scratch: Path | None = None,
) -> Corpus:
    """Complete every section of the first so many articles of each split; a continuation is as long as what it replaces.

    Args:
        sources: what a source is called, and which of ``DECODERS`` makes it.
        documents: how many articles of each split; all by default.
        prompt_sentences: human sentences at the start of each section; a section without more is kept as it is.
        batch: sections that are written at once.
        scratch: a folder that keeps finished batches, so that a killed run goes on.

    Returns:
        All sides, article by article; facts count sections completed and kept.

    Raises BadInput: an unknown decoder or splitter, or a source's name that cannot end an id.
    """
    bad = [s for s, d in sources.items() if d not in DECODERS or not SOURCE.fullmatch(s) or f"-{s}" == HUMAN]
    if not sources or bad or splitter not in SPLITTERS:
        raise BadInput(
            f"generate {name}: sources {dict(sources)}, splitter {splitter!r}; allowed are names of [a-z0-9_]+ but 'human', "
            f"decoders {sorted(DECODERS)}, splitters {sorted(SPLITTERS)}; fix the entry"
        )
    articles, others = _articles(prefixes, documents)
    sides = {d.id: [Document(d.id + HUMAN, d.split, d.sections, d.edits), *others.get(d.id, ())] for d in articles}
    writer = _Completer(model, prompt_sentences, splitter, batch)
    for source, decoder in sources.items():
        kept = None if scratch is None else scratch / f"sections-{source}.jsonl"
        completed = writer.complete(articles, DECODERS[decoder], (seed, name, source), kept)
        for article, sections in zip(articles, completed, strict=True):
            sides[article.id].append(Document(f"{article.id}-{source}", article.split, sections, article.edits))
        print(f"generate {name}: {len(articles)} articles by {source}", flush=True)
    facts = {"corpus": name, "sources": dict(sources), **writer.counts}
    return Corpus([side for rows in sides.values() for side in rows], facts=facts)


def _articles(
    prefixes: Sequence[Document], documents: Mapping[str, int] | None
) -> tuple[list[Document], dict[str, list[Document]]]:
    """The human articles that are asked for, and the machine sides that they have already."""
    humans = [d for d in prefixes if d.id.endswith(HUMAN)]
    others: dict[str, list[Document]] = {}
    for document in prefixes if humans else ():
        if not document.id.endswith(HUMAN):
            others.setdefault(document.id.rpartition("-")[0], []).append(document)
    plain = [Document(d.id.removesuffix(HUMAN), d.split, d.sections, d.edits) for d in humans] or list(prefixes)
    if documents is None:
        return plain, others
    return [d for split, count in documents.items() for d in [p for p in plain if p.split == split][:count]], others


@dataclass
class _Job:
    """A section on its way: of which article and place, its tokens so far, how many it shall have, and its own draws."""

    key: tuple[str, int]
    ids: list[int]
    wanted: int
    prompt: str
    rng: np.random.Generator


class _Completer:
    """A loaded model that finishes sections."""

    def __init__(self, model: Path, prompt_sentences: int, splitter: str, batch: int) -> None:
        self.tokenizer = load_tokenizer(model)
        self.network = load_model(model, AutoModelForCausalLM).to(chosen_device()).eval()
        self.prompt_sentences, self.split, self.batch = prompt_sentences, SPLITTERS[splitter], batch
        self.counts = {"sections_completed": 0, "sections_kept": 0}
        self.reported = time.monotonic()

    def complete(
        self, articles: Sequence[Document], settings: Sampled, names: tuple[Any, ...], kept: Path | None
    ) -> list[tuple[Section, ...]]:
        """Each article's sections with everything after their prompts written by the model, or read from the file of finished ones."""
        made = [list(article.sections) for article in articles]
        places = [(row, place) for row, article in enumerate(articles) for place in range(len(article.sections))]
        jobs = {(row, k): self._job(articles[row].sections[k].text, names, (articles[row].id, k)) for row, k in places}
        open_jobs = {place: job for place, job in jobs.items() if job is not None}
        self.counts["sections_completed"] += len(open_jobs)
        self.counts["sections_kept"] += len(jobs) - len(open_jobs)
        self._write(list(open_jobs.values()), settings, kept)
        for (row, place), job in open_jobs.items():
            text = str(self.tokenizer.decode(job.ids[1:], skip_special_tokens=True))
            made[row][place] = Section(made[row][place].title, _whole_sentences(" ".join(text.split()), job.prompt))
        return [tuple(sections) for sections in made]

    def _job(self, text: str, names: tuple[Any, ...], key: tuple[str, int]) -> _Job | None:
        pieces = self.split(text)
        if len(pieces) <= self.prompt_sentences:
            return None
        prompt = " ".join(pieces[: self.prompt_sentences])
        ids = [self.tokenizer.eos_token_id, *encode(prompt, self.tokenizer)]
        return _Job(key, ids, len(encode(text, self.tokenizer)) + 1, prompt, generator("completion", *names, *key))

    def _write(self, jobs: list[_Job], settings: Sampled, kept: Path | None) -> None:
        jobs = sorted(jobs, key=lambda job: job.wanted - len(job.ids))
        done = {(row["article"], row["section"]): row["ids"] for row in (read_lines(kept) if kept else ())}
        for first in range(0, len(jobs), self.batch):
            part = unfinished = jobs[first : first + self.batch]
            if all(job.key in done for job in part):  # whole batches: a section keeps the company in which it is read
                for job in part:
                    job.ids = done[job.key]
                continue
            while unfinished := [job for job in unfinished if len(job.ids) < job.wanted]:
                self._round(unfinished, settings)
            if kept:
                append_lines(kept, ({"article": j.key[0], "section": j.key[1], "ids": j.ids} for j in part))
            if time.monotonic() - self.reported > REPORT_EVERY:
                self.reported = time.monotonic()
                print(f"complete: {min(first + self.batch, len(jobs))}/{len(jobs)} sections", flush=True)

    def _round(self, jobs: list[_Job], settings: Sampled) -> None:
        """As many tokens as the window has room for; in a full window its later half is the new context."""
        window = self.network.config.max_position_embeddings
        contexts = [job.ids if len(job.ids) < window // 2 else job.ids[-(window // 2) :] for job in jobs]
        limits = [min(job.wanted - len(job.ids), window - len(c)) for job, c in zip(jobs, contexts, strict=True)]
        banned = [self.tokenizer.eos_token_id]
        fresh = sample(self.network, contexts, settings, limits, [job.rng for job in jobs], banned)
        for job, (ids, _) in zip(jobs, fresh, strict=True):
            job.ids += ids


def _whole_sentences(text: str, prompt: str) -> str:
    end = text.rfind(". ", len(prompt))
    if text.endswith(".") or end < 0:
        return text if text.endswith(".") else f"{text}."
    return text[: end + 1]
