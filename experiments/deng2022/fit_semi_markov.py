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

from longform.core.resampling import generator
from longform.critics.synthetic_states.read import released_states, strict_states
from longform.datasets.hsmm_language import SyntheticLanguage, language
from longform.language_models.hsmm.compiled import ROWS_PER_BLOCK
from longform.language_models.hsmm.em import (
    Compute,
    Fit,
    expectation,
    fit_em,
    initial_model,
    iteration_of,
    load_fit,
    maximise,
    save_fit,
)
from longform.language_models.hsmm.latent import latent_reading
from longform.language_models.hsmm.model import SemiMarkovLM
from longform.language_models.hsmm.ngrams import build_ngrams
from longform.language_models.hsmm.train import held_out

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

    def __call__(self, fit: Fit) -> None:
        now = time.monotonic()
        print(fit.history[-1].line(fit.history[-1].tokens / (now - self.last)), file=sys.stderr, flush=True)
        save_fit(fit, self.folder / "fit")
        self.spent.path.write_text(json.dumps(self.spent.total) + "\n", encoding="utf-8")
        self.last = time.monotonic()


def fitted(texts: list[list[str]], sizes: dict, *, seed: int, compute: Compute, spent: Spent) -> Fit:
    """EM from wherever the folder of ``spent`` has got to."""
    work = spent.path.parent
    begun = load_fit(work / "fit") if (work / "fit").exists() or (work / "fit.old").exists() else None
    return fit_em(texts, **sizes, seed=seed, compute=compute, start=begun, on_iteration=Progress(work, spent))


def judged(bare: SemiMarkovLM, drawn: Data, samples: int) -> dict:
    """Word PPL on test texts, and Latent PPL in closed form and from samples under both rules of the oracle."""
    test = drawn.texts["test"]
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
    paths = model.draw(made.steps, [generator("hsmm sample", i) for i in range(samples)])
    texts, out = [" ".join(model.tokens_of(path)) for path in paths], {}
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


def timed_blocks(drawn: Data, sizes: dict, *, seed: int, compute: Compute, blocks: int) -> dict:
    """Time an E-step and an M-step; where ``blocks`` do not reach the whole corpus, extrapolate one iteration.

    Processor minutes count all threads; wall minutes hold on the machine as busy as it was.
    """
    texts = drawn.texts["train"]
    clock = time.process_time()
    ngrams = build_ngrams(texts, max_duration=sizes["max_duration"], max_ngrams=sizes["max_ngrams"])
    encoded = [ngrams.encode(text) for text in texts]
    built, clock = time.process_time() - clock, time.process_time()
    model = initial_model(ngrams, num_states=sizes["num_states"], seed=seed, dtype=compute.dtype)
    drawn_in, clock = time.process_time() - clock, time.process_time()
    wall = time.monotonic()
    some = encoded[: blocks * (compute.rows_per_block or ROWS_PER_BLOCK) // max(map(len, encoded))]
    expected = expectation(model, some, compute)
    stepped, wall, clock = time.process_time() - clock, time.monotonic() - wall, time.process_time()
    seen = iteration_of(0, expected, frozen=False)
    maximise(model, expected, frozen=False)
    normalised = time.process_time() - clock
    corpus = sum(map(len, encoded))
    return {
        "extrapolated": len(some) < len(encoded), "ngram_rows": ngrams.rows, "max_ngrams": sizes["max_ngrams"], "build_cpu_seconds": built,
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
    parser.add_argument("--device", default="cpu", help="a torch device; cpu is the compiled scan")
    parser.add_argument(
        "--rows-per-block", type=int, help="positions scanned at once; by default what suits the device"
    )
    parser.add_argument("--work", type=Path, default=Path("scratch/hsmm"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--max-ngrams", type=int, help="rows per length, in place of the preset's, for a smaller memory"
    )
    parser.add_argument("--time-blocks", type=int, help="time so many blocks instead of fitting")
    arguments = parser.parse_args()
    preset = json.loads(PRESETS.read_text())[arguments.preset]
    preset["fit"]["max_ngrams"] = arguments.max_ngrams or preset["fit"]["max_ngrams"]
    wall, spent = time.monotonic(), Spent(arguments.work / "seconds.json")
    drawn = data(preset)
    compute = Compute(arguments.device, arguments.threads, rows_per_block=arguments.rows_per_block)
    report = {"command": " ".join(["python", *sys.argv]), "preset": arguments.preset, "seed": arguments.seed}
    if arguments.time_blocks:
        report |= timed_blocks(drawn, preset["fit"], seed=arguments.seed, compute=compute, blocks=arguments.time_blocks)
    else:
        fit = fitted(drawn.texts["train"], preset["fit"], seed=arguments.seed, compute=compute, spent=spent)
        report |= {"fit_minutes": spent.total["wall"] / 60, "fit_cpu_minutes": spent.total["cpu"] / 60}
        report |= judged(fit.model, drawn, preset["samples"])
        report |= {"true_train_word_ppl": drawn.word_ppl["train"]}
        report |= {"last": asdict(fit.history[-1]), "train_ppl": [round(step.perplexity, 5) for step in fit.history]}
    report |= {"minutes": (time.monotonic() - wall) / 60, "threads": arguments.threads, "cpus": os.cpu_count()}
    report |= {"load_average": os.getloadavg()[0], "machine": platform.machine(), "device": arguments.device}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(json.dumps(report, sort_keys=True))


if __name__ == "__main__":
    main()
