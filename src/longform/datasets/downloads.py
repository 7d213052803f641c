"""Raw files from pinned addresses: fetched by pooch, checked by SHA-256, unpacked within bounds.

Nothing is fetched unless asked: ``offline`` refuses with the address, the target and the hash, so that a person can
put the file there by hand.
"""

from __future__ import annotations

import argparse
import lzma
import os
import shutil
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pooch
from requests import RequestException

from longform.core.documents import BadInput

MAX_UNPACKED = 200 * 2**30  # bytes: the largest archive here (arXiv, Cohan et al.) holds about 16 GB
MAX_RATIO = 200  # unpacked over packed bytes; text rarely packs better than 20, a bomb does by 1000
MAX_MEMBERS = 1_000_000
BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, struct.error, OSError, RuntimeError,
    ValueError,
)  # fmt: skip  # damage, encryption, clashing or overlong names


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


class _Download(pooch.HTTPDownloader):
    """pooch tries again after errors of requests; a refusal for good (status 4xx) is raised as another error."""

    def __call__(self, url: str, *more: Any, **settings: Any) -> Any:
        try:
            return super().__call__(url, *more, **settings)
        except RequestException as error:
            status = getattr(error.response, "status_code", None)
            if status in range(400, 500) and status not in (408, 425, 429):
                raise FileNotFoundError(f"the server says {status}; fix the address") from error
            raise


def fetch(source: Source, folder: Path, *, offline: bool = False, retries: int = 4, seconds: float = 60.0) -> Path:
    """The file, fetched if it is not there with the right hash; a cut or wrong download leaves nothing behind.

    Args:
        offline: refuse, and say how to get the file by hand.
        retries: further tries after a cut, a busy server or a wrong hash, after 1, 2, 3 ... seconds.
        seconds: without a byte before a try counts as cut.

    Raises:
        BadInput: offline, a wrong hash, a refusal of the server, or too many cuts.
    """
    target = folder / source.name
    by_hand = f"fetch {source.url} by other means and put it at {target}. {source.note}".rstrip()
    if offline and not (target.is_file() and sha256(target) == source.sha256):
        raise BadInput(f"offline, and {target} is not there with SHA-256 {source.sha256}; {by_hand}")
    registry, urls = {source.name: f"sha256:{source.sha256}"}, {source.name: source.url}
    files = pooch.create(folder, base_url="", registry=registry, urls=urls, retry_if_failed=retries)
    try:
        return Path(files.fetch(source.name, downloader=_Download(timeout=seconds)))
    except (ValueError, OSError) as error:  # ValueError: a wrong hash; requests' errors are kinds of OSError
        raise BadInput(f"{source.url}: {error} (at most {retries + 1} tries); {by_hand}") from error


def sha256(path: Path) -> str:
    """Lower-case hex digest of a file, read in pieces."""
    return pooch.file_hash(str(path))


def unpack(archive: Path, folder: Path, *, max_bytes: int = MAX_UNPACKED, max_ratio: float = MAX_RATIO) -> list[Path]:
    """Unpack a tar or zip, all or nothing: plain files below ``folder``, within bounds counted while writing.

    Raises:
        BadInput: no archive, a member that is absolute, climbs out, is a link or a device, or a bomb.
    """
    if not archive.is_file():
        raise BadInput(f"{archive}: no such file; fetch it first, or fix the path")
    left = min(max_bytes, int(max(archive.stat().st_size, 1 << 16) * max_ratio))
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for count, (name, stream) in enumerate(_members(archive)):
            target = partial / _safe(archive, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                while chunk := stream.read(1 << 20):
                    left -= len(chunk)
                    if left < 0 or count >= MAX_MEMBERS:
                        raise BadInput(
                            f"{archive}: unpacks to more than its bounds allow ({MAX_MEMBERS} members, {max_bytes} bytes, "
                            f"{max_ratio} times its size); a bomb? Do not unpack it"
                        )
                    file.write(chunk)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
    except BadInput:
        raise
    except BROKEN as error:
        raise BadInput(f"{archive}: no whole tar or zip ({error}); fetch it again and check its SHA-256") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each plain file; a folder is skipped, anything else refused."""
    refusal = "is a link or a device, allowed are plain files; do not unpack it"
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if (info.external_attr >> 28) == 0xA:  # Unix mode of a symbolic link
                    raise BadInput(f"{archive}: member {info.filename!r} {refusal}")
                if not info.is_dir():
                    with packed.open(info) as stream:
                        yield info.filename, stream
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            if not (member.isfile() or member.isdir()):
                raise BadInput(f"{archive}: member {_safe(archive, member.name)} {refusal}")
            stream = tar.extractfile(member)
            if stream is not None:
                yield member.name, stream


def _safe(archive: Path, member: str) -> PurePosixPath:
    path = PurePosixPath(member.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in member:
        raise BadInput(f"{archive}: member {member!r} would leave the folder; the archive is not to be trusted")
    return path


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
    """``python -m longform.datasets.downloads NAME FOLDER`` or ``URL FOLDER --sha256 HEX``; ``--unpack`` an archive."""
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
