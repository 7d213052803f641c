"""Read what runs left in git: figures and tables, with claims, captions, pictures and commands.

The default run's stand in ``paper_figures/``, a scale's below ``experiments/scales/<scale>/``. Both
come from the reports' own Markdown and from the ledger's ``claims.csv``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from longform.files.artefacts import read_yaml
from longform.files.opening import rows
from longform.tables import short
from longform_lab.reporting.verdicts import ABSENT, UNTESTABLE, VERDICTS
from longform_lab.scale_results import SAME_FILES

SHEETS = ("sheet.csv", "key.csv", "study.csv", "study.jsonl")  # for judges; git does not keep them
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
FILE_LIST = re.compile(r"- \w+: \[[^\]]+\]\([^)\s]+\)(?:, \[[^\]]+\]\([^)\s]+\))*")
# By paper and exhibit the command that draws it; by paper and claim the exhibit that shows it.
Papers = tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]
DEFAULT_RUN = "Every paper on small synthetic corpora whose truth is known"
# As the reports write a claim among an exhibit's notes.
CLAIM = re.compile(
    rf"- (?P<says>.+?)(?: \((?P<source>[^()]*)\))? \*\*(?P<verdict>{'|'.join(VERDICTS)})\*\*"
    r"(?:; (?P<reason>.*))?"
)


@dataclass
class Comparison:
    """One row of a claim: what was compared, the number with its interval, and its verdict."""

    row: str
    compared: str
    numbers: str
    verdict: str
    reason: str


@dataclass
class Claim:
    """A claim of a paper, or of ours (its source is then ``ours``), as a run decided it.

    Attributes:
        says: the claim in one sentence.
        source: where the paper makes it.
        verdict: one of :data:`longform_lab.reporting.verdicts.VERDICTS`.
        reasons: what stands beside the verdict.
        scale: of the comparisons' numbers, difference or ratio.
        comparisons: the rows on which the verdict rests.
    """

    says: str
    source: str
    verdict: str
    reasons: list[str] = field(default_factory=list)
    scale: str = ""
    comparisons: list[Comparison] = field(default_factory=list)


@dataclass
class Exhibit:
    """A figure or table of a run: one folder of its ``paper_figures``.

    Attributes:
        paper, name: as folders are called.
        folder: where its files lie.
        command: what makes it.
        files: all of it that git keeps.
        claims: those that it shows.
        caption: one or more sentences, as the report writes them.
        pictures: PNG files that its page shows.
        tables: of cells; the first row of each is its header.
        notes: lines below the tables.
        same_as: the page of the exhibit whose files are the same, where git keeps them once.
    """

    paper: str
    name: str
    folder: Path
    command: str
    files: list[Path]
    claims: list[Claim]
    caption: str = ""
    pictures: list[Path] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    same_as: Path | None = None

    @property
    def page(self) -> Path:
        """Its Markdown, as the report wrote it; some folders have none."""
        return self.folder / f"{self.name}.md"


@dataclass
class Run:
    """The default run, whose scale has no name, or that of a scale.

    Attributes:
        scale: its name.
        command: what makes all of it.
        about: what it is for, in a sentence.
        exhibits: Table 2 before Table 10; the ledger first.
        other_claims: by paper, claims that no exhibit of this run shows.
    """

    scale: str
    command: str
    about: str
    exhibits: list[Exhibit]
    other_claims: dict[str, list[Claim]]


def read_runs(root: Path) -> list[Run]:
    """The default run and every scale that keeps figures or tables, in the order of their names."""
    papers = _read_papers(root)
    runs = [_read_run(papers, root, scale="")]
    for figures in sorted(root.glob("experiments/scales/*/paper_figures")):
        runs.append(_read_run(papers, figures.parent, scale=figures.parent.name))
    return runs


def _read_run(papers: Papers, home: Path, scale: str) -> Run:
    """Read one run.

    Args:
        papers: which report draws an exhibit, and which exhibit shows a claim.
        home: the folder that has ``paper_figures``.
        scale: name of the scale; empty for the default run.
    """
    figures = home / "paper_figures"
    run_command = _run_command(home, scale)
    report_commands, exhibit_of_claim = papers
    claims = _claims_by_exhibit(figures / "ledger" / "claims.csv", exhibit_of_claim)

    folders = {path.parent for path in figures.rglob("*") if path.is_file()}
    exhibits = []
    for folder in sorted(folders, key=_reading_order):
        paper = folder.relative_to(figures).parts[0]
        key = (paper, folder.name)
        # A report can be run alone in the default run only.
        command = run_command if scale else report_commands.get(key, "make repro")
        files = _shown_files(folder)
        exhibit = Exhibit(paper, folder.name, folder, command, files, claims.pop(key, []))
        if exhibit.page in exhibit.files:
            _read_page(exhibit)
        exhibits.append(exhibit)

    other_claims = _other_claims(claims, exhibits, every_paper=not scale)
    return Run(scale, run_command, _about(home) if scale else DEFAULT_RUN, exhibits, other_claims)


def _about(home: Path) -> str:
    """The first sentence of the comment that opens a scale's settings; a colon may end it too."""
    settings = home / "overrides.yaml"
    if not settings.is_file():
        return ""
    comment = []
    for line in settings.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if "yaml-language-server" not in line:
            comment.append(line.lstrip("# "))
    sentence = re.split(r"(?<=[.?])\s|(?<=[.?])$|[:;]\s", " ".join(comment))[0].rstrip(".")
    if sentence.count("(") > sentence.count(")"):  # the colon stood inside a bracket
        sentence = sentence[: sentence.rindex("(")].rstrip()
    return sentence


def _run_command(home: Path, scale: str) -> str:
    """The command that makes all of a run."""
    if not scale:
        return "make repro"
    if (home / "data.yaml").is_file():  # it reads published texts
        return f"make real REAL={scale} DATA=folder"
    return f"make scale SCALE={scale}"


def _read_papers(root: Path) -> Papers:
    """Which command draws each (paper, exhibit), and which exhibit shows each (paper, claim)."""
    commands = {("ledger", "ledger"): "dvc repro ledger"}
    exhibit_of_claim = {}
    for expected in root.glob("experiments/*/expected.yaml"):
        paper = expected.parent.name
        reports = read_yaml(expected.with_name("params.yaml"))["reports"]
        for report, settings in reports.items():
            for name in settings["exhibits"]:
                commands[paper, name] = f"dvc repro report_{paper}_{report}"
        for claim in read_yaml(expected).get("claims", []):
            exhibit_of_claim[paper, claim["id"]] = claim.get("exhibit", "")
    return commands, exhibit_of_claim


def _claims_by_exhibit(
    path: Path, exhibit_of_claim: dict[tuple[str, str], str]
) -> dict[tuple[str, str], list[Claim]]:
    """Claims of a run by (paper, exhibit); those of no exhibit have an empty name."""
    grouped: dict[tuple[str, str], list[Claim]] = {}
    for (paper, claim_id), claim in read_claims(path).items():
        exhibit = exhibit_of_claim.get((paper, claim_id), "")
        grouped.setdefault((paper, exhibit), []).append(claim)
    return grouped


def read_claims(path: Path) -> dict[tuple[str, str], Claim]:
    """Claims of a ``claims.csv`` by paper and id; none where the file is missing.

    A line without a row begins a claim. One with a row is a comparison of it, or, where nothing was
    compared, says why not.
    """
    claims: dict[tuple[str, str], Claim] = {}
    if not path.is_file():
        return claims
    for line in rows(path, ("paper", "claim", "row", "verdict")):
        key = (line["paper"], line["claim"])
        reasons = [line["why"]] if line["why"] else []
        if not line["row"]:
            claims[key] = Claim(
                line["says"], line["source"], line["verdict"], reasons, line["scale"]
            )
        elif line["compared"]:
            comparison = Comparison(
                line["row"], line["compared"], _numbers(line), line["verdict"], line["why"]
            )
            claims[key].comparisons.append(comparison)
        else:
            claims[key].reasons = reasons
    return claims


def _numbers(line: dict[str, str]) -> str:
    """A difference or ratio with its interval, where it has one."""
    if not line["difference"]:
        return ""
    value = short(float(line["difference"]))
    if not (line["low"] and line["high"]):
        return value
    return f"{value} [{short(float(line['low']))}, {short(float(line['high']))}]"


def _shown_files(folder: Path) -> list[Path]:
    """The files of an exhibit that git keeps, in reading order."""
    files = [path for path in folder.iterdir() if path.is_file() and path.name not in SHEETS]
    return sorted(files, key=_reading_order)


def _other_claims(
    claims: dict[tuple[str, str], list[Claim]], exhibits: Sequence[Exhibit], every_paper: bool
) -> dict[str, list[Claim]]:
    """Claims without an exhibit, by paper.

    A scale says nothing of a paper of which it has no exhibit and decided no claim.
    """
    papers = {exhibit.paper for exhibit in exhibits}
    for (paper, _), undrawn in claims.items():
        verdicts = {claim.verdict for claim in undrawn}
        if verdicts - {ABSENT, UNTESTABLE}:
            papers.add(paper)
    others: dict[str, list[Claim]] = {}
    for (paper, _), undrawn in claims.items():
        if every_paper or paper in papers:
            others.setdefault(paper, []).extend(undrawn)
    return others


def _read_page(exhibit: Exhibit) -> None:
    """Fill in caption, pictures, tables, notes and claims from the exhibit's own Markdown."""
    text = exhibit.page.read_text(encoding="utf-8")
    same_files = SAME_FILES.fullmatch(text.strip())
    if same_files:
        exhibit.same_as = (exhibit.folder / same_files[2]).resolve()
        text = exhibit.same_as.read_text(encoding="utf-8")
    folder = exhibit.same_as.parent if exhibit.same_as else exhibit.folder

    # Each line is a picture, a row of a table, a note, or part of the caption.
    caption = []
    previous = ""
    for line in text.splitlines():
        picture = PICTURE.fullmatch(line)
        if picture:
            path = folder / picture[1]
            if path.is_file():
                exhibit.pictures.append(path)
        elif line.startswith("|"):
            if not previous.startswith("|"):
                exhibit.tables.append([])
            if not line.startswith("|---"):
                exhibit.tables[-1].append(_cells(line))
        elif line.startswith("- "):
            _read_note(exhibit, line)
        elif line.strip():
            caption.append(line.strip().strip("*"))
        previous = line
    exhibit.caption = " ".join(caption)


def _cells(line: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return [cell.strip() for cell in cells]


def _read_note(exhibit: Exhibit, line: str) -> None:
    """A line below a table: a claim that ``claims.csv`` lacks, a list of files, or a note."""
    match = CLAIM.fullmatch(line)
    if match:
        reasons = [match["reason"]] if match["reason"] else []
        claim = Claim(match["says"], match["source"] or "", match["verdict"], reasons)
        if not any(other.says == claim.says for other in exhibit.claims):
            exhibit.claims.append(claim)
    elif not FILE_LIST.fullmatch(line):  # all files are linked anyway
        exhibit.notes.append(line.removeprefix("- "))


def _reading_order(path: Path) -> list[int | str | bool]:
    """A key that sorts Table 2 before Table 10, and the ledger, which is no paper's, first."""
    key: list[int | str | bool] = [path.parts[-2] != "paper_figures"]
    for part in re.split(r"(\d+)", str(path)):
        key.append(int(part) if part.isdecimal() else part)
    return key
