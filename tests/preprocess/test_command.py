"""A command is another one when what it reads is: then nothing of an interrupted run is taken up."""

import gzip
import os

import numpy as np
import pytest
import zarr
from preprocess_tools import make

from marius_lite.errors import MemoryWanted, UserError
from marius_lite.preprocess import build, command
from marius_lite.preprocess.command import command_digest
from marius_lite.preprocess.ids import keys
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.folders import with_folders_opened
from marius_lite.preprocess.readers.source import find_files


def digest(folder, **options):
    opened = with_folders_opened(Options.parse(edges=[str(folder)], output=folder.parent / "d", **options))
    return command_digest(opened, find_files(opened))


def test_what_stands_beside_the_edges(tmp_path):
    folder = tmp_path / "ogb"
    folder.mkdir()
    (folder / "edge.csv.gz").write_bytes(gzip.compress(b"0,1\n1,2\n"))
    seen = set()
    for nodes in (5, 9, 5):
        (folder / "num-node-list.csv.gz").write_bytes(gzip.compress(f"{nodes}\n".encode(), mtime=0))
        seen.add(digest(folder))
    assert len(seen) == 2


def test_a_chunk_inside_a_folder(tmp_path):
    np.save(tmp_path / "e.npy", np.arange(8).reshape(4, 2))
    features = zarr.create_array(tmp_path / "x", shape=(8, 2), chunks=(8, 2), dtype="float32")
    features[...] = 1
    first = digest(tmp_path / "e.npy", features=tmp_path / "x")
    assert digest(tmp_path / "e.npy", features=tmp_path / "x") == first
    features[...] = 7
    assert digest(tmp_path / "e.npy", features=tmp_path / "x") != first


def test_less_memory_than_what_was_read_takes(tmp_path, monkeypatch):
    ids = np.random.default_rng(0).integers(0, 1_900_000, (1000, 2))
    np.save(tmp_path / "e.npy", ids)
    with monkeypatch.context() as patch:
        patch.setattr(build, "number_ids", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path / "d", tmp_path / "e.npy", memory="64MiB")
    with pytest.raises(MemoryWanted, match=r"--memory: the ids that were read take 7\.\d+ MB of it, a quarter at most: "):
        make(tmp_path / "d", tmp_path / "e.npy", memory="2MiB")
    monkeypatch.setattr(build, "gather", lambda *_: pytest.fail("read again"))
    assert make(tmp_path / "d", tmp_path / "e.npy", memory="48MiB").manifest.nodes == len(np.unique(ids))


def test_more_tables_than_files_may_be_open(tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "TABLE_SHARE", 1 << 40)
    monkeypatch.setattr("marius_lite.files.most_open", lambda: 113)
    for part in range(4):
        (tmp_path / f"{part}.tsv").write_text(f"a{part}\tb{part}\n")
    make(tmp_path / "d", [tmp_path / "0.tsv", tmp_path / "1.tsv"])
    with pytest.raises(UserError, match=r"3 tables of ids were filled .* \(ulimit -n\): give more --memory"):
        make(tmp_path / "e", [tmp_path / f"{part}.tsv" for part in range(4)])
    assert not (tmp_path / ".e.tmp").exists()


def test_the_root_is_no_output(tmp_path):
    (tmp_path / "e.tsv").write_text("1\t2\n")
    with pytest.raises(UserError, match="/: cannot be an output folder: name a new one"):
        make("/", tmp_path / "e.tsv")


@pytest.mark.parametrize("at", [0, 2_000, 199_999])
def test_bytes_changed_behind_a_file_s_size_and_time(tmp_path, at, monkeypatch):
    path = tmp_path / "e.tsv"
    path.write_bytes(b"1\t2\n" * 50_000)
    seen, first = path.stat(), digest(path)
    assert digest(path) == first
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert digest(path) != first
    monkeypatch.setattr(command, "is_spooled", lambda _: True)  # a file system that tells no inode and no change
    sampled = digest(path)
    path.write_bytes(b"2" + bytes(data[1:]))
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert digest(path) != sampled
