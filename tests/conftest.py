import gc
import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # before torch loads: spinning threads on shared cores cost 4-19x
os.environ["WANDB_MODE"] = "disabled"  # whatever make exports: a test's training is no run to sync
if os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
):  # of an image: each process would compile torch anew, 15 seconds
    sys.dont_write_bytecode = False
sys.path.insert(0, str(Path(__file__).parent))

# Files of more than ten processor seconds, longest first: each is one worker's, and none may be left to the end.
SLOWEST = (
    "test_topic_model.py", "test_strategies.py", "test_criticize.py", "test_study.py", "test_training.py", "test_repro.py",
    "test_long_documents.py", "test_hsmm_fitting.py", "test_wikipedia.py", "test_pipeline.py", "test_corpora.py",
    "test_additions.py", "test_study_app.py", "test_warm.py", "test_statistics.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """Begin with the slowest files; the others keep their order (so does xdist with ``--no-loadscope-reorder``)."""
    order = {name: place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_collection():
    """Collect without the garbage collector: a million objects of modules and tests, none of them garbage."""
    gc.disable()


def pytest_collection_finish():
    """From here on the collector looks at what tests make, and at nothing that was there before them."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def two_processes():
    """Two processes share a training or a generation, forked from this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGFORM_DEVICES", "2")
        patch.setenv("LONGFORM_STRATEGY", "ddp_fork")
        yield patch


def pytest_addoption(parser):
    parser.addoption(
        "--pictures", action="store_true", help="write the study's pages to docs/study as pictures"
    )
