"""Which tests can notice a mutation: those that call the function, the most specific first."""

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.mutations import Mutation
from tests.shape import imports

CHEAP = 1.0  # seconds: such a test runs with its file's others, whose cached results it may check
SETTINGS = Path("longform/settings.py")
SCHEMA = "longform_lab/settings/params.py:schema_text"  # reads the body of every class of settings
MOST_SECONDS = 120.0  # of tests for one mutation; what is left out can only hide that it is noticed


@dataclass
class Calls:
    """What the recorder wrote.

    Attributes:
        seconds: of each test that passed.
        tests: that call a function, by ``path:name``.
        by_file: the tests of each test file.
        breadth: how many functions a test calls.
        at_import: functions that modules call while they are imported.
    """

    seconds: dict[str, float]
    tests: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    by_file: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    breadth: Counter[str] = field(default_factory=Counter)
    at_import: set[str] = field(default_factory=set)

    def is_called_at_import(self, mutation: Mutation) -> bool:
        """Whether a module calls the mutation's function while it is imported."""
        return f"{mutation.path}:{mutation.function}" in self.at_import

    def of(self, mutation: Mutation) -> list[str]:
        """The tests to run for one mutation, in their order: those that call the function first."""
        function = f"{mutation.path}:{mutation.function}"
        direct = self.tests.get(function, set())
        callers = direct
        if not direct:
            callers = self._of_module(mutation)
        elif mutation.once or self.is_called_at_import(
            mutation
        ):  # one test calls it for all that follow
            callers = direct | self._of_module(mutation)
        naming = self._naming(mutation)
        chosen = callers | naming
        for file in {_file(test) for test in callers}:
            chosen |= {test for test in self.by_file[file] if self.seconds[test] < CHEAP}

        def place(test: str) -> tuple[bool, bool, int, str]:
            is_first = test in direct or test in naming
            return not is_first, test not in callers, self.breadth[test], test

        return self._affordable(sorted(chosen, key=place))

    def _of_module(self, mutation: Mutation) -> set[str]:
        """Constants, compiled functions and classes: who runs the class, the module, its users."""
        if mutation.function:
            inside = f"{mutation.path}:{mutation.function}."
            of_class = {
                test for key in self.tests if key.startswith(inside) for test in self.tests[key]
            }
            if of_class:
                return of_class | self._of_schema(mutation)
        path = Path(mutation.path)
        users = {path} | {module for module in _modules() if path in imports(module)}
        names = {module.as_posix() for module in users}
        of_users = {
            test for key in self.tests if key.partition(":")[0] in names for test in self.tests[key]
        }
        return of_users | self._of_schema(mutation)

    def _naming(self, mutation: Mutation) -> set[str]:
        """Tests of a table whose names hold the module's: they look at constants and defaults.

        They call no function of it, so that they run beside those that do.
        """
        dotted = mutation.path.removesuffix(".py").replace("/", ".").removeprefix("longform.")
        named = re.compile(rf"[\[.]{re.escape(dotted)}[\]:]")
        return {test for test in self.seconds if named.search(test)}

    def _of_schema(self, mutation: Mutation) -> set[str]:
        """Who writes the schema of all settings, for a module with classes of them."""
        writers = self.tests.get(SCHEMA, set())
        if writers and SETTINGS in imports(Path(mutation.path)):
            return writers
        return set()

    def _affordable(self, ordered: list[str]) -> list[str]:
        total, chosen = 0.0, []
        for test in ordered:
            if total + self.seconds[test] <= MOST_SECONDS:
                total += self.seconds[test]
                chosen.append(test)
        return chosen


def read_calls(path: Path) -> Calls:
    """The recorder's file. What a fixture calls counts for all tests of its file."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    calls = Calls({line["test"]: line["seconds"] for line in lines if "seconds" in line})
    for test in calls.seconds:
        calls.by_file[_file(test)].add(test)
    for line in lines:
        if "called" not in line:
            continue
        if line["phase"] == "import":
            calls.at_import.add(line["called"])
            continue
        tests = {line["test"]}
        if "setup" in line["phase"]:
            tests = calls.by_file[_file(line["test"])]
        for test in tests & calls.seconds.keys():
            calls.tests[line["called"]].add(test)
    for tests in calls.tests.values():
        calls.breadth.update(tests)
    return calls


def _file(test: str) -> str:
    return test.partition("::")[0]


def _modules() -> list[Path]:
    source = Path(__file__).parents[2] / "src"
    return [path.relative_to(source) for path in source.rglob("*.py")]
