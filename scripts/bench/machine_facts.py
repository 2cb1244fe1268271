"""What a machine says of its GPUs and memory; standard library only, so that it runs before anything is installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

GENERATIONS = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "8": 3, "16.0": 4, "16": 4, "32.0": 5, "32": 5, "64.0": 6, "64": 6}
TUNED = "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592:glibc.malloc.top_pad=268435456"
DEVICES = Path("/sys/bus/pci/devices")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
QUERY = (
    "name",
    "driver_version",
    "pci.bus_id",
    "memory.total",
    "pcie.link.gen.current",
    "pcie.link.width.current",
    "pcie.link.gen.max",
    "pcie.link.width.max",
)


def peers_environment() -> dict[str, str]:
    """The environment of another program: with the tuned allocator, and with threads that wait as they do by themselves.

    The import of marius_lite tells torch's threads to sleep soon. That is for its own processes.
    """
    mine = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    return {**mine, "GLIBC_TUNABLES": TUNED}


def cpu_name() -> str:
    """The processor's model as lscpu names it, with its family and model: virtual machines often give no other name."""
    lines = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f"{facts.get('Model name', 'unknown')} (family {facts.get('CPU family', '?')}, model {facts.get('Model', '?')})"


def gpus() -> list[dict[str, str]]:
    """What nvidia-smi says of each GPU; empty without a driver, a GPU or nvidia-smi."""
    command = ["nvidia-smi", f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = said.stdout.splitlines() if said.returncode == 0 else []
    return [dict(zip(QUERY, (part.strip() for part in line.split(",")))) for line in lines if line.count(",") == len(QUERY) - 1]


def link(pci_bus_id: str, devices: Path = DEVICES) -> str:
    """The link now and at most, as ``PCIe 5 x16, at most PCIe 5 x16``; a GPU at rest shows a slower one than it uses."""
    domain, _, rest = pci_bus_id.lower().partition(":")
    folder = devices / f"{domain[-4:]}:{rest}"  # nvidia-smi writes eight digits of the domain, the kernel four
    now, most = (_speed(folder, which) for which in ("current", "max"))
    if now and most:
        return f"{now}, at most {most}"
    return _told_link(pci_bus_id) or "unknown"


def huge_pages() -> str:
    """always, madvise or never: which memory the kernel gives huge pages; unknown where it does not say."""
    try:
        said = HUGE_PAGES.read_text()
    except OSError:
        return "unknown"
    return said.partition("[")[2].partition("]")[0] or "unknown"


def _speed(folder: Path, which: str) -> str | None:
    try:
        speed = (folder / f"{which}_link_speed").read_text().split()[0]
        width = (folder / f"{which}_link_width").read_text().strip()
    except (OSError, IndexError):
        return None
    return f"PCIe {GENERATIONS[speed]} x{width}" if speed in GENERATIONS else None


def _told_link(pci_bus_id: str) -> str | None:
    for gpu in gpus():
        if gpu["pci.bus_id"].lower()[-12:] == pci_bus_id.lower()[-12:] and gpu["pcie.link.gen.current"].isdigit():
            return (
                f"PCIe {gpu['pcie.link.gen.current']} x{gpu['pcie.link.width.current']}, at most "
                f"PCIe {gpu['pcie.link.gen.max']} x{gpu['pcie.link.width.max']}"
            )
    return None
