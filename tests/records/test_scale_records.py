"""What git keeps of a scale: one packed file of records, exhibits once; and what one command restores from history."""

import json
import lzma
import subprocess

import pytest

from experiments import restore
from longform.files.opening import rows
from longform_lab.scale_records import (
    COLUMNS,
    raw_scale_records,
    scale_results,
    write_scale_records,
)
from longform_lab.scale_results import (
    copy_exhibits,
    drop_pictures_of_html,
    drop_unmeasured,
    drop_unmeasured_claims,
    leave_pictures_to_the_default_run,
    pack,
)
from tests.refusals import refuses

SCORE = {"critic": "c", "metric": "latent_ppl", "titles": True, "seed": 0, "value": 0.1, "reference": 0.25,
         "difference": -0.15, "paired": False, "units": 30, "task": "a, \"b\"\nc"}  # fmt: skip
DETAILS = {
    "spread": 0.1234567894,
    "pairs": {"a": [2.00000000004]},
    "totals": {"correct": 3.0},
    "transitions": [["a", "b", 2.0, 0.123456]],
}
FLAT = {"critic": "d", "metric": "distance", "value": float("inf")}


def scores(folder):
    files = {
        "articles/one": [{**SCORE, "details": DETAILS}],
        "suites/two": [{**FLAT, "value": "inf"}],
    }
    for name, records in files.items():
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(records))
    return folder


def test_packed_records_are_those_of_the_score_files_by_file(tmp_path):
    packed = tmp_path / "records.csv.xz"
    write_scale_records(scores(tmp_path / "scores"), packed)
    assert b"\r" not in lzma.decompress(packed.read_bytes())
    kept = {"spread": 0.123456789, "pairs": {"a": [2.0]}, "transitions": [["a", "b", 2, 0.123]]}
    assert raw_scale_records(packed) == {
        "articles/one": [{**SCORE, "details": kept}],
        "suites/two": [FLAT],
    }
    results = scale_results(packed)
    assert results.one(titles=True).task == SCORE["task"] and results.one(
        critic="d"
    ).value == float("inf")
    assert [record.critic for record in scale_results(packed, "suites/two")] == ["d"]
    refuses("no score file 'three'", scale_results, packed, "three")


def test_a_packed_difference_is_that_of_the_rounded_numbers(tmp_path):
    numbers = {"value": 112.298765432, "reference": 2.092234567, "difference": 110.206530865}
    (tmp_path / "one.json").write_text(json.dumps([{**FLAT, **numbers}]))
    write_scale_records(tmp_path, tmp_path / "records.csv.xz")
    (record,) = scale_results(tmp_path / "records.csv.xz")  # reading compares the three
    assert (record.value, record.reference) == (112.298765, 2.09223457)
    assert record.difference == 110.20653043


def test_equal_records_give_equal_packed_bytes(tmp_path):
    folder = scores(tmp_path / "scores")
    for name in ("a.xz", "b.xz"):
        write_scale_records(folder, tmp_path / name)
    assert (tmp_path / "a.xz").read_bytes() == (tmp_path / "b.xz").read_bytes()


def test_a_damaged_file_of_records_is_named_with_its_line(tmp_path):
    packed = tmp_path / "records.csv.xz"
    refuses("No such file", raw_scale_records, packed)
    packed.write_bytes(lzma.compress(b"a,b\n"))
    refuses("lacks", raw_scale_records, packed)
    row = ",".join("much" if name == "value" else "" for name in COLUMNS)
    packed.write_bytes(lzma.compress(f"{','.join(COLUMNS)}\n{row}\n".encode()))
    refuses("records.csv.xz:2: could not convert", raw_scale_records, packed)
    packed.write_bytes(lzma.compress(f"{','.join(COLUMNS)}\n{row.replace('much', '1')}\n".encode()))
    refuses("records.csv.xz:2: the record lacks", raw_scale_records, packed)


def exhibit(figures, name, **files):
    for file, text in files.items():
        path = figures / "paper" / name / file.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    (root / "README.md").write_text("x")
    commit(root)
    return root


def commit(root):
    config = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "--all"), (*config, "commit", "-qm", "m", "--no-verify")):
        subprocess.run(["git", *words], cwd=root, check=True)
    said = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return said.stdout.strip()


def test_a_drawing_that_stands_as_html_is_not_kept_as_a_picture_too(tmp_path):
    for name in ("page.html", "page.png", "other.png"):
        (tmp_path / name).write_text("")
    start, end = "- page: [HTML](page.html)\n\n", "![other](other.png)\n"
    (tmp_path / "figure.md").write_text(f"{start}![page](page.png)\n\n{end}")
    drop_pictures_of_html(tmp_path)
    assert names(tmp_path) == {"page.html", "other.png", "figure.md"}
    assert (tmp_path / "figure.md").read_text() == start + end


def test_a_scale_keeps_what_pages_show_and_no_second_copy(repository):
    run, home = repository / "run", repository / "experiments" / "scales" / "s" / "paper_figures"
    exhibit(repository / "paper_figures", "same", same__md="**T**\n", same__png="p", same__csv="1")
    exhibit(run, "same", same__md="**T**\n", same__png="p", same__csv="2")
    exhibit(
        run, "new", new__md="**N**\n", new__pdf="x", new__csv="1", new__png="q", sheet__jsonl="{}"
    )
    exhibit(run, "files", one__jsonl="{}")
    copy_exhibits(repository, run, home)
    assert names(home) == {"paper/same/same.md", "paper/new/new.md", "paper/new/new.png"}
    text = (home / "paper" / "same" / "same.md").read_text()
    link = "../../../../../../paper_figures/paper/same/same.md"
    assert text.startswith(f"The same files as [same of the default run]({link}) at commit ")
    assert (
        home / "paper" / "same" / link
    ).resolve() == repository / "paper_figures" / "paper" / "same" / "same.md"


def test_a_link_to_another_systems_sheet_is_no_difference_and_not_kept(repository):
    run, home = repository / "run", repository / "experiments" / "scales" / "s" / "paper_figures"
    exhibit(repository / "paper_figures", "same", same__md="**T**\n")
    also = "\nHere: A. Also: [B (LM2)](b/same.md), [C](c/same.md).\n"
    exhibit(run, "same", same__md=f"**T**\n{also}")
    exhibit(run, "new", new__md=f"**N**\nHere: no end. Also: this\n{also}")
    copy_exhibits(repository, run, home)
    assert (home / "paper" / "same" / "same.md").read_text().startswith("The same files as [same")
    new = (home / "paper" / "new" / "new.md").read_text()
    assert new == "**N**\nHere: no end. Also: this\n"


def test_pictures_that_are_not_named_are_left_to_the_default_run(repository):
    home = repository / "experiments" / "scales" / "s" / "paper_figures"
    for name in ("left", "kept"):
        exhibit(repository / "paper_figures", name, **{f"{name}__md": "", f"{name}__png": "old"})
    left = "![left](left.png)\n\n**T**\n\n[More](more.md)\n\n[Most](most.md)\n"
    more = {"left__png": "new", "more__md": "m", "most__md": "m", "left__csv": "1"}
    exhibit(home, "left", left__md=left, **more)
    for name in ("kept", "own"):
        exhibit(home, name, **{f"{name}__md": f"![p]({name}.png)\n", f"{name}__png": "new"})
    leave_pictures_to_the_default_run(repository, home, ["kept"])
    assert names(home) == {
        *("paper/left/left.md", "paper/left/left.csv"),
        *("paper/kept/kept.md", "paper/kept/kept.png", "paper/own/own.md", "paper/own/own.png"),
    }
    link = "../../../../../../paper_figures/paper/left/left.png"
    assert (home / "paper" / "left" / "left.md").read_text() == (
        f"Like [left.png of the default run]({link}); `make scale SCALE=s` makes it.\n\n**T**\n"
    )
    assert (home / "paper" / "kept" / "kept.md").read_text() == "![p](kept.png)\n"


def test_a_ledger_in_git_has_the_numbers_that_its_run_measured(tmp_path):
    ledger = tmp_path / "ledger.csv"
    for unmeasured in ("b,2,\n", ""):
        ledger.write_text("number,printed,ours\na,1,0.9\n" + unmeasured)
        drop_unmeasured(ledger)
        assert ledger.read_bytes() == b"number,printed,ours\na,1,0.9\n"
    ledger.write_text("number,printed,ours\n")
    drop_unmeasured(ledger)
    assert ledger.read_bytes() == b"number,printed,ours\n"


def test_a_packed_ledger_is_read_as_the_table_that_it_was(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_text("number,ours\na,0.9\n")
    pack(path)
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.csv.xz"]
    assert rows(tmp_path / "ledger.csv.xz", ("number",)) == [{"number": "a", "ours": "0.9"}]


def test_claims_in_git_are_those_that_their_run_judged(tmp_path):
    ledger = tmp_path / "claims.csv"
    judged = "p,a,,holds,says\np,a,r,holds,\np,c,,not testable here,\n"
    ledger.write_text(
        "paper,claim,row,verdict,says\np,b,,not measured here,\np,b,r,not measured here,why\n"
        f'{judged}q,a,,not measured here,"x,y"\n'
    )
    drop_unmeasured_claims(ledger)
    assert ledger.read_text() == f"paper,claim,row,verdict,says\n{judged}"
    ledger.write_text("paper,claim,row,verdict\np,b,,not measured here\n")
    drop_unmeasured_claims(ledger)
    assert ledger.read_text() == "paper,claim,row,verdict\n"


def test_full_records_of_a_scale_come_back_from_history(repository, tmp_path, monkeypatch, capsys):
    home = repository / "experiments" / "scales" / "s"
    scores(home / "data" / "scores")
    exhibit(home / "paper_figures", "t", t__md="**T**\n", t__pdf="x")
    (home / "overrides.yaml").write_text("{}")
    full = commit(repository)
    before = (home / "data" / "scores" / "articles" / "one.json").read_text()
    subprocess.run(["git", "rm", "-rq", "experiments"], cwd=repository, check=True)
    now = commit(repository)
    monkeypatch.setattr(restore, "ROOT", repository)
    out = tmp_path / "out"
    assert restore.main(["s", "--commit", full, "--out", str(out)]) == 0
    assert names(out) == {"data/scores/articles/one.json", "data/scores/suites/two.json",
                          "paper_figures/paper/t/t.md", "paper_figures/paper/t/t.pdf"}  # fmt: skip
    assert (out / "data" / "scores" / "articles" / "one.json").read_text() == before
    assert restore.main(["s", "--commit", full, "--out", str(out)]) == 2
    assert restore.main(["s", "--commit", now, "--out", str(tmp_path / "other")]) == 2
    assert restore.main(["s", "--commit", "0" * 40, "--out", str(tmp_path / "other")]) == 2
    said = capsys.readouterr().err
    assert "is there already" in said and "has no full records" in said and "--unshallow" in said


def test_names_of_other_scripts_stay_readable_in_a_small_file(tmp_path, monkeypatch):
    plain, presets = lzma.compress, []

    def compress(content, preset):
        presets.append(preset)
        return plain(content, preset=0)

    monkeypatch.setattr(lzma, "compress", compress)
    record = {"critic": "c", "metric": "ngram_attribution", "details": {"rare": [["Málaga", "村"]]}}
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "a.json").write_text(json.dumps([record]), encoding="utf-8")
    packed = tmp_path / "records.csv.xz"
    write_scale_records(tmp_path / "scores", packed)
    assert '[[""Málaga"",""村""]]' in lzma.decompress(packed.read_bytes()).decode()
    assert presets == [9 | lzma.PRESET_EXTREME]


def test_names_of_other_scripts_stay_readable_in_a_packed_file(tmp_path):
    record = {"critic": "c", "metric": "ngram_attribution", "details": {"rare": [["Málaga", "村"]]}}
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "a.json").write_text(json.dumps([record]), encoding="utf-8")
    packed = tmp_path / "records.csv.xz"
    write_scale_records(tmp_path / "scores", packed)
    assert '[[""Málaga"",""村""]]' in lzma.decompress(packed.read_bytes()).decode()
