"""Files come out of tar archives below their folder, and nothing else does."""

import io
import tarfile

from longform.files.archives import unpack
from tests.refusals import refuses


def archive(members):
    """An opened archive of (name, kind of member); a plain file holds its own name."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, kind in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = "/etc/passwd"
            content = name.encode() if kind == tarfile.REGTYPE else b""
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    packed.seek(0)
    return tarfile.open(fileobj=packed)


def test_plain_files_are_written_and_links_and_devices_are_left_out(tmp_path):
    members = [
        ("a/b.txt", tarfile.REGTYPE),
        ("c", tarfile.SYMTYPE),
        ("d", tarfile.LNKTYPE),
        ("e", tarfile.FIFOTYPE),
        ("f", tarfile.DIRTYPE),
    ]
    unpack(archive(members), tmp_path)
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == [tmp_path / "a/b.txt"]
    assert (tmp_path / "a/b.txt").read_text() == "a/b.txt"


def test_a_member_goes_where_its_name_is_placed_or_nowhere(tmp_path):
    members = [("x/1", tarfile.REGTYPE), ("y/2", tarfile.REGTYPE)]
    unpack(archive(members), tmp_path, {"x/1": "z/3"}.get)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "z/3"]
    assert (tmp_path / "z/3").read_text() == "x/1"


def test_a_file_that_would_lie_outside_is_refused(tmp_path):
    for name in ("../out", "/tmp/out", "a/../../out"):
        tar = archive([(name, tarfile.REGTYPE)])
        refuses("would lie outside", unpack, tar, tmp_path / "inside")
    assert not (tmp_path / "out").exists()
