"""Which stages use a GPU, so that the others leave it to them: told by what the code that a stage runs imports.

One module chooses the device (:mod:`longform.language_models.device`); what opens networks imports it, as does what trains
them. A stage whose code does not reach it computes on the processor: topic models, coreference rules, samples of the semi-Markov
model. Source files are parsed to find out, and none is run.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from longform.core.calls import source_of
from longform.core.documents import BadInput
from longform.core.experiment import Experiment

SOURCE = Path(__file__).parents[1]
CHOOSER = "language_models.device"  # the module that chooses a device
STAGES = ("language_model", "generate", "complete", "decode", "train", "read")  # those that may use one
COMMAND = "python -m longform.pipeline "


def uses_gpu(command: str, experiment: Experiment) -> bool:
    """Whether a stage's command may compute on a GPU.

    Args:
        command: as ``dvc.yaml`` has it; one that is not ours, of a stage that a user added, is taken to need none.
        experiment: the parameters that the stage reads.
    """
    stage, *names = command.partition(COMMAND)[2].split() or [""]
    if stage not in STAGES:
        return False
    try:
        sources = list(_sources(experiment, stage, names))
    except (BadInput, ValueError):  # a wrong entry: the stage itself says which
        return False
    return any(_reaches_chooser(module, function) for module, function in sources)


def _sources(experiment: Experiment, stage: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """Module below ``longform`` and function of everything that a stage runs; the modules' defaults are those of the stages."""
    if stage == "complete":
        yield "decoding.completions", "generate"
        return
    if stage == "decode":
        yield "decoding.continuations", "generate"
        return
    study, name, *_ = names
    model = names[-1]
    if stage == "language_model":
        code = str(experiment.settings("models", model).get("code", "language_models/causal_lm"))
        yield _split(code, "fit")
    elif stage == "generate":
        entry = experiment.settings("models", model)
        own = entry.get("sampling") if "code" in entry else None
        settings = own or experiment.settings(study, "sampling")
        yield _split(str(settings.get("code", "decoding/long_documents")), "generate")
    elif stage == "train":
        settings = experiment.settings(study, "critics", name, "train")
        yield _split(source_of(name, str(settings.get("code", "train"))), "fit")
    else:
        for settings in experiment.settings(study, "critics", name, "readings").values():
            yield _split(source_of(name, str(settings.get("code", "read"))), "read")


def _split(code: str, function: str) -> tuple[str, str]:
    """``critics/topics/read`` or ``critics/topics/read.read_gold`` as a dotted module and a function."""
    path, _, named = code.partition(".")
    return path.replace("/", "."), named or function


def _reaches_chooser(module: str, function: str) -> bool:
    """Whether a module below ``longform`` loads the chooser, itself or through what it imports, or that function of it does."""
    reached: set[str] = set()
    waiting = [(module, function)]
    while waiting:
        name, inside = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        waiting.extend((imported, "") for imported in _imports(name, inside))
    return CHOOSER in reached


@cache
def _imports(module: str, function: str) -> list[str]:
    """Modules below ``longform`` that a module imports when it is loaded, and when that function of it runs."""
    path = SOURCE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return []
    imported: list[str] = []
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.FunctionDef) and statement.name != function:
            continue  # what another function imports is loaded when that one runs
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                imported.extend(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                imported.append(str(node.module))
                imported.extend(f"{node.module}.{alias.name}" for alias in node.names)  # a name may be a module
    return [name.removeprefix("longform.") for name in imported if name.startswith("longform.")]
