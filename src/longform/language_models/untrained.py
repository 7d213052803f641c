"""A causal LM that has read nothing: the floor that every trained one is to be above."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longform.language_models.causal_lm import from_scratch
from longform.language_models.checkpoints import SavedModel, load_tokenizer


def fit(*, base: Path, seed: int, context: int, shape: Mapping[str, Any]) -> SavedModel:
    """A network of the given shape with the seeded weights from which training would start."""
    tokenizer = load_tokenizer(base)
    return SavedModel(from_scratch(shape, tokenizer, context, seed), tokenizer)
