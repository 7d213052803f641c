"""Trainings as runs of Weights & Biases.

They stay offline unless ``WANDB_MODE`` says otherwise: :mod:`longform_lab.stages` and the Makefile
set it to ``offline`` where it is not set. A run is a mirror; the record of a training is the CSV
log that :mod:`longform.language_models.lightning` writes in its scratch folder.
"""

import json
import logging
import os
import uuid
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from longform.language_models.tracking import mirrors

SCALE_FILE = Path("scale.json")  # written by longform_lab/scale.py
SERVICE_SECONDS = 120  # a busy machine takes longer than the usual 30


def track() -> None:
    """Mirror the trainings of this process, and name the stage that they are of.

    The name goes to ``LONGFORM_STAGE``, which a training's facts repeat.
    """
    if wandb_run not in mirrors:
        mirrors.append(wandb_run)
    if "DVC_STAGE" in os.environ:  # its name in dvc.yaml
        os.environ["LONGFORM_STAGE"] = os.environ["DVC_STAGE"]


def wandb_run(name: str, scratch: Path, tags: list[str]) -> list[Any]:
    """A run of Weights & Biases, none where it is disabled, not installed or does not answer.

    The run's id is kept beside the checkpoints, so that a resumed training goes on in the run that
    it began. In the folder of a scale (``scale.json``: parameters of another size, made by
    :mod:`longform_lab.scale`) name and group open with the scale's name.

    Args:
        name: of the training; it opens with its corpus, which becomes the run's group.
        scratch: folder of its checkpoints.
        tags: of the run.

    Returns:
        One logger of Lightning, or none.
    """
    if os.environ.get("WANDB_MODE") == "disabled":
        return []
    if find_spec("wandb") is None:
        advice = "pip install wandb, or set WANDB_MODE=disabled"
        print(
            f"{name}: wandb is not installed, so only the CSV log is written; {advice}", flush=True
        )
        return []
    from pytorch_lightning.loggers import WandbLogger

    folder = Path(os.environ.get("WANDB_DIR", "wandb"))
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("WANDB_SILENT", "true")
    os.environ.setdefault("WANDB__SERVICE_WAIT", str(SERVICE_SECONDS))
    logging.getLogger("wandb").setLevel(logging.ERROR)
    id_file = scratch / "wandb_id.txt"
    if not id_file.is_file():
        scratch.mkdir(parents=True, exist_ok=True)
        id_file.write_text(uuid.uuid4().hex[:12])
    group = name.replace("/", "-").split("-")[0]  # names begin with the corpus
    settings: dict[str, Any] = {
        "name": name,
        "tags": tags,
        "group": group,
        "project": "longform",
        "resume": "allow",
    }
    # A scale's folder is a repository of its own, whose commits say nothing of the code.
    if SCALE_FILE.is_file():
        made_from = json.loads(SCALE_FILE.read_text(encoding="utf-8"))
        scale = made_from["scale"]
        settings |= {"name": f"{scale}/{name}", "group": f"{scale}/{group}", "config": made_from}
    mirror = WandbLogger(id=id_file.read_text(), save_dir=str(folder), **settings)
    # Start the run here, where a service that does not answer costs the mirror alone.
    try:
        _ = mirror.experiment
    except Exception as error:  # any: the mirror is never worth a training
        reason = f"not mirrored to Weights & Biases ({type(error).__name__})"
        print(f"{name}: {reason}; the CSV log is whole", flush=True)
        return []
    return [mirror]
