"""Run one stage: ``python -m longform.pipeline STAGE NAME ...``, see :mod:`longform.core.stages`."""

import sys

from longform.core.stages import main
from longform.extras import told

if __name__ == "__main__":
    with told("study"):
        sys.exit(main())
