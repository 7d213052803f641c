"""Find the code that a function may run by parsing source files, without importing any.

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
- A registry, a name annotated ``dict[str, type[...]]``, stands for none of its entries: the caller
  names the class that the parameters choose.
- A definition under a decorator of the package's own counts as run at import: it may be registered.
- A module that mentions ``__file__`` reads the data files of its folder that it names. Of a YAML
  file its values count, in their order, and no comment.
"""

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from longform.files.yaml_dialect import YamlReader
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
Closure = dict[str, set[int]]  # numbers of a module's definitions, by its dotted name


@dataclass
class Definition:
    """One top-level statement of a module."""

    line: int  # its first line
    names: list[str]  # the names that it binds
    digest: str  # a hash of its syntax tree
    requests: frozenset[Request]  # the names that it uses, of its own module and of others
    texts: frozenset[str] = frozenset()  # its string literals
    runs_at_import: bool = False
    is_registry: bool = False  # a registry stands for no code: parameters choose its entries


@dataclass
class Module:
    """One source file."""

    path: Path
    definitions: list[Definition] = field(default_factory=list)
    # For each name the indices of the definitions that bind it.
    binding: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    # For each name bound by an import what it stands for.
    imported: dict[str, Request] = field(default_factory=dict)
    at_import: set[Request] = field(default_factory=set)  # what importing it also imports
    reads_files: bool = False  # whether it mentions ``__file__``


class SourceTree:
    """The source files of the packages, each parsed when it is first reached."""

    def __init__(self, folder: Path, dispatching: str = "", apart: Iterable[str] = ()) -> None:
        """Open the packages.

        Args:
            folder: the folder that holds the packages' folders (``src``); those that are not in it
                lie beside it.
            dispatching: modules below this dotted name call functions that settings name. The
                caller of :meth:`closure` adds these itself, so texts in such modules are not
                followed.
            apart: modules that are left out of every closure, with what they alone import.
        """
        self.folder = folder
        self.apart = frozenset(apart)
        self.dispatching = dispatching
        self._modules: dict[str, Module | None] = {}
        self._paths: dict[str, Path | None] = {}
        self._data_digests: dict[Path, str] = {}
        self._relative_paths: dict[Path, str] = {}
        self._data_below: dict[Path, list[Path]] = {}

    def closure(self, starts: Iterable[Request]) -> Closure:
        """The definitions that may run where functions are called.

        Args:
            starts: the functions; requests of unknown modules are ignored.

        Returns:
            For each module that is reached the indices of its definitions.
        """
        closure: Closure = {}
        seen: set[Request] = set()
        waiting = list(starts)
        while waiting:
            request = waiting.pop()
            if request in seen:
                continue
            seen.add(request)
            name, wanted_name = request
            module = self.module(name)
            if module is None:
                continue
            numbers: set[int] = set()
            # 1. The first time that a module is reached: what its import runs.
            if name not in closure:
                closure[name] = set()
                waiting += module.at_import
                for number, definition in enumerate(module.definitions):
                    if definition.runs_at_import:
                        numbers.add(number)
            # 2. What the request names: all of the module, a name that it binds or imports, or a
            #    name that it does not have, which stands for all of it.
            if wanted_name == EVERYTHING:
                waiting += module.imported.values()
                numbers.update(range(len(module.definitions)))
            elif wanted_name in module.binding or wanted_name in module.imported:
                numbers.update(module.binding.get(wanted_name, []))
                if wanted_name in module.imported:
                    waiting.append(module.imported[wanted_name])
            elif wanted_name != AT_IMPORT:
                waiting.append((name, EVERYTHING))
            # 3. What these definitions use in their turn.
            for number in numbers - closure[name]:
                definition = module.definitions[number]
                if not definition.is_registry:
                    closure[name].add(number)
                    waiting += definition.requests
        return closure

    def hashes(self, closure: Closure) -> dict[str, str]:
        """A hash for each source file and data file of a closure, by its path from the folder."""
        hashes: dict[str, str] = {}
        for name, numbers in closure.items():
            module = self.module(name)
            if module is None or not numbers:
                continue
            digests = [module.definitions[number].digest for number in sorted(numbers)]
            hashes[self._relative(module.path)] = digest(" ".join(digests).encode())
            if module.reads_files:
                for path in data_files(module, numbers, self._data(module.path.parent)):
                    hashes[self._relative(path)] = self._data_digest(path)
        return dict(sorted(hashes.items()))

    def _data_digest(self, path: Path) -> str:
        """A hash of a data file, read once: of its values where it is YAML, else of its bytes."""
        if path not in self._data_digests:
            content = path.read_bytes()
            if path.suffix == ".yaml":
                content = repr(yaml.load(content, YamlReader)).encode()
            self._data_digests[path] = digest(content)
        return self._data_digests[path]

    def path_of(self, name: str) -> Path | None:
        """The file of a module or package by its dotted name; None where there is none."""
        if name not in self._paths:
            self._paths[name] = self._find(name)
        return self._paths[name]

    def _find(self, name: str) -> Path | None:
        """The file of a module of the sources; None where it is none or is kept apart."""
        package = name.split(".")[0]
        if package not in PACKAGES or name in self.apart:
            return None
        home = self.folder if (self.folder / package).is_dir() else self.folder.parent
        path = home.joinpath(*name.split("."))
        for candidate in (path.with_suffix(".py"), path / "__init__.py"):
            if candidate.is_file():
                return candidate
        return None

    def module(self, name: str) -> Module | None:
        """A module by its dotted name, parsed once.

        None where the package has none of that name.
        """
        if name not in self._modules:
            path = self.path_of(name)
            self._modules[name] = self._parsed(name, path) if path is not None else None
        return self._modules[name]

    def _data(self, folder: Path) -> list[Path]:
        """Files below a folder that are no source, listed once."""
        if folder not in self._data_below:
            files = []
            for path in folder.rglob("*"):
                if path.suffix not in (".py", ".pyc") and path.is_file():
                    files.append(path)
            self._data_below[folder] = files
        return self._data_below[folder]

    def _relative(self, path: Path) -> str:
        if path not in self._relative_paths:
            relative = os.path.relpath(path, self.folder)
            self._relative_paths[path] = Path(relative).as_posix()
        return self._relative_paths[path]

    def _parsed(self, name: str, path: Path) -> Module:
        """Parse a source file: its names, what they stand for, and what its statements use."""
        module = Module(path)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        is_program = name.endswith(".__main__")
        # Importing a module imports its packages first.
        parents = name.split(".")[:-1]
        for depth in range(len(parents)):
            module.at_import.add((".".join(parents[: depth + 1]), AT_IMPORT))

        # 1. What each name of the module stands for.
        defining: list[Statement] = []
        own_names: set[str] = set()
        for node in statements(tree, is_program=is_program):
            statement = Statement(node)
            if self._is_own_import(statement, name, module):
                continue
            for bound in statement.bound:
                module.binding[bound].append(len(defining))
            module.reads_files |= ("__file__", "") in statement.uses
            if not isinstance(node, IMPORT):
                own_names |= statement.bound
            defining.append(statement)
        own_names |= module.imported.keys()

        # 2. What the statements use.
        for statement in defining:
            module.definitions.append(self._definition(statement, own_names, name, module))
        return module

    def _definition(
        self, statement: Statement, own_names: set[str], name: str, module: Module
    ) -> Definition:
        """The definition of a statement: what it binds and all that it uses.

        Args:
            statement: of the module.
            own_names: names that the module binds itself or imports from the packages.
            name: of the module, dotted.
            module: the module, whose imports are known.
        """
        line, names = statement.node.lineno, sorted(statement.bound)
        if is_registry(statement.node):  # who asks for the closure names the entry
            return Definition(line, names, digest="", requests=frozenset(), is_registry=True)
        may_be_registered = bool(decorators(statement.node) & own_names)
        return Definition(
            line=line,
            names=names,
            digest=statement.digest,
            requests=frozenset(self._requests(statement, name, module)),
            texts=frozenset(statement.texts),
            runs_at_import=acts(statement.node) or may_be_registered,
        )

    def _is_own_import(self, statement: Statement, name: str, module: Module) -> bool:
        """Add a statement's imports of the packages to the module's.

        Imports inside functions and classes are left out: they do not run at import.

        Returns:
            Whether the statement is nothing but an import from the packages.
        """
        if isinstance(statement.node, NAMED):
            return False
        count = 0
        for node in statement.imports:
            for bound, request in self._imports(node, name, module.path):
                module.imported[bound] = request
                module.at_import.add(request if bound == EVERYTHING else (request[0], AT_IMPORT))
                count += 1
        return isinstance(statement.node, IMPORT) and count > 0

    def _requests(self, statement: Statement, name: str, module: Module) -> Iterator[Request]:
        """Yield the requests of a statement: all names that it uses.

        Args:
            statement: of the module.
            name: of the module, dotted.
            module: the module, whose names are known.
        """
        # 1. Its own imports, such as those inside a function.
        inside: dict[str, Request] = {}
        for node in statement.imports:
            for bound, request in self._imports(node, name, module.path):
                inside[bound] = request
                yield request[0], AT_IMPORT
                if request[1] != EVERYTHING:  # a name, whether it is used or not
                    yield request
        # 2. The names that it uses.
        for used, attribute in statement.uses:
            for imported in (inside, module.imported):
                if used in imported:
                    yield self._attribute(imported[used], attribute)
            if used in module.binding:
                yield name, used
        # 3. What its texts name, unless the module calls what settings name.
        if not self.dispatching or not f"{name}.".startswith(f"{self.dispatching}."):
            for text, following in statement.texts.items():
                yield from self.named_in(text, following)

    def _imports(self, node: ast.stmt, name: str, path: Path) -> Iterator[tuple[str, Request]]:
        """Yield each name that an import binds, with the request that it stands for.

        Imports of other packages are left out.

        Args:
            node: the import.
            name: of the module that has it, dotted.
            path: of that module's file.
        """
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
        """Narrow a request of a whole module to the attribute of it that is used, if any."""
        module, name = request
        if name != EVERYTHING or not attribute:
            return request
        submodule = f"{module}.{attribute}"
        if self.path_of(submodule) is not None:
            return submodule, EVERYTHING
        return module, attribute

    def named_in(self, text: str, following: str = "") -> Iterator[Request]:
        """Yield requests of the modules, or the functions in them, that a text literal names.

        Args:
            text: the literal.
            following: the next argument of the same call, if it is a text: it may name a function.
        """
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


def data_files(module: Module, numbers: Iterable[int], candidates: Iterable[Path]) -> list[Path]:
    """The data files below a module's folder that its definitions name.

    A text that names a folder stands for all its files, unless one of them is named as well.

    Args:
        module: a module that reads files.
        numbers: indices of its definitions.
        candidates: the files below its folder that are no source.
    """
    texts: set[str] = set()
    for number in numbers:
        texts |= module.definitions[number].texts
    home = module.path.parent
    # Files that a text names, and the others.
    files: list[Path] = []
    named: list[Path] = []
    for path in candidates:
        (named if path.name in texts else files).append(path)
    folders_with_named = {home, *(path.parent for path in named)}
    of_named_folders = []
    for path in files:
        if path.parent not in folders_with_named and path.parent.name in texts:
            of_named_folders.append(path)
    return sorted(named + of_named_folders)


def _absolute(node: ast.ImportFrom, name: str, path: Path) -> str:
    """The dotted name of the module that an import takes names from.

    Args:
        node: the import; its leading dots count from the module's own package.
        name: of the module that has it, dotted.
        path: of that module's file.
    """
    if not node.level:
        return node.module or ""
    package = name.split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    parts = package[: len(package) - node.level + 1]
    if node.module:
        parts.append(node.module)
    return ".".join(parts)
