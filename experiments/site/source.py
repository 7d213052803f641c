"""Write the source folder of the site: the repository's pages, files they link to, and menus.

The folder mirrors the repository's tree, so that relative links lead where they do on disk. The
README is the first page; ``docs/index.md`` gives the menu: a heading is a section of it, and each
row of the table below is a page.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from experiments.site.exhibits import Run, read_runs
from experiments.site.gallery import (
    GALLERY,
    exhibit_page,
    gallery_pages,
    run_page,
    toctree,
    unbroken,
)
from experiments.site.notebooks import NotebookPage
from experiments.site.reference import MODULES, REFERENCE, reference_pages

PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/**/*.md",
    "experiments/*.md",
    "experiments/*/*.md",
    "src/longform/**/README.md",
    "data/README.md",
    "data/raw/README.md",
)
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")
MENU_ROW = re.compile(r"\| \[[^\]]+\]\(([^)]+)\) \|")
CARD_PICTURE = re.compile(r":img-top: (.+)")
CONTENTS = "contents.md"
MENU = Path("docs/index.md")
MADE_PAGES = {  # generated pages that come first in a section of the menu
    "Results": (GALLERY / "index.md", Path("experiments/README.md")),
    "Reference": (
        REFERENCE / "critics.md",
        *(REFERENCE / f"{module}.md" for module in MODULES),
        REFERENCE / "parameters.md",
    ),
}
PARTS = {  # for a page of the menu the patterns of the pages below it
    "docs/decisions/README.md": ("docs/decisions/2*.md",),
    "docs/data_cards/contents.md": ("docs/data_cards/*.md", "data/*.md"),
    "docs/notebooks.md": ("notebooks/explore_*.md",),
    "docs/model_cards/README.md": ("docs/model_cards/*.md",),
    "experiments/README.md": ("experiments/*.md", "experiments/*/*.md"),
    "reference/critics.md": ("src/longform/critics/*/README.md",),
    "reference/longform.hsmm.md": ("src/longform/hsmm/README.md",),
}
FRONT = Path("index.md")


def write_source(root: Path, source: Path, notebooks: Sequence[NotebookPage] = ()) -> None:
    """Write all pages of the site and the files that they link to into a folder, emptied first.

    Args:
        root: of the repository.
        source: the folder.
        notebooks: executed notebooks; without them links to notebooks lead to their scripts.
    """
    # All pages: the repository's, those that are made, and notebooks.
    runs = read_runs(root)
    pages = {}
    for path in repository_pages(root):
        pages[path] = (root / path).read_text(encoding="utf-8")
    pages |= gallery_pages(root, runs) | reference_pages(root)
    shown_at = _places_of_exhibits(root, runs)
    for notebook in notebooks:
        pages[notebook.page] = notebook.markdown
        shown_at[notebook.script] = notebook.page

    # Links between them, and menus.
    links = Links(root, pages, shown_at)
    pages = links.followed()
    pages[FRONT] = pages.pop(Path("README.md"))
    _add_menus(pages)

    # Pages, pictures of notebooks, and linked files, into an empty folder.
    shutil.rmtree(source, ignore_errors=True)
    for path, text in pages.items():
        target = source / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for notebook in notebooks:
        for name, picture in notebook.pictures.items():
            (source / notebook.page.parent / name).write_bytes(picture)
    for linked in sorted(links.files):
        copy = source / linked
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / linked, copy)


def repository_pages(root: Path) -> list[Path]:
    """Markdown pages that the site shows, relative to the repository."""
    pages = set()
    for pattern in PAGES:
        for path in root.glob(pattern):
            pages.add(path.relative_to(root))
    return sorted(pages)


class Links:
    """Turns links between files of the repository into links between pages of the site.

    A Markdown file that a page links to becomes a page; so does a folder, which is then listed.

    Attributes:
        pages: all pages by their path in the site; grows while links are changed.
        files: files other than pages that pages link to, to be copied into the site.
    """

    def __init__(self, root: Path, pages: Mapping[Path, str], exhibits: Mapping[Path, Path]):
        """
        Args:
            root: of the repository.
            pages: the texts of the site's pages by their path.
            exhibits: the page that shows each file or folder of ``paper_figures``, and notebook.
        """
        self.root = root
        self.pages = dict(pages)
        self.exhibits = exhibits
        self.files: set[Path] = set()

    def followed(self) -> dict[Path, str]:
        """The texts of all pages, also of those that only links lead to, with links changed."""
        changed: dict[Path, str] = {}
        while len(changed) < len(self.pages):
            for page in list(self.pages):  # a link may add one
                if page not in changed:
                    changed[page] = self.redirected(page, self.pages[page])
        return changed

    def redirected(self, page: Path, text: str) -> str:
        """A page's text with the links changed that are not in code blocks."""
        lines = []
        in_code = False
        for line in text.split("\n"):
            if line.lstrip().startswith("```") and not line.lstrip().startswith("```{"):
                in_code = not in_code
            lines.append(line if in_code else self._line(page, line))
        return "\n".join(lines)

    def _line(self, page: Path, line: str) -> str:
        """A line of a page with its links as the site has them."""

        def change(match: re.Match[str]) -> str:
            before, link, after = match.groups()
            return before + self._target(page, link) + after

        line = LINK.sub(change, line)
        if line.startswith("|"):
            line = unbroken(line)
        picture = CARD_PICTURE.fullmatch(line)
        if picture:
            self._target(page, picture[1])  # adds the picture to the files
        return line

    def _target(self, page: Path, link: str) -> str:
        """Redirect a link of a page to the site, and add what it leads to.

        A Markdown file or folder that is no page yet is added to ``pages``, any other file to
        ``files``.

        Args:
            page: the page with the link.
            link: relative to the page, without an anchor.

        Returns:
            The link as the site needs it; one that leads nowhere is returned as it is.
        """
        linked = Path(os.path.normpath(page.parent / unquote(link.strip("<>"))))
        # 1. Exhibits and the README have another path in the site, other pages the same.
        if linked in self.exhibits:
            return os.path.relpath(self.exhibits[linked], page.parent)
        if linked == Path("README.md"):
            return os.path.relpath(FRONT, page.parent)
        if linked in self.pages:
            return link
        # 2. A folder: its README, or else a page that lists its files.
        path = self.root / linked
        if path.is_dir():
            readme = linked / "README.md"
            if readme in self.pages:
                return os.path.relpath(readme, page.parent)
            contents = linked / CONTENTS
            self.pages.setdefault(contents, _contents(self.root, linked))
            return os.path.relpath(contents, page.parent)
        # 3. A file: Markdown becomes a page, anything else is copied.
        if path.suffix == ".md" and path.is_file():
            self.pages[linked] = path.read_text(encoding="utf-8")
        elif path.is_file():
            self.files.add(linked)
        return link


def _places_of_exhibits(root: Path, runs: Sequence[Run]) -> dict[Path, Path]:
    """The gallery's page for each path it shows: a Markdown file, its folder, a paper's folder."""
    shown_at = {}
    for run in runs:
        for exhibit in run.exhibits:
            folder = exhibit.folder.relative_to(root)
            shown_at[folder.parent] = run_page(run)
            shown_at[folder] = exhibit_page(run, exhibit)
            if exhibit.page in exhibit.files:
                shown_at[exhibit.page.relative_to(root)] = exhibit_page(run, exhibit)
    return shown_at


def _contents(root: Path, folder: Path) -> str:
    """The text of a page with links to all files of a folder."""
    lines = [f"# {folder}", ""]
    for path in sorted((root / folder).iterdir()):
        if not path.name.startswith((".", "__")):
            lines.append(f"- [{path.name}](<{path.name}>)")
    return "\n".join([*lines, ""])


def _add_menus(pages: dict[Path, str]) -> None:
    """Add menus to pages, in place.

    The front page gets the sections of ``docs/index.md``, the pages of ``PARTS`` those below them.
    """
    in_menu: set[Path] = set()
    # The front page: the sections of the index.
    menu = []
    for section, members in menu_sections(pages[MENU], pages).items():
        menu += ["", *toctree(_entries(FRONT, members), hidden=True, caption=section)]
        in_menu.update(members)
    pages[FRONT] += "\n".join([*menu, ""])

    # A page with parts: those that are in no menu yet.
    for name, patterns in PARTS.items():
        parent = Path(name)
        parts = []
        for page in pages:
            matches = any(page.match(pattern) for pattern in patterns)
            if matches and page not in in_menu and page != parent:
                parts.append(page)
        pages[parent] += "\n".join(["", *toctree(_entries(parent, parts), hidden=True), ""])
        in_menu.update(parts)

    # All others are linked to but are in no menu; marked as orphans they give no warning.
    for page, text in pages.items():
        if page not in in_menu and page.parts[0] not in (GALLERY.name, REFERENCE.name, FRONT.name):
            pages[page] = f"---\norphan: true\n---\n{text}"


def menu_sections(index: str, pages: Mapping[Path, str]) -> dict[str, list[Path]]:
    """The pages of each section of the index, generated pages first.

    Args:
        index: the text of ``docs/index.md``.
        pages: of the site; rows of the index that lead to none of them are left out.
    """
    sections: dict[str, list[Path]] = {}
    section = ""
    for line in index.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").strip()
            sections[section] = list(MADE_PAGES.get(section, ()))
        row = MENU_ROW.match(line)
        if row:
            page = Path(os.path.normpath(MENU.parent / row[1]))
            if page in pages:
                sections[section].append(page)
    return sections


def _entries(page: Path, targets: Sequence[Path]) -> list[str]:
    """Paths of pages as a menu on another page needs them: relative and without a suffix."""
    return [os.path.relpath(target.with_suffix(""), page.parent) for target in targets]
