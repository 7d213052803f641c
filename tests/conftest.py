import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch loads: spinning threads on shared cores cost 4-19x
sys.path.insert(0, str(Path(__file__).parent))
