"""The documents' own text beside what was read in it, for critics that show where a score comes from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longform.core.documents import Readout

LONE = "surrogatepass"  # half a surrogate pair, which JSON may hold, comes back as it was


def pack(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """``text``: UTF-8 bytes, one ragged row per unit."""
    rows = [np.frombuffer(text.encode(errors=LONE), dtype=np.uint8) for text in texts]
    flat = np.concatenate([np.zeros(0, np.uint8), *rows])
    return {"text": flat, "text_lengths": np.array([len(row) for row in rows], dtype=np.int64)}


def unpack(readout: Readout) -> list[str]:
    """Texts of the units; empty ones where the reader kept none."""
    if "text" not in readout.arrays:
        return [""] * len(readout.unit_ids)
    return [row.tobytes().decode(errors=LONE) for row in readout.ragged("text")]
