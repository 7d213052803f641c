"""Speed of training, sampling, the HSMM and surprisal on one card, each beside a public program.

Weights are random, since speed does not depend on what a network has learnt: the transformer of
deng2022's Table 1, and one of the shape of SmolLM2-135M. Sides take turns; the median of the rounds
counts, after one round that does not. A peer runs at the batch size at which it is fastest. Each
part is saved when it is measured, so that a second call goes on with the next one.
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
from experiments.gpu.frame import (
    LEARN_OPERATIONS,
    READ_OPERATIONS,
    REPORT,
    UPDATE_BYTES,
    Call,
    Job,
    Part,
    seconds_of,
)
from experiments.gpu.training import Recipe, Rows, Training, network_logits
from longform.decoding.exact_sampling import calibrated
from longform.decoding.long_documents import Draft, Sampling, sample
from longform.files.artefacts import read_json, write_json
from longform.hsmm import em
from longform.hsmm.model import build_ngrams
from longform.language_models.causal_lm import CausalLanguageModel, collate
from longform.language_models.lightning import fit_learner
from longform.results import rounded
from longform.statistics.random_streams import generator

STATES, SEGMENTS = 800, 11  # of the HSMM, and tokens of its longest segment (deng2022 appendix D)
# Standard deviation of the length of the synthetic language's texts, as a share of the mean.
SPREAD = 16 / 379
SYMBOLS = 56  # of that language's vocabulary
SMALL_BATCHES = (8, 32)  # texts of an update of the small network
RATE, WARMUP = 5e-4, 100  # of every timed training, whose speed they do not change
PAIR_TOKENS = 22  # of a sentence of a pair, on average
LATTICE_BYTES = 1e5  # that an EM iteration of 800 states moves for each token
CORPUS_TEXTS = 51_200  # deng2022 section 3
# Of torch-struct's scan: more do not fit into 80 GB at 800 states.
PEER_SEQUENCES = (1, 2, 4, 8, 16, 32)
RESERVE = 1.2  # a part begins only where this many times its seconds in TOOK are left
TOOK = {  # seconds of each part, everything in it, on one H100 alone (experiments/gpu/measured)
    "training_18m": 127.0,
    "sampling_18m": 121.0,
    "gradients": 11.0,
    "em_iteration": 66.0,
    "surprisal": 36.0,
    "training_135m": 10.0,
    "sampling_long": 19.0,
}
# A search for the best batch ends at a speed below this share of the best one.
CLEARLY_SLOWER = 0.6


@dataclass(frozen=True)
class Sizes:
    """What differs between the job and its tiny form.

    Attributes:
        rounds: timed calls of each side.
        small: shape of Table 1's transformer.
        text_tokens: of a text, on average.
        updates: of the small network, timed in a round.
        large: shape of SmolLM2-135M.
        context: tokens of a row that the large network is trained on.
        large_batch: rows of an update of the large network.
        large_updates: of the large network, timed in a round.
        sample_tokens: of a sampled text.
        text_batches: texts sampled at once, of which the fastest counts.
        long_shape: layers and width of the network that writes long documents.
        slide_tokens: tokens of the timed loop that slides token by token.
        states: of the HSMM.
        texts: of the timed EM iteration.
        sequences: in a batch of our gradients.
        peer_sequences: in a batch of torch-struct's gradients, of which the fastest counts.
        pairs: of sentences whose surprisal is read.
        words: of their vocabulary.
        pair_batches: sentences that minicons reads at once, of which the fastest counts.
        token_budget: tokens that our reader of surprisal takes at once.
    """

    rounds: int
    small: Mapping[str, int]
    text_tokens: int
    updates: int
    large: Mapping[str, int]
    context: int
    large_batch: int
    large_updates: int
    sample_tokens: int
    text_batches: tuple[int, ...]
    long_shape: tuple[int, int]
    slide_tokens: int
    states: int
    texts: int
    sequences: int
    peer_sequences: tuple[int, ...]
    pairs: int
    words: int
    pair_batches: tuple[int, ...]
    token_budget: int


CARD = Sizes(
    rounds=3,
    small={"n_layer": 6, "n_head": 8, "n_embd": 512, "n_inner": 2048, "n_positions": 576},
    text_tokens=379,
    updates=200,
    large={
        "num_hidden_layers": 30,
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "vocab_size": 49_152,
        "max_position_embeddings": 2048,
    },
    context=2048,
    large_batch=16,
    large_updates=8,
    sample_tokens=400,
    text_batches=(64, 512, 1600),
    long_shape=(6, 512),
    slide_tokens=100,
    states=STATES,
    texts=6_400,
    sequences=256,
    peer_sequences=PEER_SEQUENCES,
    pairs=2_000,
    words=16_000,
    pair_batches=(16, 64, 256, 1024),
    token_budget=65_536,
)
TINY = Sizes(
    rounds=1,
    small={"n_layer": 2, "n_head": 2, "n_embd": 16, "n_inner": 32, "n_positions": 64},
    text_tokens=40,
    updates=2,
    large={
        "num_hidden_layers": 2,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "vocab_size": 2000,
        "max_position_embeddings": 512,
    },
    context=64,
    large_batch=2,
    large_updates=2,
    sample_tokens=24,
    text_batches=(2, 4),
    long_shape=(1, 64),
    slide_tokens=2,
    states=4,
    texts=4,
    sequences=2,
    peer_sequences=(1, 2),
    pairs=10,
    words=200,
    pair_batches=(4,),
    token_budget=1024,
)


# --- the plan -------------------------------------------------------------------------------------


def plan(tiny: bool) -> list[Part]:
    """The job's parts, with the work that they must do and the minutes that an H100 took."""
    size = TINY if tiny else CARD
    small, large = weights(small_network(size)), weights(large_network(size))
    rounds = size.rounds + 1  # with the one that does not count
    # Tokens of each part, over both sides and all rounds.
    texts_of_updates = sum(SMALL_BATCHES) * size.updates
    small_tokens = rounds * 4 * texts_of_updates * size.text_tokens
    large_tokens = rounds * size.large_updates * size.large_batch * size.context
    sampled_tokens = rounds * 3 * max(size.text_batches) * size.sample_tokens
    em_tokens = size.texts * size.text_tokens
    readings = 2 * rounds + len(size.pair_batches)
    surprisal_tokens = readings * 2 * size.pairs * PAIR_TOKENS
    # Floating-point operations; an HSMM's token has three products with all transitions.
    scan = 6 * size.states**2
    operations = {
        "training_18m": LEARN_OPERATIONS * small * small_tokens,
        "sampling_18m": READ_OPERATIONS * small * sampled_tokens,
        "gradients": scan * 375 * 2 * size.sequences,
        "em_iteration": scan * em_tokens,
        "surprisal": READ_OPERATIONS * large * surprisal_tokens,
        "training_135m": LEARN_OPERATIONS * large * large_tokens,
        "sampling_long": 0,
    }
    moved = {"em_iteration": LATTICE_BYTES * em_tokens}  # bytes
    parts = []
    for name, count in operations.items():
        seconds = TOOK[name]
        because = f"{seconds:.0f} s on an H100"
        part = Part(
            name,
            operations=count,
            moved=moved.get(name, 0),
            minutes=seconds / 60,
            because=because,
        )
        parts.append(part)
    return parts


# --- networks and texts ---------------------------------------------------------------------------


def small_network(size: Sizes) -> Any:
    """Table 1's transformer: the shape of the job ``table_1_transformer``, without dropout."""
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    still = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    shape = {"vocab_size": SYMBOLS, "activation_function": "relu", **size.small}
    return GPT2LMHeadModel(GPT2Config(**shape, **ends, **still))


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
    """``count`` texts of random symbols from 1, by a stream of that name.

    Lengths are normal with the mean ``mean`` and the standard deviation ``spread`` times it.
    """
    rng = generator("speed", name)
    lengths = np.clip(rng.normal(mean, spread * mean, count), 2, None).astype(int)
    return [rng.integers(1, symbols, length).tolist() for length in lengths]


def total_tokens(texts: Sequence[Sequence[Any]]) -> float:
    """Number of tokens in all texts."""
    return float(sum(map(len, texts)))


# --- timing ---------------------------------------------------------------------------------------

Work = Callable[[], Any]


def turns(sides: Mapping[str, Work], rounds: int, device: torch.device) -> dict[str, list[float]]:
    """Wall seconds of each side in each round; one round more comes first and is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, work in sides.items():
            elapsed = seconds_of(work, device)
            if number > 0:
                seconds[name].append(elapsed)
    return seconds


def fastest(work: Callable[[int], Any], sizes: Sequence[int], device: torch.device) -> int:
    """The size at which a call does most for each second.

    Larger sizes are not tried once it has clearly become slower.
    """
    speeds: dict[int, float] = {}
    for size in sizes:
        work(size)  # untimed: it allocates
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
    """Report each side's tokens a second, and ours over each peer's; ours is the first side.

    Args:
        call: whose report it is.
        part: name of the part.
        seconds: wall seconds of each side's calls.
        tokens: number of tokens of a call of each side.
        of_ours: columns of our side alone, such as operations.
    """
    speed_of_ours = None
    for side, values in seconds.items():
        median = statistics.median(values)
        speed = tokens[side] / median
        if speed_of_ours is None:
            speed_of_ours = speed
            columns = of_ours
        else:
            columns = {"ours_over_it": speed_of_ours / speed}
        call.report.add(f"{part}: {side}", median, tokens_a_second=speed, **columns)


# --- training -------------------------------------------------------------------------------------


def small_training(call: Call, size: Sizes) -> None:
    """Updates of Table 1's transformer: ours, a plain loop over the same texts, Lightning's."""
    for batch in SMALL_BATCHES:
        texts = random_rows(
            count=batch * size.updates,
            mean=size.text_tokens,
            symbols=SYMBOLS,
            name=f"batch {batch}",
        )
        recipe = Recipe(batch, updates=size.updates, rate=RATE, warmup=WARMUP)
        network = small_network(size).to(call.device)
        same_network = small_network(size).to(call.device)
        training = Training(network, Rows(texts, call.device), recipe, seed=1, record=call.record)
        sides: dict[str, Work] = {
            "ours": partial(training.advance, size.updates),
            "plain loop": partial(plain_updates, same_network, texts, batch),
        }
        seconds = turns(sides, size.rounds, call.device)
        seconds["Lightning"] = lightning_seconds(call, size, texts, batch)
        tokens = total_tokens(texts)
        add_sides(
            call,
            f"training 18.94 M, batch {batch}",
            seconds,
            dict.fromkeys(seconds, tokens),
            operations=LEARN_OPERATIONS * weights(network) * tokens,
            moved=size.updates * UPDATE_BYTES * weights(network),
        )


def plain_updates(network: Any, texts: Sequence[list[int]], batch: int) -> None:
    """Train as a user of transformers would: pad a batch, call the network with labels, AdamW."""
    device = network.device
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE)
    network.train()
    for start in range(0, len(texts), batch):
        inputs = collate(texts[start : start + batch])
        for key, value in inputs.items():
            inputs[key] = value.to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = network(**inputs, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def lightning_seconds(
    call: Call, size: Sizes, texts: Sequence[list[int]], batch: int
) -> list[float]:
    """Seconds of one pass over the texts through ``fit_learner``, as a list of one.

    They are those of a run of three passes less a run of one, halved, which leaves out set-up.
    """
    items = {"train": texts, "validation": texts[:batch]}
    schedule = {
        "learning_rate": RATE,
        "batch": batch,
        "validations": 1,
        "precision": "bf16-mixed" if call.device.type == "cuda" else "32-true",
    }

    def seconds(passes: int, name: str) -> float:
        scratch = call.state / "lightning" / f"{batch}-{name}-{time.time_ns()}"
        run = partial(
            fit_learner,
            CausalLanguageModel,
            small_network(size),
            items,
            collate,
            {**schedule, "epochs": passes},
            seed=1,
            name=name,
            scratch=scratch,
        )
        return seconds_of(run, call.device)

    seconds(1, "first")  # what a process does once
    difference = seconds(3, "long") - seconds(1, "short")
    return [max(1e-9, difference) / 2]


def large_training(call: Call, size: Sizes) -> None:
    """Updates of SmolLM2's shape on whole contexts.

    They take so long that launching their kernels one by one costs nothing.
    """
    count, symbols = size.large_batch * size.large_updates, size.large["vocab_size"]
    texts = random_rows(count, mean=size.context, symbols=symbols, name="large", spread=0)
    network = large_network(size).to(call.device)
    recipe = Recipe(size.large_batch, updates=size.large_updates, rate=RATE, warmup=WARMUP)
    training = Training(network, Rows(texts, call.device), recipe, seed=1, logits_of=network_logits)
    sides = {"ours": partial(training.advance, size.large_updates)}
    seconds = turns(sides, size.rounds, call.device)
    tokens = total_tokens(texts)
    operations = LEARN_OPERATIONS * weights(network) * tokens
    add_sides(
        call,
        "training 135 M",
        seconds,
        {"ours": tokens},
        operations=operations,
        context=size.context,
    )


# --- sampling -------------------------------------------------------------------------------------


def small_sampling(call: Call, size: Sizes) -> None:
    """Texts of Table 1's transformer: our exact sampler against ``generate``, in float32."""
    network = small_network(size).to(call.device).eval()
    (text,) = random_rows(1, mean=size.sample_tokens, symbols=SYMBOLS, name="calibration", spread=0)
    window = size.small["n_positions"]
    referee = calibrated(network, text, window)
    settings = Sampling(
        size.sample_tokens, None, window
    )  # texts fit the window, which never slides
    new_tokens = size.sample_tokens - 1
    rule = {"do_sample": True, "top_k": 0, "top_p": 1.0, "pad_token_id": 0}
    exactly = {"max_new_tokens": new_tokens, "min_new_tokens": new_tokens}

    def ours(batch: int) -> None:
        drafts = [Draft(index, 0, 1000 + index, [0]) for index in range(batch)]
        sample(referee, drafts, settings, NEVER)

    def generate(batch: int) -> None:
        start = torch.zeros(batch, 1, dtype=torch.int64, device=call.device)
        network.generate(start, attention_mask=torch.ones_like(start), **exactly, **rule)

    # Each side at the batch at which it is fastest.
    sides = {}
    tokens = {}
    for name, work in (("ours", ours), ("generate", generate)):
        batch = fastest(work, size.text_batches, call.device)
        side = f"{name}, {batch} texts"
        sides[side] = partial(work, batch)
        tokens[side] = new_tokens * batch
    # In turns.
    seconds = turns(sides, size.rounds, call.device)
    tokens_of_ours = next(iter(tokens.values()))
    add_sides(
        call,
        "sampling 18.94 M",
        seconds,
        tokens,
        operations=2.0 * weights(network) * tokens_of_ours,
        moved=4.0 * weights(network) * new_tokens,
    )


def sampling_beyond_the_window(call: Call, size: Sizes) -> None:
    """Long documents: our chunks against the loop that reads the last window for every token."""
    network = long_document_network(*size.long_shape).to(call.device)
    window = network.config.n_positions
    rng = torch.Generator().manual_seed(1)
    ids = torch.randint(1, network.config.vocab_size, (window,), generator=rng).tolist()
    referee = calibrated(network, ids, window)
    peer = Peer(network)
    peer.fill_window()
    batch = size.text_batches[0]
    new_tokens = 4 * size.slide_tokens

    # In turns; what fills the window is not timed, and the first round does not count.
    seconds_of_ours, seconds_of_peer = [], []
    for _ in range(size.rounds + 1):
        documents = Ours(referee, OVERLAP, batch)
        documents.write(window)
        extend = partial(documents.write, window + new_tokens)
        seconds_of_ours.append(seconds_of(extend, call.device))
        slide = partial(peer.slide, size.slide_tokens)
        seconds_of_peer.append(seconds_of(slide, call.device))
    seconds = {"ours": seconds_of_ours[1:], "slides token by token": seconds_of_peer[1:]}
    tokens = {
        "ours": float(batch * new_tokens),
        "slides token by token": float(size.slide_tokens),
    }
    add_sides(call, f"sampling beyond the window, {batch} documents", seconds, tokens)


# --- the hidden semi-Markov model -----------------------------------------------------------------


def em_iteration(call: Call, size: Sizes) -> None:
    """Expectation and maximisation of 800 states over texts like the synthetic language's."""
    texts = []
    for row in random_rows(size.texts, mean=size.text_tokens, symbols=SYMBOLS, name="em"):
        texts.append(list(map(str, row)))
    ngrams = build_ngrams(texts, max_duration=SEGMENTS)
    model = em.initial_model(ngrams, num_states=size.states, seed=1)
    encoded = [ngrams.encode(text) for text in texts]
    compute = em.Compute(str(call.device))
    results = []

    def expect() -> None:
        results.append(em.expectation(model, encoded, compute))

    # The first expectation also compiles and allocates.
    seconds_of_first = seconds_of(expect, call.device)
    seconds_of_expectation = seconds_of(expect, call.device)
    maximise = partial(em.maximise, model, results[-1], frozen=False)
    seconds_of_maximisation = seconds_of(maximise, call.device)
    seconds = seconds_of_expectation + seconds_of_maximisation
    seconds_for_corpus = CORPUS_TEXTS / size.texts * seconds_of_expectation
    tokens = total_tokens(texts)
    call.report.add(
        f"one EM iteration, {size.states} states, {size.texts:,} texts",
        seconds,
        operations=6 * size.states**2 * tokens,
        moved=LATTICE_BYTES * size.states / STATES * tokens,
        tokens_a_second=tokens / seconds,
        first_expectation_seconds=seconds_of_first,
        maximisation_seconds=seconds_of_maximisation,
        seconds_for_51200_texts=seconds_for_corpus + seconds_of_maximisation,
    )


def gradients(call: Call, size: Sizes) -> None:
    """log P(x) with all gradients: our scan against torch-struct's as the authors patched it."""
    from benchmarks.semi_markov import TOKENS, Case, agreement, lean, ours

    sequences = max(size.sequences, *size.peer_sequences)
    case = Case.random(size.states, sequences).to(call.device)
    gap = agreement(ours(case, 1), lean(case, 1))
    batch = fastest(partial(lean, case), size.peer_sequences, call.device)
    our_side = f"ours, {size.sequences} sequences"
    peer_side = f"torch-struct's lean scan, {batch} sequences"
    sides = {our_side: partial(ours, case, size.sequences), peer_side: partial(lean, case, batch)}
    tokens = {our_side: float(TOKENS * size.sequences), peer_side: float(TOKENS * batch)}
    seconds = turns(sides, size.rounds, call.device)
    name = f"HSMM gradients, {size.states} states"
    operations = 6.0 * size.states**2 * TOKENS * size.sequences
    add_sides(call, name, seconds, tokens, operations=operations, gap=gap)


# --- surprisal ------------------------------------------------------------------------------------


def surprisal(call: Call, size: Sizes) -> None:
    """Token surprisals of pairs of sentences: our reader against minicons, in float32."""
    from minicons.scorer import IncrementalLMScorer

    from benchmarks.surprisal import (
        decisions,
        engine_scores,
        largest_difference,
        make_pairs,
        make_tokenizer,
        minicons_scores,
        words,
    )

    # Pairs of sentences, and a tokenizer that knows their words.
    vocabulary = words(size.words)
    texts: list[str] = []
    for pair in make_pairs(size.pairs, context=0, vocabulary=vocabulary):
        texts += pair
    tokenizer = make_tokenizer([*texts, *vocabulary], min(size.words, size.large["vocab_size"]))
    network = large_network(size).to(call.device).eval()
    scorer = IncrementalLMScorer(network, str(call.device), tokenizer=tokenizer)

    # The batch at which minicons is fastest, on a few texts.
    sample_texts = texts[: max(size.pair_batches)]
    seconds_of_batch = {}
    for batch in size.pair_batches:
        score = partial(minicons_scores, scorer, sample_texts, batch)
        seconds_of_batch[batch] = seconds_of(score, call.device)
    batch = min(seconds_of_batch, key=lambda batch: seconds_of_batch[batch])

    # Both sides in turns; they should say the same.
    scores = {}

    def ours() -> None:
        scores["ours"] = engine_scores(
            network, tokenizer, texts, share=True, budget=size.token_budget
        )

    def minicons() -> None:
        scores["minicons"] = minicons_scores(scorer, texts, batch)

    sides = {"ours": ours, f"minicons, batch {batch}": minicons}
    seconds = turns(sides, size.rounds, call.device)
    tokens = total_tokens(scores["minicons"])
    equal = decisions(scores["ours"]) == decisions(scores["minicons"])
    add_sides(
        call,
        "surprisal",
        seconds,
        dict.fromkeys(seconds, tokens),
        operations=READ_OPERATIONS * weights(network) * tokens,
        equal_decisions=int(equal.sum()),
        pairs=size.pairs,
        largest_difference_bits=largest_difference(scores["ours"], scores["minicons"]),
    )


# What measures each part and adds it to the call's report.
PARTS: Mapping[str, Callable[[Call, Sizes], None]] = {
    "training_18m": small_training,
    "sampling_18m": small_sampling,
    "gradients": gradients,
    "em_iteration": em_iteration,
    "surprisal": surprisal,
    "training_135m": large_training,
    "sampling_long": sampling_beyond_the_window,
}


def run(call: Call) -> None:
    """Measure every part that no earlier call measured, as far as the call's time goes."""
    for name in PARTS:
        path = call.state / f"{name}.json"
        left = call.left()
        if path.is_file():
            call.report.rows += read_json(path)
            call.report.write()
        elif call.tiny or left >= RESERVE * TOOK[name]:
            measure_part(call, name, path)
        else:
            message = f"{name}: {left:.0f} s are left; call again on the same machine for it"
            print(message, flush=True)


def measure_part(call: Call, name: str, path: Path) -> None:
    """Measure a part, and save its rows of the report for later calls."""
    before = len(call.report.rows)
    started = time.perf_counter()
    PARTS[name](call, TINY if call.tiny else CARD)
    print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    write_json(path, rounded(call.report.rows[before:]))
    if call.device.type == "cuda":
        torch.cuda.empty_cache()


JOB = Job(inputs=(), outputs=(REPORT,), plan=plan, run=run)
