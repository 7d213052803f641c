"""What counts as a change of a function's code: small packages, each changed in one place."""

from pathlib import Path

import pytest

from longform_lab.source_code import AT_IMPORT, SourceTree

MODEL = '''"""A model."""

import math

from longform import rates, shapes
from longform.tables import NAMES


def fit(documents):
    """Fit."""
    from longform.lazy import pace

    return math.sqrt(rates.fast()) * pace(len(NAMES)), function("models", "kinds/wide", "build")


def describe():
    return shapes.OUTLINE
'''
FILES = {
    "__init__.py": "",
    "model.py": MODEL,
    "rates.py": "SPEED = 2\nUNUSED = 3\n\n\ndef fast():\n    return SPEED\n\n\ndef slow():\n    return UNUSED\n",
    "shapes.py": "OUTLINE = 1\n",
    "tables.py": "from pathlib import Path\n\nNAMES = Path(__file__).with_name('names.txt').read_text().split()\n"
    "NAMES += [Path(__file__).with_name('sizes.yaml')]\n",
    "names.txt": "a b\n",
    "sizes.yaml": "wide: 1\nhigh: 2\n",
    "other.txt": "c\n",
    "lazy.py": "STEP = 1\n\n\ndef pace(size):\n    return [STEP for STEP in range(size)], other()\n\n\ndef other():\n    pass\n",
    "kinds/__init__.py": "",
    "kinds/wide.py": "WIDTH = 4\nDEPTH = 1\n\n\ndef build():\n    return WIDTH\n",
}


@pytest.fixture
def package(tmp_path):
    """A function ``longform.model.fit`` that reaches others in every way that this repository uses."""
    for name, text in FILES.items():
        path = tmp_path / "longform" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "longform"


def hashes(package: Path, name: str = "fit") -> dict[str, str]:
    tree = SourceTree(package.parent)
    return tree.hashes(tree.closure([("longform.model", name)]))


def test_a_path_of_no_file_names_no_function_of_its_folder(package):
    assert list(SourceTree(package.parent).named_in("kinds/nowhere")) == []


def changed(package: Path, file: str, old: str, new: str) -> set[str]:
    """The files whose hashes change with a replacement, after which the file is as before."""
    before, path = hashes(package), package / file
    text = path.read_text()
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1))
    after = hashes(package)
    path.write_text(text)
    return {
        name.removeprefix("longform/")
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


def test_the_closure_is_what_the_function_reaches(package):
    assert set(hashes(package)) == {
        f"longform/{name}"
        for name in (
            "model.py",
            "rates.py",
            "tables.py",
            "names.txt",
            "sizes.yaml",
            "lazy.py",
            "kinds/wide.py",
        )
    }
    assert set(hashes(package, "describe")) == {"longform/model.py", "longform/shapes.py"}


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("rates.py", "SPEED = 2", "SPEED = 2  # of light\n# a line"),
        ("rates.py", "    return SPEED", '    """Speed."""\n\n    return (\n        SPEED\n    )'),
        ("model.py", '"""A model."""', '"""Another word."""\n\n# and why'),
        ("model.py", '    """Fit."""\n', ""),
        ("rates.py", "UNUSED = 3", "UNUSED = 4"),
        ("rates.py", "    return UNUSED", "    return 1"),
        ("model.py", "shapes.OUTLINE", "shapes.OUTLINE + 1"),
        ("lazy.py", "STEP = 1", "STEP = 2"),  # a comprehension's own name hides it
        ("kinds/wide.py", "DEPTH = 1", "DEPTH = 2"),
        ("shapes.py", "OUTLINE = 1", "OUTLINE = 2"),
        ("other.txt", "c", "d"),
        ("sizes.yaml", "wide: 1", "# of a room\nwide:   1 # metres"),
    ],
)
def test_comments_docstrings_layout_and_unused_code_change_nothing(package, file, old, new):
    assert changed(package, file, old, new) == set()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("rates.py", "SPEED = 2", "SPEED = 3"),
        ("model.py", "math.sqrt(", "math.exp("),
        ("model.py", "import math", "import cmath as math"),
        ("lazy.py", "def other():\n    pass", "def other():\n    return 1"),
        ("kinds/wide.py", "WIDTH = 4", "WIDTH = 5"),
        ("tables.py", ".split()", ".split('b')"),
        ("names.txt", "a b", "a c"),
        ("sizes.yaml", "wide: 1", "wide: 1.0"),
        ("sizes.yaml", "wide: 1\nhigh: 2", "high: 2\nwide: 1"),
    ],
)
def test_a_changed_constant_call_import_or_data_file_changes_its_file(package, file, old, new):
    assert changed(package, file, old, new) == {file}


@pytest.mark.parametrize(
    "line",
    [
        "import longform.noise",
        "if True:\n    from longform.noise import hum",
        "PROGRAM = 'import sys; from longform.noise import hum; hum()'\nSPEED = (2, PROGRAM)",
        "SPEED = open('longform.noise:hum')",
        "SPEED = open('longform.noise')",
        "from .noise import hum as SPEED",
        "from longform.noise import *",
        "from longform import noise as SPEED",
        "import longform\nSPEED = longform.noise",
    ],
)
def test_every_way_to_name_a_module_reaches_it(package, line):
    (package / "noise.py").write_text(
        "print('imported')\nLOUD = 1\n\n\ndef hum():\n    return LOUD\n"
    )
    rates = package / "rates.py"
    rates.write_text(rates.read_text().replace("SPEED = 2", "SPEED = 2\n" + line))
    assert "longform/noise.py" in hashes(package)
    assert changed(package, "noise.py", "print('imported')", "print('opened')") == {"noise.py"}
    alone = line == "import longform.noise"  # nothing of it is used
    assert changed(package, "noise.py", "LOUD = 1", "LOUD = 2") == (
        set() if alone else {"noise.py"}
    )


def test_code_for_type_checkers_and_for_programs_alone_is_not_run(package):
    rates = package / "rates.py"
    guards = "if TYPE_CHECKING:\n    from longform import noise\nif __name__ == '__main__':\n    import longform.noise\n"
    rates.write_text(rates.read_text() + guards)
    (package / "noise.py").write_text("print('imported')\n")
    assert "longform/noise.py" not in hashes(package)


def test_a_class_that_a_decorator_of_ours_may_register_is_run(package):
    table = "KINDS = {}\n\n\ndef register(kind):\n    KINDS[kind.__name__] = kind\n    return kind\n\n\n"
    (package / "rates.py").write_text(
        table + "@register\nclass Slow:\n    pace = 1\n\n\ndef fast():\n    return KINDS\n"
    )
    assert changed(package, "rates.py", "pace = 1", "pace = 2") == {"rates.py"}


def test_a_folder_of_data_files_counts_unless_one_of_them_is_named(package):
    (package / "data").mkdir()
    (package / "data" / "x.yaml").write_text("1")
    (package / "data" / "y.yaml").write_text("1")
    (package / "tables.py").write_text("FOLDER = open(__file__, 'data')\nNAMES = FOLDER\n")
    assert changed(package, "data/y.yaml", "1", "2") == {"data/y.yaml"}
    (package / "tables.py").write_text(
        "FOLDER = open(__file__, 'data')\nNAMES = FOLDER / 'x.yaml'\n"
    )
    assert changed(package, "data/x.yaml", "1", "2") == {"data/x.yaml"}
    assert changed(package, "data/y.yaml", "1", "2") == set()


def test_texts_of_a_dispatching_package_are_left_to_its_settings(package):
    (package / "steps").mkdir()
    (package / "steps" / "run.py").write_text(
        "def step():\n    return function('kinds/wide', 'build')\n"
    )
    start = [("longform.steps.run", "step")]
    assert "longform.kinds.wide" in SourceTree(package.parent).closure(start)
    assert "longform.kinds.wide" not in SourceTree(
        package.parent, dispatching="longform.steps"
    ).closure(start)


def test_modules_set_apart_and_unknown_ones_are_left_out(package):
    tree = SourceTree(package.parent, apart=["longform.rates"])
    closure = tree.closure(
        [("longform.model", "fit"), ("longform.nowhere", "fit"), ("numpy", AT_IMPORT)]
    )
    assert "longform.model" in closure
    assert not {"longform.rates", "longform.nowhere", "numpy"} & closure.keys()


def test_importing_a_module_runs_the_packages_around_it(package):
    module = SourceTree(package.parent).module("longform.kinds.wide")
    assert module.at_import == {("longform", AT_IMPORT), ("longform.kinds", AT_IMPORT)}
    (package / "kinds" / "__init__.py").write_text("print(1)\n")
    tree = SourceTree(package.parent)
    assert tree.closure([("longform.kinds.wide", AT_IMPORT)]) == {
        "longform.kinds.wide": set(),
        "longform.kinds": {0},
        "longform": set(),
    }


def test_an_unknown_name_stands_for_its_whole_module(package):
    assert set(hashes(package, "made_at_run_time")) >= {"longform/shapes.py", "longform/rates.py"}


SETTINGS = '''"""Settings."""

from longform.fields import parameter


class Walk:
    steps: int = parameter("How many steps.", 3, unit="steps", source="section 4", ge=1)

    def build(self):
        from longform.rates import fast

        return fast(self.steps)


class Rest:
    def build(self):
        from longform.rates import slow

        return slow()


REGISTRY: dict[str, type[object]] = {"walk": Walk, "rest": Rest}
CHOSEN = REGISTRY
'''


@pytest.fixture
def registry(package):
    """A registry of two classes of settings, and what asks for entries of it."""
    (package / "settings.py").write_text(SETTINGS)
    (package / "fields.py").write_text("def parameter(about, default=None, **notes): ...\n")
    (package / "model.py").write_text(
        "from longform.settings import REGISTRY\n\n\ndef fit(kind):\n    return REGISTRY[kind]()\n"
    )
    return package


def test_a_registry_stands_for_the_entry_that_is_asked_for_alone(registry):
    tree = SourceTree(registry.parent)
    stage = ("longform.model", "fit")
    assert "longform/rates.py" not in tree.hashes(tree.closure([stage]))
    walk = tree.closure([stage, ("longform.settings", "Walk")])
    rates = tree.module("longform.rates")
    assert {rates.definitions[place].names[0] for place in walk["longform.rates"]} == {
        "SPEED",
        "fast",
    }


@pytest.mark.parametrize(
    ("old", "new", "is_changed"),
    [
        ('"How many steps."', '"Steps of a walk."', False),
        ('"section 4"', '"section 5"', False),
        ('unit="steps"', 'unit="metres"', False),
        ('"rest": Rest', '"rest": Rest, "nap": Rest', False),
        ("3, unit", "4, unit", True),
        ("ge=1", "ge=2", True),
        ("fast(self.steps)", "fast(1)", True),
    ],
)
def test_words_about_a_setting_are_no_code_and_its_default_is(registry, old, new, is_changed):
    def stage() -> dict[str, str]:
        tree = SourceTree(registry.parent)
        return tree.hashes(tree.closure([("longform.model", "fit"), ("longform.settings", "Walk")]))

    before, path = stage(), registry / "settings.py"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    assert (stage() != before) == is_changed
