"""What a statement binds, uses and says, and when two have one hash: tables worked out by hand."""

import ast

import pytest

from longform_lab import statements as s
from longform_lab.source_code import SourceTree


def statement(code: str) -> s.Statement:
    return s.Statement(ast.parse(code).body[0])


@pytest.mark.parametrize(
    ("code", "bound", "uses"),
    [
        ("x = np.array(y)", "x", [("np", "array"), ("y", "")]),
        ("x, (y, *z) = w", "x y z", [("w", "")]),
        ("x.a = 1", "", [("x", "a")]),
        ("del x", "", [("x", "")]),
        ("def f(a, /, b, *c, d=e, **g): h = a, b, c, d, g, k; h", "f", [("e", ""), ("k", "")]),
        ("def f(a: b) -> c: return f", "f", [("b", ""), ("c", ""), ("f", "")]),
        ("@d\nasync def f(a=a): pass", "f", [("d", ""), ("a", "")]),
        ("f = lambda a, b=c: a(b, d)", "f", [("c", ""), ("d", "")]),
        ("class A(B):\n x = 1\n y = x\n def m(self): return x, m", "A",
         [("B", ""), ("x", ""), ("m", "")]),
        ("def f():\n class A: pass\n def g(): return A, a\n a = 1\n return g", "f", []),
        ("def f():\n def g(b): pass\n return b", "f", [("b", "")]),
        ("x = [a.b + c for a in d if a]", "x", [("c", ""), ("d", "")]),
        ("x = [a for a in a]", "x", [("a", "")]),
        ("x = {a: b for c in d for a, b in c}", "x", [("d", "")]),
        ("x = [a for b in c], a", "x", [("a", ""), ("c", "")]),
        ("def f(a): return (a for b in a), {b for b in a}", "f", []),
        ("def f():\n global n\n n = 1", "f", [("n", "")]),
        ("def f(n):\n def g():\n  nonlocal n\n return n", "f", [("n", "")]),
        ("import a.b, c.d as e", "a e", []),
        ("from a import b as c, d", "c d", []),
        ("def f():\n import a\n return a.b", "f", [("a", "b")]),
    ],
)  # fmt: skip
def test_names_of_a_statement_are_bound_or_used_by_scope(code, bound, uses):
    found = statement(code)
    assert found.bound == set(bound.split())
    assert found.uses == set(uses)


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ("f('a/b', 'build')", {"a/b": "build", "build": ""}),
        ("f('a', 'b', 'c')", {"a": "b", "b": "c", "c": ""}),
        ("f('a', 'two words')", {"a": "", "two words": ""}),
        ("f('a', b)", {"a": ""}),
        ("f(b, 'a')", {"a": ""}),
        ("f(1, 'a', key='b')", {"a": "", "b": ""}),
        ("def f():\n 'Words.'\n return 'x', b'y', 2", {"x": ""}),
    ],
)
def test_a_literal_is_noted_with_the_name_that_follows_it_in_a_call(code, texts):
    assert statement(code).texts == texts


def test_imports_inside_a_statement_are_kept_as_they_stand():
    found = statement("def f():\n import a\n def g():\n  from b import c\n return 1")
    assert [ast.unparse(node) for node in found.imports] == ["import a", "from b import c"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = u'a'", "x  =  ('a')  # a"),
        ("def f():\n 'Words.'\n return 1", "\n\ndef f():\n    return 1"),
        ("x = parameter('how many', 3, unit='steps')", "x = parameter('number', 3, about='so')"),
        ("x = parameter('a', 3, source='section 4', ge=1)", "x = parameter('b', 3, ge=1)"),
    ],
)
def test_layout_and_words_to_readers_leave_the_hash(one, other):
    assert statement(one).digest == statement(other).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "y = 1"),
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = a.b", "x = a.c"),
        ("x = a.b", "x = c.b"),
        ("x = a.b.c", "x = a.b.d"),
        ("a.b", "del a.b"),
        ("a", "del a"),
        ("x = [[a], b]", "x = [[a, b]]"),
        ("x = f(a)", "x = f(b=a)"),
        ("x = f(*a)", "x = f(**a)"),
        ("x = f(a, b)", "x = f(b, a)"),
        ("x[a]", "x[a:]"),
        ("x[a:]", "x[:a]"),
        ("def f(a, *, b=1): pass", "def f(a=1, *, b): pass"),
        ("def f(a, /): pass", "def f(a): pass"),
        ("x = parameter('a', 3)", "x = parameter('a', 4)"),
        ("x = parameter('a', 3, ge=1)", "x = parameter('a', 3, ge=2)"),
        ("x = parameter('a', 3, ge=1)", "x = parameter('a', 3, le=1)"),
        ("x = other('a', 3)", "x = other('b', 3)"),
        ("x = other(3, unit='a')", "x = other(3)"),
        ("x = o.parameter('a', 3)", "x = o.parameter('b', 3)"),
        ("if a:\n b\nelse:\n c", "if a:\n b\n c"),
        ("x = f'{a}'", "x = f'{a!r}'"),
    ],
)
def test_every_change_of_the_tree_changes_the_hash(one, other):
    assert statement(one).digest != statement(other).digest


def test_a_hash_is_blake2b_of_twelve_bytes():
    assert s.digest(b"") == "b8e1dda3ac0aa3820ad2990b"  # of b2sum --length 96 of an empty file


def test_statements_are_those_that_run_with_imports_one_by_one():
    code = (
        "'Words.'\nimport a, b as c\nfrom ..d import e, f as g\nif TYPE_CHECKING:\n h\n"
        "if typing.TYPE_CHECKING:\n h\nif i:\n j\nif __name__ == '__main__':\n k()\nl = 1"
    )
    one_by_one = ["import a", "import b as c", "from ..d import e", "from ..d import f as g"]
    rest = ["if i:\n    j", "l = 1"]
    found = list(s.statements(ast.parse(code), is_program=False))
    assert [ast.unparse(node) for node in found] == [*one_by_one, *rest]
    assert [node.lineno for node in found] == [2, 2, 3, 3, 8, 12]
    program = list(s.statements(ast.parse(code), is_program=True))
    run = "if __name__ == '__main__':\n    k()"
    assert [ast.unparse(node) for node in program] == [*one_by_one, rest[0], run, rest[1]]


@pytest.mark.parametrize(
    ("code", "does"),
    [
        ("from __future__ import annotations", True),
        ("from a import b", False),
        ("import a", False),
        ("def f(): g()", False),
        ("class A: g()", False),
        ("x = y = f()", False),
        ("x = y[0] = f()", True),
        ("x.a = 1", True),
        ("x, (y, z.a) = w", True),
        ("x: int = 1", False),
        ("x.a: int = 1", True),
        ("x += 1", False),
        ("x[0] += 1", True),
        ("f()", True),
        ("for x in y: pass", True),
        ("type X = int", False),
    ],
)
def test_a_statement_acts_when_it_does_more_than_bind_names(code, does):
    if code.startswith("type ") and not hasattr(ast, "TypeAlias"):
        pytest.skip("this Python has no such statement")
    assert s.acts(ast.parse(code).body[0]) is does


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("@a\n@b.c\n@d.e(f)(g).h\n@(lambda x: x)\ndef i(): pass", {"a", "b", "d"}),
        ("@a\nclass A: pass", {"a"}),
        ("x = a(1)", set()),
    ],
)
def test_decorators_are_named_by_what_they_begin_with(code, names):
    assert s.decorators(ast.parse(code).body[0]) == names


@pytest.fixture
def tree(tmp_path):
    """A package of one subpackage with two modules, beside the folder of another package."""
    texts = {
        "src/longform/__init__.py": "",
        "src/longform/room/__init__.py": "from . import desk\nfrom .desk import draw as paint\n",
        "src/longform/room/desk.py": "import longform.room.lamp as light\nSIZE = 2\n"
        "def draw():\n    from ..room.lamp import glow\n    return SIZE, light.glow, other\n",
        "src/longform/room/lamp.py": "def glow(): pass\n",
        "experiments/__init__.py": "",
        "experiments/report.py": "from longform.room import paint\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return SourceTree(tmp_path / "src", apart=["longform.room.secret"])


def test_imports_of_a_module_stand_for_what_they_bind(tree):
    room = tree.module("longform.room")
    assert room.imported == {
        "desk": ("longform.room.desk", "*"),
        "paint": ("longform.room.desk", "draw"),
    }
    # the module of a package has the packages around it alone
    assert room.at_import == {("longform", ""), ("longform.room.desk", "")}
    desk = tree.module("longform.room.desk")
    assert desk.imported == {"light": ("longform.room.lamp", "*")}
    assert desk.binding == {"SIZE": [0], "draw": [1]}
    assert [(one.line, one.names, one.runs_at_import) for one in desk.definitions] == [
        (2, ["SIZE"], False),
        (3, ["draw"], False),
    ]
    assert desk.definitions[0].requests == frozenset()
    assert desk.definitions[1].requests == {
        ("longform.room.lamp", ""),
        ("longform.room.lamp", "glow"),
        ("longform.room.desk", "SIZE"),
    }
    assert not desk.reads_files
    assert tree.module("experiments.report").imported == {"paint": ("longform.room", "paint")}
