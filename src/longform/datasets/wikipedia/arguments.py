"""Parameters of one template, and what is listed of all templates."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

# The loader in C is ten times as fast, and each shard of a dump has a process of its own.
SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DATA = Path(__file__).with_name("data") / "templates.yaml"
_NAME = re.compile(r"[\w .-]*\s*$")

# Gives the text that stands in a template's place, None where nothing is known of its parameters.
Renderer = Callable[["Arguments"], str | None]


class Arguments:
    """Parameters of one template: ``arguments["lang"]``, ``arguments[1]``; a missing one is empty.

    Those without a name are called "1", "2" ...
    """

    def __init__(self, name: str, parts: list[str]) -> None:
        self.name = name
        self.named: dict[str, str] = {}
        self.positional: list[str] = []
        for part in parts:
            key, equals, value = part.partition("=")
            # In <span id=x> the sign is a tag's: "<" is in no name (_NAME excludes it already).
            if equals and _NAME.match(key) and "<" not in key:
                self.named[key.strip().lower()] = value.strip()
            else:
                self.positional.append(part)
        # One without a name has its number, from 1, for a name, unless "2=..." has taken it.
        for number, value in enumerate(self.positional, 1):
            self.named.setdefault(str(number), value)

    def __getitem__(self, key: int | str) -> str:
        return self.named.get(str(key), "").strip(" \n\t")

    def first(self, *keys: int | str) -> str:
        """The first of some parameters that is not empty."""
        for key in keys:
            if self[key]:
                return self[key]
        return ""

    def items(self, start: int = 1) -> list[str]:
        """Parameters that are numbered, from one on, without those that are empty."""
        numbers = sorted(int(key) for key in self.named if key.isdecimal() and int(key) >= start)
        return [self[number] for number in numbers if self[number]]

    def yes(self, key: str) -> bool:
        """Whether a switch is on."""
        return self[key].lower() in ("y", "yes", "on", "true", "1")


@cache
def data() -> dict[str, Any]:
    """The lists of ``data/templates.yaml`` by their keys."""
    return dict(SAFE_LOADER(_DATA.read_text(encoding="utf-8")).get_single_data())


def names_in(text: str) -> list[str]:
    """Names of a list with bars between them, over one line or several."""
    return [name for part in text.replace("\n", "").split("|") if (name := part.strip())]


@cache
def _hidden() -> tuple[frozenset[str], re.Pattern[str]]:
    """Names of templates that show nothing, and a pattern of further ones."""
    names = frozenset(names_in(data()["hidden"]))
    # YAML joins the lines of the pattern with blanks.
    pattern = re.compile(data()["hidden_patterns"].replace(" |", "|"))
    return names, pattern


@cache
def hidden(name: str) -> bool:
    """Whether a template shows nothing in the running text: a note, a hatnote, layout.

    ``name`` is in lower case with blanks for underscores, as ``templates.template_name`` gives it.
    """
    names, patterns = _hidden()
    return name in names or patterns.fullmatch(name) is not None


def grouped(text: str) -> str:
    """A number with commas between groups of three; other text as it is."""
    match = re.fullmatch(r"([-−+]?)0*(\d+?)(\.\d+)?", text.strip())
    return f"{match[1]}{int(match[2]):,}{match[3] or ''}" if match else text
