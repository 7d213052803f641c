"""Run the papers' notebooks, and show them as pages: prose, code, and what it printed and drew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTEBOOKS = Path("notebooks")
SECONDS = 300  # limit for one cell


@dataclass(frozen=True)
class NotebookPage:
    """An executed notebook.

    Attributes:
        script: path of the notebook's script, relative to the repository.
        markdown: the page.
        pictures: PNG files by the names that the page links to.
    """

    script: Path
    markdown: str
    pictures: dict[str, bytes]

    @property
    def page(self) -> Path:
        """Path of the page in the site."""
        return self.script.with_suffix(".md")


def notebook_scripts(root: Path) -> list[Path]:
    """Scripts in Jupytext's percent format that explore records, relative to the repository."""
    scripts = sorted((root / NOTEBOOKS).glob("explore_*.py"))
    return [path.relative_to(root) for path in scripts]


def executed(root: Path, script: Path) -> Any:
    """Run a notebook; returns it, in nbformat, with its outputs.

    Args:
        root: of the repository, in which its cells run.
        script: path of the notebook's script, relative to ``root``.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    import jupytext  # not needed by what else the site is made of
    from nbconvert.preprocessors import ExecutePreprocessor

    notebook = jupytext.read(root / script)
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python",
        "language": "python",
    }
    run = ExecutePreprocessor(timeout=SECONDS, kernel_name="python3")
    run.preprocess(notebook, {"metadata": {"path": str(root)}})
    return notebook


def notebook_pages(root: Path) -> Sequence[NotebookPage]:
    """All notebooks, executed, as pages."""
    from nbconvert import MarkdownExporter

    pages = []
    for script in notebook_scripts(root):
        prefix = script.stem
        names = {"unique_key": prefix, "output_files_dir": "."}  # of pictures: <prefix>_*.png
        markdown, resources = MarkdownExporter().from_notebook_node(executed(root, script), names)
        # nbconvert links a picture as ![png](./name); the notebook's title says more than "png".
        title = markdown.split("\n", 1)[0].lstrip("# ")
        markdown = markdown.replace("![png](./", f"![{title}](")
        source = f"\nMade from `{script}`, which runs as a script or opens as a notebook.\n"
        pictures = {Path(name).name: data for name, data in resources["outputs"].items()}
        pages.append(NotebookPage(script, markdown + source, pictures))
    return pages
