"""A published checkpoint: its name on the hub and the commit that is meant, nothing else.

Both are written to ``pointer.json``; whoever opens the folder fetches that revision, or finds it in the local cache
(``HF_HUB_OFFLINE=1``). A branch name is refused, since what it names can change under a finished run.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from longform.core.documents import BadInput

COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Pointer:
    """A model of the hub at a commit."""

    hub: str
    revision: str

    def save(self, folder: Path) -> None:
        """``pointer.json``, as :func:`longform.language_models.checkpoints.source` reads it."""
        text = json.dumps({"hub": self.hub, "revision": self.revision}, indent=2, sort_keys=True)
        (folder / "pointer.json").write_text(text + "\n", encoding="utf-8")


def fit(*, hub: str, revision: str | None = None) -> Pointer:
    """Point to a published checkpoint; nothing is fetched or trained here.

    Args:
        hub: ``owner/model``, or a folder of this machine.
        revision: 40 hexadecimal digits of a commit.

    Raises:
        BadInput: no such revision.
    """
    if not isinstance(revision, str) or not COMMIT.fullmatch(revision):
        raise BadInput(
            f"models: revision of {hub} is {revision!r}, allowed is a commit of 40 hexadecimal digits; copy the one"
            f" that you mean from https://huggingface.co/{hub}/commits/main into params.yaml"
        )
    return Pointer(hub, revision)
