"""Texts beside a readout come back as they went in."""

import numpy as np

from longform.core.documents import Readout
from longform.core.text.rendering import pack, unpack


def test_texts_of_any_script_come_back_and_none_are_empty():
    texts = ["Zoë 彼は", "", "half \ud800 a pair"]
    readout = Readout(("a", "b", "c"), ("test",) * 3, pack(texts))
    assert unpack(readout) == texts
    assert unpack(Readout(("a",), ("test",), {"x": np.zeros(1)})) == [""]
