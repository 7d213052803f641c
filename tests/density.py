"""How dense Python source is, whatever its formatting, and the budget that finished rooms keep.

Counts are taken from syntax trees; a docstring is no statement. ``python -m tests.shape`` prints a
line for each folder of the packages.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
EXPRESSIONS = (ast.expr, ast.comprehension, ast.keyword)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Names that say nothing of the thing they name.
WEAK_NAMES = frozenset(
    [
        "found",
        "told",
        "kept",
        "given",
        "drawn",
        "held",
        "asked",
        "said",
        "there",
        "whole",
        "place",
        "places",
        "own",
        "ones",
        "least",
        "most",
        "meant",
        "wanted",
        "listed",
        "known",
        "judged",
        "counted",
        "read",
        "written",
    ]
)
LINE_LENGTH = 100  # characters
SHORT_FUNCTION = 15  # statements; a longer function says its steps in comments


@dataclass(frozen=True)
class Density:
    """Measures of the modules below a folder.

    Attributes:
        statements: how many there are.
        nodes_mean, nodes_median: expression nodes in a statement, its body left out.
        comprehensions, nested: of 100 statements; nested ones hold another or loop twice.
        weak_names: of 100 assignments to a name, those to one of ``WEAK_NAMES``.
        long_lines: lines over ``LINE_LENGTH``.
        unexplained: functions over ``SHORT_FUNCTION`` statements without a comment.
        unformatted: places where the formatter is switched off.
    """

    statements: int
    nodes_mean: float
    nodes_median: int
    comprehensions: float
    nested: float
    weak_names: float
    long_lines: int
    unexplained: tuple[str, ...]
    unformatted: int


# What a finished room may have at most; ``python -m tests.shape`` names what exceeds it.
BUDGET = {
    "nodes_mean": 7.2,
    "nodes_median": 6,
    "comprehensions": 4.0,
    "nested": 0.2,
    "weak_names": 0.3,
    "long_lines": 0,
    "unformatted": 0,
}


@dataclass(frozen=True)
class Counts:
    """What one module has; a room's density is made of its modules' counts."""

    nodes: tuple[int, ...]  # of each statement
    comprehensions: int
    nested: int
    assignments: int
    weak_names: int
    long_lines: int
    unexplained: tuple[str, ...]
    unformatted: int


def measure(folder: Path) -> Density:
    """Density of all modules below a folder."""
    return measure_files(sorted(folder.rglob("*.py")))


def measure_files(paths: Sequence[Path]) -> Density:
    """Density of modules."""
    modules = [counted(path.name, path.read_text("utf-8")) for path in paths]
    nodes: list[int] = []
    unexplained: list[str] = []
    for module in modules:
        nodes += module.nodes
        unexplained += module.unexplained
    nodes.sort()
    per_hundred = 100 / max(len(nodes), 1)
    assignments = sum(module.assignments for module in modules)
    return Density(
        statements=len(nodes),
        nodes_mean=fmean(nodes) if nodes else 0.0,
        nodes_median=nodes[len(nodes) // 2] if nodes else 0,
        comprehensions=sum(module.comprehensions for module in modules) * per_hundred,
        nested=sum(module.nested for module in modules) * per_hundred,
        weak_names=100 * sum(module.weak_names for module in modules) / max(assignments, 1),
        long_lines=sum(module.long_lines for module in modules),
        unexplained=tuple(unexplained),
        unformatted=sum(module.unformatted for module in modules),
    )


@cache
def counted(name: str, text: str) -> Counts:
    """The counts of a module by its file's name and text; a module stands in several rooms."""
    nodes: dict[ast.stmt, int] = {}  # expression nodes of each statement, docstrings left out
    functions: list[ast.AST] = []
    strings: list[ast.expr] = []
    comprehensions = nested = assignments = weak = 0
    # Each node with the innermost statement that holds it.
    waiting: list[tuple[ast.AST, ast.stmt | None]] = [(ast.parse(text), None)]
    while waiting:
        node, statement = waiting.pop()
        if isinstance(node, ast.stmt):
            statement = node
            if not _is_docstring(node):
                nodes[node] = 0
        elif isinstance(node, EXPRESSIONS) and statement in nodes:
            nodes[statement] += 1
        if isinstance(node, COMPREHENSIONS):
            comprehensions += 1
            nested += is_nested(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assignments += 1
            weak += node.id in WEAK_NAMES
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            strings.append(node)
        elif isinstance(node, FUNCTIONS):
            functions.append(node)
        waiting.extend((child, statement) for child in ast.iter_child_nodes(node))
    lines = text.splitlines()
    comments = comment_lines(lines, strings)
    unexplained = [f"{name}:{node.name}" for node in functions if lacks_steps(node, comments)]
    return Counts(
        nodes=tuple(nodes.values()),
        comprehensions=comprehensions,
        nested=nested,
        assignments=assignments,
        weak_names=weak,
        long_lines=sum(len(line) > LINE_LENGTH for line in lines),
        unexplained=tuple(unexplained),
        unformatted=sum("# fmt: " in line for line in lines),
    )


def over_budget(density: Density) -> dict[str, float]:
    """The measures that exceed the budget, by name."""
    excess = {}
    for name, limit in BUDGET.items():
        value = getattr(density, name)
        if value > limit:
            excess[name] = value
    if density.unexplained:
        excess["unexplained"] = len(density.unexplained)
    return excess


def is_nested(comprehension: ast.AST) -> bool:
    """Whether a comprehension loops twice or holds another one."""
    if len(comprehension.generators) > 1:  # type: ignore[attr-defined]
        return True
    inner = (node for node in ast.walk(comprehension) if node is not comprehension)
    return any(isinstance(node, COMPREHENSIONS) for node in inner)


def lacks_steps(function: ast.AST, comments: Sequence[int]) -> bool:
    """Whether a function is long and has no comment line of its own."""
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    length = sum(not _is_docstring(node) for node in statements) - 1
    if length <= SHORT_FUNCTION:
        return False
    lines = range(function.lineno, function.end_lineno + 1)  # type: ignore[attr-defined]
    return not any(line in lines for line in comments)


def comment_lines(lines: Sequence[str], strings: Sequence[ast.expr]) -> list[int]:
    """Numbers of the lines that hold nothing but a comment; a string may have such lines too."""
    in_strings: set[int] = set()
    for string in strings:
        in_strings.update(range(string.lineno + 1, (string.end_lineno or string.lineno) + 1))
    numbers = []
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith("#") and number not in in_strings:
            numbers.append(number)
    return numbers


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def table(folders: Sequence[Path], root: Path) -> Iterator[str]:
    """A line for each folder, with the measures and what exceeds the budget."""
    yield (
        f"{'folder':38}{'statements':>11}{'nodes':>7}{'median':>7}{'compr.':>8}{'nested':>7}"
        f"{'weak':>6}{'long':>6}{'steps':>6}{'fmt':>5}  over budget"
    )
    for folder in folders:
        row = measure(folder)
        excess = ", ".join(over_budget(row)) or "-"
        yield (
            f"{folder.relative_to(root).as_posix():38}{row.statements:11}{row.nodes_mean:7.2f}"
            f"{row.nodes_median:7}{row.comprehensions:8.2f}{row.nested:7.2f}{row.weak_names:6.2f}"
            f"{row.long_lines:6}{len(row.unexplained):6}{row.unformatted:5}  {excess}"
        )
