"""Which files a scale's folder takes from the working tree, keeps and loses."""

import os
from pathlib import Path

import pytest

from longform_lab import scale
from longform_lab.scale_overrides import TARGETS


@pytest.fixture
def trees(tmp_path, monkeypatch):
    """A root and a folder whose tracked files are those that are there, and one that git alone knows."""
    root, folder = tmp_path / "root", tmp_path / "folder"
    gone = {root: {Path("gone.py")}, folder: {Path("lost.py")}}

    def tracked(tree):
        files = {path.relative_to(tree) for path in tree.rglob("*") if path.is_file()}
        return {path for path in files if path.parts[0] != ".git"} | gone[tree]

    monkeypatch.setattr(scale, "tracked_files", tracked)
    for tree in (root, folder):
        tree.mkdir()
    return root, folder


def put(tree, **files):
    for name, text in files.items():
        path = tree / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1000, 1000))


def names(tree):
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}


def test_a_new_folder_gets_what_git_knows_and_nothing_built(trees):
    root, folder = trees
    put(root, a_py="1", src__b_py="2", params="3", scales__x="4", data__scores__y="5", data__z="6")
    put(folder, mine="own")
    scale._copy_tree(root, folder, excluded={"params"})
    assert names(folder) == {"a.py", "src/b.py", "data/z", "mine"}  # without git nothing is removed
    assert (folder / "a.py").stat().st_mtime == 1000


def test_equal_files_keep_their_time_and_others_are_replaced(trees):
    root, folder = trees
    put(root, a_py="1", b_py="new")
    put(folder, a_py="1", b_py="old")
    os.utime(folder / "a.py", (5, 5))
    os.utime(folder / "b.py", (5, 5))
    scale._copy_tree(root, folder, excluded=set())
    assert (folder / "a.py").stat().st_mtime == 5
    assert (folder / "b.py").read_text() == "new" and (folder / "b.py").stat().st_mtime == 1000


def test_files_that_went_are_removed_but_what_the_scale_made(trees):
    root, folder = trees
    put(root, a_py="1")
    made = {"scales__x": "", "data__plots__p": "", TARGETS: "", scale.MADE_FROM: ""}
    put(folder, a_py="1", old_py="2", src__old_py="3", **made)
    (folder / ".git").mkdir()
    scale._copy_tree(root, folder, excluded=set())
    assert names(folder) == {"a.py", "scales/x", "data/plots/p", TARGETS, scale.MADE_FROM}


def test_a_text_is_written_where_it_differs(tmp_path):
    path = tmp_path / "a" / "b"
    scale._write_if_changed(path, "1")
    os.utime(path, (5, 5))
    scale._write_if_changed(path, "1")
    assert path.stat().st_mtime == 5
    scale._write_if_changed(path, "2")
    assert path.read_text() == "2" and path.stat().st_mtime != 5
