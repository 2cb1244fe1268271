"""Imports go down the floors, in Python and in C++, and never round in a circle; the light commands never load torch."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = [
    [
        "errors",
        "types",
        "seeds",
        "sealed",
        "printable",
        "files",
        "temporary",
        "sizes",
        "counted",
        "own_code",
        "places",
        "waiting",
        "log",
        "machine_process",
        "cluster",
        "progress_bar",
        "ranks",
        "_native",
    ],
    ["ordering"],
    ["config"],
    ["storage"],
    ["remote"],
    ["graph"],
    ["preprocess", "sampling"],
    ["device"],
    ["merging", "metrics", "nn", "optim", "pipeline", "processes"],
    ["checkpoint", "evaluate", "rows"],
    ["encode"],
    ["tasks"],
    ["warm"],
    ["train"],
    ["estimate", "export", "fetch", "machine", "predict", "pyg", "ray", "report", "search", "tune"],
    ["prices"],
    ["cli"],
    ["__main__"],
]
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}
ROOMS = [  # of preprocess, each above the one before
    ["columns", "databases", "formats", "fractions", "option_texts", "plan"],
    ["arguments"],
    ["options"],
    ["readers"],
    ["disk"],
    ["edges"],
    ["ids"],
    ["nodes"],
    ["partition"],
    ["gather"],
    ["workers"],
    ["disk_plan", "node_passes", "manifest", "report", "standard_input", "inputs"],
    ["command"],
    ["repartitioning"],
    ["updating"],
    ["build", "repartition", "update"],
    ["make"],
    ["__init__"],
]
ROOM_OF = {name: floor for floor, names in enumerate(ROOMS) for name in names}
TORCH_FREE = {name for names in FLOORS[: FLOOR_OF["device"]] for name in names} | {"estimate", "fetch", "machine"}
CPP_FLOORS = {"base": 0, "io": 1, "rows": 2, "graph": 2, "score": 3, "layers": 4, "cuda": 5, "bind": 6}


def modules():
    for path in sorted((ROOT / "marius_lite").rglob("*.py")):
        parts = path.relative_to(ROOT / "marius_lite").with_suffix("").parts
        if parts[0] != "__init__":
            yield path, parts[0]


def imported(tree):
    """(what is imported, node) for each import, those in functions and under TYPE_CHECKING too."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
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
                assert FLOOR_OF[target] < FLOOR_OF[package] or FLOOR_OF[package] == FLOOR_OF[target] == 0, (
                    f"{path}:{node.lineno}: {package} imports {target} from floor {FLOOR_OF[target]}"
                )


def test_each_floor_has_what_it_names():
    for names, folder in ((FLOOR_OF.keys() - {"_native"}, ROOT / "marius_lite"), (ROOM_OF, ROOT / "marius_lite" / "preprocess")):
        assert {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()} >= set(names)


def test_rooms_of_preprocess_go_down():
    prefix = "marius_lite.preprocess."
    for path in sorted((ROOT / "marius_lite" / "preprocess").rglob("*.py")):
        room = path.relative_to(ROOT / "marius_lite" / "preprocess").with_suffix("").parts[0]
        assert room in ROOM_OF, f"{path}: {room} has no floor"
        for name, node in imported(ast.parse(path.read_text())):
            if name.startswith(prefix):
                target = name.removeprefix(prefix).split(".")[0]
                assert target == room or ROOM_OF[target] < ROOM_OF[room], f"{path}:{node.lineno}: {room} imports {target}"


def test_no_module_is_imported_by_what_it_imports():
    known = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((ROOT / "marius_lite").rglob("*.py"))
    }
    del known["marius_lite"]  # of which only the version is asked
    graph = {
        module: {
            next((one for one in (name, name.rpartition(".")[0]) if one in known), module)
            for name, _ in imported(ast.parse(path.read_text()))
        }
        - {module}
        for module, path in known.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which has the circle


@pytest.mark.parametrize(("path", "package"), list(modules()), ids=lambda v: str(v) if isinstance(v, str) else v.stem)
def test_no_torch_below_its_floor(path, package):
    if package not in TORCH_FREE:
        return
    tree = ast.parse(path.read_text())
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for name, node in imported(tree):
        assert name.split(".")[0] != "torch" or id(node) in guarded, f"{path}:{node.lineno}: imports torch"


def test_light_commands_start_without_torch():
    code = "import sys, marius_lite, marius_lite.cli.main; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_help_starts_without_what_only_work_needs():
    code = (
        "import sys\nfrom marius_lite.cli.main import run\nassert run(['--help']) == 0\n"
        "sys.exit(', '.join({'numpy', 'torch', 'pydantic', 'pyarrow', 'zarr'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""


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


def test_a_class_name_means_one_thing():
    places = {}
    for path, _ in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
