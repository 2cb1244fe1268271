"""What the CUDA compiler makes of the kernels, and the built library on a machine that may have no GPU."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from marius_lite import _native

ROOT = Path(__file__).parents[2]
LIBRARY = Path(_native.__file__).parent / "libmarius_cuda.so"
needs_compiler = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
needs_library = pytest.mark.skipif(not LIBRARY.exists(), reason="built without CUDA")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> tuple[str, str]:
    """(what ptxas says, the PTX) of the kernels for one architecture."""
    folder = tmp_path_factory.mktemp("kernels")
    command = [
        "nvcc",
        "-std=c++20",
        "-O3",
        "-fmad=false",
        "-arch=sm_90",
        "-Xptxas",
        "-v",
        "--keep",
        "--keep-dir",
        folder,
        f"-I{ROOT / 'csrc'}",
        "-c",
        ROOT / "csrc/cuda/kernels.cu",
        "-o",
        folder / "kernels.o",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr, next(folder.glob("*.ptx")).read_text()


@needs_compiler
def test_no_kernel_spills(compiled):
    said = compiled[0]
    kernels = re.findall(r"Compiling entry function '(\w+)'", said)
    spills = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said)
    assert len(kernels) == len(spills) == 5 + 6 * 3 + 2 + 2 + 4 * 2 + 4 + 8
    assert [k for k, numbers in zip(kernels, spills) if numbers != ("0", "0", "0")] == []


@needs_compiler
def test_a_row_of_softmax_stays_in_registers(compiled):
    """Eight vectors a lane, under way at once, in few enough registers that a multiprocessor has 32 warps."""
    used = re.findall(
        r"entry function '\w*softmax_loss_kernel\w*?ELb1\w*'(?:(?!entry).)*?Used (\d+) registers", compiled[0], re.DOTALL
    )
    assert len(used) == 2
    assert max(map(int, used)) <= 64
    kernels = [kernel for kernel in re.split(r"\.entry ", compiled[1])[1:] if "softmax_loss_kernel" in kernel.split("(")[0]]
    assert len(kernels) == 4
    assert not any(".local" in kernel for kernel in kernels)
    assert 8 in [len(re.findall(r"ld\.global\.v4\.", kernel)) for kernel in kernels]


@needs_compiler
def test_copies_move_sixteen_bytes_and_stream(compiled):
    kernels = re.split(r"\.entry ", compiled[1])[1:]
    loads, stores = ([len(re.findall(rf"{op}\.global\.cs\.v4\.", kernel)) for kernel in kernels] for op in ("ld", "st"))
    assert loads.count(4) == 1 + 2  # four rows under way: as they are, and floats to either half
    assert stores.count(4) == 1 + 2
    assert (4, 4) in zip(loads, stores)


@needs_compiler
def test_nothing_is_fused(compiled):
    kernels = re.split(r"\.entry ", compiled[1])[1:]
    fused = [kernel.split("(")[0] for kernel in kernels if re.search(r"\bfma\.rn\.f32\b", kernel)]
    assert len(fused) == 4
    assert all("softmax_loss_kernel" in name for name in fused)  # CUDA's exponential has them
    assert "sqrt.approx" not in compiled[1]
    assert "div.approx" not in compiled[1]
    assert "div.full" not in compiled[1]


@needs_library
def test_the_library_loads_without_a_driver():
    library = _native.CudaLibrary(str(LIBRARY))
    count = library.device_count()
    assert count >= 0
    with pytest.raises(RuntimeError, match=r"device 12345.*\(\d+\)"):
        library.device_facts(12345)


@needs_library
@pytest.mark.skipif(shutil.which("readelf") is None, reason="no readelf on PATH")
def test_the_library_needs_no_part_of_cuda_and_exports_one_name():
    def readelf(*options: str) -> str:
        return subprocess.run(["readelf", "--wide", *options, LIBRARY], capture_output=True, text=True, check=True).stdout

    needed = re.findall(r"NEEDED.*\[(.*)\]", readelf("--dynamic"))
    assert needed
    assert [name for name in needed if "cuda" in name] == []
    exported = [
        line.split()[-1]
        for line in readelf("--dyn-syms").splitlines()
        if re.search(r" (GLOBAL|WEAK|UNIQUE) +DEFAULT +\d+ ", line)
    ]
    assert exported == ["marius_cuda"]
