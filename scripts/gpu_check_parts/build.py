"""The native module and the CUDA library, into the checkout: from a wheel that came with it, or built here.

A wheel in the folder prebuilt/ is taken where it is of this Python and of these sources, and finds the GPU. Else all is built.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from gpu_check_parts.machine import ROOT, environment, said
from gpu_check_parts.sources import source_hash

PREBUILT, HASH = "prebuilt", "hash"
MODULE, CUDA = "marius_lite/_native", "marius_lite/libmarius_cuda.so"
STDERR = 2
COUNT = "from marius_lite.device.accelerator import library; print(library().device_count())"


def native_files(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as packed:
        return [name for name in packed.namelist() if name == CUDA or (name.startswith(f"{MODULE}.") and name.endswith(".so"))]


def fitting_wheel(root: Path) -> Path | None:
    """The wheel that was made of these sources for this Python."""
    folder = root / PREBUILT
    if not (folder / HASH).exists() or (folder / HASH).read_text().strip() != source_hash(root):
        return None
    module = MODULE + sysconfig.get_config_var("EXT_SUFFIX")
    return next((wheel for wheel in sorted(folder.glob("*.whl")) if module in native_files(wheel)), None)


def unpack(wheel: Path, root: Path) -> list[Path]:
    """The native files, where Python finds them when it runs in the checkout."""
    with zipfile.ZipFile(wheel) as packed:
        return [Path(packed.extract(name, root)) for name in native_files(wheel)]


def finds_gpu() -> bool:
    count = said(COUNT)
    return count.isdigit() and int(count) > 0


def tell(**line: str) -> None:
    print(json.dumps(line), flush=True)


def main() -> int:
    wheel = fitting_wheel(ROOT)
    if wheel:
        files = unpack(wheel, ROOT)
        if finds_gpu():
            tell(detail=f"taken from {wheel.name}")
            return 0
        for file in files:
            file.unlink()
    if subprocess.run([str(ROOT / "scripts/build"), sys.executable], env=environment(), stdout=STDERR, check=False).returncode:
        tell(failed="scripts/build failed")
        return 1
    if not finds_gpu():
        tell(failed="the CUDA library was not built, cannot be loaded, or finds no GPU")
        return 1
    tell(detail="built here")
    return 0


if __name__ == "__main__":
    sys.exit(main())
