"""Write the site's gallery: a page of cards for each run, and a page for each figure and table.

Cards with pictures come first; a card's title is the claim that it shows. Pages are MyST Markdown;
the ``grid`` and ``dropdown`` blocks are sphinx-design's.
"""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from experiments.site.exhibits import Claim, Exhibit, Run
from longform_lab.reporting.verdicts import (
    CONTRADICTED,
    HOLDS,
    OURS,
    UNDECIDED,
    VERDICTS,
)

# sphinx-design's names of colours.
COLOURS = {HOLDS: "success", CONTRADICTED: "danger", UNDECIDED: "warning"}
GALLERY = Path("gallery")
SHOWN_FILES = 12  # of an exhibit's page; some folders hold a file for each system
SHOWN_ROWS = 60  # of a table
SHOWN_NOTES = 30
CAPTION_ON_CARD = 160  # letters
INTERVAL = re.compile(r"\[([-+]?[\d.,]*\d), ([-+]?[\d.,]*\d)\]")
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def gallery_pages(root: Path, runs: Sequence[Run]) -> dict[Path, str]:
    """All pages of the gallery, by their path in the site.

    Args:
        root: of the repository; pictures and files are linked from there.
        runs: that are shown.
    """
    pages = {GALLERY / "index.md": _index(root, runs)}
    for run in runs:
        pages[run_page(run)] = _cards(root, run)
        for exhibit in run.exhibits:
            pages[exhibit_page(run, exhibit)] = _exhibit(root, run, exhibit)
    return pages


def run_page(run: Run) -> Path:
    """The path in the site of the page with a run's cards."""
    return GALLERY / f"{_name(run)}.md"


def exhibit_page(run: Run, exhibit: Exhibit) -> Path:
    """The path in the site of the page of a figure or table."""
    return GALLERY / _name(run) / f"{exhibit.paper}-{exhibit.name.replace(' ', '_')}.md"


def _name(run: Run) -> str:
    """The name of a run in paths."""
    return run.scale or "default_study"


def _title(run: Run) -> str:
    """The name of a run in headings."""
    return f"Scale {run.scale}" if run.scale else "Default study"


def _index(root: Path, runs: Sequence[Run]) -> str:
    """The gallery's first page: some figures, then each run's exhibits and claims by verdict."""
    lines = [
        "# Gallery",
        "",
        *_first_figures(root, runs),
        "Every figure and table that git holds, by run. Claims count where the run's own results "
        "decide them.",
        "",
        f"| run | what it is | figures and tables | {' | '.join(VERDICTS[:3])} |",
        "|---|---|---|---|---|---|",
    ]
    for run in runs:
        verdicts = Counter(claim.verdict for claim in _papers_claims(run))
        counts = " | ".join(str(verdicts[verdict] or "") for verdict in VERDICTS[:3])
        link = f"[{_title(run)}]({run_page(run).name})"
        about = escape(run.about).replace("|", "\\|")
        lines.append(f"| {link} | {about} | {len(run.exhibits)} | {counts} |")
    entries = [run_page(run).name for run in runs]
    return "\n".join([*lines, "", *toctree(entries, hidden=True), ""])


def _first_figures(root: Path, runs: Sequence[Run]) -> list[str]:
    """Cards of the first figure of each paper of the first run that has pictures."""
    for run in runs:
        first: dict[str, Exhibit] = {}
        for exhibit in run.exhibits:
            if exhibit.pictures:
                first.setdefault(exhibit.paper, exhibit)
        if first:
            lines = [":::::{grid} 1 2 2 3", ":gutter: 3", ""]
            for exhibit in first.values():
                lines += _card(root, run, exhibit)
            return [*lines, ":::::", ""]
    return []


def _papers_claims(run: Run) -> list[Claim]:
    """The claims of a run that papers make; our own checks are left out."""
    claims = []
    for exhibit in run.exhibits:
        claims += exhibit.claims
    for others in run.other_claims.values():
        claims += others
    return [claim for claim in claims if claim.source != OURS]


def _cards(root: Path, run: Run) -> str:
    """The page of a run: a grid of cards for each paper, then claims that no exhibit shows."""
    lines = [f"# {_title(run)}", ""]
    if run.about:
        lines += [f"{escape(run.about)}.", ""]
    lines += [f"All of it: `{run.command}`.", ""]
    papers = list(dict.fromkeys(exhibit.paper for exhibit in run.exhibits))
    papers.sort(key=lambda paper: paper == "ledger")  # no paper: last
    for paper in papers:
        exhibits = [exhibit for exhibit in run.exhibits if exhibit.paper == paper]
        # A stable sort: those with pictures first, both in reading order.
        exhibits.sort(key=lambda exhibit: not exhibit.pictures)
        lines += [f"## {paper}", "", ":::::{grid} 1 2 2 3", ":gutter: 3", ""]
        for exhibit in exhibits:
            lines += _card(root, run, exhibit)
        lines += [":::::", ""]
    lines += _other_claims(run)
    entries = []
    for exhibit in run.exhibits:
        entries.append(f"{_name(run)}/{exhibit_page(run, exhibit).name}")
    return "\n".join([*lines, *toctree(entries, hidden=True), ""])


def _card(root: Path, run: Run, exhibit: Exhibit) -> list[str]:
    """One card: picture, name, what to see, verdicts, command."""
    page = exhibit_page(run, exhibit)
    lines = [
        f"::::{{grid-item-card}} {escape(card_title(exhibit))}",
        f":link: /{page.with_suffix('')}",
        ":link-type: doc",
        f":link-alt: {_label(exhibit)}",
    ]
    if exhibit.pictures:
        lines.append(f":img-top: {_path(root, exhibit.pictures[0], run_page(run))}")
        lines.append(f":img-alt: {_label(exhibit)}")
    seen = LINK.sub(r"\1", exhibit.caption)  # the card itself is a link
    lines += ["", escape(_shortened(seen) or _label(exhibit)), "", ":::{card-footer}"]
    verdicts = Counter(claim.verdict for claim in exhibit.claims)
    badges = [_badge(verdict, verdicts[verdict]) for verdict in VERDICTS if verdicts[verdict]]
    lines += [" ".join([*badges, f"`{exhibit.command}`"]), ":::", "::::", ""]
    return lines


def card_title(exhibit: Exhibit) -> str:
    """The first claim of a paper (not of ours) that the exhibit shows, or else "Table 2"."""
    for claim in exhibit.claims:
        if claim.source != OURS:
            return claim.says
    return _label(exhibit)


def _label(exhibit: Exhibit) -> str:
    """``table_2`` as "Table 2"."""
    words = exhibit.name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _shortened(caption: str) -> str:
    """A caption cut between words to the length that fits on a card."""
    if len(caption) <= CAPTION_ON_CARD:
        return caption
    return caption[:CAPTION_ON_CARD].rsplit(" ", 1)[0] + " …"


def _badge(verdict: str, count: int = 0) -> str:
    """A coloured badge with a verdict, before it how many claims have it if they are several."""
    colour = COLOURS.get(verdict, "secondary")
    text = f"{count} {verdict}" if count > 1 else verdict
    return f"{{bdg-{colour}}}`{text}`"


def _exhibit(root: Path, run: Run, exhibit: Exhibit) -> str:
    """The page of one figure or table."""
    page = exhibit_page(run, exhibit)
    # Heading and caption; a caption that is long stands below a short heading.
    caption = _with_links(root, exhibit, page, exhibit.caption) or _label(exhibit)
    heading = caption if len(caption) <= CAPTION_ON_CARD else _label(exhibit)
    lines = [f"# {escape(heading)}", ""]
    if heading != caption:
        lines += [escape(caption), ""]
    # What it shows: pictures, claims, tables, notes.
    for picture in exhibit.pictures:
        lines += [f"![{escape(heading)}]({_link(root, picture, page)})", ""]
    if exhibit.claims:
        lines += ["## Claims", "", *_claim_lines(exhibit.claims)]
    for table in exhibit.tables:
        lines += [*_table_lines(table), ""]
    for note in exhibit.notes[:SHOWN_NOTES]:
        lines.append(f"- {escape(_with_links(root, exhibit, page, note))}")
    if len(exhibit.notes) > SHOWN_NOTES:
        lines.append(f"- {len(exhibit.notes) - SHOWN_NOTES} more in the file below")
    # Where it comes from.
    lines += ["", f"Made by `{exhibit.command}` ({_title(run).lower()}).", ""]
    if exhibit.same_as:
        shown = exhibit.same_as.parent.relative_to(root)
        lines += [f"Its files are the same as those of `{shown}`, which stand here.", ""]
    lines += _file_lines(root, exhibit, page)
    return "\n".join(lines)


def _claim_lines(claims: Sequence[Claim]) -> list[str]:
    """Lines of claims with their verdicts, each with a folded table of what was compared."""
    lines = []
    for claim in claims:
        source = f" ({escape(claim.source)})" if claim.source else ""
        lines += [f"{_badge(claim.verdict)} {escape(claim.says)}{source}", ""]
        reasons = escape("; ".join(claim.reasons))
        if claim.comparisons:
            lines += [f":::{{dropdown}} {reasons or 'What was compared'}", ""]
            header = ["where", "compared", claim.scale or "difference", "verdict", "because"]
            rows = [header]
            for one in claim.comparisons:
                rows.append([one.row, one.compared, one.numbers, one.verdict, one.reason])
            lines += [*_table_lines(rows), "", ":::", ""]
        elif reasons:
            lines += [reasons, ""]
    return lines


def _table_lines(table: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table, at most ``SHOWN_ROWS`` and one that counts the others.

    Args:
        table: the header, then the rows.
    """
    header, *body = table
    width = len(header)
    lines = [_row(header), "|" + "---|" * width]
    for cells in body[:SHOWN_ROWS]:
        lines.append(_row(cells))
    if len(body) > SHOWN_ROWS:
        lines.append(_row([f"{len(body) - SHOWN_ROWS} more in the file", *[""] * (width - 1)]))
    return lines


def _row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    escaped = [escape(cell).replace("|", "\\|") for cell in cells]
    return unbroken(f"| {' | '.join(escaped)} |")


def _file_lines(root: Path, exhibit: Exhibit, page: Path) -> list[str]:
    """The line with links from an exhibit's page to its files."""
    links = []
    for path in exhibit.files[:SHOWN_FILES]:
        links.append(f"[{escape(path.name)}]({_link(root, path, page)})")
    if len(exhibit.files) > SHOWN_FILES:
        links.append(f"and {len(exhibit.files) - SHOWN_FILES} more")
    return [f"Files: {', '.join(links)}", ""]


def _other_claims(run: Run) -> list[str]:
    """Claims that no exhibit of the run shows, paper by paper."""
    lines = []
    for paper, claims in run.other_claims.items():
        if claims:
            lines += [f"## {paper}: claims without a figure or table", "", *_claim_lines(claims)]
    return lines


def _with_links(root: Path, exhibit: Exhibit, page: Path, text: str) -> str:
    """A text of an exhibit's Markdown with its links redirected for a page of the site."""

    def change(match: re.Match[str]) -> str:
        """The link to the same file from the site's page; its words alone if there is no file."""
        target = (exhibit.same_as or exhibit.page).parent / match[2]
        return f"[{match[1]}]({_link(root, target, page)})" if target.is_file() else match[1]

    return LINK.sub(change, text)


def _link(root: Path, target: Path, page: Path) -> str:
    """The relative link from a page of the site to a file of the repository, percent-encoded."""
    return quote(_path(root, target, page))


def _path(root: Path, target: Path, page: Path) -> str:
    """The relative path from a page to a file; the site mirrors the repository's tree."""
    return os.path.relpath(target.relative_to(root), page.parent)


def toctree(entries: Sequence[str], hidden: bool = False, caption: str = "") -> list[str]:
    """A Sphinx ``toctree`` block, from which the site's menu is made.

    Args:
        entries: pages, relative to the page with the block.
        hidden: whether the page itself does not show them.
        caption: the heading in the menu.
    """
    options = []
    if caption:
        options.append(f":caption: {caption}")
    if hidden:
        options.append(":hidden:")
    return ["```{toctree}", *options, "", *entries, "```"]


def escape(text: str) -> str:
    """A text with HTML escaped; Markdown in it stays."""
    return html.escape(text, quote=False)


def unbroken(text: str) -> str:
    """A table's line with non-breaking spaces in intervals and before printed values."""
    text = INTERVAL.sub("[\\1,\N{NO-BREAK SPACE}\\2]", text)
    return text.replace("(paper ", "(paper\N{NO-BREAK SPACE}")
