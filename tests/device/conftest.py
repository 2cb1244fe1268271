import pytest
import torch
from emulated import accelerator
from host_library import host_library, host_library_path

from marius_lite.device.accelerator import check_device, open_accelerator

__all__ = ["host_library", "host_library_path", "make_device"]


@pytest.fixture(scope="session", params=["host", pytest.param("gpu", marks=pytest.mark.gpu)])
def make_device(request):
    """Makes an accelerator from a seed: the emulation, which runs its streams in an order of that seed, or the GPU as it is."""
    if request.param == "host":
        library = request.getfixturevalue("host_library")
        return lambda seed: accelerator(library, seed)[0]
    if not torch.cuda.is_available():
        pytest.skip(f"torch {torch.__version__} finds no CUDA device")
    gpu = open_accelerator(check_device("cuda"))
    return lambda seed: gpu
