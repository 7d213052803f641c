"""The reading guides run on whatever tables the checkout holds, and keep to showing."""

import ast
import re
import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

from experiments.site.notebooks import NotebookPage, notebook_pages
from experiments.site.source import PARTS, write_source
from notebooks.exhibits import ROOT, Exhibits

SCRIPTS = sorted(p for p in (ROOT / "notebooks").glob("*.py") if p.stem != "exhibits")
EXPLORING = [path for path in SCRIPTS if path.stem.startswith("explore_")]  # these compute
NOTEBOOKS = [path for path in SCRIPTS if path not in EXPLORING]
GUIDES = [path for path in NOTEBOOKS if path.stem != "known_truth"]
PAPERS = {"deng2022", "sheng2024", "beyer2021", "lapata2005", "massarelli2020", "matrix"}


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "notebooks")
    matplotlib.use("Agg")
    yield
    plt.close("all")


def test_every_paper_and_the_matrix_has_a_guide():
    assert {path.stem for path in GUIDES} == PAPERS


@pytest.mark.filterwarnings("ignore:.*non-interactive:UserWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_guide_runs_and_shows_what_the_checkout_holds(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    said = capsys.readouterr().out
    for table in (ROOT / "paper_figures" / path.stem).glob("*/*.md"):
        lines = [
            line
            for line in table.read_text(encoding="utf-8").splitlines()
            if not line.startswith("![")
        ]
        assert "\n".join(lines).strip() in said, f"{path.name} does not show {table}"


@pytest.mark.parametrize("path", GUIDES, ids=[path.stem for path in GUIDES])
def test_a_guide_computes_nothing_and_names_exhibits_that_a_report_makes(path):
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    assert not [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.BinOp | ast.For | ast.comprehension | ast.FunctionDef)
    ]
    assert not re.search(r"\d\.\d", "\n".join(ast.unparse(node) for node in tree.body)), (
        "numbers come from tables"
    )
    asked = set(re.findall(r'"(\w+)"', " ".join(re.findall(r"exhibits\.show\((.*)\)", source))))
    made = {name for entry in Exhibits(path.stem).reports.values() for name in entry["exhibits"]}
    assert asked and asked <= made


def test_exhibits_not_made_yet_are_named_and_unmentioned_ones_end_a_guide(tmp_path, capsys):
    (tmp_path / "experiments/p").mkdir(parents=True)
    reports = "reports: {subject: {exhibits: {t: {}}, scores: [articles/topics]}}"
    (tmp_path / "experiments/p/params.yaml").write_text(reports)
    (tmp_path / "paper_figures/p/new").mkdir(parents=True)
    (tmp_path / "paper_figures/p/new/new.md").write_text("**New**")
    (tmp_path / "paper_figures/p/new/new.csv").write_text("a,b")
    exhibits = Exhibits("p", tmp_path)
    exhibits.show("t")
    exhibits.rest()
    exhibits.scores()
    said = capsys.readouterr().out
    assert "== p/t ==\nnot made yet; dvc repro report_p_subject" in said
    assert "== p/new ==\nno report of this paper names it\n" in said
    assert "(beside it: new/new.csv)" in said and "**New**" in said
    assert "data/scores/articles/topics.json: not made yet" in said


def test_every_paper_has_a_notebook_that_asks_one_question_more():
    assert {path.stem for path in EXPLORING} == {
        f"explore_{paper}" for paper in PAPERS - {"matrix"}
    }
    page = (ROOT / "docs/notebooks.md").read_text(encoding="utf-8")
    for path in EXPLORING:
        source = path.read_text(encoding="utf-8")
        headings = re.findall(r"^# ## (.+)$", source, re.M)
        assert [heading.partition(":")[0] for heading in headings] == [
            "The main figure",
            "One question more",
        ]
        assert "read_results(" in source and source.count("plt.show()") == 1 and "print(" in source
        assert f"(../notebooks/{path.name})" in page


@pytest.mark.long
def test_notebooks_run_and_every_one_draws_and_answers():
    pages = notebook_pages(ROOT)
    assert [page.script.name for page in pages] == [path.name for path in EXPLORING]
    for page in pages:
        assert len(page.pictures) == 1
        (name,) = page.pictures
        assert f"]({name})" in page.markdown
        answer = page.markdown.split("## One question more")[1]
        assert len(re.findall(r"^    .*\d", answer, re.M)) >= 2 or "beaten by" in answer


def test_a_page_of_a_notebook_and_its_picture_stand_where_links_lead(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "README.md").write_text("# R\n")
    for whole in PARTS:
        (tmp_path / whole).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / whole).write_text("# Whole\n")
    (tmp_path / "docs/index.md").write_text("## Guide\n\n| [n](notebooks.md) | ? |\n")
    (tmp_path / "docs/notebooks.md").write_text("# N\n\n[p](../notebooks/explore_p.py)\n")
    (tmp_path / "notebooks/explore_p.py").write_text("1")
    for name in ("params.schema.json",):
        (tmp_path / name).write_text('{"$defs": {}}')
    page = NotebookPage(
        Path("notebooks/explore_p.py"), "# Ran\n\n![Ran](p_1.png)\n", {"p_1.png": b"PNG"}
    )
    write_source(tmp_path, tmp_path / "site", [page])
    linking = (tmp_path / "site/docs/notebooks.md").read_text()
    assert "(../notebooks/explore_p.md)" in linking and "\n../notebooks/explore_p\n" in linking
    assert (tmp_path / "site/notebooks/explore_p.md").read_text().startswith("# Ran")
    assert (tmp_path / "site/notebooks/p_1.png").read_bytes() == b"PNG"
