"""Size x data on a Pythia-like ladder: word PPL against Latent PPL of section titles, planted text.

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/sweeps/size_data.py \
        --corpus data/corpora/planted_wiki --tokenizer data/models/planted_wiki-bpe \
        --reader data/models/planted_wiki-titles --titles data/inference/planted_wiki-data-titles.npz \
        --work scratch/size_data --out experiments/deng2022/sweeps/measured

Networks are GPT-NeoX shapes from scratch (``ladder.json``), trained on the first documents of the corpus, more and more
of them, each number of updates in proportion. Every finished cell is kept in ``size_data.json``; a run that was killed
goes on with the next. The figure is drawn from that file.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_corpus, read_readout
from longform.core.critic import estimate
from longform.core.documents import Document
from longform.core.resampling import generator
from longform.critics.perplexity import read as token_readout
from longform.critics.perplexity.score import Perplexity
from longform.critics.perplexity.score import units_from_readout as token_units
from longform.critics.section_order import read as section_titles
from longform.critics.section_order.score import units_from_readout as titled
from longform.critics.section_order.score import validated
from longform.decoding import long_documents
from longform.language_models import causal_lm
from longform.reporting.table import Cell, Figure

LADDER = Path(__file__).with_name("ladder.json")
SETTINGS = {"w_title": True, "wo_title": False}


def cell(plan: Mapping[str, Any], options: argparse.Namespace, size: str, count: int, setting: str) -> dict[str, Any]:
    """Train, sample, read and score one network."""
    started, titles, name = time.process_time(), SETTINGS[setting], f"{size}-{count}-{setting}"
    work = options.work / name
    (work / "draws").mkdir(parents=True, exist_ok=True)
    documents = subset(read_corpus(options.corpus).documents, count)
    model = causal_lm.fit(
        documents=documents, base=options.tokenizer, name=name, seed=plan["seed"], scratch=work, titles=titles,
        packing="stream", context=plan["context"], shape=plan["sizes"][size], schedule=plan["schedule"],
    )  # fmt: skip
    (work / "model").mkdir(exist_ok=True)
    model.save(work / "model")
    made = long_documents.generate(
        model=work / "model", name=name, seed=plan["seed"], scratch=work / "draws", prefixes=documents, titles=titles,
        **plan["sampling"],
    )  # fmt: skip
    parameters = sum(p.numel() for p in model.network.parameters())
    read = section_titles.read(
        documents=made.documents, reader=options.reader, name=name, splits=["generated"], max_length=plan["max_length"]
    )
    words = token_readout.read(documents=documents, reader=work / "model", name=name, titles=titles, splits=["test"])
    row = {"size": size, "documents": count, "setting": setting, "parameters": parameters}
    row |= {"word": scored(Perplexity(), token_units(words), name), "generated": dict(made.facts)}
    row["latent"] = scored(critic(options), titled(read), name)
    return row | {"cpu_seconds": round(time.process_time() - started, 1)}


def subset(documents: Sequence[Document], count: int) -> list[Document]:
    """The first ``count`` training documents, with all the others."""
    train = [d for d in documents if d.split == "train"][:count]
    return train + [d for d in documents if d.split != "train"]


def critic(options: argparse.Namespace) -> Any:
    """The section critic of the default run."""
    real = read_readout(options.titles)
    return validated(real=real, deltas=[0.1, 1]).fit([unit for unit in titled(real) if unit.split == "train"])


def scored(judge: Any, units: Sequence[Any], name: str) -> dict[str, float]:
    """Value with its interval."""
    found = estimate(judge, judge.tally(units), generator("size data", name))
    return {"value": found.value, "low": found.low, "high": found.high, "units": found.units}


def figure(rows: Sequence[Mapping[str, Any]], real: Mapping[str, float]) -> Figure:
    """Word PPL against Latent PPL: a line per size and setting, a point per number of documents."""
    cells = [
        Cell(f"{r['size']}, {r['documents']} documents, {r['setting']}", kind, *(r[kind][k] for k in ("value", "low", "high")))
        for r in rows for kind in ("word", "latent")
    ]  # fmt: skip
    caption = "Size x data, planted text: word PPL against Latent PPL, 95 % intervals; dashed: real test text."
    return Figure(caption, cells, lambda canvas: _draw(canvas, rows, real), (6.0, 4.4))


def _draw(canvas: Any, rows: Sequence[Mapping[str, Any]], real: Mapping[str, float]) -> None:
    axes = canvas.add_subplot()
    sizes = list(dict.fromkeys(r["size"] for r in rows))
    for size, colour in zip(sizes, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=False):
        for setting, style in (("w_title", "-"), ("wo_title", ":")):
            line = [r for r in rows if (r["size"], r["setting"]) == (size, setting)]
            x, y = [r["word"]["value"] for r in line], [r["latent"]["value"] for r in line]
            spread = [[abs(r["latent"]["value"] - r["latent"][end]) for r in line] for end in ("low", "high")]
            label = f"{size}, {'W/' if setting == 'w_title' else 'W/O'} Title"
            axes.errorbar(
                x, y, yerr=spread, color=colour, linestyle=style, marker="o", capsize=2, markersize=4, label=label
            )
            for r in line:
                axes.annotate(str(r["documents"]), (r["word"]["value"], r["latent"]["value"]), size=6, xytext=(3, 3),
                              textcoords="offset points")  # fmt: skip
    axes.axhline(real["value"], color="#555555", linestyle="--", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="word PPL of test text", ylabel="Latent PPL of section titles")
    axes.legend(frameon=False, fontsize=7)


def main() -> None:
    """Run the cells that the output lacks, then draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("corpus", "tokenizer", "reader", "titles", "work", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args()
    os.environ["WANDB_MODE"] = "disabled"
    plan, path = json.loads(LADDER.read_text(encoding="utf-8")), options.out / "size_data.json"
    options.out.mkdir(parents=True, exist_ok=True)
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []
    done = {(r["size"], r["documents"], r["setting"]) for r in rows}
    test = [unit for unit in titled(read_readout(options.titles)) if unit.split == "test"]
    real = scored(critic(options), test, "real")
    for size in plan["sizes"]:
        for count in plan["documents"]:
            for setting in SETTINGS:
                if (size, count, setting) not in done:
                    rows.append(cell(plan, options, size, count, setting))
                    record = {"plan": plan, "real": real, "rows": rows}
                    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
                    print({k: rows[-1][k] for k in ("size", "documents", "setting", "cpu_seconds")}, flush=True)
    figure(rows, real).save(options.out, "size_data")


if __name__ == "__main__":
    main()
