"""Compiled kernels read and write inside their arrays; compiled code does not say so where it does not."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from longform.critics.topics.train import tausworthe

ROOT = Path(__file__).parents[2]
FILES = (
    "tests/critics/code_mixing/test_code_mixing.py",
    "tests/critics/coreference/test_mention_chains.py",
    "tests/critics/lexical/test_lexical.py",
    "tests/critics/topics/test_topic_model.py",
    "tests/decoding/test_long_documents.py",
    "tests/language_models/hsmm/test_hsmm_fitting.py",
    "tests/language_models/hsmm/test_hsmm_model.py",
)


@pytest.mark.parametrize("size", [1, 20])
def test_uniform_numbers_fill_their_array_and_no_more(size):
    assert np.array_equal(
        tausworthe.py_func(3, size), tausworthe(3, size)
    )  # Python's arrays know their bounds


@pytest.mark.long
@pytest.mark.timeout(1800)  # all kernels are compiled anew
def test_kernels_stay_in_bounds_in_all_their_tests(tmp_path):
    checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    options = ["-n", "0", "-q", "-p", "no:cacheprovider", "-k", "not older_processor"]
    command = [sys.executable, "-m", "pytest", *options, *FILES]
    run = subprocess.run(
        command, cwd=ROOT, env=checked, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-3000:]
