"""Load the CUDA library: it lies beside the native module, or in marius_lite_cuda. Needs neither a driver nor torch."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import marius_lite._native as _native
from marius_lite.config.schema import Config
from marius_lite.device import verified
from marius_lite.errors import UserError

PACKAGE = "marius_lite_cuda"
"""What the wheel marius-lite-cuda installs: the library, and no code."""


def place(beside: Path) -> Path:
    """Where the library is, or would be: in the folder ``beside``, else in the installed PACKAGE."""
    file, apart = beside / "libmarius_cuda.so", find_spec(PACKAGE)
    if file.exists() or apart is None or apart.origin is None:
        return file
    return Path(apart.origin).with_name(file.name)


LIBRARY = place(Path(_native.__file__).parent)


@cache
def library() -> _native.CudaLibrary:
    """The CUDA library. Raises UserError where there is none, or one that this build of marius_lite cannot use."""
    if not LIBRARY.exists():
        raise UserError(
            f"`device: cuda` needs {LIBRARY.name}, which this build of marius_lite lacks: install the wheel "
            "marius-lite-cuda, or build marius_lite where a CUDA compiler (nvcc) is found, or use `device: cpu`"
        )
    try:
        return _native.CudaLibrary(str(LIBRARY))
    except (OSError, RuntimeError) as error:
        raise UserError(str(error)) from error


def usable() -> bool:
    """Whether `device: auto` means a GPU: one can be used, and this code has run on some GPU."""
    return bool(verified.GPUS) and present()


def passed_over(config: Config, device: str) -> list[str]:
    """Say, in one line, that ``device: auto`` of the ``config`` leaves a GPU alone on which this code might run.

    ``device``: what it was resolved to.
    """
    if config.device != "auto" or device != "cpu" or not present():
        return []
    if usable():
        return [f"there is a GPU, but rows of {config.storage.row_dtype} (`storage.row_dtype`) are trained on the CPU so far"]
    return [
        f"there is a GPU, but this code is {verified.UNPROVEN}, so `device: auto` is the CPU: --set device=cuda takes the "
        "GPU, and `scripts/gpu_check all` finds out whether it can be trusted there"
    ]


def present() -> bool:
    """Whether there is a GPU that this build and torch's can use. Does not load torch."""
    spec = find_spec("torch")
    if not LIBRARY.exists() or spec is None or spec.origin is None:
        return False
    version = Path(spec.origin).with_name("version.py").read_text()
    return bool(re.search(r"^cuda\b.*=\s*['\"]", version, re.MULTILINE)) and library().device_count() > 0


def describe() -> dict[str, Any]:
    """Say whether the library was built, on which GPUs this code has run, and which GPUs the machine has."""
    if not LIBRARY.exists():
        return {"library": "not built"}
    found = library()
    return {
        "library": "compiled",
        "has_run_on": ", ".join(verified.GPUS) or verified.UNPROVEN,
        "devices": [found.device_facts(index) for index in range(found.device_count())],
    }
