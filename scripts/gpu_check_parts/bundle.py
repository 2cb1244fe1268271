"""Makes a folder that a machine with a GPU and without internet can be checked with."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpu_check_parts.build import CUDA, HASH, PREBUILT, STDERR, native_files
from gpu_check_parts.machine import PACKAGES, ROOT, environment
from gpu_check_parts.refused import Refused
from gpu_check_parts.sources import needed_files, source_hash

MOST = 60_000_000
"""Bytes of a bundle."""
SPLITS = ("train.txt", "valid.txt", "test.txt")
DISTRIBUTIONS = {"yaml": "PyYAML"}
"""Packages that are installed by another name than they are imported by."""
RUN = """#!/bin/sh
# Builds, tests and measures marius_lite on this machine's NVIDIA GPU: ./run [OPTION...], the options of gpu_check.
# PYTHON=... names a Python with the packages of requirements.txt. What was built elsewhere is used where it fits this Python.
# Every call of gpu_check takes less than ten minutes; it is called until nothing is left. Killed, the same command goes on.
# What was found is in record/.
cd "$(dirname "$0")/source" || exit 2
[ -d ../data ] && set -- --data ../data "$@"
while :; do
    "${PYTHON:-python3}" scripts/gpu_check all --record ../record "$@"
    code=$?
    [ "$code" -eq 3 ] || exit "$code"
done
"""


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="gpu_check bundle", description=__doc__)
    parser.add_argument("folder", type=Path, help="to be made")
    parser.add_argument(
        "--python", default=sys.executable, help="of the version that the machine has; pip makes the wheel with it"
    )
    parser.add_argument("--data", type=Path, help="folder with train.txt, valid.txt, test.txt of FB15k-237")
    a = parser.parse_args(given)
    try:
        with made_whole(a.folder) as folder:
            fill(folder, a)
    except Refused as error:
        print(f"gpu_check: {error}", file=sys.stderr)
        return error.code
    print(f"{a.folder}: {size_of(a.folder) / 1e6:.1f} MB; ./run there starts it")
    return 0


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """A folder beside it to fill, which gets its name at the end; it goes away where that fails."""
    if os.path.lexists(folder):
        raise Refused(f"{folder} exists")
    if not folder.parent.is_dir():
        raise Refused(f"{folder.parent} is no folder")
    making = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield making
        making.chmod(0o755)
        making.rename(folder)
    except OSError as error:
        raise Refused(f"{folder}: {error}", 1) from error
    finally:
        shutil.rmtree(making, ignore_errors=True)


def fill(folder: Path, a: argparse.Namespace) -> None:
    source = folder / "source"
    for name in needed_files(ROOT):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    if a.data:
        absent = [name for name in SPLITS if not (a.data / name).is_file()]
        if absent:
            raise Refused(f"{a.data} has no {', '.join(absent)}")
        (folder / "data").mkdir()
        for name in SPLITS:
            shutil.copyfile(a.data / name, folder / "data" / name)
    check_size(folder)
    wheel = make_wheel(a.python, source, source / PREBUILT)
    check_wheel(wheel)
    (source / PREBUILT / HASH).write_text(source_hash(source) + "\n")
    (folder / "requirements.txt").write_text("".join(f"{line}\n" for line in requirements()))
    (folder / "run").write_text(RUN)
    (folder / "run").chmod(0o755)
    check_size(folder)
    print(f"the native files are for {'-'.join(wheel.stem.split('-')[-3:])}; with another Python they are built there")


def make_wheel(python: str, source: Path, folder: Path) -> Path:
    """A wheel of the copied sources, by pip. It fetches what builds it where that is not installed."""
    has = "import scikit_build_core, nanobind"
    installed = subprocess.run([python, "-c", has], capture_output=True, check=False).returncode == 0
    with tempfile.TemporaryDirectory() as building:
        command = [python, "-m", "pip", "wheel", "--no-deps", "--disable-pip-version-check", "--wheel-dir", str(folder)]
        command += ["--no-build-isolation"] * installed + ["--config-settings", f"build-dir={building}", str(source)]
        done = subprocess.run(command, env=environment(), stdout=STDERR, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise Refused(f"{' '.join(command[:4])}: exit code {done.returncode}", 1)
    return wheels[0]


def check_wheel(wheel: Path) -> None:
    if CUDA not in native_files(wheel):
        raise Refused("the CUDA library was not built: is nvcc on the PATH?", 1)


def requirements() -> list[str]:
    """The packages that the phases need, with the versions that the project asks for."""
    wanted = {_plain(name): name for name in _asked_for()}
    names = dict.fromkeys(DISTRIBUTIONS.get(name, name) for packages in PACKAGES.values() for name in packages)
    return [wanted.get(_plain(name), name) for name in names]


def _asked_for() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = [line for lines in project["project"]["optional-dependencies"].values() for line in lines]
    return [*project["build-system"]["requires"], *project["project"]["dependencies"], *extras]


def _plain(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def check_size(folder: Path) -> None:
    if size_of(folder) > MOST:
        raise Refused(f"the bundle has {size_of(folder) / 1e6:.1f} MB, {MOST / 1e6:g} MB is the most")


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
