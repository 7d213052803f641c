"""The gallery shows every exhibit that is in git and links to files that are there."""

import csv
import re
import subprocess
from html import escape
from pathlib import Path
from urllib.parse import unquote

import pytest

from experiments import real_claims
from experiments.gallery import CLAIM, PAGE, SHOWN_ROWS, page
from longform_lab.reporting.estimates import Estimate
from longform_lab.reporting.verdicts import ABSENT, UNDECIDED, Row

ROOT = Path(__file__).parents[1]
SCRIPT = '<script>alert("1")</script> & [x](javascript:alert(1)) {{ 7 * 7 }}'
CLAIMS = "paper,claim,source,says,row,compared,scale,difference,low,high,verdict,why\n"


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """The last commit: a run on another processor changes the working tree and leaves the commit as it is."""
    folder = tmp_path_factory.mktemp("committed")
    archive = ["git", "archive", "HEAD", "experiments", "paper_figures"]
    try:
        files = subprocess.run(archive, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a git checkout whose last commit holds the exhibits ({error})")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=files, check=True)
    return folder


@pytest.fixture(scope="module")
def gallery(committed):
    """The page of what the last commit holds."""
    return page(committed)


def links(text):
    return re.findall(r'(?:href|src)="([^"]*)"', text)


def test_the_page_has_every_exhibit_of_the_run_and_of_each_scale(committed, gallery):
    scales = {
        path.parent.name: path.parent
        for path in committed.glob("experiments/scales/*/paper_figures")
    }
    assert "three_seeds" in scales
    for name, home in {"default": committed, **scales}.items():
        figures = home / "paper_figures"
        folders = [
            path for path in figures.rglob("*") if any(file.is_file() for file in path.glob("*"))
        ]
        assert folders, name
        for folder in folders:
            anchor = "-".join((name, *folder.relative_to(figures).parts))
            is_shown = f'<article id="{anchor}">' in gallery
            assert is_shown or f'<li id="aside-{anchor}">' in gallery, anchor


def test_every_link_and_picture_leads_to_a_file_or_a_place_on_the_page(committed, gallery):
    anchors = re.findall(r' id="([^"]*)"', gallery)
    assert len(anchors) == len(set(anchors)) and gallery.count("<img ") > 20
    (committed / PAGE).parent.mkdir(parents=True, exist_ok=True)  # links lead from there
    for target in links(gallery):
        file = (committed / PAGE).parent / unquote(target)
        assert target[1:] in anchors if target.startswith("#") else file.is_file(), target


@pytest.fixture
def odd(tmp_path):
    """One paper of a scale of one run: a long table of hostile words, a picture that is missing, a folder of other files."""
    paper, figures = tmp_path / "experiments" / "p", tmp_path / "paper_figures"
    for folder in (
        paper,
        *(figures / name for name in ("p/table_1", "p/odd & name", "p/files", "ledger")),
    ):
        folder.mkdir(parents=True)
    (paper / "params.yaml").write_text("reports: {r: {exhibits: {table_1: {}, files: {}}}}")
    (paper / "expected.yaml").write_text(
        "claims: [{id: c, exhibit: table_1}, {id: lost, exhibit: table_9}]"
    )
    rows = "".join(f"| {SCRIPT} | {i} |\n" for i in range(SHOWN_ROWS + 2))
    notes = f"- {SCRIPT} (s) **holds**; and more\n- **only** a note\n"
    (figures / "p" / "table_1" / "table_1.md").write_text(
        f"**{SCRIPT}**\n\n| | x |\n|---|---|\n{rows}\n{notes}"
    )
    (figures / "p" / "odd & name" / "odd & name.md").write_text("![a](a.png)\n\nA caption.\n")
    (figures / "p" / "odd & name" / "a <b>.csv").write_text("1")
    (figures / "p" / "files" / "one.jsonl").write_text("{}")
    quoted = '"' + SCRIPT.replace('"', '""') + '"'
    (figures / "ledger" / "claims.csv").write_text(
        f"{CLAIMS}p,c,s,{quoted},,,ratio,,,,holds,1 holds\np,c,,,{quoted},a < b,ratio,2,1.5,3,holds,\n"
        "p,lost,ours,Nobody shows this.,,,difference,,,,undecided,\n"
    )
    return tmp_path


def test_captions_cells_claims_and_names_are_escaped(odd):
    made = page(odd)
    assert (
        "<script" not in made
        and "<b>.csv" not in made
        and "49" not in made.partition("</style>")[2]
    )
    assert not [target for target in links(made) if target.startswith("javascript")]
    assert f"<p>{escape(SCRIPT)}</p>".replace("&quot;", "&#34;").replace("&#x27;", "&#39;") in made
    assert (
        "<strong>only</strong> a note" in made
        and "a &lt; b" in made
        and "2.00 [1.50, 3.00]" in made
    )
    for target in links(made):
        assert (
            target.startswith("#")
            or (odd / PAGE).parent.joinpath(unquote(target)).resolve().is_file()
        ), target


def test_claims_stand_once_at_their_exhibit_with_its_command_and_from_markdown_alone_too(odd):
    made = page(odd)
    exhibit = made[made.index('<article id="default-p-table_1">') :].partition("</article>")[0]
    assert "dvc repro report_p_r" in exhibit and exhibit.count('<span class="v holds">') == 1
    assert "and more" not in exhibit
    assert "Nobody shows this." in made.partition("Claims that belong to no exhibit of this run")[2]
    assert re.search(r">p</a><td>2<td>1", made) and "p, our own checks" in made
    (odd / "paper_figures" / "ledger" / "claims.csv").unlink()
    made = page(odd)
    claim = f'<span class="v holds">holds</span> {escape(SCRIPT)} <span class="small">(s)</span>'
    assert claim.replace("&quot;", "&#34;") in made and "and more</span>" in made
    assert re.search(r">p</a><td>2<td>1", made) and "p, our own checks" not in made


def test_long_tables_are_cut_what_cannot_be_shown_is_set_aside_and_equal_exhibits_of_a_scale_are_named(
    odd,
):
    made, aside = page(odd), page(odd).partition('<h2 id="aside">')[2]
    assert made.count("alert(&#34;1&#34;)") < SHOWN_ROWS + 5
    assert '2 more in <a href="../../paper_figures/p/table_1/table_1.md">' in made
    assert "Files (no files.md)" in aside and "one.jsonl" in aside
    assert "(no a.png)" in aside and "A caption." in made and "<img" not in made


def test_an_exhibit_that_another_run_keeps_is_named_with_its_own_claims(odd):
    twin = odd / "experiments" / "scales" / "s" / "paper_figures" / "p" / "table_1" / "table_1.md"
    twin.parent.mkdir(parents=True)
    link = "../" * 6 + "paper_figures/p/table_1/table_1.md"
    twin.write_text(f"The same files as [table_1 of the default run]({link}) at commit 0123abcd.\n")
    (twin.parents[2] / "ledger").mkdir()
    (twin.parents[2] / "ledger" / "claims.csv").write_text(
        f"{CLAIMS}p,c,s,It grows.,,,ratio,,,,contradicted,\n"
    )
    shown = page(odd)
    exhibit = shown[shown.index('<article id="s-p-table_1">') :].partition("</article>")[0]
    assert (
        'The same files as <a href="#default-p-table_1">table_1 of the default run at commit 0123abcd</a>'
        in exhibit
    )
    assert (
        '<span class="v contradicted">contradicted</span> It grows.' in exhibit
        and "<table" not in exhibit
    )


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
                None, (re.fullmatch(CLAIM, line) for line in note.read_text("utf-8").splitlines())
            ):
                verdict, seen = judged.get((paper, told[1])), seen + 1
                assert verdict in (None, told[3]), f"{note.relative_to(committed)}: {told[1]}"
    assert seen > 20 * bool(ledgers)


def test_claims_on_published_text_are_judged_by_the_results_in_git():
    with (ROOT / "experiments" / "real_claims.csv").open(encoding="utf-8", newline="") as lines:
        told = {
            (row["paper"], row["claim"]): row["verdict"]
            for row in csv.DictReader(lines)
            if not row["row"]
        }
    judged = real_claims.judged()
    assert told == {(one.paper, one.claim.id): one.verdict for one in judged}
    assert [one.claim.id for one in judged if one.verdict == ABSENT] == []


def test_verdicts_of_superseded_numbers_say_so():
    judged = {
        (one.paper, one.claim.id): real_claims.superseded(one) for one in real_claims.judged()
    }
    assert any("scored as if they had ended" in why for why in judged["deng2022", "titles_help"])
    assert any("tokens" in why for why in judged["deng2022", "titles_change_latent_ppl_more"])
    assert judged["lapata2005", "hirst_st_onge_is_highest"] == []
    assert judged["deng2022", "hsmm_nearer_than_transformer"] == []  # not measured on real text


def test_undecided_claims_say_what_their_numbers_could_find():
    row = Row("", "a < b", Estimate(0.1, -0.1, 0.3), UNDECIDED)
    # 1.96 + 0.84 standard errors of 0.2 / 1.96
    assert real_claims.smallest_effect(row, "difference") == pytest.approx(
        0.2 * 2.8016 / 1.96, 1e-3
    )
    factor = Row("", "a < b", Estimate(1.0, 0.5, 2.0), UNDECIDED)
    assert real_claims.smallest_effect(factor, "ratio") == pytest.approx(2 ** (2.8016 / 1.96), 1e-3)
    few = Row("", "a < b", Estimate(0.1, None, None, units=10), UNDECIDED)
    assert real_claims.smallest_effect(few, "difference") == pytest.approx(0.6264, 1e-3)
    for one in real_claims.judged():
        if one.verdict == UNDECIDED:
            assert "could have found" in real_claims.could_have_found(one), one.claim.id
