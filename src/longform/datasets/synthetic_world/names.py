"""Invented proper names, composed of syllables; the same for every seed, and disjoint from one another."""

from __future__ import annotations

from functools import cache

from longform.resampling import generator


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


FIRST_ONSETS = _list(
    "An Bel Cor Dar El Fen Gar Hal Ib Jon Kar Lor Mar Nel Or Per Ros Sel Tam Ul Ver Wil Yor Zan Bri Dre"
)
FIRST_CORES = (*_list("a e i o an en il or av et"), "")
MALE_ENDINGS = _list("mund ric bert gar dor vin tus nek mir bald")
FEMALE_ENDINGS = _list("lina dra mela nise tha rina wyn bella sia veth")
SURNAME_ONSETS = _list(
    "Bal Bren Cald Crom Dal Drav Esk Fald Gren Gris Harl Hov Jask Keld Kor Lamb Lind Mord Nest Norv Ost Pell Prend "
    "Quar Rask Rend Sarn Skel Stov Tarn Thorn Trev Vand Vost Wald Wex Yarl Zel"
)
SURNAME_ENDINGS = _list("ow ick ensen ara ovic ley man mark stad ford wood quist ini escu ard ollo")
PLACE_ONSETS = _list(
    "Ald Bar Brin Cas Dun Ebr Fal Glen Hest Ing Jarl Kel Lan Mel Nor Ol Pen Quen Riv Sol Tor Und Val Wen Ystr Zur "
    "Ash Bel Cot Drum"
)
PLACE_ENDINGS = _list("burg ton haven mere dale gate port field moor minster wick holm bury stead brook cliffe")
REGION_ENDINGS = _list("aria onia land mark esia ovia")
COMPANY_ENDINGS = _list("tex dyne corp works soft lux mobil chem")
RIVER_ENDINGS = _list("a ine en is")


@cache
def _compose(word: str, count: int, onsets: tuple[str, ...], endings: tuple[str, ...]) -> tuple[str, ...]:
    """The first ``count`` of all onset-ending compounds, in an order that depends on ``word`` alone."""
    names = sorted({onset + ending for onset in onsets for ending in endings})
    order = generator("planted", "names", word).permutation(len(names))
    return tuple(names[i] for i in order[:count])


def _first(word: str, endings: tuple[str, ...]) -> tuple[str, ...]:
    onsets = tuple(onset + core for onset in FIRST_ONSETS for core in FIRST_CORES)
    return _compose(word, 260, onsets, endings)


MALE = _first("male", MALE_ENDINGS)
FEMALE = _first("female", FEMALE_ENDINGS)
_SURNAMES = _compose("surname", 600, SURNAME_ONSETS, SURNAME_ENDINGS)
SURNAMES, FAMILIES = _SURNAMES[:480], _SURNAMES[480:]  # a family is never confused with a person
PLACES = _compose("place", 420, PLACE_ONSETS, PLACE_ENDINGS)
REGIONS = _compose("region", 60, PLACE_ONSETS, REGION_ENDINGS)
COMPANIES = _compose("company", 200, SURNAME_ONSETS, COMPANY_ENDINGS)
RIVERS = _compose("river", 80, FIRST_ONSETS, RIVER_ENDINGS)
PREFIXES = _list("Upper Lower Great Little East West North South Old New")


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
