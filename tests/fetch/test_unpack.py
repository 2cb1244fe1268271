"""Archives: what a recipe names comes out whole, under the recipe's names, and nothing else."""

import io
import os
import tarfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.fetch import unpack as module
from marius_lite.fetch.unpack import unpack


def make(path, members):
    """An archive of (name, bytes); where the bytes are text, a symbolic link to it."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members:
                info = zipfile.ZipInfo(name)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (0o120777 if isinstance(data, str) else 0o100644) << 16
                archive.writestr(info, data)
        return path
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            if isinstance(data, str):
                info.type, info.linkname = tarfile.SYMTYPE, data
                archive.addfile(info)
            else:
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture(params=["a.zip", "a.tar.gz"])
def archive(request, tmp_path):
    return lambda *members: make(tmp_path / request.param, members)


def there(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_members_are_found_by_the_end_of_their_path(archive, tmp_path):
    path = archive(("./d/raw/t.txt", b"1"), ("d/other/t.txt", b"2"), ("__MACOSX/d/raw/._t.txt", b"3"), ("v.txt", b"4"))
    unpack(path, {"raw/t.txt": "train", "v.txt": "s/valid"}, tmp_path / "out")
    assert there(tmp_path / "out") == ["s/valid", "train"]
    assert (tmp_path / "out/train").read_bytes() == b"1"


@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_of_an_archive_leads_out_of_the_folder(data, tmp_path_factory):
    tmp = tmp_path_factory.mktemp("any")
    parts = st.sampled_from(["..", ".", "", "a", "/", "t.txt", "C:", "~"])
    names = data.draw(st.lists(st.lists(parts, min_size=1, max_size=5).map("/".join), min_size=1, max_size=5))
    path = make(tmp / "a.tar.gz", [(name + "/t.txt", b"x") for name in names])
    try:
        unpack(path, {"t.txt": "t.txt"}, tmp / "in" / "out")
    except UserError:
        assert len(names) > 1
    assert there(tmp) in (["a.tar.gz"], ["a.tar.gz", "in/out/t.txt"])


def test_links_are_no_files(archive, tmp_path):
    with pytest.raises(UserError, match=r"has no t\.txt"):
        unpack(archive(("t.txt", "/etc/hostname")), {"t.txt": "t.txt"}, tmp_path / "out")
    assert there(tmp_path / "out") == []


def test_a_missing_and_a_doubtful_member_are_told(archive, tmp_path):
    path = archive(("a/t.txt", b"1"), ("b/t.txt", b"2"))
    with pytest.raises(UserError, match=r"has a/t\.txt and b/t\.txt: which one is t\.txt\?"):
        unpack(path, {"t.txt": "t"}, tmp_path / "out")
    with pytest.raises(UserError, match=r"has no c\.txt: it is another archive"):
        unpack(path, {"a/t.txt": "t", "c.txt": "c"}, tmp_path / "out")


def test_a_bomb_is_refused_before_it_is_unpacked(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEAST_BOUND", 1000)
    monkeypatch.setattr("marius_lite.files.MOST_UNPACKED", 2)
    with pytest.raises(UserError, match="more than such an archive can hold"):
        unpack(archive(("t.txt", bytes(1 << 20))), {"t.txt": "t"}, tmp_path / "out")
    assert there(tmp_path / "out") == []


def test_a_cut_archive_leaves_no_file(archive, tmp_path):
    path = archive(("t.txt", os.urandom(50_000)))
    path.write_bytes(path.read_bytes()[:30_000])
    with pytest.raises(UserError):
        unpack(path, {"t.txt": "t"}, tmp_path / "out")
    assert "t" not in there(tmp_path / "out")


def test_what_is_there_stays(archive, tmp_path):
    path = archive(("t.txt", b"1"), ("u.txt", b"2"))
    unpack(path, {"t.txt": "t"}, tmp_path / "out")
    before = (tmp_path / "out/t").stat()
    unpack(path, {"t.txt": "t", "u.txt": "u"}, tmp_path / "out")
    assert (tmp_path / "out/t").stat() == before
    path.unlink()
    unpack(path, {"t.txt": "t", "u.txt": "u"}, tmp_path / "out")


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "a.zip").write_text("<html>")
    with pytest.raises(UserError, match="is no zip or tar archive"):
        unpack(tmp_path / "a.zip", {"t": "t"}, tmp_path / "out")
