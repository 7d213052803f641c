"""The decoders that continuations can name (massarelli2020 section 3), and later ones.

Defaults are Table 3's.

A new decoder is a class here and a line of ``DECODERS``.
"""

from typing import TYPE_CHECKING

from longform.settings import Number, Settings, parameter

if TYPE_CHECKING:
    from longform.decoding.strategies import Strategy

BLOCKING = "No n-gram of this length is written twice; 0 blocks none."
BLOCKING_SOURCE = "massarelli2020 section 3"
BEAMS = "Hypotheses that are kept."
TABLE_3 = "massarelli2020 Table 3"
LARGEST_BEAM = 10_000  # ours: 2 GB of logits a text and a step where 50,000 tokens are known
LARGEST_PENALTY = 1e6  # ours: no log-probability is as far below another; 1e39 overflows float32
NOT_PRINTED = "ours, not printed in massarelli2020 Table 3"


class Decoder(Settings):
    """A decoding strategy."""

    def strategy(self) -> "Strategy":
        """What :func:`longform.decoding.strategies.decode` takes."""
        raise NotImplementedError


class HumanText(Decoder):
    """What people wrote after the prefix (massarelli2020 Table 1)."""

    def strategy(self) -> "Strategy":
        from longform.decoding.sampling import Human

        return Human()


class Greedy(Decoder):
    """Always the likeliest token (massarelli2020 section 3)."""

    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.beam_search import Beam

        return Beam(1, blocking=self.blocking)


class TopK(Decoder):
    """Draws among the k likeliest tokens (massarelli2020 section 3)."""

    k: int = parameter("Tokens that are drawn among.", 2, unit="tokens", source=TABLE_3, ge=1)
    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.sampling import Sampled

        return Sampled(top_k=self.k, blocking=self.blocking)


class TopP(Decoder):
    """Draws among the likeliest tokens that hold a share p (massarelli2020 section 3)."""

    p: Number = parameter("The share.", 0.4, source=TABLE_3, gt=0, le=1)
    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.sampling import Sampled

        return Sampled(top_p=self.p, blocking=self.blocking)


class BeamSearch(Decoder):
    """The likeliest continuation that a beam finds (massarelli2020 section 3)."""

    beams: int = parameter(BEAMS, 15, source=TABLE_3, ge=1, le=LARGEST_BEAM)
    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.beam_search import Beam

        return Beam(self.beams, blocking=self.blocking)


class GroupBeam(Decoder):
    """A beam in groups that avoid each other's tokens (Vijayakumar et al. 2018)."""

    beams: int = parameter(BEAMS, 6, source=NOT_PRINTED, ge=1, le=LARGEST_BEAM)
    groups: int = parameter("Groups of hypotheses.", 2, source=TABLE_3, ge=1)
    penalty: Number = parameter(
        "For a token of another group.",
        0.2,
        unit="nats",
        source=TABLE_3,
        ge=0,
        le=LARGEST_PENALTY,
    )
    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.beam_search import Beam

        return Beam(self.beams, self.groups, self.penalty, blocking=self.blocking)


class SiblingBeam(Decoder):
    """A beam that ranks a hypothesis's siblings down (Li et al. 2016)."""

    beams: int = parameter(BEAMS, 15, source=NOT_PRINTED, ge=1, le=LARGEST_BEAM)
    penalty: Number = parameter(
        "For each rank among siblings.",
        0.1,
        unit="nats",
        source=TABLE_3,
        ge=0,
        le=LARGEST_PENALTY,
    )
    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.beam_search import Beam

        return Beam(self.beams, sibling_penalty=self.penalty, blocking=self.blocking)


class DelayedBeam(Decoder):
    """Draws the first tokens of each sentence, then searches (massarelli2020 section 3)."""

    top_k: int = parameter("Tokens that are drawn among.", 100, unit="tokens", source=TABLE_3, ge=1)
    beams: int = parameter(BEAMS, 6, source=TABLE_3, ge=1, le=LARGEST_BEAM)
    delay: int = parameter("Tokens that are drawn.", 1, unit="tokens", source=TABLE_3, ge=0)
    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.beam_search import Beam, Delayed
        from longform.decoding.sampling import Sampled

        sampled = Sampled(self.top_k, blocking=self.blocking)
        return Delayed(sampled, Beam(self.beams, blocking=self.blocking), self.delay)


class MinP(Decoder):
    """Draws among tokens of at least a share of the likeliest one (Nguyen et al. 2024)."""

    p: Number = parameter("The share.", 0.1, source="Nguyen et al. 2024: 0.05 to 0.1", gt=0, le=1)
    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.sampling import Sampled

        return Sampled(min_p=self.p, blocking=self.blocking)


class Typical(Decoder):
    """Draws among tokens as surprising as is to be expected (Meister et al. 2023)."""

    mass: Number = parameter(
        "The share that they hold.", 0.2, source="Meister et al. 2023: stories", gt=0, le=1
    )
    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.sampling import Sampled

        return Sampled(typical=self.mass, blocking=self.blocking)


class ContrastiveSearch(Decoder):
    """The likeliest token that is unlike those before it (Su et al. 2022)."""

    k: int = parameter(
        "Tokens to choose among.", 5, unit="tokens", source="Su et al. 2022, section 4", ge=1
    )
    alpha: Number = parameter(
        "Weight of the likeness.", 0.6, source="Su et al. 2022, section 4", ge=0, le=1
    )
    blocking: int = parameter(BLOCKING, 0, unit="tokens", source=BLOCKING_SOURCE, ge=0)

    def strategy(self) -> "Strategy":
        from longform.decoding.beam_search import Contrastive

        return Contrastive(self.k, self.alpha, self.blocking)


DECODERS: dict[str, type[Decoder]] = {
    "human": HumanText,
    "greedy": Greedy,
    "top_k": TopK,
    "top_p": TopP,
    "beam": BeamSearch,
    "group_beam": GroupBeam,
    "sibling_beam": SiblingBeam,
    "delayed_beam": DelayedBeam,
    "min_p": MinP,
    "typical": Typical,
    "contrastive": ContrastiveSearch,
}
