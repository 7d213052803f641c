"""What a scale measured, copied from where it ran to ``experiments/scales/<name>/`` for git.

Copied are one file of records, the tables and pictures that a reader opens, and the first articles
of each system as Markdown.
"""

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from longform.documents import Document
from longform.errors import BadInput
from longform.files.artefacts import atomic_write, read_documents
from longform.files.opening import rows
from longform.text.rendering import render
from longform_lab.scale_overrides import ARTICLES, key_of_scale
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import write_scale_records

FIGURES = "paper_figures"
LEDGER = "ledger"
SHOWN = (".md", ".html", ".png")  # files of a table or figure that stand beside its CSV
# The page of a table or figure whose files stand in git already.
SAME_FILES = re.compile(r"The same files as \[(.+?)\]\((.+?)\) at commit (\w+)\.")

Content = tuple[tuple[str, bytes], ...]  # names and bytes of files


def copy_results(name: str, root: Path, folder: Path) -> None:
    """Copy what a scale measured into ``experiments/scales/<name>/``.

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
    count = key_of_scale(name, root, ARTICLES, 0)
    if count:
        _copy_articles(folder / "data" / "generations", home / ARTICLES, count)


def _copy_articles(generations: Path, home: Path, count: int) -> None:
    """Write the first articles of each system as they were generated, a page a system."""
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
    """Copy the tables and pictures of tables and figures.

    One whose files another run has in git already becomes a line that leads there. One without
    Markdown (files for another program) is left out, and so are the files beside a table that no
    page shows; a command makes them.

    Args:
        root: the repository.
        source: ``paper_figures`` of the scale's folder.
        home: where they are copied to.
    """
    in_git = _pages_by_content(root, home)
    for page in _exhibit_pages(source.rglob("*.md")):
        target = home / page.parent.relative_to(source)
        target.mkdir(parents=True)
        twin = in_git.get(_content(page.parent))
        if twin is not None:
            link = _link_to_twin(root, twin, target)
            (target / f"{target.name}.md").write_text(link, encoding="utf-8")
            continue
        for file in _shown_files(page.parent):
            shutil.copyfile(file, target / file.name)
        drop_pictures_of_html(target)
        if (target / "ledger.csv").is_file():
            drop_unmeasured(target / "ledger.csv")


def drop_pictures_of_html(folder: Path) -> None:
    """Remove each picture beside which the same drawing stands as HTML, and where it is shown."""
    for drawing in folder.glob("*.html"):
        drawing.with_suffix(".png").unlink(missing_ok=True)
        for page in folder.glob("*.md"):
            text = page.read_text(encoding="utf-8")
            shown = f"![{drawing.stem}]({drawing.stem}.png)\n\n"
            page.write_text(text.replace(shown, ""), encoding="utf-8")


def _pages_by_content(root: Path, home: Path) -> dict[Content, Path]:
    """The first page in git of each content: of the default run, then of the scales by name."""
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
    """The pages that are named as their folder is, in order: those of tables and figures."""
    return sorted(page for page in pages if page.stem == page.parent.name)


def _link_to_twin(root: Path, twin: Path, target: Path) -> str:
    """The line that stands in place of a table or figure whose files another run has in git."""
    link = os.path.relpath(twin, target)
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = run_command(root, command).strip()
    is_default = twin.is_relative_to(root / FIGURES)
    run = "the default run" if is_default else f"the scale {twin.parts[-5]}"
    return f"The same files as [{target.name} of {run}]({link}) at commit {commit}.\n"


def drop_unmeasured(ledger: Path) -> None:
    """Take the printed numbers that a run did not measure out of its ledger."""
    lines = rows(ledger, ("ours",))
    header = list(lines[0])
    measured = [list(line.values()) for line in lines if line["ours"]]
    with atomic_write(ledger) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *measured])


def _shown_files(folder: Path) -> list[Path]:
    """The files of a table or figure that a reader opens, and the ledger's CSV."""
    shown = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and (path.suffix in SHOWN or folder.name == LEDGER):
            shown.append(path)
    return shown


def _content(folder: Path) -> Content:
    """Names and bytes of the files that are shown, to find equal ones."""
    return tuple((path.name, path.read_bytes()) for path in _shown_files(folder))


def run_command(folder: Path, command: list[str]) -> str:
    """What a command prints in a folder. Raises BadInput: it failed; the message has its words."""
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if process.returncode:
        reason = process.stderr.strip() or process.stdout.strip()
        raise BadInput(f"{' '.join(command)}: {reason}")
    return process.stdout
