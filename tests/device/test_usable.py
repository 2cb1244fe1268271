"""`device: auto` is a GPU where the library finds one and torch was built for it, and the CPU otherwise."""

import importlib.util
from types import SimpleNamespace

import pytest

from marius_lite.device import library


@pytest.mark.parametrize(
    ("cuda", "devices", "there", "expected"),
    [("'13.0'", 1, True, True), ("None", 1, True, False), ("'13.0'", 0, True, False), ("'13.0'", 1, False, False)],
)
def test_all_three_are_needed(tmp_path, monkeypatch, cuda, devices, there, expected):
    (tmp_path / "version.py").write_text(f"__version__ = '2.13.0'\ncuda: Optional[str] = {cuda}\nhip = None\n")
    if there:
        (tmp_path / "libmarius_cuda.so").touch()
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "libmarius_cuda.so")
    monkeypatch.setattr(library, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "__init__.py")))
    monkeypatch.setattr(library, "library", lambda: SimpleNamespace(device_count=lambda: devices))
    assert library.usable() == expected


def test_here_it_agrees_with_torch():
    torch = pytest.importorskip("torch")
    assert importlib.util.find_spec("torch") is not None
    assert library.usable() == (torch.cuda.is_available() and library.LIBRARY.exists())
