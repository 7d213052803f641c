"""Starts the recorder in a process that a test started (``tests/mutants/recorder.py``)."""

import importlib.util
import os
from pathlib import Path

if "MUTANTS_CALLS" in os.environ and "PYTEST_CURRENT_TEST" in os.environ:
    source = Path(__file__).parents[1] / "recorder.py"
    spec = importlib.util.spec_from_file_location("mutants_recorder", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    test, _, phase = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")
    module.recorder.begin(test, "child " + phase.strip("()"))
    module.recorder.start()
