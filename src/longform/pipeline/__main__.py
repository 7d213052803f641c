"""Run one stage: ``python -m longform.pipeline STAGE NAME ...``, see :mod:`longform.core.stages`."""

import sys

from longform.core.stages import main

if __name__ == "__main__":
    sys.exit(main())
