"""Small changes of a program, found in its syntax tree: what a test suite ought to notice.

Wording is left alone (strings, error sentences, docstrings, annotations, ``print`` and logs,
``__repr__``), and so is what no result can show: decorators, the looks of a figure (``LOOKS``), and
keywords that guard or repeat a default (``GUARDS``).
"""

import ast
import copy
import hashlib
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitXor: ast.BitOr, ast.MatMult: ast.Mult,
}  # fmt: skip
SYMMETRIC = {"isinstance", "max", "min"}  # swapped arguments are an error of Python, or no change
SYMMETRIC |= {"maximum", "minimum", "logaddexp", "array_equal"}  # of numpy or torch
SYMMETRIC |= {"hypot", "not_equal", "union1d", "intersect1d", "transpose", "wasserstein_distance"}
SPEECH = {"print", "warn", "debug", "info", "warning", "error", "exception"}
SPEECH |= {"set_title", "set_xlabel", "set_ylabel", "suptitle", "supxlabel", "supylabel"}
LOOKS = {
    "alpha",
    "color",
    "dpi",
    "fontsize",
    "labelsize",
    "labeltop",
    "linewidth",
    "lw",
    "markersize",
}
LOOKS |= {"minor", "zorder", "markerfacecolor", "markeredgecolor", "facecolor", "edgecolor"}
LOOKS |= {"linestyle", "ha", "va", "pad", "labelpad"}
GUARDS = {"encoding", "strict", "help", "repr", "verbosity", "verbose"}
GUARDS |= {"allow_nan", "allow_pickle"}
GUARDS |= {"device"}  # without a GPU every tensor is where it ought to be
GUARDS |= {"description", "prog", "metavar"}  # what a command line says of itself


@dataclass(frozen=True)
class Mutation:
    """One change: bytes ``start`` to ``end`` of a file of ``src`` become ``code``."""

    path: str
    function: str  # its qualified name; empty outside functions and classes
    digest: str  # of that function's syntax tree, without its docstring
    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int
    code: str
    once: bool = False  # the function keeps its first result: other tests of a process get that

    @property
    def key(self) -> tuple[str, ...]:
        return (self.path, self.function, self.digest, self.before, self.after)

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.code.encode() + source[self.end :]


def mutations(source: Path) -> list[Mutation]:
    """All mutations of the packages of a folder, in the order of its files and of their lines."""
    changes = []
    for path in sorted(source.rglob("*.py")):
        changes += file_mutations(path.read_bytes(), path.relative_to(source).as_posix())
    return changes


def file_mutations(source: bytes, path: str) -> list[Mutation]:
    """All mutations of one file that leave a program."""
    tree = ast.parse(source)
    search = _Search(source, path)
    search.block(tree.body, "", tree)
    return sorted(search.changes, key=lambda change: (change.line, change.start, change.code))


def digest(node: ast.AST) -> str:
    """Twelve digits of a function's code, blind to comments, lines and its docstring."""
    code = copy.deepcopy(node)
    body = getattr(code, "body", [])
    if body and _is_docstring(body[0]):
        body[:] = body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.dump(code).encode()).hexdigest()[:12]


def _keeps_its_result(node: ast.AST) -> bool:
    """Whether ``functools.cache`` or its kin decorates a function."""
    decorators = getattr(node, "decorator_list", [])
    return any("cache" in ast.unparse(decorator) for decorator in decorators)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_none_or_false(node: ast.AST | None) -> bool:
    """Whether None in its place would hardly differ; ``False`` is changed to ``True`` instead."""
    if node is None:
        return True
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _is_speech(node: ast.AST) -> bool:
    """Whether a statement only prints or logs."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    function = node.value.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in SPEECH


class _Search:
    """Walks one file and gathers its changes."""

    def __init__(self, source: bytes, path: str) -> None:
        self.source, self.path = source, path
        self.changes: list[Mutation] = []
        self.line_starts = [0]
        for line in source.splitlines(keepends=True):
            self.line_starts.append(self.line_starts[-1] + len(line))
        self.function, self.digest, self.once = "", "", False

    # statements

    def block(self, statements: list[ast.stmt], name: str, owner: ast.AST) -> None:
        """The statements of a module, class or function of this qualified name."""
        outside = self.function, self.digest, self.once
        self.function = name
        self.digest = digest(owner) if name else ""
        self.once = self.once or _keeps_its_result(owner)
        for statement in statements:
            self.statement(statement)
        self.function, self.digest, self.once = outside

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.definition(node)
            return
        if _is_docstring(node) or _is_speech(node) or isinstance(node, ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.If | ast.While):
            self.change(node.test, f"not ({self.text(node.test)})", "negated condition")
        if isinstance(node, ast.Return) and not _is_none_or_false(node.value):
            self.change(node, "return None", "returned value")
        if isinstance(node, ast.Break | ast.Continue):
            other = "continue" if isinstance(node, ast.Break) else "break"
            self.change(node, other, "break and continue")
        if self.is_removable(node):
            self.change(node, "pass", "removed statement")
        if isinstance(node, ast.AugAssign):
            self.swap_operator(node)
        if isinstance(node, ast.Raise):
            return  # the sentence is wording
        self.children(node)

    def definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if node.name in ("__repr__", "__str__"):
            return
        name = f"{self.function}.{node.name}".lstrip(".")
        if not isinstance(node, ast.ClassDef):
            outside = self.function, self.digest
            self.function, self.digest = name, digest(node)
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self.expression(default)
            self.function, self.digest = outside
        self.block(node.body, name, node)

    def is_removable(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Call | ast.Await)
        if isinstance(node, ast.Assign):
            targets = (ast.Attribute, ast.Subscript)
            return isinstance(node.targets[0], targets)
        return isinstance(node, ast.AugAssign | ast.Raise | ast.Delete)

    # expressions

    def children(self, node: ast.AST) -> None:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "msg", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.stmt):
                    self.statement(child)
                elif isinstance(child, ast.AST):
                    self.expression(child)

    def expression(self, node: ast.AST) -> None:
        if isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, ast.keyword) and node.arg in LOOKS | GUARDS:
            return
        if isinstance(node, ast.Constant):
            self.constant(node)
        elif isinstance(node, ast.Compare):
            self.comparison(node)
        elif isinstance(node, ast.BinOp):
            if not (_is_text(node.left) or _is_text(node.right)):
                self.swap_operator(node)
        elif isinstance(node, ast.BoolOp):
            changed = copy.deepcopy(node)
            changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            self.change(node, f"({ast.unparse(changed)})", "and, or")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            self.change(node, f"({self.text(node.operand)})", "dropped sign or not")
        elif isinstance(node, ast.Call):
            self.call(node)
        elif isinstance(node, ast.IfExp):
            self.change(node.test, f"(not ({self.text(node.test)}))", "negated condition")
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                self.change(test, f"(not ({self.text(test)}))", "negated condition")
        self.children(node)

    def constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.change(node, str(not node.value), "constant")
        elif isinstance(node.value, int):
            self.change(node, f"{node.value + 1}", "constant")
        elif isinstance(node.value, float):
            self.change(node, f"{node.value * 1.5 if node.value else 1.0!r}", "constant")

    def comparison(self, node: ast.Compare) -> None:
        for place, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[place] = COMPARISONS[type(operator)]()
            self.change(node, f"({ast.unparse(changed)})", "comparison")

    def swap_operator(self, node: ast.BinOp | ast.AugAssign) -> None:
        changed = copy.deepcopy(node)
        changed.op = ARITHMETIC[type(node.op)]()
        code = ast.unparse(changed)
        self.change(node, code if isinstance(node, ast.AugAssign) else f"({code})", "arithmetic")

    def call(self, node: ast.Call) -> None:
        named = getattr(node.func, "id", getattr(node.func, "attr", ""))
        pairs = [] if named in SYMMETRIC else zip(node.args, node.args[1:], strict=False)
        for place, (first, second) in enumerate(pairs):
            if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
                continue
            changed = copy.deepcopy(node)
            arguments = changed.args
            arguments[place], arguments[place + 1] = arguments[place + 1], arguments[place]
            if ast.dump(first) == ast.dump(second):
                continue
            self.change(node, ast.unparse(changed), "swapped arguments")
        for place, keyword in enumerate(node.keywords):
            if keyword.arg is not None and keyword.arg not in LOOKS | GUARDS:
                changed = copy.deepcopy(node)
                del changed.keywords[place]
                self.change(node, ast.unparse(changed), "dropped keyword")

    # the change itself

    def text(self, node: ast.AST) -> str:
        start, end = self.place(node)
        return self.source[start:end].decode()

    def place(self, node: ast.AST) -> tuple[int, int]:
        start = self.line_starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.line_starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def change(self, node: ast.AST, code: str, kind: str) -> None:
        start, end = self.place(node)
        line = node.lineno  # type: ignore[attr-defined]
        last = node.end_lineno  # type: ignore[attr-defined]
        from_, to = self.line_starts[line - 1], self.line_starts[last]
        before = self.source[from_:to].decode()
        after = (self.source[from_:start] + code.encode() + self.source[end:to]).decode()
        before, after = " ".join(before.split()), " ".join(after.split())
        if before == after:
            return
        place = (self.path, self.function, self.digest, line)
        change = Mutation(*place, kind, before, after, start, end, code, self.once)
        self.changes.append(change)
