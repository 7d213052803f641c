"""Table 10 and Figure 7 of deng2022: languages found by a mixture model, and how sentences mix them (appendix C)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from longform.datasets.synthetic_world.languages import language_of
from longform.documents import BadInput
from longform.reporting.critic_tables import Records, comparison_lines, parts
from longform.reporting.layout import Cell, Figure, cell, short
from longform.reporting.ledger import judge_ordering
from longform.reporting.listings import Listing

COLUMNS = {
    "dispersion": "dispersion, 1 - Σ z²",
    "corners": "share with 90 % of one language",
    "languages": "Latent NLL (nats per sentence)",
}
SYSTEMS = ("data", "autoregressive", "non_autoregressive")
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])  # of the simplex of three languages
WHY = "invented languages and small translators here, English into German, Spanish and French in the paper"


def table_10(*, scores: Records) -> Listing:
    """The most probable words of each language of the mixture, and which planted language they belong to."""
    listed = [words for record in scores.values() for words in (record.get("details") or {}).get("top_words", [])]
    if not listed:
        raise BadInput(f"table_10: rows {list(scores)} list no words; give one of critic 'released' of dirichlet.py")
    rows = [[*_named(words), " ".join(words)] for words in listed]
    distinct = {row[0] for row in rows} - {""}
    notes = [
        f"each component is another planted language: {'holds' if len(distinct) == len(rows) else 'differs'}",
        f"the paper's words are others: {WHY}",
    ]
    header = ["language of most words", "words of it", f"{len(listed[0])} most probable words"]
    return Listing("Table 10. The most probable words of each language of the mixture", header, rows, notes)


def _named(words: Sequence[str]) -> tuple[str, str]:
    """The planted language that most words show, and how many do; blank where none shows any."""
    counts = Counter(found for word in words if (found := language_of(word)))
    language, number = counts.most_common(1)[0] if counts else ("", 0)
    return language, f"{number} of {len(words)}"


def figure_7(*, scores: Records) -> Figure:
    """Mixes of languages on the simplex, one panel per system, with the dispersion as a number.

    Score rows are named ``<corpus>-<system>-<dispersion|corners|languages>`` with a system of ``SYSTEMS``.
    """
    cells = [cell(parts(name)[1], COLUMNS[parts(name)[2]], record) for name, record in scores.items()]
    by = {parts(name)[1:]: record for name, record in scores.items()}
    missing = [
        f"{system}-{kind}" for system in SYSTEMS for kind in ("dispersion", "corners") if (system, kind) not in by
    ]
    if missing:
        raise BadInput(f"figure_7: no score row <corpus>-{missing[0]}; name the rows of every system in the report")
    lines = ["Figure 7. Mixes of languages of sentences, a draw of the posterior each, over the simplex of three.", ""]
    lines += [f"- {_in_words(one)}" for one in cells]
    lines += [f"- {claim}" for claim in _claims(by)]
    lines += [f"- {line}" for line in comparison_lines(scores)]
    lines += [f"- the paper prints no number: {WHY}"]

    def draw(canvas: Any) -> None:
        for axes, system in zip(canvas.subplots(1, len(SYSTEMS)), SYSTEMS, strict=True):
            _panel(axes, system, by[system, "dispersion"])

    return Figure("\n".join(lines), cells, draw, size=(9.0, 3.1))


def _panel(axes: Axes, system: str, record: Mapping[str, Any]) -> None:
    points = np.array(record["details"]["points"])
    at = points[:, : len(CORNERS)] @ CORNERS
    axes.fill(*CORNERS.T, fill=False, edgecolor="#444444", linewidth=0.8)
    axes.scatter(*at.T, s=6, alpha=0.35, linewidths=0, color="#0072B2")
    title = f"{system.replace('_', '-')}\ndispersion {record['value']:.3f} [{record['low']:.3f}, {record['high']:.3f}]"
    axes.set_title(title, fontsize=9)
    axes.set_aspect("equal")
    axes.axis("off")


def _in_words(one: Cell) -> str:
    interval = "" if one.low is None or one.high is None else f" [{short(one.low)}, {short(one.high)}]"
    aside = f", {one.excluded} set aside" if one.excluded else ""
    value = "–" if one.value is None else short(one.value)
    return f"{one.row}, {one.column}: {value}{interval} over {one.units} sentences{aside}"


def _claims(by: Mapping[tuple[str, ...], Mapping[str, Any]]) -> list[str]:
    data, one, all_at_once = (by[system, "dispersion"] for system in SYSTEMS)
    found = [
        judge_ordering("dispersion: data < non-autoregressive (Figure 7)", [data, all_at_once]),
        judge_ordering("dispersion: autoregressive < non-autoregressive (Figure 7)", [one, all_at_once]),
    ]
    lines = [f"{finding.claim}: {finding.verdict} ({finding.why})" for finding in found]
    near = by["autoregressive", "corners"]["value"]
    verdict = "ordering holds" if near > 0.5 > by["non_autoregressive", "corners"]["value"] else "differs"
    lines.append(
        f"most autoregressive sentences lie in a corner and most non-autoregressive ones do not (Figure 7): {verdict}"
    )
    return lines
