"""Pretrained networks that come with the repository, one for each shape, and the search for the one that a shape finetunes.

``data/bases/<name>/`` holds ``config.json`` and ``model.safetensors`` (half precision); ``data/bases/tokenizer/`` the vocabulary
that all of them share. The scale ``bases`` trains them, and :func:`main` keeps what it made.
"""

import argparse
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase

from longform.core.artefacts import read_json, whole
from longform.core.documents import BadInput
from longform.language_models.checkpoints import load_model, load_tokenizer


def base_of(folder: Path, shape: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase) -> Path:
    """The base below a folder whose configuration agrees with the shape, ``{"model_type": "gpt2", ...}``, in every keyword.

    Raises BadInput: no base has the shape, or the bases' vocabulary is another than the tokenizer's.
    """
    if load_tokenizer(folder / "tokenizer").get_vocab() != tokenizer.get_vocab():
        advice = "give tokenizer: {folder: bases/tokenizer}"
        raise BadInput(f"{folder}: the bases have another vocabulary than the study; {advice}")
    configurations = {path.parent: read_json(path) for path in sorted(folder.glob("*/config.json"))}
    for place, configuration in configurations.items():
        if shape.items() <= configuration.items():
            return place
    known = [{key: held.get(key) for key in shape} for held in configurations.values()]
    raise BadInput(
        f"{folder}: no base has the shape {dict(shape)}, there are {known}; say from_scratch: true in the model's entry, add"
        " a base with the scale 'bases', or set training.bases to null, which trains every model of the study from scratch"
    )


def keep(models: Path, tokenizer: Path, folder: Path) -> None:
    """Copy trained models (``<models>/<name>``) in half precision, and their tokenizer, to ``folder``."""
    names = sorted(path.parent.name for path in models.glob("*/config.json"))
    if not names:
        raise BadInput(f"{models}: no trained model there; run the scale 'bases' first")
    with whole(folder) as made:
        made.mkdir()
        shutil.copytree(tokenizer, made / "tokenizer")
        for name in names:
            load_model(models / name, AutoModelForCausalLM).to(torch.float16).save_pretrained(made / name)
            (made / name / "generation_config.json").unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    """``python -m longform.language_models.bases scales/bases``: keep what that run trained in ``data/bases``."""
    parser = argparse.ArgumentParser(prog="python -m longform.language_models.bases", description=main.__doc__)
    parser.add_argument("run", type=Path, help="the folder of a run of the scale 'bases'")
    data = parser.parse_args(arguments).run / "data"
    try:
        keep(data / "models" / "bases" / "passages", data / "tokenizers" / "bases", Path("data/bases"))
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
