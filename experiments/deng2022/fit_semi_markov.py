"""Fit the HSMM of Table 1 at a preset size, measure it, and write what was measured as JSON.

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/fit_semi_markov.py --preset medium --seed 0 \
        --threads 2 --work scratch/hsmm-medium-0 --out experiments/deng2022/measured/hsmm_medium_seed0.json

Killed and started again with the same ``--work``, it goes on from the last finished iteration. Presets are in
``semi_markov.json``; ``--time-blocks`` times that many blocks of one E-step instead of fitting.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from longform.datasets.hsmm_language import SyntheticLanguage, language
from longform.datasets.hsmm_states import released_states, strict_states
from longform.language_models.hsmm.em import Fit, fit_em, initial_model, iteration_of, load_fit, save_fit
from longform.language_models.hsmm.fitting import held_out
from longform.language_models.hsmm.latent import latent_reading
from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.ngrams import build_ngrams, token_types
from longform.language_models.hsmm.paths import draw, tokens_of
from longform.language_models.hsmm.sparse_em import SparseFit, fit_sparse
from longform.language_models.hsmm.steps import Compute, expectation, maximise
from longform.resampling import generator

WEIGHTS = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # ours: shares of uniform tables tried on validation texts
PRESETS = Path(__file__).with_name("semi_markov.json")


@dataclass(frozen=True)
class Data:
    """Texts of each split, the language that wrote them and its exact word PPL on each split."""

    language: SyntheticLanguage
    texts: dict[str, list[list[str]]]
    word_ppl: dict[str, float]


def data(preset: dict) -> Data:
    """Draw the preset's corpus; text i of a split is the same whatever the sizes of the splits."""
    made, texts, ppl = language(**preset["language"]), {}, {}
    for split, count in preset["documents"].items():
        states, emitted = made.sample([generator("hsmm experiment", split, i) for i in range(count)])
        texts[split] = [" ".join(made.subsequences[i] for i in row).split() for row in emitted.tolist()]
        tokens = sum(map(len, texts[split]))
        ppl[split] = float(np.exp(-made.log_probs(states, emitted).sum() / tokens))
    return Data(made, texts, ppl)


class Spent:
    """Wall and processor seconds of a fit, over all the runs that it took."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.past = json.loads(path.read_text()) if path.exists() else {"wall": 0.0, "cpu": 0.0}
        self.begun = {"wall": time.monotonic(), "cpu": time.process_time()}

    @property
    def total(self) -> dict[str, float]:
        """So far, this run included."""
        now = {"wall": time.monotonic(), "cpu": time.process_time()}
        return {clock: self.past[clock] + now[clock] - self.begun[clock] for clock in now}


class Progress:
    """Saves every iteration with the time spent, and prints its line."""

    def __init__(self, folder: Path, spent: Spent) -> None:
        self.folder, self.spent, self.last = folder, spent, time.monotonic()

    def __call__(self, fit: Fit | SparseFit) -> None:
        now = time.monotonic()
        print(fit.history[-1].line(fit.history[-1].tokens / (now - self.last)), file=sys.stderr, flush=True)
        save_fit(fit, self.folder / "dense") if isinstance(fit, Fit) else fit.save(self.folder / "sparse")
        self.spent.path.write_text(json.dumps(self.spent.total) + "\n", encoding="utf-8")
        self.last = time.monotonic()


def fitted(texts: list[list[str]], sizes: dict, *, seed: int, compute: Compute, spent: Spent) -> SparseFit:
    """Dense iterations, then sparse ones, from wherever the folder of ``spent`` has got to."""
    work = spent.path.parent
    dense, sparse = work / "dense", work / "sparse"
    begun = load_fit(dense) if dense.exists() or (work / "dense.old").exists() else None
    fit = fit_em(
        texts, num_states=sizes["num_states"], max_duration=sizes["max_duration"], seed=seed, cap=sizes["cap"],
        iterations=sizes["dense_iterations"], pretraining=sizes["pretraining"], compute=compute, start=begun,
        on_iteration=Progress(work, spent),
    )  # fmt: skip
    start = SparseFit.load(sparse, fit.model.ngrams) if list(sparse.glob("history-*.json")) else fit
    on_cpu = Compute(threads=compute.threads)
    return fit_sparse(texts, start, iterations=sizes["iterations"], compute=on_cpu, on_iteration=Progress(work, spent))


def judged(fit: SparseFit, drawn: Data, samples: int) -> dict:
    """Word PPL on test texts, and Latent PPL in closed form and from samples under both rules of the oracle."""
    bare, test = fit.dense().model, drawn.texts["test"]
    weight = max(WEIGHTS, key=lambda w: held_out(bare.mixed(w), drawn.texts["validation"]))
    word = float(np.exp(-held_out(bare.mixed(weight), test) / sum(map(len, test))))
    reading = latent_reading(bare, drawn.language)
    found = {
        "uniform_weight": weight,
        "test_word_ppl": word,
        "true_test_word_ppl": drawn.word_ppl["test"],
        "word_ppl_over_true": word / drawn.word_ppl["test"],
        "latent_ppl": reading.latent_ppl,
        "survival": reading.survival,
        "true_latent_ppl": drawn.language.latent_ppl(),
    }
    return found | sampled(bare, drawn.language, samples)


def sampled(model: SemiMarkovLM, made: SyntheticLanguage, samples: int) -> dict:
    """Latent PPL and survival of random texts read by the oracle."""
    owner = dict(zip(made.subsequences, made.owners.tolist(), strict=True))
    paths = draw(model, made.steps, [generator("hsmm sample", i) for i in range(samples)])
    texts, out = [" ".join(tokens_of(model, path)) for path in paths], {}
    for rule, read in (
        ("released", lambda t: released_states(t, owner, made.steps)),
        ("strict", lambda t: strict_states(t, owner, 100)),
    ):
        chains = [[0, *states] for states in map(read, texts) if states is not None]
        nats = -sum(np.log(made.transitions[chain[:-1], chain[1:]]).sum() for chain in map(np.array, chains))
        count = sum(len(chain) - 1 for chain in chains)
        out[f"sampled_latent_ppl_{rule}"] = float(np.exp(nats / count)) if count else None
        out[f"sampled_survival_{rule}"] = len(chains) / samples
    return out


class Ticker:
    """A line of progress about every ten seconds of an E-step."""

    def __init__(self, tokens: int) -> None:
        self.tokens, self.last = tokens, time.monotonic()

    def __call__(self, done: int, log_likelihood: float) -> None:
        if time.monotonic() - self.last > 10:
            self.last = time.monotonic()
            print(
                f"{done / self.tokens:6.1%} of the E-step, {-log_likelihood / done:.4f} nats/token",
                file=sys.stderr,
                flush=True,
            )


def timed_blocks(drawn: Data, sizes: dict, *, seed: int, compute: Compute, blocks: int) -> dict:
    """Time an E-step and an M-step; where ``blocks`` do not reach the whole corpus, extrapolate one iteration.

    Processor minutes count all threads; wall minutes hold on the machine as busy as it was.
    """
    texts = drawn.texts["train"]
    clock = time.process_time()
    types = token_types(texts)
    place = {token: i for i, token in enumerate(types)}
    encoded = [np.array([place[token] for token in text]) for text in texts]
    ngrams = build_ngrams(encoded, tokens=types, max_duration=sizes["max_duration"], cap=sizes["cap"])
    built, clock = time.process_time() - clock, time.process_time()
    model = initial_model(ngrams, num_states=sizes["num_states"], seed=seed, dtype=compute.dtype)
    drawn_in, clock = time.process_time() - clock, time.process_time()
    wall = time.monotonic()
    some = encoded[: blocks * compute.rows_per_block // max(map(len, encoded))]
    expected = expectation(model, some, compute, on_block=Ticker(sum(map(len, some))))
    stepped, wall, clock = time.process_time() - clock, time.monotonic() - wall, time.process_time()
    seen = iteration_of(0, expected, frozen=False)
    maximise(model, expected, frozen=False)
    normalised = time.process_time() - clock
    corpus = sum(map(len, encoded))
    return {
        "extrapolated": len(some) < len(encoded), "ngram_rows": ngrams.rows, "cap": sizes["cap"], "build_cpu_seconds": built,
        "start_cpu_seconds": drawn_in, "timed_tokens": seen.tokens, "e_step_wall_seconds": wall,
        "e_step_cpu_seconds": stepped, "tokens_per_cpu_second": seen.tokens / stepped,
        "m_step_cpu_seconds": normalised, "corpus_tokens": corpus,
        "iteration_cpu_minutes": (corpus * stepped / seen.tokens + normalised) / 60,
        "iteration_wall_minutes": (corpus * wall / seen.tokens + normalised) / 60, "perplexity": seen.perplexity,
    }  # fmt: skip


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=sorted(json.loads(PRESETS.read_text())), default="medium")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", help="a torch device for the dense iterations; none is the compiled scan")
    parser.add_argument(
        "--rows-per-block", type=int, default=24_000, help="positions scanned at once; a GPU wants a million"
    )
    parser.add_argument("--work", type=Path, default=Path("scratch/hsmm"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cap", type=int, help="rows per length, in place of the preset's, for a smaller memory")
    parser.add_argument("--time-blocks", type=int, help="time so many blocks instead of fitting")
    arguments = parser.parse_args()
    preset = json.loads(PRESETS.read_text())[arguments.preset]
    preset["fit"]["cap"] = arguments.cap or preset["fit"]["cap"]
    wall, spent = time.monotonic(), Spent(arguments.work / "seconds.json")
    drawn = data(preset)
    compute = Compute(arguments.rows_per_block, arguments.threads, device=arguments.device)
    report = {"command": " ".join(["python", *sys.argv]), "preset": arguments.preset, "seed": arguments.seed}
    if arguments.time_blocks:
        report |= timed_blocks(drawn, preset["fit"], seed=arguments.seed, compute=compute, blocks=arguments.time_blocks)
    else:
        fit = fitted(drawn.texts["train"], preset["fit"], seed=arguments.seed, compute=compute, spent=spent)
        report |= {"fit_minutes": spent.total["wall"] / 60, "fit_cpu_minutes": spent.total["cpu"] / 60}
        report |= judged(fit, drawn, preset["samples"])
        report |= {"true_train_word_ppl": drawn.word_ppl["train"], "kept_share_of_table": fit.model.density}
        report |= {"last": asdict(fit.history[-1]), "train_ppl": [round(step.perplexity, 5) for step in fit.history]}
    report |= {"minutes": (time.monotonic() - wall) / 60, "threads": arguments.threads, "cpus": os.cpu_count()}
    report |= {"load_average": os.getloadavg()[0], "machine": platform.machine(), "device": arguments.device or "cpu"}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(json.dumps(report, sort_keys=True))


if __name__ == "__main__":
    main()
