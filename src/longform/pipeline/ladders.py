"""Rows that differ in a word: one template for every corpus, family and setting, written out by :mod:`scales`.

``rows.yaml`` of a scale has ``words`` (what a word brings with it), ``groups`` (lists of products of words) and
``rows``. A row is a template for every case of its group: ``{family}`` in a name or text is filled in; a value that is nothing
but ``{context}`` becomes the word's own value, a number or a mapping. Lists may hold ``{each: group, as: [texts]}``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from longform.documents import BadInput

Case = dict[str, Any]
WHOLE = re.compile(r"\{(\w+)\}")


def expand(written: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Rows by verb and name.

    Raises:
        BadInput: a group or word that is not there, or two rows of one name.
    """
    groups = {name: list(_cases(products, written.get("words", {}))) for name, products in written["groups"].items()}
    made: dict[str, dict[str, Any]] = {}
    for template in written["rows"]:
        for case in _group(groups, template["for"]) if "for" in template else [{}]:
            for verb, rows in template.items():
                for name, settings in (rows if verb != "for" else {}).items():
                    row, verbs = str(_filled(name, case, groups)), made.setdefault(verb, {})
                    if row in verbs:
                        raise BadInput(f"rows.yaml gives {verb}.{row} twice; mend its groups")
                    verbs[row] = _filled(settings, case, groups)
    return made


def _cases(products: list[Mapping[str, list[str]]], words: Mapping[str, Mapping[str, Any]]) -> Iterator[Case]:
    """Every combination of a product's words, each with what its words bring."""
    for product in products:
        for chosen in itertools.product(*product.values()):
            case = dict(zip(product, chosen, strict=True))
            for word in chosen:
                case |= words.get(word, {})
            yield case


def _group(groups: Mapping[str, list[Case]], name: str) -> list[Case]:
    if name not in groups:
        raise BadInput(f"rows.yaml has no group {name!r}; allowed are {sorted(groups)}")
    return groups[name]


def _filled(value: Any, case: Case, groups: Mapping[str, list[Case]]) -> Any:
    """A template with the case's words in it."""
    if isinstance(value, Mapping):
        filled = [(_filled(key, case, groups), _filled(item, case, groups)) for key, item in value.items()]
        if len(dict(filled)) < len(filled):
            raise BadInput(f"rows.yaml: two keys of {sorted(value)} become one; rename one")
        return dict(filled)
    if isinstance(value, list):
        return [text for item in value for text in _items(item, case, groups)]
    if not isinstance(value, str) or "{" not in value:
        return value
    try:
        alone = WHOLE.fullmatch(value)
        return case[alone[1]] if alone else value.format(**case)
    except (KeyError, IndexError, ValueError) as error:
        raise BadInput(f"rows.yaml: {value!r} needs {error}, the case has {sorted(case)}; add it to words") from error


def _items(item: Any, case: Case, groups: Mapping[str, list[Case]]) -> list[Any]:
    if not isinstance(item, Mapping) or "each" not in item:
        return [_filled(item, case, groups)]
    return [_filled(text, case | other, groups) for other in _group(groups, item["each"]) for text in item["as"]]
