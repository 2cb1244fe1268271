"""Text inside zip and tar archives."""

import gzip
import io
import tarfile
import zipfile
from collections import Counter

import pytest
from preprocess_tools import decoded, make

from marius_lite.errors import UserError

PARTS = {
    name: [(f"n{i % 97}", f"r{i % 3}", f"n{i * k % 101}") for i in range(2000)]
    for k, name in enumerate(["train.txt", "valid.txt", "test.txt"], 2)
}


def text(rows):
    return "".join(f"{s}\t{r}\t{d}\n" for s, r, d in rows).encode()


def pack_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("kg")
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def pack_tar(path, members):
    with tarfile.open(path, f"w:{path.suffix[1:].replace('tgz', 'gz').replace('tar', '')}") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


ARCHIVES = [("g.zip", pack_zip), ("g.tar.gz", pack_tar), ("g.tar", pack_tar), ("g.tgz", pack_tar), ("g.tar.xz", pack_tar)]


@pytest.mark.parametrize(("name", "pack"), ARCHIVES)
def test_members_by_name_and_pattern(tmp_path, name, pack):
    path = pack(tmp_path / name, {f"kg/{part}": text(rows) for part, rows in PARTS.items()} | {"kg/README": b"words"})
    dataset = make(
        tmp_path / "d", f"{path}:kg/train.txt", valid=f"{path}:kg/valid.txt", test=f"{path}:kg/test.txt", memory="1MiB"
    )
    for split in ("train", "valid", "test"):
        assert decoded(dataset, split) == Counter(PARTS[f"{split}.txt"])
    assert [(source.name, source.size) for source in dataset.manifest.sources] == [(name, path.stat().st_size)]
    assert decoded(make(tmp_path / "all", f"{path}:*.txt")) == sum((Counter(rows) for rows in PARTS.values()), Counter())


@pytest.mark.parametrize(("name", "pack"), ARCHIVES)
def test_an_only_member_needs_no_name_and_may_be_compressed(tmp_path, name, pack):
    path = pack(tmp_path / name, {"train.tsv.gz": gzip.compress(text(PARTS["train.txt"]))})
    assert decoded(make(tmp_path / "d", path)) == Counter(PARTS["train.txt"])


@pytest.mark.parametrize(("name", "pack"), ARCHIVES)
def test_wrong_members(tmp_path, name, pack):
    path = pack(tmp_path / name, {"a.tsv": b"x\ty\nz\n", "b.npy": b"\x93NUMPY", "c.tsv": b"x\ty\n"})
    for edges, message in {
        path: r"which file\? the archive has a\.tsv, b\.npy, c\.tsv: name one as",
        f"{path}:d": r":d: which file",
        f"{path}:[": "which file",
        f"{path}:a.tsv": rf"{name}:a\.tsv:2: 1 columns where 2",
        f"{path}:b.npy": "a npy file inside an archive",
    }.items():
        with pytest.raises(UserError, match=message) as raised:
            make(tmp_path / "d", edges)
        assert "\n" not in str(raised.value)
    with pytest.raises(UserError, match="named twice"):
        make(tmp_path / "d", [f"{path}:a.tsv", f"{path}:a*"])
    path.write_bytes(path.read_bytes()[: 2300 if name == "g.tar" else path.stat().st_size // 2])
    with pytest.raises(UserError, match=rf"{name}: damaged or cut short|which file"):
        make(tmp_path / "d", f"{path}:c.tsv")
    assert [path.name for path in tmp_path.iterdir()] == [name]
