"""Files out of tar archives, none of which may lie outside the folder that they go to."""

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

from longform.errors import InputError


def _as_it_is(name: str) -> str:
    """The name itself."""
    return name


def unpack(
    archive: tarfile.TarFile, target: Path, place: Callable[[str], str | None] = _as_it_is
) -> None:
    """Write the plain files of an archive below a folder; links and devices are left out.

    Python's ``extractall`` is safe from 3.11.4 on alone.

    Args:
        archive: opened.
        target: the folder.
        place: returns the path below ``target`` for a member's name; None leaves the member out.

    Raises:
        InputError: a file would lie outside ``target``.
    """
    for member in filter(tarfile.TarInfo.isfile, archive):
        name = place(member.name)
        if name is None:
            continue
        path = (target / name).resolve()
        if not path.is_relative_to(target.resolve()):
            raise InputError(
                f"{archive.name!r}: {member.name!r} would lie outside {target}; "
                "take the archive from its publisher"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        packed = archive.extractfile(member)
        assert packed is not None  # since it is a plain file
        with packed, path.open("wb") as opened:
            shutil.copyfileobj(packed, opened)
