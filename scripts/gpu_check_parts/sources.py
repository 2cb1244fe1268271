"""The sources: which of them a record vouches for, and which of them another machine needs."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

HASHED = (
    "csrc/base/both.h",
    "csrc/rows/formulas.h",
    "csrc/graph/draws.h",
    "csrc/graph/hash.h",
    "csrc/cuda",
    "csrc/bind/cuda.cpp",
    "csrc/bind/rates.h",
    "marius_lite/device",
)
SUFFIXES = (".py", ".h", ".cuh", ".cpp", ".cu")
NOT_HASHED = "marius_lite/device/verified.py"  # it says what this script found out
NEEDED = (
    "csrc",
    "data_prep",
    "docs",
    "marius_lite",
    "scripts",
    "tests",
    "LICENSE",
    "README.md",
    "constraints.txt",
    "pyproject.toml",
)
"""What a machine that checks a GPU needs of the checkout."""
RECORDS = "docs/gpu_check/"
BUILT = (".so", ".pyc", ".pyo")


def source_hash(root: Path) -> str:
    """SHA-256 over the sources that a GPU's record vouches for: every file's path and content, sorted by path."""
    files = [path for name in HASHED for path in ([root / name] if (root / name).is_file() else (root / name).rglob("*"))]
    names = {path.relative_to(root).as_posix(): path for path in files if path.is_file() and path.suffix in SUFFIXES}
    digest = hashlib.sha256()
    for name, path in sorted(names.items()):
        if name != NOT_HASHED:
            content = path.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def needed_files(root: Path) -> list[str]:
    """The files that another machine needs, as git knows them or, where it does not, all that were not built."""
    names = _git_files(root)
    if names is None:
        paths = [path for name in NEEDED for path in ([root / name] if (root / name).is_file() else (root / name).rglob("*"))]
        names = [path.relative_to(root).as_posix() for path in paths if not path.name.endswith(BUILT) and not _hidden(path, root)]
    return sorted(name for name in names if (root / name).is_file() and (name == f"{RECORDS}README.md" or RECORDS not in name))


def _git_files(root: Path) -> list[str] | None:
    """Those that are tracked, and new ones that git does not ignore; None where the folder is no checkout."""
    if not (root / ".git").exists():
        return None
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *NEEDED]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    except OSError:
        return None
    return [name.decode() for name in done.stdout.split(b"\0") if name] if done.returncode == 0 else None


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(root).parts)
