"""Files of arrays: their bytes are a function of the arrays."""

import time
import zipfile

import numpy as np

from longform.core.resampling import save_arrays


def test_bytes_do_not_depend_on_the_clock_or_the_order(tmp_path, monkeypatch):
    arrays = {"b": np.arange(5), "a": np.array(["x", "yy"])}
    save_arrays(tmp_path / "one.npz", arrays)
    monkeypatch.setattr(time, "time", lambda: 2.0e9)
    save_arrays(tmp_path / "two.npz", dict(reversed(arrays.items())))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.npz") as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
