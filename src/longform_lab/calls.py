"""Calling a function with exactly the settings that ``params.yaml`` gives it: a misspelt one is a sentence, not a traceback."""

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args

from longform.errors import BadInput, did_you_mean
from longform_lab.code_names import dotted, place_of

PLAIN = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    NoneType: "null",
}


def module(place: str, code: Any) -> Any:
    """A module of the package that settings name: the file system is the registry.

    Args:
        place: what names it in ``params.yaml``.
        code: a path below ``src/longform``, or one that begins with the name of another package; dots or slashes between its parts.

    Raises BadInput: no such module.
    """
    if not isinstance(code, str) or not code:
        raise BadInput(f"{place}: got {code!r:.60} for a module; name a file or folder of src/")
    name = dotted(code)
    try:
        known = importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        known = False
    if not known:
        raise BadInput(f"{place}: there is no {place_of(name)}; fix the name")
    return importlib.import_module(name)


def function(place: str, code: Any, name: str) -> Callable[..., Any]:
    """The function or class of a module, by name. Raises BadInput: no such module, or it has none of that name."""
    home = module(place, code)
    found = getattr(home, name, None)
    if not callable(found):
        known = [key for key in vars(home) if not key.startswith("_")]
        raise BadInput(
            f"{place}: {home.__name__} has no function {name!r}{did_you_mean(name, known)}; fix the name"
        )
    return found


def call(place: str, wanted: Callable[..., Any], settings: Mapping[str, Any], **given: Any) -> Any:
    """Call with settings as keywords; ``given`` are objects of the stage, those that the function does not take are left out.

    Raises BadInput: a setting that is unknown, missing or of the wrong type, by name, and what is allowed.
    """
    return wanted(**arguments(place, wanted, settings, given))


def arguments(
    place: str, wanted: Callable[..., Any], settings: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings, and what the function takes of ``given``. What training sets is no setting."""
    trained = (
        {f.name for f in fields(wanted) if f.metadata.get("fitted")}
        if is_dataclass(wanted)
        else set()
    )
    try:
        parameters = inspect.signature(wanted, eval_str=True).parameters
    except NameError:  # a type that is known to type checkers only stays text
        parameters = inspect.signature(wanted).parameters
    declared = {name: parameter for name, parameter in parameters.items() if name not in trained}
    known = {
        name: parameter
        for name, parameter in declared.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    if unknown := sorted(settings.keys() - known) if known == declared else []:
        allowed = sorted(known.keys() - given.keys())
        raise BadInput(
            f"{place} has {unknown[0]!r}{did_you_mean(unknown[0], allowed)}; allowed are {allowed}; fix params.yaml"
        )
    needed = {name for name, parameter in known.items() if parameter.default is parameter.empty}
    if missing := sorted(needed - settings.keys() - given.keys()):
        name = getattr(wanted, "__name__", str(wanted))
        raise BadInput(f"{place} lacks {missing}, which {name} needs; add them to params.yaml")
    for name in filter(known.__contains__, settings):
        value, annotation = settings[name], known[name].annotation
        kinds = set(get_args(annotation)) if isinstance(annotation, UnionType) else {annotation}
        accepted = {int, float} if float in kinds and type(value) is int else {type(value)}
        if (
            kinds <= PLAIN.keys() and not accepted & kinds
        ):  # what is annotated with more is the function's to check
            names = " or ".join(PLAIN[kind] for kind in PLAIN if kind in kinds)
            raise BadInput(f"{place}: {name} is {value!r:.60}, allowed is {names}; fix params.yaml")
    return {**settings, **{key: value for key, value in given.items() if key in known}}
