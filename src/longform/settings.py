"""Typed settings: what an entry of a parameter file may say, with types, ranges, units and sources.

A class of settings belongs to one way of making something (a corpus, a model, a metric). Its fields
are the parameters; its one method imports the code that it stands for and calls it. A registry is a
dictionary from the ``kind`` that a parameter file names to such a class.

This module imports pydantic, so code that only uses a critic does not import it.
"""

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    WrapValidator,
)
from pydantic_core import ErrorDetails, core_schema

from longform.errors import ConfigError, did_you_mean, short_repr
from longform.files.yaml_dialect import KIND

REQUIRED: Any = ...  # in place of a default
PARAMS = "params.yaml"


class Settings(BaseModel):
    """Base of all settings.

    Unknown keys are refused, types are strict, and nothing changes afterwards.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        defer_build=True,  # most of a registry's classes are never used in one run
        protected_namespaces=(),
    )

    def given(self) -> dict[str, Any]:
        """The settings that the file names, as plain data; those left at their defaults are out."""
        return self.model_dump(exclude_unset=True)


class Nothing(Settings):
    """The placement (see :func:`parse_kind`) of an entry that says nothing but its kind's own."""


def plain(settings: Settings | None) -> dict[str, Any] | None:
    """Nested settings as a mapping of what the file names, or None."""
    return None if settings is None else settings.given()


AnySettings = TypeVar("AnySettings", bound=Settings)
AnyPlacement = TypeVar("AnyPlacement", bound=Settings)


def _as_written(value: Any, check: Callable[[Any], float]) -> float:
    """Keep an int an int where a float is asked for: signatures show ``1``, not ``1.0``."""
    checked = check(value)
    return value if type(value) is int else checked


Number = Annotated[float, WrapValidator(_as_written)]  # a float, or an int in its place


Task = Annotated[
    tuple[Literal["block", "window", "section"], int], Field(strict=False)
]  # what is shuffled: blocks or windows of sentences and their size, or whole sections (and 1)


class Keys:
    """The keys that a mapping may have: ``Annotated[dict[str, int], Keys("train", "test")]``."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "propertyNames": {"enum": list(self.names)}}

    def _check(self, mapping: dict[str, Any]) -> dict[str, Any]:
        for key in mapping:
            if key not in self.names:
                close = did_you_mean(key, self.names)
                raise ValueError(f"got {key!r}{close}, allowed are {list(self.names)}")
        return mapping


def parameter(
    about: str,
    default: Any = REQUIRED,
    *,
    unit: str = "",
    source: str = "",
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    alias: str | None = None,
) -> Any:
    """Declare a field of settings, with the sentences that its schema shows.

    Args:
        about: what the parameter means, one sentence.
        default: its value where an entry says nothing; without one, every entry must say it.
        unit: what it counts or measures.
        source: where the default or the range comes from: a paper's section, ``authors' code``.
        ge, gt, le, lt: its range.
        alias: how the parameter file spells it, where Python keeps the word for itself.
    """
    sentences = [about, unit and f"Unit: {unit}.", source and f"Source: {source}."]
    return Field(
        default,
        alias=alias,
        description=" ".join(filter(None, sentences)),
        ge=ge,
        gt=gt,
        le=le,
        lt=lt,
    )


def parse(settings: type[AnySettings], entry: Any, place: str, file: str = PARAMS) -> AnySettings:
    """Settings from plain data.

    Args:
        settings: the class.
        entry: what the file says.
        place: the dotted key of the entry, for errors.
        file: where it stands, for errors.

    Raises:
        ConfigError: a key that is unknown or missing, or a value of a wrong type or out of range.
    """
    try:
        return settings.model_validate(entry)
    except ValidationError as error:
        # a misspelt key is unknown, and the right one missing: the first says more
        details = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
        raise ConfigError(_sentence(settings, details, place, file)) from error


def kind_of(
    registry: Mapping[str, type[AnySettings]], entry: Any, place: str, file: str = PARAMS
) -> type[AnySettings]:
    """The class that an entry's ``kind`` names.

    Raises:
        ConfigError: the entry is no mapping, has no ``kind``, or the registry has none of that
            name.
    """
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f"{place} is {short_repr(entry)}, allowed is a mapping of settings; fix {file}"
        )
    kind = entry.get(KIND)
    if kind is None:
        raise ConfigError(f"{place} lacks {KIND!r}; allowed are {sorted(registry)}; fix {file}")
    if not isinstance(kind, str) or kind not in registry:
        close = did_you_mean(str(kind), registry)
        raise ConfigError(
            f"{place}: {KIND} is {short_repr(kind)}{close}, allowed are {sorted(registry)}; "
            f"fix {file}"
        )
    return registry[kind]


def parse_kind(
    registry: Mapping[str, type[AnySettings]],
    placement: type[AnyPlacement],
    entry: Any,
    place: str,
    file: str = PARAMS,
) -> tuple[AnyPlacement, AnySettings]:
    """An entry's placement (which texts, which files), and the settings of its ``kind``.

    Both stand side by side in one mapping, so no name may be in both.

    Raises:
        ConfigError: as :func:`kind_of` and :func:`parse`.
    """
    settings = kind_of(registry, entry, place, file)
    names = field_names(placement)
    known = {KIND, *names, *field_names(settings)}
    is_open = settings.model_config.get("extra") == "allow"  # a library checks its own keys
    for key in entry:
        if key not in known and not is_open:
            raise ConfigError(_unknown(place, str(key), known, file))
    placed = {key: value for key, value in entry.items() if key in names}
    own = {key: value for key, value in entry.items() if key not in names and key != KIND}
    return parse(placement, placed, place, file), parse(settings, own, place, file)


def field_names(settings: type[Settings]) -> list[str]:
    """The keys of a class of settings, as parameter files spell them."""
    return [field.alias or name for name, field in settings.model_fields.items()]


ALLOWED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "a text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping of settings",
    "model_attributes_type": "a mapping of settings",
    "none_required": "null",
}
RANGES = {
    "greater_than_equal": ("ge", "from "),
    "greater_than": ("gt", "above "),
    "less_than_equal": ("le", "up to "),
    "less_than": ("lt", "below "),
}


def _sentence(
    settings: type[Settings], details: Sequence[ErrorDetails], place: str, file: str
) -> str:
    """What is wrong with an entry, what it says and what is allowed, in one sentence.

    Args:
        settings: the class that the entry should fit.
        details: pydantic's errors; the sentence is about the first.
        place: of the entry in the file.
        file: what is to be mended.
    """
    # 1. A name that is not known, or one that is missing.
    first = details[0]
    *above, last = first["loc"] or ("",)
    outer = ".".join([place, *map(str, above)])
    if first["type"] == "extra_forbidden":
        return _unknown(outer, str(last), _names_at(settings, above), file)
    if first["type"] == "missing":
        absent = [str(detail["loc"][-1]) for detail in details if detail["type"] == "missing"]
        return f"{outer} lacks {sorted(absent)}; add them to {file}"
    # 2. What a check of our own says.
    if first["type"] in ("value_error", "assertion_error"):
        named = ".".join([place, *map(str, first["loc"])])
        return f"{named}: {first['msg'].removeprefix('Value error, ')}; fix {file}"
    # 3. A value of the wrong type or out of its range. A union has an error for each of its types:
    # their places agree but for the last part, which names the type. Then the value stands at the
    # part that they share, and all the types are allowed.
    allowed = " or ".join(dict.fromkeys(map(_allowed, details)))
    if len(details) > 1:
        shared = []
        for parts in zip(*(detail["loc"] for detail in details), strict=False):
            if len(set(parts)) == 1:
                shared.append(parts[0])
        if shared and len(shared) == len(first["loc"]) - 1:
            *above, last = shared
            outer = ".".join([place, *map(str, above)])
        else:
            allowed = _allowed(first)
    value = short_repr(first["input"])
    named = f"{outer}: {last}" if last != "" else outer
    return f"{named} is {value}, allowed is {allowed}; fix {file}"


def _allowed(detail: ErrorDetails) -> str:
    """Words for what pydantic allows in place of a value, from its error: "a number from 1"."""
    context = detail.get("ctx", {})
    if detail["type"] in RANGES:
        name, words = RANGES[detail["type"]]
        return f"a number {words}{context[name]:g}"
    if detail["type"] == "literal_error":
        return str(context["expected"])
    return ALLOWED.get(detail["type"], detail["msg"].lower())


def _unknown(place: str, key: str, known: Iterable[str], file: str) -> str:
    """The sentence of the error that an entry has a key that is not among the known ones."""
    names = sorted(known)
    return f"{place} has {key!r}{did_you_mean(key, names)}; allowed are {names}; fix {file}"


def _names_at(settings: type[Settings], path: Iterable[Any]) -> list[str]:
    """The keys that are allowed at a path (keys and list indices) below a class of settings.

    Empty where the path leads to no settings.
    """
    kind: Any = settings
    for key in path:
        if isinstance(kind, type) and issubclass(kind, Settings):
            fields = {field.alias or name: field for name, field in kind.model_fields.items()}
            kind = _without_none(fields[key].annotation) if key in fields else None
        else:  # an entry of a mapping or list: the last of its types is that of its values
            kind = _without_none(get_args(kind)[-1]) if get_args(kind) else None
    return field_names(kind) if isinstance(kind, type) and issubclass(kind, Settings) else []


def _without_none(annotation: Any) -> Any:
    """The type in an optional or annotated one: of ``Schedule | None`` it is ``Schedule``."""
    while get_origin(annotation) in (Annotated, Union, types.UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not types.NoneType]
        annotation = kinds[0]
    return annotation
