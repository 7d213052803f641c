"""Build the site: ``make site``, then open ``scratch/site/html/index.html``."""

import argparse
import subprocess
import sys
from pathlib import Path

from experiments.site.notebooks import notebook_pages
from experiments.site.source import write_source

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run the notebooks, write the source, run Sphinx; warnings are errors."""
    parser = argparse.ArgumentParser(prog="python -m experiments.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "scratch/site", help="folder to write")
    out = parser.parse_args().out.resolve()
    source, html = out / "source", out / "html"
    write_source(ROOT, source, notebook_pages(ROOT))
    configuration = Path(__file__).parent
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going"]
    command += ["--jobs", "auto", "--conf-dir", str(configuration), "--doctree-dir"]
    command += [str(out / "doctrees"), str(source), str(html)]
    failed = subprocess.run(command, cwd=ROOT).returncode
    if not failed:
        print(f"open {html / 'index.html'} in a browser")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
