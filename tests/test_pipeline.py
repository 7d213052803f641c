"""The shape of the pipeline: which way imports flow, what stages depend on, and that every entry of params.yaml can be called."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache, reduce
from itertools import product
from operator import getitem
from pathlib import Path

import pytest
import yaml
from dvc.utils.serialize import modify_yaml
from networkx import descendants

from experiments.differences import IDENTITY
from longform.files.artefacts import read_yaml
from longform_lab.code import code_file, entry_points
from longform_lab.settings.params import ROOMS, entries
from longform_lab.stages import STAGES
from tests import edits, shape
from tests.called import calls
from tests.shape import MODULES, PACKAGES, ROOT, SOURCES, closure, imports, room, stages

BASE = (
    "documents",
    "errors",
    "extras",
    "files",
    "processes",
    "results",
    "settings",
    "statistics",
    "tables",
    "terminal",
    "text",
    "version",
)
FLOW = (
    "datasets",
    "examples",
    "language_models",
    "decoding",
    "critics",
    "evaluation",
    "criticize",
    "tools",
    "commands",
    "cli",
)
TOGETHER = {"hsmm": "language_models"}  # rooms that know each other: the HSMM is a language model
COMPILED = (".py", ".pyc", ".nbi", ".nbc")
PAGES_AND_COMPILED = (".md", *COMPILED)
SCALES = [
    "",
    *sorted(p.parent.name for p in (ROOT / "experiments" / "scales").glob("*/overrides.yaml")),
]


FRONT_DOOR = Path("longform/__init__.py")  # loads critics by name, each when it is asked for
CATALOGUE = Path("longform/critics/catalogue.py")  # lists all critics
LIBRARY = [module for module in MODULES if module.parts[0] == "longform" and module != FRONT_DOOR]


def flow(module):
    """A module's place in the flow of data; 0 for what all rooms stand on."""
    name = TOGETHER.get(room(module), room(module))
    return FLOW.index(name) + 1 if name in FLOW else 0


def test_imports_flow_one_way():
    assert len(LIBRARY) > 100
    for module in LIBRARY:
        assert room(module) in (*BASE, *FLOW, *TOGETHER, "__init__"), (
            f"say where {module} stands in the flow"
        )
        for other in imports(module):
            assert flow(other) <= flow(module), f"{module} imports {other}, which comes after it"
            if module == CATALOGUE:
                continue
            if (
                room(module) == room(other) == "critics"
                and min(len(module.parts), len(other.parts)) > 3
            ):
                assert other.parts[2] == module.parts[2], (
                    f"{module} imports {other}: a critic knows none of its neighbours"
                )


KNOWS = {  # package -> what its modules may import of ours
    "longform": {"longform"},
    "synthetic_world": {"synthetic_world", "longform"},
    "longform_lab": {"longform_lab", "longform"},
    "experiments": {"experiments", "longform_lab", "synthetic_world", "longform"},
}
REGISTRIES = [  # where all entries meet
    "src/longform_lab/settings/critics.py",
    "src/longform_lab/settings/papers.py",
    "src/longform_lab/settings/registries.py",
]
PAPERS = sorted(path.relative_to(ROOT) for path in (ROOT / "experiments").glob("*/report*/**/*.py"))
PAPERS += sorted(path.relative_to(ROOT) for path in (ROOT / "experiments").glob("*/report.py"))


def imported_packages(tree):
    """The first names of all imports of a source file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_packages_import_one_way():
    for path in [*(Path("src") / module for module in MODULES), *PAPERS]:
        package = path.parts[1] if path.parts[0] == "src" else "experiments"
        imported = set(imported_packages(shape.parsed(ROOT / path)))
        knows = KNOWS.keys() if path.as_posix() in REGISTRIES else KNOWS[package]
        assert imported & KNOWS.keys() <= knows, path


def test_the_library_knows_no_pipeline_and_no_tracker():
    for module in LIBRARY:
        text = (SOURCES / module).read_text(encoding="utf-8")
        assert not re.search(r"\b(dvc|wandb)\b|weights & biases|DVC_|WANDB", text, re.I), module


def test_no_files_import_each_other_in_a_circle():
    for module in MODULES:
        reached = set().union(*(closure(other) for other in imports(module) - {module}))
        assert module not in reached, (
            f"{module} imports itself through {sorted(map(str, imports(module)))}"
        )


def test_only_tracking_imports_wandb():
    for module in MODULES:
        text = (SOURCES / module).read_text(encoding="utf-8")
        if module != Path("longform_lab/tracking.py"):
            assert not re.search(r"^\s*(import wandb|from wandb)|WandbLogger", text, re.M), module


def test_no_torch_where_texts_are_scored_and_scipy_stats_where_used():
    scores = ("critics", "score.py")
    judging = [m for m in MODULES if room(m) == "evaluation" or (room(m), m.name) == scores]
    judging += [m for m in MODULES if m.parts[:2] == ("longform_lab", "reporting")]
    names = [".".join(m.with_suffix("").parts) for m in judging]
    code = f"""
import sys, importlib
class Absent:  # SciPy reads sys.modules["torch"], so a None there breaks it where an uninstalled package would not
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "pytorch_lightning"):
            raise ModuleNotFoundError(f"{{name}} is not for the judging rooms", name=name)
sys.meta_path.insert(0, Absent())
import longform_lab.scoring, longform_lab.reports, longform_lab.reporting.verdicts
assert "scipy.stats" not in sys.modules, "its import takes longer than the scoring of some critics"
for name in {names!r} + ["longform_lab.scoring", "longform_lab.reports"]:
    importlib.import_module(name)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "src"
    )
    assert done.returncode == 0, done.stderr


def test_a_scale_says_only_what_differs_and_every_value_has_a_source():
    for path in (ROOT / "experiments" / "scales").glob("*/overrides.yaml"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 200, path
    for name in ("params.yaml", "dvc.yaml"):
        assert not list((ROOT / "experiments" / "scales").rglob(name))
    slots = "study|source|corpora|models|critic|reading|readings|metrics|train|inputs|code|kind|domain|form"
    sourced: list[int] = []  # indents of the keys around a line that have a comment
    above = False
    for number, line in enumerate(
        (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines(), 1
    ):
        indent = len(line) - len(line.lstrip())
        if not line.strip() or line.lstrip().startswith("#"):
            above = bool(line.strip())
            continue
        sourced = [outer for outer in sourced if outer < indent]
        has_source = "#" in line or above
        value = re.match(rf"(  |    )(?!({slots}):)\w+: [^{{\[&\s]", line)
        assert not value or has_source or sourced, (
            f"params.yaml:{number}: no source: {line.strip()}"
        )
        sourced += [indent] if has_source else []
        above = False


@pytest.mark.parametrize(
    "path",
    [
        ROOT / "params.yaml",
        *sorted(ROOT.glob("experiments/*/params.yaml")),
        *sorted(ROOT.glob("experiments/scales/*/overrides.yaml")),
    ],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_no_line_of_the_parameters_is_over_100_columns(path):
    long = [line for line in path.read_text(encoding="utf-8").splitlines() if len(line) > 100]
    assert not long


def test_git_tracks_20_megabytes_at_most():
    try:
        tracked = shape.tracked_bytes()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a git checkout ({error})")
    assert 5e6 < tracked <= 20e6, "what git holds: docs/full_records.md"


def test_every_stage_depends_on_the_hashes_of_the_code_that_it_runs():
    for stage in stages():
        code = [str(dep) for dep in stage.deps if str(dep).startswith(("data/code", "src"))]
        if stage.name == "code":
            papers = {
                path.relative_to(ROOT).as_posix() for path in ROOT.glob("experiments/*/params.yaml")
            }
            reports = {
                path.relative_to(ROOT).as_posix() for path in ROOT.glob("experiments/*/report*")
            }
            packages = {f"src/{package}" for package in PACKAGES}
            assert papers | reports | packages | {"params.yaml"} <= {str(dep) for dep in stage.deps}
            continue
        words = stage.cmd.partition("longform_lab ")[2].split()
        assert code == [f"data/code/{code_file(words)}"], stage.addressing
        entry = f"longform_lab.{STAGES[words[0]]}"
        functions = {
            name
            for place in shape.code_of(words)[entry]
            for name in shape.tree().module(entry).definitions[place].names
        }
        assert words[0] in functions and not functions & (STAGES.keys() - {words[0]})


@cache
def reports_of_papers():
    return {
        path.parent.name: read_yaml(path)["reports"]
        for path in ROOT.glob("experiments/*/params.yaml")
    }


@pytest.mark.parametrize("scale", SCALES)
def test_every_stage_of_a_scale_has_a_file_of_hashes(scale):
    params = shape.experiment(scale).params
    written = entry_points(params, reports_of_papers(), shape.tree())
    wanted = set(code_files(params))
    assert len(wanted) > 50 and wanted <= written.keys()


@cache
def declared_stages():
    """What dvc.yaml says of each stage, before DVC crosses its lists."""
    return read_yaml(ROOT / "dvc.yaml")["stages"]


def code_files(params):
    """The files of hashes that stages of dvc.yaml depend on, crossed as DVC crosses them."""
    for stage in declared_stages().values():
        body = stage.get("do", stage)
        files = [
            dep.removeprefix("data/code/") for dep in body["deps"] if dep.startswith("data/code/")
        ]
        named = {"item": stage["foreach"]} if "foreach" in stage else stage.get("matrix", {})
        lists = {
            name: list(reduce(getitem, place[2:-1].split("."), params))
            for name, place in named.items()
        }
        for chosen in product(*lists.values()):
            for file in files:
                for name, value in zip(lists, chosen, strict=True):
                    key = "key" if "foreach" in stage and "${key}" in file else "item"
                    file = file.replace(f"${{{key}.{name}}}", value).replace(f"${{{key}}}", value)
                assert "$" not in file
                yield file


STAGE_OF = {  # the room of an entry -> the stage that runs it
    "corpora": "corpus",
    "corpora_from_files": "corpus",
    "models": "language_model",
    "train": "train",
    "predictions": "read",
    "metrics": "score",
    "questions": "score",
    "evaluations": "score",
}


def test_the_code_of_a_stage_is_the_class_of_its_entry_and_its_calls():
    """The functions are found by importing them here, by reading the source files there."""
    checked = 0
    for room_of_entry, place, entry in entries(shape.experiment().params):
        if room_of_entry not in STAGE_OF:
            continue
        head, *keys = place.split(".")
        names = [head, keys[1]] if keys[0] == "critics" else keys[:1]
        closure = shape.code_in("/".join([STAGE_OF[room_of_entry], *names]) + ".json")
        settings = ROOMS[room_of_entry].registry[entry["kind"]]
        for function in [settings, *(function for function, _ in calls(settings))]:
            wanted = shape.tree().module(function.__module__).binding[function.__name__]
            assert wanted and set(wanted) <= closure[function.__module__], place
            checked += 1
    assert checked > 250


def test_what_is_called_by_name_is_known_to_the_stage_that_hashes_code():
    """Importing a module whose name is made at run time hides it from whoever reads source files."""
    calls = re.compile(r"(?:import_module|__import__|run_module|run_path)\((?!\s*[\"'])")
    hiding = {
        module.as_posix()
        for module in MODULES
        if calls.search((SOURCES / module).read_text(encoding="utf-8"))
    }
    settings = {"longform_lab/stages.py"}  # longform_lab.code reads them
    foreign = {
        "longform/language_models/sentence_features.py",
        "longform_lab/workers.py",
    }  # modules of other packages
    files = {"longform/critics/saving.py"}  # a saved critic names its class; no stage loads one
    assert hiding == settings | foreign | files
    steps = {f"longform_lab.{name}" for name in set(STAGES.values())}
    texts = {
        text
        for step in steps
        for definition in shape.tree().module(step).definitions
        for text in definition.texts
    }
    named = {request for text in texts if "/" in text for request in shape.tree().named_in(text)}
    known = {module for starts in shape.starts().values() for module, _ in starts}
    assert {module for module, _ in named} <= known


def test_every_data_file_of_the_package_is_part_of_the_code_that_reads_it():
    rooms = ("longform/text", "longform/datasets", "longform/critics", "synthetic_world")
    files = {path for room in rooms for path in (SOURCES / room).rglob("*") if path.is_file()}
    data = {
        path.relative_to(SOURCES).as_posix()
        for path in files
        if path.suffix not in PAGES_AND_COMPILED
    }
    hashed = {
        path
        for starts in shape.starts().values()
        for path in shape.tree().hashes(shape.tree().closure(starts))
    }
    of_stages = {path for path in data if Path(path).parent.name not in shape.FOR_PEOPLE_ALONE}
    assert of_stages <= hashed and len(of_stages) > 10


def test_a_critic_for_people_alone_is_run_by_no_stage():
    for name in shape.FOR_PEOPLE_ALONE:
        assert shape.stale_after_an_edit(Path("longform/critics") / name) == []


@pytest.mark.long  # all modules; test_source_code.py has the rule on one
def test_comments_everywhere_change_no_hash(tmp_path):
    home = edits.copied(tmp_path)
    everything = [path.name for path in (home / "src").iterdir()]
    before = {}
    for file, requests in shape.starts().items():
        before[file] = shape.tree().hashes(shape.tree().closure(requests))
    assert edits.after_comments(home, everything) == before
    assert len(before) > 100


def test_the_page_of_reruns_names_for_each_critic_stages_that_run_it():
    page = (ROOT / "docs" / "reruns.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)`: .+? becomes .+? \| (.+?) \|", page, re.MULTILINE))
    assert rows.keys() == {critic.name for critic in shape.critics_of_stages()}
    for critic in shape.critics_of_stages():
        named = set(re.findall(r"`(.+?)`", rows[critic.name]))
        assert named and named <= set(shape.stale_after_an_edit(critic)), critic


def test_an_edit_of_one_training_leaves_the_others_alone():
    trainings = {stage.addressing for stage in stages() if stage.name.startswith("language_model_")}
    translators = {name for name in trainings if "autoregressive" in name}
    assert len(translators) == 2 and len(trainings) > 10
    assert (
        trainings & set(shape.stale_after_an_edit(Path("longform/language_models/translation")))
        == translators
    )
    for critic in shape.critics_of_stages():
        assert not trainings & set(shape.stale_after_an_edit(critic)), critic


def test_the_repository_stays_small_and_an_edit_reaches_few_stages():
    found = shape.figures()
    assert found["stages"] <= 150 and found["lines of dvc.lock"] <= 10_000
    assert len(shape.behind_a_cell_of_table_2()) <= 40
    for critic in shape.critics_of_stages():
        stale = shape.stale_after_an_edit(critic)
        assert 0 < len(stale) <= 0.15 * len(stages()), f"{critic}: {stale}"
    graph = stages()[0].repo.index.graph  # edges lead to what a stage needs
    reports = [stage for stage in stages() if stage.name.startswith("report_")]
    assert reports and all(len(descendants(graph, report)) < len(graph) / 2 for report in reports)


def test_the_lock_file_has_no_stage_that_is_gone():
    recorded = yaml.load((ROOT / "dvc.lock").read_text(encoding="utf-8"), yaml.CSafeLoader)[
        "stages"
    ]
    assert recorded.keys() <= {stage.name for stage in stages()}
    scored = [stage["do"] for name, stage in declared_stages().items() if name.startswith("score_")]
    assert scored and all(stage["metrics"] for stage in scored)
    assert read_yaml(ROOT / "dvc.yaml")["plots"]


@pytest.mark.parametrize(
    "file", sorted((ROOT / "data" / "scores").rglob("*.json")), ids=lambda file: file.stem
)
def test_no_two_records_of_a_file_say_that_they_are_the_same_number(file):
    records = json.loads(file.read_text(encoding="utf-8"))
    named = Counter(tuple(record.get(name) for name in IDENTITY) for record in records)
    assert not [name for name, count in named.items() if count > 1]


def test_dvc_changes_one_line_of_params_for_each_value(tmp_path):
    """``dvc exp run -S`` and ``dvc exp apply`` parse the file and write it anew, by the rules of ruamel.yaml."""
    before = (ROOT / "params.yaml").read_text(encoding="utf-8")
    copied = tmp_path / "params.yaml"
    copied.write_text(before, encoding="utf-8")
    with modify_yaml(str(copied)) as params:
        params["seed"] = 5
        params["models"]["gpt2"]["n_layer"] = 3
        params["articles"]["training"]["schedule"]["epochs"] = 2
        params["corpora"]["wiki"]["documents"]["train"] = 400
    after = copied.read_text(encoding="utf-8")
    changed = []
    for old, new in zip(before.splitlines(), after.splitlines(), strict=True):
        if new != old:
            changed.append(re.sub(" +#", " #", new))  # a comment keeps its column
    assert sorted(changed) == [
        "      epochs: 2",
        "    documents: {train: 400, validation: 100, test: 200}",
        "    n_layer: 3",
        "seed: 5 # authors' code: random.seed(1234), torch.manual_seed(1234)",
    ]
