"""Describe this machine for `info`, and what works on it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import marius_lite
from marius_lite.config import machine
from marius_lite.device import library
from marius_lite.storage.engine import probe

LIBRARIES = ("torch", "numpy", "zarr", "pyarrow")


def describe(directory: Path) -> dict[str, Any]:
    """Return a description of the machine. What the disk can do is tried in ``directory``. Sizes are in bytes."""
    return {
        "marius_lite": marius_lite.__version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in LIBRARIES},
        "threads": machine.cpu_threads(),
        "nvidia_driver": machine.has_nvidia(),
        "cuda": library.describe(),
        "probed": str(directory),
        **probe(directory),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
