"""Real against generated texts under every critic that applies: numbers with intervals and tests, and their worst parts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.criticize.panels import Options, Panel, asked, check, panels
from longform.criticize.texts import Texts, halves, read_texts
from longform.numerics import generator
from longform.protocol import Comparison, Estimate, Tally, compare, estimate
from longform.units import BadInput, Document

FEW = 20  # ours: texts a side below which the report warns that intervals are rough
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Judged:
    """One critic's word on both sides.

    Attributes:
        real: of the held-out half of the real texts.
        difference: generated minus real, with the p-value of a permutation test.
        blame: document id -> (value, place in the parts) of its worst parts, worst first; generated texts only.
        shapes: document id -> its parts' values.
        unknown: parts of the real and of the generated texts that are not scored, where the panel says what they are.
    """

    panel: Panel
    real: Estimate
    generated: Estimate
    difference: Comparison
    blame: dict[str, list[tuple[float, int]]]
    shapes: dict[str, np.ndarray]
    unknown: tuple[int, int] = (0, 0)

    @property
    def verdict(self) -> str:
        """In words."""
        if not math.isfinite(self.difference.difference):
            return "not decided: a score is not finite"
        if self.difference.p_value >= SIGNIFICANT:
            return "no difference found"
        return "higher than real text" if self.difference.difference > 0 else "lower than real text"


@dataclass(frozen=True)
class Criticism:
    """What came out.

    Attributes:
        judged: the critics that apply.
        left_out: (critic, why) of those that do not.
        real, generated: the texts, with what was set aside of each.
    """

    judged: tuple[Judged, ...]
    left_out: tuple[tuple[str, str], ...]
    real: Texts
    generated: Texts

    @property
    def shared(self) -> int:
        """Generated texts that stand among the real ones word for word."""
        known = {document.text for document in self.real.documents}
        return sum(document.text in known for document in self.generated.documents)

    def table(self) -> str:
        """Markdown: a critic a row."""
        from longform.criticize.pages import table

        return table(self)

    def save(self, folder: Path | str) -> Path:
        """``results.md``, ``results.csv``, ``critics.pdf`` and ``.png``, ``index.html`` and a page per generated text."""
        from longform.criticize.pages import save

        return save(self, Path(folder))


def criticize(
    real: Path | str,
    generated: Path | str,
    *,
    model: Path | str | None = None,
    encoder: Path | str | None = None,
    seed: int = 1234,
    progress: Callable[[str], None] = lambda line: None,
) -> Criticism:
    """Put generated texts beside real ones under every critic that applies.

    Half of the real texts fits the critics, the other half is what the generated texts are compared with.

    Args:
        real, generated: a ``.jsonl`` file or a folder of ``.txt`` and ``.md`` files each.
        model: folder of a causal language model, for the perplexity of both sides.
        encoder: folder of a sentence encoder; by default the optional extra's, where it is installed.
        progress: called with a line per critic.

    Raises:
        BadInput: no texts, or fewer than two real ones; a model or an encoder that is named and cannot be read.
    """
    sides = read_texts(Path(real)), read_texts(Path(generated))
    documents = [replace(d, id=f"real/{d.id}") for d in halves(sides[0].documents)]
    documents += [replace(d, id=f"generated/{d.id}", split="generated") for d in sides[1].documents]
    options = Options(*(Path(p) if p is not None else None for p in (model, encoder)), seed)
    check(options)
    judged, left_out = [], []
    for name, make in panels(options):
        started = time.monotonic()
        try:
            judged.append(judge(make(), documents, seed))
            progress(f"{name}: done in {time.monotonic() - started:.1f} s")
        except BadInput as error:
            if name in asked(options):
                raise BadInput(f"{name}: {error}") from error
            left_out.append((name, str(error)))
            progress(f"{name}: left out ({error})")
    return Criticism(tuple(judged), tuple(left_out), *sides)


def judge(panel: Panel, documents: Sequence[Document], seed: int) -> Judged:
    """One critic over all texts."""
    units = panel.read(documents)
    side = {split: [unit for unit in units if unit.split == split] for split in ("train", "test", "generated")}
    fitted = panel.critic.fit(side["train"])
    real, generated = fitted.tally(side["test"]), fitted.tally(side["generated"])
    for name, tally in (("real", real), ("generated", generated)):
        if tally.total("excluded") == len(tally.unit_ids):
            raise BadInput(f"none of the {len(tally.unit_ids)} {name} texts could be scored")
    counted = [int(t.total("unknown")) if panel.unknown and "unknown" in t.columns else 0 for t in (real, generated)]
    draws = [generator(seed, "criticize", panel.name, what) for what in ("real", "generated", "difference")]
    blame, shapes = _blame(fitted, side["generated"], generated)
    return Judged(
        panel,
        estimate(fitted, real, draws[0]),
        estimate(fitted, generated, draws[1]),
        compare(fitted, generated, real, draws[2]),
        blame,
        shapes,
        (counted[0], counted[1]),
    )


def _blame(fitted: Any, units: Sequence[Any], tally: Tally) -> tuple[dict, dict]:
    if not hasattr(fitted, "attribute"):
        return {}, {}
    excluded = tally.column("excluded") > 0
    parts = dict(zip((u.unit_id for u in units), fitted.attribute(units), strict=True))
    blame = {
        unit.unit_id: [] if out else _worst(fitted.blame * parts[unit.unit_id].ravel())
        for unit, out in zip(units, excluded, strict=True)
    }
    return blame, parts


def _worst(values: np.ndarray, count: int = 3) -> list[tuple[float, int]]:
    """The parts that speak most against a text, worst first, if parts differ at all."""
    known = values[~np.isnan(values)]
    if not known.size or np.ptp(known) == 0:
        return []
    order = np.argsort(-values, kind="stable")
    median = float(np.median(known))
    return [(float(values[i]), int(i)) for i in order if not np.isnan(values[i]) and values[i] > median][:count]
