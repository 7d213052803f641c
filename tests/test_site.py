"""The site shows every exhibit that is in git, escapes what they hold, and links to what is there."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from experiments.site.exhibits import CLAIM, read_runs
from experiments.site.gallery import card_title, exhibit_page, gallery_pages, run_page, unbroken
from experiments.site.reference import parameter_pages
from experiments.site.source import MENU, menu_sections, write_source

ROOT = Path(__file__).parents[1]
SCRIPT = '<script>alert("1")</script> & <b>x</b>'
CLAIMS = "paper,claim,source,says,row,compared,scale,difference,low,high,verdict,why\n"


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """The last commit: a run on another processor changes the working tree and leaves the commit as it is."""
    folder = tmp_path_factory.mktemp("committed")
    archive = ["git", "archive", "HEAD", ":!data/bases", ":!data/scores", ":!tests"]
    try:
        files = subprocess.run(archive, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a git checkout whose last commit holds the exhibits ({error})")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=files, check=True)
    return folder


@pytest.fixture(scope="module")
def source(committed):
    """What the site of the last commit is generated from."""
    write_source(committed, committed / "scratch")
    return committed / "scratch"


def test_every_folder_of_figures_and_tables_has_a_page(committed, source):
    shown = 0
    for run in read_runs(committed):
        folders = {exhibit.folder for exhibit in run.exhibits}
        home = run.exhibits[0].folder
        while home.name != "paper_figures":
            home = home.parent
        assert folders == {path.parent for path in home.rglob("*") if path.is_file()}
        for exhibit in run.exhibits:
            assert (source / exhibit_page(run, exhibit)).is_file()
            shown += 1
    assert shown > 150


def test_links_of_the_site_lead_to_its_pages_and_files(source):
    checked = 0
    for page in source.rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        targets = re.findall(r"\]\(<?([^)#:\s<>]+)>?(?:#[^)\s]*)?\)", text)
        targets += re.findall(r"^:img-top: (.+)$", text, re.M)
        for target in targets:
            made_by_runs = "/data/" in target or target.startswith(("data/", "scales/"))
            assert (page.parent / unquote(target)).exists() or made_by_runs, f"{page}: {target}"
            checked += 1
    assert checked > 1000


def test_the_menu_holds_every_page_of_the_index_under_its_heading(source):
    pages = {path.relative_to(source): "" for path in source.rglob("*.md")}
    sections = menu_sections((source / MENU).read_text(encoding="utf-8"), pages)
    assert list(sections) == ["Guide", "Run", "Results", "Reference"]
    assert Path("docs/judge_your_texts.md") in sections["Guide"]
    assert Path("docs/cluster.md") in sections["Run"]
    assert sections["Results"][0] == Path("gallery/index.md")
    front = (source / "index.md").read_text(encoding="utf-8")
    assert ":caption: Guide\n:hidden:\n\ndocs/getting_started\n" in front


def test_every_picture_of_the_site_says_in_words_what_it_is(source):
    pictures = 0
    for page in source.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        spoken = re.findall(r"!\[([^\]]*)\]\([^)]+\)", text)
        spoken += re.findall(r"^:img-top: .+\n:img-alt:(.*)$", text, re.M)
        assert text.count(":img-top:") == text.count(":img-alt:"), page
        for words in spoken:
            assert len(words.strip()) >= 5 and not words.endswith(".png"), f"{page}: {words}"
        pictures += len(spoken)
    assert pictures > 100


def test_the_gallery_opens_with_a_picture_of_each_paper(committed):
    page = gallery_pages(committed, read_runs(committed))[Path("gallery/index.md")]
    cards, _, table = page.partition("| run |")
    assert cards.count(":img-top:") >= 4 and ":img-top:" not in table


def test_every_row_of_a_committed_table_has_the_cells_of_its_head(committed):
    rows = 0
    for page in sorted(committed.rglob("paper_figures/**/*.md")):
        columns = 0
        for line in page.read_text(encoding="utf-8").splitlines():
            if not line.startswith("|"):
                columns = 0
                continue
            bars = re.sub(r"`[^`]*`", "", line).replace(r"\|", "").count("|")
            columns = columns or bars
            assert bars == columns, f"{page}: {line}"
            rows += 1
    assert rows > 1000


def test_the_gallery_says_of_every_run_what_it_is(source):
    text = (source / "gallery/index.md").read_text(encoding="utf-8")
    runs = re.findall(r"^\| \[(.+?)\]\(.+?\) \| (.*?) \| \d+ \|", text, re.M)
    assert len(runs) > 15 and all(len(about) > 20 for _, about in runs)
    assert dict(runs)["Scale table_1"] == "Table 1 of deng2022 at the paper's size"


def test_no_line_break_parts_an_interval_of_a_table():
    space = "\N{NO-BREAK SPACE}"
    assert unbroken("| 1 [0.5, 2] (paper 3) |") == f"| 1 [0.5,{space}2] (paper{space}3) |"
    assert unbroken("| [a, b], [1,2] |") == "| [a, b], [1,2] |"


def test_the_reference_lists_every_kind_with_its_fields_and_their_ranges():
    pages = parameter_pages(ROOT / "params.schema.json")
    text = pages[Path("reference/parameters-corpora.md")]
    assert "## hsmm_language" in text
    assert re.search(r"\| `num_states` \| integer ≥ 2 \| required \| States\.", text)


@pytest.fixture
def odd(tmp_path):
    """One paper of a scale of one run: hostile words, a picture that is missing, other files."""
    paper, figures = tmp_path / "experiments" / "p", tmp_path / "paper_figures"
    for name in ("p/table_1", "p/odd & name", "p/files", "ledger"):
        (figures / name).mkdir(parents=True)
    paper.mkdir(parents=True)
    (paper / "params.yaml").write_text("reports: {r: {exhibits: {table_1: {}, files: {}}}}")
    (paper / "expected.yaml").write_text(
        "claims: [{id: c, exhibit: table_1}, {id: lost, exhibit: table_9}]"
    )
    rows = "".join(f"| {SCRIPT} | {i} |\n" for i in range(3))
    notes = f"- {SCRIPT} (s) **holds**; and more\n- **only** a note\n"
    (figures / "p" / "table_1" / "table_1.md").write_text(
        f"**{SCRIPT}**\n\n| | x |\n|---|---|\n{rows}\n{notes}"
    )
    (figures / "p" / "odd & name" / "odd & name.md").write_text("![a](a.png)\n\nA caption.\n")
    (figures / "p" / "odd & name" / "a <b>.csv").write_text("1")
    (figures / "p" / "files" / "one.jsonl").write_text("{}")
    quoted = '"' + SCRIPT.replace('"', '""') + '"'
    (figures / "ledger" / "claims.csv").write_text(
        f"{CLAIMS}p,c,s,{quoted},,,ratio,,,,holds,1 holds\n"
        "p,c,,,{quoted},a < b,ratio,2,1.5,3,holds,\n"
        "p,lost,ours,Nobody shows this.,,,difference,,,,undecided,\n"
    )
    return tmp_path


def test_captions_cells_claims_and_names_are_escaped(odd):
    pages = gallery_pages(odd, read_runs(odd))
    text = "\n".join(pages.values())
    assert "<" not in text
    assert text.count("&lt;script&gt;") > 5 and "**only** a note" in text


def test_a_claim_stands_at_its_exhibit_with_what_decided_it(odd):
    (run,) = read_runs(odd)
    exhibit = next(one for one in run.exhibits if one.name == "table_1")
    assert exhibit.command == "dvc repro report_p_r" and len(exhibit.claims) == 1
    assert card_title(exhibit) == SCRIPT
    pages = gallery_pages(odd, [run])
    page = pages[exhibit_page(run, exhibit)]
    assert "{bdg-success}`holds`" in page and "2.00 [1.50,\N{NO-BREAK SPACE}3.00]" in page
    assert "and more" not in page  # the ledger's reasons count
    assert "Nobody shows this." in pages[run_page(run)]


def test_an_exhibit_of_another_run_shows_its_files_and_its_own_claims(odd):
    twin = odd / "experiments" / "scales" / "s" / "paper_figures" / "p" / "table_1" / "table_1.md"
    twin.parent.mkdir(parents=True)
    link = "../" * 6 + "paper_figures/p/table_1/table_1.md"
    twin.write_text(f"The same files as [table_1 of the default run]({link}) at commit 0123abcd.\n")
    (twin.parents[2] / "ledger").mkdir()
    (twin.parents[2] / "ledger" / "claims.csv").write_text(
        f"{CLAIMS}p,c,s,It grows.,,,ratio,,,,contradicted,\n"
    )
    run = read_runs(odd)[1]
    exhibit = next(one for one in run.exhibits if one.name == "table_1")
    page = gallery_pages(odd, [run])[exhibit_page(run, exhibit)]
    assert "{bdg-danger}`contradicted` It grows." in page
    assert "the same as those of `paper_figures/p/table_1`" in page and page.count("|---|") >= 1


@pytest.mark.long
@pytest.mark.timeout(1800)  # five minutes on two quiet cores
def test_sphinx_makes_the_site_without_a_warning(tmp_path):
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (own,) = Path(sys.prefix).glob("lib/python*/site-packages")
    (packages / "main.pth").write_text(f"{own}\n")
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "-r", ROOT / "requirements-site.txt"]
    subprocess.run(pip, check=True)
    build = [python, "-m", "experiments.site", "--out", tmp_path / "site"]
    # Where the notebooks' templates are, as `make site` says it.
    templates = str(Path(sys.prefix) / "share" / "jupyter")
    environment = {**os.environ, "PYTHONPATH": "src:.", "JUPYTER_PATH": templates}
    done = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    html = tmp_path / "site" / "html"
    front = (html / "index.html").read_text(encoding="utf-8")
    assert "gallery/index.html" in front and (html / "searchindex.js").is_file()
    loaded = re.findall(r'(?:src|<link[^>]* href)="(https?://[^"]+)"', front)
    assert loaded == []  # nothing comes from another server


def test_an_exhibit_and_the_ledger_give_a_claim_one_verdict(committed):
    """A report that does not read what a claim compares would say that it was not measured."""
    ledgers, seen = sorted(committed.rglob("paper_figures/ledger/claims.csv")), 0
    for ledger in ledgers:
        with ledger.open(encoding="utf-8", newline="") as lines:
            judged = {
                (row["paper"], row["says"]): row["verdict"]
                for row in csv.DictReader(lines)
                if not row["row"]
            }
        figures = ledger.parents[1]
        for note in figures.rglob("*.md"):
            paper = note.relative_to(figures).parts[0]
            for told in filter(
                None, (CLAIM.fullmatch(line) for line in note.read_text("utf-8").splitlines())
            ):
                verdict, seen = judged.get((paper, told[1])), seen + 1
                assert verdict in (None, told[3]), f"{note.relative_to(committed)}: {told[1]}"
    assert seen > 20 * bool(ledgers)
