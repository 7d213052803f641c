"""The code that a function runs, found by reading source files, none of which is imported.

The unit is a *definition*: one top-level statement of a module. From the functions where a stage
begins, names are followed to the definitions that bind them, and imports, also those inside
functions, to other modules. A module that is reached runs its import-time statements too. What
Python decides at run time alone is covered as follows:

- A text that names a module (``"decoding/completions"``, ``"longform.language_models.ngram"``)
  stands for that module; for one function of it where the next argument of the same call, or what
  follows a dot or colon, names one. A text that holds an import of the package, such as the program
  of a subprocess, stands for what it imports.
- A name that the module does not bind stands for the whole module, and so does a module that is
  passed on as a value.
- A registry, a name annotated ``dict[str, type[...]]``, stands for none of its entries: who asks for
  the closure of a stage names the class that the parameters choose.
- A definition under a decorator of the package's own counts as run at import: it may be registered.
- A module that mentions ``__file__`` reads the data files of its folder that it names.
"""

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from longform_lab.statements import (
    IMPORT,
    NAMED,
    Statement,
    acts,
    decorators,
    digest,
    is_registry,
    statements,
)

PACKAGES = ("longform", "longform_lab", "synthetic_world", "experiments")  # that are followed
Request = tuple[str, str]  # a module by its dotted name, and a name in it
AT_IMPORT = ""  # in place of a name: what runs when the module is imported
EVERYTHING = "*"  # in place of a name: the whole module
MODULE_TEXT = re.compile(r"(\w+[./])+\w+([.:]\w+)?")
IMPORT_TEXT = re.compile(
    rf"\b(?:from|import) ((?:{'|'.join(PACKAGES)})\b(?:\.\w+)*)(?: import (\w+))?"
)
Closure = dict[str, set[int]]  # places of a module's definitions, by its dotted name


@dataclass
class Definition:
    """One top-level statement of a module."""

    line: int
    names: list[str]  # that it binds
    digest: str  # of its syntax tree
    requests: frozenset[Request]  # names of its own module and of others that it uses
    texts: frozenset[str] = frozenset()  # its literals
    runs_at_import: bool = False
    is_registry: bool = False  # whose entries parameters choose: it stands for no code


@dataclass
class Module:
    """One source file."""

    path: Path
    definitions: list[Definition] = field(default_factory=list)
    places: dict[str, list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )  # by the name that they bind
    imported: dict[str, Request] = field(
        default_factory=dict
    )  # what a name of an import stands for
    at_import: set[Request] = field(default_factory=set)
    reads_files: bool = False


class SourceTree:
    """The source files of the packages, each parsed when it is first reached."""

    def __init__(self, folder: Path, dispatching: str = "", apart: Iterable[str] = ()) -> None:
        """Open the packages.

        Args:
            folder: the folder that holds the packages' folders (``src``); those that are not there lie beside it.
            dispatching: modules below this dotted name call what settings name; who asks for their
                closure finds it in the settings, so texts in them are not followed.
            apart: modules that are left out of every closure, with what they alone import.
        """
        self.folder = folder
        self.apart = frozenset(apart)
        self.dispatching = dispatching
        self._modules: dict[str, Module | None] = {}
        self._paths: dict[str, Path | None] = {}

    def closure(self, starts: Iterable[Request]) -> Closure:
        """The definitions that may run where these functions are called; modules that are not there are left out."""
        closure: Closure = {}
        seen: set[Request] = set()
        waiting = list(starts)
        while waiting:
            request = waiting.pop()
            module = self.module(request[0])
            if request in seen or module is None:
                continue
            seen.add(request)
            name, wanted = request
            places: list[int] = []
            if name not in closure:
                closure[name] = set()
                waiting += module.at_import
                places += [
                    place for place, own in enumerate(module.definitions) if own.runs_at_import
                ]
            if wanted == EVERYTHING:
                waiting += module.imported.values()
                places += range(len(module.definitions))
            elif wanted in module.places or wanted in module.imported:
                places += module.places.get(wanted, [])
                waiting += [module.imported[wanted]] if wanted in module.imported else []
            elif wanted != AT_IMPORT:
                waiting.append((name, EVERYTHING))
            for place in set(places) - closure[name]:
                if module.definitions[place].is_registry:
                    continue
                closure[name].add(place)
                waiting += module.definitions[place].requests
        return closure

    def hashes(self, closure: Closure) -> dict[str, str]:
        """A hash for each source file and data file of a closure, by its path from the folder, in order."""
        hashes: dict[str, str] = {}
        for name, places in closure.items():
            module = self.module(name)
            if module is None or not places:
                continue
            digests = [module.definitions[place].digest for place in sorted(places)]
            hashes[self._relative(module.path)] = digest(" ".join(digests).encode())
            for path in data_files(module, places):
                hashes[self._relative(path)] = digest(path.read_bytes())
        return dict(sorted(hashes.items()))

    def path_of(self, name: str) -> Path | None:
        """The file of a module or package by its dotted name; None where the package has none of that name."""
        if name not in self._paths:
            package = name.split(".")[0]
            home = self.folder if (self.folder / package).is_dir() else self.folder.parent
            place = home.joinpath(*name.split("."))
            inside = package in PACKAGES and name not in self.apart
            candidates = [place.with_suffix(".py"), place / "__init__.py"] if inside else []
            self._paths[name] = next((path for path in candidates if path.is_file()), None)
        return self._paths[name]

    def module(self, name: str) -> Module | None:
        """A module by its dotted name, parsed once; None where the package has none of that name."""
        if name not in self._modules:
            path = self.path_of(name)
            self._modules[name] = self._parsed(name, path) if path is not None else None
        return self._modules[name]

    def _relative(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.folder)).as_posix()

    def _parsed(self, name: str, path: Path) -> Module:
        module = Module(path)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        read = [Statement(node) for node in statements(tree, is_program=name.endswith(".__main__"))]
        parents = name.split(".")[:-1]
        module.at_import |= {
            (".".join(parents[:depth]), AT_IMPORT) for depth in range(1, len(parents) + 1)
        }
        # first what each name of the module stands for, then what the statements use
        defining = [
            statement for statement in read if not self._is_own_import(statement, name, module)
        ]
        for place, statement in enumerate(defining):
            for bound in statement.bound:
                module.places[bound].append(place)
            module.reads_files |= ("__file__", "") in statement.uses
        own_names = {
            bound
            for statement in defining
            if not isinstance(statement.node, IMPORT)
            for bound in statement.bound
        }
        own_names |= module.imported.keys()
        for statement in defining:
            registered = decorators(statement.node) & own_names
            if is_registry(statement.node):  # whoever asks for the closure names the entry
                empty = Definition(
                    statement.node.lineno,
                    sorted(statement.bound),
                    digest="",
                    requests=frozenset(),
                    is_registry=True,
                )
                module.definitions.append(empty)
                continue
            definition = Definition(
                line=statement.node.lineno,
                names=sorted(statement.bound),
                digest=statement.digest,
                requests=frozenset(self._requests(statement, name, module)),
                texts=frozenset(statement.texts),
                runs_at_import=acts(statement.node) or bool(registered),
            )
            module.definitions.append(definition)
        return module

    def _is_own_import(self, statement: Statement, name: str, module: Module) -> bool:
        """Note the imports that run when the module is imported; whether the statement is one of this package's modules."""
        if isinstance(statement.node, NAMED):
            return False
        imports = [
            found for node in statement.imports for found in self._imports(node, name, module.path)
        ]
        for bound, request in imports:
            module.imported[bound] = request
            module.at_import.add(request if bound == EVERYTHING else (request[0], AT_IMPORT))
        return isinstance(statement.node, IMPORT) and bool(imports)

    def _requests(self, statement: Statement, name: str, module: Module) -> Iterator[Request]:
        """What a statement uses."""
        inside: dict[str, Request] = {}
        for node in statement.imports:
            for bound, request in self._imports(node, name, module.path):
                inside[bound] = request
                yield request[0], AT_IMPORT
                if request[1] != EVERYTHING:  # a name, whether it is used or not
                    yield request
        for used, attribute in statement.uses:
            for imported in (inside, module.imported):
                if used in imported:
                    yield self._attribute(imported[used], attribute)
            if used in module.places:
                yield name, used
        if not self.dispatching or not f"{name}.".startswith(f"{self.dispatching}."):
            for text, following in statement.texts.items():
                yield from self.named_in(text, following)

    def _imports(self, node: ast.stmt, name: str, path: Path) -> Iterator[tuple[str, Request]]:
        """What an import binds of this package: a name, and the module or the name of a module behind it."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                if self.path_of(alias.name) is not None:
                    yield alias.asname or alias.name.split(".")[0], (alias.name, EVERYTHING)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, name, path)
            for alias in node.names:
                submodule = f"{source}.{alias.name}"
                if self.path_of(submodule) is not None:
                    yield alias.asname or alias.name, (submodule, EVERYTHING)
                elif self.path_of(source) is not None:
                    yield alias.asname or alias.name, (source, alias.name)

    def _attribute(self, request: Request, attribute: str) -> Request:
        """A name of a module where an attribute of the module is used, else the request as it is."""
        module, wanted = request
        if wanted != EVERYTHING or not attribute:
            return request
        submodule = f"{module}.{attribute}"
        return (
            (submodule, EVERYTHING) if self.path_of(submodule) is not None else (module, attribute)
        )

    def named_in(self, text: str, following: str = "") -> Iterator[Request]:
        """The modules, or functions of one, that a text names."""
        for module, function in IMPORT_TEXT.findall(text):
            yield module, function or EVERYTHING
        absolute = re.split(r"[./]", text)[0] in PACKAGES
        if not (absolute or "/" in text) or not MODULE_TEXT.fullmatch(text):
            return
        module = text.removesuffix(".py").replace("/", ".")
        module = module if absolute else f"longform.{module}"
        if self.path_of(module) is not None:
            yield module, following or EVERYTHING
            return
        module, _, function = module.replace(":", ".").rpartition(".")
        if not text.endswith(f"/{function}") and self.path_of(module) is not None:
            yield module, function


def data_files(module: Module, places: Iterable[int]) -> list[Path]:
    """The data files below a module's folder that its definitions name.

    A text that names a folder stands for all its files, unless one of them is named as well.
    """
    if not module.reads_files:
        return []
    home = module.path.parent
    texts = {text for place in places for text in module.definitions[place].texts}
    files = [
        path for path in home.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    named = [path for path in files if path.name in texts]
    picked_from = {home, *(path.parent for path in named)}
    whole = [path for path in files if path.parent not in picked_from and path.parent.name in texts]
    return sorted(named + whole)


def _absolute(node: ast.ImportFrom, name: str, path: Path) -> str:
    """The dotted name of the module that an import takes names from; leading dots count from the module's own package."""
    if not node.level:
        return node.module or ""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    upwards = package[: len(package) - node.level + 1]
    return ".".join(upwards + ([node.module] if node.module else []))
