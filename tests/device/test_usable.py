"""`device: auto` is a GPU where one is found that torch was built for, once this code has run on one, and the CPU otherwise."""

import importlib.util
from types import SimpleNamespace

import pytest

from marius_lite.config.load import load
from marius_lite.device import library, verified


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
    assert library.present() == expected
    for gpus in ((), ("NVIDIA H200",)):
        monkeypatch.setattr(verified, "GPUS", gpus)
        assert library.usable() == (expected and bool(gpus))
        assert bool(library.passed_over(load(), "cpu")) == expected
        for device in ("cpu", "cuda"):
            assert library.passed_over(load(sets=[f"device={device}"]), device) == library.passed_over(load(), "cuda") == []


def test_here_it_agrees_with_torch():
    torch = pytest.importorskip("torch")
    assert importlib.util.find_spec("torch") is not None
    assert library.present() == (torch.cuda.is_available() and library.LIBRARY.exists())


def test_train_and_plan_say_that_a_gpu_is_left_alone(cli, tiny_dataset, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(verified, "GPUS", ())
    monkeypatch.setattr(library, "present", lambda: True)
    small = ["--config", "preset:plain", "--set", "training.epochs=1", "--set", "training.threads=1"]
    for command in (["plan", tiny_dataset], ["train", tiny_dataset, "--run", tmp_path / "run"]):
        assert cli(*command, *small) == 0
        said = "".join(capfd.readouterr())
        assert "never run on a GPU" in said
        assert "--set device=cuda" in said
    assert "device: cpu" in (tmp_path / "run" / "config.yaml").read_text()
