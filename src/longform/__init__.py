"""longform: does long generated text hang together? Five papers' critics over one set of generations."""

from typing import TYPE_CHECKING, Any

from longform.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from longform.critics.base import TextCritic
    from longform.tools.suites import judge_suites as judge_suites
    from longform.tools.verifying import verify as verify
    from longform.tools.writing import generate as generate

LAZY = {  # functions, by the module that they are imported from
    "generate": "longform.tools.writing",
    "judge_suites": "longform.tools.suites",
    "verify": "longform.tools.verifying",
}
__all__ = ["__version__", "critics", "generate", "judge_suites", "load", "verify"]


def load(name: "str | Path", **settings: Any) -> "TextCritic":
    """A critic by its name in ``longform critics``, with its settings, or a fitted one from its file.

    See :func:`longform.critics.catalogue.load`.
    """
    from longform.critics.catalogue import load as load_critic

    return load_critic(name, **settings)


def __getattr__(name: str) -> Any:
    """The room of critics and the functions for any model, imported when they are first used."""
    import importlib

    if name == "critics":
        return importlib.import_module("longform.critics")
    if name in LAZY:
        return getattr(importlib.import_module(LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
