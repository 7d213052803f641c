"""Table 1 of deng2022: the transformer of 18.94 million weights along its 18.75 epochs.

The language, its seed and its test texts are those of the scale ``table_1``, so the HSMM of 800
states that was fitted there stands beside it. A training is cut into stretches. After each the
state is saved, and some of the networks are saved to be measured: word PPL on the test texts,
Latent PPL of 6,400 samples. A call ends before its time is up, and the next one on the same machine
goes on from there.
"""

import csv
import fcntl
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.gpu.costs import host_cost
from experiments.gpu.frame import (
    LEARN_OPERATIONS,
    READ_OPERATIONS,
    REPORT,
    UPDATE_BYTES,
    WEIGHT_BYTES,
    Call,
    Job,
    Part,
)
from experiments.gpu.training import Recipe, Rows, Training
from longform.critics.perplexity.read import read as read_log_probs
from longform.critics.perplexity.score import LogProbs, Perplexity
from longform.critics.perplexity.score import units_from_predictions as log_prob_units
from longform.decoding.long_documents import generate
from longform.documents import Corpus, Document
from longform.errors import BadInput
from longform.files.artefacts import atomic_write, read_corpus, read_json, write_corpus, write_json
from longform.language_models import tokenizers
from longform.language_models.causal_lm import from_scratch
from longform.language_models.checkpoints import SavedModel, load_tokenizer
from longform.language_models.tokenizers import document_rows
from longform.results import Record, Results, read_results, write_results
from longform.statistics.estimates import estimate
from longform.statistics.markov_chain import chains_from_predictions, true_markov
from longform.statistics.random_streams import generator
from longform_lab.scale_overrides import parameters
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import scale_results
from synthetic_world import hsmm_language
from synthetic_world.synthetic_states.read import read as read_states

ROOT = Path(__file__).parents[2]
SCALE = "table_1"
MEASURED = Path("experiments/scales") / SCALE / RECORDS
INPUTS = ("params.yaml", "dvc.yaml", f"experiments/scales/{SCALE}/overrides.yaml", str(MEASURED))
OUTPUTS = (REPORT, "records.json", "curves.csv", "first_texts.txt")
# Share of a text's segments that count as the first ones; the last ones, and the end, are measured
# apart.
BODY_SHARE = 0.9
HSMM = "hsmm_em"  # the system of the scale that the claims of section 3 set beside the transformer
# Both of the authors' rules by which a text's states are read, by the record's variant.
RULES = {"": "released", "strict": "strict"}
LOSSES = ("loss", "validation_loss", "validation_loss_with_dropout")
METRICS = ("word_ppl", "latent_ppl", "latent_ppl_strict")
CURVE = "curve.json"
FIRST_TEXTS = 20  # samples of each training that come back to be read
# As one H100 took (experiments/gpu/measured), the card alone:
# From one kernel's start to the next one's, in a recorded update of 8 texts.
KERNEL_SECONDS = 6.7e-6
PEAK = 8e14  # floating-point operations a second
SHARE = 0.185  # of the peak, in updates of 32 texts
MEASUREMENT_SECONDS = 52.0  # samples of one network, its word PPL and Latent PPL
CORPUS_SECONDS = 32.0
RESERVE = 1.3  # work begins only where this many times the seconds of the last such are left


@dataclass(frozen=True)
class Run:
    """One training.

    Attributes:
        name: of its system.
        seed: of its weights, the order of its texts and its dropout.
        recipe: how it is trained.
        points: shares of all updates after which the network is measured, 1.0 being the end.
        dropout: probability, 0.3 in the authors' code.
    """

    name: str
    seed: int
    recipe: Recipe
    points: tuple[float, ...]
    dropout: float = 0.3

    @property
    def title(self) -> str:
        """Its folder's name, and what ``--only`` calls it."""
        return f"{self.name}-{self.seed}"


# Shares of the updates after which a training is validated and saved.
STRETCHES = tuple(sixtyfourths / 64 for sixtyfourths in (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64))
POINTS = (1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0)

# Batch 8, 120,000 updates, peak rate 5e-4, 4,000 updates of warm-up: authors' code. Batch 32 is
# ours: it meets as many texts in a quarter of the updates, at twice the rate (the square root of
# four).
EIGHT = Recipe(batch=8, updates=120_000, rate=5e-4, warmup=4_000)
THIRTY_TWO = Recipe(batch=32, updates=30_000, rate=1e-3, warmup=1_000)
# Authors' code: fairseq's transformer_lm; dropout is each run's.
SHAPE = {
    "model_type": "gpt2",
    "activation_function": "relu",
    "n_layer": 6,
    "n_head": 8,
    "n_embd": 512,
    "n_inner": 2048,
    "attn_pdrop": 0.0,
}
TINY_SHAPE = {**SHAPE, "n_layer": 2, "n_head": 2, "n_embd": 16, "n_inner": 32}
SMALL_SHAPE = {**SHAPE, "n_layer": 2, "n_head": 4, "n_embd": 64, "n_inner": 256}


@dataclass(frozen=True)
class Sizes:
    """What differs between the job and its tiny form.

    Attributes:
        shape: settings of the networks, those of a Hugging Face configuration.
        corpus: settings of the corpus that replace those of the scale.
        runs: the trainings.
        samples: texts that are written for a measurement.
        positions: tokens of the longest text that a network can read or write.
        sampled_at_once: texts that are written in one batch.
        point_seconds: assumed for the first measurement.
    """

    shape: Mapping[str, Any]
    corpus: Mapping[str, Any]
    runs: tuple[Run, ...]
    samples: int
    positions: int
    sampled_at_once: int
    point_seconds: float


PAPER = Sizes(
    shape=SHAPE,
    corpus={},
    runs=(
        Run("transformer_batch_32", seed=1, recipe=THIRTY_TWO, points=POINTS),
        Run("transformer", seed=1, recipe=EIGHT, points=POINTS),
        Run(
            "transformer_batch_32_no_dropout",
            seed=1,
            recipe=THIRTY_TWO,
            points=(1 / 2, 1.0),
            dropout=0.0,
        ),
        Run("transformer_batch_32", seed=2, recipe=THIRTY_TWO, points=(1.0,)),
    ),
    samples=6_400,
    positions=576,
    sampled_at_once=1_600,
    point_seconds=90.0,
)
TINY = Sizes(
    shape=TINY_SHAPE,
    corpus={
        "documents": {"train": 60, "validation": 8, "test": 8},
        "num_states": 4,
        "subsequences": 24,
        "max_length": 5,
        "steps": 6,
    },
    runs=(
        Run(
            "transformer_batch_32",
            seed=1,
            recipe=Recipe(batch=4, updates=8, rate=THIRTY_TWO.rate, warmup=2),
            points=(1 / 2, 1.0),
        ),
        Run(
            "transformer",
            seed=1,
            recipe=Recipe(batch=2, updates=8, rate=EIGHT.rate, warmup=2),
            points=(1.0,),
        ),
    ),
    samples=6,
    positions=64,
    sampled_at_once=3,
    point_seconds=0.0,
)

# One processor core, some minutes: does dropout make a network miscount segments?
SHORT = Recipe(batch=16, updates=4_800, rate=2e-3, warmup=300)
SMALL = Sizes(
    shape=SMALL_SHAPE,
    corpus={
        "documents": {"train": 10_000, "validation": 200, "test": 400},
        "num_states": 8,
        "subsequences": 80,
        "min_length": 3,
        "max_length": 4,
        "steps": 20,
    },
    runs=(
        Run("dropout", seed=1, recipe=SHORT, points=(1.0,), dropout=0.3),
        Run("no_dropout", seed=1, recipe=SHORT, points=(1.0,), dropout=0.0),
    ),
    samples=400,
    positions=96,
    sampled_at_once=100,
    point_seconds=0.0,
)


def sizes(tiny: bool, small: bool = False) -> Sizes:
    """The sizes of the job, or those of its tiny or small form."""
    if small:
        return SMALL
    return TINY if tiny else PAPER


def boundaries(run: Run) -> list[int]:
    """Updates after which the training is validated and saved."""
    return sorted(set(updates_after(STRETCHES, run)))


def points(run: Run) -> list[int]:
    """Updates after which the network is measured."""
    return updates_after(run.points, run)


def updates_after(shares: Sequence[float], run: Run) -> list[int]:
    """Shares of a training's updates as numbers of updates, at least 1."""
    return [max(1, round(share * run.recipe.updates)) for share in shares]


# --- the plan -------------------------------------------------------------------------------------


def plan(tiny: bool) -> list[Part]:
    """Trainings and measurements, with floors by arithmetic and minutes by what an update costs."""
    chosen = sizes(tiny)
    corpus = Part(
        "corpus",
        operations=0,
        moved=0,
        minutes=CORPUS_SECONDS / 60,
        because="as one processor core took",
    )
    parts = [corpus]
    for run in chosen.runs:
        parts.append(training_part(run, chosen))
        parts.append(measurement_part(run, chosen))
    return parts


def training_part(run: Run, chosen: Sizes) -> Part:
    """The plan of a training, whose updates are bound by their products or by their kernels."""
    recipe, weights = run.recipe, weights_of(chosen)
    host = host_cost(chosen.shape["n_layer"])
    tokens = recipe.batch * recipe.updates * tokens_of_a_text(chosen)
    operations = LEARN_OPERATIONS * weights * tokens
    moved = recipe.updates * UPDATE_BYTES * weights
    seconds_of_products = operations / (SHARE * PEAK)
    seconds_of_kernels = recipe.updates * host.kernels * KERNEL_SECONDS
    unrecorded_minutes = recipe.updates * host.seconds / 60
    because = (
        f"{recipe.updates:,} updates of {host.kernels} kernels at {KERNEL_SECONDS * 1e6:.1f} us"
        f" or {SHARE:.1%} of the peak, as measured; unrecorded {unrecorded_minutes:.0f} min,"
        f" {host.seconds * 1e3:.1f} ms an update on this machine's processor"
    )
    name = f"{run.name}, seed {run.seed}: {tokens:.2g} tokens"
    minutes = max(seconds_of_products, seconds_of_kernels) / 60
    return Part(name, operations=operations, moved=moved, minutes=minutes, because=because)


def measurement_part(run: Run, chosen: Sizes) -> Part:
    """The plan of sampling from, and reading with, all measured networks of a training."""
    times, weights = len(run.points), weights_of(chosen)
    sampled_tokens = times * chosen.samples * tokens_of_a_text(chosen)
    name = f"{times} times {chosen.samples:,} samples and the test texts"
    # Beside the samples as many test texts go through the network.
    operations = READ_OPERATIONS * weights * 2 * sampled_tokens
    moved = times * corpus_settings(chosen)["steps"] * WEIGHT_BYTES * weights
    because = f"{MEASUREMENT_SECONDS:.0f} s each on an H100 alone"
    minutes = times * MEASUREMENT_SECONDS / 60
    return Part(name, operations=operations, moved=moved, minutes=minutes, because=because)


def tokens_of_a_text(chosen: Sizes) -> float:
    """Mean tokens of a text, with the end tokens before and behind it."""
    settings = corpus_settings(chosen)
    return settings["steps"] * (settings["min_length"] + settings["max_length"]) / 2 + 2


def weights_of(chosen: Sizes) -> int:
    """Number of weights that are trained: of the blocks, the embeddings and the last norm.

    A block of width d and inner width 4 d has 12 d^2 + 13 d.
    """
    width, inner = chosen.shape["n_embd"], chosen.shape["n_inner"]
    block = 4 * width**2 + 2 * width * inner + 9 * width + inner
    symbols = len(hsmm_language.LETTERS) + 1 + 3  # letters, the delimiter; end, padding, unknown
    return chosen.shape["n_layer"] * block + symbols * width + 2 * width


def corpus_settings(chosen: Sizes) -> dict[str, Any]:
    """Settings of the scale's synthetic language, those of ``chosen.corpus`` replaced."""
    settings = dict(parameters(SCALE, ROOT)["params.yaml"]["corpora"]["synthetic"])
    del settings["study"], settings["kind"]
    return {**settings, **chosen.corpus}


# --- the work -------------------------------------------------------------------------------------


def run(call: Call) -> None:
    """Train and measure run after run, or the one that ``--only`` names, until time is over."""
    chosen = sizes(call.tiny, call.small)
    selected = selected_runs(chosen, call.only)
    texts = Texts.saved_or_made(call, chosen)
    for training in selected:
        study = Study(call, chosen, texts, training)
        finished = study.train() and study.measure()
        write_outputs(call, chosen)
        if not finished:
            message = "the time of this call is used up; call again on the same machine to go on"
            print(message, flush=True)
            return
    print("everything is measured", flush=True)


def selected_runs(chosen: Sizes, only: str | None) -> list[Run]:
    """All runs, or the one of title ``only``. Raises BadInput: no run has it."""
    if only is None:
        return list(chosen.runs)
    titles = [run.title for run in chosen.runs]
    if only not in titles:
        raise BadInput(f"gpu: no run is called {only!r}; give --only one of {', '.join(titles)}")
    return [chosen.runs[titles.index(only)]]


@dataclass(frozen=True)
class Texts:
    """The corpus, its tokenizer, and the seed of the scale."""

    corpus: Corpus
    tokenizer: Any
    seed: int

    @classmethod
    def saved_or_made(cls, call: Call, chosen: Sizes) -> "Texts":
        """Read the texts that an earlier call saved, or make and save them."""
        folder = call.state / "corpus"
        seed = parameters(SCALE, ROOT)["params.yaml"]["seed"]
        with (call.state / "corpus.lock").open("w") as lock:
            # Several processes may begin at once; the first makes the texts, the others wait.
            fcntl.flock(lock, fcntl.LOCK_EX)
            cls._make(call, chosen, folder, seed)
        return cls(read_corpus(folder), load_tokenizer(folder / "tokenizer"), seed)

    @staticmethod
    def _make(call: Call, chosen: Sizes, folder: Path, seed: int) -> None:
        """Write corpus and tokenizer into the folder, unless they are there."""
        if (folder / "tokenizer").is_dir():
            return
        started = time.perf_counter()
        corpus = hsmm_language.build(name="synthetic", seed=seed, **corpus_settings(chosen))
        write_corpus(folder, corpus)
        tokenizer = tokenizers.fit(documents=corpus.documents, kind="whitespace")
        tokenizer.save(folder / "tokenizer")
        call.report.add("corpus", time.perf_counter() - started, texts=len(corpus.documents))

    def of(self, split: str) -> list[Document]:
        """The texts of a split."""
        return [document for document in self.corpus.documents if document.split == split]

    def rows(self, split: str, chosen: Sizes, device: torch.device) -> Rows:
        """Token ids of a split's texts, with an end token before and behind each."""
        ids = document_rows(self.of(split), self.tokenizer, False, chosen.positions)
        return Rows(ids, device)


def new_network(chosen: Sizes, tokenizer: Any, run: Run) -> Any:
    """An untrained network of a run: GPT-2's blocks, seeded weights, fairseq's fixed positions."""
    shape = {**chosen.shape, "resid_pdrop": run.dropout, "embd_pdrop": run.dropout}
    network = from_scratch(shape, tokenizer, chosen.positions, run.seed)
    table = network.transformer.wpe.weight
    table.requires_grad_(False)
    scale = network.config.initializer_range  # that of GPT-2's other embeddings
    table.copy_(scale * sinusoids(*table.shape))
    return network


def sinusoids(positions: int, width: int) -> torch.Tensor:
    """Fairseq's fixed position embeddings, float32 (positions, width).

    Sines, then cosines, of wavelengths 2 pi to 20,000 pi.
    """
    half = width // 2
    frequencies = torch.exp(-math.log(10_000.0) * torch.arange(half) / (half - 1))
    angles = torch.arange(positions)[:, None] * frequencies[None]
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Study:
    """One training: its curve, and what is measured of its networks."""

    def __init__(self, call: Call, chosen: Sizes, texts: Texts, run: Run) -> None:
        self.call, self.chosen, self.texts, self.run = call, chosen, texts, run
        self.folder = call.state / run.title
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def title(self) -> str:
        """The name of the run in reports."""
        return f"{self.run.name}, seed {self.run.seed}"

    def train(self) -> bool:
        """Go on to the last update, as far as time goes. Returns: whether it was reached."""
        curve = saved_curve(self.folder)
        if curve and curve[-1]["update"] == self.run.recipe.updates:
            return True
        # The training, as an earlier call left it.
        device = self.call.device
        rows = self.texts.rows("train", self.chosen, device)
        held_out = self.texts.rows("validation", self.chosen, device)
        network = new_network(self.chosen, self.texts.tokenizer, self.run).to(device)
        training = Training(network, rows, self.run.recipe, self.run.seed, record=self.call.record)
        checkpoint = self.folder / "training.pt"
        if curve:
            training.resume(torch.load(checkpoint, weights_only=True, map_location=device))
        # Stretch by stretch; all that the next call needs is saved after each.
        for boundary in boundaries(self.run):
            if boundary <= training.update:
                continue
            stretch = boundary - training.update
            if self.call.left() < RESERVE * stretch * seconds_an_update(curve):
                return False
            started = time.perf_counter()
            loss = training.advance(stretch)
            seconds = time.perf_counter() - started
            curve.append(self._row(training, loss, held_out, stretch, seconds))
            with atomic_write(checkpoint) as fresh:
                torch.save(training.state(), fresh)
            if boundary in points(self.run):
                save_network(network, self.texts.tokenizer, self.folder / f"network-{boundary}")
            write_json(self.folder / CURVE, curve)
            write_outputs(self.call, self.chosen)
        return True

    def _row(
        self, training: Training, loss: float, held_out: Rows, stretch: int, seconds: float
    ) -> dict[str, Any]:
        """The curve's row of a stretch of updates, which is also added to the report.

        ``loss`` is its mean training loss in nats a token, ``held_out`` are validation texts.
        """
        losses = {
            "loss": loss,
            "validation_loss": training.held_out_loss(held_out),
            "validation_loss_with_dropout": training.held_out_loss(held_out, dropout=True),
        }
        weights = weights_of(self.chosen)
        tokens_of_a_row = training.rows.predictions / len(training.rows.lengths)
        tokens = tokens_of_a_row * self.run.recipe.batch * stretch
        self.call.report.add(
            f"train {self.title}: update {training.update}",
            seconds,
            operations=LEARN_OPERATIONS * weights * tokens,
            moved=stretch * UPDATE_BYTES * weights,
            tokens_a_second=tokens / seconds,
            ms_an_update=1e3 * seconds / stretch,
            **losses,
        )
        row = {"run": self.run.name, "seed": self.run.seed, "update": training.update}
        return {**row, "seconds": seconds, **losses}

    def measure(self) -> bool:
        """Measure the saved networks, the last one first. Returns: whether all are measured."""
        needed = self.chosen.point_seconds
        for update in sorted(points(self.run), reverse=True):
            path = self.folder / f"records-{update}.json"
            if path.is_file():
                continue
            if self.call.left() < needed:
                return False
            started = time.perf_counter()
            records = self._records(update)
            write_results(path, records)
            write_outputs(self.call, self.chosen)
            needed = RESERVE * (time.perf_counter() - started)
        return True

    def _records(self, update: int) -> list[Record]:
        """Word PPL on the test texts, Latent PPL and segments of samples, after an update."""
        samples = self._samples(update)
        if update == self.run.recipe.updates:
            texts = [f"{document.text}\n" for document in samples[:FIRST_TEXTS]]
            (self.folder / "first_texts.txt").write_text("".join(texts), encoding="utf-8")
        started = time.perf_counter()
        subject = {
            "corpus": "synthetic",
            "system": self.run.name,
            "seed": self.run.seed,
            "task": f"update {update}",
        }
        segments = segment_record(samples, subject)
        records = [
            *self._word_ppls(update, subject),
            *self._latent_ppls(samples, update, subject),
            segments,
        ]
        seconds = time.perf_counter() - started
        values: dict[str, Any] = values_of(records) | segments.details
        self.call.report.add(f"measure {self.title}: update {update}", seconds, **values)
        return records

    def _samples(self, update: int) -> list[Document]:
        """Sample texts from the network saved after an update; the time goes to the report.

        The texts begin from nothing, are packed as the network was trained, a document a row, and
        fit its positions, so that no context slides. A token counts as two operations a weight.

        Args:
            update: after which the network was saved.

        Returns:
            As many documents as the size at hand names (``samples``).
        """
        started = time.perf_counter()
        generation = generate(
            model=self._network(update),
            name=self._name(update),
            seed=self.texts.seed,
            scratch=self.folder / f"samples-{update}",
            prefixes=self.texts.of("test"),  # they measure float32's error, and begin no text
            documents=self.chosen.samples,
            titles=False,
            packing="documents",
            batch=self.chosen.sampled_at_once,
            max_tokens=self.chosen.positions,
            context_overlap=None,
        )
        seconds = time.perf_counter() - started
        tokens = generation.facts["tokens"]
        self.call.report.add(
            f"sample {self.title}: update {update}",
            seconds,
            operations=READ_OPERATIONS * weights_of(self.chosen) * tokens,
            tokens_a_second=tokens / seconds,
        )
        return generation.documents

    def _network(self, update: int) -> Path:
        """The folder of a saved network."""
        return self.folder / f"network-{update}"

    def _name(self, update: int) -> str:
        """What a saved network is called; its random streams are derived from it."""
        return f"{self.run.name}-{self.run.seed}-{update}"

    def _word_ppls(self, update: int, subject: Mapping[str, Any]) -> list[Record]:
        """Records of word PPL over all tokens, and over each of :func:`parts_of` a text."""
        test = self.texts.of("test")
        predictions = read_log_probs(
            documents=test,
            reader=self._network(update),
            name=self._name(update),
            titles=False,
            splits=("test",),
            batch=64,
        )
        units = log_prob_units(predictions)
        segments = round(BODY_SHARE * corpus_settings(self.chosen)["steps"])
        variants = {"": units, **parts_of(units, test, segments)}
        critic = Perplexity(count_end=True)  # as the authors' transformer does
        records = []
        for variant, part in variants.items():
            stream = [self._name(update), variant] if variant else [self._name(update)]
            rng = generator(self.texts.seed, *stream, "bootstrap")
            statistics = critic.sufficient_statistics(part)
            described = {**subject, "variant": variant}
            records.append(_record("perplexity", "word_ppl", critic, statistics, rng, described))
        return records

    def _latent_ppls(
        self, samples: Sequence[Document], update: int, subject: Mapping[str, Any]
    ) -> list[Record]:
        """Records of Latent PPL by each of the authors' rules."""
        records = []
        for variant, rule in RULES.items():
            states = read_states(
                documents=samples,
                reader_truth=self.texts.corpus.truth,
                rule=rule,
                splits=("generated",),
            )
            critic = true_markov(real=states)
            statistics = critic.sufficient_statistics(chains_from_predictions(states))
            rng = generator(self.texts.seed, self._name(update), rule, "bootstrap")
            described = {**subject, "variant": variant}
            records.append(
                _record("synthetic_states", "latent_ppl", critic, statistics, rng, described)
            )
        return records


def saved_curve(folder: Path) -> list[dict[str, Any]]:
    """Rows of a training so far, one for each stretch."""
    path = folder / CURVE
    return read_json(path) if path.is_file() else []


def parts_of(
    units: Sequence[LogProbs], documents: Sequence[Document], segments: int
) -> dict[str, list[LogProbs]]:
    """Natural-log probabilities of the tokens of each text, by the part of the text they are in.

    Args:
        units: of each text: its tokens, then the end token.
        documents: the same texts.
        segments: how many segments count as the first ones, delimiters included.

    Returns:
        ``body`` (all but the end token), and its two parts ``first_segments`` and
        ``last_segments``; ``end`` (the end token alone).
    """
    parts: dict[str, list[LogProbs]] = {}
    for unit, document in zip(units, documents, strict=True):
        end = len(unit.values) - 1  # index of the end token
        cut = end_of_segments(document.text.split(), segments) or end
        spans = {
            "body": slice(0, end),
            "first_segments": slice(0, cut),
            "last_segments": slice(cut, end),
            "end": slice(end, end + 1),
        }
        for name, span in spans.items():
            part = replace(unit, values=unit.values[span], ended=name == "end")
            parts.setdefault(name, []).append(part)
    return parts


def end_of_segments(tokens: Sequence[str], segments: int) -> int | None:
    """Number of tokens of the first ``segments`` segments, with delimiters; None of fewer."""
    count = 0
    for index, token in enumerate(tokens):
        count += token == hsmm_language.DELIMITER
        if count == segments:
            return index + 1
    return None


def segment_record(samples: Sequence[Document], subject: Mapping[str, Any]) -> Record:
    """Record of the mean number of delimiters in samples.

    ``details`` have the number of texts with each number of delimiters.
    """
    numbers = [document.text.split().count(hsmm_language.DELIMITER) for document in samples]
    by_number = {str(number): numbers.count(number) for number in sorted(set(numbers))}
    return Record(
        "synthetic_states",
        "segments",
        **subject,
        value=float(np.mean(numbers)),
        units=len(numbers),
        better="reference_matched",
        details={"texts_by_segments": by_number},
    )


def seconds_an_update(curve: Sequence[Mapping[str, Any]]) -> float:
    """Seconds an update of the last stretch of a curve; 0 where there is none."""
    if not curve:
        return 0.0
    start = curve[-2]["update"] if len(curve) > 1 else 0
    return curve[-1]["seconds"] / (curve[-1]["update"] - start)


def save_network(network: Any, tokenizer: Any, folder: Path) -> None:
    """Save a network as a checkpoint that every reader of the project opens."""
    with atomic_write(folder) as fresh:
        fresh.mkdir()
        SavedModel(network, tokenizer).save(fresh)


def _record(
    critic_name: str,
    metric: str,
    critic: Any,
    statistics: Any,
    rng: np.random.Generator,
    subject: Mapping[str, Any],
) -> Record:
    """Record of a critic's estimate on statistics; ``subject`` are fields that say of what."""
    estimated = estimate(critic, statistics, rng)
    totals = {column: statistics.total(column) for column in statistics.columns}
    return Record(
        critic_name,
        metric,
        **subject,
        value=estimated.value,
        low=estimated.low,
        high=estimated.high,
        units=estimated.units,
        excluded=estimated.excluded,
        better=critic.better,
        signature=estimated.signature,
        details={"totals": totals},
    )


# --- what comes back ------------------------------------------------------------------------------


def write_outputs(call: Call, chosen: Sizes) -> None:
    """Write all that is measured so far: records, curves, first texts and the report.

    Each training saves its results in a folder of ``call.state``. They are read back from there,
    so that those of earlier calls, and of calls that run beside this one, are among them.

    Args:
        call: the files go to its ``out``.
        chosen: its runs are the trainings.
    """
    # What each training has saved in its folder.
    records: list[Record] = []
    curves: list[dict[str, Any]] = []
    texts = []
    for run in chosen.runs:
        folder = call.state / run.title
        records += _saved_records(run, folder)
        curves += saved_curve(folder)
        first_texts = folder / "first_texts.txt"
        if first_texts.is_file():
            texts.append(f"# {folder.name}\n{first_texts.read_text(encoding='utf-8')}")
    # The files that come back.
    results = Results(records)
    write_results(call.out / "records.json", results)
    write_curves(call.out / "curves.csv", curves, results)
    (call.out / "first_texts.txt").write_text("\n".join(texts), encoding="utf-8")
    call.report.facts["beside the HSMM"] = [beside_hsmm(results, run) for run in chosen.runs]
    call.report.write()


def write_curves(path: Path, curves: Sequence[Mapping[str, Any]], records: Results) -> None:
    """The curves of all trainings, with what was measured of the networks at their points."""
    columns = ["run", "seed", "update", "seconds", *LOSSES, *METRICS]
    with atomic_write(path) as fresh, fresh.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        table.writeheader()
        for row in curves:
            update = f"update {row['update']}"
            measured = records.where(system=row["run"], seed=row["seed"], task=update)
            table.writerow({**row, **values_of(measured)})


def _saved_records(run: Run, folder: Path) -> Results:
    """Records of a run's networks that are measured."""
    paths = [folder / f"records-{update}.json" for update in points(run)]
    return read_results(*[path for path in paths if path.is_file()])


def values_of(records: Sequence[Record]) -> dict[str, float | None]:
    """The values of records by the curve's columns, ``<metric>[_<variant>]``."""
    values = {}
    for record in records:
        column = f"{record.metric}_{record.variant}".rstrip("_")
        values[column] = record.value
    return values


@cache
def hsmm_records() -> Results:
    """The scale's records of its HSMM on the synthetic language."""
    return scale_results(ROOT / MEASURED).where(system=HSMM, corpus="synthetic")


def beside_hsmm(records: Results, run: Run) -> dict[str, Any]:
    """The two claims of section 3 in numbers: a trained run's PPLs, the HSMM's, and their ratio."""
    last = records.where(system=run.name, seed=run.seed, task=f"update {run.recipe.updates}")
    comparison: dict[str, Any] = {"run": run.name, "seed": run.seed}
    for metric in ("word_ppl", "latent_ppl"):
        hsmm = hsmm_records().one(metric=metric, variant="").value
        record = last.find(metric=metric, variant="")
        transformer = record.value if record is not None else None
        if transformer is not None and hsmm is not None:
            ratio = transformer / hsmm
            comparison[metric] = {"transformer": transformer, "hsmm": hsmm, "ratio": ratio}
    return comparison


JOB = Job(INPUTS, OUTPUTS, plan, run)
