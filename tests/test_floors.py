"""Imports go down the floors, in Python and in C++, and the light commands never load torch."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = dict(enumerate([
    ["errors", "types", "seeds", "sealed", "printable", "files", "own_code", "log", "progress_bar", "metrics", "_native"],
    ["ordering"],
    ["config"],
    ["storage"],
    ["graph"],
    ["preprocess", "sampling"],
    ["device"],
    ["nn", "optim", "pipeline"],
    ["checkpoint", "evaluate", "rows"],
    ["encode"],
    ["tasks"],
    ["train"],
    ["estimate", "predict", "export", "machine"],
    ["cli"],
]))
FLOOR_OF = {name: floor for floor, names in FLOORS.items() for name in names}
TORCH_FREE = {"errors", "types", "seeds", "sealed", "printable", "files", "own_code", "log", "progress_bar", "metrics", "config",
              "ordering", "storage", "graph", "preprocess", "sampling", "estimate", "machine"}
CPP_FLOORS = {"base": 0, "io": 1, "rows": 2, "graph": 2, "score": 3, "cuda": 4, "bind": 5}


def modules():
    for path in sorted((ROOT / "marius_lite").rglob("*.py")):
        parts = path.relative_to(ROOT / "marius_lite").with_suffix("").parts
        if parts[0] != "__init__":
            yield path, parts[0]


def imported(tree):
    """(package or module below marius_lite, node) for each import, those in functions and TYPE_CHECKING too."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "marius_lite" else [f"marius_lite.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            yield name, node


@pytest.mark.parametrize(("path", "package"), list(modules()), ids=lambda v: str(v) if isinstance(v, str) else v.stem)
def test_imports_go_down(path, package):
    assert package in FLOOR_OF, f"{path}: {package} has no floor"
    for name, node in imported(ast.parse(path.read_text())):
        if name.startswith("marius_lite."):
            target = name.split(".")[1]
            if target != package and target in FLOOR_OF:
                assert FLOOR_OF[target] < FLOOR_OF[package] or FLOOR_OF[package] == FLOOR_OF[target] == 0, \
                    f"{path}:{node.lineno}: {package} imports {target} from floor {FLOOR_OF[target]}"


@pytest.mark.parametrize(("path", "package"), list(modules()), ids=lambda v: str(v) if isinstance(v, str) else v.stem)
def test_no_torch_below_its_floor(path, package):
    if package not in TORCH_FREE:
        return
    tree = ast.parse(path.read_text())
    guarded = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If)
               and getattr(node.test, "id", "") == "TYPE_CHECKING" for inner in ast.walk(node)}
    for name, node in imported(tree):
        assert name.split(".")[0] != "torch" or id(node) in guarded, f"{path}:{node.lineno}: imports torch"


def test_light_commands_start_without_torch():
    code = "import sys, marius_lite, marius_lite.cli.main; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_cpp_includes_go_down():
    for path in sorted((ROOT / "csrc").rglob("*")):
        if path.suffix not in {".cpp", ".h", ".cu", ".cuh"}:
            continue
        package = path.relative_to(ROOT / "csrc").parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            quoted = re.match(r'#include "(\w+)/', line)
            if quoted and quoted[1] != package:
                assert CPP_FLOORS[quoted[1]] < CPP_FLOORS[package], f"{path}:{number}: {line}"
            assert "nanobind" not in line or package == "bind", f"{path}:{number}: nanobind outside bind/"
            assert "cuda_runtime" not in line or package == "cuda", f"{path}:{number}: CUDA outside cuda/"
