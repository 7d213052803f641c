"""A damaged file of DVC's cache is found, named and, where that is wished, removed."""

import shutil

import pytest
from dvc.repo import Repo
from repro_project import new_project, run

from longform_lab.verify_cache import main


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = new_project(tmp_path / "project", monkeypatch)
    run()
    return folder / ".dvc" / "cache"


def test_a_sound_cache_has_no_damaged_file(cache, capsys):
    with Repo() as repo:
        held = list(repo.cache.local.all())
    assert main([]) == 0
    assert capsys.readouterr().out == f"{len(held)} files, 0 damaged\n"


@pytest.mark.parametrize("name", [pytest.param("out_a", marks=pytest.mark.long), "folder_a"])
def test_a_damaged_file_or_folder_is_named_and_its_stage_runs_again(cache, capsys, name):
    with Repo() as repo:
        (out,) = [out for stage in repo.index.stages for out in stage.outs if out.def_path == name]
    held = cache / "files" / "md5" / out.hash_info.value[:2] / out.hash_info.value[2:]
    held.chmod(0o644)
    content = bytearray(held.read_bytes())
    content[0] ^= 1
    held.write_bytes(content)
    assert main([]) == 1 and held.exists()
    assert f"damaged: {held.relative_to(cache.parents[1])}\n" in capsys.readouterr().out
    assert main(["--remove"]) == 1 and not held.exists()
    assert "damaged, removed: " in capsys.readouterr().out and main([]) == 0
    shutil.rmtree(cache.parents[1] / name) if name == "folder_a" else (
        cache.parents[1] / name
    ).unlink()
    shutil.rmtree(cache / "runs")
    assert run()[0]["run"] >= 1 and main([]) == 0


def test_a_cache_that_is_not_there_is_one_sentence(tmp_path, capsys):
    assert main([str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.endswith("no such folder; name DVC's cache\n")
