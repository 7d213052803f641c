"""Keep what a run of the scale `bases` trained in ``data/bases``.

``PYTHONPATH=src python experiments/keep_bases.py scales/bases``. ``data/bases/<name>/`` has
``config.json`` and ``model.safetensors`` (half precision), ``data/bases/tokenizer/`` the vocabulary
of all.
"""

import argparse
import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from longform.errors import BadInput
from longform.files.artefacts import atomic_write
from longform.language_models.checkpoints import load_model


def keep(models: Path, tokenizer: Path, folder: Path) -> None:
    """Copy trained models (``<models>/<name>``) in half precision and their tokenizer to a folder.

    Raises:
        BadInput: there is no trained model.
    """
    names = sorted(path.parent.name for path in models.glob("*/config.json"))
    if not names:
        raise BadInput(f"{models}: no trained model there; run the scale 'bases' first")
    with atomic_write(folder) as made:
        made.mkdir()
        shutil.copytree(tokenizer, made / "tokenizer")
        for name in names:
            network = load_model(models / name, AutoModelForCausalLM).to(torch.float16)
            network.save_pretrained(made / name)
            (made / name / "generation_config.json").unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    """Keep the models of a run. Returns the exit status: 2 after a problem, else 0."""
    parser = argparse.ArgumentParser(prog="python experiments/keep_bases.py", description=__doc__)
    parser.add_argument("run", type=Path, help="the folder of a run of the scale 'bases'")
    data = parser.parse_args(arguments).run / "data"
    try:
        models = data / "models" / "bases" / "passages"
        keep(models, data / "tokenizers" / "bases", Path("data/bases"))
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
