"""Real against generated texts under every critic that applies: numbers with intervals and tests, and their worst parts."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from longform.core.critic import Tally, compare, estimate
from longform.core.documents import BadInput, Document
from longform.core.resampling import generator
from longform.core.text.sentences import sentences
from longform.criticize.panels import Options, Panel, check, panels
from longform.criticize.report import FEW, Blame, Criticism, Judged
from longform.criticize.texts import halves, read_texts


def criticize(
    real: Path | str | Sequence[str],
    generated: Path | str | Sequence[str],
    *,
    model: Path | str | None = None,
    encoder: Path | str | None = None,
    seed: int = 1234,
    progress: Callable[[Sequence[Panel]], Iterable[Panel]] = iter,
) -> Criticism:
    """Put generated texts beside real ones: half of the real texts fits the critics, the other half is what they are compared with.

    Each side is a ``.jsonl`` file, a folder of ``.txt`` and ``.md`` files, or a list of texts. ``model`` (or "none") and ``encoder`` are
    folders of a causal language model and of a sentence encoder, by default the optional extras', where they are installed;
    ``progress`` wraps the critics and shows how far it is: a progress bar.

    Raises BadInput: no texts, or fewer than two real ones; a model or an encoder that is named and cannot be read.
    """
    sides = read_texts(real), read_texts(generated)
    documents = [replace(d, id=f"real/{d.id}") for d in halves(sides[0].documents)]
    documents += [replace(d, id=f"generated/{d.id}", split="generated") for d in sides[1].documents]
    named = Path(model) if model not in (None, "none") else None
    options = Options(named, Path(encoder) if encoder is not None else None, seed, packaged=model != "none")
    check(options)
    judged, left_out = [], []
    for panel in progress(panels(options)):
        try:
            judged.append(judge(panel, documents, seed))
        except BadInput as error:
            if panel.asked:
                raise BadInput(f"{panel.name}: {error}") from error
            left_out.append((panel.name, str(error)))
    return Criticism(tuple(judged), tuple(left_out), *sides)


def judge(panel: Panel, documents: Sequence[Document], seed: int) -> Judged:
    """One critic over all texts."""
    units = panel.read(documents)
    side = {split: [unit for unit in units if unit.split == split] for split in ("train", "test", "generated")}
    fitted = panel.critic.fit(side["train"])
    real, generated = fitted.tally(side["test"]), fitted.tally(side["generated"])
    for name, tally in (("real", real), ("generated", generated)):
        if tally.total("excluded") == len(tally.unit_ids):
            needs = f"; one needs {panel.needs}" if panel.needs else ""
            raise BadInput(f"none of the {len(tally.unit_ids)} {name} texts could be scored{needs}")
    counted = [int(t.total("unknown")) if panel.unknown else 0 for t in (real, generated)]
    draws = [generator(seed, "criticize", panel.name, what) for what in ("real", "generated", "difference")]
    texts = {document.id: document for document in documents}
    blame: Blame = {}
    if panel.places is not None and hasattr(fitted, "attribute"):
        found = fitted.attribute(side["generated"])
        for unit, parts, out in zip(side["generated"], found, generated.column("excluded") > 0, strict=True):
            rows = by_sentence(parts)
            spans = panel.places(texts[unit.unit_id], rows)
            blame[unit.unit_id] = [] if out else worst_places(fitted.blame * rows, spans)
    return Judged(
        panel,
        estimate(fitted, real, draws[0]),
        estimate(fitted, generated, draws[1]),
        compare(fitted, generated, real, draws[2]),
        blame,
        (counted[0], counted[1]),
        _length_correlation(fitted, real, texts),
    )


def _length_correlation(fitted: Any, tally: Tally, texts: Mapping[str, Document]) -> float:
    kept = [row for row, out in enumerate(tally.column("excluded")) if not out]
    values = [fitted.score(tally.take(np.array([row]))) for row in kept]
    lengths = [len(sentences(texts[tally.unit_ids[row]].text)) for row in kept]
    if len(kept) < FEW or np.ptp(lengths) == 0 or not np.ptp(values) > 0:
        return math.nan
    return float(spearmanr(values, lengths).statistic)


def by_sentence(parts: np.ndarray) -> np.ndarray:
    """Parts in one dimension: cells (sentences, entities) are added up by sentence."""
    return parts if parts.ndim == 1 else np.nansum(parts, axis=1)


def worst_places(values: np.ndarray, spans: Sequence[tuple[int, int]]) -> list[tuple[float, tuple[int, int]]]:
    """The three places that speak most against a text, worst first: above the mean of all; parts of one place add up."""
    totals: dict[tuple[int, int], float] = {}
    for value, span in zip(values.tolist(), spans, strict=False):
        if not math.isnan(value):
            totals[span] = totals.get(span, 0.0) + value
    if not totals or np.ptp(list(totals.values())) == 0:
        return []
    mean = float(np.mean(list(totals.values())))
    order = sorted(totals, key=lambda span: -totals[span])
    return [(totals[span], span) for span in order if totals[span] > mean][:3]
