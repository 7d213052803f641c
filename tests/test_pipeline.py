"""The shape of the pipeline: which way imports flow, what stages depend on, what rows are called and where they lead."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

from longform.pipeline import score
from longform.pipeline.rows import VERBS, Row, arguments
from longform.pipeline.scales import derived

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "longform"
FLOW = ("text", "datasets", "language_models", "decoding", "critics", "evaluation", "reporting")
FREE = {"documents", "critic", "resampling", "results", "artefacts", "markov_chain", "malformed"}
SCALES = [ROOT, *sorted(p.parent for p in (ROOT / "experiments" / "scales").glob("*/params.yaml"))]
MODULES = sorted(p.relative_to(PACKAGE) for p in PACKAGE.rglob("*.py"))
FOLDERS = ("src", "tests", "benchmarks", "experiments", "notebooks")
FILES = sorted(p.relative_to(ROOT) for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))


def params(home: Path) -> dict:
    return yaml.safe_load((home / "params.yaml").read_text(encoding="utf-8"))


@cache
def imports(module: Path) -> frozenset[Path]:
    """The package's own files that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        found |= {path for name in names if name.startswith("longform") and (path := _file(name))}
    return frozenset(found)


def _file(name: str) -> Path | None:
    place = Path(*name.split(".")[1:])
    for path in (place.with_suffix(".py"), place / "__init__.py") if place.parts else ():
        if (PACKAGE / path).is_file():
            return path
    return None


def closure(*starts: Path) -> set[Path]:
    seen, left = set(), list(starts)
    while left:
        module = left.pop()
        if module not in seen:
            seen.add(module)
            left += imports(module)
    return seen


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_flow_one_way(module):
    group = module.parts[0] if len(module.parts) > 1 else module.stem
    if group in ("pipeline", "cli", "__init__", "artefacts", "results", "experiment", "study", "criticize"):
        return
    allowed = set(FREE) | (set(FLOW[: FLOW.index(group) + 1]) if group in FLOW else set())
    for other in imports(module):
        if group == other.parts[0] == "critics" and len(other.parts) > 2:
            assert other.parts[1] == module.parts[1], f"{module} imports {other}: a critic knows none of its neighbours"
        target = other.parts[0] if len(other.parts) > 1 else other.stem
        assert target in allowed, f"{module} imports {other}: allowed are {sorted(allowed)}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_only_the_trainer_imports_wandb_and_only_stages_read_parameters(module):
    text = (PACKAGE / module).read_text(encoding="utf-8")
    if module != Path("language_models/lightning.py"):
        assert not re.search(r"^\s*(import wandb|from wandb)|WandbLogger", text, re.M)
    if module.parts[0] not in ("pipeline", "cli.py", "experiment.py"):
        assert not re.search(r"open\([^)]*params\.yaml|read_text\(.params\.yaml", text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file).removeprefix("src/longform/"))
def test_no_file_is_over_four_hundred_lines(file):
    assert len((ROOT / file).read_text(encoding="utf-8").splitlines()) <= 400


def test_torch_is_not_importable_from_the_judging_rooms():
    names = [
        "longform." + ".".join(m.with_suffix("").parts)
        for m in MODULES
        if m.parts[0] == "reporting" or (m.parts[0] == "critics" and m.name == "score.py")
    ]
    code = f"""
import sys, importlib
class Absent:  # SciPy reads sys.modules["torch"], so a None there breaks it where an uninstalled package would not
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "pytorch_lightning"):
            raise ModuleNotFoundError(f"{{name}} is not for the judging rooms", name=name)
sys.meta_path.insert(0, Absent())
for name in {names!r}:
    importlib.import_module(name)
"""
    source = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=source)
    assert done.returncode == 0, done.stderr


def declared(verb: str, row: dict, home: Path) -> list[Path]:
    """The package files and folders that a stage lists."""
    template = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"][verb]["do"]["deps"]
    filled = [re.sub(r"\$\{item\.(\w+)\}", lambda m: str(row[m.group(1)]), dep) for dep in template]
    return [Path(dep).relative_to("src/longform") for dep in filled if dep.startswith("src/longform/")]


FUNCTIONS = {"prepare": "build", "train": "fit", "generate": "generate", "infer": "read"}
SLOTS = {
    "prepare": ("raw",),
    "train": ("texts", "base"),
    "generate": ("model", "prefixes"),
    "infer": ("texts", "reader"),
    "score": (*score.SLOTS, *score.CHOICES),
    "report": ("paper", "table", "rows"),
}
GIVEN = {
    "prepare": "name seed raw scratch",
    "train": "name seed base scratch documents",
    "generate": "name seed model scratch prefixes",
    "infer": "documents truth reader reader_truth seed name",
    "score": "real",
    "report": "scores expected data",
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("home", SCALES, ids=lambda p: p.name)
def test_every_row_has_settings_that_its_function_takes(home, verb):
    for name, settings in params(home).get(verb, {}).items():
        row = Row(verb, name, settings, home, 0)
        function = row.function(FUNCTIONS.get(verb) or settings["critic" if verb == "score" else "table"])
        own = row.others(*SLOTS[verb])
        given = dict.fromkeys(GIVEN[verb].split())
        assert own.keys() <= arguments(function, row, own, given).keys() <= own.keys() | given.keys()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("home", SCALES, ids=lambda p: p.name)
def test_every_stage_lists_the_modules_that_it_imports(home, verb):
    for name, row in params(home).get(verb, {}).items():
        own = Path(row["code"])
        start = own if own.suffix == ".py" else own / "__init__.py"
        assert (PACKAGE / start).is_file(), f"{verb}.{name}: no file {start}"
        listed = declared(verb, row, home)
        for module in closure(Path("pipeline") / f"{verb}.py", Path("pipeline/__main__.py"), start):
            known = any(module == dep or dep in module.parents for dep in listed)
            silent = module.name == "__init__.py" and module != start  # docstrings only, checked below
            assert known or silent, f"{verb}.{name} runs {module} but dvc.yaml does not list it"


def test_group_folders_hold_no_code_in_their_init():
    for group in (*FLOW, "pipeline"):
        body = ast.parse((PACKAGE / group / "__init__.py").read_text(encoding="utf-8")).body
        assert all(isinstance(node, ast.Expr) for node in body), group


@pytest.mark.parametrize("home", SCALES, ids=lambda p: p.name)
def test_row_names_are_legal_and_slots_lead_to_rows(home):
    rows = params(home)
    made = {"corpora": "prepare", "models": "train", "generations": "generate"}
    for verb in VERBS:
        for name, row in rows.get(verb, {}).items():
            assert re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)*", name), name
            for slot in ("texts", "base", "model", "prefixes", "reader", "raw"):
                value = row.get(slot, "raw/")
                folder, _, target = value.partition("/") if isinstance(value, str) else ("raw", "", "")
                if folder != "raw":
                    assert target.split("/")[0] in rows[made[folder]], (
                        f"{verb}.{name}: {slot} leads nowhere: {row[slot]}"
                    )
            for slot in ("fit", "real", "units") if verb == "score" else ():
                assert row[slot] in rows["infer"], f"{verb}.{name}: {slot} leads nowhere: {row[slot]}"


@pytest.mark.parametrize("home", SCALES, ids=lambda p: p.name)
def test_every_row_reaches_a_table(home):
    rows = params(home)
    reached = {f"scores/{name}" for row in rows["report"].values() for name in row["rows"]}
    for name, row in rows["score"].items():
        assert f"scores/{name}" in reached, f"score.{name} is in no table"
        reached |= {f"inference/{row[slot]}" for slot in ("fit", "real", "units")}
    for verb, folder in (
        ("infer", "inference"),
        ("generate", "generations"),
        ("train", "models"),
        ("prepare", "corpora"),
    ):
        reached |= {
            str(value) for row in rows.get(verb, {}).values() for value in row.values() if isinstance(value, str)
        }
        reached |= {str(r[s]) for r in rows["report"].values() for s in ("texts", "reader") if s in r}
        reached |= {f"corpora/{name}" for r in rows["report"].values() for name in r.get("corpora", {})}
        for name in rows.get(verb, {}):
            users = [r for v in VERBS for r in rows.get(v, {}).values() if f"{folder}/{name}" in r.values()]
            assert f"{folder}/{name}" in reached or users, f"{verb}.{name} is read by nothing"


@pytest.mark.parametrize("home", SCALES, ids=lambda p: p.name)
def test_every_value_of_a_hand_written_scale_has_a_source_mark(home):
    if (home / "overrides.yaml").is_file():
        assert params(home) == derived(home), f"run python -m longform.pipeline.scales {home.relative_to(ROOT)}"
        return
    slots = "code|kind|readout|texts|base|model|prefixes|reader|raw|fit|real|units|paper|group|critic|table|corpus|rows|root|home"
    for line in (home / "params.yaml").read_text(encoding="utf-8").splitlines():
        setting = re.match(rf"\s+(?!({slots}|titles|splits|packing|split):)(\w+): (?!&)\S", line)
        merged = re.match(
            rf"\s+\S+: {{<<: \*\w+.*[{{,] (?!({slots}|system):)\w+: ", line
        )  # a row that differs in a setting
        if setting or merged:
            assert "#" in line, f"no source mark: {line.strip()}"
