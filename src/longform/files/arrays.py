"""Arrays in files whose bytes depend on the arrays alone."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

# The earliest date that a zip entry can carry: a clock must not reach the bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an npz; ``np.savez`` would write the time of day into each entry.

    Args:
        path: the file.
        arrays: by name; none is pickled.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(arrays):
            entry = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as file:
                array = np.asanyarray(arrays[name])
                np.lib.format.write_array(file, array, allow_pickle=False)
