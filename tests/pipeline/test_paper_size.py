"""The papers' own sizes: what their scales and lists of files say, what the rehearsal may cut, and inputs that are broken."""

import bz2
import csv
import errno
import re
import resource
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import yaml
from repro_project import MODELS, ROOT, new_project, run, write_pipeline

from experiments.rehearse import PREFIX, SIZES, files_of, overrides
from experiments.stand_ins import BASES, BERT, connectives, gcdc, schemas, suites, summaries
from longform.core.artefacts import read_json, read_yaml
from longform.core.documents import BadInput
from longform.core.stages import main
from longform.datasets import scientific
from longform.datasets.synthetic_world.native_corpus import FORMS, dump_files
from longform.datasets.wikipedia import building
from longform.pipeline import real_files
from longform.pipeline.scale import EXTENDS, overridden, parameters, said
from longform.reporting.printed import read_expected
from tests.refusals import refuses

SCALES = sorted(p.parent.name for p in (ROOT / "experiments" / "scales").glob("*/overrides.yaml"))
PAPERS = [name for name in SCALES if name.startswith("paper_")]
HUB = {name: f"/stand/in/{number}" for number, name in enumerate([*BASES, BERT])}
COMMIT = re.compile(r"[0-9a-f]{40}")


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Values of nested mappings and lists with their paths."""
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(below, (*path, str(key)))
    else:
        yield path, value


@pytest.mark.parametrize("name", SCALES)
def test_every_target_of_a_scale_is_a_stage_and_the_claims_of_a_papers_size_are_the_papers(name):
    listed, params = read_yaml(ROOT / "dvc.yaml")["stages"], parameters(name, ROOT)["params.yaml"]
    for target in said(name, ROOT, "targets", []):
        stage, at, item = target.partition("@")
        assert stage in listed and (name not in PAPERS or bool(at) == ("foreach" in listed[stage]))
        if at:
            names = params
            for key in listed[stage]["foreach"].strip("${}").split("."):
                names = names[key]
            assert item in names
    assert name not in PAPERS or params.get("scale") == "paper"


@pytest.mark.parametrize("name", PAPERS)
def test_a_papers_list_has_every_raw_place_that_its_parameters_read_with_a_way_to_it_and_its_terms(name):
    params, listed = parameters(name, ROOT)["params.yaml"], real_files.listed(name, ROOT)["files"]
    places = {
        value.removeprefix("raw/").partition("/")[0] for _, value in leaves(params) if str(value).startswith("raw/")
    }
    found = {e["to"].partition("/")[0] for e in listed}
    assert places <= found and found <= places | {"gpt2", "gpt2_tokenizer.json"}
    for entry in listed:
        ways = [key for key in ("url", "by_hand", "hub") if key in entry]
        assert entry["terms"] and len(ways) == 1 and ("sha256" in entry or ways != ["url"])
    hubs = [e for e in [*listed, *params["models"].values()] if "hub" in e]
    for entry in hubs:
        assert COMMIT.fullmatch(entry["revision"])
        assert entry["revision"] in {e["revision"] for e in hubs if e["hub"] == entry["hub"]} and entry["hub"] in HUB
    assert len({(e["hub"], e["revision"]) for e in hubs}) == len({e["hub"] for e in hubs})


@pytest.mark.parametrize("name", PAPERS)
def test_the_rehearsal_changes_numbers_and_places_and_nothing_else(name):
    paper = parameters(name, ROOT)["params.yaml"]
    cut = overrides(name, HUB)
    assert cut[EXTENDS] == name and name in SIZES
    before, after = dict(leaves(paper)), dict(leaves(overridden(paper, cut)))
    assert before.keys() == after.keys()
    changed = {path for path in before if before[path] != after[path]}
    for path in changed:
        numbers = all(type(side[path]) in (int, float) for side in (before, after))
        assert numbers or path[-1] == "hub", f"{PREFIX}{name} changes {'.'.join(path)}"
    fake = MagicMock(**{"read_bytes.return_value": b""})  # a folder in which every file has the same content
    fake.__truediv__.return_value = fake
    kept = files_of(name, HUB, fake)["files"]
    assert [e["to"] for e in kept] == [e["to"] for e in real_files.listed(name, ROOT)["files"]]


def test_every_printed_number_has_a_target_and_a_cell_or_a_reason_why_none_compares_it():
    papers = sorted(path.parent for path in (ROOT / "experiments").glob("*/expected.yaml"))
    wanted = [(folder.name, n.table, ".".join(n.path)) for folder in papers for n in read_expected(folder).numbers]
    with (ROOT / "experiments" / "printed_numbers.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert sorted((row["paper"], row["table"], row["number"]) for row in rows) == sorted(wanted)
    for row in rows:
        none = row["compared"] == "lost" or re.fullmatch("by none: .{10,}", row["compared"])
        assert bool(none) != bool(row["target"] and row["cell"]), row


def test_a_pointer_needs_a_commit_and_a_dump_is_parsed_once_after_a_full_disk(tmp_path, monkeypatch, capsys):
    raw, folder = tmp_path / "raw", tmp_path / "offered"
    pointer = {"to": "gpt2", "name": "gpt2", "hub": "openai-community/gpt2"}
    said = "copy the one that you mean from https://huggingface.co/openai-community/gpt2"
    refuses(said, real_files.place, [pointer], raw, None)
    assert not (raw / "gpt2").exists()
    real_files.place([{**pointer, "revision": "a" * 40}], raw, None)
    assert read_json(raw / "gpt2" / "pointer.json") == {"hub": "openai-community/gpt2", "revision": "a" * 40}

    folder.mkdir()
    (folder / "wiki.xml.bz2").write_bytes(dump_files(1, 300)[next(iter(dump_files(1, 1)))])
    dump = [{"to": "wiki", "name": "wiki.xml.bz2", "by_hand": "here", "shards": True}]
    small = building.Extraction(shard_bytes=1)
    one, done = building.extract_shard, []

    def full(task):
        if len(done) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        done.append(task.shard.number)
        one(task)

    extract = building.extract
    monkeypatch.setattr(real_files, "extract", lambda path, place, workers: extract(path, place, extraction=small))
    monkeypatch.setattr(building, "extract_shard", full)
    monkeypatch.setattr(real_files, "listed", lambda scale, root: {"packages": [], "files": dump})
    monkeypatch.setattr(real_files, "parameters", lambda scale, root: {"params.yaml": {"models": {}}})
    monkeypatch.chdir(tmp_path)
    assert real_files.main(["paper_deng2022", str(folder)]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not Path("data/raw/wiki").exists()
    monkeypatch.setattr(building, "extract_shard", lambda task: (done.append(task.shard.number), one(task)))
    assert real_files.main(["paper_deng2022", str(folder)]) == 0
    assert sorted(done) == list(range(len(done))) and len(list(Path("data/raw/wiki").glob("*.jsonl"))) == len(done)
    corpora = [building.build(name=n, seed=1, raw=Path("data/raw/wiki"), filters={"min_title_count": 2}, subset=s)
               for n, s in (("wiki", None), ("wiki_short", "short"))]  # fmt: skip
    assert len(corpora[0].documents) >= len(corpora[1].documents) > 0


def test_a_dump_without_pages_and_articles_without_a_field_are_one_sentence(tmp_path):
    (tmp_path / "empty.bz2").write_bytes(bz2.compress(b"<mediawiki></mediawiki>"))
    entry = {"to": "wiki", "name": "empty.bz2", "by_hand": "here", "shards": True}
    refuses("no article in it", real_files.place, [entry], tmp_path / "raw", tmp_path)
    (tmp_path / "pubmed").mkdir()
    for name, content in FORMS["pubmed"][0](1, 8).items():
        (tmp_path / "pubmed" / name).write_bytes(content.replace(b'"section_names"', b'"names"'))
    with pytest.raises(BadInput, match=r"no article left .*malformed record") as raised:
        scientific.build(name="pubmed", seed=1, raw=tmp_path / "pubmed")
    assert "\n" not in str(raised.value)


BROKEN = {  # place, what is read, its name in the message, the good files, and what breaks one of them
    "GCDC without a column": ("articles", "text_files.gcdc", {}, gcdc()["enron/enron_train.csv"], "enron_train.csv", ",labelA", ""),
    "SummEval without marks": ("articles", "text_files.summeval", {}, summaries()["M0_annotations.jsonl"], "M0_annotations.jsonl", '"expert_annotations"', '"experts"'),
    "Story Cloze without a column": ("probes", "test_suites/native.py", {"sources": {"stories": "cloze.tsv"}}, suites()["cloze_test.tsv"], "cloze.tsv", "AnswerRightEnding", "Answer"),
    "a schema without candidates": ("probes", "test_suites/native.py", {"sources": {"schemas": "wsc.jsonl"}}, schemas(), "wsc.jsonl", '"candidates"', '"names"'),
    "a use of three columns": ("probes", "test_suites/native.py", {"sources": {"connectives": "uses.tsv"}}, connectives(), "uses.tsv", "\tconcession\t", "\t"),
    "statements that are no list": ("probes", "test_suites/native.py", {"sources": {"statements": "nli.jsonl"}}, suites()["dialogue_nli.jsonl"], "nli.jsonl", "[", "{"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_of_a_user_is_one_sentence_that_names_it_and_what_is_finished_stays(case, tmp_path, capfd):
    study, dataset, settings, good, name, old, new = BROKEN[case]
    entries = {}
    for entry, content in (("whole", good), ("broken", good.replace(old, new, 1))):
        (tmp_path / "data" / "raw" / entry).mkdir(parents=True)
        (tmp_path / "data" / "raw" / entry / name).write_text(content, encoding="utf-8")
        entries[entry] = {"study": study, "dataset": dataset, "source": f"raw/{entry}", **settings}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"seed": 1, "corpora_from_files": entries}))
    assert main(["corpus", "whole", "--home", str(tmp_path)]) == 0
    made = {p: p.read_bytes() for p in (tmp_path / "data" / "corpora").rglob("*") if p.is_file()}
    capfd.readouterr()
    assert main(["corpus", "broken", "--home", str(tmp_path)]) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1 and name in told and "Traceback" not in told
    assert made and {p: p.read_bytes() for p in (tmp_path / "data" / "corpora").rglob("*") if p.is_file()} == made


def test_a_full_disk_while_files_are_put_in_place_is_one_sentence_and_the_next_run_puts_the_rest(tmp_path):
    files = [{"to": name, "name": name, "by_hand": "here", "terms": "none"} for name in ("small.txt", "large.tgz", "last.txt")]  # fmt: skip
    place, offered = tmp_path / "experiments" / "scales" / "paper", tmp_path / "offered"
    for folder in (place, offered):
        folder.mkdir(parents=True)
    (place / "data.yaml").write_text(yaml.safe_dump({"packages": [], "files": files}))
    (place / "overrides.yaml").write_text("{}")
    (tmp_path / "params.yaml").write_text("models: {}")
    (offered / "small.txt").write_text("small")
    (offered / "last.txt").write_text("last")
    (tmp_path / "content.txt").write_bytes(b"x" * 100_000)
    with tarfile.open(offered / "large.tgz", "w:gz") as archive:
        archive.add(tmp_path / "content.txt", "content.txt")
    command = (
        f"cd {tmp_path} && PYTHONPATH={ROOT / 'src'} {sys.executable} -m longform.pipeline.real_files paper offered"
    )

    def placed(limit: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", limit + command], capture_output=True, text=True)

    full = placed("ulimit -f 50; ")  # no file beyond 50 kB: the disk of this process is full
    assert full.returncode == 2 and full.stderr.count("\n") == 1 and "File too large" in full.stderr
    raw = tmp_path / "data" / "raw"
    assert [path.name for path in raw.iterdir()] == ["small.txt"]
    again = placed("")
    assert again.returncode == 0 and again.stdout.split() == ["data/raw/large.tgz", "data/raw/last.txt"]
    assert (raw / "large.tgz" / "content.txt").stat().st_size == 100_000


def test_a_full_disk_while_a_stage_writes_costs_that_stage_and_those_that_need_it(tmp_path, monkeypatch):
    project = new_project(tmp_path / "project", monkeypatch)
    large = {"n": "2 && head -c 2000000 /dev/zero > out_b #"}
    write_pipeline(project, models=MODELS | {"b": large})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))  # no file beyond it, as on a full disk
    try:
        counts, said, _ = run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert counts == {"run": 4, "failed": 1, "skipped": 2}
    (failed,) = [line for line in said if line.startswith("FAILED")]
    assert failed.startswith("FAILED train@b") and "File size limit exceeded" in failed and "\n" not in failed
    counts, _, started = run()
    assert started == ["train@b", "read@b", "report"] and counts == {"run": 3, "unchanged": 4}
