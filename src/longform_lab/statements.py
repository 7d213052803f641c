"""What one top-level statement of a source file binds, uses and imports, and a hash of its syntax tree.

The hash knows no comment, docstring, layout or position. Fields of the tree that are absent or empty
are left out, because later versions of Python add some.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

DIGEST_BYTES = 12
DESCRIBING = "parameter"  # longform.settings.parameter, the field of settings
WORDS = ("about", "unit", "source")  # of its arguments, what is said to readers
NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
IMPORT = ast.Import | ast.ImportFrom
SCOPED = {*get_args(NAMED), *get_args(COMPREHENSION), ast.Lambda}
NOTED = {*SCOPED, *get_args(IMPORT), ast.Constant, ast.Call, ast.Global, ast.Nonlocal}


@dataclass
class Scope:
    """A function, class or comprehension inside a statement."""

    outer: "Scope | None"
    is_class: bool = False  # whose names its methods do not see
    bound: set[str] = field(default_factory=set)

    def binds(self, name: str) -> bool:
        """Whether a name means something of this scope, or of one around it, and not of the module."""
        own = not self.is_class and name in self.bound
        return own or (self.outer is not None and self.outer.binds(name))


class Statement:
    """One top-level statement, read once.

    Attributes:
        bound: the names that it binds in its module.
        uses: the names of its module that it reads, each with the attribute that is taken of it
            (``("np", "array")``), or an empty text.
        imports: the import statements inside it.
        texts: its literals, each with the literal that follows it in a call where that is a name.
        digest: the hash of its syntax tree.
    """

    def __init__(self, node: ast.stmt) -> None:
        self.node = node
        self.bound: set[str] = set()
        self.uses: set[tuple[str, str]] = set()
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.texts: dict[str, str] = {}
        self._pieces: list[str] = []
        self._loads: list[tuple[str, str, Scope | None]] = []
        self._scope: Scope | None = None
        self._visit(node)
        for name, attribute, scope in self._loads:
            if scope is None or not scope.binds(name):
                self.uses.add((name, attribute))
        self.digest = digest(" ".join(self._pieces).encode())

    def _visit(self, node: Any) -> None:
        """Write a node down, and note names by the scope in which they stand."""
        kind = type(node)
        if kind is ast.Name:
            self._name(node)
            return
        if kind is ast.Attribute and type(node.value) is ast.Name:
            self._loads.append((node.value.id, node.attr, self._scope))
            self._pieces += ["Attribute", node.value.id, node.attr, type(node.ctx).__name__]
            return
        if kind in NOTED:
            self._note(node)
        if kind is ast.Call and type(node.func) is ast.Name and node.func.id == DESCRIBING:
            node = _without_words(node)
        self._pieces.append(kind.__name__)
        values = node.__dict__
        for name in kind._fields:
            value = values.get(name)
            if value is None or value == [] or name == "kind":
                continue
            self._pieces.append(name)
            outer = self._scope
            if kind in SCOPED:
                self._scope = self._scope_of(node, name)
            if type(value) is not list:
                self._part(value)
            else:
                for part in value:
                    self._part(part)
            self._scope = outer
        self._pieces.append(")")

    def _part(self, part: Any) -> None:
        if not isinstance(part, ast.AST):
            self._pieces.append(repr(part))
        elif type(part) is not ast.Expr or not is_docstring(part):
            self._visit(part)

    def _note(self, node: ast.AST) -> None:
        """What a node says beside its parts."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                self.texts.setdefault(node.value, "")
        elif isinstance(node, ast.Call):
            self._arguments(node)
        elif isinstance(node, IMPORT):
            self.imports.append(node)
            if self._scope is None:
                self.bound |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Global | ast.Nonlocal):
            self.uses |= {(name, "") for name in node.names}
        elif isinstance(node, NAMED):
            self._bind(node.name)
        elif isinstance(node, COMPREHENSION):
            self._visit(node.generators[0].iter)  # the one part that belongs to the scope around it

    def _scope_of(self, node: ast.AST, name: str) -> Scope | None:
        """The scope of a part of a node: a body has its own, decorators, defaults and annotations have not."""
        if isinstance(node, COMPREHENSION):
            return self._comprehension_scope(node)
        if name != "body" or not isinstance(node, NAMED | ast.Lambda):
            return self._scope
        scope = Scope(self._scope, is_class=isinstance(node, ast.ClassDef))
        if not isinstance(node, ast.ClassDef):
            every = [
                *node.args.posonlyargs,
                *node.args.args,
                *node.args.kwonlyargs,
                node.args.vararg,
                node.args.kwarg,
            ]
            scope.bound |= {argument.arg for argument in every if argument is not None}
        return scope

    def _comprehension_scope(self, node: Any) -> Scope:
        """One scope for all parts of a comprehension, whose targets may stand behind what uses them."""
        targets = [generator.target for generator in node.generators]
        names = {
            part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
        }
        return Scope(self._scope, bound=names)

    def _bind(self, name: str) -> None:
        (self.bound if self._scope is None else self._scope.bound).add(name)

    def _name(self, node: ast.Name) -> None:
        if type(node.ctx) is ast.Store:
            self._bind(node.id)
        else:
            self._loads.append((node.id, "", self._scope))
        self._pieces += ["Name", node.id, type(node.ctx).__name__]

    def _arguments(self, node: ast.Call) -> None:
        """Note which literal follows which: ``function(place, "decoding/completions", "generate")``."""
        for argument, following in zip(node.args, node.args[1:], strict=False):
            if is_text(argument) and is_text(following) and following.value.isidentifier():  # type: ignore[attr-defined]
                self.texts[argument.value] = following.value  # type: ignore[attr-defined]


def statements(tree: ast.Module, is_program: bool) -> Iterator[ast.stmt]:
    """Top-level statements that run: none for type checkers, none that a program alone runs in a module that is none.

    An import of several names comes as one statement for each, so that each can be used by itself.
    """
    for node in tree.body:
        if isinstance(node, ast.If):
            condition = ast.unparse(node.test)
            if condition in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                continue
            if condition == "__name__ == '__main__'" and not is_program:
                continue
        if isinstance(node, ast.Import):
            yield from (ast.Import(names=[alias], lineno=node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield ast.ImportFrom(
                    module=node.module, names=[alias], level=node.level, lineno=node.lineno
                )
        elif not is_docstring(node):
            yield node


def acts(node: ast.stmt) -> bool:
    """Whether a statement does more at import than bind names."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    if isinstance(node, NAMED | ast.Import):
        return False
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    else:
        return not isinstance(node, getattr(ast, "TypeAlias", ()))
    parts = [part for target in targets for part in ast.walk(target)]
    return any(isinstance(part, ast.Attribute | ast.Subscript) for part in parts)


def decorators(node: ast.stmt) -> set[str]:
    """The names with which the decorators of a definition begin: ``numba`` of ``@numba.njit(cache=True)``."""
    names = set()
    for decorator in getattr(node, "decorator_list", ()):
        root = decorator
        while isinstance(root, ast.Call | ast.Attribute):
            root = root.func if isinstance(root, ast.Call) else root.value
        if isinstance(root, ast.Name):
            names.add(root.id)
    return names


def _without_words(node: ast.Call) -> ast.Call:
    """The call that makes a field of settings, without what describes the field: a docstring in all but place."""
    keywords = [keyword for keyword in node.keywords if keyword.arg not in WORDS]
    return ast.Call(func=node.func, args=node.args[1:], keywords=keywords)


def is_registry(node: ast.stmt) -> bool:
    """Whether a statement is a registry: a name annotated ``dict[str, type[...]]``, whose entries parameters choose."""
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).startswith(
        "dict[str, type["
    )


def is_docstring(node: ast.AST) -> bool:
    """Whether a statement is a text alone."""
    return isinstance(node, ast.Expr) and is_text(node.value)


def is_text(node: ast.AST) -> bool:
    """Whether an expression is a literal text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def digest(content: bytes) -> str:
    """A short hash."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
