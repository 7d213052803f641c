"""Beams and contrastive search against exhaustive enumeration and plain loops on a language of five tokens, and their identities."""

import math

import pytest
import torch
from toy_language import DEPTH, PROMPT, TOKENS, ends_at, next_log_probs, step_log_probs, toy

from longform.core.resampling import generator
from longform.decoding.beam_search import Beam, Contrastive, beam_search, contrastive_search
from longform.decoding.sampling import PAD, Sampled, block_repeats
from tests.refusals import refuses

ALL = TOKENS ** (DEPTH - 1)  # with so many beams nothing is ever pruned


def best(network, settings, prompt=PROMPT, limit=DEPTH, **over):
    return beam_search(network, [prompt], settings, [limit], **over)[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_beam_that_prunes_nothing_finds_the_most_probable_text(seed):
    network = toy(seed)
    texts, log_probs = step_log_probs(network)
    found = best(network, Beam(ALL))
    assert list(found.tokens) == texts[log_probs.sum(1).argmax()].tolist()
    assert found.score * DEPTH == pytest.approx(float(log_probs.sum(1).max()))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_beam_agrees_with_transformers(size):
    for seed in range(4):
        network, mask = toy(seed), torch.ones(1, len(PROMPT))
        given = {"num_beams": size, "do_sample": False, "pad_token_id": 0, "output_scores": True}
        theirs = network.generate(
            torch.tensor([PROMPT]), attention_mask=mask, max_new_tokens=9, return_dict_in_generate=True, **given
        )
        found = best(network, Beam(size), limit=9)
        assert list(found.tokens) == theirs.sequences[0, len(PROMPT) :].tolist()
        assert size == 1 or found.score == pytest.approx(float(theirs.sequences_scores[0]), rel=1e-5)


def test_without_penalties_the_diverse_beams_are_the_plain_one():
    for seed in range(4):
        settings = Beam(3), Beam(6, groups=2), Beam(3, sibling_penalty=1e-300)  # two groups are the same beam of three
        assert len({best(toy(seed), one, limit=8).tokens for one in settings}) == 1


@pytest.mark.parametrize("penalty", [0.3, 2.0])
def test_the_sibling_beam_is_the_best_penalised_text_of_all(penalty):
    for seed in range(3):
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


def test_groups_pay_for_the_choices_of_earlier_groups():
    for seed in range(4):
        network, size, groups, penalty = toy(seed), 2, 3, 0.7
        beams = [[(0.0, [])] for _ in range(groups)]
        for _ in range(6):
            counts = [0] * TOKENS
            for group in range(groups):
                children = []
                for score, made in beams[group]:
                    log_probs = next_log_probs(network, [*PROMPT, *made])
                    children += [(score + log_probs[t] - penalty * counts[t], [*made, t]) for t in range(TOKENS)]
                children.sort(key=lambda child: -child[0])
                beams[group] = children[:size]
                for _, made in children[:size]:
                    counts[made[-1]] += 1
        score, tokens = max((child for beam in beams for child in beam), key=lambda child: child[0])
        settings = Beam(size * groups, groups=groups, group_penalty=penalty)
        found = best(network, settings, limit=6)
        assert list(found.tokens) == tokens and found.score * 6 == pytest.approx(score)


def test_blocking_forbids_exactly_the_repeats_and_where_it_leaves_no_token_the_text_stops():
    rng = generator("blocking")
    for n in (1, 2, 3, 4):
        ids = torch.tensor(rng.integers(0, 3, (20, 9)))
        scores = block_repeats(n, PAD, ids, torch.zeros(20, 3))
        for row, line in enumerate(ids.tolist()):
            grams = {tuple(line[i : i + n]) for i in range(len(line) - n + 1)}
            for token in range(3):
                assert bool(torch.isinf(scores[row, token])) == (tuple([*line, token][-n:]) in grams)
    found = best(toy(0), Beam(2, blocking=1), limit=9)
    assert len(found.tokens) == TOKENS - len(set(PROMPT)) and {*PROMPT, *found.tokens} == set(range(TOKENS))
    assert 2 not in best(toy(0), Beam(3), limit=10, banned=[2]).tokens


def test_to_a_sentences_end_the_best_normalised_sentence_is_found_and_an_endless_one_stops_at_the_limit():
    for seed in range(4):
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


@pytest.mark.parametrize(
    "settings",
    [Beam(1), Beam(4), Beam(4, groups=2, group_penalty=0.5), Beam(4, sibling_penalty=0.4), Beam(4, blocking=3)],
)
@pytest.mark.parametrize("ends", [None, ends_at(2, size=9)])
def test_sixteen_at_once_are_sixteen_alone(settings, ends):
    network, rng = toy(3, tokens=9), generator("batch")
    rows = [(rng.integers(0, 9, rng.integers(1, 8)).tolist(), 6 + row % 5) for row in range(16)]
    together = beam_search(network, [p for p, _ in rows], settings, [limit for _, limit in rows], ends=ends)
    alone = [best(network, settings, prompt, limit, ends=ends) for prompt, limit in rows]
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
            states = network(torch.tensor([[*ids, token]]), output_hidden_states=True).hidden_states[-1][0]
            likeness = torch.nn.functional.cosine_similarity(states[:-1], states[-1:], dim=1).max()
            values.append((1 - alpha) * math.exp(log_probs[token]) - alpha * float(likeness))
        ids.append(best[values.index(max(values))])
    return ids[len(prompt) :]


@pytest.mark.parametrize(("k", "alpha"), [(2, 0.6), (4, 0.3), (3, 1.0)])
def test_each_token_is_probable_and_unlike_all_before(k, alpha):
    for seed in range(3):
        network = toy(seed, tokens=7)
        prompts = [PROMPT, [4, 1, 1, 6]]
        made = contrastive_search(network, prompts, Contrastive(k, alpha), 9)
        assert made == [by_hand(network, prompt, k, alpha, 9) for prompt in prompts]


def test_without_penalty_it_is_greedy_and_where_blocking_leaves_no_token_the_text_stops():
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


def test_min_p_keeps_a_share_of_the_best_and_typical_what_is_nearest_to_the_entropy():
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


def test_bad_input_is_named():
    refuses("window is 32", best, toy(0), Beam(2), prompt=[0] * 30, limit=5)
    refuses("no token", best, toy(0), Beam(2), prompt=[])
    refuses("multiple of groups", Beam, 15, groups=2)
    refuses("below 0", Beam, 2, sibling_penalty=-1)
