"""longform: does long generated text hang together?

Five papers' critics over one set of generations.
"""

from typing import TYPE_CHECKING, Any

from longform.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from longform.critics.base import TextCritic
    from longform.tools.suites import judge_suites as judge_suites
    from longform.tools.verifying import verify as verify
    from longform.tools.writing import generate as generate

__all__ = ["__version__", "critics", "generate", "judge_suites", "load", "verify"]


def load(name: "str | Path", **settings: Any) -> "TextCritic":
    """A critic by its name in ``longform critics``, or a fitted one from its file.

    See :func:`longform.critics.catalogue.load`.
    """
    from longform.critics.catalogue import load as load_critic

    return load_critic(name, **settings)


def __getattr__(name: str) -> Any:
    """The room of critics and the functions for any model, imported when they are first used."""
    if name == "critics":
        import importlib

        return importlib.import_module("longform.critics")
    if name == "generate":
        from longform.tools.writing import generate

        return generate
    if name == "judge_suites":
        from longform.tools.suites import judge_suites

        return judge_suites
    if name == "verify":
        from longform.tools.verifying import verify

        return verify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
