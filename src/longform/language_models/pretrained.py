"""A published causal LM as it is: read with, never trained here."""

from __future__ import annotations

from longform.language_models.checkpoints import Pointer, published


def fit(
    *, hub: str | None = None, revision: str | None = None, package: str | None = None, file: str | None = None
) -> Pointer:
    """Point to the checkpoint; see :func:`longform.language_models.checkpoints.published`."""
    return published(hub=hub, revision=revision, package=package, file=file)
