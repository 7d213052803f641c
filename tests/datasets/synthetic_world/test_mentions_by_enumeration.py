"""Expected cost and length of short chains of mentions, summed over every sentence that there can be."""

import math

import pytest

from synthetic_world.mentions import OPENING, STOP, MentionProcess, relabel

PROCESSES = [
    MentionProcess(0.3),
    MentionProcess(0.0, opens_with_person=True),
    MentionProcess(0.5, (0.2, 0.9), 1.0, 2.0),
]


def sentences(process, window, left):
    """(probability, nats without the last stop, symbols without it) of every way through so many sentences."""
    if left == 0:
        yield 1.0, 0.0, 0
        return
    for symbol, probability in process.distribution(window).items():
        after = relabel((*window[1:], symbol))
        ends = symbol == STOP
        for share, nats, symbols in sentences(process, after, left - ends):
            last = ends and left == 1
            cost = 0.0 if last else -math.log(probability)
            yield probability * share, cost + nats, (not last) + symbols


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("length", [1, 2])
def test_expected_nats_and_symbols_are_sums_over_all_chains(process, length):
    paths = list(sentences(process, OPENING, length))
    assert sum(share for share, _, _ in paths) == pytest.approx(1.0)
    nats, symbols = process.latent_nll([length])
    assert nats == pytest.approx(sum(share * cost for share, cost, _ in paths))
    # the stop that opens a document is certain, and counted
    assert symbols == pytest.approx(1 + sum(share * count for share, _, count in paths))


def test_documents_add_up_and_quiet_ones_cost_nothing():
    process = PROCESSES[0]
    single = [process.latent_nll([length]) for length in (1, 3)]
    assert process.latent_nll([1, 3]) == pytest.approx(
        [sum(column) for column in zip(*single, strict=True)]
    )
    assert MentionProcess(1.0).latent_nll([4]) == (0.0, 4.0)
