"""Files of this machine in place of a download."""

import hashlib
import shutil
import zipfile
from pathlib import Path

import pytest

from marius_lite.errors import UserError
from marius_lite.fetch.local import take
from marius_lite.fetch.recipe import Recipe

CONTENT = {"a.txt": b"1\t2\n", "b.txt": b"3\t4\n"}


def recipe(*names, **of_first):
    files = [{"name": name, "urls": ["http://h.example/x"]} for name in names]
    files[0] |= of_first
    given = {"edges": [names[0]]}
    about = {"name": "toy", "about": "a toy", "home": "http://h.example", "licence": {"name": "none"}, "preset": "kg"}
    return Recipe(**about, files=files, preprocess=given, counts={})


@pytest.fixture
def folder(tmp_path):
    for name, data in CONTENT.items():
        (tmp_path / "given").mkdir(exist_ok=True)
        (tmp_path / "given" / name).write_bytes(data)
    (tmp_path / "raw").mkdir()
    return tmp_path / "given"


def taken(recipe, given, folder):
    return {path.name: path.read_bytes() for path in take(recipe, given, folder.parent / "raw")}


def test_a_folder_a_file_and_an_archive_give_the_same(folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "g.zip", "w") as archive:
        for name, data in CONTENT.items():
            archive.writestr(f"some/where/{name}", data)
    assert taken(recipe("a.txt", "b.txt"), folder, folder) == CONTENT
    assert taken(recipe("a.txt", "b.txt"), tmp_path / "g.zip", folder) == CONTENT
    assert taken(recipe("a.txt"), folder / "b.txt", folder) == {"a.txt": CONTENT["b.txt"]}
    assert taken(recipe("a.txt"), tmp_path / "g.zip", folder) == {"a.txt": CONTENT["a.txt"]}
    assert taken(recipe("a.txt"), tmp_path / "raw/a.txt", folder) == {"a.txt": CONTENT["a.txt"]}


def test_links_of_the_user_are_followed(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.txt").symlink_to("given/a.txt")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/a.txt").symlink_to("../given/a.txt")
    for given in ("link.txt", "links"):
        assert taken(recipe("a.txt"), Path(given), folder) == {"a.txt": CONTENT["a.txt"]}


def test_a_folder_on_another_disk_is_copied(folder, monkeypatch):
    def no_link(*_, **__):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", no_link)
    assert taken(recipe("a.txt", "b.txt"), folder, folder) == CONTENT


def test_the_users_files_stay_as_they_are_where_another_is_expected(folder):
    wrong = recipe("a.txt", "b.txt", md5=hashlib.md5(b"other").hexdigest())
    with pytest.raises(UserError, match=r"a\.txt: md5 .*: it is another file than the recipe is for"):
        take(wrong, folder, folder.parent / "raw")
    assert (folder / "a.txt").read_bytes() == CONTENT["a.txt"]
    right = recipe("a.txt", "b.txt", md5=hashlib.md5(CONTENT["a.txt"]).hexdigest(), size=4)
    assert taken(right, folder, folder) == CONTENT


def test_what_is_missing_is_told(folder, tmp_path):
    shutil.move(folder / "b.txt", tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"has no file b\.txt$"):
        take(recipe("a.txt", "b.txt"), folder, tmp_path / "raw")
    with zipfile.ZipFile(folder / "toy.zip", "w") as archive:
        archive.writestr("b.txt", "")
    with pytest.raises(UserError, match=r"has no file b\.txt: if it is in toy\.zip, give .*: --from .*/given/toy\.zip$"):
        take(recipe("a.txt", "b.txt"), folder, tmp_path / "raw")
    with pytest.raises(UserError, match=r"has the files a\.txt, b\.txt: name their folder, or an archive"):
        take(recipe("a.txt", "b.txt"), folder / "a.txt", tmp_path / "raw")
    with pytest.raises(UserError, match="no such file or folder"):
        take(recipe("a.txt"), tmp_path / "nowhere", tmp_path / "raw")
