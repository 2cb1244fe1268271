"""GPU benchmarks on the emulated accelerator: in tests, which take the fixtures, or as a program of its own.

library, result = host_benchmarks.library, host_benchmarks.result

python host_benchmarks.py LIBRARY BENCHMARK [OPTION ...]
"""

import importlib
import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
import torch

import marius_lite.device.accelerator as devices
from marius_lite import _native
from marius_lite.device import verified
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.train import build
from marius_lite.train import start as start_module

ROOT = Path(__file__).parents[1]
BENCH = ROOT / "scripts" / "bench"
QUICK = ["--json", "--rounds", "1", "--at-least", "0"]


def load(path):
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def library_path(factory):
    """Where the host's library lies, which this session's first test builds."""
    made = load(ROOT / "tests/device/host_library.py")
    return made.build_host_library(made.session_folder(factory))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return _native.CudaLibrary(str(library_path(tmp_path_factory)))


def pretend(library, patch):
    """Let the benchmarks find that library where they look for a GPU, until ``patch`` is undone."""
    emulated = load(ROOT / "tests/device/emulated.py")
    patch.syspath_prepend(str(BENCH))
    for module in (devices, build, start_module):
        patch.setattr(module, "check_device", lambda name: torch.device("cpu"))
    for module in (devices, build):
        patch.setattr(module, "open_accelerator", lambda device: emulated.accelerator(library, seed=5)[0])
    patch.setattr(verified, "GPUS", ())
    patch.setattr(DenseOptimizer, "repeated", lambda self, steps: None)  # what repeats work here counts by itself


@pytest.fixture
def result(library, monkeypatch, capsys):
    """What runs a benchmark's main with arguments: its figures by name, after their form was checked."""
    pretend(library, monkeypatch)

    def run(name, *arguments):
        importlib.import_module(name).main([*QUICK, *map(str, arguments)])
        told, *found = (json.loads(line) for line in capsys.readouterr().out.splitlines())
        assert set(told) == {"benchmark", "settings"}
        assert told["benchmark"] == name
        machine = {"gpu", "link", "cuda_of_driver", "torch", "cpus", "memory", "gpu_memory", "huge_pages"}
        assert machine | {"rounds", "at_least"} <= set(told["settings"])
        for figure in found:
            assert set(figure) == {"figure", "value", "unit", "goal", "better", "detail", "pass"}
            assert np.isfinite(figure["value"]), figure
            assert (figure["pass"] is None) == (figure["goal"] is None)
        figures = {figure["figure"]: figure for figure in found}
        assert len(figures) == len(found)
        return figures

    return run


def goals(figures):
    return {name: (figure["better"], figure["goal"]) for name, figure in figures.items() if figure["goal"] is not None}


if __name__ == "__main__":
    pretend(_native.CudaLibrary(sys.argv[1]), pytest.MonkeyPatch())
    importlib.import_module(sys.argv[2]).main(sys.argv[3:])
