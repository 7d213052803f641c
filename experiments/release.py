"""What a run made as one archive, for readers without DVC: ``python experiments/release.py longform.zip``, then ``--check``.

Files are stored as they are, in order, under one date: equal files give equal bytes on any machine. ``MANIFEST.json`` stands
first and has the commit, and the size and SHA-256 of every file.
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


def write(archive: Path, parts: list[str]) -> dict[str, Any]:
    """Write the files and folders of the working directory that ``parts`` names; returns the manifest.

    Raises BadInput: one of them is not there.
    """
    if absent := [part for part in parts if not Path(part).exists()]:
        raise BadInput(f"{absent[0]}: no such file or folder to release; run `make repro` first")
    found = {
        file for part in map(Path, parts) for file in (part, *part.rglob("*")) if file.is_file()
    }
    files = {file.as_posix(): file for file in found if file.name != ".gitignore"}
    git = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty= with changes"]
    said = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    manifest: dict[str, Any] = {"commit": said or None, "files": {}}
    for name, file in sorted(files.items()):
        manifest["files"][name] = {"bytes": file.stat().st_size, "sha256": digest(file)}
    with atomic_write(archive) as partial, zipfile.ZipFile(partial, "w") as made:
        made.writestr(zipfile.ZipInfo(MANIFEST, EPOCH), json.dumps(manifest, indent=1) + "\n")
        for name, told in manifest["files"].items():
            member = zipfile.ZipInfo(name, EPOCH)
            member.file_size, member.external_attr = told["bytes"], 0o644 << 16
            with files[name].open("rb") as source, made.open(member, "w") as target:
                shutil.copyfileobj(source, target)
    return manifest


def check(archive: Path) -> dict[str, Any]:
    """The manifest of an archive that holds exactly the files that it lists. Raises BadInput: naming the first that differs."""
    try:
        with zipfile.ZipFile(archive) as opened:
            manifest = json.loads(opened.read(MANIFEST))
            held, listed = set(opened.namelist()) - {MANIFEST}, set(manifest["files"])
            if held != listed:
                alone = f"{min(held ^ listed)} is in the archive or in {MANIFEST} alone"
                raise BadInput(f"{archive}: {alone}; get it again")
            for name, told in manifest["files"].items():
                with opened.open(name) as member:
                    if hashlib.file_digest(member, "sha256").hexdigest() != told["sha256"]:  # type: ignore[arg-type]
                        raise BadInput(
                            f"{archive}: the SHA-256 of {name} is not that of {MANIFEST}; get it again"
                        )
    except BadInput:
        raise
    except UNREADABLE as error:
        raise BadInput(f"{archive}: not a whole release ({error}); get it again") from error
    return dict(manifest)


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python experiments/release.py", description=__doc__)
    parser.add_argument("archive", type=Path, help="the zip file")
    parser.add_argument(
        "parts", nargs="*", default=PARTS, help=f"files and folders to put in ({' '.join(PARTS)})"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare an archive with its manifest instead"
    )
    chosen = parser.parse_args(arguments)
    try:
        manifest = (
            check(chosen.archive) if chosen.check else write(chosen.archive, list(chosen.parts))
        )
        size, checksum = chosen.archive.stat().st_size, digest(chosen.archive)
    except (BadInput, OSError) as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    print(
        f"{chosen.archive}: {len(manifest['files'])} files, {size:,} bytes, commit {manifest['commit']}"
    )
    print(f"SHA-256 {checksum}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
