"""Seconds per EM iteration and bound of the correlated topic model, with scale marks and the arithmetic floor.

``python -m benchmarks.topics --json`` runs on a simulated corpus. With ``--corpus`` and ``--settings`` it reads the
original program's corpus and settings files (or, with ``--texts``, a file of one document a line), so that both programs run on the same input; ``--original`` names that
program's binary, and its runs are alternated with ours. One thread each, unless ``--threads`` says otherwise.

What is comparable: ours and the original's bound is the same function of the same start, so seconds per iteration at
a bound no worse is a fair ratio. tomotopy's CTM takes Gibbs sweeps, gensim's LDA has another model and bound: marks of
scale, not rivals. The ratio is of processor seconds, so that other work on the machine does not enter.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy loads: one thread each side

import argparse
import json
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ctm_files import (
    read_corpus,
    read_model,
    read_settings,
    write_corpus,
    write_settings,
)
from longform.critics.topics.kernels import NEWTON_STEPS
from longform.critics.topics.model import (
    RELEASED,
    Progress,
    TermCounts,
    TopicModel,
    TopicSettings,
    build_vocabulary,
    count_terms,
    from_rows,
)
from longform.critics.topics.train import RELEASED_SEED, expectation, maximise, seeded_model
from longform.documents import Document, Section
from longform.statistics.random_streams import generator


def simulated(
    documents: int, *, length: int = 200, terms: int = 5000, topics: int = 50
) -> TermCounts:
    """Documents of a known correlated topic model: sparse topics, correlated in blocks of five."""
    rng = generator("topic benchmark", documents, length, terms, topics)
    beta = rng.dirichlet(np.full(terms, 0.02), topics)
    blocks = np.kron(rng.normal(size=(documents, -(-topics // 5))), np.ones((1, 5)))[:, :topics]
    logits = 1.5 * (blocks + rng.normal(size=(documents, topics)))
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    words = (rng.multinomial(length, share / share.sum() @ beta) for share in shares)
    return from_rows([(np.flatnonzero(w), w[w > 0].astype(float)) for w in words], terms)


def from_texts(path: Path) -> TermCounts:
    """Lower-cased words with five occurrences or more, in at most half of the documents; one document a line."""
    lines = [line.lower() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    documents = [
        Document(f"line-{i}", "train", (Section(None, line),)) for i, line in enumerate(lines)
    ]
    return count_terms(documents, build_vocabulary(documents, stop_words=()))[0]


def corpus_of(options: argparse.Namespace) -> TermCounts:
    """The corpus that the command line names, or the simulated one."""
    if options.texts:
        return from_texts(options.texts)
    return read_corpus(options.corpus) if options.corpus else simulated(options.documents)


def ours(counts: TermCounts, start: TopicModel, settings: TopicSettings) -> dict[str, Any]:
    """One EM run: seconds of each iteration (E-step, M-step, bookkeeping) and the bound that entered it."""
    stamps = [(time.perf_counter(), time.process_time())]

    def note(model: TopicModel, step: Progress) -> None:
        stamps.append((time.perf_counter(), time.process_time()))

    steps = maximise(counts, start, settings=settings, checkpoint=note).history
    wall, processor = np.diff(stamps, axis=0).T.tolist()
    name = f"longform {settings.floats}"
    bounds, rounds = [step.bound for step in steps], [step.rounds for step in steps]
    return {
        "program": name,
        "seconds": wall,
        "cpu_seconds": processor,
        "elbo": bounds,
        "rounds": rounds,
    }


def original(binary: Path, files: tuple[Path, Path], topics: int, start: str) -> dict[str, Any]:
    """One run of the original program; its wall time includes reading and its text dumps, spread over iterations."""
    corpus, settings = files
    with tempfile.TemporaryDirectory() as folder:
        begin, before = time.perf_counter(), processor_of_children()
        command = [
            str(binary),
            "est",
            str(corpus),
            str(topics),
            start,
            f"{folder}/out",
            str(settings),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall, processor = time.perf_counter() - begin, processor_of_children() - before
        rows = [
            line.split() for line in Path(folder, "out", "likelihood.dat").read_text().splitlines()
        ]
    shares = {"seconds": [wall / len(rows)], "cpu_seconds": [processor / len(rows)]}
    return {"program": "original", **shares, "elbo": [float(row[1]) for row in rows]}


def processor_of_children() -> float:
    """Processor seconds of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tomotopy_mark(counts: TermCounts, topics: int, sweeps: int) -> dict[str, Any]:
    """Gibbs sweeps of tomotopy's CTM, one worker; its log-likelihood per word is no bound."""
    import tomotopy

    model = tomotopy.CTModel(k=topics, seed=1)
    for terms, number in counts.rows():
        model.add_doc([str(t) for t, n in zip(terms, number, strict=True) for _ in range(int(n))])
    model.train(0, workers=1)
    begin = time.perf_counter()
    model.train(sweeps, workers=1)
    seconds = (time.perf_counter() - begin) / sweeps
    return {
        "program": f"tomotopy {tomotopy.__version__} CTM, Gibbs sweep",
        "seconds": [seconds],
        "nats_per_word": model.ll_per_word,
    }


def gensim_mark(counts: TermCounts, topics: int) -> dict[str, Any]:
    """One pass of gensim's LDA by variational Bayes; its bound belongs to another model."""
    from gensim.models import LdaModel

    corpus = [list(zip(t.tolist(), n.tolist(), strict=True)) for t, n in counts.rows()]
    names = {term: str(term) for term in range(counts.size)}
    begin = time.perf_counter()
    model = LdaModel(
        corpus, topics, names, passes=1, chunksize=len(corpus), eval_every=None, random_state=1
    )
    seconds = time.perf_counter() - begin
    return {
        "program": "gensim LDA, variational pass",
        "seconds": [seconds],
        "lda_bound": float(model.bound(corpus)),
    }


def floor(counts: TermCounts, topics: int, rounds: Iterable[float]) -> dict[str, float]:
    """Least time of one iteration: its unavoidable multiplications at the speed of a large matrix product.

    Per round and document: word rows twice, one product with the precision per Newton step and one for the bound.
    """
    side = np.ones((1536, 1536), np.float32)
    side @ side
    begin = time.process_time()
    for _ in range(5):
        side @ side
    peak = 5 * 2 * len(side) ** 3 / (time.process_time() - begin)
    per_round = (
        4 * len(counts.terms) * topics + len(counts) * (NEWTON_STEPS + 1) * 2 * (topics - 1) ** 2
    )
    work = per_round * statistics.fmean(rounds)
    return {"gigaflop": work / 1e9, "gigaflop_per_second": peak / 1e9, "seconds": work / peak}


def measure(
    counts: TermCounts, topics: int, options: argparse.Namespace, settings: TopicSettings
) -> dict[str, Any]:
    """All programs at one number of topics, alternated; medians over iterations and repeats."""
    start = seeded_model(counts, topics=topics, seed=RELEASED_SEED)
    if options.start != "seed":
        start = read_model(options.start)
    expectation(
        counts.take(np.arange(min(2, len(counts)))), start, settings
    )  # compile before the clock runs
    runs: list[Callable[[], dict[str, Any]]] = [lambda: ours(counts, start, settings)]
    if options.original:
        runs.append(
            lambda: original(
                options.original, (options.corpus, options.settings), topics, options.start
            )
        )
    found = [run() for _ in range(options.repeats) for run in runs]
    if find_spec("tomotopy") and not options.no_marks:
        found.append(tomotopy_mark(counts, topics, sweeps=3))
    if find_spec("gensim") and not options.no_marks:
        found.append(gensim_mark(counts, topics))
    programs = summed(found)
    bound = floor(counts, topics, found[0]["rounds"])
    return {
        "topics": topics,
        "programs": programs,
        "original_over_ours": speed_ratio(programs),
        "floor": bound,
    }


def summed(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Runs of one program together: median seconds per iteration, and the bounds of its last run."""
    names = list(dict.fromkeys(run["program"] for run in found))
    rows = []
    for name in names:
        same = [run for run in found if run["program"] == name]
        times = {
            f"{kind}_per_iteration": statistics.median(value for run in same for value in run[kind])
            for kind in ("seconds", "cpu_seconds")
            if kind in same[0]
        }
        extra = {
            key: value
            for key, value in same[-1].items()
            if key not in ("program", "seconds", "cpu_seconds")
        }
        rows.append({"program": name, **times, "repeats": len(same), **extra})
    return rows


def speed_ratio(programs: list[dict[str, Any]]) -> float | None:
    """How many times faster than the original ours is, in processor seconds; None where the original did not run."""
    used = {row["program"]: row.get("cpu_seconds_per_iteration") for row in programs}
    return used["original"] / next(iter(used.values())) if "original" in used else None


def show(result: dict[str, Any]) -> None:
    """The same numbers for people."""
    for block in result["runs"]:
        print(f"M = {block['topics']}   floor {block['floor']['seconds']:.4f} s per iteration")
        for row in block["programs"]:
            bound = f"ELBO {row['elbo'][-1]:.1f}" if "elbo" in row else ""
            print(
                f"  {row['program']:38s} {row['seconds_per_iteration']:9.4f} s per iteration  {bound}"
            )
        ratio = speed_ratio(block["programs"])
        if ratio:
            print(f"  original / ours, processor seconds per iteration: {ratio:.1f}")


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--corpus",
        type=Path,
        help="corpus file of the original program; default simulated documents",
    )
    parser.add_argument(
        "--settings",
        type=Path,
        help="settings file of the original program; default the shipped values",
    )
    parser.add_argument(
        "--texts", type=Path, help="in place of --corpus: a file of one document a line"
    )
    parser.add_argument(
        "--start", default="seed", help="'seed', or the prefix of model files to start from"
    )
    parser.add_argument("--topics", type=int, nargs="+", default=[50, 100])
    parser.add_argument(
        "--iterations", type=int, help="exactly so many EM iterations; default 3, or --settings"
    )
    parser.add_argument("--documents", type=int, default=500, help="simulated documents")
    parser.add_argument("--floats", choices=["float32", "float64"], default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--original", type=Path, help="binary of the original program, to alternate with"
    )
    parser.add_argument("--no-marks", action="store_true", help="leave tomotopy and gensim out")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure and print."""
    options = options_of(arguments)
    settings = (
        read_settings(options.settings) if options.settings else replace(RELEASED, em_iterations=3)
    )
    if options.iterations:
        settings = replace(
            settings, em_iterations=options.iterations, em_tolerance=1e-12
        )  # no early stop
    settings = replace(settings, floats=options.floats, threads=options.threads)
    with tempfile.TemporaryDirectory() as folder:
        counts = corpus_of(options)
        options.corpus = options.corpus or Path(folder, "corpus.dat")
        options.settings = Path(folder, "settings.txt")
        if not options.corpus.exists():
            write_corpus(options.corpus, counts)
        write_settings(options.settings, settings)
        runs = [measure(counts, topics, options, settings) for topics in options.topics]
    corpus = {
        "documents": len(counts),
        "terms": counts.size,
        "nonzeros": len(counts.terms),
        "tokens": int(counts.tokens.sum()),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {"corpus": corpus, "threads": settings.threads, "peak_mebibytes": peak, "runs": runs}
    print(json.dumps(result)) if options.json else show(result)
    return result


if __name__ == "__main__":
    main()
