"""What is raised for bad input, and what its sentences need: near names, numbers with nouns."""

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any


class BadInput(ValueError):
    """Input that cannot be used; the message says what, got, allowed and what to do next."""


class InputError(BadInput):
    """A text or a file of data that cannot be read as what it should be."""


class ConfigError(BadInput):
    """A setting that is wrong: an entry of ``params.yaml``, an option, an argument."""


class ArtefactError(BadInput):
    """A file of our own, written by a stage, that is absent, damaged or cannot be written."""


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def short_repr(value: Any) -> str:
    """The ``repr`` of a value for a message: 60 characters at most, however large it is."""
    return _SHORT.repr(value)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`` (near: ...)`` with up to three of the names that look like ``name``, or nothing."""
    close = difflib.get_close_matches(name, list(names), n=3)
    return f" (near: {', '.join(close)})" if close else ""


def counted(number: float, one: str, more: str = "", form: str = ",") -> str:
    """A number with its noun in the singular or plural: ``1 text``, ``2,800 tokens``.

    Args:
        number: how many.
        one: the noun after a 1, or a phrase: ``text of a person``.
        more: the noun after any other number; by default ``one`` and an s.
        form: Python's format specification of the number.
    """
    what = one if number == 1 else more or f"{one}s"
    return f"{number:{form}} {what}"
