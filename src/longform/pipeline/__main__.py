"""Run one stage: ``python -m longform.pipeline STAGE NAME ...``, see :mod:`longform.core.stages`."""

import os
import sys

from longform.core.stages import main
from longform.extras import told
from longform.pipeline.code import changed_since_written

if __name__ == "__main__":
    changed = changed_since_written(sys.argv[1:]) if "DVC_STAGE" in os.environ else []
    if changed:
        advice = "run `dvc repro` or `make repro` again, whose first stage reads the code anew"
        print(f"longform: {changed[0]} has changed since that first stage ran; {advice}", file=sys.stderr)
        sys.exit(2)
    with told("study"):
        sys.exit(main())
