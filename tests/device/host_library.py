"""The CUDA library's interface on the host, for tests without a GPU: the fixture `host_library`.

    from host_library import host_library   # noqa: F401

Addresses are those of numpy arrays; streams are ignored, every call is done when it returns.
"""

import fcntl
import os
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
    """Compile the host's library into ``folder``, unless another process has; its path."""
    library = folder / "libhost_cuda.so"
    with open(folder / "host_cuda.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            beside = library.with_suffix(".tmp")
            subprocess.run(["c++", *FLAGS, "-o", beside, *SOURCES], check=True)
            beside.rename(library)
    return library


def session_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder of this session, which all its worker processes share."""
    folder = factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def host_library_path(tmp_path_factory) -> Path:
    return build_host_library(session_folder(tmp_path_factory))


@pytest.fixture(scope="session")
def host_library(host_library_path) -> _native.CudaLibrary:
    return _native.CudaLibrary(str(host_library_path))


def neighbour_job(**fields):
    """A job of neighbour sampling with these fields; tensors stand for their addresses."""
    job = _native.NeighbourJob()
    job.set(**{name: value.data_ptr() if hasattr(value, "data_ptr") else value for name, value in fields.items()})
    return job
