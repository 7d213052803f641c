"""Write one page of every figure and table whose results are in git: ``python experiments/gallery.py``.

It reads ``paper_figures/`` of the default run and of each scale that keeps one below ``experiments/scales/``, and writes
``docs/gallery/index.html``: captions, tables, pictures by relative link, claims with their verdicts, the command that makes each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from longform.files.artefacts import read_yaml
from longform.files.opening import rows
from longform.tables import short
from longform_lab.reporting.verdicts import ABSENT, OURS, UNTESTABLE, VERDICTS
from longform_lab.scale_results import SAME_FILES

ROOT, PAGE = Path(__file__).parents[1], Path("docs/gallery/index.html")
SHOWN_ROWS, SHOWN_FILES = 8, 12
SHEETS = ("sheet.csv", "key.csv", "study.csv", "study.jsonl")  # for judges; git does not keep them
OPTIONAL_ENDS = re.compile(r"</(?:td|th|tr|li|thead|tbody)>")  # HTML ends these by itself
PICTURE, LINK, STRONG = r"!\[[^\]]*\]\(([^)]+)\)", r"\[([^\]]+)\]\(([^)\s]+)\)", r"\*\*(.+?)\*\*"
CLAIM = rf"- (.+?)(?: \(([^()]*)\))? \*\*({'|'.join(VERDICTS)})\*\*(?:; (.*))?"  # as Judged.sentence writes it


@dataclass
class Claim:
    """A claim of ``claims.csv``; ``reasons`` is what its comparisons say beside their verdicts, ``detail`` a table of these."""

    says: str
    source: str
    verdict: str
    reasons: list[str]
    scale: str = ""
    detail: list[list[str]] = field(default_factory=list)


@dataclass
class Exhibit:
    """A folder of ``paper_figures``. Where another run keeps its files, ``twin`` says which and ``twin_page`` is its Markdown."""

    paper: str
    name: str
    anchor: str
    command: str
    files: list[Path]
    claims: list[Claim]
    caption: str = ""
    pictures: list[tuple[Path, int, int]] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    twin: str = ""
    twin_page: Path | None = None
    twin_anchor: str = ""
    own_claims: bool = True  # whether they differ from those of the twin

    @property
    def markdown(self) -> Path:
        return self.files[0].with_name(f"{self.name}.md")


@dataclass
class Run:
    """The default run, or a scale: its exhibits in reading order, and claims that belong to none of them, by paper."""

    name: str
    command: str
    exhibits: list[Exhibit]
    unplaced: dict[str, list[Claim]]

    @property
    def shown(self) -> dict[str, list[Exhibit]]:
        """By paper, those that have Markdown."""
        papers = dict.fromkeys([*(one.paper for one in self.exhibits), *self.unplaced])
        return {
            p: [one for one in self.exhibits if one.paper == p and one.markdown in one.files]
            for p in papers
        }

    def counts(self) -> Iterator[tuple[str, str, int, Counter[str]]]:
        """For each paper, our own checks apart: its name, its label, its exhibits, its claims by verdict."""
        for paper, shown in self.shown.items():
            claims = [
                c for e in self.exhibits if e.paper == paper for c in e.claims
            ] + self.unplaced.get(paper, [])
            for own in (False, True):
                verdicts = Counter(
                    claim.verdict for claim in claims if (claim.source == OURS) == own
                )
                if verdicts or not own:
                    yield (
                        paper,
                        paper + ", our own checks" * own,
                        0 if own else len(shown),
                        verdicts,
                    )


def page(root: Path) -> str:
    """The page of a copy of the repository."""
    root = root.resolve()
    scales = sorted(root.glob("experiments/scales/*/paper_figures"))
    runs = [_run(root, root, ""), *(_run(root, path.parent, path.parent.name) for path in scales)]
    known = {one.markdown: one for run in runs for one in run.exhibits}
    for one in known.values():
        if one.twin_page is not None:
            kept = known[one.twin_page]
            one.twin_anchor, one.own_claims = kept.anchor, one.claims != kept.claims
    beside = FileSystemLoader(Path(__file__).parent)
    templates = Environment(
        loader=beside,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def url(path: Path) -> str:
        return "../" * (len(PAGE.parts) - 1) + quote(path.relative_to(root).as_posix())

    templates.filters.update(url=url, inline=_inline)
    templates.globals.update(verdicts=VERDICTS, shown_rows=SHOWN_ROWS, shown_files=SHOWN_FILES)
    runbooks = {path.parent.name: path for path in root.glob("experiments/*/README.md")}
    text = templates.get_template("gallery.html").render(runs=runs, runbooks=runbooks)
    return OPTIONAL_ENDS.sub("", text)


def _run(root: Path, home: Path, scale: str) -> Run:
    figures, made_by, placed = (
        home / "paper_figures",
        {("ledger", "ledger"): "dvc repro ledger"},
        {},
    )
    for folder in (path.parent for path in root.glob("experiments/*/expected.yaml")):
        for report, entry in read_yaml(folder / "params.yaml")["reports"].items():
            made_by |= {
                (folder.name, name): f"dvc repro report_{folder.name}_{report}"
                for name in entry["exhibits"]
            }
        for claim in read_yaml(folder / "expected.yaml").get("claims", []):
            placed[folder.name, claim["id"]] = claim.get("exhibit", "")
    claims: dict[tuple[str, str], list[Claim]] = {}
    for (paper, name), one in _claims(figures / "ledger" / "claims.csv").items():
        claims.setdefault((paper, placed.get((paper, name), "")), []).append(one)
    whole = (
        f"make real REAL={scale} DATA=folder"
        if (home / "data.yaml").is_file()
        else f"make scale SCALE={scale}"
    )
    exhibits = []
    for folder in sorted(
        {path.parent for path in figures.rglob("*") if path.is_file()}, key=_place
    ):
        parts = folder.relative_to(figures).parts
        paper, name, anchor = parts[0], parts[-1], "-".join((scale or "default", *parts))
        command = whole if scale else made_by.get((paper, name), "no report draws it")
        files = [path for path in folder.iterdir() if path.is_file() and path.name not in SHEETS]
        files.sort(key=_place)
        exhibits.append(
            _read(Exhibit(paper, name, anchor, command, files, claims.pop((paper, name), [])))
        )
    # A scale says nothing of a paper of which it has no exhibit and decided no claim.
    told = {one.paper for one in exhibits}
    told |= {
        p
        for (p, _), found in claims.items()
        if any(c.verdict not in (ABSENT, UNTESTABLE) for c in found)
    }
    listed = {paper: None for paper, _ in claims if not scale or paper in told}
    unplaced = {p: [one for key in claims if key[0] == p for one in claims[key]] for p in listed}
    return Run(scale, whole if scale else "make repro", exhibits, unplaced)


def _claims(path: Path) -> dict[tuple[str, str], Claim]:
    """Claims with their comparisons, by paper and name; a line that names no row begins a claim."""
    found: dict[tuple[str, str], Claim] = {}
    for line in rows(path, ("paper", "claim", "row", "verdict")) if path.is_file() else []:
        key, why = (line["paper"], line["claim"]), [line["why"]] if line["why"] else []
        if not line["row"]:
            found[key] = Claim(line["says"], line["source"], line["verdict"], why, line["scale"])
        elif line["compared"]:
            value, low, high = (
                short(float(line[k])) if line[k] else "" for k in ("difference", "low", "high")
            )
            numbers = f"{value} [{low}, {high}]" if low else value
            found[key].detail.append(
                [line["row"], line["compared"], numbers, line["verdict"], line["why"]]
            )
        else:
            found[key].reasons = why
    return found


def _read(one: Exhibit) -> Exhibit:
    """Fills in what the exhibit's Markdown says; claims among its notes count where ``claims.csv`` has none of them."""
    if one.markdown not in one.files:
        one.problems.append(f"no {one.markdown.name}")
        return one
    text = one.markdown.read_text(encoding="utf-8")
    if kept := SAME_FILES.fullmatch(text.strip()):
        one.twin, one.twin_page = (
            f"{kept[1]} at commit {kept[3]}",
            (one.markdown.parent / kept[2]).resolve(),
        )
        for line in one.twin_page.read_text(encoding="utf-8").splitlines():
            _add_claim(one, re.fullmatch(CLAIM, line))
        return one
    said, before = [], ""
    for line in text.splitlines():
        if picture := re.fullmatch(PICTURE, line):
            path = one.markdown.with_name(picture[1])
            one.pictures += [(path, *_size(path))] if path in one.files else []
            one.problems += [] if path in one.files else [f"no {path.name}"]
        elif line.startswith("|"):
            one.tables += [] if before.startswith("|") else [[]]
            if not line.startswith("|---"):
                one.tables[-1].append([cell.strip() for cell in line.strip()[1:-1].split("|")])
        elif line.startswith("- "):
            listed = re.fullmatch(
                rf"- \w+: {LINK}(, {LINK})*", line
            )  # beside a picture; all files are linked anyway
            told = re.fullmatch(CLAIM, line)
            _add_claim(one, told)
            one.notes += [] if told or listed else [line[2:]]
        elif line.strip():
            said.append(line.strip().strip("*"))
        before = line
    one.caption = " ".join(said)
    return one


def _add_claim(one: Exhibit, told: re.Match[str] | None) -> None:
    """A claim among an exhibit's notes, if the line is one and ``claims.csv`` has it not."""
    if told and told[1] not in [claim.says for claim in one.claims]:
        one.claims.append(Claim(told[1], told[2] or "", told[3], [told[4]] if told[4] else []))


def _size(png: Path) -> tuple[int, int]:
    """Width and height, so that the page does not move while pictures load."""
    head = png.read_bytes()[:24]
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def _inline(text: str) -> Markup:
    """Text with bold print, everything else escaped."""
    return Markup(re.sub(STRONG, r"<strong>\1</strong>", str(escape(text))))


def _place(path: Path) -> list[Any]:
    """Table 2 before Table 10; the ledger, which is no paper's, first."""
    return [path.parts[-2] != "paper_figures"] + [
        int(p) if p.isdecimal() else p for p in re.split(r"(\d+)", str(path))
    ]


if __name__ == "__main__":
    (ROOT / PAGE).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / PAGE).write_text(page(ROOT), encoding="utf-8")
    print(f"open {PAGE} in a browser")
