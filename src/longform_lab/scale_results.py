"""Copy the results of a scale from where it ran to ``experiments/scales/<name>/``, for git.

Copied are one file of records, the tables and pictures that a reader opens, and the first articles
of each system as Markdown.
"""

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterable
from pathlib import Path

from longform.documents import Document
from longform.errors import BadInput
from longform.files.artefacts import atomic_write, read_documents
from longform.files.opening import rows
from longform.text.rendering import render
from longform_lab.reporting.verdicts import ABSENT
from longform_lab.scale_overrides import ARTICLES, PICTURES, key_of_scale
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import packed, write_scale_records

FIGURES = "paper_figures"
LEDGER = "ledger"
SHOWN = (".md", ".html", ".png")  # files of a table or figure that stand beside its CSV
# The page of a table or figure whose files stand in git already.
SAME_FILES = re.compile(r"The same files as \[(.+?)\]\((.+?)\) at commit (\w+)\.")
# The last line of a page with one sheet for each system, whose others lie in folders of their own.
OTHER_SHEETS = re.compile(r"\nHere: [^\n]+\. Also: [^\n]+\.\n\Z")

Content = tuple[tuple[str, bytes], ...]  # names and bytes of files


def copy_results(name: str, root: Path, folder: Path) -> None:
    """Replace the results in ``experiments/scales/<name>/`` by those of a run.

    Args:
        name: the scale.
        root: the repository.
        folder: where the scale ran.
    """
    home = root / "experiments" / "scales" / name
    for part in (FIGURES, ARTICLES):
        shutil.rmtree(home / part, ignore_errors=True)
    if (folder / "data" / "scores").is_dir():
        write_scale_records(folder / "data" / "scores", home / RECORDS)
    copy_exhibits(root, folder / FIGURES, home / FIGURES)
    pictures = key_of_scale(name, root, PICTURES, None)
    if pictures is not None:
        leave_pictures_to_the_default_run(root, home / FIGURES, pictures)
    count = key_of_scale(name, root, ARTICLES, 0)
    if count:
        _copy_articles(folder / "data" / "generations", home / ARTICLES, count)


def _copy_articles(generations: Path, home: Path, count: int) -> None:
    """Write a page for each system with its first articles, as they were generated."""
    for file in sorted(generations.rglob("documents.jsonl")):
        parts = [f"# The first {count} articles by number, none left out"]
        for document in read_documents(file)[:count]:
            parts.append(f"## {document.id}")
            parts.append(f"~~~~text\n{_as_generated(document)}\n~~~~")
        system = "-".join(file.parent.relative_to(generations).parts)
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{system}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _as_generated(document: Document) -> str:
    """A document's text, with titles where all of its sections have one."""
    titled = all(section.title is not None for section in document.sections)
    return render(document, titled)


def copy_exhibits(root: Path, source: Path, home: Path) -> None:
    """Copy the pages and pictures of tables and figures.

    An exhibit whose files another run has in git already becomes a line with a link there. An
    exhibit without a Markdown page (files for another program) is left out, and so are files that
    no page shows; a command makes them. Of an exhibit with one sheet for each system the first
    system's is copied.

    Args:
        root: the repository.
        source: ``paper_figures`` of the scale's folder.
        home: where they are copied to.
    """
    in_git = _pages_by_content(root, home)
    for page in _exhibit_pages(source.rglob("*.md")):
        target = home / page.parent.relative_to(source)
        target.mkdir(parents=True)
        # 1. A link where the same files stand in git.
        twin = in_git.get(_content(page.parent))
        if twin is not None:
            link = _link_to_twin(root, twin, target)
            (target / f"{target.name}.md").write_text(link, encoding="utf-8")
            continue
        # 2. Else the files that a reader opens.
        for file in _shown_files(page.parent):
            (target / file.name).write_bytes(_shown_bytes(file))
        drop_pictures_of_html(target)
        # 3. Of the ledger what the run measured, packed.
        if (target / "ledger.csv").is_file():
            drop_unmeasured(target / "ledger.csv")
            drop_unmeasured_claims(target / "claims.csv")
            pack(target / "ledger.csv")


def drop_pictures_of_html(folder: Path) -> None:
    """Remove each picture that is also there as HTML, and the lines of pages that show it."""
    for drawing in folder.glob("*.html"):
        drawing.with_suffix(".png").unlink(missing_ok=True)
        for page in folder.glob("*.md"):
            text = page.read_text(encoding="utf-8")
            shown = f"![{drawing.stem}]({drawing.stem}.png)\n\n"
            page.write_text(text.replace(shown, ""), encoding="utf-8")


def leave_pictures_to_the_default_run(root: Path, home: Path, kept: Collection[str]) -> None:
    """Remove pictures and further pages of exhibits that the default run has in git too.

    Links to them lead to those of the default run, which look alike; a line says so.

    Args:
        root: the repository.
        home: a scale's folder of exhibits.
        kept: names of exhibits whose files all stay.
    """
    command = f"make scale SCALE={home.parent.name}"
    for page in _exhibit_pages(home.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        twin = root / FIGURES / page.parent.relative_to(home)
        if page.stem in kept or not (twin / page.name).is_file() or SAME_FILES.search(text):
            continue
        for file in _shown_files(page.parent):
            if file == page or file.suffix not in SHOWN:
                continue
            file.unlink()
            # The line that showed the file: to the default run's, or nothing where it has none.
            line = ""
            if (twin / file.name).is_file():
                link = os.path.relpath(twin / file.name, page.parent)
                line = f"Like [{file.name} of the default run]({link}); `{command}` makes it.\n\n"
            text = re.sub(rf"!?\[[^]\n]*\]\({re.escape(file.name)}\)\n\n?", line, text)
        page.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def _pages_by_content(root: Path, home: Path) -> dict[Content, Path]:
    """The pages of exhibits in git by the content of their files.

    Of equal exhibits it is the page of the default run, or else of the first scale by name.

    Args:
        root: the repository.
        home: a scale's folder of exhibits, which is left out.
    """
    folders = [root / FIGURES]
    for figures in sorted(root.glob(f"experiments/scales/*/{FIGURES}")):
        if figures != home:
            folders.append(figures)
    pages: dict[Content, Path] = {}
    for folder in folders:
        for page in _exhibit_pages(folder.glob("*/*/*.md")):
            if not SAME_FILES.search(page.read_text(encoding="utf-8")):
                pages.setdefault(_content(page.parent), page)
    return pages


def _exhibit_pages(pages: Iterable[Path]) -> list[Path]:
    """The pages of tables and figures, sorted: those with the name of their folder."""
    return sorted(page for page in pages if page.stem == page.parent.name)


def _link_to_twin(root: Path, twin: Path, target: Path) -> str:
    """The line that replaces an exhibit by a link to an equal one in git.

    Args:
        root: the repository.
        twin: the page of the equal exhibit.
        target: the folder of the exhibit that is replaced.
    """
    link = os.path.relpath(twin, target)
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = run_command(root, command).strip()
    is_default = twin.is_relative_to(root / FIGURES)
    run = "the default run" if is_default else f"the scale {twin.parts[-5]}"
    return f"The same files as [{target.name} of {run}]({link}) at commit {commit}.\n"


def drop_unmeasured(ledger: Path) -> None:
    """Remove the lines of printed numbers that a run did not measure from its ledger."""
    lines = rows(ledger, ("ours",))
    if not lines:
        return
    header = list(lines[0])
    measured = [list(line.values()) for line in lines if line["ours"]]
    with atomic_write(ledger) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *measured])


def pack(path: Path) -> None:
    """Replace a file by one packed with xz, whose name ends in ``.xz``: a tenth of the bytes.

    Readers of tables, ``pandas.read_csv`` and ``xzcat`` open it as it is.
    """
    with atomic_write(path.with_name(f"{path.name}.xz")) as partial:
        partial.write_bytes(packed(path.read_bytes()))
    path.unlink()


def drop_unmeasured_claims(ledger: Path) -> None:
    """Remove the claims that a run did not measure, with their rows, from its ``claims.csv``.

    What they say stands in the ledger of the default study, which has all claims.
    """
    lines = rows(ledger, ("paper", "claim", "row", "verdict"))
    unmeasured = set()
    for line in lines:
        if not line["row"] and line["verdict"] == ABSENT:
            unmeasured.add((line["paper"], line["claim"]))
    kept = [line for line in lines if (line["paper"], line["claim"]) not in unmeasured]
    with atomic_write(ledger) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


def _shown_files(folder: Path) -> list[Path]:
    """The files of a table or figure that a reader opens, and the ledger's CSV."""
    shown = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and (path.suffix in SHOWN or folder.name == LEDGER):
            shown.append(path)
    return shown


def _content(folder: Path) -> Content:
    """Names and bytes of the files that are shown, to find equal ones."""
    return tuple((path.name, _shown_bytes(path)) for path in _shown_files(folder))


def _shown_bytes(path: Path) -> bytes:
    """A file as git keeps it: of a page no links to other systems' sheets, which stay outside."""
    if path.suffix != ".md":
        return path.read_bytes()
    return OTHER_SHEETS.sub("", path.read_text(encoding="utf-8")).encode()


def run_command(folder: Path, command: list[str]) -> str:
    """Run a command in a folder and return its output.

    Raises:
        BadInput: it failed; the message has what it printed.
    """
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if process.returncode:
        reason = process.stderr.strip() or process.stdout.strip()
        raise BadInput(f"{' '.join(command)}: {reason}")
    return process.stdout
