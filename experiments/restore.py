"""Restore a scale's full records from history.

``PYTHONPATH=src python experiments/restore.py SCALE [--commit C] [--out FOLDER]``. Git keeps a
packed file of records for each scale (``records.csv.xz``) and the exhibits that pages show. Score
files with all their details, CSV and PDF of every exhibit are in earlier commits. This command
writes a scale's files of one of these into a folder.
"""

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from longform.errors import BadInput
from longform.files.archives import unpack
from longform.files.artefacts import atomic_write

ROOT = Path(__file__).parents[1]
FULL = "656dc0ac"  # has the full records of every scale, corrected; some ran again since
PARTS = ("data", "paper_figures")


def restore(repository: Path, scale: str, commit: str, out: Path) -> list[Path]:
    """Write a scale's records and exhibits of a commit into a folder.

    Args:
        repository: the root of a clone that has the commit.
        scale: a folder of ``experiments/scales``.
        commit: any name of a commit that git knows.
        out: the folder to write; it must not be there yet.

    Returns:
        The files that were written, below ``out``.

    Raises:
        BadInput: the folder is there, or the clone lacks the commit, or the commit has no full
            records of the scale.
    """
    if out.exists():
        raise BadInput(f"{out}: is there already; remove it or name another folder with --out")
    # What the commit has of the scale.
    home = f"experiments/scales/{scale}"
    folders = _git(repository, "ls-tree", "-d", "--name-only", commit, f"{home}/").decode()
    names = set(folders.splitlines())
    parts = [f"{home}/{part}" for part in PARTS if f"{home}/{part}" in names]
    if f"{home}/data" not in parts:
        raise BadInput(
            f"commit {commit} has no full records of the scale {scale!r}; name another scale or"
            " --commit"
        )
    # Its parts alone, without the folders above them.
    archive = _git(repository, "archive", "--format=tar", commit, *parts)
    with atomic_write(out) as partial, tempfile.TemporaryDirectory(dir=out.parent) as extracted:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            unpack(files, Path(extracted))
        (Path(extracted) / home).rename(partial)
    return sorted(path for path in out.rglob("*") if path.is_file())


def _git(repository: Path, *words: str) -> bytes:
    """What a command of git prints. Raises BadInput: it fails."""
    process = subprocess.run(["git", *words], cwd=repository, capture_output=True)
    if process.returncode:
        message = process.stderr.decode(errors="replace").strip()
        raise BadInput(
            f"git {words[0]}: {message}; a shallow clone gets its history with"
            " `git fetch --unshallow`"
        )
    return process.stdout


def main(arguments: list[str] | None = None) -> int:
    """Command line: 0 where the files are written, 2 where they cannot be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scale", help="a folder of experiments/scales/")
    parser.add_argument("--commit", default=FULL, help=f"whose files ({FULL} has the full records)")
    parser.add_argument("--out", type=Path, help="the folder to write (scratch/restored/SCALE)")
    options = parser.parse_args(arguments)
    out = options.out or Path("scratch") / "restored" / options.scale
    try:
        files = restore(ROOT, options.scale, options.commit, out)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    print(f"{out}: {len(files)} files of commit {options.commit}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
