"""Files from pinned addresses: checked by SHA-256, resumed after a cut, retried with back-off, unpacked within bounds.

Nothing is fetched unless asked: ``offline`` refuses with the address, the target and the hash, so that a person can
put the file there by hand.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import lzma
import os
import shutil
import struct
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from longform.documents import BadInput

CHUNK = 1 << 20
MAX_UNPACKED = 200 * 2**30  # bytes: the largest archive here (arXiv, Cohan et al.) holds about 16 GB
MAX_RATIO = 200  # unpacked over packed bytes; text rarely packs better than 20, a bomb does by 1000
MAX_MEMBERS = 1_000_000

BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, struct.error)


@dataclass(frozen=True)
class Source:
    """One file at one address.

    Attributes:
        url: where it is published.
        sha256: of the whole file, lower-case hex.
        name: of the file here.
        note: what to know when the address is dead.
    """

    url: str
    sha256: str
    name: str
    note: str = ""


def fetch(
    source: Source,
    folder: Path,
    *,
    offline: bool = False,
    attempts: int = 5,
    wait: Callable[[float], Any] = time.sleep,
    seconds: float = 60.0,
) -> Path:
    """The file, fetched if it is not there with the right hash; a partial file is taken up where it was cut.

    Args:
        offline: refuse, and say how to get the file by hand.
        attempts: tries before giving up; pauses of 1, 2, 4 ... seconds lie between them.
        wait: called with each pause.
        seconds: without a byte before a try counts as cut.

    Raises:
        BadInput: offline, a wrong hash, a refusal of the server, or too many cuts.
    """
    target, partial = folder / source.name, folder / f".{source.name}.partial"
    if target.is_file() and sha256(target) == source.sha256:
        return target
    if offline:
        raise BadInput(
            f"{source.name}: offline, and {target} is not there with SHA-256 {source.sha256}; {_by_hand(source, target)}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    _fetch_whole(source, partial, attempts, wait, seconds)
    found = sha256(partial)
    if found != source.sha256:
        partial.unlink()
        raise BadInput(
            f"{source.url}: SHA-256 is {found}, pinned is {source.sha256}; the file was removed. {_by_hand(source, target)}"
        )
    os.replace(partial, target)
    return target


def _by_hand(source: Source, target: Path) -> str:
    return f"fetch {source.url} by other means, check the hash, and put it at {target}. {source.note}".rstrip()


def _fetch_whole(source: Source, partial: Path, attempts: int, wait: Callable[[float], Any], seconds: float) -> None:
    for attempt in range(attempts):
        try:
            _resume(source.url, partial, seconds)
            return
        except urllib.error.HTTPError as error:
            if (
                error.code == 416
            ):  # nothing is left to fetch: the partial file is whole, or wrong and will fail its hash
                return
            if error.code < 500 and error.code not in (408, 425, 429):
                raise BadInput(
                    f"{source.url}: the server says {error.code} {error.reason}; {source.note or 'mend the address'}"
                ) from error
            reason: Exception = error
        except (OSError, http.client.HTTPException) as error:
            reason = error
        if attempt + 1 < attempts:
            wait(2.0**attempt)
    raise BadInput(
        f"{source.url}: cut {attempts} times, last by {reason!r}; run again, {partial.name} is taken up where it ends"
    )


def _resume(url: str, partial: Path, seconds: float) -> None:
    """Append what is missing; a server that ignores the range sends all, and the file begins again."""
    have = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        resumed = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        expected = answer.headers.get("Content-Length")
        with partial.open("ab" if resumed else "wb") as file:
            received = _copied(answer, file)
    if expected is not None and received < int(expected):
        raise ConnectionError(f"the connection ended after {received} of {expected} bytes")


def _copied(source: IO[bytes], target: IO[bytes]) -> int:
    count = 0
    while chunk := source.read(CHUNK):
        target.write(chunk)
        count += len(chunk)
    return count


def sha256(path: Path) -> str:
    """Lower-case hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(archive: Path, folder: Path, *, max_bytes: int = MAX_UNPACKED, max_ratio: float = MAX_RATIO) -> list[Path]:
    """Unpack a tar or zip, all or nothing: plain files below ``folder``, within bounds counted while writing.

    Raises:
        BadInput: no archive, a member that is absolute, climbs out, is a link or a device, or a bomb.
    """
    if not archive.is_file():
        raise BadInput(f"{archive}: no such file; fetch it first, or mend the path")
    limit = min(max_bytes, int(max(archive.stat().st_size, 1 << 16) * max_ratio))
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for member, stream in _members(archive):
            limit -= _unpacked(archive, stream, partial / _safe(archive, member), limit)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
    except BadInput:
        raise
    except (*BROKEN, OSError, RuntimeError, ValueError) as error:  # clashing or overlong names, encryption, damage
        raise BadInput(f"{archive}: no whole tar or zip ({error}); fetch it again and check its SHA-256") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each plain file; a folder is skipped, anything else refused."""
    reader = _zip_members if zipfile.is_zipfile(archive) else _tar_members
    for count, member in enumerate(reader(archive)):
        if count >= MAX_MEMBERS:
            raise BadInput(f"{archive}: more than {MAX_MEMBERS} members; this is no corpus, do not unpack it")
        yield member


def _tar_members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as tar:
        for member in tar:
            _safe(archive, member.name)
            if member.isfile():
                yield member.name, tar.extractfile(member)
            elif not member.isdir():
                raise BadInput(
                    f"{archive}: member {member.name!r} is a link or a device, allowed are plain files; do not unpack it"
                )


def _zip_members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            if (member.external_attr >> 28) == 0xA:  # Unix mode of a symbolic link
                raise BadInput(
                    f"{archive}: member {member.filename!r} is a link, allowed are plain files; do not unpack it"
                )
            if not member.is_dir():
                with packed.open(member) as stream:
                    yield member.filename, stream


def _safe(archive: Path, member: str) -> PurePosixPath:
    path = PurePosixPath(member.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in member:
        raise BadInput(
            f"{archive}: member {member!r} would leave the folder; the archive is not to be trusted, do not unpack it"
        )
    return path


def _unpacked(archive: Path, stream: IO[bytes], target: Path, limit: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with target.open("wb") as file:
        while chunk := stream.read(CHUNK):
            count += len(chunk)
            if count > limit:
                raise BadInput(
                    f"{archive}: unpacks to more than its bounds allow (bytes, or {MAX_RATIO} times its size); a bomb?"
                )
            file.write(chunk)
    return count


_WIKISECTION = "https://raw.githubusercontent.com/rosewang2008/language_modeling_via_stochastic_processes"
PINNED = {
    "wikisection": Source(
        f"{_WIKISECTION}/2c99a7534e7d73bfaf2b4592c63ab8fd8b6d1559/data/wikisection/wikisection_withSections.test.txt",
        "0eed8f5f0872580e4bfd7a7563bf065a7f25546f590627bf7b0425e76acd0819",
        "wikisection_withSections.test.txt",
        "The same file lies in other copies of Wang et al.'s repository (2022).",
    )
}  # only files whose hash was computed here; docs/data_cards say where the others are published


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m longform.datasets.downloads NAME FOLDER`` or ``URL FOLDER --sha256 HEX``; an archive is unpacked on request."""
    parser = argparse.ArgumentParser(description="Fetch a pinned file, or any file whose SHA-256 you know.")
    parser.add_argument("what", help=f"one of {sorted(PINNED)}, or an address")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sha256", default="")
    parser.add_argument("--offline", action="store_true")
    parser.add_argument("--unpack", action="store_true")
    options = parser.parse_args(arguments)
    try:
        source = PINNED.get(options.what) or _unpinned(options.what, options.sha256)
        path = fetch(source, options.folder, offline=options.offline)
        print(path, *(unpack(path, options.folder / f"{path.name}.unpacked") if options.unpack else []), sep="\n")
    except BadInput as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _unpinned(url: str, digest: str) -> Source:
    if "://" not in url or len(digest) != 64:
        raise BadInput(f"{url!r}: not one of {sorted(PINNED)}; give an address and --sha256 with its 64 hex digits")
    return Source(url, digest.lower(), url.rstrip("/").rsplit("/", 1)[-1])


if __name__ == "__main__":
    sys.exit(main())
