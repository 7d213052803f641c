"""Section titles in deng2022.

Tables 2, 3, 5 and 11, the classifier's calibration and errors, and appendix A.

Each function makes one table or figure from :class:`ReportInputs`: ``select`` finds records, of the
variant "" where a filter names none; ``pivot`` lays them out as cells, a row for each system, a
column for each filter.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.titles import LOWER_BOUND, Selection, piece_count
from longform.datasets.titles import table_11 as corpus_statistics
from longform.documents import Document
from longform.errors import BadInput
from longform.files.artefacts import read_documents, read_json
from longform.results import Record, Results
from longform.statistics.intervals import wilson
from longform.tables import COLOURS, Cell, Figure, Table, exact
from longform_lab.reporting.estimates import folder_of, of_records
from longform_lab.reporting.pivot import SYSTEM, ReportInputs, errors, panels

LATENT = {"critic": "section_order", "metric": "latent_ppl"}
GOLD = {**LATENT, "variant": "gold"}
# Other columns classify each section; here titles are real text's, or those that a model wrote.
OWN = "Latent PPL, own titles"
COLUMNS: dict[str, Mapping[str, Any]] = {
    "PPL": {"critic": "perplexity", "metric": "word_ppl"},
    "Latent PPL": LATENT,
    OWN: {**LATENT, "variant": ["gold", "written"]},
    f"{OWN}, released rule": {**LATENT, "variant": "released"},
    "title accuracy": {**LATENT, "metric": "title_accuracy"},
}


def titles(inputs: ReportInputs, printed: str, caption: str) -> Table:
    """Word PPL and Latent PPL of section titles beside exact and chance values (Tables 2, 3, 5).

    Args:
        inputs: the records.
        printed: name of the paper's table whose numbers stand beside ours.
        caption: without what is said of intervals.
    """
    latent = inputs.select(LATENT)
    cells = inputs.exact_rows(latent.values("corpus"), "section_latent_ppl", OWN)
    cells += inputs.pivot(COLUMNS, printed)
    notes = [*inputs.notes, *inputs.comparisons(latent), _unknown_titles(inputs, latent)]
    # 1. Texts that have no end.
    cut_texts = []
    for record in latent:
        num_cut = record.details.get("cut")
        if num_cut:
            num_texts = (record.units or 0) + (record.excluded or 0)
            cut_texts.append(f"{inputs.labels(record, *SYSTEM)}, {num_cut} of {num_texts}")
    if cut_texts:
        notes.append(
            f"texts cut at the limit of length, whose end is not scored: {'; '.join(cut_texts)}"
        )
    # 2. What became of the articles that each system was asked for.
    for record in latent:
        path = generated_folder(inputs.data, record) / "facts.json"
        if record.titles is None or not path.is_file():
            continue
        facts = read_json(path)
        counts = []
        for key in ("documents", "failed", "redraws", "cut"):
            if key in facts:
                counts.append(f"{facts[key]} {key}")
        notes.append(f"{inputs.labels(record, *SYSTEM)}: {', '.join(counts)}")
    return Table(f"{caption}, with 95 % intervals", cells, notes, list(COLUMNS))


def _unknown_titles(inputs: ReportInputs, latent: Results) -> str:
    """A note: how many transitions are from or to a title that real text lacks, by system.

    Args:
        inputs: the records.
        latent: those whose titles a classifier read from the text; beside them stand those with
            each text's own titles.
    """
    counts = []
    for whose, records in (("read", latent), ("own", inputs.select(COLUMNS[OWN]))):
        for of_system in records.groups(*SYSTEM).values():
            num_unknown = num_scored = 0.0
            for record in of_system:
                totals = record.details.get("totals", {})
                if "unknown" in totals:
                    num_unknown += totals["unknown"]
                    num_scored += totals["transitions"]
            if num_unknown:
                system = inputs.labels(of_system[0], *SYSTEM)
                num_all = num_unknown + num_scored
                counts.append(f"{system}, {whose} titles, {num_unknown:.0f} of {num_all:.0f}")
    return f"transitions not scored for an unknown title: {', '.join(counts) or 'none'}"


def figure_sizes(inputs: ReportInputs) -> Figure:
    """Word PPL and Latent PPL over the size of the network (ours, after Table 5).

    A line for each corpus, with and without titles.
    """
    columns = {"word PPL": COLUMNS["PPL"], "Latent PPL": COLUMNS["Latent PPL"]}
    caption = (
        "Word PPL and Latent PPL over the size of the network, a line for each corpus with and "
        "without titles, with 95 % intervals; sizes and Latent PPL on log scales; points of one "
        "size stand side by side"
    )
    draw = partial(_draw_size_panels, inputs=inputs, columns=columns)
    # Narrow and high, so that its letters can be read on a phone too.
    return Figure(caption, inputs.pivot(columns), draw, (4.2, 4.8), inputs.notes)


def _draw_size_panels(
    canvas: Any, inputs: ReportInputs, columns: Mapping[str, Mapping[str, Any]]
) -> None:
    """Draw a panel for each perplexity, word PPL and below it Latent PPL.

    Args:
        canvas: of the figure.
        inputs: the records.
        columns: the filter of each panel's records, by the panel's name.
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullLocator

    # 1. The panels.
    corpora: dict[str, None] = {}  # in order
    grid = canvas.subplots(len(columns), 1)
    for axes, (name, filters) in zip(grid, columns.items(), strict=True):
        records = inputs.select(filters)
        corpora |= dict.fromkeys(records.values("corpus"))
        _draw_sizes(axes, inputs, records)
        axes.set_title(name)
    # 2. A logarithmic scale of Latent PPL.
    latent = canvas.axes[-1]
    latent.set(yscale="log", xlabel="parameters of the network (thousands)")
    locator = LogLocator(subs=(1, 2, 5))
    latent.yaxis.set(major_locator=locator, minor_locator=NullLocator())
    latent.yaxis.set(major_formatter="{x:g}")
    # 3. One legend for both: colours of corpora, strokes and marks of the settings of titles.
    handles = []
    for number, corpus in enumerate(corpora):
        name = inputs.label("corpus", corpus)
        handles.append(Line2D([], [], color=COLOURS[number], label=name))
    for has_titles, (stroke, mark) in STROKES.items():
        name = inputs.label("titles", has_titles)
        look: dict[str, Any] = {"color": "0.3", "linestyle": stroke, "marker": mark, "label": name}
        handles.append(Line2D([], [], **look))
    handles.append(Line2D([], [], **OF_REAL_TEXT, label="real text"))
    canvas.legend(handles=handles, loc="outside lower center", ncols=2)


def _draw_sizes(axes: Any, inputs: ReportInputs, records: Results) -> None:
    """Draw a perplexity over sizes: a line a corpus and setting of titles, real text dotted.

    Args:
        axes: of the panel.
        inputs: its labels and its data folder, in which the networks are.
        records: of one metric.
    """
    # 1. Sizes by corpus, whose vocabulary may be its own, and system, in thousands of parameters.
    sizes: dict[str, dict[str, float]] = {}
    for record in records:
        if record.titles is not None:
            of_corpus = sizes.setdefault(record.corpus, {})
            of_corpus[record.system] = parameters(inputs.data, record) / 1000
    # 2. The lines.
    corpora = records.values("corpus")
    for number, corpus in enumerate(corpora):
        for has_titles in (True, False):
            of_line = records.where(corpus=corpus, titles=has_titles)
            stroke, mark = STROKES[has_titles]
            style = {"color": COLOURS[number], "ls": stroke, "marker": mark, "markersize": 5}
            # Lines stand side by side, or their intervals would cover each other.
            offset = 2 * number + (0 if has_titles else 1) - (2 * len(corpora) - 1) / 2
            shift = SHIFT**offset
            _draw_line(axes, of_line, sizes.get(corpus, {}), shift, style)
    # 3. Real text of the first corpus, and ticks at the sizes.
    for record in records.where(system="data", corpus=corpora[:1]):
        axes.axhline(record.value, **OF_REAL_TEXT)
    axes.set_xscale("log")
    distinct = set[float]()
    for of_corpus in sizes.values():
        distinct.update(of_corpus.values())
    ticks = sorted(distinct)
    axes.set_xticks(ticks, [f"{size:,.0f}" for size in ticks])
    axes.set_xticks([], minor=True)


def _draw_line(
    axes: Any,
    records: Results,
    sizes: Mapping[str, float],
    shift: float,
    look: Mapping[str, Any],
) -> None:
    """Draw means over seeds with their intervals, on the scale of perplexities, by size.

    Args:
        axes: of the panel.
        records: of one corpus and setting of titles.
        sizes: of networks, by system, in thousands of parameters.
        shift: factor from a size to the position of its point.
        look: how matplotlib draws the line.
    """
    points = {}
    for system, size in sizes.items():
        mean = of_records(list(records.where(system=system)), log=True)
        if mean is not None:
            points[size] = mean.exp()
    ordered = sorted(points)
    estimates = [points[size] for size in ordered]
    values = [estimate.value for estimate in estimates]
    shifted = [size * shift for size in ordered]
    axes.errorbar(shifted, values, errors(estimates), capsize=2, **look)


def parameters(data: Path, record: Record) -> int:
    """Number of weights in the checkpoint of a record's system, by the file's header.

    A file of safetensors begins with the header's length in bytes (8 bytes, little-endian) and the
    header, which has the shape of each tensor.

    Raises:
        BadInput: it is not there.
    """
    path = generated_folder(data, record, "models") / "model.safetensors"
    if not path.is_file():
        raise BadInput(
            f"{path}: no such file; `dvc repro` trains the model; docs/share_results.md says how "
            "to get a finished run"
        )
    with path.open("rb") as file:
        num_bytes = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(num_bytes))
    total = 0
    for name, tensor in header.items():
        if name != "__metadata__":
            total += prod(tensor["shape"])
    return total


def generated_folder(data: Path, record: Record, kind: str = "generations") -> Path:
    """Where the texts, or the ``models``, of a record's system lie.

    It is ``data/<kind>/<study>/<corpus>/<model>/<titles>/<seed>``.
    """
    corpus = folder_of(data / kind, record.corpus) or data / kind / record.corpus
    trained = corpus / record.system / f"{'with' if record.titles else 'without'}_titles"
    return trained if record.seed is None else trained / f"seed_{record.seed}"


def texts_in(folder: Path) -> list[Document]:
    """The texts of a corpus or of a system. Raises BadInput: they are not there."""
    path = folder / "documents.jsonl"
    if not path.is_file():
        raise BadInput(f"{path}: no such file; generate the texts that the scores were read from")
    return read_documents(path)


# Columns of Table 11 by the names of corpus_statistics.
STATISTICS = {
    "train": "train",
    "validation": "validation",
    "test": "test",
    "section_types": "section types",
    "med_sections": "median sections",
    "med_section_len": "median section length",
    "max_section_len": "longest section",
}


def table_11(inputs: ReportInputs) -> Table:
    """Articles per split, section types, section statistics of the validation split.

    Raises:
        BadInput: a corpus is not there.
    """
    cells, notes = [], []
    for corpus in inputs.where.get("corpus", []):
        folder = folder_of(inputs.data / "corpora", corpus)
        if folder is None:
            raise BadInput(
                f"{inputs.data / 'corpora'} has no corpus {corpus!r}; "
                "run its stage, or name another"
            )
        # 1. Ours, beside what the paper prints of the corpus.
        facts = inputs.facts.of(corpus)
        row = inputs.label("corpus", corpus)
        statistics: Any = facts.get("table_11") or _statistics(folder)
        printed = _printed_statistics(inputs, corpus)
        for name, column in STATISTICS.items():
            printed_number = printed.get(f"table_11.{name}")
            cells.append(exact(row, column, statistics[name], "count", printed=printed_number))
        # 2. A note on what they count.
        dropped = []
        for reason, count in sorted(facts.get("dropped", {}).items()):
            dropped.append(f"{reason} {count}")
        notes.append(
            f"{row}: lengths in {facts.get('token_unit', LOWER_BOUND)}; "
            f"dropped articles: {', '.join(dropped) or 'none'}"
        )
    return Table(
        "Table 11. Corpora: articles, section types, section statistics (validation split)",
        cells,
        notes,
    )


def _statistics(folder: Path) -> Any:
    """Table 11's statistics of a corpus, counted anew because its facts have none."""
    documents = read_documents(folder / "documents.jsonl")
    lengths = []
    for document in documents:
        of_document = [piece_count(section.text) for section in document.sections]
        lengths.append(np.array(of_document))
    return corpus_statistics(Selection(documents, lengths, Counter()))


def _printed_statistics(inputs: ReportInputs, corpus: str) -> dict[Any, float]:
    """The paper's numbers of a corpus, by our name of the fact, such as ``table_11.train``."""
    printed = {}
    for number in inputs.expected.numbers:
        if number.table != "table_11" or number.value is None:
            continue
        if (number.where or {}).get("corpus") == corpus:
            printed[number.fact] = number.value / number.times
    return printed


ACROSS = 4  # panels in a row
# Of lines: stroke and mark with section titles, and without them.
STROKES = {True: ("-", "o"), False: ("--", "s")}
OF_REAL_TEXT: Mapping[str, Any] = {"color": "0.4", "linewidth": 0.8, "linestyle": ":"}
SHIFT = 1.012  # times a size, from one line of a panel to the next
MEASURES = {
    "accuracy": {"metric": "title_accuracy"},
    "calibration error": {"metric": "calibration_error"},
}


@dataclass(frozen=True)
class Bin:
    """Sections of which a title classifier is about equally certain.

    Attributes:
        low, high: its ends, probabilities of the predicted title.
        sections: number of sections.
        confidence: sum of these probabilities.
        correct: number of sections whose predicted title is right.
    """

    low: float
    high: float
    sections: float
    confidence: float
    correct: float

    @property
    def share(self) -> float:
        """The share of sections whose predicted title is right."""
        return self.correct / self.sections

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        return wilson(self.correct, self.sections)

    def cell(self, row: str) -> Cell:
        """The share with its interval as a cell of a row of the CSV."""
        column = f"accuracy in ({self.low:.2f}, {self.high:.2f}]"
        return Cell(row, column, self.share, *self.interval, int(self.sections))


def title_calibration(inputs: ReportInputs) -> Figure:
    """Reliability of the title classifiers on test sections, a panel for each corpus.

    Accuracy and calibration error stand in the CSV.
    """
    # 1. The numbers of each corpus.
    critic = {"critic": "section_order"}
    cells = inputs.pivot(MEASURES, rows=("corpus",), where={**critic, **inputs.where})
    panels_of: dict[str, list[Bin]] = {}
    for record in inputs.select(critic, inputs.where, metric="calibration_error"):
        row = inputs.labels(record, "corpus")
        details = record.details
        for column, name in (
            ("error expected by chance", "expected_by_chance"),
            ("share over 90 % certain", "share_over_90"),
        ):
            cells.append(exact(row, column, details[name], record.signature))
        bins = []
        for numbers in details["bins"]:
            one = Bin(*numbers)
            if one.sections:
                bins.append(one)
                cells.append(one.cell(row))
        panels_of[row] = bins
    # 2. A panel each.
    across = max(1, min(len(panels_of), ACROSS))
    num_rows = max(1, math.ceil(len(panels_of) / across))
    caption = (
        "Title classifiers: share of correct titles by confidence, test sections, 95 % Wilson "
        "intervals (each section a trial; a bin of fewer than 20 has none in the CSV); on the "
        "diagonal a classifier is as often right as it is certain; the paper's BERT is mostly over "
        "90 % certain (section 4)."
    )
    draw = partial(_draw_calibration, panels_of=panels_of, across=across)
    return Figure(caption, cells, draw, (1.9 * across, 1.9 * num_rows + 0.4))


def _draw_calibration(canvas: Any, panels_of: Mapping[str, Sequence[Bin]], across: int) -> None:
    """Shares of correct titles over confidence; on the diagonal both agree.

    Args:
        canvas: of the figure.
        panels_of: the bins of each corpus that have sections.
        across: panels in a row.
    """
    grid = panels(canvas, len(panels_of), across, sharex=True, sharey=True)
    for axes, (corpus, bins) in zip(grid, panels_of.items(), strict=True):
        # 1. The arms of each bin's interval.
        confidences, shares, below, above = [], [], [], []
        for one in bins:
            low, high = one.interval
            confidences.append(one.confidence / one.sections)
            shares.append(one.share)
            below.append(one.share - low)
            above.append(high - one.share)
        # 2. Points beside the diagonal.
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        look = {"color": COLOURS[0], "markersize": 3, "capsize": 2, "fmt": "o"}
        bars = [below, above]
        axes.errorbar(confidences, shares, yerr=bars, clip_on=False, zorder=3, **look)
        axes.set(title=corpus, xlim=(0, 1), ylim=(0, 1), aspect="equal")
    canvas.supxlabel("mean confidence of the bin")
    canvas.supylabel("share of correct titles")


def inference_error(inputs: ReportInputs) -> Table:
    """Latent PPL before and after the classifier's errors are taken out.

    Beside it stand that of gold titles and, in rows named ``exact``, what that one tends to.
    """
    # 1. Exact values, and how the classifier errs.
    cells = []
    notes = inputs.notes
    corrected = inputs.select(LATENT, variant="corrected")
    for record in corrected.where(system="data"):
        row, details = inputs.labels(record, "corpus"), record.details
        exact_value = details.get("exact_latent_ppl")
        if exact_value is not None:
            cells.append(exact(f"{row}, exact", "Latent PPL, gold titles", exact_value))
        notes.append(
            f"{row}: confusion matrix of {details['validation_sections']:.0f} validation sections, "
            f"{details['validation_errors']:.0f} misread, "
            f"{details['titles_without_sections']} titles without a section"
        )
    notes.append(
        "the confusion matrix is that of real sections; a model's sections may be harder to read "
        "than those"
    )
    # 2. The three ways to count.
    columns = {
        "Latent PPL, predicted titles": LATENT,
        "Latent PPL, corrected": {**LATENT, "variant": "corrected"},
        "Latent PPL, gold titles": GOLD,
    }
    cells += inputs.pivot(columns)
    return Table(
        "Inference error: Latent PPL with the classifier's confusion matrix taken out", cells, notes
    )


# Metrics of appendix A by column. (1) is the perplexity exp(-(1)); H(q) is shown as exp H(q).
TERMS = {
    "Latent PPL, arg max": "latent_ppl",
    "Latent PPL, full posterior (1)": "expected_log_prior",
    "log-likelihood of the text given titles (2), nats a transition": "likelihood_term",
    "entropy of the posterior (3), nats a transition": "entropy_term",
    "(1) + (2) + (3), nats a transition": "log_evidence",
    "diversity of the set, exp H(q)": "chain_entropy",
    "KL(q, prior), nats a transition": "divergence_from_prior",
}


def appendix_a(inputs: ReportInputs) -> Table:
    """Appendix A's three terms of log P(x), and the Latent NLL of a set of texts in two parts.

    The parts are the set's own diversity H(q) and its distance KL(q, prior) to the prior.
    """
    columns = {}
    for column, metric in TERMS.items():
        columns[column] = {"critic": "section_order", "metric": metric}
    notes = [
        "(2) and the sum are relative to sections drawn without an order",
        "arg max Latent NLL = H(q) + KL(q, prior) with q the bigram of the set's own predicted "
        "titles",
    ]
    caption = "Appendix A: the terms of log P(x), and the diversity that the Latent PPL leaves out"
    return Table(caption, inputs.pivot(columns), notes)
