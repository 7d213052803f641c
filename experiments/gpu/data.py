"""Published texts and weights that the jobs read, in an ignored folder.

``python -m experiments.gpu.pack`` fills it. Texts travel as one archive, weights in parts that fit
into a call each; on the machine both become ``raw``.
"""

import lzma
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

from longform.errors import BadInput
from longform.files.archives import unpack
from longform.files.artefacts import atomic_write
from longform.language_models.named_models import SMOLLM2

DATA = Path("scratch/gpu/data")
RAW = "raw"  # below it: texts by the names of the scales' lists, and the package of weights
TEXTS = "texts.tar.xz"
PART = 33 * 2**20  # bytes of a part: a call carries 64 MiB, of which the repository takes 20
WEIGHTS = Path(SMOLLM2["package"]) / SMOLLM2["file"]  # below raw, as the package has it
HOW = "fill the folder by `python -m experiments.gpu.pack FOLDER` and bring it (docs/one_gpu.md)"


def parts_of(path: Path) -> list[Path]:
    """The existing parts of a file, in order."""
    return sorted(path.parent.glob(f"{path.name}.part*"))


def split(source: Path, target: Path) -> list[Path]:
    """Write a file in parts of at most ``PART`` bytes, named ``.partIofN``; return their paths."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in parts_of(target):
        old.unlink()
    count = -(-source.stat().st_size // PART)  # rounded up
    with source.open("rb") as opened:
        for number in range(1, count + 1):
            part = target.with_name(f"{target.name}.part{number}of{count}")
            part.write_bytes(opened.read(PART))
    return parts_of(target)


def open_data(data: Path, weights: bool = True) -> None:
    """Unpack the texts and join the weights into ``raw``, unless they are there.

    Args:
        data: the folder with the archive of texts and the parts of weights.
        weights: whether SmolLM2's weights are needed.

    Raises:
        BadInput: the archive or a part is missing.
    """
    raw = data / RAW
    if not raw.is_dir():
        if not (data / TEXTS).is_file():
            raise BadInput(f"{data / TEXTS}: not there; {HOW}")
        extract(data / TEXTS, raw)
    if weights and not (raw / WEIGHTS).is_file():
        join(parts_of(data / WEIGHTS.name), raw / WEIGHTS)


def join(parts: Sequence[Path], target: Path) -> None:
    """Join the parts that :func:`split` wrote to one file. Raises BadInput: a part is missing."""
    count = int(parts[0].name.rpartition("of")[2]) if parts else 1
    if len(parts) < count:
        present = [part.name.rpartition(".")[2] for part in parts]
        raise BadInput(f"{target}: {present} of {count} parts are here; {HOW}")
    target.parent.mkdir(exist_ok=True)
    with atomic_write(target) as fresh, fresh.open("wb") as joined:
        for part in parts:
            with part.open("rb") as opened:
                shutil.copyfileobj(opened, joined)


def compress(source: Path, archive: Path) -> None:
    """Pack a folder's files as a ``.tar.xz``.

    The lowest level of compression takes half a gigabyte of text in a minute.
    """
    with (
        atomic_write(archive) as fresh,
        lzma.open(fresh, "wb", preset=1) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for path in sorted(source.rglob("*")):
            if path.is_file():
                tar.add(path, str(path.relative_to(source)), recursive=False)


def extract(archive: Path, target: Path) -> None:
    """Unpack an archive that :func:`compress` wrote to a folder."""
    with atomic_write(target) as fresh, tarfile.open(archive, "r:xz") as tar:
        fresh.mkdir(exist_ok=True)
        unpack(tar, fresh)
