"""Decoders against enumeration, plain loops and transformers on a language of five tokens, and their distributions and identities."""

import math
from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
import transformers
from toy_language import DEPTH, PROMPT, TOKENS, ends_at, next_log_probs, rngs, step_log_probs, toy

from longform.decoding import sampling
from longform.decoding.beam_search import (
    Beam,
    Contrastive,
    Delayed,
    beam_search,
    contrastive_search,
    delayed,
)
from longform.decoding.decoders import DECODERS
from longform.decoding.sampling import (
    PAD,
    Sampled,
    SentenceEnds,
    block_repeats,
    draws,
    growing_cache,
    nucleus,
    sample,
)
from longform.decoding.strategies import decode, is_random, settings_of
from longform.statistics.random_streams import generator
from tests.oracles import delayed_rounds
from tests.refusals import refuses

ALL = TOKENS ** (DEPTH - 1)  # with so many beams nothing is ever pruned


def best(network, settings, prompt=PROMPT, limit=DEPTH, **over):
    return beam_search(network, [prompt], settings, [limit], **over)[0]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_beam_agrees_with_transformers(size):
    for seed in range(2):
        network, mask = toy(seed), torch.ones(1, len(PROMPT))
        given = {
            "num_beams": size,
            "do_sample": False,
            "pad_token_id": 0,
            "max_new_tokens": 9,
            "output_scores": True,
        }
        given |= {"attention_mask": mask, "return_dict_in_generate": True}
        theirs = network.generate(torch.tensor([PROMPT]), **given)
        found = best(network, Beam(size), limit=9)
        assert list(found.tokens) == theirs.sequences[0, len(PROMPT) :].tolist()
        assert size == 1 or found.score == pytest.approx(
            float(theirs.sequences_scores[0]), rel=1e-5
        )


@pytest.mark.parametrize("penalty", [0.0, 0.3, 2.0])
def test_a_beam_that_prunes_nothing_ends_with_the_best_text_of_all(penalty):
    for seed in range(2):
        network = toy(seed)
        texts, log_probs = step_log_probs(network)
        with torch.no_grad():
            rows = torch.cat([torch.tensor([PROMPT]).expand(len(texts), -1), texts], dim=1)
            every = network(rows).logits.log_softmax(-1)[:, len(PROMPT) - 1 : -1]
        ranks = 1 + (every > log_probs[..., None]).sum(-1)
        scores = log_probs.sum(1) - penalty * ranks[:, 1:].sum(1)
        found = best(network, Beam(ALL, sibling_penalty=penalty))
        assert list(found.tokens) == texts[scores.argmax()].tolist()
        assert found.score * DEPTH == pytest.approx(float(scores.max()))


def test_diverse_groups_pay_for_earlier_choices_and_are_beams_unpenalised():
    # In the last two a group that paid finds the best text.
    for seed, size, penalty in ((0, 2, 0.7), (1, 2, 0.7), (7, 1, 0.1), (22, 1, 0.1)):
        settings = (
            Beam(3),
            Beam(6, groups=2),
            Beam(3, sibling_penalty=1e-300),
        )  # two groups are the same beam of three
        assert len({best(toy(seed), one, limit=8).tokens for one in settings}) == 1
        network, groups = toy(seed), 3
        beams = [[(0.0, [])] for _ in range(groups)]
        for _ in range(6):
            counts = [0] * TOKENS
            for group in range(groups):
                children = []
                for score, made in beams[group]:
                    log_probs = next_log_probs(network, [*PROMPT, *made])
                    children += [
                        (score + log_probs[t] - penalty * counts[t], [*made, t])
                        for t in range(TOKENS)
                    ]
                children.sort(key=lambda child: -child[0])
                beams[group] = children[:size]
                for _, made in children[:size]:
                    counts[made[-1]] += 1
        score, tokens = max((child for beam in beams for child in beam), key=lambda child: child[0])
        settings = Beam(size * groups, groups=groups, group_penalty=penalty)
        found = best(network, settings, limit=6)
        assert list(found.tokens) == tokens and found.score * 6 == pytest.approx(score)


def test_blocking_forbids_exactly_the_repeats_and_may_stop_a_text():
    rng = generator("blocking")
    for n in (1, 2, 3, 4):
        ids = torch.tensor(rng.integers(0, 3, (20, 9)))
        scores = block_repeats(n, PAD, ids, torch.zeros(20, 3))
        for row, line in enumerate(ids.tolist()):
            grams = {tuple(line[i : i + n]) for i in range(len(line) - n + 1)}
            for token in range(3):
                assert bool(torch.isinf(scores[row, token])) == (
                    tuple([*line, token][-n:]) in grams
                )
    one_pair = block_repeats(2, PAD, torch.tensor([[1, 1]]), torch.zeros(1, 3))
    assert one_pair.tolist() == [[0, -math.inf, 0]]  # a row of one n-gram may not repeat it
    found = best(toy(0), Beam(2, blocking=1), limit=9)
    assert len(found.tokens) == TOKENS - len(set(PROMPT)) and {*PROMPT, *found.tokens} == set(
        range(TOKENS)
    )
    assert 2 not in best(toy(0), Beam(3), limit=10, banned=[2]).tokens


def test_the_best_normalised_sentence_wins_and_an_endless_one_stops():
    for seed in range(2):
        network, ends = toy(seed), ends_at(2)
        texts, log_probs = step_log_probs(network)
        scores = {}
        for text, row in zip(texts.tolist(), log_probs.tolist(), strict=True):
            if 2 in text:
                length = text.index(2) + 1
                scores[tuple(text[:length])] = sum(row[:length]) / length
        wide = Beam(4 * ALL)  # more than there are sentences, so the search never stops early
        found = best(network, wide, ends=ends)
        assert found.ended and found.tokens == max(scores, key=scores.get)
        assert found.score == pytest.approx(max(scores.values()))
    found = best(toy(0), Beam(3), limit=12, ends=ends_at())
    assert len(found.tokens) == 12 and not found.ended


def test_a_beam_goes_on_behind_the_point_of_an_abbreviation():
    """Token 2 is a full stop, which ends nothing behind token 1."""
    network, depth = toy(1, tokens=3), 4
    ends = SentenceEnds(*(ends_at(*tokens, size=3).table for tokens in ((), (2,), (1,))))
    for last in range(3):
        texts, log_probs = step_log_probs(network, [0, last], depth)
        scores = {}
        for text, row in zip(texts.tolist(), log_probs.tolist(), strict=True):
            pairs = list(pairwise([last, *text]))
            lengths = [n for n, pair in enumerate(pairs, 1) if pair in ((0, 2), (2, 2))]
            if lengths:
                scores[tuple(text[: lengths[0]])] = sum(row[: lengths[0]]) / lengths[0]
        (found,) = beam_search(network, [[0, last]], Beam(4 * 3**depth), [depth], ends=ends)
        assert found.tokens == max(scores, key=scores.get)
        assert found.score == pytest.approx(max(scores.values()))


BEAMS = [
    Beam(1),
    Beam(4),
    Beam(4, groups=2, group_penalty=0.5),
    Beam(4, sibling_penalty=0.4),
    Beam(4, blocking=3),
]


@pytest.mark.parametrize("settings", BEAMS)
@pytest.mark.parametrize("ends", [None, ends_at(2, size=9)])
def test_sixteen_beams_at_once_are_sixteen_alone(settings, ends):
    network, rng = toy(3, tokens=9), generator("batch")
    rows = [(rng.integers(0, 9, rng.integers(1, 8)).tolist(), 6 + row % 5) for row in range(16)]
    together = beam_search(
        network, [p for p, _ in rows], settings, [limit for _, limit in rows], ends=ends
    )
    together = together[::4]
    alone = [best(network, settings, prompt, limit, ends=ends) for prompt, limit in rows[::4]]
    assert [found.tokens for found in together] == [found.tokens for found in alone]
    assert [found.score for found in together] == pytest.approx([found.score for found in alone])


@torch.no_grad()
def by_hand(network, prompt, k, alpha, steps):
    ids = list(prompt)
    for _ in range(steps):
        log_probs = next_log_probs(network, ids)
        best = sorted(range(len(log_probs)), key=lambda token: -log_probs[token])[:k]
        values = []
        for token in best:
            states = network(
                torch.tensor([[*ids, token]]), output_hidden_states=True
            ).hidden_states[-1][0]
            likeness = torch.nn.functional.cosine_similarity(states[:-1], states[-1:], dim=1).max()
            values.append((1 - alpha) * math.exp(log_probs[token]) - alpha * float(likeness))
        ids.append(best[values.index(max(values))])
    return ids[len(prompt) :]


@pytest.mark.parametrize(("k", "alpha"), [(2, 0.6), (4, 0.3), (3, 1.0)])
def test_each_token_is_probable_and_unlike_all_before(k, alpha):
    for seed in range(2):
        network = toy(seed, tokens=7)
        prompts = [PROMPT, [4, 1, 1, 6]]
        made = contrastive_search(network, prompts, Contrastive(k, alpha), 9)
        assert made == [by_hand(network, prompt, k, alpha, 9) for prompt in prompts]


def test_without_penalty_it_is_greedy_and_blocking_may_stop_the_text():
    network = toy(4)
    greedy = list(beam_search(network, [PROMPT], Beam(1), [9])[0].tokens)
    for settings in (Contrastive(4, 0.0), Contrastive(1, 0.6)):
        assert contrastive_search(network, [PROMPT], settings, 9)[0] == greedy
    made = contrastive_search(toy(1), [PROMPT, [0]], Contrastive(3, 0.5, blocking=1), 9)
    assert [len(row) for row in made] == [2, 4] and all(len(set(row)) == len(row) for row in made)


def kept(settings, probabilities):
    scores = torch.tensor([probabilities], dtype=torch.float64).log()
    for rule in settings.rules([]):
        scores = rule(torch.zeros(1, 1, dtype=torch.long), scores)
    return torch.isfinite(scores)[0].tolist()


def test_min_p_cuts_by_the_best_and_typical_by_the_entropy():
    assert kept(Sampled(min_p=0.4), [0.5, 0.25, 0.15, 0.1]) == [True, True, False, False]
    assert kept(Sampled(min_p=0.25), [0.5, 0.25, 0.15, 0.1]) == [True, True, True, False]
    probabilities = [0.5, 0.2, 0.2, 0.1]
    entropy = -sum(p * math.log(p) for p in probabilities)
    order = sorted(range(4), key=lambda i: abs(-math.log(probabilities[i]) - entropy))
    mass, wanted = 0.0, [False] * 4
    for token in order:  # until the mass is reached, the token that crosses it kept
        wanted[token] = True
        mass += probabilities[token]
        if mass >= 0.45:
            break
    assert kept(Sampled(typical=0.45), probabilities) == wanted


AT_TWO = ends_at(2)


def kept_by(settings, probabilities):
    """Renormalised probabilities after truncation, by sorting."""
    order = sorted(range(len(probabilities)), key=lambda token: -probabilities[token])
    kept, mass = [], 0.0
    for token in order[: settings.top_k or None]:
        kept.append(token)
        mass += probabilities[token]
        if mass >= settings.top_p:
            break
    return {token: probabilities[token] / mass for token in kept}


@pytest.mark.parametrize(
    "settings", [Sampled(), Sampled(top_k=2), Sampled(top_p=0.6), Sampled(top_p=0.2)]
)
def test_samples_follow_the_truncated_distribution_of_all_texts(settings):
    """Five tokens deep: the probability of every text is the product of its renormalised steps."""
    network, drawn = toy(5), 1000
    wanted = {(): 1.0}
    for _ in range(DEPTH):
        deeper = {}
        for text, mass in wanted.items():
            probabilities = np.exp(next_log_probs(network, [*PROMPT, *text]))
            deeper |= {
                (*text, token): mass * p for token, p in kept_by(settings, probabilities).items()
            }
        wanted = deeper
    assert sum(wanted.values()) == pytest.approx(1)
    made = sample(network, [PROMPT] * drawn, settings, [DEPTH] * drawn, rngs(drawn, "distribution"))
    counts = Counter(tuple(tokens) for tokens, _ in made)
    assert set(counts) <= set(wanted)
    for text, mass in wanted.items():
        assert abs(counts[text] / drawn - mass) < 5 * np.sqrt(mass * (1 - mass) / drawn) + 3 / drawn


def test_draws_invert_the_cumulative_distribution_past_blocked_rows():
    scores = 3 * torch.randn(
        200, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    scores[torch.rand(200, 40, generator=torch.Generator().manual_seed(2)) < 0.5] = -torch.inf
    scores[7] = -torch.inf
    taken = [generator("inversion", row) for row in range(200)]
    drawn, uniform = (
        draws(scores, taken),
        [generator("inversion", row).random() for row in range(200)],
    )
    assert drawn[7] == -1 and taken[7].random() == uniform[7]
    for row in np.delete(np.arange(200), 7):
        below, upto = (float(scores[row].softmax(-1)[: drawn[row] + end].sum()) for end in (0, 1))
        assert below - 1e-12 <= uniform[row] <= upto + 1e-12 and torch.isfinite(
            scores[row, drawn[row]]
        )


def drawable(rows=200, vocabulary=40, dtype=torch.float32):
    scores = 3 * torch.randn(
        rows, vocabulary, generator=torch.Generator().manual_seed(1), dtype=dtype
    )
    scores[
        torch.rand(rows, vocabulary, generator=torch.Generator().manual_seed(2)) < 0.5
    ] = -torch.inf
    scores[7] = -torch.inf
    return scores


def test_draws_on_a_device_are_the_processors_and_take_the_same_numbers():
    scores, streams = (
        drawable(),
        [[generator("on a device", row) for row in range(200)] for _ in range(2)],
    )
    here, there = draws(scores, streams[0], False), draws(scores, streams[1], True)
    assert there.tolist() == here.tolist() and here[7] == -1
    assert [stream.random() for stream in streams[0]] == [stream.random() for stream in streams[1]]


def test_a_draw_at_a_tokens_edge_is_the_processors_on_every_device(monkeypatch):
    scores = drawable()[8:]
    mass = np.exp(scores.double().numpy() - scores.double().numpy().max(1, keepdims=True)).cumsum(1)
    edges = np.random.default_rng(0).integers(0, 40, len(scores))
    shares = mass[np.arange(len(scores)), edges] / mass[:, -1]  # to the last bit or next to it
    shares = np.clip(shares, 0, 1 - 2**-53)
    wanted = sampling.inverted(scores, shares)
    whole = torch.Tensor.cumsum
    monkeypatch.setattr(
        torch.Tensor, "cumsum", lambda rows, dim: whole(rows, dim) * (1 + 3e-14)
    )  # another order of adding
    assert sampling.inverted_on_device(scores, shares).tolist() == wanted.tolist()
    monkeypatch.setattr(sampling, "ROUNDING", 0.0)
    assert sampling.inverted_on_device(scores, shares).tolist() != wanted.tolist()


@pytest.mark.parametrize("top_p", [0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("step", [0.0, 0.25])
def test_the_nucleus_is_that_of_transformers(top_p, step):
    scores = 3 * torch.randn(60, 300, generator=torch.Generator().manual_seed(3))
    scores = (scores / step).round() * step if step else scores  # ties, also at the nucleus's edge
    scores[:, 5] = -torch.inf
    ids = torch.zeros(60, 1, dtype=torch.int64)
    assert torch.equal(
        nucleus(top_p, ids, scores), transformers.TopPLogitsWarper(top_p)(ids, scores)
    )


@pytest.mark.long  # the loops of both are compared with what reading anew writes below
def test_delayed_search_is_beam_at_no_delay_and_sampling_at_a_long_one():
    for seed in range(2):
        network, made = toy(seed), []
        while len(made) < 20:
            made += beam_search(
                network, [[*PROMPT, *made]], Beam(3), [20 - len(made)], ends=AT_TWO
            )[0].tokens
        assert (
            delayed(network, [PROMPT], Delayed(Sampled(2), Beam(3), 0), 20, rngs(), AT_TWO)[0]
            == made
        )
        assert len(made) == 20
    network = toy(2)
    wanted = sample(network, [PROMPT], Sampled(top_k=3), [20], rngs())[0][0]
    assert (
        delayed(network, [PROMPT], Delayed(Sampled(3), Beam(3), 256), 20, rngs(), AT_TWO)[0]
        == wanted
    )
    for seed in range(2):
        network, made, rng = toy(seed), [], generator("rows", 0)
        while len(made) < 18:
            scores = np.array(next_log_probs(network, [*PROMPT, *made]))
            scores[np.argsort(-scores)[3:]] = -np.inf
            made.append(int(draws(torch.from_numpy(scores[None]), [rng])[0]))
            if made[-1] != 2 and len(made) < 18:
                made += beam_search(
                    network, [[*PROMPT, *made]], Beam(2), [18 - len(made)], ends=AT_TWO
                )[0].tokens
        assert (
            delayed(network, [PROMPT], Delayed(Sampled(3), Beam(2), 1), 18, rngs(), AT_TWO)[0]
            == made
        )


@pytest.mark.parametrize(
    ("blocking", "delay"),
    [
        (0, 0),
        (2, 3),
        pytest.param(0, 3, marks=pytest.mark.long),
        pytest.param(2, 0, marks=pytest.mark.long),
        pytest.param(0, 1, marks=pytest.mark.long),
        pytest.param(2, 1, marks=pytest.mark.long),
    ],
)
def test_delayed_search_from_what_it_keeps_writes_what_reading_anew_writes(delay, blocking):
    settings = Delayed(Sampled(4, blocking=blocking), Beam(3, blocking=blocking), delay)
    prompts = [[1, 2, 3], [3], [2, 2, 1, 1, 3, 1, 2], [1, 3]]
    for seed in range(2):
        given = (toy(seed), prompts, settings, 16)
        streams = [
            [generator("delayed", seed, row) for row in range(len(prompts))] for _ in range(2)
        ]
        made = delayed(*given, streams[0], AT_TWO, [0])
        assert made == delayed_rounds.delayed(*given, streams[1], AT_TWO, [0])
        assert blocking or {len(row) for row in made} == {16}


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neo", "llama", "mistral"])
@torch.no_grad()
def test_a_stream_that_grows_unevenly_has_the_logits_of_its_rows_read_anew(kind):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, vocab_size=40, **(SHAPES | SLIDING)[kind])
    network = transformers.AutoModelForCausalLM.from_config(config).eval()
    rng = generator("uneven", kind)
    rows = [rng.integers(0, 40, size).tolist() for size in (3, 1, 6)]
    stream = sampling.TokenStream(network, rows)
    for sizes in ((2, 0, 1), (0, 5, 0), (1, 1, 1), (9, 0, 3)):
        added = [rng.integers(0, 40, size).tolist() for size in sizes]
        rows = [[*row, *more] for row, more in zip(rows, added, strict=True)]
        stream.extend(added)
        close_to(stream.logits, sampling.TokenStream(network, rows).logits)
    branch = stream.branched([2, 0])
    branch.append(torch.tensor([7, 8]))
    close_to(branch.logits, sampling.TokenStream(network, [[*rows[2], 7], [*rows[0], 8]]).logits)
    close_to(
        stream.logits, sampling.TokenStream(network, rows).logits
    )  # a branch leaves its stream alone


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neo", "mistral"])
@torch.no_grad()
def test_beams_that_change_places_have_the_logits_of_their_texts(kind, monkeypatch):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, vocab_size=40, **(SHAPES | SLIDING)[kind])
    network = transformers.AutoModelForCausalLM.from_config(config).eval()
    for room in (sampling.SPARE_BYTES, 0):  # two rooms in turn, or one
        monkeypatch.setattr(sampling, "SPARE_BYTES", room)
        rng = generator("beams", kind)
        texts = [row for row in ([5, 6, 7], [8]) for _ in range(3)]
        stream = sampling.TokenStream(network, [[5, 6, 7], [8]])
        stream.repeat(3)
        since = 3
        for step in range(45):
            rows = torch.tensor([*rng.integers(0, 3, 3), *(3 + rng.integers(0, 3, 3))])
            if (
                step == 20
            ):  # a choice that copies all comes between, after which the prompts have changed places
                rows = rows.roll(3)
                stream.take(rows)
            else:
                if step == 30:  # one beam of each prompt goes on, so that they share more
                    rows = torch.tensor([0, 0, 0, 3, 3, 3])
                stream.reorder(rows, since)
                since = stream.ids.shape[1] if step == 30 else since
            tokens = torch.tensor(rng.integers(0, 40, 6))
            stream.append(tokens)
            texts = [
                [*texts[row], token]
                for row, token in zip(rows.tolist(), tokens.tolist(), strict=True)
            ]
        close_to(stream.logits, sampling.TokenStream(network, texts).logits)


def close_to(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


# Each other decoder runs one of these loops.
LOOPS = ("beam", "contrastive", "delayed_beam", "group_beam", "sibling_beam", "top_p")
ONE_BY_ONE = []
for decoder in sorted(DECODERS.keys() - {"human"}):
    marks = [] if decoder in LOOPS else [pytest.mark.long]
    ONE_BY_ONE.append(pytest.param(decoder, marks=marks))


@pytest.mark.parametrize("kind", ONE_BY_ONE)
def test_sixteen_at_once_are_sixteen_alone(kind):
    network, rng = toy(4, tokens=9), generator("batch")
    ends, settings = ends_at(2, size=9), settings_of({"kind": kind, "blocking": 4})
    prompts = [rng.integers(0, 8, rng.integers(1, 9)).tolist() for _ in range(16)]
    together = decode(network, prompts, settings, 12, rngs(16), 8, ends=ends)
    alone = list(zip(prompts, rngs(16), strict=True))[::4]
    assert together[::4] == [
        decode(network, [prompt], settings, 12, [rng], 8, ends)[0] for prompt, rng in alone
    ]


@pytest.mark.parametrize("kind", ["greedy", "top_k", "beam", "sibling_beam"])
def test_what_generate_writes_is_what_our_own_loops_write(kind):
    network = toy(3, tokens=9)
    settings, end = settings_of({"kind": kind, "blocking": 3}), 8
    prompts = [PROMPT, [4, 1], [0, 0, 5, 5, 2]]
    made = decode(network, prompts, settings, 14, rngs(3), end)
    if kind == "top_k":
        wanted = [ids for ids, _ in sample(network, prompts, settings, [14] * 3, rngs(3), [end])]
    else:
        wanted = [
            list(best.tokens) for best in beam_search(network, prompts, settings, [14] * 3, [end])
        ]
    assert made == wanted


def test_a_models_own_settings_are_ignored_and_rules_work_in_generate():
    network = toy(1)
    wanted = decode(network, [PROMPT], settings_of({"kind": "greedy"}), 12, rngs(), 4)
    network.generation_config.repetition_penalty = 50.0
    assert decode(network, [PROMPT], settings_of({"kind": "greedy"}), 12, rngs(), 4) == wanted
    network = toy(2)
    given = {
        "max_new_tokens": 12,
        "do_sample": False,
        "pad_token_id": 0,
        "attention_mask": torch.ones(1, 3),
    }
    rules = transformers.LogitsProcessorList([partial(block_repeats, 2, PAD)])
    made = network.generate(torch.tensor([PROMPT]), logits_processor=rules, **given)
    assert made[0, 3:].tolist() == list(
        beam_search(network, [PROMPT], Beam(1, blocking=2), [12])[0].tokens
    )
    ends = transformers.StoppingCriteriaList([AT_TWO])
    made = network.generate(torch.tensor([PROMPT]), stopping_criteria=ends, **given).tolist()
    assert 2 not in made[0][3:-1] and (made[0][-1] == 2 or len(made[0]) == 15)


class Pieces:
    """A tokenizer of a few pieces."""

    texts = ("Dr", ".", " town", '."', "\n", " 3.5", " J", "?!", ")", "...")

    def __len__(self):
        return len(self.texts)

    def decode(self, ids):
        return "".join(self.texts[i] for i in ids)


def test_sentences_end_at_closing_marks_but_not_after_abbreviations():
    ends = SentenceEnds.of_tokenizer(Pieces(), 12)
    rows = torch.arange(len(Pieces.texts))
    after = dict(zip(Pieces.texts, ends.closes(rows[:, None], rows).tolist(), strict=True))
    assert [i for i, end in enumerate(after[" town"]) if end] == [1, 3, 4, 7, 9]
    assert [i for i, end in enumerate(after["Dr"]) if end] == [3, 4, 7, 9] and after["Dr"] == after[
        " J"
    ]
    assert ends(torch.tensor([[0, 1], [2, 1]]), None).tolist() == [False, True]
    assert ends.guarded([0, 1, 2, 1, 6, 1]) == 2


def test_decoders_have_the_papers_settings_and_bad_input_is_named():
    random = [
        is_random(settings_of({"kind": kind})) for kind in ("greedy", "top_p", "delayed_beam")
    ]
    assert random == [False, True, True]
    assert settings_of({"kind": "delayed_beam"}) == Delayed(Sampled(100), Beam(6), 1)  # Table 3
    refuses("kind is 'diverse', allowed are", settings_of, {"kind": "diverse"})
    for kind, wrong in (("greedy", {"k": 3}), ("top_p", {"p": 0}), ("beam", {"beams": 0}), ("contrastive", {"k": 0}),
                        ("contrastive", {"alpha": 2}), ("min_p", {"p": 2}), ("typical", {"mass": 0})):  # fmt: skip
        refuses(kind.split("_")[0], settings_of, {"kind": kind, **wrong})
    refuses("window is 32", best, toy(0), Beam(2), prompt=[0] * 30, limit=5)
    refuses("no token", best, toy(0), Beam(2), prompt=[])
    refuses("multiple of groups", Beam, 15, groups=2)
    for penalty in (-1, math.nan, math.inf):
        refuses("finite penalties", Beam, 2, sibling_penalty=penalty)
        refuses("finite penalties", Beam, 2, group_penalty=penalty)
    refuses(
        "where sentences end",
        decode,
        toy(0),
        [PROMPT],
        settings_of({"kind": "delayed_beam"}),
        2,
        rngs(),
        4,
    )


SHAPES = {
    "gpt2": {"n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 128},
    "gpt_neo": {"num_layers": 2, "num_heads": 2, "hidden_size": 16, "max_position_embeddings": 128, "window_size": 8, "attention_types": [[["global", "local"], 1]]},
    "llama": {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 16, "intermediate_size": 32},
}  # fmt: skip
SLIDING = {"mistral": {**SHAPES["llama"], "sliding_window": 8}}


@torch.no_grad()
def logits(network, cache, ids):
    """A prompt, single tokens past the first room, rows repeated, chosen, and single tokens again."""
    made = [network(input_ids=ids[:, :5], past_key_values=cache, use_cache=True).logits]
    for place in range(5, 60):
        made.append(
            network(
                input_ids=ids[:, place : place + 1], past_key_values=cache, use_cache=True
            ).logits
        )
    cache.batch_repeat_interleave(2)
    rows = torch.tensor([3, 0, 5])
    cache.batch_select_indices(rows)
    ids = ids.repeat_interleave(2, 0)[rows]
    for place in range(60, 70):
        made.append(
            network(
                input_ids=ids[:, place : place + 1], past_key_values=cache, use_cache=True
            ).logits
        )
    return made


@pytest.mark.parametrize("kind", SHAPES)
def test_bits_of_the_growing_cache_are_those_of_the_cache_that_copies(kind):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, vocab_size=40, **SHAPES[kind])
    network, ids = (
        transformers.AutoModelForCausalLM.from_config(config).eval(),
        torch.randint(40, (3, 70)),
    )
    ours = growing_cache(network)
    assert any(isinstance(layer, sampling.GrowingLayer) for layer in ours.layers)
    theirs = logits(network, transformers.DynamicCache(config=config), ids)
    assert all(torch.equal(*pair) for pair in zip(logits(network, ours, ids), theirs, strict=True))
    cache, places = growing_cache(network), set()
    for _ in range(20):
        with torch.no_grad():
            network(input_ids=torch.tensor([[1]]), past_key_values=cache, use_cache=True)
        places.add(cache.layers[0].keys.data_ptr())
    assert len(places) == 1  # single tokens move nothing that has room


def test_scores_of_any_size_are_inverted_up_to_the_last_token_with_mass():
    scores = torch.tensor([[800.0, 800.0, -800.0]], dtype=torch.float64)
    for share, token in ((0.25, 0), (0.5, 1), (0.75, 1), (1.0, 1)):
        assert sampling.inverted(scores, np.array([share])).tolist() == [token]
