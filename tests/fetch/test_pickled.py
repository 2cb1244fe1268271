"""Dictionaries of arrays that torch.save wrote: read as numpy has them, without running what a file says."""

import os
import pickle
import zipfile

import numpy as np
import pytest
import torch

from marius_lite.errors import UserError
from marius_lite.fetch import pickled as module
from marius_lite.fetch.pickled import pickled_arrays


@pytest.fixture
def scratch(tmp_path):
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32, np.dtype(">i8")])
def test_arrays_come_back(tmp_path, scratch, archive, dtype):
    rng = np.random.default_rng(0)
    arrays = {
        "head": rng.integers(0, 1 << 30, 50_000).astype(dtype),
        "pairs": rng.integers(0, 99, (30_000, 2)).astype(dtype),
        "turned": np.asfortranarray(rng.integers(0, 99, (30_000, 2)).astype(dtype)),
        "few": np.arange(3).astype(dtype),
    }
    torch.save({**arrays, "words": ["a", "b"], "none": None}, tmp_path / "f.pt", _use_new_zipfile_serialization=archive)
    with pickled_arrays(tmp_path / "f.pt", scratch) as read:
        assert read.keys() == arrays.keys()
        assert all((read[name] == array).all() and read[name].dtype == array.dtype for name, array in arrays.items())
        assert isinstance(read["head"], np.memmap)


def test_memory_does_not_grow_with_the_file(tmp_path, scratch, monkeypatch):
    torch.save({"a": np.random.default_rng(0).integers(0, 1 << 60, 500_000)}, tmp_path / "f.pt")
    asked = []
    read = module._Arrays.__init__

    class Watched:
        def __init__(self, stream):
            self.stream = stream

        def read(self, count):
            asked.append(count)
            return self.stream.read(count)

        def readline(self):
            return self.stream.readline()

    monkeypatch.setattr(module._Arrays, "__init__", lambda self, stream, scratch: read(self, Watched(stream), scratch))
    with pickled_arrays(tmp_path / "f.pt", scratch):
        assert max(asked) <= module.AT_ONCE
    assert sum(asked) > 4_000_000


class Harmful:
    def __reduce__(self):
        return os.system, ("touch harmed",)


@pytest.mark.parametrize("archive", [True, False])
def test_nothing_in_a_file_runs(tmp_path, scratch, monkeypatch, archive):
    monkeypatch.chdir(tmp_path)
    torch.save({"a": np.arange(4), "b": Harmful()}, tmp_path / "f.pt", _use_new_zipfile_serialization=archive)
    with pickled_arrays(tmp_path / "f.pt", scratch) as read:
        assert read["a"].tolist() == [0, 1, 2, 3]
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize("state", [{"path": "secret"}, (None, {"path": "secret"})])
@pytest.mark.parametrize("target", ["text", "global"])
def test_no_state_is_set_of_what_has_none(tmp_path, scratch, state, target):
    long = b"X" + (module.LONG).to_bytes(4, "little") + b"a" * module.LONG
    given = {"text": long, "global": b"c_codecs\nencode\n"}[target]
    shown = pickle.dumps(state, 2).removeprefix(b"\x80\x02").removesuffix(b".")
    with zipfile.ZipFile(tmp_path / "f.pt", "w") as archive:
        archive.writestr("f/data.pkl", b"\x80\x02" + given + shown + b"b.")
    with pytest.raises(UserError, match="a state for an object that has none"), pickled_arrays(tmp_path / "f.pt", scratch):
        pass
    assert not hasattr(module._encode, "path")


def test_other_files_are_refused_in_one_line(tmp_path, scratch):
    path = tmp_path / "f.pt"
    torch.save({"a": np.arange(100_000)}, path)
    whole = path.read_bytes()
    legacy = tmp_path / "g.pt"
    torch.save({"a": np.arange(100_000)}, legacy, _use_new_zipfile_serialization=False)
    for content in (b"", b"text", whole[:5000], legacy.read_bytes()[:50_000]):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"f\.pt: "), pickled_arrays(path, scratch):
            pass
    torch.save([1, 2], path)
    with pytest.raises(UserError, match="no dictionary of numpy arrays"), pickled_arrays(path, scratch):
        pass
