"""Invented proper names, composed of the syllables of ``data/names.yaml``; the same for every seed, and disjoint."""

from __future__ import annotations

from longform.datasets.synthetic_world.draws import stream
from longform.datasets.synthetic_world.tables import lists, table

_SYLLABLES = lists(table("names"))
_FIRST = tuple(onset + core for onset in _SYLLABLES["first_onsets"] for core in (*_SYLLABLES["first_cores"], ""))


def _compose(kind: str, count: int, onsets: tuple[str, ...]) -> tuple[str, ...]:
    """The first ``count`` compounds of an onset and the kind's endings, in an order that depends on the kind alone."""
    names = sorted({onset + ending for onset in onsets for ending in _SYLLABLES[f"{kind}_endings"]})
    return tuple(names[i] for i in stream("names", kind).permutation(len(names))[:count])


MALE, FEMALE = _compose("male", 260, _FIRST), _compose("female", 260, _FIRST)
_SURNAMES = _compose("surname", 600, _SYLLABLES["surname_onsets"])
SURNAMES, FAMILIES = _SURNAMES[:480], _SURNAMES[480:]  # a family is never confused with a person
PLACES = _compose("place", 420, _SYLLABLES["place_onsets"])
REGIONS = _compose("region", 60, _SYLLABLES["place_onsets"])
COMPANIES = _compose("company", 200, _SYLLABLES["surname_onsets"])
RIVERS = _compose("river", 80, _SYLLABLES["first_onsets"])
LANGUAGES, PREFIXES = _SYLLABLES["languages"], _SYLLABLES["place_prefixes"]


def numbered_place(number: int) -> str:
    """The town of that number; different numbers name different towns."""
    rank, place = divmod(number, len(PLACES))
    if rank == 0:
        return PLACES[place]
    if rank <= len(PREFIXES):
        return f"{PREFIXES[rank - 1]} {PLACES[place]}"
    return f"{PLACES[place]} of {numbered_place(rank - len(PREFIXES) - 1)}"


def numbered_company(number: int) -> str:
    """The company of that number; different numbers name different companies."""
    rank, company = divmod(number, len(COMPANIES))
    return COMPANIES[company] if rank == 0 else f"{COMPANIES[company]} of {numbered_place(rank - 1)}"


def numbered_person(pool: tuple[str, ...], number: int) -> tuple[str, str]:
    """First name and surname of that number; within a pool they repeat after 124,800 numbers."""
    rank, last = divmod(number, len(SURNAMES))
    return pool[(rank + 7 * last) % len(pool)], SURNAMES[last]
