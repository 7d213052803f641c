"""Folders for other tools: a module of Hugging Face's ``evaluate``, tasks of
lm-evaluation-harness.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from longform.datasets.test_suites.harness import GROUP, harness_tasks
from longform.datasets.test_suites.named_suites import SEED, named_suites
from longform.errors import ConfigError
from longform.files.artefacts import full_disk
from longform.tools.unfinished import check_folder
from longform.version import __version__

MODULE = "evaluate_module.py"  # beside this file
CARD = """---
title: longform critics
sdk: gradio
app_file: app.py
tags: [evaluate, metric]
---

# Critics of long text

Does long generated text hang together? The configuration names one of longform's critics
(`longform critics` lists what each asks, needs and costs).

```python
import evaluate

critic = evaluate.load("{folder}", "entity_grid")
critic.compute(predictions=machine_texts, real=real_texts, held_out=other_real_texts)
```

`real` teaches a critic that learns; `held_out`, real texts that it has not seen, are what the
predictions are tested against. The result has a 95 % interval over texts, the p-value of a
permutation test, and a signature with every setting and the version. Written by longform {version}.
"""
APP = """import evaluate
from evaluate.utils import launch_gradio_widget

launch_gradio_widget(evaluate.load("{name}"))
"""
REQUIREMENTS = "longform=={version}\nevaluate>=0.4\ndatasets\n"


def export_evaluate(folder: str | Path) -> list[Path]:
    """Write a module of Hugging Face's ``evaluate``, with its card, its requirements and its app.

    Args:
        folder: a new folder, or one with an older module; its name is the module's.

    Returns:
        The files.

    Raises ConfigError: the folder's name is no name of a Python module.
    """
    target = Path(folder)
    if not target.name.isidentifier():
        raise ConfigError(
            f"{folder}: the folder's name becomes that of a Python module; take letters, digits "
            "and _"
        )
    module = files(__package__).joinpath(MODULE).read_text(encoding="utf-8")
    values = {"folder": target.name, "name": target.name, "version": __version__}
    return _write_files(
        target,
        {
            f"{target.name}.py": module,
            "README.md": CARD.format(**values),
            "requirements.txt": REQUIREMENTS.format(**values),
            "app.py": APP.format(**values),
        },
    )


def export_harness(
    folder: str | Path, suites: Sequence[str | Path], *, seed: int = SEED
) -> list[Path]:
    """Write suites as tasks of lm-evaluation-harness.

    Args:
        folder: for the tasks; ``lm_eval --include_path FOLDER --tasks coherencegym`` runs them. The
            harness opens their data by the folder's absolute path: export again where it was moved.
        suites: names of :mod:`longform.datasets.test_suites.named_suites`.
        seed: of shuffles.

    Returns:
        The files.

    Raises InputError: a suite that cannot be read, or whose prediction is no pair.
    """
    target = Path(folder)
    tasks = harness_tasks(named_suites(suites, seed=seed), str(target.absolute()))
    return _write_files(target, tasks)


def _write_files(folder: Path, contents: dict[str, str]) -> list[Path]:
    """Write files, by name, into a folder; others in it stay. Returns their paths."""
    paths = []
    check_folder(folder)
    with full_disk(folder):
        for name, content in contents.items():
            (folder / name).write_text(content, encoding="utf-8")
            paths.append(folder / name)
    return paths


def command_for(folder: str | Path) -> str:
    """The command line that runs exported tasks.

    It turns the harness's cache of logits off: the cache goes by the text alone, and mixes up two
    tasks that judge different parts of one text (a shuffle of all sentences, and of the context).
    """
    arguments = "pretrained=MODEL,add_bos_token=True,logits_cache=False"
    return f"lm_eval --include_path {folder} --tasks {GROUP} --model hf --model_args {arguments}"
