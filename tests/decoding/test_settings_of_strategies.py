"""Each decoder's settings become those of its strategy, and settings at and beyond their bounds are told apart."""

import re

import pytest
from pydantic import WrapValidator

from longform.decoding import strategies
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


BOUNDS = {  # by setting, with its unit
    "k": "Ge(ge=1) tokens", "top_k": "Ge(ge=1) tokens", "p": "Gt(gt=0) Le(le=1)",
    "mass": "Gt(gt=0) Le(le=1)", "alpha": "Ge(ge=0) Le(le=1)", "blocking": "Ge(ge=0) tokens",
    "delay": "Ge(ge=0) tokens", "beams": "Ge(ge=1) Le(le=10000)", "groups": "Ge(ge=1)",
    "penalty": "Ge(ge=0) Le(le=1000000.0) nats",
}  # fmt: skip


@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoders_settings_have_bounds_units_and_sources(kind):
    for name, field in DECODERS[kind].model_fields.items():
        words = [repr(bound) for bound in field.metadata if not isinstance(bound, WrapValidator)]
        words += re.findall(r" Unit: (\w+)\.", field.description)
        assert " ".join(words) == BOUNDS[name]
        assert " Source: " in field.description


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


@pytest.fixture
def searched(monkeypatch):
    """What a search is called with, in place of the search."""
    calls = []
    for name, answer in (
        ("contrastive_search", [[7]]),
        ("delayed", [[7]]),
        ("beam_search", [Found([7])]),
    ):
        monkeypatch.setattr(
            strategies,
            name,
            lambda *given, _a=(name, answer): calls.append((_a[0], *given)) or _a[1],
        )
    return calls


class Found:
    def __init__(self, tokens):
        self.tokens = tokens


@pytest.mark.parametrize(
    ("settings", "call"),
    [
        (Contrastive(2, 0.5), ("contrastive_search", "net", [[1], [2]], Contrastive(2, 0.5), 5, [9])),
        (Delayed(Sampled(), Beam(2), 1), ("delayed", "net", [[1], [2]], Delayed(Sampled(), Beam(2), 1), 5, "rngs", "ends", [9])),
        (Beam(4, 2), ("beam_search", "net", [[1], [2]], Beam(4, 2), [5, 5], [9])),
    ],
)  # fmt: skip
def test_a_search_of_ours_gets_prompts_settings_limits_and_the_banned_end(searched, settings, call):
    assert strategies.decode("net", [[1], [2]], settings, 5, "rngs", 9, "ends") == [[7]]
    assert searched == [call]


def test_what_cannot_be_decoded_is_refused_before_a_network_is_asked(searched):
    refuses("decoder human: no model writes", strategies.decode, None, [[1]], Human(), 5, None, 9)
    refuses(
        "needs to know where sentences end",
        strategies.decode,
        None,
        [[1]],
        Delayed(Sampled(), Beam(2), 1),
        5,
        None,
        9,
    )
    assert searched == []


@pytest.mark.parametrize(
    ("settings", "drawn"),
    [(Sampled(), True), (Beam(1), False), (Delayed(Sampled(), Beam(1), 1), True), (Delayed(Sampled(), Beam(1), 0), False),
     (Contrastive(1, 0.5), False), (Human(), False)],
)  # fmt: skip
def test_which_strategies_are_drawn(settings, drawn):
    assert strategies.is_random(settings) is drawn
