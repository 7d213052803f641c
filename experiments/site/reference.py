"""Write the site's reference: classes and functions by docstrings, parameters by the schema."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from experiments.site.gallery import escape, toctree
from longform import critics

# Modules whose public names users import, with what they are for.
MODULES = {
    "longform": "The tools in one call each",
    "longform.results": "What critics give back",
    "longform.documents": "Texts and their parts",
    "longform.hsmm": "The hidden semi-Markov model on arrays",
    "longform.errors": "Errors",
}
REFERENCE = Path("reference")
Definition = dict[str, Any]


def reference_pages(root: Path) -> dict[Path, str]:
    """All generated pages of the reference, by their path in the site."""
    pages = {REFERENCE / "critics.md": _critics()}
    for module, purpose in MODULES.items():
        pages[REFERENCE / f"{module}.md"] = _module(module, purpose)
    parameters = parameter_pages(root / "params.schema.json")
    entries = [path.name for path in parameters]
    index = ["# Parameters", "", "What `params.yaml` may say, kind by kind, from its schema.", ""]
    pages[REFERENCE / "parameters.md"] = "\n".join([*index, *toctree(entries), ""])
    return pages | parameters


def _critics() -> str:
    """The page of all critics' classes; the methods that they share are described once."""
    lines = [
        "# Critics",
        "",
        "Every critic has `fit`, `score`, `compare` and `attribute`, on strings or documents. "
        "`longform critics` lists what each asks, needs and costs.",
        "",
        "```{eval-rst}",
        ".. autoclass:: longform.critics.base.TextCritic",
        "   :members:",
        "",
    ]
    for name in critics.__all__:
        module = getattr(critics, name).__module__
        lines += [f".. autoclass:: {module}.{name}", "   :show-inheritance:", ""]
    return "\n".join([*lines, "```", ""])


def _module(module: str, purpose: str) -> str:
    """The page of a module's public names."""
    lines = [
        f"# {module}",
        "",
        f"{purpose}.",
        "",
        "```{eval-rst}",
        f".. automodule:: {module}",
        "   :members:",
    ]
    if hasattr(importlib.import_module(module), "__all__"):  # it names what it offers
        lines.append("   :imported-members:")
    lines += ["```", ""]
    return "\n".join(lines)


def parameter_pages(schema_path: Path) -> dict[Path, str]:
    """A page for each section of the settings (``corpora``, ``models``, ...) with its kinds."""
    schema = json.loads(schema_path.read_text(encoding="utf-8"))
    definitions = schema["$defs"]
    # Kinds by section: the schema names them ``section.kind``.
    sections: dict[str, list[str]] = {}
    for name in definitions:
        section, dot, kind = name.partition(".")
        if dot:
            sections.setdefault(section, []).append(kind)
    # A page for each section.
    pages = {}
    for section, kinds in sections.items():
        shared = definitions[section]["properties"]
        lines = [f"# {section}", ""]
        for kind in sorted(kinds):
            definition = definitions[f"{section}.{kind}"]
            lines += [f"## {kind}", "", escape(definition.get("description", "")), ""]
            lines += [*_fields(definition, shared, schema), ""]
        pages[REFERENCE / f"parameters-{section}.md"] = "\n".join(lines)
    return pages


def _fields(definition: Definition, shared: Definition, schema: Definition) -> list[str]:
    """A table of one kind's fields; ``shared`` are those that all kinds of its section have."""
    required = definition.get("required", [])
    lines = ["| field | type | default | what |", "|---|---|---|---|"]
    for name, reference in definition.get("properties", {}).items():
        settings = _resolved(shared[name] if reference is True else reference, schema)
        if "const" in settings:  # the kind itself
            continue
        default = "required" if name in required else _code(settings.get("default"))
        what = escape(settings.get("description", "")).replace("|", "\\|")
        lines.append(f"| `{name}` | {_type(settings, schema)} | {default} | {what} |")
    return lines if len(lines) > 2 else ["No further settings."]


def _resolved(settings: Definition, schema: Definition) -> Definition:
    """Settings behind references, which are paths into the schema."""
    while "$ref" in settings:
        siblings = dict(settings)  # they prevail over what is referred to
        reference = siblings.pop("$ref")
        target: Any = schema
        for key in reference.removeprefix("#/").split("/"):
            target = target[key]
        settings = {**target, **siblings}
    return settings


def _type(settings: Definition, schema: Definition) -> str:
    """A type with its range, in words."""
    settings = _resolved(settings, schema)
    for several in ("anyOf", "oneOf"):
        if several in settings:
            types = [_type(one, schema) for one in settings[several]]
            return " or ".join(dict.fromkeys(types))
    if "enum" in settings:
        return ", ".join(_code(value) for value in settings["enum"])
    if "const" in settings:
        return _code(settings["const"])
    if settings.get("type") == "array" and "items" in settings:
        return f"list of {_type(settings['items'], schema)}"
    return _range(settings)


def _range(settings: Definition) -> str:
    """A simple type with its bounds, such as ``integer ≥ 1``."""
    words = [str(settings.get("type", "any"))]
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    for key, sign in signs.items():
        if key in settings:
            words.append(f"{sign} {settings[key]}")
    return " ".join(words)


def _code(value: Any) -> str:
    """A value as JSON in code marks."""
    return f"`{json.dumps(value, ensure_ascii=False)}`"
