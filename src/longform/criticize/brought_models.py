"""The models that a person brings, a language model and a sentence encoder: opened and tried before any critic runs."""

import json
from dataclasses import dataclass
from pathlib import Path

from longform import extras
from longform.errors import BadInput

NETWORKS = ("torch", "transformers", "pytorch_lightning")  # of the extra `models`
CONFIGURATIONS = (
    "config.json",
    "pointer.json",
    "modules.json",
)  # one of them makes a folder a model


@dataclass(frozen=True)
class Options:
    """What a person may bring beside the texts: folders of a language model and of a sentence encoder; and the seed of every draw."""

    model: Path | None = None
    encoder: Path | None = None
    seed: int = 1234
    packaged: bool = True  # without a model, take SmolLM2 where the optional extra is installed
    packaged_encoder: bool = True  # likewise MiniLM


def check(options: Options) -> None:
    """Before any work. Raises BadInput: a model or encoder is named that is no folder of one, or nothing is installed to open it with."""
    for name, folder in (("model", options.model), ("encoder", options.encoder)):
        if folder is None:
            continue
        given, tokenizer = f"--{name} {folder}", folder / "tokenizer.json"
        if not any((folder / file).is_file() for file in CONFIGURATIONS):
            raise BadInput(
                f"{given}: no model folder ({' or '.join(CONFIGURATIONS)} is missing); name one in Hugging Face "
                "format, or leave the option out"
            )
        if tokenizer.is_file():  # what its own reader would stumble over without a sentence
            try:
                held = json.loads(tokenizer.read_bytes())
            except (ValueError, OSError, RecursionError) as error:
                raise BadInput(
                    f"{given}: tokenizer.json cannot be read ({error}); fetch the folder again"
                ) from error
            if not isinstance(held, dict) or not {"model", "added_tokens"} <= held.keys():
                raise BadInput(
                    f"{given}: tokenizer.json holds no tokenizer; fetch the folder again"
                )
        extras.check("models", *NETWORKS)
        try_folder(name, folder)


def try_folder(name: str, folder: Path) -> None:
    """Open a "model" or "encoder" and read a sentence with it. Raises BadInput: as the readers that will use it."""
    try:
        if name == "model":
            from longform.language_models.trial import open_language_model

            open_language_model(folder)
        else:
            from longform.language_models.sentence_features import open_encoder

            open_encoder(folder).encode(["The town lies on a river."])
    except BadInput as error:
        raise BadInput(f"--{name} {error}") from error
