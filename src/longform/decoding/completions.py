"""Machine counterparts of human articles: a model completes each section from its first sentences (sheng2024 section 5.2).

The corpus holds every side of an article, ``<id>-human`` and ``<id>-<source>``, in the original's split. It can be completed again by
another model: its human sides are the articles then, its other sides are kept.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.decoding.sampling import Sampled, sample
from longform.documents import Corpus, Document, grouped
from longform.errors import BadInput
from longform.files.artefacts import append_lines, read_lines
from longform.language_models import capacity
from longform.language_models.tokenizers import encode, end_of_writing, start_ids
from longform.language_models.trial import open_language_model
from longform.statistics.random_streams import generator
from longform.text.paragraphs import from_lines, paragraphs, single_spaced, to_lines
from longform.text.sentences import SPLITTERS

HUMAN = "-human"
REPORT_EVERY = 10.0  # seconds between lines of progress
_FULL_STOP = re.compile(r"\.(?=\s)")
SOURCE = re.compile(r"[a-z0-9_]+")
DECODERS = {
    "ancestral": Sampled(),
    "top_k": Sampled(40),
    "nucleus": Sampled(top_p=0.95),
    "greedy": Sampled(1),
}


def generate(
    *,
    model: Path,
    name: str,
    seed: int,
    prefixes: Sequence[Document],
    sources: Mapping[str, str],  # what a source is called, and which of ``DECODERS`` makes it
    prompt_sentences: int = 2,  # human sentences at the start of each section; a section without more is kept as it is
    splitter: str = "full_stops",
    documents: Mapping[str, int] | None = None,  # how many articles of each split; all by default
    batch: int = 128,
    scratch: Path | None = None,
) -> Corpus:
    """Complete every section of the first so many articles of each split; a continuation is as long as what it replaces.

    Args:
        batch: sections that are written at once; finished ones are kept in ``scratch``, so that a killed run goes on.

    Returns: all sides, article by article; facts count sections completed and kept.
    Raises BadInput: an unknown decoder or splitter, or a source's name that cannot end an id.
    """
    bad = [
        s
        for s, d in sources.items()
        if d not in DECODERS or not SOURCE.fullmatch(s) or f"-{s}" == HUMAN
    ]
    if not sources or bad or splitter not in SPLITTERS:
        allowed = f"names of [a-z0-9_]+ but 'human', decoders {sorted(DECODERS)}, splitters {sorted(SPLITTERS)}"
        got = f"sources {dict(sources)}, splitter {splitter!r}"
        raise BadInput(f"generate {name}: {got}; allowed are {allowed}; fix the entry")
    humans = [d for d in prefixes if d.id.endswith(HUMAN)]
    others = grouped(
        (d for d in prefixes if humans and not d.id.endswith(HUMAN)),
        lambda d: d.id.rpartition("-")[0],
    )
    articles = plain = [replace(d, id=d.id.removesuffix(HUMAN)) for d in humans or prefixes]
    if documents is not None:
        articles = [
            d
            for split, count in documents.items()
            for d in [p for p in plain if p.split == split][:count]
        ]
    sides = {
        article.id: [replace(article, id=article.id + HUMAN), *others.get(article.id, ())]
        for article in articles
    }
    tokenizer, network = open_language_model(model)
    start, end_token = start_ids(tokenizer), end_of_writing(tokenizer, f"generate {name}")
    counts = {"sections_completed": 0, "sections_kept": 0}
    for source, decoder in sources.items():
        jobs = []
        for key, text in [
            ((a.id, k), section.text) for a in articles for k, section in enumerate(a.sections)
        ]:
            prompt = opening(text, splitter, prompt_sentences)
            if prompt is not None:
                ids = [*start, *encode(prompt, tokenizer)]
                rng = generator("completion", seed, name, source, *key)
                jobs.append(_Job(key, ids, len(encode(to_lines(text), tokenizer)) + 1, prompt, rng))
        kept = None if scratch is None else scratch / f"sections-{source}.jsonl"
        _complete(jobs, network, DECODERS[decoder], end_token, batch, kept)
        texts = {}
        for job in jobs:
            written = str(tokenizer.decode(job.ids[len(start) :], skip_special_tokens=True))
            texts[job.key] = whole_sentences(written, job.prompt)
        for article in articles:
            sections = [
                replace(s, text=texts.get((article.id, k), s.text))
                for k, s in enumerate(article.sections)
            ]
            sides[article.id].append(
                replace(article, id=f"{article.id}-{source}", sections=tuple(sections))
            )
        counts["sections_completed"] += len(jobs)
        counts["sections_kept"] += sum(len(article.sections) for article in articles) - len(jobs)
        print(f"generate {name}: {len(articles)} articles by {source}", flush=True)
    facts = {"corpus": name, "sources": dict(sources), **counts}
    return Corpus([side for rows in sides.values() for side in rows], facts=facts)


def opening(text: str, splitter: str, sentences: int) -> str | None:
    """The first so many sentences of a section, one paragraph a line as models read them; None where there are no more."""
    lines: list[str] = []
    left, more = sentences, False
    for paragraph in paragraphs(text):
        pieces = SPLITTERS[splitter](paragraph)
        if left and pieces:
            lines.append(" ".join(pieces[:left]))
        more = more or len(pieces) > left
        left = max(0, left - len(pieces))
    return "\n".join(lines) if more else None


def whole_sentences(written: str, prompt: str) -> str:
    """A written section, whose lines are paragraphs, up to its last full stop behind the prompt."""
    text, shown = (single_spaced(from_lines(part)) for part in (written, prompt))
    if text.endswith("."):
        return text
    stops = [stop.end() for stop in _FULL_STOP.finditer(text, len(shown))]
    return text[: stops[-1]] if stops else f"{text}."


@dataclass
class _Job:
    """A section on its way: of which article and place, its tokens so far, how many it shall have, and its own draws."""

    key: tuple[str, int]
    ids: list[int]
    wanted: int
    prompt: str
    rng: np.random.Generator


def _complete(
    jobs: list[_Job], network: Any, settings: Sampled, end: int, batch: int, kept: Path | None
) -> None:
    """Write every section to its end, or read it from the file of finished ones."""
    jobs = sorted(jobs, key=lambda job: job.wanted - len(job.ids))
    done = {
        (row["article"], row["section"]): row["ids"] for row in (read_lines(kept) if kept else ())
    }
    reported = time.monotonic()
    for first in range(0, len(jobs), batch):
        part = unfinished = jobs[first : first + batch]
        if all(
            job.key in done for job in part
        ):  # whole batches: a section keeps the company in which it is read
            for job in part:
                job.ids = done[job.key]
            continue
        while unfinished := [job for job in unfinished if len(job.ids) < job.wanted]:
            _round(unfinished, network, settings, end)
        if kept:
            append_lines(
                kept, ({"article": j.key[0], "section": j.key[1], "ids": j.ids} for j in part)
            )
        if time.monotonic() - reported > REPORT_EVERY:
            reported = time.monotonic()
            print(f"complete: {min(first + batch, len(jobs))}/{len(jobs)} sections", flush=True)


def _round(jobs: Sequence[_Job], network: Any, settings: Sampled, end: int) -> None:
    """As many tokens as the window has room for; in a full window its later half is the new context."""
    window = capacity.window_size(network)
    contexts = [
        job.ids if len(job.ids) < window // 2 else job.ids[-(window // 2) :] for job in jobs
    ]
    limits = [
        min(job.wanted - len(job.ids), window - len(c))
        for job, c in zip(jobs, contexts, strict=True)
    ]
    fresh = sample(network, contexts, settings, limits, [job.rng for job in jobs], [end])
    for job, (ids, _) in zip(jobs, fresh, strict=True):
        job.ids += ids
