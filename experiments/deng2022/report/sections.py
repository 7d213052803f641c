"""Section titles in deng2022: Tables 2, 3, 5 and 11, the classifier's calibration and errors, and appendix A."""

import json
from collections import Counter
from collections.abc import Mapping
from itertools import product
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
from longform.tables import Cell, Figure, Table, exact
from longform_lab.reporting.estimates import folder_of, of_records
from longform_lab.reporting.pivot import COLOURS, SYSTEM, Given, errors, panels

LATENT = {"critic": "section_order", "metric": "latent_ppl"}
GOLD = {**LATENT, "variant": "gold"}
OWN = "Latent PPL, own titles"  # gold in real text, else what the model itself wrote
COLUMNS: dict[str, Mapping[str, Any]] = {
    "PPL": {"critic": "perplexity", "metric": "word_ppl"},
    "Latent PPL": LATENT,
}
COLUMNS |= {
    OWN: {**LATENT, "variant": ["gold", "written"]},
    f"{OWN}, released rule": {**LATENT, "variant": "released"},
}
COLUMNS |= {"title accuracy": {**LATENT, "metric": "title_accuracy"}}


def titles(given: Given, printed: str, caption: str) -> Table:
    """Word PPL and Latent PPL of section titles beside exact and chance values.

    Tables 2, 3 and 5.
    """
    latent = given.select(LATENT)
    cells = given.exact_rows(latent.values("corpus"), "section_latent_ppl", OWN)
    cells += given.pivot(COLUMNS, printed)
    notes = [*given.notes, *given.comparisons(latent), _unknown_titles(given, latent)]
    # 1. Texts that have no end.
    cut = []
    for record in latent:
        if record.details.get("cut") and not record.variant:
            num_texts = (record.units or 0) + (record.excluded or 0)
            cut.append(f"{given.labels(record, *SYSTEM)}, {record.details['cut']} of {num_texts}")
    if cut:
        notes.append(f"texts cut at the limit of length, whose end is not scored: {'; '.join(cut)}")
    # 2. What became of the articles that each system was asked for.
    for record in latent:
        path = generated_folder(given.data, record) / "facts.json"
        if record.titles is None or not path.is_file():
            continue
        facts = read_json(path)
        counts = []
        for key in ("documents", "failed", "redraws", "cut"):
            if key in facts:
                counts.append(f"{facts[key]} {key}")
        notes.append(f"{given.labels(record, *SYSTEM)}: {', '.join(counts)}")
    return Table(f"{caption}, with 95 % intervals", cells, notes, list(COLUMNS))


def _unknown_titles(given: Given, latent: Results) -> str:
    """How many transitions are from or to a title that real text does not have, by system."""
    counts = []
    for whose, records in (("read", latent), ("own", given.select(COLUMNS[OWN]))):
        for of_system in records.groups(*SYSTEM).values():
            num_unknown = num_scored = 0.0
            for record in of_system:
                totals = record.details.get("totals", {})
                if "unknown" in totals:
                    num_unknown += totals["unknown"]
                    num_scored += totals["transitions"]
            if num_unknown:
                system = given.labels(of_system[0], *SYSTEM)
                num_all = num_unknown + num_scored
                counts.append(f"{system}, {whose} titles, {num_unknown:.0f} of {num_all:.0f}")
    return f"transitions not scored for an unknown title: {', '.join(counts) or 'none'}"


def figure_sizes(given: Given) -> Figure:
    """Word PPL and Latent PPL over the size of the network (ours, after Table 5): a line for each corpus, with and without titles."""
    columns = {name: COLUMNS[name] for name in ("PPL", "Latent PPL")}

    def draw(canvas: Any) -> None:
        from matplotlib.ticker import LogLocator, NullLocator

        for axes, (name, wanted) in zip(
            canvas.subplots(1, len(columns)), columns.items(), strict=True
        ):
            found = given.select(wanted)
            sizes = {
                r.system: parameters(given.data, r) / 1000 for r in found if r.titles is not None
            }
            for (i, corpus), titles in product(enumerate(found.values("corpus")), (True, False)):
                ours = found.where(corpus=corpus, titles=titles)
                line = {
                    x: of_records(list(ours.where(system=system)), log=True)
                    for system, x in sizes.items()
                }
                kept = {x: number.exp() for x, number in sorted(line.items()) if number is not None}
                look = {
                    "color": COLOURS[i],
                    "ls": "-" if titles else "--",
                    "marker": "o" if titles else "s",
                }
                look["label"] = f"{given.label('corpus', corpus)}, {given.label('titles', titles)}"
                axes.errorbar(
                    list(kept),
                    [y.value for y in kept.values()],
                    errors(kept.values()),
                    capsize=2,
                    **look,
                )
            for record in found.where(system="data", corpus=found.values("corpus")[:1]):
                axes.axhline(
                    record.value, color="0.4", linewidth=0.8, linestyle=":", label="real text"
                )
            axes.set(xscale="log", title=name, xlabel="parameters of the network (thousands)")
            axes.set_xticks(list(sizes.values()), [f"{size:,.0f}" for size in sizes.values()])
            axes.set_xticks([], minor=True)
        latent = canvas.axes[-1]
        latent.set_yscale("log")
        latent.yaxis.set(
            major_locator=LogLocator(subs=(1, 2, 5)),
            major_formatter="{x:g}",
            minor_locator=NullLocator(),
        )
        handles, labels = latent.get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=3)

    caption = "Word PPL and Latent PPL over the size of the network and the amount of text, with 95 % intervals; sizes and Latent PPL on log scales"
    return Figure(caption, given.pivot(columns), draw, (7.2, 3.6), given.notes)


def parameters(data: Path, record: Record) -> int:
    """How many numbers the checkpoint of a record's system holds, by its file's header. Raises BadInput: it is not there."""
    path = generated_folder(data, record, "models") / "model.safetensors"
    if not path.is_file():
        raise BadInput(
            f"{path}: no such file; `dvc repro` trains the model; docs/share_results.md says how to get a finished run"
        )
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return sum(prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")


def generated_folder(data: Path, record: Record, kind: str = "generations") -> Path:
    """Where the texts, or the ``models``, of a record's system lie: ``data/<kind>/<study>/<corpus>/<model>/<titles>/<seed>``."""
    corpus = folder_of(data / kind, record.corpus) or data / kind / record.corpus
    trained = corpus / record.system / f"{'with' if record.titles else 'without'}_titles"
    return trained if record.seed is None else trained / f"seed_{record.seed}"


def texts_in(folder: Path) -> list[Document]:
    """The texts of a corpus or of a system. Raises BadInput: they are not there."""
    path = folder / "documents.jsonl"
    if not path.is_file():
        raise BadInput(f"{path}: no such file; generate the texts that the scores were read from")
    return read_documents(path)


STATISTICS = {name: name for name in ("train", "validation", "test")} | {
    "section_types": "section types"
}
STATISTICS |= {"med_sections": "median sections", "med_section_len": "median section length"}
STATISTICS |= {"max_section_len": "longest section"}


def table_11(given: Given) -> Table:
    """Articles per split, section types, section statistics of the validation split.

    Raises:
        BadInput: a corpus is not there.
    """
    cells, notes = [], []
    for corpus in given.where.get("corpus", []):
        folder = folder_of(given.data / "corpora", corpus)
        if folder is None:
            raise BadInput(
                f"{given.data / 'corpora'} has no corpus {corpus!r}; run its stage, or name another"
            )
        # 1. Ours, beside what the paper prints of the corpus.
        facts = given.facts.of(corpus)
        row = given.label("corpus", corpus)
        statistics: Any = facts.get("table_11") or _statistics(folder)
        printed = _printed_statistics(given, corpus)
        for name, column in STATISTICS.items():
            of_paper = printed.get(f"table_11.{name}")
            cells.append(exact(row, column, statistics[name], "count", printed=of_paper))
        # 2. What they count.
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
    """The statistics of a corpus whose facts have none."""
    documents = read_documents(folder / "documents.jsonl")
    lengths = []
    for document in documents:
        lengths.append(np.array([piece_count(section.text) for section in document.sections]))
    return corpus_statistics(Selection(documents, lengths, Counter()))


def _printed_statistics(given: Given, corpus: str) -> dict[Any, float]:
    """What the paper prints of a corpus, by our name of the fact."""
    printed = {}
    for number in given.expected.numbers:
        if number.table != "table_11" or number.value is None:
            continue
        if (number.where or {}).get("corpus") == corpus:
            printed[number.fact] = number.value / number.times
    return printed


ACROSS = 4  # panels in a row


def title_calibration(given: Given) -> Figure:
    """Reliability of the title classifiers on test sections, a panel for each corpus, with accuracy and calibration error."""
    critic = {"critic": "section_order"}
    measures = {
        "accuracy": {"metric": "title_accuracy"},
        "calibration error": {"metric": "calibration_error"},
    }
    cells = given.pivot(measures, rows=("corpus",), where={**critic, **given.where})
    bins: dict[str, list[tuple[float, ...]]] = {}
    for record in given.select(critic, given.where, metric="calibration_error"):
        row, details = given.labels(record, "corpus"), record.details
        cells.append(
            exact(row, "error expected by chance", details["expected_by_chance"], record.signature)
        )
        cells.append(
            exact(row, "share over 90 % certain", details["share_over_90"], record.signature)
        )
        bins[row] = [
            (c / n, k / n, *wilson(k, n), n, low, high)
            for low, high, n, c, k in details["bins"]
            if n
        ]
        cells += [
            Cell(row, f"accuracy in ({low:.2f}, {high:.2f}]", share, below, above, int(n))
            for _, share, below, above, n, low, high in bins[row]
        ]

    def draw(canvas: Any) -> None:
        grid = panels(canvas, len(bins), ACROSS, sharex=True, sharey=True)
        for axes, (corpus, points) in zip(grid, bins.items(), strict=True):
            confidence, share, low, high, *_ = (
                np.array(column) for column in zip(*points, strict=True)
            )
            axes.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
            look = {
                "color": COLOURS[0],
                "markersize": 3,
                "capsize": 2,
                "clip_on": False,
                "zorder": 3,
            }
            axes.errorbar(confidence, share, yerr=[share - low, high - share], fmt="o", **look)
            axes.set(title=corpus, xlim=(0, 1), ylim=(0, 1), aspect="equal")
        canvas.supxlabel("mean confidence of the bin")
        canvas.supylabel("share of correct titles")

    caption = (
        "Title classifiers: share of correct titles by confidence, test sections, 95 % Wilson intervals (each section a trial; bins "
        "below 20 sections have none in the CSV); the paper's BERT is mostly over 90 % certain (section 4)."
    )
    return Figure(caption, cells, draw, (1.9 * ACROSS, 1.9 * max(1, -(-len(bins) // ACROSS)) + 0.4))


def inference_error(given: Given) -> Table:
    """Latent PPL before and after the classifier's errors are taken out, beside gold titles and ``exact``, what they tend to."""
    corrected = given.select(LATENT, variant="corrected")
    cells, notes = [], given.notes
    for record in corrected.where(system="data"):
        row, details = given.labels(record, "corpus"), record.details
        if details.get("exact_latent_ppl") is not None:
            cells.append(
                exact(f"{row}, exact", "Latent PPL, gold titles", details["exact_latent_ppl"])
            )
        notes.append(
            f"{row}: confusion matrix of {details['validation_sections']:.0f} validation sections, "
            f"{details['validation_errors']:.0f} misread, {details['titles_without_sections']} titles without a section"
        )
    columns = {
        "Latent PPL, predicted titles": LATENT,
        "Latent PPL, corrected": {**LATENT, "variant": "corrected"},
        "Latent PPL, gold titles": GOLD,
    }
    cells += given.pivot(columns)
    notes.append(
        "the confusion matrix is that of real sections; a model's sections may be harder to read than those"
    )
    return Table(
        "Inference error: Latent PPL with the classifier's confusion matrix taken out", cells, notes
    )


TERMS = {
    "Latent PPL, arg max": "latent_ppl",
    "Latent PPL, full posterior (1)": "expected_log_prior",
    "log-likelihood of the text given titles (2), nats a transition": "likelihood_term",
    "entropy of the posterior (3), nats a transition": "entropy_term",
    "(1) + (2) + (3), nats a transition": "log_evidence",
    "diversity of the set, exp H(q)": "chain_entropy",
    "KL(q || prior), nats a transition": "divergence_from_prior",
}


def appendix_a(given: Given) -> Table:
    """Appendix A's three terms, and the Latent NLL of a set split into its own diversity and its distance to the prior."""
    columns = {
        column: {"critic": "section_order", "metric": metric} for column, metric in TERMS.items()
    }
    notes = [
        "(2) and the sum are relative to sections drawn without an order",
        "arg max Latent NLL = H(q) + KL(q || prior) with q the bigram of the set's own predicted titles",
    ]
    caption = "Appendix A: the terms of log P(x), and the diversity that the Latent PPL leaves out"
    return Table(caption, given.pivot(columns), notes)
