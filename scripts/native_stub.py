"""Make marius_lite/_native.pyi, the types of the native functions, from the compiled module: scripts/native_stub.py [--check]

With --check nothing is written, and the exit code is 1 where the file is not what the module says.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

STUB = Path(__file__).parents[1] / "marius_lite" / "_native.pyi"
MODULE = "marius_lite._native"
# What the bindings do not say: what functions return whose result is a dict, a tuple or an object.
RETURNS = {
    "probe": "dict[str, bool | int]",
    "counters": "dict[str, float]",
    "memory": "NDArray[numpy.uint8]",
    "sort_rows": "tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32]]",
    "sort_and_fill": "tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32]]",
    "group_rows": "tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32]]",
    "inverse_of": "NDArray[numpy.int32]",
    "picked": "NDArray[numpy.int64]",
    "common_rows": "tuple[NDArray[numpy.int32], NDArray[numpy.int32]]",
    "place_rows": "tuple[NDArray[numpy.int64], NDArray[numpy.int64]]",
    "sample": "dict[str, Any]",
    "grown": "dict[str, Any]",
    "sample_trees": "dict[str, Any]",
    "edges_among": "dict[str, Any]",
    "padded_sample": "dict[str, Any]",
    "divide": "tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int32]]",
    "edges_with_ends": "NDArray[numpy.int64]",
    "device_facts": "dict[str, Any]",
}


def make_stub() -> str:
    import importlib

    from nanobind.stubgen import StubGen

    module = importlib.import_module(MODULE)
    generator = StubGen(module)
    generator.put(module)
    stub: str = generator.get().replace("import Annotated, ", "import Annotated, Any, ")
    stub = stub.replace("ROW_OPTIMIZERS: dict =", "ROW_OPTIMIZERS: dict[str, dict[str, Any]] =")
    stub = re.sub(r"\*\*(\w+)\)", r"**\1: Any)", stub)
    stub = stub.replace("NDArray,", "NDArray[Any],")
    for name, result in RETURNS.items():
        stub = re.sub(rf"(def {name}\(.*\)) -> (dict|tuple|object):", rf"\1 -> {result}:", stub)
    return stub


def main() -> None:
    stub = make_stub()
    if "--check" in sys.argv:
        sys.exit(STUB.read_text() != stub)
    STUB.write_text(stub)


if __name__ == "__main__":
    main()
