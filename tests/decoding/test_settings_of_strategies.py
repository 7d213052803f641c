"""Each decoder's settings become those of its strategy, and settings at and beyond their bounds are told apart."""

import pytest

from longform.decoding.beam_search import Beam, Contrastive, Delayed
from longform.decoding.decoders import DECODERS
from longform.decoding.sampling import Human, Sampled
from tests.refusals import refuses

GIVEN = {
    "human": ({}, Human()),
    "greedy": ({"blocking": 3}, Beam(1, blocking=3)),
    "top_k": ({"k": 7, "blocking": 3}, Sampled(top_k=7, blocking=3)),
    "top_p": ({"p": 0.7, "blocking": 3}, Sampled(top_p=0.7, blocking=3)),
    "beam": ({"beams": 7, "blocking": 3}, Beam(7, blocking=3)),
    "group_beam": (
        {"beams": 8, "groups": 4, "penalty": 0.7, "blocking": 3},
        Beam(8, groups=4, group_penalty=0.7, blocking=3),
    ),
    "sibling_beam": (
        {"beams": 7, "penalty": 0.7, "blocking": 3},
        Beam(7, sibling_penalty=0.7, blocking=3),
    ),
    "delayed_beam": (
        {"top_k": 7, "beams": 5, "delay": 2, "blocking": 3},
        Delayed(Sampled(top_k=7, blocking=3), Beam(5, blocking=3), 2),
    ),
    "min_p": ({"p": 0.7, "blocking": 3}, Sampled(min_p=0.7, blocking=3)),
    "typical": ({"mass": 0.7, "blocking": 3}, Sampled(typical=0.7, blocking=3)),
    "contrastive": ({"k": 7, "alpha": 0.7, "blocking": 3}, Contrastive(7, 0.7, 3)),
}
DEFAULTS = {  # massarelli2020 Table 3, and the later papers' own
    "greedy": Beam(1), "top_k": Sampled(top_k=2), "top_p": Sampled(top_p=0.4), "beam": Beam(15),
    "group_beam": Beam(6, 2, 0.2), "sibling_beam": Beam(15, sibling_penalty=0.1),
    "delayed_beam": Delayed(Sampled(top_k=100), Beam(6), 1), "min_p": Sampled(min_p=0.1),
    "typical": Sampled(typical=0.2), "contrastive": Contrastive(5, 0.6), "human": Human(),
}  # fmt: skip


@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoders_settings_are_its_strategys(kind):
    settings, strategy = GIVEN[kind]
    assert DECODERS[kind](**settings).strategy() == strategy
    assert DECODERS[kind]().strategy() == DEFAULTS[kind]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (Beam, (0,)), (Beam, (2, 0)), (Beam, (3, 2)), (Beam, (2, 1, -0.1)), (Beam, (2, 1, 0.0, -0.1)),
        (Beam, (2, 1, 0.0, 0.0, -1)), (Contrastive, (0, 0.5)), (Contrastive, (1, -0.1)),
        (Contrastive, (1, 1.1)), (Contrastive, (1, 0.5, -1)), (Delayed, (Sampled(), Beam(1), -1)),
        (Sampled, (-1,)), (Sampled, (0, 0.0)), (Sampled, (0, 1.1)), (Sampled, (0, 1.0, -1)),
        (Sampled, (0, 1.0, 0, -0.1)), (Sampled, (0, 1.0, 0, 1.1)), (Sampled, (0, 1.0, 0, 0.0, 0.0)),
        (Sampled, (0, 1.0, 0, 0.0, 1.1)),
    ],
)  # fmt: skip
def test_settings_beyond_their_bounds_are_refused(kind, settings):
    refuses("allowed (is|are)", kind, *settings)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (Beam, (1,)), (Beam, (2, 2, 0.0, 0.0, 0)), (Contrastive, (1, 0.0)), (Contrastive, (1, 1.0, 0)),
        (Delayed, (Sampled(), Beam(1), 0)), (Sampled, ()), (Sampled, (1, 1.0, 1, 1.0, 1.0)),
    ],
)  # fmt: skip
def test_settings_at_their_bounds_are_allowed(kind, settings):
    assert kind(*settings) == kind(*settings)


@pytest.mark.parametrize(
    ("settings", "banned", "rules"),
    [
        (Sampled(), (), []),
        (Sampled(), (3,), ["SuppressTokensLogitsProcessor"]),
        (Sampled(top_k=1), (), ["TopKLogitsWarper"]),
        (Sampled(blocking=2, top_p=0.5), (), ["block_repeats", "nucleus"]),
        (Sampled(min_p=0.1, typical=0.9), (), ["MinPLogitsWarper", "TypicalLogitsWarper"]),
    ],
)
def test_only_settings_that_do_something_are_rules(settings, banned, rules):
    made = settings.rules(banned, pad=9)
    names = [getattr(rule, "func", type(rule)).__name__ for rule in made]
    assert names == rules
    if "block_repeats" in rules:
        assert made[0].args == (2, 9) and made[1].args == (0.5,)
