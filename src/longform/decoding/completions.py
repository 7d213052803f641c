"""Machine counterparts of human articles (sheng2024 section 5.2).

A model completes each section from its first sentences. The corpus holds every side of an article,
``<id>-human`` and ``<id>-<source>``, in the original's split. It can be completed again by another
model: its human sides are the articles then, its other sides are kept.
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

HUMAN = "-human"  # ends the id of a human side
REPORT_EVERY = 10.0  # seconds between lines of progress
_FULL_STOP = re.compile(r"\.(?=\s)")  # before white space: not that of 3.5
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
    sources: Mapping[str, str],
    prompt_sentences: int = 2,
    splitter: str = "full_stops",
    documents: Mapping[str, int] | None = None,
    batch: int = 128,
    scratch: Path | None = None,
) -> Corpus:
    """Complete every section of the first articles of each split.

    A continuation is as long as the human text that it replaces.

    Args:
        model: folder of the language model.
        name: of the corpus.
        seed: of all random numbers, with the name, the source, and the section.
        prefixes: the articles.
        sources: name of a source -> which of ``DECODERS`` makes it.
        prompt_sentences: number of human sentences at the start of each section; a section without
            more stays as it is.
        splitter: how a text is cut into sentences, a key of ``SPLITTERS``.
        documents: split -> number of articles; all by default.
        batch: sections that are sampled at once.
        scratch: folder of finished sections, from which a killed run goes on.

    Returns:
        All sides, article by article; facts count sections completed and kept.

    Raises:
        BadInput: an unknown decoder or splitter, or a source's name that cannot end an id.
    """
    _check_settings(name, sources, splitter)
    articles, others = _articles(prefixes, documents)
    sides: dict[str, list[Document]] = {}
    for article in articles:
        human = replace(article, id=article.id + HUMAN)
        sides[article.id] = [human, *others.get(article.id, ())]
    num_sections = sum(len(article.sections) for article in articles)
    tokenizer, network = open_language_model(model)
    start = start_ids(tokenizer)
    end_token = end_of_writing(tokenizer, f"generate {name}")
    counts = {"sections_completed": 0, "sections_kept": 0}
    for source, decoder in sources.items():
        # 1. The sections that have something to complete.
        jobs = []
        for article in articles:
            for k, section in enumerate(article.sections):
                prompt = opening(section.text, splitter, prompt_sentences)
                if prompt is not None:
                    rng = generator("completion", seed, name, source, article.id, k)
                    jobs.append(_job(article, k, prompt, tokenizer, rng))
        # 2. Their completions.
        path = None if scratch is None else scratch / f"sections-{source}.jsonl"
        _complete(jobs, network, DECODERS[decoder], end_token, batch, path)
        texts = {}
        for job in jobs:
            completion = tokenizer.decode(job.ids[len(start) :], skip_special_tokens=True)
            texts[job.key] = whole_sentences(str(completion), job.prompt)
        # 3. The articles with these.
        for article in articles:
            sides[article.id].append(_machine_side(article, source, texts))
        counts["sections_completed"] += len(jobs)
        counts["sections_kept"] += num_sections - len(jobs)
        print(f"generate {name}: {len(articles)} articles by {source}", flush=True)
    all_sides = []
    for article_sides in sides.values():
        all_sides.extend(article_sides)
    facts = {"corpus": name, "sources": dict(sources), **counts}
    return Corpus(all_sides, facts=facts)


def _check_settings(name: str, sources: Mapping[str, str], splitter: str) -> None:
    """Raises BadInput: an unknown decoder or splitter, or a source's name that cannot end an id."""
    is_sound = bool(sources) and splitter in SPLITTERS
    for source, decoder in sources.items():
        is_name = SOURCE.fullmatch(source) and f"-{source}" != HUMAN
        is_sound = is_sound and bool(is_name) and decoder in DECODERS
    if not is_sound:
        raise BadInput(
            f"generate {name}: sources {dict(sources)}, splitter {splitter!r}; allowed are names "
            f"of [a-z0-9_]+ but 'human', decoders {sorted(DECODERS)}, "
            f"splitters {sorted(SPLITTERS)}; fix the entry"
        )


def _articles(
    prefixes: Sequence[Document], num_of_split: Mapping[str, int] | None
) -> tuple[list[Document], dict[str, list[Document]]]:
    """The human articles to complete, and the other sides of each by its id.

    Args:
        prefixes: articles, or the sides of completed ones.
        num_of_split: split -> number of articles; None takes all.
    """
    humans = [document for document in prefixes if document.id.endswith(HUMAN)]
    others: dict[str, list[Document]] = {}
    if humans:
        machines = [document for document in prefixes if not document.id.endswith(HUMAN)]
        others = grouped(machines, lambda document: document.id.rpartition("-")[0])
    articles = []
    for document in humans or prefixes:
        articles.append(replace(document, id=document.id.removesuffix(HUMAN)))
    if num_of_split is None:
        return articles, others
    selected = []
    for split, count in num_of_split.items():
        of_split = [article for article in articles if article.split == split]
        selected.extend(of_split[:count])
    return selected, others


def opening(text: str, splitter: str, sentences: int) -> str | None:
    """The first sentences of a section, one paragraph a line as models read them.

    Args:
        text: the section.
        splitter: a key of ``SPLITTERS``.
        sentences: number of sentences.

    Returns:
        None where the section has no more sentences than these.
    """
    lines: list[str] = []
    num_left = sentences
    has_more = False
    for paragraph in paragraphs(text):
        pieces = SPLITTERS[splitter](paragraph)
        if num_left and pieces:
            lines.append(" ".join(pieces[:num_left]))
        has_more = has_more or len(pieces) > num_left
        num_left = max(0, num_left - len(pieces))
    return "\n".join(lines) if has_more else None


def whole_sentences(written: str, prompt: str) -> str:
    """A completed section up to its last full stop after the prompt; else with a stop added.

    No other mark ends a sentence here, as with the splitter "full_stops" (sheng2024).

    Args:
        written: the prompt and its completion, a paragraph a line.
        prompt: likewise.

    Returns:
        The section, with blank lines between paragraphs and single blanks between words.
    """
    text = single_spaced(from_lines(written))
    shown = single_spaced(from_lines(prompt))
    if text.endswith("."):
        return text
    # The text begins with the prompt, people's sentences, which stay as they are.
    stops = [stop.end() for stop in _FULL_STOP.finditer(text, len(shown))]
    return text[: stops[-1]] if stops else f"{text}."


@dataclass
class _Job:
    """A section that is being completed.

    Attributes:
        key: id of its article, and its number there.
        ids: tokens so far, the prompt's among them.
        length: number of tokens that it is to have.
        prompt: the human text that it begins with.
        rng: its own random generator.
    """

    key: tuple[str, int]
    ids: list[int]
    length: int
    prompt: str
    rng: np.random.Generator


def _job(article: Document, k: int, prompt: str, tokenizer: Any, rng: np.random.Generator) -> _Job:
    """The job of completing section k of an article to its present length and an end token."""
    section = article.sections[k]
    length = len(encode(to_lines(section.text), tokenizer)) + 1
    ids = [*start_ids(tokenizer), *encode(prompt, tokenizer)]
    return _Job((article.id, k), ids, length, prompt, rng)


def _machine_side(article: Document, source: str, texts: Mapping[tuple[str, int], str]) -> Document:
    """An article with completed sections, the others as people wrote them.

    Args:
        article: people's.
        source: of the completions; it ends the id.
        texts: completed sections by the article's id and their number.
    """
    sections = []
    for k, section in enumerate(article.sections):
        text = texts.get((article.id, k), section.text)
        sections.append(replace(section, text=text))
    return replace(article, id=f"{article.id}-{source}", sections=tuple(sections))


def _complete(
    jobs: list[_Job], network: Any, settings: Sampled, end: int, batch: int, path: Path | None
) -> None:
    """Complete all sections, or read them from the file of finished ones.

    Args:
        jobs: the sections; their ``ids`` grow.
        network: the language model.
        settings: of the sampler.
        end: the token that ends a text, which is never sampled.
        batch: sections at a time, of like lengths.
        path: file of finished sections; None for none.
    """
    jobs = sorted(jobs, key=lambda job: job.length - len(job.ids))
    done = {}
    for row in read_lines(path) if path else ():
        done[row["article"], row["section"]] = row["ids"]
    reported = time.monotonic()
    for first in range(0, len(jobs), batch):
        members = jobs[first : first + batch]
        # 1. Only whole batches are taken from the file: logits depend on a row's batch by rounding.
        if all(job.key in done for job in members):
            for job in members:
                job.ids = done[job.key]
            continue
        # 2. Others are written, as far as the window goes at a time.
        unfinished = [job for job in members if len(job.ids) < job.length]
        while unfinished:
            _round(unfinished, network, settings, end)
            unfinished = [job for job in unfinished if len(job.ids) < job.length]
        # 3. Into the file.
        if path:
            lines = []
            for job in members:
                article, section = job.key
                lines.append({"article": article, "section": section, "ids": job.ids})
            append_lines(path, lines)
        if time.monotonic() - reported > REPORT_EVERY:
            reported = time.monotonic()
            print(f"complete: {min(first + batch, len(jobs))}/{len(jobs)} sections", flush=True)


def _round(jobs: Sequence[_Job], network: Any, settings: Sampled, end: int) -> None:
    """Sample as many tokens for each section as the window has room for.

    A context of half a window or more is cut to its last half window.
    """
    window = capacity.window_size(network)
    contexts, limits, rngs = [], [], []
    for job in jobs:
        context = job.ids if len(job.ids) < window // 2 else job.ids[-(window // 2) :]
        contexts.append(context)
        limits.append(min(job.length - len(job.ids), window - len(context)))
        rngs.append(job.rng)
    fresh = sample(network, contexts, settings, limits, rngs, [end])
    for job, (ids, _) in zip(jobs, fresh, strict=True):
        job.ids += ids
