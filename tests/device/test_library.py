"""The CUDA library is found beside the native module or in its own package; one that cannot be used is said in one line."""

import pytest

from marius_lite.device import library
from marius_lite.errors import UserError


def test_it_is_beside_the_module_or_in_its_own_package(tmp_path, monkeypatch):
    beside, apart = tmp_path / "beside", tmp_path / library.PACKAGE
    beside.mkdir()
    monkeypatch.setattr(library, "find_spec", lambda name: None)
    assert library.place(beside) == beside / "libmarius_cuda.so"
    apart.mkdir()
    (apart / "__init__.py").touch()
    (apart / "libmarius_cuda.so").touch()
    monkeypatch.undo()
    monkeypatch.syspath_prepend(tmp_path)
    assert library.place(beside) == apart / "libmarius_cuda.so"
    (beside / "libmarius_cuda.so").touch()
    assert library.place(beside) == beside / "libmarius_cuda.so"


def test_one_that_is_absent_or_cannot_be_loaded_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "libmarius_cuda.so")
    with pytest.raises(UserError, match="install the wheel marius-lite-cuda"):
        library.library.__wrapped__()
    library.LIBRARY.write_text("no library")
    with pytest.raises(UserError, match="cannot load the CUDA library"):
        library.library.__wrapped__()
