"""What a person may bring beside the texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from longform.documents import BadInput

CONFIGURATIONS = ("config.json", "pointer.json", "modules.json")  # one of them makes a folder a model


@dataclass(frozen=True)
class Options:
    """What a person may bring beside the texts: a language model, a sentence encoder; and the seed of every draw."""

    model: Path | None = None
    encoder: Path | None = None
    seed: int = 1234


def check(options: Options) -> None:
    """Refuse a named model or encoder that cannot be one, before any work.

    Raises:
        BadInput: no such folder, or one without a configuration.
    """
    for name, folder in (("model", options.model), ("encoder", options.encoder)):
        if folder is not None and not any((folder / file).is_file() for file in CONFIGURATIONS):
            raise BadInput(
                f"--{name} {folder}: no model folder ({' or '.join(CONFIGURATIONS)} is missing); name one in Hugging Face "
                "format, or leave the option out"
            )
