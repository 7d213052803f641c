"""Analyse one top-level statement of a source file: what it binds, uses and imports, and a hash.

The hash is that of the syntax tree, so comments, docstrings, layout and position do not change it.
Fields of the tree that are absent or empty are left out, because later versions of Python add some.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

DIGEST_BYTES = 12
DESCRIBING = "parameter"  # longform.settings.parameter, the field of settings
WORDS = ("about", "unit", "source")  # those of its arguments that only describe the field
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
        """Whether a name is bound in this scope, or in one around it, and not in the module."""
        if not self.is_class and name in self.bound:
            return True
        return self.outer is not None and self.outer.binds(name)


class Statement:
    """One top-level statement, read once.

    Attributes:
        bound: the names that it binds in its module.
        uses: the names of its module that it reads, each with the attribute that is taken of it
            (``("np", "array")``), or an empty text.
        imports: the import statements inside it.
        texts: its string literals, each mapped to "", but the first of a call
            ``f("a.module", "name")`` to the second if that is an identifier.
        digest: the hash of its syntax tree.

    Args:
        node: the statement.
    """

    def __init__(self, node: ast.stmt) -> None:
        # 1. One visit of the tree fills all of these.
        self.node = node
        self.bound: set[str] = set()
        self.uses: set[tuple[str, str]] = set()
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.texts: dict[str, str] = {}
        self._pieces: list[str] = []  # the tree in words, of which the digest is taken
        # name, attribute or "", and the scope in which it is read
        self._loads: list[tuple[str, str, Scope | None]] = []
        self._scope: Scope | None = None  # where the visit is; None outside any
        self._visit(node)
        # 2. Names that no scope inside the statement binds are the module's. Only now is it clear,
        # since a scope may bind a name after its use.
        for name, attribute, scope in self._loads:
            if scope is None or not scope.binds(name):
                self.uses.add((name, attribute))
        self.digest = digest(" ".join(self._pieces).encode())

    def _visit(self, node: Any) -> None:
        """Add a node and its parts to the hashed pieces, and note the names that it uses."""
        kind = type(node)
        # 1. The two kinds of nodes that are most frequent.
        if kind is ast.Name:
            self._name(node)
            return
        if kind is ast.Attribute and type(node.value) is ast.Name:
            self._loads.append((node.value.id, node.attr, self._scope))
            self._pieces += ["Attribute", node.value.id, node.attr, type(node.ctx).__name__]
            return
        # 2. What the node says itself.
        if kind in NOTED:
            self._note(node)
        if kind is ast.Call and type(node.func) is ast.Name and node.func.id == DESCRIBING:
            node = _without_words(node)
        # 3. Its parts, each in its scope.
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
        """Visit a part of a node: a plain value is added as it is, a docstring is left out."""
        if not isinstance(part, ast.AST):
            self._pieces.append(repr(part))
        elif type(part) is not ast.Expr or not is_docstring(part):
            self._visit(part)

    def _note(self, node: ast.AST) -> None:
        """Note what a node itself binds, imports or names, before its parts are visited."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                self.texts.setdefault(node.value, "")
        elif isinstance(node, ast.Call):
            self._arguments(node)
        elif isinstance(node, IMPORT):
            self.imports.append(node)
            if self._scope is None:
                for alias in node.names:
                    self.bound.add(alias.asname or alias.name.split(".")[0])
        elif isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                self.uses.add((name, ""))
        elif isinstance(node, NAMED):
            self._bind(node.name)
        elif isinstance(node, COMPREHENSION):
            # The one part of it that belongs to the scope around it.
            self._visit(node.generators[0].iter)

    def _scope_of(self, node: ast.AST, name: str) -> Scope | None:
        """The scope in which a part of a node is evaluated.

        The body of a function or class has a new scope; decorators, defaults and annotations are in
        the scope around it.

        Args:
            node: a function, class, lambda or comprehension.
            name: of the field that holds the part.
        """
        if isinstance(node, COMPREHENSION):
            return self._comprehension_scope(node)
        if name != "body" or not isinstance(node, NAMED | ast.Lambda):
            return self._scope
        scope = Scope(self._scope, is_class=isinstance(node, ast.ClassDef))
        if not isinstance(node, ast.ClassDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            for argument in (*arguments, node.args.vararg, node.args.kwarg):
                if argument is not None:
                    scope.bound.add(argument.arg)
        return scope

    def _comprehension_scope(self, node: Any) -> Scope:
        """A scope for all parts of a comprehension, with its targets bound beforehand.

        The element, which uses the targets, is visited before them.
        """
        scope = Scope(self._scope)
        for generator in node.generators:
            for part in ast.walk(generator.target):
                if isinstance(part, ast.Name):
                    scope.bound.add(part.id)
        return scope

    def _bind(self, name: str) -> None:
        """Note a name that is bound in the scope where the visit is."""
        if self._scope is None:
            self.bound.add(name)
        else:
            self._scope.bound.add(name)

    def _name(self, node: ast.Name) -> None:
        """Note that a name is bound or used."""
        if type(node.ctx) is ast.Store:
            self._bind(node.id)
        else:
            self._loads.append((node.id, "", self._scope))
        self._pieces += ["Name", node.id, type(node.ctx).__name__]

    def _arguments(self, node: ast.Call) -> None:
        """Note in ``texts`` what a call names by two literals side by side: a module and a name.

        ``function("decoding/completions", "generate")`` imports only when it is called, so that no
        import says which code the statement depends on; the pair of texts does.
        """
        for argument, following in zip(node.args, node.args[1:], strict=False):
            module = literal_text(argument)
            name = literal_text(following)
            if module is not None and name is not None and name.isidentifier():
                self.texts[module] = name


def statements(tree: ast.Module, is_program: bool) -> Iterator[ast.stmt]:
    """Yield the top-level statements of a module that run.

    Blocks for type checkers are left out, and so is the block ``if __name__ == "__main__"`` unless
    ``is_program``. An import of several names is yielded as one import for each.
    """
    for node in tree.body:
        if isinstance(node, ast.If):
            condition = ast.unparse(node.test)
            if condition in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                continue
            if condition == "__name__ == '__main__'" and not is_program:
                continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield ast.Import(names=[alias], lineno=node.lineno)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield ast.ImportFrom(
                    module=node.module, names=[alias], level=node.level, lineno=node.lineno
                )
        elif not is_docstring(node):
            yield node


def acts(node: ast.stmt) -> bool:
    """Whether a statement does more than bind names when its module is imported."""
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
    for target in targets:
        if any(isinstance(part, ast.Attribute | ast.Subscript) for part in ast.walk(target)):
            return True
    return False


def decorators(node: ast.stmt) -> set[str]:
    """The first names of a definition's decorators: ``numba`` for ``@numba.njit(cache=True)``."""
    names = set()
    for decorator in getattr(node, "decorator_list", ()):
        root = decorator
        while isinstance(root, ast.Call | ast.Attribute):
            root = root.func if isinstance(root, ast.Call) else root.value
        if isinstance(root, ast.Name):
            names.add(root.id)
    return names


def _without_words(node: ast.Call) -> ast.Call:
    """A call of ``parameter`` without the arguments that only describe the field to readers."""
    keywords = [keyword for keyword in node.keywords if keyword.arg not in WORDS]
    return ast.Call(func=node.func, args=node.args[1:], keywords=keywords)


def is_registry(node: ast.stmt) -> bool:
    """Whether a statement is a registry: a name annotated ``dict[str, type[...]]``.

    Parameters choose its entries.
    """
    if not isinstance(node, ast.AnnAssign):
        return False
    return ast.unparse(node.annotation).startswith("dict[str, type[")


def is_docstring(node: ast.AST) -> bool:
    """Whether a statement is nothing but a string literal."""
    return isinstance(node, ast.Expr) and literal_text(node.value) is not None


def literal_text(node: ast.AST) -> str | None:
    """The value of a string literal; None for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def digest(content: bytes) -> str:
    """A short hash, in hexadecimal."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
