"""The models that a person brings: opened and tried before any critic runs."""

import json
from dataclasses import dataclass
from pathlib import Path

from longform import extras
from longform.errors import BadInput
from longform.language_models.named_models import CONFIGURATIONS, NETWORKS, NamedModel


@dataclass(frozen=True)
class Options:
    """A person's choices beside the texts.

    Attributes:
        model: a causal language model; None for the packaged one.
        encoder: folder of a sentence encoder; None for the packaged one.
        seed: of all random numbers.
        packaged: whether SmolLM2 may stand in for a model, if the optional extra is installed.
        packaged_encoder: whether MiniLM may stand in for an encoder, likewise.
        orders: whether the model reads each text in other orders too, which takes hours.
    """

    model: NamedModel | None = None
    encoder: Path | None = None
    seed: int = 1234
    packaged: bool = True
    packaged_encoder: bool = True
    orders: bool = False


def check(options: Options) -> None:
    """Open the named model and encoder and read a sentence with each, before any work.

    Raises:
        BadInput: one is no model or encoder, or nothing is installed to open it with.
    """
    if options.model is not None:
        _try_model(options.model)
    if options.encoder is not None:
        _try_encoder(options.encoder)


def _try_model(model: NamedModel) -> None:
    """Raises BadInput: a language model cannot be opened."""
    if model.folder is not None:
        check_tokenizer_file(model.folder, f"--model {model.name}")
    from longform.language_models.trial import open_language_model

    try:
        with model.opened_folder() as folder:
            open_language_model(folder)
    except BadInput as error:
        raise BadInput(f"--model {error}") from error


def _try_encoder(folder: Path) -> None:
    """Open an encoder and encode a sentence, so that a bad folder fails before the long work.

    Raises BadInput: the folder is none that can be read, or a package of the extra is missing.
    """
    option = f"--encoder {folder}"
    if not any((folder / file).is_file() for file in CONFIGURATIONS):
        raise BadInput(
            f"{option}: no model folder ({' or '.join(CONFIGURATIONS)} is missing); "
            "name one in Hugging Face format, or leave the option out"
        )
    check_tokenizer_file(folder, option)
    extras.check("models", *NETWORKS)
    from longform.language_models.sentence_features import open_encoder

    try:
        open_encoder(folder).encode(["The town lies on a river."])
    except BadInput as error:
        raise BadInput(f"--encoder {error}") from error


def check_tokenizer_file(folder: Path, option: str) -> None:
    """Refuse a damaged tokenizer.json, on which the tokenizers library fails unintelligibly.

    Args:
        folder: of a model.
        option: the command's option that named it, with its value, for errors.

    Raises:
        BadInput: there is a file, and it holds no tokenizer.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        return
    try:
        tokenizer = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError) as error:
        raise BadInput(
            f"{option}: tokenizer.json cannot be read ({error}); fetch the folder again"
        ) from error
    if not isinstance(tokenizer, dict) or not {"model", "added_tokens"} <= tokenizer.keys():
        raise BadInput(f"{option}: tokenizer.json holds no tokenizer; fetch the folder again")
