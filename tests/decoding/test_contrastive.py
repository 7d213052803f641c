"""Contrastive search and the later samplers against their definitions, step by step."""

import math

import pytest
import torch
from toy_language import PROMPT, next_log_probs, toy

from longform.decoding.beam_search import Beam, Contrastive, beam_search, contrastive_search
from longform.decoding.sampling import Sampled


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
    assert contrastive_search(network, [PROMPT], Contrastive(4, 0.0), 9)[0] == greedy
    assert contrastive_search(network, [PROMPT], Contrastive(1, 0.6), 9)[0] == greedy
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
