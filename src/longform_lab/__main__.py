"""Run one stage: ``python -m longform_lab STAGE NAME ...``, see :mod:`longform_lab.stages`."""

import os
import sys

from longform.extras import exit_if_missing
from longform_lab.code import changed_since_written
from longform_lab.stages import main

if __name__ == "__main__":
    changed = changed_since_written(sys.argv[1:]) if "DVC_STAGE" in os.environ else []
    if changed:
        advice = "run `dvc repro` or `make repro` again, whose first stage reads the code anew"
        print(
            f"longform: {changed[0]} has changed since that first stage ran; {advice}",
            file=sys.stderr,
        )
        sys.exit(2)
    with exit_if_missing("study"):
        sys.exit(main())
