from contextlib import nullcontext
from functools import partial

import pytest
from host_library import host_library, host_library_path
from pretended_gpu import pretended_gpu

__all__ = ["host_library", "host_library_path", "place"]


@pytest.fixture(scope="session", params=["cpu", "gpu"])
def place(request):
    """Makes a context in which tensors are on the processor, or say that they are on a GPU."""
    return nullcontext if request.param == "cpu" else partial(pretended_gpu, request.getfixturevalue("host_library"))
