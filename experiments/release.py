"""What a run made as one archive, for readers without DVC.

``python experiments/release.py longform.zip``, then ``--check``. Files are stored as they are, in
order, under one date: equal files give equal bytes on any machine. ``MANIFEST.json`` stands first
and has the commit, and the size and SHA-256 of every file.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from longform.errors import BadInput
from longform.files.arrays import EPOCH
from longform.files.artefacts import UNREADABLE, atomic_write
from longform_lab.real_files import digest

PARTS = ("LICENSE", "params.yaml", "dvc.lock", "data/generations", "data/models", "data/scores")
MANIFEST = "MANIFEST.json"
PERMISSIONS = 0o644 << 16  # of a member: zip has Unix permissions in the upper 16 bits


def write(archive: Path, parts: list[str]) -> dict[str, Any]:
    """Write a release archive of files and folders.

    Args:
        archive: zip file to write.
        parts: paths of the files and folders, relative to the working directory.

    Returns:
        The manifest: ``commit`` (None outside git), and ``files`` with ``bytes`` and ``sha256`` of
        each by path.

    Raises:
        BadInput: one of the parts is not there.
    """
    paths = files_of(parts)
    manifest: dict[str, Any] = {"commit": commit() or None, "files": {}}
    for path in paths:
        entry = {"bytes": path.stat().st_size, "sha256": digest(path)}
        manifest["files"][path.as_posix()] = entry
    with atomic_write(archive) as partial, zipfile.ZipFile(partial, "w") as target:
        target.writestr(zipfile.ZipInfo(MANIFEST, EPOCH), json.dumps(manifest, indent=1) + "\n")
        for path in paths:
            member = zipfile.ZipInfo(path.as_posix(), EPOCH)
            member.file_size = path.stat().st_size
            member.external_attr = PERMISSIONS
            with path.open("rb") as source, target.open(member, "w") as copy:
                shutil.copyfileobj(source, copy)
    return manifest


def files_of(parts: list[str]) -> list[Path]:
    """All files among some paths and below them, sorted by path, without ``.gitignore``.

    Raises:
        BadInput: one of the paths is not there.
    """
    paths = set()
    for part in map(Path, parts):
        if not part.exists():
            raise BadInput(f"{part}: no such file or folder to release; run `make repro` first")
        paths.update((part, *part.rglob("*")))
    files = [path for path in paths if path.is_file() and path.name != ".gitignore"]
    return sorted(files, key=lambda path: path.as_posix())


def commit() -> str:
    """The commit of the working directory, followed by " with changes" if it has any.

    Empty outside git.
    """
    git = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty= with changes"]
    process = subprocess.run(git, capture_output=True, text=True, check=False)
    return process.stdout.strip()


def check(archive: Path) -> dict[str, Any]:
    """Check that an archive has exactly the files of its manifest, by SHA-256.

    Returns:
        The manifest, as :func:`write` returns it.

    Raises:
        BadInput: the archive is unreadable, or a file is missing, surplus or different.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            manifest = json.loads(opened.read(MANIFEST))
            members, files = set(opened.namelist()) - {MANIFEST}, manifest["files"]
            if members != set(files):
                name = min(members ^ set(files))
                raise BadInput(
                    f"{archive}: {name} is in the archive or in {MANIFEST} alone; get it again"
                )
            for name, entry in files.items():
                if checksum(opened, name) != entry["sha256"]:
                    raise BadInput(
                        f"{archive}: the SHA-256 of {name} is not that of {MANIFEST}; get it again"
                    )
    except BadInput:
        raise
    except UNREADABLE as error:
        raise BadInput(f"{archive}: not a whole release ({error}); get it again") from error
    return dict(manifest)


def checksum(archive: zipfile.ZipFile, name: str) -> str:
    """The SHA-256 of a file in an archive."""
    with archive.open(name) as member:
        return hashlib.file_digest(member, "sha256").hexdigest()  # type: ignore[arg-type]


def main(argv: list[str] | None = None) -> int:
    """Write or check an archive. Returns the exit status: 2 after a problem, else 0."""
    parser = argparse.ArgumentParser(prog="python experiments/release.py", description=__doc__)
    parser.add_argument("archive", type=Path, help="the zip file")
    parts = f"files and folders to put in ({' '.join(PARTS)})"
    parser.add_argument("parts", nargs="*", default=PARTS, help=parts)
    only_check = "compare an archive with its manifest instead"
    parser.add_argument("--check", action="store_true", help=only_check)
    options = parser.parse_args(argv)
    archive = options.archive
    # Write or check; then say what the archive is.
    try:
        manifest = check(archive) if options.check else write(archive, list(options.parts))
        size, digits = archive.stat().st_size, digest(archive)
    except (BadInput, OSError) as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    files = len(manifest["files"])
    print(f"{archive}: {files} files, {size:,} bytes, commit {manifest['commit']}")
    print(f"SHA-256 {digits}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
