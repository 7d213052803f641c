"""F-coref (Otmazgin et al. 2022) behind the resolvers' protocol; the package and its checkpoint are optional.

Nothing is downloaded: a checkpoint is a folder on disk, in safetensors. fastcoref 2.1.6 predates transformers 5,
which asks a model class for ``all_tied_weights_keys``; the loader supplies it. Scores shift with the version of
transformers, so the header names it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput, Document, Readout
from longform.critics.coreference.chains import ChainRules, Mention, read_with
from longform.critics.coreference.person_mentions import FIRST_NAMES, LIKELY, NAME, candidates


@dataclass(frozen=True)
class FcorefResolver:
    """Clusters of a fastcoref model; which of them are names of persons is decided by our rules.

    Attributes:
        model: has ``predict(texts=[...], max_tokens_in_batch=...)``, whose items have ``get_clusters(as_strings=False)``.
        checkpoint: name of the checkpoint, for the header.
        tokens_in_batch: model tokens per batch.
    """

    model: Any = field(repr=False)
    checkpoint: str = ""
    tokens_in_batch: int = 10000
    first_names: Mapping[str, str] = field(default_factory=lambda: FIRST_NAMES, repr=False)

    def header(self) -> Mapping[str, str]:
        """Checkpoint and the versions that its scores depend on."""
        versions = {name: _version(name) for name in ("fastcoref", "transformers", "torch", "spacy")}
        return {"resolver": f"FcorefResolver({self.checkpoint})", **versions}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Mentions of all clusters; F-coref knows no entity mentioned once."""
        read = [text for text in texts if text.strip()]
        found = iter(self.model.predict(texts=read, max_tokens_in_batch=self.tokens_in_batch) if read else [])
        return [self._mentions(text, next(found)) if text.strip() else [] for text in texts]

    def _mentions(self, text: str, prediction: Any) -> list[Mention]:
        names = person_name_spans(text, self.first_names)
        clusters = prediction.get_clusters(as_strings=False)
        spans = [(start, end, i) for i, cluster in enumerate(clusters) for start, end in cluster]
        return [Mention(a, b, i, any(a <= x < b for x, _ in names)) for a, b, i in sorted(spans)]


def person_name_spans(text: str, first_names: Mapping[str, str]) -> list[tuple[int, int]]:
    """Spans that our rules take for names of persons, in order: a stand-in for named-entity recognition."""
    return [(c.root, c.end) for c in candidates(text, first_names) if c.kind == NAME and c.sure >= LIKELY]


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    splits: Sequence[str],
    names_have_gender: bool = True,
    film_filter: str | None = None,
    device: str = "cpu",
) -> Readout:
    """Chains of persons by the F-coref checkpoint in ``reader``, which knows no person mentioned once."""
    chosen = [document for document in documents if document.split in splits]
    return read_with(load_fcoref(reader, device), chosen, ChainRules(False, names_have_gender), film_filter)


def load_fcoref(folder: Path, device: str = "cpu") -> FcorefResolver:
    """F-coref from a checkpoint folder on disk."""
    for name in ("config.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise BadInput(f"{folder}: no {name}; give a folder with an F-coref checkpoint saved by save_pretrained")
    try:
        package = importlib.import_module("fastcoref")
        spacy = importlib.import_module("spacy")
        modeling = importlib.import_module("fastcoref.coref_models.modeling_fcoref")
    except ImportError as error:
        raise BadInput(
            f"F-coref needs {error.name}; install fastcoref, or use RuleResolver, which needs nothing"
        ) from error
    patch_tied_weights(modeling.FCorefModel)
    model = package.FCoref(str(folder), device=device, nlp=spacy.blank("en"), enable_progress_bar=False)
    return FcorefResolver(model, folder.name)


def patch_tied_weights(model_class: type) -> None:
    """Give a model class of transformers 4 the attribute that transformers 5 reads while loading."""
    if not hasattr(model_class, "all_tied_weights_keys"):
        model_class.all_tied_weights_keys = {}  # type: ignore[attr-defined]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
