"""Every setting, and whatever a stage gives, reaches the code that a kind stands for under its own name.

The names are read from the head of the called function in its source, which mypy checks against the
call; nothing is imported that a kind would import.
"""

import ast
import inspect
import sys
import textwrap
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import longform_lab.settings.params  # noqa: F401  (every class of settings is known then)
from longform.settings import Settings

SOURCES = Path(__file__).parents[2] / "src"
METHODS = (
    "fit", "train", "predict", "metric", "units", "load", "build", "write", "evaluate", "decode",
    "complete",
)  # fmt: skip
# what a function calls differently, by the kind's class: the setting or the constant that arrives
RENAMED = {"ParallelTexts": {"source": "language"}, "Translator": {"kind": "network"}}
# and what it has no use for: reference texts are fitted later, only a network from nothing has bases
UNUSED = {"Mauve": {"real"}, "Finetuned": {"bases"}, "OwnTraining": {"bases"}}


class Named:
    """A value that is known by its name, whatever is done to it on the way."""

    def __init__(self, name):
        self._called = name

    def __eq__(self, other):
        return isinstance(other, Named) and other._called == self._called

    def __repr__(self):
        return f"<{self._called}>"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Named(name)

    def __iter__(self):
        return iter([self])

    def __truediv__(self, other):
        return other

    def given(self):
        return self

    def named(self):
        return self

    def items(self):
        return [(self._called, self)]


CONSTANTS = {
    "BytePairs": {"kind": "byte_pair"},
    "Whitespace": {"kind": "whitespace"},
    "Network": {"shape": {"model_type": Named("model_type")}},
}


class Spy:
    """A function of a module, which notes what it is called with."""

    def __init__(self, module, name, calls):
        self.module, self.name, self.calls = module, name, calls

    def __call__(self, *given, **named):
        self.calls.append((self, given, named))
        return self


def all_settings(kind=Settings):
    for child in kind.__subclasses__():
        if child.__module__.startswith(("longform", "synthetic_world")):
            yield child
        yield from all_settings(child)


def imports_of(kind, method):
    """The import statements inside a method."""
    source = textwrap.dedent(inspect.getsource(vars(kind)[method]))
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]


def cases():
    for kind in sorted(set(all_settings()), key=lambda kind: (kind.__module__, kind.__name__)):
        for method in METHODS:
            if method in vars(kind) and imports_of(kind, method):
                yield pytest.param(kind, method, id=f"{kind.__name__}.{method}")


@cache
def tree_of(module):
    path = SOURCES / (module.replace(".", "/") + ".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def head(module, name):
    """The names of a function's parameters, or of a dataclass's fields, by the source."""
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return [argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]]
        if isinstance(node, ast.ClassDef) and node.name == name:
            own = [part for part in node.body if isinstance(part, ast.AnnAssign)]
            fields = [part.target.id for part in own if "ClassVar" not in ast.unparse(part)]
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            return [field for base in bases for field in head(module, base)] + fields
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name and node.module.startswith("longform"):
                    return head(node.module, alias.name)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ["predictions"]  # a reader of predictions that a helper makes
    return []


def defaults(module, name):
    """Those defaults of a function that are literals, or names of literals in its module."""
    known = {}
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            known[ast.unparse(node.targets[0])] = node.value
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            heads = [*node.args.args[::-1], *node.args.kwonlyargs]
            values = [*node.args.defaults[::-1]]
            values += [None] * (len(node.args.args) - len(values)) + node.args.kw_defaults
            pairs = zip([head.arg for head in heads], values, strict=True)
            named = {head: known.get(ast.unparse(value), value) for head, value in pairs if value}
            literals = {
                head: value for head, value in named.items() if isinstance(value, ast.Constant)
            }
            return {head: value.value for head, value in literals.items()}
    return {}


def arrived(value, name):
    """Whether a value is the one of this name, alone, in a list or in a mapping."""
    return value in (Named(name), [Named(name)], {name: Named(name)})


@pytest.mark.parametrize(("kind", "method"), cases())
def test_settings_and_inputs_reach_the_code_by_name(kind, method, monkeypatch):
    calls = []
    for node in imports_of(kind, method):
        module = ModuleType(node.module)
        for alias in node.names:
            setattr(module, alias.name, Spy(node.module, alias.name, calls))
        monkeypatch.setitem(sys.modules, node.module, module)
    settings = kind.model_construct(**{name: Named(name) for name in kind.model_fields})
    inputs = list(inspect.signature(vars(kind)[method]).parameters)[1:]
    answer = vars(kind)[method](settings, **{name: Named(name) for name in inputs})
    ((called, given, named),) = calls
    assert answer is called
    names = head(called.module, called.name)
    passed = {**dict(zip(names, given, strict=False)), **named}
    assert len(passed) == len(given) + len(named)
    renamed, constants = RENAMED.get(kind.__name__, {}), CONSTANTS.get(kind.__name__, {})
    for name, value in passed.items():
        if isinstance(value, Spy):
            assert value.name[0].isupper()  # a class, which the called function makes one of
        elif name in constants:
            assert value == constants[name]
        else:
            assert arrived(value, renamed.get(name, name)), (name, value)
    known = {*kind.model_fields, *inputs}
    if inputs == ["inputs"]:
        known |= given_by_stage(kind, method)
    expected = {name for name in names if name in known} - UNUSED.get(kind.__name__, set())
    assert expected | renamed.keys() | constants.keys() <= passed.keys()
    for name, literal in defaults(called.module, called.name).items():
        default = kind.model_fields[name].default if name in kind.model_fields else None
        if isinstance(default, bool | int | float | str):
            assert literal == default, name


def given_by_stage(kind, method):
    """What is there to be taken of the inputs."""
    annotation = inspect.signature(vars(kind)[method]).parameters["inputs"].annotation
    name = getattr(annotation, "__name__", annotation)
    return set(sys.modules[kind.__module__].__dict__[name].__dataclass_fields__)
