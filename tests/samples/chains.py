"""Chains of section titles and mention tags, and the token metrics."""

import numpy as np

from longform.critics.coreference import score as mention_scores
from longform.critics.coreference.agreement import ChainAgreement, ReadClusters
from longform.critics.coreference.attribution import AttributionCritic
from longform.critics.perplexity.score import LogProbs, Perplexity
from longform.documents import Chain
from longform.statistics.markov_chain import BigramCritic, MarkovCritic
from longform.statistics.random_streams import generator

TITLES = ("abstract", "history", "geography", "people")


def chains(shuffled=False):
    made = []
    for i in range(12):
        order = generator("chain", i).permutation(4) if shuffled else range(2 + i % 3)
        made.append(Chain(f"d{i}", "test", tuple(TITLES[j] for j in order), valid=i != 7))
    return made


def markov():
    forward = np.array(
        [[0.05, 0.85, 0.05, 0.05], [0.05, 0.05, 0.85, 0.05], [0.05, 0.05, 0.05, 0.85], [0.25] * 4]
    )
    return MarkovCritic(TITLES, forward, begin=None), chains(), chains(shuffled=True)


def log_probs():
    rng = generator("log probs")
    real = [LogProbs(f"d{i}", "test", -rng.random(5 + i)) for i in range(10)]
    return Perplexity(), real, [LogProbs(u.unit_id, "test", u.values - 1) for u in real]


def mentions(shuffled=False):
    sentences = (".", "MALE:0", "he:0"), (".", "FEMALE:1", "she:1", "MALE:0"), (".", "her:1")
    made = []
    for i in range(12):
        symbols = [symbol for j in range(4) for symbol in sentences[(i + j) % 3]]
        order = (
            generator("mention", i).permutation(len(symbols)) if shuffled else range(len(symbols))
        )
        made.append(Chain(f"d{i}", "test", tuple(symbols[j] for j in order), valid=i != 7))
    return made


def pronoun_chains(name, count, wrong=0.0):
    """Sentences of a man and a woman; with probability ``wrong`` a pronoun has the other gender."""
    rng = generator("test", "tables", name)
    found = []
    for i in range(count):
        symbols = []
        for _ in range(int(rng.integers(3, 9))):
            person = int(rng.integers(0, 2))
            gender = person if rng.random() >= wrong else 1 - person
            symbols += [
                ".",
                f"{'MALE' if person else 'FEMALE'}:{person}",
                f"{('she', 'he')[gender]}:{person}",
            ]
        found.append(Chain(f"{name}{i}", "test", tuple(symbols)))
    return found


def chain_agreement():
    gold = tuple(frozenset(range(5 * j, 5 * j + 3 + j)) for j in range(3))
    split = tuple(frozenset([mention]) for cluster in gold for mention in cluster)
    real, worse = (
        [ReadClusters(f"d{i}", "test", read) for i in range(8)] for read in (gold, split)
    )
    return ChainAgreement({f"d{i}": gold if i != 4 else () for i in range(8)}), real, worse


SAMPLES = {
    "ReleasedCoreference": lambda: (
        mention_scores.ReleasedCoreference(),
        mentions(),
        mentions(shuffled=True),
    ),
    "Coreference": lambda: (mention_scores.Coreference(), mentions(), mentions(shuffled=True)),
    "RandomMentionCritic": lambda: (
        mention_scores.RandomMentionCritic(),
        mentions(),
        pronoun_chains("other", 12),
    ),
    "RandomKneserNeyCritic": lambda: (
        mention_scores.RandomKneserNeyCritic(),
        mentions(),
        pronoun_chains("other", 12),
    ),
    "AttributionCritic": lambda: (AttributionCritic(), mentions(), mentions(shuffled=True)),
    "ChainAgreement": chain_agreement,
    "BigramCritic": lambda: (BigramCritic(delta=1), chains(), chains(shuffled=True)),
    "MarkovCritic": markov,
    "Perplexity": log_probs,
}
