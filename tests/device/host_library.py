"""The CUDA library's interface on the host, for tests without a GPU: the fixture `host_library`.

    from host_library import host_library   # noqa: F401

Addresses are those of numpy arrays; streams are ignored, every call is done when it returns.
"""

import subprocess
from pathlib import Path

import pytest

from marius_lite import _native

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "tests/native/host_cuda.cpp", *(ROOT / "csrc/cuda").glob("*.cpp"), ROOT / "csrc/base/parallel.cpp"]
FLAGS = [
    "-std=c++20",
    "-O2",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Wno-unknown-pragmas",
    "-Wno-maybe-uninitialized",
    "-shared",
    "-fPIC",
    "-pthread",
    f"-I{ROOT / 'csrc'}",
]


def build_host_library(folder: Path) -> Path:
    """Compile the host's library into ``folder``; its path."""
    library = folder / "libhost_cuda.so"
    subprocess.run(["c++", *FLAGS, "-o", library, *SOURCES], check=True)
    return library


@pytest.fixture(scope="session")
def host_library_path(tmp_path_factory) -> Path:
    return build_host_library(tmp_path_factory.mktemp("host_cuda"))


@pytest.fixture(scope="session")
def host_library(host_library_path) -> _native.CudaLibrary:
    return _native.CudaLibrary(str(host_library_path))
