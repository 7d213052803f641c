"""The documentation speaks of what exists: files, folders, stages, modules, commands; the README shows the tables that the default run wrote."""

import csv
import io
import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from experiments.readme import MARK, fill, pages
from experiments.site.source import repository_pages
from longform.cli import main
from longform.examples import machine_articles
from longform.files.artefacts import read_json, read_yaml
from longform_lab.experiment import Experiment
from longform_lab.stages import STAGES

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path.relative_to(ROOT)
    for pattern in (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/**/*.md",
        "data/**/*.md",
        "experiments/**/*.md",
        "benchmarks/*.md",
    )
    for path in ROOT.glob(pattern)
)
MADE = (
    "data/",
    "paper_figures/",
    "scales/",
    "scratch/",
    "criticism/",
)  # of runs, and of some machines alone
TOP = ("src", "docs", "experiments", "tests", "benchmarks", "notebooks")
PACKAGES = ("longform", "longform_lab", "synthetic_world")
SOURCE = ("files", "statistics", "text", "datasets", "language_models", "hsmm", "decoding", "critics", "evaluation", "criticize",
          *PACKAGES)  # fmt: skip
CRITIC = "word_recurrence"  # of the example
EXAMPLES = ("mine", "letters")  # a study and a corpus that pages make up


@cache
def stage_names() -> frozenset[str]:
    return frozenset(read_yaml(ROOT / "dvc.yaml")["stages"])


def test_files_that_a_page_names_or_links_to_exist():
    assert len(PAGES) > 100
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert target.startswith(MADE) or (ROOT / page.parent / target).exists(), (
                f"{page} links to {target}"
            )
        for place in re.findall(
            r"(?<![\w/.-])((?:\w+/)+[\w.-]*\w/?)(?![\w*<{])", re.sub(r"https?://\S+", "", text)
        ):
            if place.startswith(MADE) or CRITIC in place or "mine" in place:
                continue
            top = place.split("/")[0]
            if top in TOP:
                assert (ROOT / place).exists(), f"{page} names {place}"
            elif top in SOURCE and re.search(r"(/|\.(py|yaml|md|json))$", place):
                folders = (ROOT / "src" / "longform", ROOT / "src", ROOT / page.parent)
                assert any((folder / place).exists() for folder in folders), f"{page} names {place}"


@cache
def folders_of_the_default_run() -> frozenset[Path]:
    """Corpora, and what each system's network and texts lie in."""
    experiment = Experiment(ROOT)
    folders = {
        Path("data/corpora", entry["study"], name)
        for name, entry in experiment.params["corpora"].items()
    }
    for study, settings in experiment.params.items():
        for corpus in (
            settings.get("corpora", ())
            if isinstance(settings, dict) and "models" in settings
            else ()
        ):
            for system in experiment.systems(study, corpus):
                folders |= {Path("data", system.texts), Path("data", system.checkpoint)}
    return frozenset(folders)


def test_folders_of_a_run_that_a_page_names_are_written_by_it():
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for place in re.findall(r"\bdata/(?:corpora|generations|models)/[\w/]+\w", text):
            named = Path(place)
            known = folders_of_the_default_run()
            if not any(name in place for name in EXAMPLES):
                assert known & {named, *named.parents}, (
                    f"{page} names {place}, which the default run does not write"
                )


def test_programs_that_a_page_runs_exist_and_import_what_exists():
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        families = "|".join(sorted({name.split("_")[0] for name in stage_names() if "_" in name}))
        for name in re.findall(rf"\b((?:{families})_\w+)@", text) + re.findall(
            r"\b(report_\w+)", text
        ):
            assert name in stage_names(), f"{page} names the stage {name}"
        for line in re.findall(r"dvc repro ((?:[\w@<>-]+ ?)+)", text):
            for name in (word for word in line.split() if re.match(r"\w+_\w+", word)):
                assert name.partition("@")[0] in stage_names(), f"{page} runs the stage {name}"
        for stage in re.findall(r"python -m longform_lab ([a-z_]+)", text):
            assert stage in STAGES, f"{page} runs {stage}"
        for module in re.findall(rf"python -m ((?:{'|'.join(PACKAGES)})(?:\.\w+)*)", text):
            place = ROOT / "src" / module.replace(".", "/")
            assert place.is_dir() or place.with_suffix(".py").is_file(), f"{page} runs {module}"
        for before, program in re.findall(
            r"(\S*) ?python ((?:experiments|benchmarks)/[\w/]+\.py)", text
        ):
            if re.search(
                r"^from (experiments|benchmarks)\.",
                (ROOT / program).read_text(encoding="utf-8"),
                re.M,
            ):
                assert before.endswith("PYTHONPATH=src:."), (
                    f"{page}: {program} imports from the repository's root"
                )


def test_the_index_names_every_page():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    names = [
        page.name for folder in ("docs", "docs/results") for page in (ROOT / folder).glob("*.md")
    ]
    assert [name for name in names if name not in index] == ["index.md"]


def test_every_scale_has_a_line_in_the_table_of_scales():
    text = (ROOT / "experiments/README.md").read_text(encoding="utf-8")
    scales = [path.parent.name for path in (ROOT / "experiments/scales").glob("*/overrides.yaml")]
    told = [
        name for name in scales if not name.startswith("paper_")
    ]  # those have a page of their own
    assert told and [name for name in told if f"scales/{name}/overrides.yaml" not in text] == []


def test_pages_show_tables_and_the_readme_names_make_targets_that_exist():
    readme, makefile = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile")
    )
    shown = set()
    for page in pages(ROOT):
        text = page.read_text(encoding="utf-8")
        shown |= {mark["place"] for mark in re.finditer(MARK, text)}
    assert {"deng2022/table_1", "deng2022/table_2", "ledger"} <= shown
    for target in re.findall(r"^make (\w+)", readme, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_committed_readme_tables_are_the_ones_that_the_committed_run_wrote(tmp_path):
    """A run on another processor, or an edit of the README, changes the working tree and leaves both as committed."""
    archive = ["git", "archive", "HEAD", "README.md", "docs/results", "experiments/scales"]
    archive.append("paper_figures/*.md")
    try:
        committed = subprocess.run(archive, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a git checkout whose last commit holds the README and tables ({error})")
    subprocess.run(["tar", "-x", "-C", str(tmp_path)], input=committed, check=True)
    for page in pages(tmp_path):
        text = page.read_text(encoding="utf-8")
        assert fill(text, tmp_path) == text, f"{page.name}: python experiments/readme.py"


def test_the_readme_has_at_most_900_words_and_a_result_page_800():
    for page in pages(ROOT):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        assert len(text.split()) <= (900 if page.name == "README.md" else 800), page.name


def prose(text):
    """Words outside code, tables, generated blocks and the addresses of links."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = re.sub(r"<!-- .*?-->\n.*?<!-- end -->", "", text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("|")]
    return [word for line in lines for word in line.split() if re.search(r"\w", word)]


def test_no_page_of_the_site_has_more_than_800_words_of_prose():
    """But pages that programs write from records: figures, tables, reference, and these."""
    written_by_programs = {Path("experiments/real_claims.md")}
    site_pages = set(repository_pages(ROOT))
    assert len(site_pages) > 150 and written_by_programs < site_pages
    too_long = {}
    for page in site_pages - written_by_programs:
        words = len(prose((ROOT / page).read_text(encoding="utf-8")))
        if words > 800:
            too_long[str(page)] = words
    assert too_long == {}


def test_headings_that_links_lead_to_exist():
    checked = 0
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", text):
            place = (ROOT / page).parent / target if target else ROOT / page
            if place.suffix == ".md":
                headings = re.findall(r"^#+ (.+)$", place.read_text(encoding="utf-8"), re.M)
                anchors = {
                    re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in headings
                }
                assert anchor in anchors, f"{page}: {target}#{anchor}"
                checked += 1
    assert checked >= 15


def test_no_program_hides_a_package_of_ours_by_its_name():
    """``python folder/synthetic_world.py`` puts its folder first, and imports itself for the package."""
    programs = [path for top in TOP[1:] for path in (ROOT / top).rglob("*.py")]
    assert len(programs) > 100
    assert [path.name for path in programs if path.stem in PACKAGES] == []


def test_a_mark_may_name_a_scale_and_the_rows_to_show(tmp_path):
    for root, value in (("", 1), ("experiments/scales/s", 2)):
        folder = tmp_path / root / "paper_figures/p/t"
        folder.mkdir(parents=True)
        table = f"**T**\n\n| | x |\n|---|---|\n| wiki a | {value} |\n| arxiv | 2 |\n\n- finding\n"
        (folder / "t.md").write_text(table)
    whole, part = (f"<!-- {head} -->\nold\n<!-- end -->" for head in ("p/t", "s:p/t wiki"))
    assert "finding" in fill(whole, tmp_path) and "| wiki a | 1 |\n| arxiv" in fill(whole, tmp_path)
    assert (
        fill(part, tmp_path)
        == "<!-- s:p/t wiki -->\n**T**\n\n| | x |\n|---|---|\n| wiki a | 2 |\n<!-- end -->"
    )


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def test_the_readmes_command_and_snippet_print_what_it_shows(tmp_path, monkeypatch, capsys):
    """Up to the last digits, which another processor may round otherwise."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table, printed = blocks(readme, "text")
    commands = [line for line in blocks(readme, "sh")[0].splitlines() if "longform" in line]
    monkeypatch.chdir(tmp_path)
    for command in commands:
        words = command.partition("#")[0].split()
        assert words[0] == "longform" and main(words[1:]) == 0
        if words[1] == "criticize":
            break
    shown = capsys.readouterr().out
    for line in table.splitlines()[2:-1]:
        own = next(row for row in shown.splitlines() if row.startswith(line.split(" | ")[0]))
        assert numbers(own) == pytest.approx(numbers(line), rel=0.02)
    exec(blocks(readme, "python")[0], {})
    assert numbers(capsys.readouterr().out) == pytest.approx(numbers(printed), abs=0.02)


def test_the_page_of_one_critic_runs_and_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "one_critic.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for command in blocks(page, "sh")[0].splitlines():
        assert main(command.partition("#")[0].split()[1:]) == 0
    snippets = blocks(page, "python")
    namespace = {}
    capsys.readouterr()
    exec(snippets[0], namespace)
    printed, shown = numbers(capsys.readouterr().out), numbers(blocks(page, "text")[0])
    assert len(shown) == 7 and printed == pytest.approx(shown, abs=0.005)
    for snippet in snippets[1:]:
        exec(snippet, namespace)
    worst, identity = capsys.readouterr().out.splitlines()
    assert "['The miller sold the mill.']" in worst and identity.startswith(
        "SectionOrder(delta=1.0"
    )
    assert list(namespace["frame"].columns) == ["text", "value", "start", "end"]


def test_the_commands_on_ones_own_texts_take_every_form_of_texts(tmp_path, monkeypatch, capsys):
    """The page's names stand for files here: JSON lines, a column, a folder, standard input."""
    monkeypatch.chdir(tmp_path)
    assert main(["examples", "texts"]) == 0
    stories = [article.text[:500] for article in machine_articles()]
    with Path("stories.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["story"], *([story] for story in stories[:6])])
    Path("folder").mkdir()
    for number, story in enumerate(stories[6:12]):
        Path(f"folder/{number}.txt").write_text(story)
    places = {
        "REAL": "texts/real.jsonl",
        "SYSTEM_A": "stories.csv:story",
        "SYSTEM_B": "folder",
        "SYSTEM_C": "-",
    }
    page = (ROOT / "docs" / "judge_your_texts.md").read_text(encoding="utf-8")
    commands = [line.partition("#")[0].strip() for line in blocks(page, "sh")[0].splitlines()]
    several = [command for command in commands if "REAL" in command]
    assert len(several) == 3
    for command in several:
        lines = b"".join(json.dumps({"text": story}).encode() + b"\n" for story in stories[12:18])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
        for name, place in places.items():
            command = command.replace(name, place)
        plan = [*command.split()[1:], "--model", "none", "--encoder", "none", "--plan"]
        capsys.readouterr()
        assert main(plan) == 0
        shown = capsys.readouterr().out
        assert "entity grid" in shown and "stories" in shown and "folder" in shown


def test_the_page_on_sentences_has_the_measured_numbers():
    measured = read_json(ROOT / "benchmarks/measured/sentences.json")
    text = (ROOT / "docs/sentences.md").read_text(encoding="utf-8")
    paragraphs, running = text.split("Whole documents whose paragraphs are not marked:")
    for part, kind in ((paragraphs, "paragraphs"), (running, "running")):
        rows = re.findall(r"^\| \*{0,2}([\w ]+?)\*{0,2}(?: \([\d.]+\))? \| (\d.*) \|$", part, re.M)
        assert {name for name, _ in rows} == measured[kind].keys()
        for name, cells in rows:
            scores = measured[kind][name]
            values = [*scores["sentences"].values(), scores["pooled"]]
            assert [float(cell) for cell in cells.split(" | ")] == pytest.approx(
                [100 * value for value in values], abs=0.0501
            )


def test_the_readmes_scoreboard_is_that_of_the_page_of_scoreboards():
    page = (ROOT / "docs/scoreboards.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = {"synthetic text": "| `three_seeds` | 71 |", "real text": "| all of real text"}
    rows["the papers' size"] = "| `table_1` | 71 |"
    for name, begin in rows.items():
        line = next(row for row in page.splitlines() if row.startswith(begin))
        claims, holds, against, undecided, unmeasured, untestable, *_ = [
            int(cell) if cell.strip() else 0 for cell in line.split("|")[2:-2]
        ]
        own = next(row for row in readme.splitlines() if row.startswith(f"| {name}"))
        shown = [int(cell) for cell in own.split("|")[2:-1]]
        assert shown == [claims, holds, against, undecided, unmeasured + untestable], name
