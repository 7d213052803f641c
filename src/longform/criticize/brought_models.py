"""The models that a person brings, a language model and a sentence encoder: opened and tried before any critic runs."""

import json
from dataclasses import dataclass
from pathlib import Path

from longform import extras
from longform.errors import BadInput
from longform.language_models.named_models import CONFIGURATIONS, NETWORKS, NamedModel


@dataclass(frozen=True)
class Options:
    """What a person may bring beside the texts: a language model and the folder of a sentence encoder; and the seed of every draw."""

    model: NamedModel | None = None
    encoder: Path | None = None
    seed: int = 1234
    packaged: bool = True  # without a model, take SmolLM2 where the optional extra is installed
    packaged_encoder: bool = True  # likewise MiniLM


def check(options: Options) -> None:
    """Open what is named and read a sentence with it, before any work.

    Raises:
        BadInput: it is no model or encoder, or nothing is installed to open it with.
    """
    if options.model is not None:
        _try_model(options.model)
    if options.encoder is not None:
        _try_encoder(options.encoder)


def _try_model(model: NamedModel) -> None:
    if model.folder is not None:
        check_tokenizer_file(model.folder, f"--model {model.name}")
    from longform.language_models.trial import open_language_model

    try:
        with model.opened_folder() as folder:
            open_language_model(folder)
    except BadInput as error:
        raise BadInput(f"--model {error}") from error


def _try_encoder(folder: Path) -> None:
    given = f"--encoder {folder}"
    if not any((folder / file).is_file() for file in CONFIGURATIONS):
        raise BadInput(
            f"{given}: no model folder ({' or '.join(CONFIGURATIONS)} is missing); name one in Hugging Face "
            "format, or leave the option out"
        )
    check_tokenizer_file(folder, given)
    extras.check("models", *NETWORKS)
    from longform.language_models.sentence_features import open_encoder

    try:
        open_encoder(folder).encode(["The town lies on a river."])
    except BadInput as error:
        raise BadInput(f"--encoder {error}") from error


def check_tokenizer_file(folder: Path, given: str) -> None:
    """Raises BadInput: a tokenizer.json over which its own reader would stumble without a sentence."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return
    try:
        held = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError) as error:
        raise BadInput(
            f"{given}: tokenizer.json cannot be read ({error}); fetch the folder again"
        ) from error
    if not isinstance(held, dict) or not {"model", "added_tokens"} <= held.keys():
        raise BadInput(f"{given}: tokenizer.json holds no tokenizer; fetch the folder again")
