"""How fast training, sampling, the HSMM and surprisal are on one card, each beside a program that people use, in the same run.

Weights are random, since speed does not ask what a network has learnt: the transformer of deng2022's Table 1, and one of the
shape of SmolLM2-135M. Sides take turns; the median of the rounds counts, after one round that does not. A peer runs at the
batch size at which it is fastest. A part that is measured is kept, so that a second call goes on with the next one.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from benchmarks.sampling import NEVER, OVERLAP, Ours, Peer
from benchmarks.sampling import make_network as long_document_network
from experiments.gpu.frame import REPORT, Call, Part, seconds_of
from experiments.gpu.training import Recipe, Rows, Training, gpt2_logits, network_logits
from longform.decoding.exact_sampling import calibrated
from longform.decoding.long_documents import Draft, Sampling, sample
from longform.files.artefacts import read_json, write_json
from longform.hsmm import em
from longform.hsmm.model import build_ngrams
from longform.language_models.causal_lm import CausalLanguageModel, collate
from longform.language_models.lightning import fit_learner
from longform.results import rounded
from longform.statistics.random_streams import generator

INPUTS: tuple[str, ...] = ()
OUTPUTS = (REPORT,)
STATES, SEGMENTS = 800, 11  # deng2022 appendix D
SPREAD = (
    16 / 379
)  # standard deviation of the length of the synthetic language's texts, as a share of the mean
SYMBOLS = 56
CORPUS_TEXTS = 51_200  # deng2022 section 3
PEER_SEQUENCES = (
    1,
    2,
    4,
    8,
    16,
    32,
)  # of torch-struct's scan: more do not fit into 80 GB at 800 states
RESERVE = 1.2  # how much longer than it took before a part may take
TOOK = {  # seconds of each part, everything in it, on one H100 alone (experiments/gpu/measured)
    "training_18m": 127.0,
    "sampling_18m": 121.0,
    "gradients": 11.0,
    "em_iteration": 66.0,
    "surprisal": 36.0,
    "training_135m": 10.0,
    "sampling_long": 19.0,
}
CLEARLY_SLOWER = (
    0.6  # a peer's search for its best batch ends at a speed below this share of its best
)


@dataclass(frozen=True)
class Sizes:
    """What differs between the job and its tiny form."""

    small: Mapping[str, int]  # Table 1's transformer
    large: Mapping[str, int]  # SmolLM2-135M
    text_tokens: int  # of a text, on average
    updates: int  # timed in a round
    rounds: int
    context: int
    large_batch: int
    large_updates: int
    written: int  # tokens of a sampled text
    text_batches: tuple[int, ...]  # texts sampled at once, of which the best counts
    slid: int  # tokens that the loop that slides token by token is timed for
    long_shape: tuple[int, int]  # layers and width of the network that writes long documents
    states: int
    texts: int  # whose EM iteration is timed
    sequences: int  # of a gradient of ours
    peer_sequences: tuple[int, ...]
    pairs: int
    words: int
    pair_batches: tuple[int, ...]
    budget: int  # tokens that our reader of surprisal takes at once


CARD = Sizes(
    small={"n_layer": 6, "n_head": 8, "n_embd": 512, "n_inner": 2048, "n_positions": 576},
    large={
        "num_hidden_layers": 30, "hidden_size": 576, "intermediate_size": 1536, "num_attention_heads": 9,
        "num_key_value_heads": 3, "vocab_size": 49_152, "max_position_embeddings": 2048,
    },
    text_tokens=379, updates=200, rounds=3, context=2048, large_batch=16, large_updates=8, written=400,
    text_batches=(64, 512, 1600), slid=100, long_shape=(6, 512), states=STATES, texts=6_400, sequences=256,
    peer_sequences=PEER_SEQUENCES, pairs=2_000, words=16_000, pair_batches=(16, 64, 256, 1024), budget=65_536,
)  # fmt: skip
TINY = Sizes(
    small={"n_layer": 2, "n_head": 2, "n_embd": 16, "n_inner": 32, "n_positions": 64},
    large={
        "num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2,
        "num_key_value_heads": 1, "vocab_size": 2000, "max_position_embeddings": 512,
    },
    text_tokens=40, updates=2, rounds=1, context=64, large_batch=2, large_updates=2, written=24, text_batches=(2, 4),
    slid=2, long_shape=(1, 64), states=4, texts=4, sequences=2, peer_sequences=(1, 2), pairs=10, words=200,
    pair_batches=(4,), budget=1024,
)  # fmt: skip


# --- the plan -----------------------------------------------------------------------------------------------------------


def plan(tiny: bool) -> list[Part]:
    """One line a part; minutes are those that an H100 took."""
    size = TINY if tiny else CARD
    small, large = weights(small_network(size)), weights(large_network(size))
    rounds = size.rounds + 1
    updates = rounds * 4 * size.updates * 40 * size.text_tokens
    trained = rounds * size.large_updates * size.large_batch * size.context
    written = rounds * 3 * max(size.text_batches) * size.written
    scanned = size.texts * size.text_tokens
    read = 2 * size.pairs * 22 * (2 * rounds + len(size.pair_batches))
    scan = 6 * size.states**2
    costs = {  # operations and bytes of each part
        "training_18m": (6 * small * updates, 0),
        "sampling_18m": (2 * small * written, 0),
        "gradients": (scan * 375 * 2 * size.sequences, 0),
        "em_iteration": (scan * scanned, 1e5 * scanned),
        "surprisal": (2 * large * read, 0),
        "training_135m": (6 * large * trained, 0),
        "sampling_long": (0, 0),
    }
    parts = []
    for name, (operations, moved) in costs.items():
        seconds = TOOK[name]
        parts.append(Part(name, operations, moved, seconds / 60, f"{seconds:.0f} s on an H100"))
    return parts


# --- networks and texts -------------------------------------------------------------------------------------------------


def small_network(size: Sizes) -> Any:
    """Table 1's transformer: the shape of the job ``table_1_transformer``, without dropout."""
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    still = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = GPT2Config(
        vocab_size=SYMBOLS, activation_function="relu", **size.small, **ends, **still
    )
    return GPT2LMHeadModel(config)


def large_network(size: Sizes) -> Any:
    """The shape of SmolLM2-135M."""
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    return LlamaForCausalLM(LlamaConfig(tie_word_embeddings=True, **size.large, **ends))


def weights(network: Any) -> int:
    """Weights of a network, a shared one counted once."""
    return sum(parameter.numel() for parameter in network.parameters())


def random_rows(
    count: int, mean: int, symbols: int, name: str, spread: float = SPREAD
) -> list[list[int]]:
    """Texts of random symbols, whose lengths vary as those of the synthetic language do."""
    rng = generator("speed", name)
    lengths = np.clip(rng.normal(mean, spread * mean, count), 2, None).astype(int)
    return [rng.integers(1, symbols, length).tolist() for length in lengths]


# --- timing -------------------------------------------------------------------------------------------------------------

Work = Callable[[], Any]


def turns(sides: Mapping[str, Work], rounds: int, device: torch.device) -> dict[str, list[float]]:
    """Seconds of each side in each round; the first call of each is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, work in sides.items():
            found = seconds_of(work, device)
            if number:
                seconds[name].append(found)
    return seconds


def fastest(work: Callable[[int], Any], sizes: Sequence[int], device: torch.device) -> int:
    """The size at which a call does most for each second; larger ones are not tried once it has clearly become slower."""
    speeds: dict[int, float] = {}
    for size in sizes:
        work(size)
        speeds[size] = size / seconds_of(partial(work, size), device)
        if speeds[size] < CLEARLY_SLOWER * max(speeds.values()):
            break
    return max(speeds, key=lambda size: speeds[size])


def add_sides(
    call: Call,
    part: str,
    seconds: Mapping[str, Sequence[float]],
    tokens: Mapping[str, float],
    **of_ours: Any,
) -> None:
    """Report each side's speed, and ours over each peer's; ours is the first one.

    Args:
        tokens: what a call of each side does.
        of_ours: operations and bytes of our side's call.
    """
    medians = {side: statistics.median(values) for side, values in seconds.items()}
    speeds = {side: tokens[side] / medians[side] for side in medians}
    ours = next(iter(speeds))
    for side, speed in speeds.items():
        more = of_ours if side == ours else {"ours_over_it": speeds[ours] / speed}
        call.report.add(f"{part}: {side}", medians[side], tokens_a_second=speed, **more)


# --- training -----------------------------------------------------------------------------------------------------------


def small_training(call: Call, size: Sizes) -> None:
    """Updates of Table 1's transformer: ours, a plain loop over the same batches, and Lightning's Trainer."""
    for batch in (8, 32):
        texts = random_rows(batch * size.updates, size.text_tokens, SYMBOLS, f"batch {batch}")
        tokens = float(sum(map(len, texts)))
        recipe = Recipe(batch, size.updates, 5e-4, 100)
        rows, network = Rows(texts, call.device), small_network(size).to(call.device)
        training = Training(
            network, rows, recipe, seed=1, record=call.record, logits_of=gpt2_logits
        )
        sides: dict[str, Work] = {
            "ours": partial(training.advance, size.updates),
            "plain loop": partial(plain_updates, small_network(size).to(call.device), texts, batch),
        }
        seconds = turns(sides, size.rounds, call.device)
        seconds["Lightning"] = lightning_seconds(call, size, texts, batch)
        cost = {
            "operations": 6 * weights(network) * tokens,
            "moved": size.updates * 7 * 4 * weights(network),
        }
        add_sides(
            call,
            f"training 18.94 M, batch {batch}",
            seconds,
            dict.fromkeys(seconds, tokens),
            **cost,
        )


def plain_updates(network: Any, texts: Sequence[list[int]], batch: int) -> None:
    """What a user of transformers writes: pad a batch, call the network with labels, AdamW."""
    device = network.device
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-4)
    network.train()
    for start in range(0, len(texts), batch):
        inputs = {
            key: value.to(device) for key, value in collate(texts[start : start + batch]).items()
        }
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = network(**inputs, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def lightning_seconds(
    call: Call, size: Sizes, texts: Sequence[list[int]], batch: int
) -> list[float]:
    """Seconds of so many updates through ``fit_learner``: a long run less a short one, so that set-up is left out."""
    precision = "bf16-mixed" if call.device.type == "cuda" else "32-true"

    def seconds(passes: int, name: str) -> float:
        plan = {
            "learning_rate": 5e-4,
            "batch": batch,
            "epochs": passes,
            "validations": 1,
            "precision": precision,
        }
        items = {"train": texts, "validation": texts[:batch]}
        network, scratch = (
            small_network(size),
            call.state / "lightning" / f"{batch}-{name}-{time.time_ns()}",
        )
        named: dict[str, Any] = {"seed": 1, "name": name, "scratch": scratch}
        return seconds_of(
            lambda: fit_learner(CausalLanguageModel, network, items, collate, plan, **named),
            call.device,
        )

    seconds(1, "first")  # what a process does once
    return [max(1e-9, seconds(3, "long") - seconds(1, "short")) / 2]


def large_training(call: Call, size: Sizes) -> None:
    """Updates of SmolLM2's shape on whole contexts; its steps are long enough to be launched as they are."""
    texts = random_rows(
        size.large_batch * size.large_updates,
        size.context,
        size.large["vocab_size"],
        "large",
        spread=0,
    )
    network = large_network(size).to(call.device)
    recipe = Recipe(size.large_batch, size.large_updates, 5e-4, 100)
    training = Training(network, Rows(texts, call.device), recipe, seed=1, logits_of=network_logits)
    seconds = turns(
        {"ours": partial(training.advance, size.large_updates)}, size.rounds, call.device
    )
    tokens = float(sum(map(len, texts)))
    add_sides(
        call,
        "training 135 M",
        seconds,
        {"ours": tokens},
        operations=6 * weights(network) * tokens,
        context=size.context,
    )


# --- sampling -----------------------------------------------------------------------------------------------------------


def small_sampling(call: Call, size: Sizes) -> None:
    """Texts of Table 1's transformer: our exact sampler against ``generate``, each at its best batch, in float32."""
    network = small_network(size).to(call.device).eval()
    text = random_rows(1, size.written, SYMBOLS, "calibration", spread=0)[0]
    referee = calibrated(network, text, size.small["n_positions"])
    settings = Sampling(size.written, None, size.small["n_positions"])

    def ours(batch: int) -> None:
        drafts = [Draft(index, 0, 1000 + index, [0]) for index in range(batch)]
        sample(referee, drafts, settings, NEVER)

    def peer(batch: int) -> None:
        start = torch.zeros(batch, 1, dtype=torch.int64, device=call.device)
        exactly = {"max_new_tokens": size.written - 1, "min_new_tokens": size.written - 1}
        mask, free = (
            torch.ones_like(start),
            {"do_sample": True, "top_k": 0, "top_p": 1.0, "pad_token_id": 0},
        )
        network.generate(start, attention_mask=mask, **exactly, **free)

    batches = {
        name: fastest(work, size.text_batches, call.device)
        for name, work in (("ours", ours), ("peer", peer))
    }
    sides = {
        f"ours, {batches['ours']} texts": partial(ours, batches["ours"]),
        f"generate, {batches['peer']} texts": partial(peer, batches["peer"]),
    }
    tokens = dict(
        zip(sides, ((size.written - 1) * batches[name] for name in ("ours", "peer")), strict=True)
    )
    operations = 2.0 * weights(network) * tokens[next(iter(sides))]
    moved = 4.0 * weights(network) * (size.written - 1)
    seconds = turns(sides, size.rounds, call.device)
    add_sides(call, "sampling 18.94 M", seconds, tokens, operations=operations, moved=moved)


def sampling_beyond_the_window(call: Call, size: Sizes) -> None:
    """Long documents: chunks of our sampler against the loop that reads the last window anew for every token."""
    network = long_document_network(*size.long_shape).to(call.device)
    window = network.config.n_positions
    ids = torch.randint(
        1, network.config.vocab_size, (window,), generator=torch.Generator().manual_seed(1)
    ).tolist()
    referee = calibrated(network, ids, window)
    peer = Peer(network)
    peer.fill_window()
    batch = size.text_batches[0]
    upto = window + 4 * size.slid

    def past_the_window() -> None:
        documents.write(upto)

    seconds: dict[str, list[float]] = {"ours": [], "slides token by token": []}
    for number in range(size.rounds + 1):
        documents = Ours(referee, OVERLAP, batch)
        documents.write(window)
        own = seconds_of(past_the_window, call.device)
        theirs = seconds_of(partial(peer.slide, size.slid), call.device)
        if number:
            seconds["ours"].append(own)
            seconds["slides token by token"].append(theirs)
    tokens = {"ours": float(batch * (upto - window)), "slides token by token": float(size.slid)}
    add_sides(call, f"sampling beyond the window, {batch} documents", seconds, tokens)


# --- the hidden semi-Markov model ---------------------------------------------------------------------------------------


def em_iteration(call: Call, size: Sizes) -> None:
    """Expectation and maximisation of 800 states over texts with the synthetic language's lengths."""
    texts = [
        list(map(str, row)) for row in random_rows(size.texts, size.text_tokens, SYMBOLS, "em")
    ]
    ngrams = build_ngrams(texts, max_duration=SEGMENTS)
    model = em.initial_model(ngrams, num_states=size.states, seed=1)
    encoded = [ngrams.encode(text) for text in texts]
    compute = em.Compute(str(call.device))
    found: list[Any] = []

    def expect() -> None:
        found[:] = [em.expectation(model, encoded, compute)]

    first = seconds_of(expect, call.device)
    expected = seconds_of(expect, call.device)
    maximised = seconds_of(lambda: em.maximise(model, found[0], frozen=False), call.device)
    tokens = float(sum(map(len, texts)))
    whole = CORPUS_TEXTS / size.texts
    call.report.add(
        f"one EM iteration, {size.states} states, {size.texts:,} texts",
        expected + maximised,
        operations=6 * size.states**2 * tokens,
        moved=1e5 * size.states / STATES * tokens,
        tokens_a_second=tokens / (expected + maximised),
        first_expectation_seconds=first,
        maximisation_seconds=maximised,
        seconds_for_51200_texts=whole * expected + maximised,
    )


def gradients(call: Call, size: Sizes) -> None:
    """log P(x) with all gradients: our scan against torch-struct's semiring in the scan that the authors made of it."""
    from benchmarks.semi_markov import TOKENS, Case, agreement, lean, ours

    most = max(size.sequences, *size.peer_sequences)
    case = Case.random(size.states, most).to(call.device)
    gap = agreement(ours(case, 1), lean(case, 1))
    best = fastest(partial(lean, case), size.peer_sequences, call.device)
    sides = {
        f"ours, {size.sequences} sequences": partial(ours, case, size.sequences),
        f"torch-struct's lean scan, {best} sequences": partial(lean, case, best),
    }
    tokens = dict(zip(sides, (float(TOKENS * size.sequences), float(TOKENS * best)), strict=True))
    seconds = turns(sides, size.rounds, call.device)
    operations = 6.0 * size.states**2 * TOKENS * size.sequences
    add_sides(
        call,
        f"HSMM gradients, {size.states} states",
        seconds,
        tokens,
        operations=operations,
        gap=gap,
    )


# --- surprisal ----------------------------------------------------------------------------------------------------------


def surprisal(call: Call, size: Sizes) -> None:
    """Token surprisals of pairs of sentences: our reader against minicons at its best batch, in float32."""
    from minicons.scorer import IncrementalLMScorer

    from benchmarks.surprisal import (
        decisions,
        engine_scores,
        make_pairs,
        make_tokenizer,
        minicons_scores,
        words,
    )

    vocabulary = words(size.words)
    pairs = make_pairs(size.pairs, 0, vocabulary)
    texts = [text for both in pairs for text in both]
    tokenizer = make_tokenizer([*texts, *vocabulary], min(size.words, size.large["vocab_size"]))
    network = large_network(size).to(call.device).eval()
    scorer = IncrementalLMScorer(network, str(call.device), tokenizer=tokenizer)
    some = texts[: max(size.pair_batches)]
    speeds = {
        batch: 1 / seconds_of(partial(minicons_scores, scorer, some, batch), call.device)
        for batch in size.pair_batches
    }
    best = max(speeds, key=lambda batch: speeds[batch])
    said: dict[str, Any] = {}

    def ours() -> None:
        said["ours"] = engine_scores(network, tokenizer, texts, True, size.budget)

    def peer() -> None:
        said["minicons"] = minicons_scores(scorer, texts, best)

    seconds = turns({"ours": ours, f"minicons, batch {best}": peer}, size.rounds, call.device)
    tokens = float(sum(map(len, said["minicons"])))
    apart = max(
        float(np.abs(a - b).max()) for a, b in zip(said["ours"], said["minicons"], strict=True)
    )
    equal = int((decisions(said["ours"]) == decisions(said["minicons"])).sum())
    more = {"equal_decisions": equal, "pairs": size.pairs, "largest_difference_bits": apart}
    operations = 2 * weights(network) * tokens
    add_sides(
        call, "surprisal", seconds, dict.fromkeys(seconds, tokens), operations=operations, **more
    )


PARTS: Mapping[str, Callable[[Call, Sizes], None]] = {  # what measures it
    "training_18m": small_training,
    "sampling_18m": small_sampling,
    "gradients": gradients,
    "em_iteration": em_iteration,
    "surprisal": surprisal,
    "training_135m": large_training,
    "sampling_long": sampling_beyond_the_window,
}


def run(call: Call) -> None:
    """Every part that is not measured yet, as far as the call's time goes."""
    size = TINY if call.tiny else CARD
    for name, measure in PARTS.items():
        needed = RESERVE * TOOK[name]
        kept: Path = call.state / f"{name}.json"
        if kept.is_file():
            call.report.rows += read_json(kept)
            call.report.write()
            continue
        if not call.tiny and call.left() < needed:
            print(
                f"{name}: {call.left():.0f} s are left; call again on the same machine for it",
                flush=True,
            )
            continue
        before = len(call.report.rows)
        started = time.perf_counter()
        measure(call, size)
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
        write_json(kept, rounded(call.report.rows[before:]))
        if call.device.type == "cuda":
            torch.cuda.empty_cache()
