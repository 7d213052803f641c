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
DAMAGED = "damaged"
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


def faulty_files(files: list[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each file that is not sound, with its fault.

    The fault is :data:`DAMAGED` where its content has another MD5 than its name says, and otherwise
    the reason why it cannot be read. Prints progress.
    """
    reported = time.monotonic()
    for number, path in enumerate(files, 1):
        try:
            with path.open("rb") as opened:
                digest = hashlib.file_digest(opened, lambda: hashlib.md5(usedforsecurity=False))
        except OSError as error:
            yield path, f"cannot be read ({error.strerror})"
            continue
        if digest.hexdigest() != _named_hash(path):
            yield path, DAMAGED
        if time.monotonic() - reported > REPORT_EVERY:
            reported = time.monotonic()
            print(f"{number} of {len(files)} files read", flush=True)


def _named_hash(path: Path) -> str:
    return path.parent.name + path.name.removesuffix(".dir")


def main(arguments: list[str] | None = None) -> int:
    """Command line: 0 where all is sound, 1 where a file was not, 2 where there is no cache.

    It is 1 after ``--remove`` too, which leaves a file that cannot be read where it is.
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
    num_damaged = num_unreadable = 0
    for path, fault in faulty_files(files):
        shown = fault
        if fault != DAMAGED:
            num_unreadable += 1
        else:
            num_damaged += 1
            if options.remove:
                path.chmod(0o644)  # DVC protects what it links to
                path.unlink()
                shown = f"{DAMAGED}, removed"
        print(f"{shown}: {path}")
    advice = ""
    if num_damaged and options.remove:
        advice = (
            "; run `make repro` (`dvc pull` where a remote is set: `dvc remote list`), and "
            "`dvc checkout --force` for files that are linked to the cache"
        )
    elif num_damaged:
        advice = "; --remove takes them out of the cache"
    unreadable = f", {num_unreadable} that cannot be read" if num_unreadable else ""
    print(f"{len(files)} files, {num_damaged} damaged{unreadable}{advice}")
    return 1 if num_damaged or num_unreadable else 0


if __name__ == "__main__":
    sys.exit(main())
