"""This machine: its GPU, the packages and programs that it has, and the environment that a part runs in."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

from gpu_check_parts.sources import source_hash

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
BENCH = SCRIPTS / "bench"
sys.path.insert(0, str(BENCH))

import machine_facts  # noqa: E402

TRAINING = ("zarr", "pyarrow", "pydantic", "yaml", "typer", "tqdm", "safetensors")
PACKAGES = {
    "anything": ("numpy", "torch"),
    "build": ("nanobind",),
    "test": ("pytest", "hypothesis"),
    "gpu_overlap, gpu_link_prediction, and tests but those of the library": TRAINING,
    "agree, train, gpu_gnn": (*TRAINING, "torch_geometric"),
}
PROGRAMS = {"build": ("cmake", "ninja", "nvcc", "c++"), "memcheck and racecheck": ("compute-sanitizer",)}


def find_gpu() -> dict[str, str] | None:
    """The first GPU: by nvidia-smi, or by torch where that is missing."""
    found = machine_facts.gpus()
    if found:
        gpu = found[0]
        return {
            "gpu": gpu["name"],
            "driver": gpu["driver_version"],
            "gpu_memory": gpu["memory.total"],
            "link": machine_facts.link(gpu["pci.bus_id"]),
        }
    if not any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg")):
        return None
    name = said("import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')")
    return {"gpu": name, "driver": "unknown", "gpu_memory": "unknown", "link": "unknown"} if name else None


def facts_of(gpu: dict[str, str]) -> dict[str, str]:
    """What every figure depends on: the machine, and the sources."""
    python, date = platform.python_version(), time.strftime("%Y-%m-%d")
    return {**gpu, "huge_pages": machine_facts.huge_pages(), "python": python, "date": date, "hash": source_hash(ROOT)}


def said(code: str) -> str:
    """What a line of Python prints, in a process of its own; nothing where it fails."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def environment(**more: str) -> dict[str, str]:
    """With this checkout to import from, and CUDA's programs found where they usually are."""
    path = [os.environ.get("PATH", ""), str(Path(sys.executable).parent), "/usr/local/cuda/bin"]
    python_path = [str(ROOT), str(SCRIPTS), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PATH": os.pathsep.join(path), "PYTHONPATH": os.pathsep.join(filter(None, python_path)), **more}


def program(name: str) -> str | None:
    """The program's path, where it is installed."""
    return shutil.which(name, path=environment()["PATH"])


def missing() -> list[str]:
    """A line for each purpose that lacks something."""
    lines = []
    for purpose, names in PACKAGES.items():
        absent = absent_of(names)
        if absent:
            lines.append(f"missing Python packages: {', '.join(absent)}; without them no {purpose}")
    for purpose, names in PROGRAMS.items():
        absent = [name for name in names if not program(name)]
        if absent:
            lines.append(f"missing programs: {', '.join(absent)}; without them no {purpose}")
    return lines


def absent_of(packages: tuple[str, ...]) -> list[str]:
    return [name for name in packages if importlib.util.find_spec(name) is None]
