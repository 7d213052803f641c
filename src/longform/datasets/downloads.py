"""Raw files from pinned addresses, fetched by pooch and checked by SHA-256; ``offline`` refuses and says how to go by hand."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch
from requests import RequestException

from longform.core.documents import BadInput


@dataclass(frozen=True)
class Source:
    """One file at one address; ``sha256`` in lower-case hex, ``name`` of the file here."""

    url: str
    sha256: str
    name: str


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
        retries: further tries after a cut, a busy server or a wrong hash, after 1, 2, 3 ... seconds.
        seconds: without a byte before a try counts as cut.

    Raises BadInput: offline, a wrong hash, a refusal of the server, or too many cuts.
    """
    target = folder / source.name
    by_hand = f"fetch {source.url} by other means and put it at {target}"
    if offline and not (target.is_file() and pooch.file_hash(str(target)) == source.sha256):
        raise BadInput(f"offline, and {target} is not there with SHA-256 {source.sha256}; {by_hand}")
    registry, urls = {source.name: f"sha256:{source.sha256}"}, {source.name: source.url}
    files = pooch.create(folder, base_url="", registry=registry, urls=urls, retry_if_failed=retries)
    try:
        return Path(files.fetch(source.name, downloader=_Download(timeout=seconds)))
    except (ValueError, OSError) as error:  # ValueError: a wrong hash; requests' errors are kinds of OSError
        raise BadInput(f"{source.url}: {error} (at most {retries + 1} tries); {by_hand}") from error


_WIKISECTION = "https://raw.githubusercontent.com/rosewang2008/language_modeling_via_stochastic_processes"
PINNED = {
    "wikisection": Source(
        f"{_WIKISECTION}/2c99a7534e7d73bfaf2b4592c63ab8fd8b6d1559/data/wikisection/wikisection_withSections.test.txt",
        "0eed8f5f0872580e4bfd7a7563bf065a7f25546f590627bf7b0425e76acd0819",
        "wikisection_withSections.test.txt",
    )
}  # only files whose hash was computed here; docs/data_cards say where the others are published


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m longform.datasets.downloads NAME FOLDER`` or ``URL FOLDER --sha256 HEX``."""
    parser = argparse.ArgumentParser(description="Fetch a pinned file, or any file whose SHA-256 you know.")
    parser.add_argument("what", help=f"one of {sorted(PINNED)}, or an address")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sha256", default="")
    parser.add_argument("--offline", action="store_true")
    options = parser.parse_args(arguments)
    try:
        if options.what not in PINNED and ("://" not in options.what or len(options.sha256) != 64):
            allowed = f"{sorted(PINNED)}, or an address and --sha256 with its 64 hex digits"
            raise BadInput(f"{options.what!r} is nothing that can be fetched; allowed are {allowed}")
        unpinned = Source(options.what, options.sha256.lower(), options.what.rstrip("/").rsplit("/", 1)[-1])
        print(fetch(PINNED.get(options.what, unpinned), options.folder, offline=options.offline))
    except BadInput as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
