import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch loads: spinning threads on shared cores cost 4-19x
sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser):
    parser.addoption("--pictures", action="store_true", help="write the study's pages to docs/study as pictures")
