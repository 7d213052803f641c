import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch loads: spinning threads on shared cores cost 4-19x
os.environ["WANDB_MODE"] = "disabled"  # whatever make exports: a test's training is no run to sync
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # of an image: each process would compile torch anew, 15 seconds
    sys.dont_write_bytecode = False
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def two_processes():
    """Two processes share a training or a generation, forked from this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGFORM_DEVICES", "2")
        patch.setenv("LONGFORM_STRATEGY", "ddp_fork")
        yield patch


def pytest_addoption(parser):
    parser.addoption("--pictures", action="store_true", help="write the study's pages to docs/study as pictures")
