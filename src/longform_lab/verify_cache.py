"""Compare every file of DVC's cache with the hash in its name.

``python -m longform_lab.verify_cache`` does it. DVC restores what the cache holds without reading
it again, so a file that a disk has damaged comes back as a sound one.
"""

import argparse
import hashlib
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HASH = re.compile(r"[0-9a-f]{32}")  # md5, as DVC names files; folders have ``.dir`` behind it
REPORT_EVERY = 10.0  # seconds between lines of progress


def cached_files(cache: Path) -> list[Path]:
    """The files of a cache, ``files/md5/xx/rest``, in alphabetical order.

    What DVC did not name is left out.
    """
    files = []
    for path in sorted((cache / "files" / "md5").glob("??/*")):
        if path.is_file() and HASH.fullmatch(_named_hash(path)):
            files.append(path)
    return files


def damaged_files(files: list[Path]) -> Iterator[Path]:
    """Those whose content has another MD5 than their name says.

    Prints progress. Raises OSError: a file cannot be read.
    """
    reported = time.monotonic()
    for number, path in enumerate(files, 1):
        with path.open("rb") as opened:
            digest = hashlib.file_digest(opened, lambda: hashlib.md5(usedforsecurity=False))
        if digest.hexdigest() != _named_hash(path):
            yield path
        if time.monotonic() - reported > REPORT_EVERY:
            reported = time.monotonic()
            print(f"{number} of {len(files)} files read", flush=True)


def _named_hash(path: Path) -> str:
    return path.parent.name + path.name.removesuffix(".dir")


def main(arguments: list[str] | None = None) -> int:
    """Command line: 0 where all is sound, 1 where a file was damaged, 2 where there is no cache.

    It is 1 after ``--remove`` too.
    """
    parser = argparse.ArgumentParser(
        prog="python -m longform_lab.verify_cache", description=__doc__
    )
    parser.add_argument(
        "cache", nargs="?", type=Path, default=Path(".dvc/cache"), help="default: .dvc/cache"
    )
    parser.add_argument(
        "--remove", action="store_true", help="remove damaged files, so that their stages run again"
    )
    options = parser.parse_args(arguments)
    if not options.cache.is_dir():
        print(f"longform: {options.cache}: no such folder; name DVC's cache", file=sys.stderr)
        return 2
    # Every file is read; what to do is said at the end.
    files = cached_files(options.cache)
    damaged = list(damaged_files(files))
    for path in damaged:
        if options.remove:
            path.chmod(0o644)  # DVC protects what it links to
            path.unlink()
        print(f"damaged{', removed' if options.remove else ''}: {path}")
    advice = ""
    if damaged and options.remove:
        advice = (
            "; run `make repro` (`dvc pull` where a remote is set: `dvc remote list`), and "
            "`dvc checkout --force` for files that are linked to the cache"
        )
    elif damaged:
        advice = "; --remove takes them out of the cache"
    print(f"{len(files)} files, {len(damaged)} damaged{advice}")
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
