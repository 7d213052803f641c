"""The command that changes the program to see whether a test notices: which changes, which tests, what it prints."""

import json
import multiprocessing
import sys
from dataclasses import replace

import pytest

from tests.mutants import trial
from tests.mutants.__main__ import FIELDS, Verdict, drawn, equivalents, report
from tests.mutants.calls import MOST_SECONDS, SCHEMA, read_calls
from tests.mutants.mutations import file_mutations
from tests.mutants.recorder import Recorder, function_name
from tests.mutants.session import Session, changed_codes

PROGRAM = '''"""A module."""
LIMIT = 5


def share(rows, total: int = 2) -> float:
    """The share."""
    if not rows and total < 3:
        raise ValueError(f"{total} rows, 3 are needed")
    rows.sort(key=len, reverse=True)
    print("rows", 7)
    return divide(rows[0], total) + 1.5


class Table:
    def __repr__(self):
        return "table" * 2

    def close(self):
        for row in self.rows:
            if row:
                continue
        self.open = False
'''


@pytest.fixture(scope="module")
def changes():
    return file_mutations(PROGRAM.encode(), "share.py")


def lines(changes, function):
    return [(change.kind, change.after) for change in changes if change.function == function]


def test_each_kind_of_change_is_made_once(changes):
    assert lines(changes, "") == [("constant", "LIMIT = 6")]
    assert sorted(lines(changes, "share")) == sorted([
        ("constant", "def share(rows, total: int = 3) -> float:"),
        ("negated condition", "if not (not rows and total < 3):"),
        ("and, or", "if (not rows or total < 3):"),
        ("dropped sign or not", "if (rows) and total < 3:"),
        ("comparison", "if not rows and (total <= 3):"),
        ("constant", "if not rows and total < 4:"),
        ("removed statement", "pass"),
        ("removed statement", "pass"),
        ("dropped keyword", "rows.sort(reverse=True)"),
        ("dropped keyword", "rows.sort(key=len)"),
        ("constant", "rows.sort(key=len, reverse=False)"),
        ("returned value", "return None"),
        ("arithmetic", "return (divide(rows[0], total) - 1.5)"),
        ("swapped arguments", "return divide(total, rows[0]) + 1.5"),
        ("constant", "return divide(rows[1], total) + 1.5"),
        ("constant", "return divide(rows[0], total) + 2.25"),
    ])  # fmt: skip
    assert sorted(lines(changes, "Table.close")) == [
        ("break and continue", "break"), ("constant", "self.open = True"),
        ("negated condition", "if not (row):"), ("removed statement", "pass"),
    ]  # fmt: skip
    # wording, as are sentences of errors and what is printed
    assert lines(changes, "Table.__repr__") == []


def test_false_is_changed_to_true_and_not_to_none_which_is_false_as_well():
    (change,) = file_mutations(b"def known():\n    return False\n", "a.py")
    assert change.after == "return True"


def test_arguments_in_any_order_and_the_looks_of_a_figure_are_left_alone():
    program = "a = np.maximum(x, y)\nb = max(x, y)\naxes.plot(x, markerfacecolor=z)\n"
    assert file_mutations(program.encode(), "a.py") == [
        change
        for change in file_mutations(program.encode(), "a.py")
        if change.kind == "removed statement"
    ]
    assert file_mutations(b"a = pair('', \"\")\n", "a.py") == []
    assert file_mutations(b"a = math.hypot(x, y)\nb = np.not_equal(x, y)\n", "a.py") == []
    (change,) = file_mutations(b"a = np.subtract(x, y)\n", "a.py")
    assert change.after == "a = np.subtract(y, x)"


def test_a_change_is_applied_where_it_was_found(changes):
    (change,) = (one for one in changes if one.after == "LIMIT = 6")
    assert change.apply(PROGRAM.encode()).decode() == PROGRAM.replace("LIMIT = 5", "LIMIT = 6")
    for change in changes:
        compile(change.apply(PROGRAM.encode()), "share.py", "exec")


def test_a_listed_change_goes_stale_when_its_function_changes(changes):
    (listed,) = (one for one in changes if one.after == "if not rows and total < 4:")

    def keys(program):
        return {change.key for change in file_mutations(program.encode(), "share.py")}

    assert listed.key in keys(
        PROGRAM.replace("The share.", "Another docstring.").replace("LIMIT", "LONGEST")
    )
    assert listed.key not in keys(PROGRAM.replace("rows[0]", "rows[2]"))


def test_the_seed_decides_the_draw_and_listed_changes_are_left_out(changes):
    first = drawn(changes, set(), "a")
    assert first == drawn(reversed(changes), set(), "a") and first != drawn(changes, set(), "b")
    assert drawn(changes, {first[0].key}, "a") == [one for one in first if one.key != first[0].key]


def test_equivalent_changes_are_listed_with_a_reason(tmp_path):
    entry = dict.fromkeys(FIELDS, "x")
    file = tmp_path / "equivalent.yaml"
    file.write_text(json.dumps([entry | {"reason": "why"}, entry | {"file": "y", "reason": ""}]))
    assert equivalents(file) == {("x",) * len(FIELDS)}
    assert isinstance(equivalents(), set)  # the repository's own can be read


def test_survivors_are_named_as_the_list_of_equivalents_wants_them(changes):
    noticed, survivor = changes[:2]
    shown = report([Verdict(noticed, 3, "tests/a.py::b"), Verdict(survivor, 4, "")])
    assert shown.startswith("1 of 2 mutations were noticed")
    assert f"- file: share.py  # line {survivor.line}, {survivor.kind}, 4 tests" in shown
    assert json.dumps(survivor.after) in shown and json.dumps(noticed.after) not in shown


def test_the_tests_of_a_change_call_its_function_the_most_specific_first(changes, tmp_path):
    calls = [
        ("a.py::broad", "call", ("share.py:share", "share.py:Table.close")),
        ("a.py::narrow", "call", ("share.py:share",)),
        ("a.py::beside", "call", ()), ("a.py::slow", "call", ()),
        ("b.py::by_fixture", "setup", ("share.py:share",)), ("b.py::too", "call", ("x.py:f", "x.py:g")),
        ("c.py::endless", "call", ("share.py:share",)), ("d.py::other", "call", ("x.py:f",)),
    ]  # fmt: skip
    seconds = {"a.py::slow": 5.0, "c.py::endless": MOST_SECONDS}
    rows = [
        {"test": test, "phase": phase, "called": name} for test, phase, own in calls for name in own
    ]
    rows += [{"test": test, "seconds": seconds.get(test, 0.1)} for test, _, _ in calls]
    file = tmp_path / "calls.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    (change,) = (one for one in changes if one.kind == "swapped arguments")
    found = read_calls(file).of(change)
    assert found == ["a.py::narrow", "b.py::by_fixture", "a.py::broad", "b.py::too", "a.py::beside"]


def test_a_class_of_settings_is_tried_with_who_writes_the_schema(tmp_path):
    rows = [
        {"test": "a.py::writes", "phase": "call", "called": SCHEMA},
        {
            "test": "b.py::other",
            "phase": "call",
            "called": "longform/datasets/settings.py:Fever.load",
        },
        {"test": "a.py::writes", "seconds": 0.1},
        {"test": "b.py::other", "seconds": 0.1},
    ]
    file = tmp_path / "calls.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    (change, *_) = file_mutations(b"class Fever:\n    pages = 5\n", "longform/datasets/settings.py")
    assert read_calls(file).of(change) == ["a.py::writes", "b.py::other"]


def test_constants_and_defaults_are_tried_with_tables_of_their_module(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.mutants.calls._modules", list)
    names = ["a.py::b[statistics.sums:LEVEL]", "a.py::c[longform.statistics.sums]"]
    others = ["a.py::d[statistics.sums_of:LEVEL]", "a.py::e[other.statistics.sum]"]
    rows = [{"test": test, "seconds": 2.0} for test in [*names, *others]]
    file = tmp_path / "calls.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    (change,) = file_mutations(b"LEVEL = 5\n", "longform/statistics/sums.py")
    assert read_calls(file).of(change) == names
    called = {"test": others[0], "phase": "call", "called": "longform/statistics/sums.py:Sum.add"}
    with file.open("a") as lines_of_calls:
        lines_of_calls.write("\n" + json.dumps(called))
    (change,) = file_mutations(b"class Sum:\n    level = 5\n", "longform/statistics/sums.py")
    assert read_calls(file).of(change) == [*names, others[0]]
    called["called"] = "longform/statistics/sums.py:add"
    with file.open("a") as lines_of_calls:
        lines_of_calls.write("\n" + json.dumps(called))
    (change,) = file_mutations(b"def add(level=5):\n    pass\n", "longform/statistics/sums.py")
    assert read_calls(file).of(change) == [others[0], *names]


def test_comprehensions_belong_to_the_function_around_them():
    assert function_name("Table.rows.<locals>.inner.<locals>.<listcomp>") == "Table.rows.inner"
    assert function_name("<module>") == "<module>"


def test_only_chosen_tests_run_in_the_chosen_order(tmp_path):
    class Item:
        def __init__(self, nodeid):
            self.nodeid = nodeid

    items = [Item(name) for name in "abcd"]
    trial.Chosen(["d", "b"], tmp_path / "failed").pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == ["d", "b"]


def test_what_one_test_calls_for_all_is_tried_with_the_modules_tests(
    changes, tmp_path, monkeypatch
):
    monkeypatch.setattr("tests.mutants.calls._modules", list)  # nobody imports this module
    rows = [
        {"test": "a.py::first", "phase": "call", "called": "share.py:share"},
        {"test": "a.py::first", "phase": "call", "called": "x.py:f"},  # so it is the broader one
        {"test": "b.py::later", "phase": "call", "called": "share.py:Table.close"},
        {"test": "a.py::first", "seconds": 0.1},
        {"test": "b.py::later", "seconds": 0.1},
    ]
    file = tmp_path / "calls.jsonl"
    (change,) = (one for one in changes if one.kind == "swapped arguments")

    def tests(more, changed=change):
        file.write_text("\n".join(map(json.dumps, [*rows, *more])))
        return read_calls(file).of(changed)

    at_import = {"test": "a.py::first", "phase": "import", "called": "share.py:share"}
    assert tests([]) == ["a.py::first"]
    assert tests([at_import]) == tests([], replace(change, once=True))
    assert tests([at_import]) == ["a.py::first", "b.py::later"]


def test_a_function_that_keeps_its_result_is_marked_and_its_inner_ones_too():
    program = "@functools.cache\ndef a():\n    def b():\n        return 1\n    return 2\n\ndef c():\n    return 3\n"
    made = {change.function: change.once for change in file_mutations(program.encode(), "a.py")}
    assert made == {"a": True, "a.b": True, "c": False}


@pytest.mark.parametrize(("names", "first"), [({}, "import"), ({"__name__": "__main__"}, "call")])
def test_calls_of_an_import_are_told_from_those_of_a_test_and_a_program(names, first, tmp_path):
    folder = tmp_path / "src" / "longform"
    folder.mkdir(parents=True)
    (folder / "module.py").write_text("def pairs():\n    return 1\n\nONE = pairs()\n")
    code = compile((folder / "module.py").read_text(), str(folder / "module.py"), "exec")
    recorder = Recorder(str(tmp_path / "calls"), "a.py::test", "call")
    outer = sys.gettrace()
    try:
        sys.settrace(recorder)
        exec(code, names)
        names["pairs"]()
    finally:
        sys.settrace(outer)
    lines = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    phases = [line["phase"] for line in lines if line["called"] == "longform/module.py:pairs"]
    assert phases == list(dict.fromkeys([first, "call"]))


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ("def f(x):\n    return x < 1\n", "def f(x):\n    return x < 2\n", [("f", 1)]),
        ("def f(x):\n    def g():\n        return 1\n    return g\n",
         "def f(x):\n    def g():\n        return 2\n    return g\n", [("f", 1), ("f.<locals>.g", 2)]),
        ("class A:\n    def f(self):\n        return [1 for _ in self]\n",
         "class A:\n    def f(self):\n        return None\n", [("A.f", 2)]),
        ("LIMIT = 1\n", "LIMIT = 2\n", []),
        ("class A:\n    limit = 1\n", "class A:\n    limit = 2\n", []),
        ("def f(x=1):\n    return x\n", "def f(x=2):\n    return x\n", []),
        ("@numba.njit(cache=True)\ndef f():\n    return 1\n",
         "@numba.njit(cache=True)\ndef f():\n    return 2\n", []),
        ("def f():\n    return 1\n", "def f():\n\n    return 1\n", []),
    ],
)  # fmt: skip
def test_code_is_replaced_in_memory_where_a_function_changed(before, after, places):
    assert list(changed_codes(before.encode(), after.encode())) == places


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of two functions and their tests, in the folder of a copy."""
    copy = tmp_path / "copy" / "repository"
    (copy / "src").mkdir(parents=True)
    (copy / "tests").mkdir()
    source = "def double(x):\n    return x * 2\n\n\ndef half(x):\n    return x / 2\n"
    (copy / "src" / "numbers_of_ours.py").write_text(source)
    (copy / "tests" / "test_ours.py").write_text(
        "from numbers_of_ours import double, half\n\n\n"
        "def test_double():\n    assert double(2) == 4\n\n\n"
        "def test_both():\n    assert half(double(3)) == 3\n"
    )
    monkeypatch.setattr(trial, "forks", multiprocessing.get_context("spawn"))
    return copy


def test_one_process_tries_many_mutations_and_none_stays(repository):
    source = (repository / "src" / "numbers_of_ours.py").read_bytes()
    double, both = "tests/test_ours.py::test_double", "tests/test_ours.py::test_both"
    session = Session(repository)
    assert session.tests == [double, both]

    def failures(before, after, tests=(double, both), go_on=False):
        mutated = source.replace(before, after)
        seconds = dict.fromkeys(tests, 0.1)
        return session.failures("numbers_of_ours.py", (source, mutated), seconds, go_on)

    assert failures(b"x * 2", b"x * 3") == [double]
    assert failures(b"x * 2", b"x * 3", go_on=True) == [double, both]
    assert failures(b"x / 2", b"x / 3") == [both]
    assert failures(b"x / 2", b"x / 3", [double]) == []
    assert failures(b"", b"") == []
    ended = failures(b"return x / 2", b"import os; os._exit(3)")
    assert ended == ["was killed: it takes much longer than before, or ends the process"]
    session.close()
