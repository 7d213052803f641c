"""Seconds per EM iteration and bound of the correlated topic model, with scale marks and a floor.

``python -m benchmarks.topics --json`` runs on a simulated corpus. With ``--corpus`` and
``--settings`` it reads the original program's corpus and settings files (or, with ``--texts``, a
file of one document a line), so that both programs run on the same input; ``--original`` names that
program's binary, and its runs are alternated with ours. One thread each, unless ``--threads`` says
otherwise.

What is comparable: ours and the original's bound is the same function of the same start, so seconds
per iteration at a bound no worse is a fair ratio. tomotopy's CTM takes Gibbs sweeps, gensim's LDA
has another model and bound: marks of scale, not rivals. The ratio is of processor seconds, so that
other work on the machine does not enter.
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
from functools import partial
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

# Of a run: "program", lists of "seconds" (wall time) and "cpu_seconds" an iteration, its bound
# "elbo" (nats) before each, and what else it has.
Result = dict[str, Any]
TIMES = ("seconds", "cpu_seconds")


def simulated(
    documents: int, *, length: int = 200, terms: int = 5000, topics: int = 50
) -> TermCounts:
    """Word counts of documents of ``length`` words from a correlated topic model.

    Topics are sparse, and correlated in fives.
    """
    rng = generator("topic benchmark", documents, length, terms, topics)
    beta = rng.dirichlet(np.full(terms, 0.02), topics)
    # Shares of topics, (documents, topics): each block of five has one normal deviate in common.
    num_blocks = -(-topics // 5)  # rounded up
    blocks = np.kron(rng.normal(size=(documents, num_blocks)), np.ones((1, 5)))[:, :topics]
    logits = 1.5 * (blocks + rng.normal(size=(documents, topics)))
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    # Words.
    rows = []
    for share in shares:
        counts = rng.multinomial(length, share / share.sum() @ beta)
        rows.append((np.flatnonzero(counts), counts[counts > 0].astype(float)))
    return from_rows(rows, terms)


def from_texts(path: Path) -> TermCounts:
    """Word counts of a file with one document a line.

    Words are lower-cased; they occur five times or more, in at most half of the documents.
    """
    documents = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            section = Section(None, line.lower())
            documents.append(Document(f"line-{len(documents)}", "train", (section,)))
    counts, *_ = count_terms(documents, build_vocabulary(documents, stop_words=()))
    return counts


def corpus_of(options: argparse.Namespace) -> TermCounts:
    """The corpus that the command line names, or the simulated one."""
    if options.texts:
        return from_texts(options.texts)
    return read_corpus(options.corpus) if options.corpus else simulated(options.documents)


def ours(counts: TermCounts, start: TopicModel, settings: TopicSettings) -> Result:
    """The result of one run of our EM; an iteration has E-step, M-step and bookkeeping.

    ``rounds`` are those of the E-step, its mean over documents.
    """
    stamps = [(time.perf_counter(), time.process_time())]

    def stamp(model: TopicModel, step: Progress) -> None:
        stamps.append((time.perf_counter(), time.process_time()))

    history = maximise(counts, start, settings=settings, checkpoint=stamp).history
    wall, processor = np.diff(stamps, axis=0).T.tolist()
    return {
        "program": f"longform {settings.floats}",
        "seconds": wall,
        "cpu_seconds": processor,
        "elbo": [step.bound for step in history],
        "rounds": [step.rounds for step in history],
    }


def original(options: argparse.Namespace, topics: int) -> Result:
    """The result of one run of the original program.

    Its seconds include reading and its text dumps, spread evenly over iterations.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = ["est", options.corpus, topics, options.start, f"{folder}/out", options.settings]
        command = [str(options.original), *map(str, settings)]
        begin, before = time.perf_counter(), processor_of_children()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall, processor = time.perf_counter() - begin, processor_of_children() - before
        lines = Path(folder, "out", "likelihood.dat").read_text().splitlines()
    return {
        "program": "original",
        "seconds": [wall / len(lines)],
        "cpu_seconds": [processor / len(lines)],
        "elbo": [float(line.split()[1]) for line in lines],
    }


def processor_of_children() -> float:
    """Processor seconds of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tomotopy_mark(counts: TermCounts, topics: int, sweeps: int) -> Result:
    """The result of Gibbs sweeps of tomotopy's CTM, one worker, with nats a word (no bound)."""
    import tomotopy

    model = tomotopy.CTModel(k=topics, seed=1)
    for terms, numbers in counts.rows():
        words = np.repeat(terms, numbers.astype(int))
        model.add_doc(list(map(str, words)))
    model.train(0, workers=1)  # prepares the model outside the clock
    begin = time.perf_counter()
    model.train(sweeps, workers=1)
    seconds = (time.perf_counter() - begin) / sweeps
    return {
        "program": f"tomotopy {tomotopy.__version__} CTM, Gibbs sweep",
        "seconds": [seconds],
        "nats_per_word": model.ll_per_word,
    }


def gensim_mark(counts: TermCounts, topics: int) -> Result:
    """The result of one pass of gensim's LDA; its bound belongs to another model."""
    from gensim.models import LdaModel

    corpus = []
    for terms, numbers in counts.rows():
        corpus.append(list(zip(terms.tolist(), numbers.tolist(), strict=True)))
    names = {term: str(term) for term in range(counts.size)}
    settings = {"passes": 1, "chunksize": len(corpus), "eval_every": None, "random_state": 1}
    begin = time.perf_counter()
    model = LdaModel(corpus, topics, names, **settings)
    seconds = time.perf_counter() - begin
    return {
        "program": "gensim LDA, variational pass",
        "seconds": [seconds],
        "lda_bound": float(model.bound(corpus)),
    }


def floor(counts: TermCounts, topics: int, rounds: Iterable[float]) -> dict[str, float]:
    """Least seconds of one iteration: its multiplications at the speed of a large matrix product.

    Per round and document: word rows twice, one product with the precision per Newton step and one
    for the bound. ``rounds`` are the E-step's in each iteration.
    """
    # What this machine multiplies in a second.
    side = np.ones((1536, 1536), np.float32)
    side @ side
    begin = time.process_time()
    for _ in range(5):
        side @ side
    peak = 5 * 2 * len(side) ** 3 / (time.process_time() - begin)
    # What an iteration multiplies.
    of_words = 4 * len(counts.terms) * topics
    of_precision = len(counts) * (NEWTON_STEPS + 1) * 2 * (topics - 1) ** 2
    work = (of_words + of_precision) * statistics.fmean(rounds)
    return {"gigaflop": work / 1e9, "gigaflop_per_second": peak / 1e9, "seconds": work / peak}


def measure(
    counts: TermCounts, topics: int, options: argparse.Namespace, settings: TopicSettings
) -> dict[str, Any]:
    """Run all programs at one number of topics in turns, and sum up each (:func:`summed`)."""
    if options.start == "seed":
        start = seeded_model(counts, topics=topics, seed=RELEASED_SEED)
    else:
        start = read_model(options.start)
    # Compile before the clock runs.
    first_documents = counts.take(np.arange(min(2, len(counts))))
    expectation(first_documents, start, settings)
    # Ours and the original in turns, then the marks.
    programs: list[Callable[[], Result]] = [partial(ours, counts, start, settings)]
    if options.original:
        programs.append(partial(original, options, topics))
    results = []
    for _ in range(options.repeats):
        for run in programs:
            results.append(run())
    rounds = results[0]["rounds"]
    if find_spec("tomotopy") and not options.no_marks:
        results.append(tomotopy_mark(counts, topics, sweeps=3))
    if find_spec("gensim") and not options.no_marks:
        results.append(gensim_mark(counts, topics))
    rows = summed(results)
    return {
        "topics": topics,
        "programs": rows,
        "original_over_ours": speed_ratio(rows),
        "floor": floor(counts, topics, rounds),
    }


def summed(results: list[Result]) -> list[Result]:
    """One result a program: median seconds per iteration of all its runs, the rest of the last."""
    by_program: dict[str, list[Result]] = {}
    for result in results:
        by_program.setdefault(result["program"], []).append(result)
    rows = []
    for name, runs in by_program.items():
        # Medians over all runs.
        row: Result = {"program": name}
        for kind in TIMES:
            values: list[float] = []
            for run in runs:
                values += run.get(kind, [])
            if values:
                row[f"{kind}_per_iteration"] = statistics.median(values)
        row["repeats"] = len(runs)
        for key, value in runs[-1].items():
            if key not in ("program", *TIMES):
                row[key] = value
        rows.append(row)
    return rows


def speed_ratio(programs: list[Result]) -> float | None:
    """The original's processor seconds per iteration over ours; None where it did not run."""
    seconds = {row["program"]: row.get("cpu_seconds_per_iteration") for row in programs}
    if "original" not in seconds:
        return None
    return seconds["original"] / programs[0]["cpu_seconds_per_iteration"]


def show(result: dict[str, Any]) -> None:
    """Print for each number of topics M the seconds and ELBO of each program.

    The floor is the time that the arithmetic of one iteration takes at least.
    """
    for block in result["runs"]:
        print(f"M = {block['topics']}   floor {block['floor']['seconds']:.4f} s per iteration")
        for row in block["programs"]:
            bound = f"ELBO {row['elbo'][-1]:.1f}" if "elbo" in row else ""
            seconds = f"{row['seconds_per_iteration']:9.4f} s per iteration"
            print(f"  {row['program']:38s} {seconds}  {bound}")
        ratio = speed_ratio(block["programs"])
        if ratio:
            print(f"  original / ours, processor seconds per iteration: {ratio:.1f}")


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    # The corpus and the start.
    corpus = "corpus file of the original program; default simulated documents"
    parser.add_argument("--corpus", type=Path, help=corpus)
    settings = "settings file of the original program; default the shipped values"
    parser.add_argument("--settings", type=Path, help=settings)
    texts = "in place of --corpus: a file of one document a line"
    parser.add_argument("--texts", type=Path, help=texts)
    start = "'seed', or the prefix of model files to start from"
    parser.add_argument("--start", default="seed", help=start)
    parser.add_argument("--documents", type=int, default=500, help="simulated documents")
    # What is run on it.
    parser.add_argument("--topics", type=int, nargs="+", default=[50, 100])
    iterations = "exactly so many EM iterations; default 3, or --settings"
    parser.add_argument("--iterations", type=int, help=iterations)
    parser.add_argument("--floats", choices=["float32", "float64"], default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    # What it is compared with.
    original = "binary of the original program, to alternate with"
    parser.add_argument("--original", type=Path, help=original)
    parser.add_argument("--no-marks", action="store_true", help="leave tomotopy and gensim out")
    return parser.parse_args(arguments)


def settings_of(options: argparse.Namespace) -> TopicSettings:
    """EM's settings by the command line and the file that it names."""
    if options.settings:
        settings = read_settings(options.settings)
    else:
        settings = replace(RELEASED, em_iterations=3)
    if options.iterations:  # without an early stop
        settings = replace(settings, em_iterations=options.iterations, em_tolerance=1e-12)
    return replace(settings, floats=options.floats, threads=options.threads)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure all programs at each number of topics, print the result and return it."""
    options = options_of(arguments)
    settings = settings_of(options)
    # Measure; the original program needs corpus and settings in files.
    counts = corpus_of(options)
    with tempfile.TemporaryDirectory() as folder:
        options.corpus = options.corpus or Path(folder, "corpus.dat")
        options.settings = Path(folder, "settings.txt")
        if not options.corpus.exists():
            write_corpus(options.corpus, counts)
        write_settings(options.settings, settings)
        runs = []
        for topics in options.topics:
            runs.append(measure(counts, topics, options, settings))
    # Print.
    corpus = {
        "documents": len(counts),
        "terms": counts.size,
        "nonzeros": len(counts.terms),
        "tokens": int(counts.tokens.sum()),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {"corpus": corpus, "threads": settings.threads, "peak_mebibytes": peak, "runs": runs}
    if options.json:
        print(json.dumps(result))
    else:
        show(result)
    return result


if __name__ == "__main__":
    main()
